"""Pictures of labelled shapes: the data of concept-space diffusion."""
