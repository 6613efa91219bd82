"""Concept learning: the order of concepts, and errors that rise before they fall."""
