"""Conditional diffusion models: what predicts noise, how it grows, and what can be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.networks.diffusion.schedule import LinearSchedule
from partwhole.networks.images.layers import Pass

NO_WORD = 0  # the token of a word that is not said
NOTHING = -1.0  # each entry of a vector that says nothing, as published

# Of shape (n, condition) and (n, words).
Conditions = Float[Array | np.ndarray, "_ _"] | Int[Array | np.ndarray, "_ _"]


@runtime_checkable
class NoisePredictor(Protocol):
    """Predict noise; `UNet` and `NoiseMLP` do."""

    def embed(self, conditions: Float[Array, "n d"]) -> tuple[Float[Array, "n _"], ...]:
        """Return what is made of conditions, which is the same at all times."""
        ...

    def __call__(
        self, z: Float[Array, "n *shape"], told: Float[Array, " t"], made: Sequence[Any], at: Pass
    ) -> Float[Array, "n *shape"]:
        """Return the noise in z at the times told, one for each row or one for all."""
        ...


class Words(eqx.Module):
    """Sum learned vectors of words, whatever their order.

    Parameters
    ----------
    vectors : float array, shape (v - 1, d)
        One for each token but 0, a word that is not said, which adds nothing.
    """

    vectors: Float[Array, "_ d"]

    def __call__(self, tokens: Int[Array, "n w"]) -> Float[Array, "n d"]:
        """Return the sums."""
        said = (tokens > NO_WORD)[..., None]
        return jnp.sum(jnp.where(said, self.vectors[tokens - 1], 0.0), axis=1)


@door
class ConditionEmbedding(eqx.Module):
    """Hold what a model makes of conditions, to be moved about.

    Sums, differences, multiples and means of them are such embeddings too: with `big` and `small`
    made of conditions that differ in one concept, ``here + 2.0 * (small - big).mean()`` moves
    along that concept's direction.

    Parameters
    ----------
    parts : tuple of float arrays, shapes (n, units)
        One for each block of the model.
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
        """Return the mean over conditions, as one that goes with any number of them."""
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
    r"""Predict the noise :math:`\varepsilon` in :math:`z_t = \alpha x + \sigma \varepsilon`.

    Draw one by `diffusion_model`; `sample` asks it for samples.

    Parameters
    ----------
    predictor : NoisePredictor
    schedule : LinearSchedule
    words : Words or None
        What turns tokens into vectors; None for a model whose conditions are vectors.
    shape : tuple of int
        Of a sample: (height, width, channels) or (length,).
    condition : int
        Length of the vector that says what is asked for.
    """

    predictor: NoisePredictor
    schedule: LinearSchedule
    words: Words | None
    shape: tuple[int, ...] = eqx.field(static=True)
    condition: int = eqx.field(static=True)

    @door(single=("conditions",))
    def embed(self, conditions: Conditions) -> ConditionEmbedding:
        """Return what the model makes of conditions, which is the same at all times.

        Parameters
        ----------
        conditions : float array, shape (n, condition), or int array, shape (n, words)
            Vectors for a model of vectors, tokens for one of words.

        Raises
        ------
        InputError
            For conditions of the other kind, of another length, or unknown tokens.
        """
        return _embed(self, jnp.asarray(self.checked(conditions)))

    @door(single=("conditions",))
    def checked(self, conditions: Conditions) -> np.ndarray:
        """Return conditions in the type that the model takes."""
        given = np.asarray(conditions)
        if self.words is None:
            require(
                given.shape[1] == self.condition and given.dtype.kind == "f",
                f"conditions of this model are rows of {self.condition} numbers",
                f"an array of shape {given.shape} and type {given.dtype}",
                "pass floats of shape (n, condition), or draw a model for other conditions",
            )
            return given.astype(np.float32)
        known = len(self.words.vectors) + 1
        require(
            given.dtype.kind in "iu" and given.size > 0,
            "conditions of this model are rows of tokens",
            f"an array of shape {given.shape} and type {given.dtype}",
            "pass what tokens() of the concepts gives",
        )
        require(
            given.min() >= 0 and given.max() < known,
            f"tokens are from 0 to {known - 1}",
            f"{given.min() if given.min() < 0 else given.max()}",
            "draw a model for a larger vocabulary",
        )
        return given.astype(np.int32)

    def made(self, conditions: Float[Array, "n d"] | Int[Array, "n w"]) -> tuple[Array, ...]:
        """Return what blocks make of conditions that have been checked."""
        told = conditions if self.words is None else self.words(conditions)
        return self.predictor.embed(told)

    @property
    def nothing(self) -> np.ndarray:
        """Return the condition that says nothing, shape (1, condition) or (1, 1)."""
        if self.words is None:
            return np.full((1, self.condition), NOTHING, np.float32)
        return np.full((1, 1), NO_WORD, np.int32)

    def noise(
        self, z: Float[Array, "n *shape"], gamma: Float[Array, " t"],
        made: Sequence[Array], at: Pass | None = None,
    ) -> Float[Array, "n *shape"]:  # fmt: skip
        """Return the noise in z at logs of noise over signal, one for each row or one for all."""
        return self.predictor(z, self.schedule.told(gamma), made, Pass() if at is None else at)

    @property
    def n_parameters(self) -> int:
        """Return the number of parameters, endpoints of a learned schedule not counted."""
        held = jax.tree.leaves(eqx.filter((self.predictor, self.words), eqx.is_inexact_array))
        return sum(leaf.size for leaf in held)


@jax.jit
def _embed(model: DiffusionModel, conditions: Array) -> ConditionEmbedding:
    return ConditionEmbedding(model.made(conditions))
