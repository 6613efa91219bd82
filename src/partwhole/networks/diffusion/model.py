"""Conditional diffusion models: noise predictor, noise schedule and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real
from partwhole.networks.diffusion.schedule import LinearSchedule
from partwhole.networks.images.layers import Pass

NO_WORD = 0  # the token of an absent word
NOTHING = -1.0  # each entry of the empty condition vector, as published

# Of shape (n, condition) and (n, words).
Conditions = Float[Array | np.ndarray, "_ _"] | Int[Array | np.ndarray, "_ _"]


@runtime_checkable
class NoisePredictor(Protocol):
    """Predictor of noise; `UNet` and `NoiseMLP` are two."""

    def embed(self, conditions: Float[Array, "n d"]) -> tuple[Float[Array, "n _"], ...]:
        """Return the embeddings of conditions, which are the same at all times."""
        ...

    def __call__(
        self, z: Float[Array, "n *shape"], told: Float[Array, " t"], made: Sequence[Any], at: Pass
    ) -> Float[Array, "n *shape"]:
        """Return the predicted noise in z at given times, one for each row or one for all."""
        ...


class Words(eqx.Module):
    """Learned vectors of words, which are summed in any order.

    Parameters
    ----------
    vectors : float array, shape (v - 1, d)
        One for each token except 0, an absent word, which adds nothing.

    Examples
    --------
    Token 0 adds nothing, and order doesn't count:

    >>> words = Words(jnp.array([[1.0, 0.0], [0.0, 10.0]]))
    >>> words(jnp.array([[1, 0], [1, 2], [2, 1]])).tolist()
    [[1.0, 0.0], [1.0, 10.0], [1.0, 10.0]]
    """

    vectors: Float[Array, "_ d"]

    def __call__(self, tokens: Int[Array, "n w"]) -> Float[Array, "n d"]:
        """Return the sums."""
        present = (tokens > NO_WORD)[..., None]
        return jnp.sum(jnp.where(present, self.vectors[tokens - 1], 0.0), axis=1)


@door
class ConditionEmbedding(eqx.Module):
    """Embeddings of conditions in a model, which can be added and scaled.

    Sums, differences, multiples and means of embeddings are embeddings too: if the conditions of
    `big` and `small` differ in one concept, ``embedding + 2.0 * (small - big).mean()`` moves along
    that concept's direction.

    Parameters
    ----------
    parts : tuple of float arrays, shapes (n, units)
        One for each block of the model.

    Examples
    --------
    >>> from partwhole.networks.diffusion import diffusion_model
    >>> model = diffusion_model("vector", condition=2, seed=0)
    >>> big = model.embed(np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> small = model.embed(np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> moved = big + 2.0 * (small - big).mean()
    >>> len(moved), [part.shape for part in moved.parts]  # two conditions, three blocks
    (2, [(2, 64), (2, 64), (2, 64)])
    """

    parts: tuple[Float[Array, "n _"], ...]

    def __len__(self) -> int:
        return len(self.parts[0])

    def __add__(self, other: ConditionEmbedding) -> ConditionEmbedding:
        return ConditionEmbedding(tuple(a + b for a, b in self._pairs(other)))

    def __sub__(self, other: ConditionEmbedding) -> ConditionEmbedding:
        return ConditionEmbedding(tuple(a - b for a, b in self._pairs(other)))

    def __mul__(self, factor: Real) -> ConditionEmbedding:
        return ConditionEmbedding(tuple(float(factor) * part for part in self.parts))

    __rmul__ = __mul__

    def mean(self) -> ConditionEmbedding:
        """Return the mean over conditions, which can be added to any number of embeddings."""
        return ConditionEmbedding(tuple(part.mean(axis=0, keepdims=True) for part in self.parts))

    def _pairs(self, other: ConditionEmbedding) -> zip[tuple[Array, Array]]:
        require(
            len(self.parts) == len(other.parts)
            and (len(self) == len(other) or 1 in (len(self), len(other))),
            "embeddings of one model go together, as many conditions in each, or one",
            f"{len(self)} and {len(other)} conditions",
            "take the mean() of one of them",
        )
        return zip(self.parts, other.parts, strict=True)


@door
class DiffusionModel(eqx.Module):
    r"""Predictor of the noise :math:`\varepsilon` in :math:`z_t = \alpha x + \sigma \varepsilon`.

    `diffusion_model` draws one; `sample` draws samples from it.

    Parameters
    ----------
    predictor : NoisePredictor
    schedule : LinearSchedule
    words : Words or None
        Vectors of the tokens; None for a model whose conditions are vectors.
    shape : tuple of int
        Of a sample: (height, width, channels) or (length,).
    condition : int
        Length of the condition vector.

    Examples
    --------
    >>> from partwhole.networks.diffusion import diffusion_model
    >>> model = diffusion_model("vector", condition=3, seed=0)
    >>> model.shape, model.condition, model.n_parameters
    ((2,), 3, 55170)
    >>> model.nothing.tolist()  # replaces the conditions that training drops
    [[-1.0, -1.0, -1.0]]
    """

    predictor: NoisePredictor
    schedule: LinearSchedule
    words: Words | None
    shape: tuple[int, ...] = eqx.field(static=True)
    condition: int = eqx.field(static=True)

    @door(single=("conditions",))
    def embed(self, conditions: Conditions) -> ConditionEmbedding:
        """Return the embeddings of conditions, which are the same at all times.

        Parameters
        ----------
        conditions : float array, shape (n, condition), or int array, shape (n, words)
            Vectors for a model of vectors, tokens for one of words.

        Raises
        ------
        InputError
            For conditions of the other kind, of another length, or unknown tokens.
        """
        return _embed(self, on_device(self.checked(conditions)))

    @door(single=("conditions",))
    def checked(self, conditions: Conditions) -> np.ndarray:
        """Validate conditions and return them in the type of the model."""
        array = np.asarray(conditions)
        if self.words is None:
            require(
                array.shape[1] == self.condition and array.dtype.kind == "f",
                f"conditions of this model are rows of {self.condition} numbers",
                f"an array of shape {array.shape} and type {array.dtype}",
                "pass floats of shape (n, condition), or draw a model for other conditions",
            )
            return array.astype(np.float32)
        n_tokens = len(self.words.vectors) + 1
        require(
            array.dtype.kind in "iu" and array.size > 0,
            "conditions of this model are rows of tokens",
            f"an array of shape {array.shape} and type {array.dtype}",
            "pass what tokens() of the concepts gives",
        )
        require(
            array.min() >= 0 and array.max() < n_tokens,
            f"tokens are from 0 to {n_tokens - 1}",
            f"{array.min() if array.min() < 0 else array.max()}",
            "draw a model for a larger vocabulary",
        )
        return array.astype(np.int32)

    def made(self, conditions: Float[Array, "n d"] | Int[Array, "n w"]) -> tuple[Array, ...]:
        """Return the embeddings of validated conditions, one for each block."""
        vectors = conditions if self.words is None else self.words(conditions)
        return self.predictor.embed(vectors)

    @property
    def nothing(self) -> np.ndarray:
        """Return the empty condition, shape (1, condition) or (1, 1)."""
        if self.words is None:
            return np.full((1, self.condition), NOTHING, np.float32)
        return np.full((1, 1), NO_WORD, np.int32)

    def noise(
        self, z: Float[Array, "n *shape"], gamma: Float[Array, " t"],
        made: Sequence[Array], at: Pass | None = None,
    ) -> Float[Array, "n *shape"]:  # fmt: skip
        """Return the noise in z at given logs of noise over signal, one for each row or for all."""
        return self.predictor(z, self.schedule.told(gamma), made, Pass() if at is None else at)

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters, without the endpoints of a learned schedule."""
        leaves = jax.tree.leaves(eqx.filter((self.predictor, self.words), eqx.is_inexact_array))
        return sum(leaf.size for leaf in leaves)


@jax.jit
def _embed(model: DiffusionModel, conditions: Array) -> ConditionEmbedding:
    return ConditionEmbedding(model.made(conditions))
