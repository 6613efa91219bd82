"""Predictions for held-out combinations over a range of representations."""
