"""Contrasts on unseen combinations: what predictions say of each set of parts, in no gauge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features import ConjunctionDesign
from partwhole.features.conjunctions import conjunction_sets
from partwhole.measures._predictions import one_for_each_row, require_one_output
from partwhole.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

# Of the length of a column of ones: what projections leave of dependent columns is near 1e-15 of
# it; independent indicators keep about one over the number of rows, or more.
RANK = 1e-10
NOTHING = 1e-10  # of the targets' spread: less than this of it is rounding
CELL_LIMIT, WORK_LIMIT = 2e7, 4e11


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Hold what held-out predictions say of each set of components.

    Parameters
    ----------
    names : tuple of str
        The components' names.
    dof : dict from component sets to int
        Dimension of the set's contrasts; 0 where none of its seen conjunctions is in a held-out
        row, or where sums over other sets say the same.
    size, target_size : dict from component sets to float
        Root mean square over held-out rows of the predictions' and of the targets' part in these
        contrasts, in their units.
    slope : dict from component sets to float
        Of the predictions' part on the targets': 1 where the contrasts are learned; NaN where
        the targets have none.
    remainder, target_remainder : float
        Root mean square of what no sum over seen conjunctions spans; of predictions, 0 for every
        overlap kernel.
    remainder_slope : float
        As `slope`.
    remainder_dof : int
        Held-out rows less the dimension of all such sums, the constant counted.
    n : int
        Held-out rows.
    """

    names: tuple[str, ...]
    dof: dict[tuple[int, ...], int]
    size: dict[tuple[int, ...], float]
    target_size: dict[tuple[int, ...], float]
    slope: dict[tuple[int, ...], float]
    remainder: float
    target_remainder: float
    remainder_slope: float
    remainder_dof: int
    n: int

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each set of components, and a last one for the remainder.

        The order of the remainder is missing.
        """
        import pandas as pd

        sets = list(self.dof)
        labels = [" x ".join(self.names[c] for c in chosen) for chosen in sets]
        columns = {
            "conjunction": [*labels, "remainder"],
            "order": pd.array([*map(len, sets), None], dtype="Int64"),
            "dof": [*self.dof.values(), self.remainder_dof],
            "size": [*self.size.values(), self.remainder],
            "target_size": [*self.target_size.values(), self.target_remainder],
            "slope": [*self.slope.values(), self.remainder_slope],
        }
        return pd.DataFrame(columns)


@door
def contrasts(
    task: Task, predictions: Float[np.ndarray, "n *k"], *, max_order: int | None = None
) -> Contrasts:
    r"""Report what held-out predictions say of each set of components, and what of no set.

    Coefficients of conjunctions depend on a gauge, since their indicators are dependent. What
    predictions do identify are contrasts. For a set S let :math:`X_S` be the indicators, on
    held-out rows, of its conjunctions seen in training, and :math:`X_0` the constant with those
    of every set that does not contain S. The contrasts of S are
    :math:`\mathrm{span}((1 - P_0) X_S)`, with the projection :math:`P_0` on
    :math:`\mathrm{span}(X_0)`: what S adds to all sums without it. For an orthonormal basis
    :math:`Q` of them, predictions f and targets y,

    .. math:: \text{size} = \frac{\|Q^\top f\|}{\sqrt n}, \qquad
              \text{slope} = \frac{\langle Q^\top f, Q^\top y \rangle}{\|Q^\top y\|^2}.

    Sets that contain S are not taken out, as is usual for main effects beside interactions: a
    function of a pair may have a part in the contrasts of its components.

    Parameters
    ----------
    task : Task
        With targets of shape (n,).
    predictions : float array, shape (n,)
        For every row of the task; only held-out rows are used.
    max_order : int, keyword-only, optional
        Largest sets to report, in components; C by default. Conjunctions of larger sets then
        count in the remainder. The set of all components is reported only where a held-out
        combination is also seen in training.

    Returns
    -------
    Contrasts

    Raises
    ------
    InputError
        When the task has several outputs or no held-out row, predictions are not one finite
        number for each row, `max_order` is not in 1..C, or the task is too large: distinct
        held-out combinations x columns may reach 2e7 (1 GB), and these x the lesser of the two x
        sets 4e11 (about a minute); 4,000 combinations of 3 components with 20 values take
        seconds.

    Notes
    -----
    Derived here, from theorem 4.2 of Lippl & Stachenfeld (ICLR 2025): predictions of an overlap
    kernel on held-out rows are sums over seen conjunctions. In symbolic addition every single
    component's slope is the memorization leak. Adjusting for all sets that do not contain S is
    the principle of marginality in analysis of variance.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> first, second = task.components.T - 4.0
    >>> found = contrasts(task, 0.5 * first + 0.8 * second + 0.1 * first * second)
    >>> {chosen: round(slope, 6) for chosen, slope in found.slope.items()}
    {(0,): 0.5, (1,): 0.8}
    >>> round(found.remainder, 6), found.remainder_dof
    (0.75, 49)
    """
    require_one_output(task, "contrasts")
    answers = one_for_each_row(task, predictions)
    require(
        task.n_test > 0,
        "contrasts are read on held-out rows",
        "none",
        "mark them False in is_train",
    )
    order = task.n_components if max_order is None else max_order
    require(
        1 <= order <= task.n_components,
        f"max_order lies in 1..{task.n_components}, the number of components",
        order,
        "use 1 for single items",
    )
    held_out = ~task.is_train
    both = np.stack([_centred(answers[held_out]), _centred(task.targets[held_out])], axis=1)
    rows, which, counts = np.unique(
        task.test_components, axis=0, return_inverse=True, return_counts=True
    )
    n, root = len(both), np.sqrt(counts)[:, None]
    # Repeats of a combination are one row that weighs as much, and what differs between them.
    means = np.stack([np.bincount(which.ravel(), column) / counts for column in both.T], axis=1)
    within = both - means[which.ravel()]
    columns = {chosen: root * part for chosen, part in _indicators(task, rows, order).items()}
    basis = _span(np.hstack(list(columns.values())), n)
    inside = basis.T @ (root * means)
    outside = root * means - basis @ inside
    # From here on in coordinates of everything that sums over seen conjunctions span.
    columns = {chosen: basis.T @ part for chosen, part in columns.items()}
    least = NOTHING**2 * float(both[:, 1] @ both[:, 1])
    dof: dict[tuple[int, ...], int] = {}
    numbers: dict[tuple[int, ...], tuple[float, float, float]] = {}
    for chosen, part in columns.items():
        everything = len(chosen) == task.n_components
        if not chosen or (everything and not part.shape[1]):
            continue
        others = [other for key, other in columns.items() if not set(chosen) <= set(key)]
        adjusted = _span(np.hstack(others), n)
        own = _span(part - adjusted @ (adjusted.T @ part), n)
        # Without the others' part here too, so that what rounding leaves of it in `own`, large
        # where columns nearly depend on theirs, meets nothing.
        left = inside - adjusted @ (adjusted.T @ inside)
        dof[chosen] = own.shape[1]
        numbers[chosen] = _numbers(own.T @ left, n, least)
    rest = _numbers(np.concatenate([outside, within]), n, least)
    size, target_size, slope = (
        {chosen: found[i] for chosen, found in numbers.items()} for i in range(3)
    )
    return Contrasts(task.names, dof, size, target_size, slope, *rest, n - basis.shape[1], n)


def _indicators(
    task: Task, rows: Int[np.ndarray, "u C"], max_order: int
) -> dict[tuple[int, ...], Float[np.ndarray, "u _"]]:
    """Return the indicators of each set's seen conjunctions that any of these rows has."""
    sets = conjunction_sets(task.n_components, max_order)
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values).at(rows)
    used = [np.unique(index[index >= 0]) for index in design.index]
    n_columns = sum(map(len, used))
    cells = float(len(rows)) * n_columns
    work = cells * min(len(rows), n_columns) * len(sets)
    require(
        cells <= CELL_LIMIT and work <= WORK_LIMIT,
        f"contrasts are for tasks of at most {CELL_LIMIT:.0e} held-out combinations x columns, "
        f"and of at most {WORK_LIMIT:.0e} of these x the lesser of the two x sets",
        f"{len(rows)} combinations, {n_columns} columns and {len(sets)} sets: {cells:.1e} and "
        f"{work:.1e}",
        "lower max_order, or take fewer of the held-out rows",
    )
    return {
        chosen: (index[:, None] == seen).astype(float)
        for chosen, index, seen in zip(sets, design.index, used, strict=True)
    }


def _span(matrix: Float[np.ndarray, "r p"], n: int) -> Float[np.ndarray, "r d"]:
    """Return an orthonormal basis of what the columns span."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return left[:, sizes > RANK * np.sqrt(n)]


def _numbers(parts: Float[np.ndarray, "d 2"], n: int, least: float) -> tuple[float, float, float]:
    """Return the sizes of predictions and targets, and the slope of one on the other."""
    f, y = parts.T
    squares = float(y @ y)
    slope = float(f @ y) / squares if squares > least else np.nan
    return float(np.sqrt(f @ f / n)), float(np.sqrt(squares / n)), slope


def _centred(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Take the mean away; what rounding leaves of constant values is 0."""
    spread = values - values.mean()
    constant = np.abs(spread).max() <= 1e-12 * np.abs(values).max()
    return np.zeros_like(spread) if constant else spread
