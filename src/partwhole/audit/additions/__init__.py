"""Unseen combinations to add to training first."""
