"""Fits: the constraint that training puts on a learner's outputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative, Number

Slack = Number


@dataclass(frozen=True)
class OneSided:
    """Constraints ``signs * output[rows] >= bounds``, with nonnegative multipliers.

    Parameters
    ----------
    rows : int array, shape (m,)
    signs : float array, shape (m,)
    bounds : float array, shape (m,)
    """

    rows: Int[np.ndarray, " m"]
    signs: Float[np.ndarray, " m"]
    bounds: Float[np.ndarray, " m"]

    def between(self, matrix: Float[np.ndarray, "*B n n"]) -> Float[np.ndarray, "*B m m"]:
        """Return a matrix between outputs as one between the constraints' signed outputs."""
        n, rows = matrix.shape[-1], self.rows
        if len(rows) != n or (rows != np.arange(n)).any():
            matrix = matrix[..., rows[:, None], rows]
        return matrix * np.multiply.outer(self.signs, self.signs)


def _require_slack(slack: Slack) -> None:
    array = np.asarray(slack, dtype=float)
    require(
        bool(np.all(array >= 0)),
        "slack must be nonnegative",
        f"{array.min(initial=np.inf):g}..{array.max(initial=-np.inf):g}",
        "0 means that the fit is exact",
    )


@door
@dataclass(frozen=True, eq=False)
class Equal:
    r"""Fit with outputs equal to the targets.

    Parameters
    ----------
    slack : float or float array (n,), default 0
        A misfit :math:`\xi` costs :math:`\xi^2 / (2\,slack)`; 0 allows none. It is the weight
        of a feature private to the row: a memorization unit, a ridge, or both.

    Examples
    --------
    With one feature :math:`c = x \cdot y / (x \cdot x + slack)`:

    >>> from partwhole import solve
    >>> sample = np.array([[1.0], [2.0]]), np.array([1.0, 2.0])
    >>> for slack in (0.0, 5.0):
    ...     print(solve(sample, fit=Equal(slack), intercept="none").coefficients.round(6))
    [1.]
    [0.5]
    """

    slack: Slack = 0.0

    def __post_init__(self) -> None:
        _require_slack(self.slack)

    def one_sided(self, targets: Float[np.ndarray, " n"]) -> OneSided | None:
        """Return None: equalities have free multipliers."""
        return None

    def gain(
        self, targets: Float[np.ndarray, "n *k"], multipliers: Float[np.ndarray, "n *k"]
    ) -> float:
        """Return the linear part of the dual, the sum of targets times multipliers."""
        return float(np.sum(targets * multipliers))

    def misfit(
        self, targets: Float[np.ndarray, "n *k"], outputs: Float[np.ndarray, "n *k"]
    ) -> Float[np.ndarray, "n *k"]:
        """Return the targets minus the outputs."""
        return targets - outputs


@door
@dataclass(frozen=True, eq=False)
class Margin:
    r"""Fit of labels with a functional margin of at least 1.

    For labels -1 and +1, in one column or several, label times output is at least 1. For classes,
    one-hot rows of 0 and 1, the output of the right class is larger than each other output by at
    least 1 (Crammer & Singer, JMLR 2001).

    Parameters
    ----------
    slack : float or float array (n,), default 0
        As in `Equal`; for classes, of each comparison with another class.

    Examples
    --------
    The row nearest to the boundary has a margin of 1, the row beyond it a larger one:

    >>> from partwhole import solve
    >>> sample = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    >>> limit = solve(sample, fit=Margin(), intercept="none")
    >>> limit.predict(sample[0]).round(6).tolist()
    [1.0, 2.0]
    """

    slack: Slack = 0.0

    def __post_init__(self) -> None:
        _require_slack(self.slack)

    def one_sided(self, targets: Float[np.ndarray, " n"]) -> OneSided:
        """Return ``y f >= 1``."""
        require(
            bool(np.all(np.abs(targets) == 1.0)),
            "a margin needs labels -1 and +1",
            f"targets in {targets.min():g}..{targets.max():g}",
            "recode labels 0 and 1 as 2 y - 1; for numbers use the fit Equal or Tube",
        )
        return OneSided(np.arange(len(targets)), targets, np.ones_like(targets))

    def gain(
        self, targets: Float[np.ndarray, "n *k"], multipliers: Float[np.ndarray, "n *k"]
    ) -> float:
        """Return the linear part of the dual: the sum of the multipliers times their labels."""
        return float(np.sum(targets * multipliers))

    def constant(
        self, targets: Float[np.ndarray, " n"], outputs: Float[np.ndarray, " n"]
    ) -> float | None:
        """Return the constant nearest to 0 that, added to the outputs, meets all margins.

        None where no constant does.
        """
        shortfalls = targets - outputs
        low = float(shortfalls[targets > 0].max(initial=-np.inf))
        high = float(shortfalls[targets < 0].min(initial=np.inf))
        return min(max(0.0, low), high) if low <= high else None

    def misfit(
        self, targets: Float[np.ndarray, "n *k"], outputs: Float[np.ndarray, "n *k"]
    ) -> Float[np.ndarray, "n *k"]:
        """Return how far each output falls short of its margin, in the label's direction."""
        return targets * np.maximum(0.0, 1.0 - targets * outputs)


@door
@dataclass(frozen=True, eq=False)
class Tube:
    r"""Fit with outputs within a width of the targets, as in epsilon-insensitive regression.

    Parameters
    ----------
    width : float
        Epsilon, at least 0.
    slack : float or float array (n,), default 0
        As in `Equal`; only the misfit beyond the tube costs.

    Examples
    --------
    The smallest coefficient whose outputs lie within 0.5 of the targets 1 and 2:

    >>> from partwhole import solve
    >>> sample = np.array([[1.0], [2.0]]), np.array([1.0, 2.0])
    >>> limit = solve(sample, fit=Tube(0.5), intercept="none")
    >>> limit.predict(sample[0]).round(6).tolist()
    [0.75, 1.5]
    """

    width: NonNegative
    slack: Slack = 0.0

    def __post_init__(self) -> None:
        _require_slack(self.slack)

    def one_sided(self, targets: Float[np.ndarray, " n"]) -> OneSided:
        """Return ``f >= y - width`` and ``-f >= -y - width``."""
        n = len(targets)
        return OneSided(
            np.tile(np.arange(n), 2),
            np.repeat([1.0, -1.0], n),
            np.concatenate([targets, -targets]) - self.width,
        )

    def gain(
        self, targets: Float[np.ndarray, "n *k"], multipliers: Float[np.ndarray, "n *k"]
    ) -> float:
        """Return the linear part of the dual, minus the width times the size of multipliers."""
        price = float(self.width) * float(np.sum(np.abs(multipliers)))
        return float(np.sum(targets * multipliers)) - price

    def constant(
        self, targets: Float[np.ndarray, " n"], outputs: Float[np.ndarray, " n"]
    ) -> float | None:
        """Return the middle of the constants that, added to the outputs, fit all targets.

        None where no constant does.
        """
        low, high = float((targets - outputs).min()), float((targets - outputs).max())
        return 0.5 * (low + high) if high - low <= 2.0 * float(self.width) else None

    def misfit(
        self, targets: Float[np.ndarray, "n *k"], outputs: Float[np.ndarray, "n *k"]
    ) -> Float[np.ndarray, "n *k"]:
        """Return the signed distance of each output from its tube; 0 inside."""
        miss = targets - outputs
        return np.sign(miss) * np.maximum(0.0, np.abs(miss) - self.width)


Fit = Equal | Margin | Tube
