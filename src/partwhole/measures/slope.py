"""How predictions scale with their targets: slopes and item values on held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._door import door
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.measures._predictions import outputs_of, require_outputs, require_rows
from partwhole.tasks import Task


@dataclass(frozen=True)
class Slope:
    """Line through predictions against targets; of several outputs, lines of one slope.

    Parameters
    ----------
    value : float
        The slope; NaN when the targets don't vary.
    intercept : float
        Of several outputs, the mean of their intercepts.
    residual : float
        Root mean square distance from the lines, over rows and outputs, in units of the
        prediction.
    n : int
        Rows used.
    by_output : tuple of float
        Slope of each output fitted by itself; NaN where its targets don't vary.
    """

    value: float
    intercept: float
    residual: float
    n: int
    by_output: tuple[float, ...]


@door
def slope(task: Task, predictions: Float[np.ndarray, "n *k"]) -> Slope:
    r"""Fit held-out predictions by a line in their targets, by least squares.

    On symbolic addition this is the memorization leak's slope m of f = m y + b. Outputs
    :math:`j = 1 \dots k` have intercepts of their own and share the slope,

    .. math:: m = \frac{\sum_j \sum_i (y_{ij} - \bar y_j) f_{ij}}
                   {\sum_j \sum_i (y_{ij} - \bar y_j)^2},
              \qquad b_j = \bar f_j - m \bar y_j.

    Parameters
    ----------
    task : Task
        With targets of shape (n,) or (n, k).
    predictions : float array, shape of the targets
        For every row of the task; only held-out rows are used.

    Returns
    -------
    Slope

    Raises
    ------
    InputError
        When predictions are not finite or do not have the shape of the targets.

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
    >>> line = slope(task, 0.5 * task.targets + 1.0)
    >>> line.value, line.intercept, line.n
    (0.5, 1.0, 64)

    The slope over runs that differ in their seed:

    >>> from partwhole.measures.runs import over_runs
    >>> runs = [0.70 * task.targets, 0.76 * task.targets, 0.73 * task.targets]
    >>> interval = over_runs(np.array([slope(task, f).value for f in runs]))
    >>> round(interval.mean, 3), round(interval.low, 3), round(interval.high, 3)
    (0.73, 0.655, 0.805)
    """
    require_outputs(task, predictions)
    n, held_out = task.n_test, ~task.is_train
    xs, ys = outputs_of(task.targets[held_out]), outputs_of(predictions[held_out])
    products, squares = np.zeros(len(xs)), np.zeros(len(xs))
    for output, (x, y) in enumerate(zip(xs, ys, strict=True)):
        if n and np.ptp(x) > 0:
            centred = x - x.mean()
            products[output], squares[output] = centred @ y, centred @ centred
    total = float(squares.sum())
    if not total:
        return Slope(np.nan, np.nan, np.nan, n, (np.nan,) * len(xs))
    by_output = np.divide(products, squares, out=np.full(len(xs), np.nan), where=squares > 0)
    value = float(products.sum()) / total
    intercepts = [y.mean() - value * x.mean() for x, y in zip(xs, ys, strict=True)]
    lines = zip(xs, ys, intercepts, strict=True)
    residual = np.sqrt(np.mean([np.mean((y - value * x - b) ** 2) for x, y, b in lines]))
    return Slope(value, float(np.mean(intercepts)), float(residual), n, tuple(by_output.tolist()))


@door
def item_values(
    task: Task, predictions: Float[np.ndarray, "n *k"]
) -> tuple[Float[np.ndarray, "items *k"], ...]:
    r"""Return what each item adds to held-out predictions.

    The predictions are fitted by :math:`b + \sum_c g_c(z_c)`; the item's value is
    :math:`g_c(v) + b/C` with the :math:`g_c` of each component summing to 0 over the items
    that occur in held-out rows (the minimum-norm fit).

    Parameters
    ----------
    task : Task
        Its targets are not used.
    predictions : float array, shape (n,) or (n, k)
        For every row of the task; only held-out rows are used.

    Returns
    -------
    tuple of float arrays, shapes (items,) or (items, k)
        For each component the values of its items, in the order of its indices; NaN for items
        that no held-out row has.

    Raises
    ------
    InputError
        When predictions are not finite or do not have a row for each row of the task.

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
    require_rows(task, predictions)
    y = predictions[~task.is_train]
    values = tuple(np.full((n, *y.shape[1:]), np.nan) for n in task.n_values)
    if not len(y):
        return values
    singles = tuple((c,) for c in range(task.n_components))
    design = ConjunctionDesign.seen(task.test_components, singles, task.n_values)
    columns = design.toarray()
    constant = y.mean(axis=0)
    weights = np.linalg.lstsq(columns - columns.mean(axis=0), y - constant, rcond=None)[0]
    # Of least norm, so the shares of every component's items sum to 0.
    share = (constant - columns.mean(axis=0) @ weights) / task.n_components
    for c, (block, dictionary) in enumerate(zip(design.blocks, design.dictionaries, strict=True)):
        values[c][dictionary.values()[:, 0]] = weights[block.columns] + share
    return values
