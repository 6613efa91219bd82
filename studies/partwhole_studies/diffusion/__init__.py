"""Conditional diffusion models, watched in concept space."""
