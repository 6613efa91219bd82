"""Limits of several learners or costs, solved in parallel or by an exact reduction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._threads import cores
from partwhole.limits.fits import Fit
from partwhole.limits.limit import Limit, Outcome, Rows
from partwhole.limits.problem import Intercept
from partwhole.limits.sweeps import swept
from partwhole.tasks._labels import are_classes, label_margins

if TYPE_CHECKING:
    import pandas as pd

Solve = Callable[[Any, Any], Limit]


@dataclass(frozen=True, eq=False, repr=False)
class Limits(Sequence[Limit]):
    """Limits of several learners, or of several costs, on the same rows.

    A sequence of `Limit`, with arrays whose first axis is the learner. If an exact reduction
    applies to all learners (margins of overlap kernels by classes of exchangeable tuples,
    interpolation by one eigendecomposition or one factored table), only held-out predictions are
    computed. The limit of a single learner, with its certificate, is then solved when it is
    accessed.

    Parameters
    ----------
    rows : Rows
        All inputs that were passed to `solve`.
    test_predictions : float array, shape (L, m) or (L, m, k)
        Predictions for the m held-out rows; NaN where no function fits the training set, or where
        no solution was reached.
    error : float array, shape (L,)
        Estimated largest error of any held-out prediction, in the targets' unit; 0 where it is
        certified by a duality gap or an exact reduction.
    solve : callable
        From the index of a learner to its limit.

    Examples
    --------
    >>> from partwhole import features, solve, tasks
    >>> task = tasks.dispersed_addition(range(-4, 5), 2, seed=1)
    >>> kernels = [features.OverlapKernel.from_salience([s]) for s in (0.1, 0.3)]
    >>> limits = solve(task, kernels, intercept="free")
    >>> limits.test_error.round(6).tolist()
    [8.737095, 3.792571]
    >>> limits[1]
    Limit(solved, value ..., mean squared error on 63 held-out rows 3.79257)
    """

    rows: Rows
    test_predictions: Float[np.ndarray, "L m *k"]
    error: Float[np.ndarray, " L"]
    solve: Callable[[int], Limit]

    def __len__(self) -> int:
        return len(self.test_predictions)

    @overload
    def __getitem__(self, place: int) -> Limit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Limit, ...]: ...
    def __getitem__(self, place: int | slice) -> Limit | tuple[Limit, ...]:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        if not -len(self) <= place < len(self):
            raise IndexError(f"there are {len(self)} limits; got {place}")
        return self.solve(place % len(self))

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcome of each solve."""
        has_error = np.isfinite(self.test_predictions).reshape(len(self), -1).all(axis=1)
        has_error &= np.isfinite(self.error) & bool(self.test_predictions[0].size)
        return tuple(
            Outcome.SOLVED if finite and self._reduced else self[i].outcome
            for i, finite in enumerate(has_error)
        )

    @property
    def _reduced(self) -> bool:
        return not isinstance(self.solve, _Solved)

    @cached_property
    def predictions(self) -> Float[np.ndarray, "L n *k"]:
        """Return the outputs for all rows; this solves every limit individually."""
        return np.stack([limit.predictions for limit in self])

    @property
    def test_error(self) -> Float[np.ndarray, " L"]:
        """Return the mean squared error over held-out rows; NaN when none is held out."""
        targets = self.rows.targets[~self.rows.is_train]
        if not len(targets):
            return np.full(len(self), np.nan)
        squares = (self.test_predictions - targets) ** 2
        return squares.reshape(len(self), -1).mean(axis=1)

    @property
    def test_margins(self) -> Float[np.ndarray, "L m *entries"]:
        """Return label times output for the held-out rows, or the margins of classes."""
        targets, classes = self.rows.targets[~self.rows.is_train], are_classes(self.rows.targets)
        return np.stack([label_margins(targets, out, classes) for out in self.test_predictions])

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each learner: outcome and mean squared error on held-out rows."""
        import pandas as pd

        outcomes = [outcome.name.lower() for outcome in self.outcomes]
        return pd.DataFrame({"outcome": outcomes, "test_error": self.test_error})

    def __repr__(self) -> str:
        n = int(np.sum(~self.rows.is_train))
        return f"Limits({len(self)} learners, {n} held-out rows)"


@dataclass(frozen=True)
class _Solved:
    """Limits that are already solved, as a function of the index."""

    limits: tuple[Limit, ...]

    def __call__(self, place: int) -> Limit:
        return self.limits[place]


def limits_of(
    rows: Rows,
    learners: Sequence[Any],
    costs: Sequence[Any],
    fit: Fit,
    intercept: Intercept,
    solve: Solve,
    workers: int | None,
) -> Limits:
    """Return the limits of all learners and costs, by an exact reduction if one applies."""
    require(
        len(learners) > 0 and len(costs) > 0,
        "a sequence holds at least one learner or cost",
        "none",
        "pass a learner",
    )
    count = max(len(learners), len(costs))
    require(
        {len(learners), len(costs)} <= {1, count},
        "there are as many learners as costs, or a single one for all",
        f"{len(learners)} and {len(costs)}",
        "pass sequences of one length",
    )
    if workers is None:
        workers = cores()
    if rows.task is not None and len(costs) == 1 and costs[0] is None:
        reduction = swept(rows.task, learners, fit, intercept)
        if reduction is not None:
            predictions, error = reduction
            return Limits(rows, predictions, error, lambda i: solve(learners[i], None))
    pairs = zip(
        [*learners] * (count // len(learners)), [*costs] * (count // len(costs)), strict=True
    )
    from threadpoolctl import threadpool_limits

    # One core for each problem: matrix products of these sizes are not faster on two.
    with threadpool_limits(1), ThreadPoolExecutor(min(workers, count)) as pool:
        limits = tuple(pool.map(lambda pair: solve(*pair), pairs))
    predictions = np.stack([limit.test_predictions for limit in limits])
    return Limits(rows, predictions, np.zeros(len(limits)), _Solved(limits))
