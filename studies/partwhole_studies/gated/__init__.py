"""Gated networks: where gradient descent ends, and how much of a ReLU network that explains."""
