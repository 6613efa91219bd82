"""Concept learning: what is learned first, and when the error rises before it falls."""
