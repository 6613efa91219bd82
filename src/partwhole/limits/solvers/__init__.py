"""Algorithms that compute limits."""
