"""A model's parameters in one row of numbers, and the rows that are kept on the way."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from partwhole._device import on_device
from partwhole.networks.diffusion import DiffusionModel


class Layout(NamedTuple):
    """Positions of a model's arrays in one row of numbers.

    A step updates all parameters as one row: the optimiser passes through memory once, where a tree
    of small arrays would take hundreds of passes.
    """

    tree: Any
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, parameters: DiffusionModel) -> Layout:
        """Return the layout of a model's parameters; all other leaves are None."""
        leaves, tree = jax.tree.flatten(parameters)
        return cls(tree, tuple(leaf.shape for leaf in leaves))

    def model(self, row: Float[Array, " w"], rest: DiffusionModel) -> DiffusionModel:
        """Return the model with the parameters of a row."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(jnp.split(row, ends), self.shapes, strict=True)
        parameters = jax.tree.unflatten(self.tree, [part.reshape(shape) for part, shape in parts])
        return eqx.combine(parameters, rest)


@partial(jax.jit, static_argnames="layout")
def laid_out(row: Float[Array, " w"], rest: DiffusionModel, *, layout: Layout) -> DiffusionModel:
    """Return the model with the parameters of a row, in newly allocated arrays."""
    return layout.model(row, rest)


class KeptWeights(NamedTuple):
    """Parameters of one model at the recorded steps, from which samples are drawn.

    Parameters
    ----------
    rows : float32 array, shape (T, w)
        NaN once the run has diverged.
    layout : Layout
    rest : DiffusionModel
        All that training leaves as it is.
    """

    rows: Float[np.ndarray, "T w"]
    layout: Layout
    rest: DiffusionModel

    def is_kept(self, turn: int) -> bool:
        """Return whether the run had not diverged at a record."""
        return bool(np.isfinite(self.rows[turn]).all())

    def model(self, turn: int) -> DiffusionModel:
        """Return the model of a record."""
        return laid_out(on_device(self.rows[turn]), self.rest, layout=self.layout)
