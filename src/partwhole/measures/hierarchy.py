"""Whether a combination is never learned better than the parts it contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import NonNegative

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OrderViolations:
    """Pairs of combinations whose losses contradict their order.

    Parameters
    ----------
    pairs : int array, shape (P, 2)
        Combinations u and v, u strictly below v.
    excess : float array, shape (..., P)
        The loss at u less that at v, which the order says is at most 0.
    violated : bool array, shape (..., P)
        Whether the excess is above the tolerance.
    origin : int
        The combination without a concept.
    """

    pairs: Int[np.ndarray, "P 2"]
    excess: Float[np.ndarray, "*batch P"]
    violated: Bool[np.ndarray, "*batch P"]
    origin: int

    @property
    def count(self) -> int | Int[np.ndarray, "..."]:
        """Return how many pairs are violated: one number, or one for each leading axis."""
        count = self.violated.sum(axis=-1)
        return count if self.violated.ndim > 1 else int(count)

    @property
    def rate(self) -> float | Float[np.ndarray, "..."]:
        """Return the share of the pairs that are violated; NaN without pairs."""
        n = self.violated.shape[-1]
        rate = np.asarray(self.count) / n if n else np.full(self.violated.shape[:-1], np.nan)
        return rate if self.violated.ndim > 1 else float(rate)

    @property
    def without_origin(self) -> OrderViolations:
        """Return the same with the pairs of the origin left out.

        A learner with a bias answers the origin wrongly though it contains no concept, and this
        alone violates many pairs.
        """
        keep = (self.pairs != self.origin).all(axis=1)
        return OrderViolations(
            self.pairs[keep], self.excess[..., keep], self.violated[..., keep], self.origin
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the violated pairs, the worst first.

        Returns
        -------
        pandas.DataFrame
            With columns lower, upper and excess.

        Raises
        ------
        InputError
            For losses with leading axes.
        """
        import pandas as pd

        require(
            self.violated.ndim == 1,
            "a table holds the pairs of one list of losses",
            f"leading axes of shape {self.violated.shape[:-1]}",
            "pass losses[t]",
        )
        lower, upper = self.pairs[self.violated].T
        table = pd.DataFrame({"lower": lower, "upper": upper, "excess": self.excess[self.violated]})
        return table.sort_values("excess", ascending=False, kind="stable", ignore_index=True)


@door(empty=("pairs",))
def order_violations(
    losses: Float[np.ndarray, "*batch n"],
    pairs: Int[np.ndarray, "P 2"],
    *,
    tolerance: NonNegative = 0.0,
    origin: int = 0,
) -> OrderViolations:
    r"""Find where a combination has a smaller loss than one of the combinations it contains.

    The claim is :math:`u \preceq v \Rightarrow \ell_u \le \ell_v`; a pair violates it when
    :math:`\ell_u > \ell_v + \text{tolerance}`.

    Parameters
    ----------
    losses : float array, shape (..., n)
        At every combination; leading axes, of time or seeds, are kept.
    pairs : int array, shape (P, 2)
        Combinations u and v, u strictly below v, as `combinations().pairs` of a task lists them.
    tolerance : float, keyword-only, default 0.0
        In units of the loss.
    origin : int, keyword-only, default 0
        The combination without a concept, first in a task's list.

    Returns
    -------
    OrderViolations
        With `count`, `rate`, `violated`, `without_origin` and `to_frame()`.

    Raises
    ------
    InputError
        For losses that are not finite, pairs that are not two different combinations among the
        losses, an origin that is not among them, or a negative tolerance.

    Notes
    -----
    Yang et al. (ICLR 2025), figure 7: an observation on trained networks, which holds only
    approximately. Two learners for which it can be said: a diagonal map has no violations, the
    constant answer "all concepts" violates every pair; derived here.

    Examples
    --------
    >>> from partwhole import tasks
    >>> combinations = tasks.StructuredIdentity([1, 2], [0.05, 0.05]).combinations()
    >>> violations = order_violations(np.array([0.3, 0.1, 0.2, 0.7]), combinations.pairs)
    >>> violations.count, violations.rate, violations.without_origin.count
    (2, 0.4, 0)
    """
    n = losses.shape[-1]
    require(
        pairs.size == 0 or (pairs.min() >= 0 and pairs.max() < n),
        "pairs are among the combinations on the last axis of the losses",
        f"indices {pairs.min()}..{pairs.max()} for {n} losses" if pairs.size else "none",
        "put time first and combinations last",
    )
    require(
        bool((pairs[:, 0] != pairs[:, 1]).all()),
        "pairs are of two different combinations",
        "one paired with itself",
        "leave it out",
    )
    require(
        0 <= origin < n,
        "the origin is one of the combinations",
        f"{origin} for {n} losses",
        "pass its index, 0 in a task's list",
    )
    excess = losses[..., pairs[:, 0]] - losses[..., pairs[:, 1]]
    return OrderViolations(pairs, excess, excess > tolerance, origin)
