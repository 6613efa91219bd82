"""Engines of training: one for each kind of network, chosen by measured times."""
