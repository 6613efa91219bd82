"""Recordings: estimates of this package from noisy trials, where the truth is known."""
