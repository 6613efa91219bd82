"""A plain network that predicts noise in vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import equinox as eqx
import jax
from jaxtyping import Array, Float

from partwhole._door import door
from partwhole._types import Bounds, Count, Seed
from partwhole.networks.diffusion.layers import Builder, Clock, Two
from partwhole.networks.images.layers import Dense, Pass, zeros


class NoiseMLP(eqx.Module):
    r"""Predictor of the noise in vectors from them, the time and the condition.

    .. math:: h_l = \phi\!\left(W_l h_{l-1} + b_l + m_{t,l}(\text{time})
        + m_{c,l}(\text{condition})\right), \quad \hat\varepsilon = z + W_L h_{L-1} + b_L

    with :math:`h_0 = z`, a GELU for :math:`\phi`, and :math:`W_L = 0` initially.

    Parameters
    ----------
    clock : Clock
    maps : tuple of Dense
    times, conditions : tuples of Two
        One for each map except the last.

    Examples
    --------
    Before training the predicted noise is the input itself, at all times and conditions:

    >>> predictor = noise_mlp(2, 3, layers=2, width=8, seed=0)
    >>> z, conditions = jax.numpy.array([[1.0, -2.0]]), jax.numpy.ones((1, 3))
    >>> predictor(z, jax.numpy.array([0.5]), predictor.embed(conditions), Pass()).tolist()
    [[1.0, -2.0]]
    """

    clock: Clock
    maps: tuple[Dense, ...]
    times: tuple[Two, ...]
    conditions: tuple[Two, ...]

    def embed(self, conditions: Float[Array, "n d"]) -> tuple[Float[Array, "n _"], ...]:
        """Return the embeddings of conditions, one for each layer."""
        return tuple(layer(conditions, Pass()) for layer in self.conditions)

    def __call__(
        self, z: Float[Array, "n d"], told: Float[Array, " t"],
        made: Sequence[Float[Array, "n _"]], at: Pass,
    ) -> Float[Array, "n d"]:  # fmt: skip
        """Return the predicted noise; see `UNet`."""
        time = self.clock(told, at)
        x = z
        for layer, clock, part in zip(self.maps[:-1], self.times, at.narrowed(*made), strict=True):
            x = jax.nn.gelu(layer(x, at) + clock(time, at) + part)
        return z + self.maps[-1](x, at).astype(z.dtype)


@door
def noise_mlp(
    size: Count,
    condition: Count,
    *,
    layers: Annotated[int, Bounds(at_least=2)] = 4,
    width: Count = 64,
    seed: Seed,
) -> NoiseMLP:
    """Draw a plain network.

    Parameters
    ----------
    size : int
        Length of a vector.
    condition : int
        Length of the condition vector.
    layers : int, keyword-only, default 4
        Maps from one layer to the next.
    width : int, keyword-only, default 64
    seed : int, keyword-only

    Raises
    ------
    InputError
        For lengths or a width below 1, fewer than two maps, a negative seed, and numbers that are
        not whole.

    Examples
    --------
    >>> network = noise_mlp(2, 4, layers=3, width=8, seed=0)
    >>> [layer.weight.shape for layer in network.maps]  # (out, in)
    [(8, 2), (8, 8), (2, 8)]
    """
    build = Builder(seed, 1, 0.0, condition, width)
    inner = range(layers - 1)
    sizes = (size, *(width for _ in inner))
    last = Dense(zeros(size, width), zeros(size))
    return NoiseMLP(
        clock=build.clock(),
        maps=(*(build.drawn.dense(sizes[i], width) for i in inner), last),
        times=tuple(build.of_time(width) for _ in inner),
        conditions=tuple(build.of_condition(width) for _ in inner),
    )
