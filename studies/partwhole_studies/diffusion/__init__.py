"""Conditional diffusion models, followed in concept space."""
