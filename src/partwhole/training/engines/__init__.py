"""Engines of training: each the measured way to take the steps of some kind of network."""
