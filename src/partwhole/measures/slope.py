"""How predictions scale with what was asked: slopes and item values on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole.features import ConjunctionDesign
from partwhole.measures._predictions import one_for_each_row, require_one_output
from partwhole.tasks import Task


@dataclass(frozen=True)
class Slope:
    """Hold the line through predictions against targets.

    Parameters
    ----------
    value : float
        The slope; NaN when the targets don't vary.
    intercept : float
    residual : float
        Root mean square distance from the line, in units of the prediction.
    n : int
        Rows used.
    """

    value: float
    intercept: float
    residual: float
    n: int


@door
def slope(task: Task, predictions: Float[np.ndarray, "n *k"]) -> Slope:
    """Fit held-out predictions by a line in their targets, by least squares.

    On symbolic addition this is the memorization leak's slope m of f = m y + b.

    Parameters
    ----------
    task : Task
        With targets of shape (n,).
    predictions : float array, shape (n,)
        For every row of the task; only held-out rows are used.

    Returns
    -------
    Slope

    Raises
    ------
    InputError
        When the task has several outputs or predictions are not one finite number for each row.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), proposition 5.1: every held-out prediction lies on one
    line through the origin when the values have mean zero.

    See Also
    --------
    partwhole.measures.runs.over_runs : mean and interval of the slopes of several runs.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> found = slope(task, 0.5 * task.targets + 1.0)
    >>> found.value, found.intercept, found.n
    (0.5, 1.0, 64)

    The slope over runs that differ in their seed:

    >>> from partwhole.measures.runs import over_runs
    >>> runs = [0.70 * task.targets, 0.76 * task.targets, 0.73 * task.targets]
    >>> found = over_runs(np.array([slope(task, f).value for f in runs]))
    >>> round(found.mean, 3), round(found.low, 3), round(found.high, 3)
    (0.73, 0.655, 0.805)
    """
    x, y = _held_out(task, predictions)
    if not len(x) or np.ptp(x) == 0:
        return Slope(np.nan, np.nan, np.nan, len(x))
    centred = x - x.mean()
    value = float(centred @ y / (centred @ centred))
    intercept = float(y.mean() - value * x.mean())
    residual = float(np.sqrt(np.mean((y - value * x - intercept) ** 2)))
    return Slope(value, intercept, residual, len(x))


@door
def item_values(
    task: Task, predictions: Float[np.ndarray, "n *k"]
) -> tuple[Float[np.ndarray, " items"], ...]:
    r"""Read from held-out predictions what each item adds.

    The predictions are fitted by :math:`b + \sum_c g_c(z_c)`; the item's value is
    :math:`g_c(v) + b/C` with the :math:`g_c` of each component summing to 0 over the items
    that occur in held-out rows (the minimum-norm fit).

    Parameters
    ----------
    task : Task
        With targets of shape (n,).
    predictions : float array, shape (n,)
        For every row of the task; only held-out rows are used.

    Returns
    -------
    tuple of float arrays
        For each component the values of its items, in the order of its indices; NaN for items
        that no held-out row has.

    Raises
    ------
    InputError
        As `slope`.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), item-value curves, where the intercept is shared out in
    the same way.

    See Also
    --------
    partwhole.measures.runs.over_runs : mean and interval of the items' values over runs.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-2, 3), [0])
    >>> item_values(task, 0.5 * task.targets)[0].round(6).tolist()
    [-1.0, -0.5, nan, 0.5, 1.0]

    The first component's over runs that differ in their seed:

    >>> from partwhole.measures.runs import over_runs
    >>> runs = [0.4 * task.targets, 0.6 * task.targets]
    >>> over_runs(np.stack([item_values(task, f)[0] for f in runs])).mean.round(6).tolist()
    [-1.0, -0.5, nan, 0.5, 1.0]
    """
    _, y = _held_out(task, predictions)
    found = tuple(np.full(n, np.nan) for n in task.n_values)
    if not len(y):
        return found
    singles = tuple((c,) for c in range(task.n_components))
    design = ConjunctionDesign.seen(task.test_components, singles, task.n_values)
    columns = design.toarray()
    constant = y.mean()
    weights = np.linalg.lstsq(columns - columns.mean(axis=0), y - constant, rcond=None)[0]
    # Of least norm, so the shares of every component's items sum to 0.
    share = (constant - columns.mean(axis=0) @ weights) / task.n_components
    for c, (block, dictionary) in enumerate(zip(design.blocks, design.dictionaries, strict=True)):
        found[c][dictionary.values()[:, 0]] = weights[block.columns] + share
    return found


def _held_out(task: Task, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    require_one_output(task, "slopes")
    return task.test_targets, one_for_each_row(task, predictions)[~task.is_train]
