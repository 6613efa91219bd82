"""Masked conditions, and conditions that overstate a concept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Fraction, Real, Seed
from partwhole.tasks.shapes.attributes import BOUNDS, ENCODED, N_ENCODED
from partwhole.tasks.shapes.classes import NO_WORD, Combination
from partwhole.tasks.shapes.conditions import Layout, Prompted

Amounts = Literal["further", "from the middle", "multiples"]
MASK = 5  # a random stream of its own


class Altered(Prompted):
    """Masked and overstated conditions, a part of `ConceptSpace`."""

    @door
    def mask_conditions(
        self,
        conditions: Float[np.ndarray, "n width"] | Int[np.ndarray, "n C"],
        concept: str | Sequence[str],
        *,
        rows: Bool[np.ndarray, " n"] | Int[np.ndarray, " m"] | Sequence[int] | None = None,
        share: Fraction = 1.0,
        value: Real = 0.0,
        seed: Seed | None = None,
    ) -> Float[np.ndarray, "n width"] | Int[np.ndarray, "n C"]:
        """Return conditions in which a concept of some rows is masked.

        Parameters
        ----------
        conditions : float array, shape (n, width), or int array, shape (n, C)
            Of either layout, or tokens. It is not changed.
        concept : str or sequence of str
            Names of what to hide.
        rows : bool array, int array or sequence of int, keyword-only, default None
            Where it may be hidden: in the samples of one class, say. None for all.
        share : float, keyword-only, default 1
            How much of those rows loses it, rounded to whole rows. With the same seed the rows
            of a smaller share are among those of a larger one.
        value : float, keyword-only, default 0
            What takes its place; the published code has 0 for a masked concept and -1 for a
            condition that is dropped. Tokens have 0, no word, and no other.
        seed : int, keyword-only, default None
            Chooses the rows, needed for a share between 0 and 1.

        Returns
        -------
        array as conditions

        Raises
        ------
        InputError
            For conditions of another width, an unknown concept, a share outside 0..1, or a share
            without a seed.

        Notes
        -----
        Park et al. (NeurIPS 2024), underspecified prompts: colour is hidden for a share of the
        red samples, and with all of them a blue sample cannot be requested.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> space = circles(0.8)
        >>> space.mask_conditions(space.class_conditions(), "colour", rows=space.select("red"))[1:3]
        array([[0.  , 0.  , 0.  , 0.25],
               [0.1 , 0.1 , 0.9 , 0.65]])
        >>> space.mask_conditions(space.tokens(range(4)), "colour", rows=[0]).tolist()[:2]
        [[0, 3], [1, 4]]
        """
        rows_of_conditions = np.asarray(conditions)
        hidden = [concept] if isinstance(concept, str) else list(concept)
        columns = self._columns_of(rows_of_conditions, [self.position(name) for name in hidden])
        is_tokens = np.issubdtype(rows_of_conditions.dtype, np.integer)
        require(
            not is_tokens or value == NO_WORD,
            "the value of a masked concept is 0 for tokens",
            repr(value),
            "pass 0, or -1 for a dropped condition in numbers",
        )
        open_rows = np.arange(len(rows_of_conditions))[
            slice(None) if rows is None else np.asarray(rows, dtype=int if len(rows) == 0 else None)
        ]
        if 0.0 < share < 1.0:
            require(
                seed is not None,
                "rows are chosen by a seed",
                f"share {share} without one",
                "pass seed",
            )
            open_rows = np.random.default_rng([seed or 0, MASK]).permutation(open_rows)
        open_rows = open_rows[: int(np.floor(share * len(open_rows) + 0.5))]
        masked = rows_of_conditions.copy()
        masked[open_rows[:, None], columns] = value
        return masked

    def _columns_of(self, conditions: np.ndarray, concepts: list[int]) -> list[int]:
        """Return the columns of concepts in conditions, whose width identifies the layout."""
        width = conditions.shape[1] if conditions.ndim == 2 else 0
        used_columns = self.condition_columns
        if np.issubdtype(conditions.dtype, np.integer):
            require(
                width == len(self.concepts),
                f"tokens have {len(self.concepts)} columns, one for each concept",
                f"shape {conditions.shape}",
                "pass the result of tokens",
            )
            return concepts
        require(
            width in (len(used_columns), N_ENCODED),
            f"conditions have {len(used_columns)} columns, or {N_ENCODED} in the published layout",
            f"shape {conditions.shape}",
            "pass the result of conditions",
        )
        columns = [
            column for c in concepts for column in range(N_ENCODED)[ENCODED[self.concepts[c].field]]
        ]
        if width == N_ENCODED:
            return columns
        return [int(np.flatnonzero(used_columns == column)[0]) for column in columns]

    @door
    def over_prompts(
        self,
        combination: Combination,
        amounts: Sequence[Real] | np.ndarray,
        *,
        concept: str = "colour",
        amounts_are: Amounts = "further",
        layout: Layout = "vector",
    ) -> Float[np.ndarray, "m width"]:
        r"""Return a class's condition with one concept overstated, by several amounts.

        With the concept's mean :math:`\mu` in this class, the middle m, grey of .5 for colours and
        the mean of all values for other fields, and :math:`u = (\mu - m) / \max|\mu - m|`:

        ===================  ==================================================
        amounts_are          the concept's place for an amount a
        ===================  ==================================================
        "further"            :math:`\mu + a u`, moved on
        "from the middle"    :math:`m + a u`, wherever the mean is
        "multiples"          :math:`\mu + a (\mu - \bar\mu)`, from the mean of the other values
        ===================  ==================================================

        and is cut off at the ends of what the field may be, 0 and 1 for colours.

        Parameters
        ----------
        combination : int, str or sequence of str
            A class, as in `index`.
        amounts : sequence of float
            In units of the field; "multiples" have none.
        concept : str, keyword-only, default "colour"
            Which to overstate.
        amounts_are : {"further", "from the middle", "multiples"}, keyword-only, default "further"
        layout : {"vector", "published"}, keyword-only, default "vector"
            As in `conditions`.

        Returns
        -------
        float array, shape (m, width)

        Raises
        ------
        InputError
            For a concept that is a kind, a value in the middle, from which nothing points, or
            amounts that are not finite.

        Notes
        -----
        Park et al. (NeurIPS 2024), overprompting; their list of prompts is
        `published_over_prompts`.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> circles(0.2).over_prompts("small blue", [0.0, 0.25, 0.5]).round(2).tolist()
        [[0.4, 0.4, 0.6, 0.25], [0.15, 0.15, 0.85, 0.25], [0.0, 0.0, 1.0, 0.25]]
        """
        moves = np.asarray(amounts, dtype=float)
        c = self.position(concept)
        name = self.fields[c]
        require(
            name != "kind",
            "a kind can't be overstated",
            repr(concept),
            "choose a concept in numbers",
        )
        concept_index = self.index(combination)
        means = np.array([law.mean for law in self.concepts[c].laws])
        value = int(self.classes[concept_index, c])
        middle = np.full(3, 0.5) if means.shape[1] == 3 else means.mean(axis=0)
        other_columns = np.delete(means, value, axis=0).mean(axis=0)
        away = means[value] - (other_columns if amounts_are == "multiples" else middle)
        size = np.abs(away).max()
        require(
            size > 1e-9,
            f"an overstated value of {concept} differs from the middle value",
            f"{self.concepts[c].words[value]!r}, which is the middle",
            "choose another class or concept",
        )
        start = middle if amounts_are == "from the middle" else means[value]
        step = away if amounts_are == "multiples" else away / size
        base = self.class_conditions([concept_index], layout="published")
        prompts = np.repeat(base, len(moves), axis=0)
        prompts[:, ENCODED[name]] = np.clip(start + moves[:, None] * step, *BOUNDS[name])
        return prompts if layout == "published" else prompts[:, self.condition_columns]


def published_over_prompts() -> Float[np.ndarray, "5 4"]:
    """Return the published prompts for a blue small circle, made for a colour separation of .2.

    Returns
    -------
    float array, shape (5, 4)
        Colour, 0 to .35 beyond the mean of that separation, and the size .3, which is nearer to
        the middle than the mean, .25.

    Notes
    -----
    Park et al. (NeurIPS 2024), capability as the best of five prompts.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.altered import published_over_prompts
    >>> further = circles(0.2).over_prompts("small blue", [0.0, 0.05, 0.15, 0.25, 0.35])
    >>> bool(abs(further - published_over_prompts())[:, :3].max() < 1e-12)
    True
    """
    low = np.array([0.4, 0.35, 0.25, 0.15, 0.05])
    return np.stack([low, low, 1.0 - low, np.full(5, 0.3)], axis=1)
