"""Training diffusion models, one after another, and drawing samples from them on the way."""
