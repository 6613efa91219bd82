"""Contrasts on unseen combinations: the part of predictions that each set of components adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.measures._predictions import (
    outputs_of,
    require_outputs,
)
from partwhole.measures._repeats import COUNTED, Differences, repeats_of
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
    """Parts of held-out predictions and targets that each set of components adds.

    Parameters
    ----------
    names : tuple of str
        The components' names.
    dof : dict from component sets to int
        Dimension of the set's contrasts; 0 where none of its seen conjunctions is in a held-out
        row, or where sums over other sets say the same.
    size, target_size : dict from component sets to float
        Root mean square, over held-out rows and outputs, of the predictions' and of the targets'
        part in these contrasts, in their units.
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
    notes : tuple of str
        Whether noise was taken away.
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
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each set of components, and a last one for the remainder.

        The order of the remainder is missing.
        """
        import pandas as pd

        sets = list(self.dof)
        labels = [" x ".join(self.names[c] for c in components) for components in sets]
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
    task: Task,
    predictions: Float[np.ndarray, "n *k"],
    *,
    max_order: int | None = None,
    repeats: Differences = "signal",
) -> Contrasts:
    r"""Return the part of held-out predictions that each set of components adds, and the rest.

    Coefficients of conjunctions depend on a gauge, since their indicators are dependent. What
    predictions do identify are contrasts. For a set S let :math:`X_S` be the indicators, on
    held-out rows, of its conjunctions seen in training, and :math:`X_0` the constant with those
    of every set that does not contain S. The contrasts of S are
    :math:`\mathrm{span}((1 - P_0) X_S)`, with the projection :math:`P_0` on
    :math:`\mathrm{span}(X_0)`: what S adds to all sums without it. For an orthonormal basis
    :math:`Q` of them, predictions f and targets y,

    .. math:: \text{size} = \frac{\|Q^\top f\|}{\sqrt n}, \qquad
              \text{slope} = \frac{\langle Q^\top f, Q^\top y \rangle}{\|Q^\top y\|^2}.

    With several outputs n counts rows times outputs, and the products go over all outputs: each
    output is centred by itself, and all share one slope.

    Where held-out rows repeat a combination with different predictions, as single trials do, these
    differences count in the remainder, and a note says so. With ``repeats="noise"`` sizes and
    remainder of the predictions are those of noise-free means: what noise adds to squares, by its
    variance between the rows of each combination, is taken away; they are 0 where that is more.
    Slopes are without bias in either case, and sizes of targets as they are.

    Sets that contain S are not taken out, as is usual for main effects beside interactions: a
    function of a pair may have a part in the contrasts of its components.

    Parameters
    ----------
    task : Task
        With targets of shape (n,) or (n, k).
    predictions : float array, shape of the targets
        For every row of the task; only held-out rows are used.
    max_order : int, keyword-only, optional
        Largest sets to report, in components; C by default. Conjunctions of larger sets then
        count in the remainder. The set of all components is reported only where a held-out
        combination is also seen in training.
    repeats : {"signal", "noise"}, keyword-only, default "signal"
        What differences between predictions of one combination are; noise has to be independent
        between rows.

    Returns
    -------
    Contrasts

    Raises
    ------
    InputError
        When the task has no held-out row, predictions are not finite or do not have the shape of
        the targets, `max_order` is not in 1..C, or the task is too large: distinct held-out
        combinations x columns may reach 2e7 (1 GB), and these x the lesser of the two x sets 4e11
        (about a minute); 4,000 combinations of 3 components with 20 values take seconds.

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
    >>> parts = contrasts(task, 0.5 * first + 0.8 * second + 0.1 * first * second)
    >>> {components: round(slope, 6) for components, slope in parts.slope.items()}
    {(0,): 0.5, (1,): 0.8}
    >>> round(parts.remainder, 6), parts.remainder_dof
    (0.75, 49)
    """
    require_outputs(task, predictions)
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
    # Columns: the predictions of all outputs, then their targets.
    outputs = [*outputs_of(predictions[held_out]), *outputs_of(task.targets[held_out])]
    values = np.stack([_centred(output) for output in outputs], axis=1)
    rows, tuples, counts = np.unique(
        task.test_components, axis=0, return_inverse=True, return_counts=True
    )
    n, root = len(values), np.sqrt(counts)[:, None]
    # Repeats of a combination: one row of their joint weight, and their differences from its mean.
    means = np.stack([np.bincount(tuples.ravel(), column) / counts for column in values.T], axis=1)
    within = values - means[tuples.ravel()]
    indicators = _indicators(task, rows, order)
    columns = {components: root * part for components, part in indicators.items()}
    basis = _span(np.hstack(list(columns.values())), n)
    inside = basis.T @ (root * means)
    outside = root * means - basis @ inside
    # From here on in coordinates of everything that sums over seen conjunctions span.
    columns = {components: basis.T @ part for components, part in columns.items()}
    targets = values.T[values.shape[1] // 2 :]
    rounding = NOTHING**2 * sum(float(target @ target) for target in targets)
    differing = repeats_of(task.test_components, predictions[held_out])
    noisy = differing if repeats == "noise" else None
    # The noise of a row, summed over outputs: of a combination's mean with the root of its weight.
    noise = np.zeros(len(rows)) if noisy is None else noisy.variances.sum(axis=1)
    dof: dict[tuple[int, ...], int] = {}
    numbers: dict[tuple[int, ...], tuple[float, float, float]] = {}
    for components, part in columns.items():
        complete = len(components) == task.n_components
        if not components or (complete and not part.shape[1]):
            continue
        outer = [column for key, column in columns.items() if not set(components) <= set(key)]
        adjusted = _span(np.hstack(outer), n)
        contrast = _span(part - adjusted @ (adjusted.T @ part), n)
        # The outer part is removed here too: rounding leaves some of it in `contrast`, much where
        # its columns nearly depend on the outer ones.
        residual = inside - adjusted @ (adjusted.T @ inside)
        dof[components] = contrast.shape[1]
        added = float(np.sum((basis @ contrast) ** 2, axis=1) @ noise)
        numbers[components] = _numbers(contrast.T @ residual, n, rounding, added)
    # Of noise all of the differences within combinations, and in means what the basis leaves.
    added = float((1.0 - np.sum(basis**2, axis=1)) @ noise)
    if noisy is not None:
        added += float(np.sum(within[:, : values.shape[1] // 2] ** 2))
    remainder = _numbers(np.concatenate([outside, within]), n, rounding, added)
    size, target_size, slope = (
        {components: triple[i] for components, triple in numbers.items()} for i in range(3)
    )
    return Contrasts(
        task.names, dof, size, target_size, slope, *remainder, n - basis.shape[1], n,
        () if differing is None else (COUNTED if noisy is None else noisy.note,),
    )  # fmt: skip


def _indicators(
    task: Task, rows: Int[np.ndarray, "u C"], max_order: int
) -> dict[tuple[int, ...], Float[np.ndarray, "u _"]]:
    """Return the indicators of each set's seen conjunctions that any of these rows has."""
    sets = conjunction_sets(task.n_components, max_order)
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values).at(rows)
    present = [np.unique(index[index >= 0]) for index in design.index]
    n_columns = sum(map(len, present))
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
        components: (index[:, None] == seen).astype(float)
        for components, index, seen in zip(sets, design.index, present, strict=True)
    }


def _span(matrix: Float[np.ndarray, "r p"], n: int) -> Float[np.ndarray, "r d"]:
    """Return an orthonormal basis of what the columns span."""
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return left[:, sizes > RANK * np.sqrt(n)]


def _numbers(
    parts: Float[np.ndarray, "d outputs"], n: int, rounding: float, noise: float
) -> tuple[float, float, float]:
    """Return the sizes of predictions less noise and of targets, and the slope on these."""
    k = parts.shape[1] // 2
    fs, ys = parts.T[:k], parts.T[k:]
    squares = sum(float(y @ y) for y in ys)
    product = sum(float(f @ y) for f, y in zip(fs, ys, strict=True))
    slope = product / squares if squares > rounding else np.nan
    size = np.sqrt(max(sum(float(f @ f) for f in fs) - noise, 0.0) / (n * k))
    return float(size), float(np.sqrt(squares / (n * k))), slope


def _centred(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Take the mean away; what rounding leaves of constant values is 0."""
    spread = values - values.mean()
    constant = np.abs(spread).max() <= 1e-12 * np.abs(values).max()
    return np.zeros_like(spread) if constant else spread
