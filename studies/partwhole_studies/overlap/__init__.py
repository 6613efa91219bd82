"""Overlap kernels: answers of a fixed compositional representation to unseen combinations."""
