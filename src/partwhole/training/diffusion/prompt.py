"""Prompts for a diffusion model: conditions, a direction among them, and guidance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.networks.diffusion import ConditionEmbedding, DiffusionModel
from partwhole.networks.diffusion.model import Conditions


@door(single=("conditions", "toward", "away"))
@dataclass(frozen=True, eq=False, kw_only=True)
class Prompt:
    r"""A request for samples: conditions, a shift of their embedding, and guidance.

    .. math:: e(c) + a \left(\overline{e(c_+)} - \overline{e(c_-)}\right)

    is the input to the blocks of the model, where e is its embedding and a bar the mean over
    conditions: with :math:`c_\pm` that differ in one concept, a shift along that concept's
    direction.

    Parameters
    ----------
    conditions : float array, shape (n, condition), or int array, shape (n, words)
        One for each sample.
    toward, away : arrays as conditions, any number of rows, default None
        The ends of a direction; both or neither.
    amount : float, default 1
        Length of the shift, a.
    guidance : float, default 1
        Strength of classifier-free guidance; 1 for none. It requires a model trained with some
        conditions dropped, `Training.drop_condition`. See `networks.diffusion.sample`.

    Raises
    ------
    InputError
        For a direction with one end only, and numbers that are not finite.

    Examples
    --------
    A shift of length 1 from one condition to another replaces it; longer ones go beyond it:

    >>> from partwhole.networks.diffusion import diffusion_model
    >>> model = diffusion_model("vector", condition=2, seed=0)
    >>> blue, red = np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]])
    >>> shifted = Prompt(conditions=blue, toward=red, away=blue).embed(model)
    >>> bool(np.allclose(shifted.parts[0], model.embed(red).parts[0], atol=1e-6))
    True
    """

    conditions: Conditions
    toward: Conditions | None = None
    away: Conditions | None = None
    amount: Real = 1.0
    guidance: Real = 1.0

    def __post_init__(self) -> None:
        require(
            (self.toward is None) == (self.away is None),
            "a direction has two ends",
            "one of toward and away",
            "pass both, or neither",
        )

    def __len__(self) -> int:
        return len(self.conditions)

    @door
    def embed(self, model: DiffusionModel) -> ConditionEmbedding:
        """Return the embedding of this prompt in a model."""
        embedding = model.embed(self.conditions)
        if self.toward is None or self.away is None:
            return embedding
        direction = model.embed(self.toward).mean() - model.embed(self.away).mean()
        return embedding + self.amount * direction

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that define the prompt."""
        conditions = (self.conditions, self.toward, self.away)
        numbers = np.array([self.amount, self.guidance], float)
        return (*(np.asarray(rows) for rows in conditions if rows is not None), numbers)
