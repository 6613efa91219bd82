"""Overlap kernels: what a fixed compositional representation does with unseen combinations."""
