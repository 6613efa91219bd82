"""Layer normalisation with a constant of its own, for weights that were trained with another."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from partwhole.networks.images.layers import EPSILON, LayerNorm, Pass


class EpsilonLayerNorm(LayerNorm):
    r"""Layer normalisation, :math:`(x - \bar x) / \sqrt{v + \epsilon}`, with a stated constant.

    `LayerNorm` has the constant of frameworks, 1e-5; Vision Transformers are often published with
    1e-6.
    """

    epsilon: float = eqx.field(static=True, default=EPSILON)

    def __call__(self, x: Float[Array, "*n c"], at: Pass) -> Float[Array, "*n c"]:
        """Return the normalised batch."""
        shape, dtype = (1,) * (x.ndim - 1) + (-1,), x.dtype
        x = x.astype(self.scale.dtype)
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        spread = jnp.mean(centred**2, axis=-1, keepdims=True)
        normalised = centred * jax.lax.rsqrt(spread + self.epsilon)
        normalised = normalised * self.scale.reshape(shape) + self.shift.reshape(shape)
        return normalised.astype(dtype)
