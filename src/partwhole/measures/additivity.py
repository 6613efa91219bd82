"""Conjunction-wise additivity: are predictions on new combinations a sum of familiar parts?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.linalg import lsqr

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.measures._predictions import outputs_of, require_rows
from partwhole.measures._repeats import (
    COUNTED,
    Differences,
    Repeats,
    noise_free_share,
    repeats_of,
)
from partwhole.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

DENSE_LIMIT = 20_000_000


@dataclass(frozen=True)
class Additivity:
    """Share of held-out predictions that is a sum over seen conjunctions.

    Parameters
    ----------
    value : float
        R² of the best such sum on held-out rows; 1 for every overlap kernel, NaN where it is
        undefined or says nothing.
    rectangles : float
        The form without a fit, for two components: 1 - (interaction contrasts' share of the
        rectangles' sum of squares); 1 if and only if every held-out rectangle is additive,
        NaN where it is undefined.
    n_rectangles : int
        Held-out rectangles (two values of each component, all four cells held out).
    rank : int or None
        How many independent functions on the held-out tuples the conjunctions span; None where
        it was not computed (constant predictions, or a table too large for a dense fit).
    n_held_out : int
        Distinct held-out tuples. Where `rank` reaches them, sums over conjunctions fit any
        predictions, and `value` is NaN.
    notes : tuple of str
        Why a number is NaN, and whether noise was taken away.
    """

    value: float
    rectangles: float
    n_rectangles: int
    rank: int | None
    n_held_out: int
    notes: tuple[str, ...] = ()


@door
def additivity(
    task: Task,
    predictions: Float[np.ndarray, "n *k"],
    max_order: int | None = None,
    *,
    repeats: Differences = "signal",
) -> Additivity:
    r"""Measure conjunction-wise additivity on held-out rows.

    ``value`` is R² of the least-squares fit of the held-out predictions on the constant and
    the indicators of all conjunctions seen in training, or of those of at most `max_order`
    components. Where held-out tuples are few beside these (scattered cells of three or more
    components, say), the fit is perfect whatever is predicted: then ``value`` is NaN and a note
    says so. ``rectangles`` compares, over all
    rectangles of held-out cells (a, c), (a, d), (b, c), (b, d), the contrast
    :math:`d = f(a,c) - f(a,d) - f(b,c) + f(b,d)` with the four cells' sum of squares about
    their mean, of which it makes up :math:`d^2/4`:
    :math:`1 - \sum d^2/4 \,/ \sum SS`. With several outputs both sums of either share go over
    all outputs, each about its own mean, so that an output counts by its variance.

    Where held-out rows repeat a combination with different predictions, as single trials do, these
    differences count in R² as not additive, and a note says so. With ``repeats="noise"`` all sums
    of squares are those of noise-free means: what noise adds to them, by its variance between the
    rows of each combination, is taken away. Both numbers can then exceed 1 by chance.

    Parameters
    ----------
    task : Task
        Its targets are not used.
    predictions : float array, shape (n,) or (n, k)
        For every row of the task.
    max_order : int, optional
        Largest conjunctions to fit with, in components; C by default.
    repeats : {"signal", "noise"}, keyword-only, default "signal"
        What differences between predictions of one combination are; noise has to be independent
        between rows.

    Returns
    -------
    Additivity

    Raises
    ------
    InputError
        When predictions are not finite or do not have a row for each row of the task, or
        `max_order` is not in 1..C.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), theorem 4.2 and additivity analysis. The published fit is
    joint on training and held-out rows; since each training tuple has a column of its own,
    only the held-out rows are informative, and their R² is the one given here. The rectangle
    form and the correction for noise are derived here.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> distance = np.abs(task.components[:, 0] - task.components[:, 1]).astype(float)
    >>> round(additivity(task, distance).value, 6)
    0.125373
    """
    require_rows(task, predictions)
    order = task.n_components if max_order is None else max_order
    require(
        1 <= order <= task.n_components,
        f"max_order lies in 1..{task.n_components}, the number of components",
        order,
        "use 1 for single items",
    )
    notes: list[str] = []
    n_held_out = len(np.unique(task.test_components, axis=0))
    differing = repeats_of(task.test_components, predictions[~task.is_train])
    if differing is not None:
        notes.append(differing.note if repeats == "noise" else COUNTED)
    noisy = differing if repeats == "noise" else None
    value, rank = _fit_share(task, predictions[~task.is_train], order, n_held_out, noisy, notes)
    rectangles, n_rectangles = np.nan, 0
    if task.n_components == 2:
        contrasts = squares = scale = 0.0
        for place, output in enumerate(outputs_of(predictions)):
            noise = None if noisy is None else (noisy.combinations, noisy.of_means[:, place])
            output_contrasts, output_squares, n_rectangles = _rectangles(task, output, noise)
            contrasts += output_contrasts
            squares += output_squares
            scale += max(n_rectangles, 1) * float(np.max(np.abs(output), initial=0.0)) ** 2
        if n_rectangles == 0:
            notes.append("no rectangle of held-out cells")
        elif squares <= 1e-24 * scale:
            beyond = "" if noisy is None else ", up to noise"
            notes.append(f"predictions are constant on every held-out rectangle{beyond}")
        else:
            rectangles = 1.0 - contrasts / squares
    return Additivity(value, rectangles, n_rectangles, rank, n_held_out, tuple(notes))


def _fit_share(
    task: Task,
    held_out: Float[np.ndarray, "m *k"],
    max_order: int,
    n_held_out: int,
    repeats: Repeats | None,
    notes: list[str],
) -> tuple[float, int | None]:
    if n_held_out < 2:
        notes.append("R² needs at least two held-out tuples")
        return np.nan, n_held_out
    spread = held_out - held_out.mean(axis=0)
    size = np.abs(held_out).max(axis=0, initial=0.0)
    if np.all(np.abs(spread).max(axis=0) <= 1e-12 * size):
        notes.append("held-out predictions are constant: R² is undefined")
        return np.nan, None
    sets = conjunction_sets(task.n_components, max_order)
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    if repeats is not None:
        if n_held_out * design.shape[1] > DENSE_LIMIT:
            notes.append("R² is NaN: the fit is too large to take noise away; lower max_order")
            return np.nan, None
        columns = _columns(design.at(repeats.combinations))
        value, rank = noise_free_share(columns.toarray(), repeats, notes)
        return (_any_fit(rank, notes), rank) if rank == n_held_out else (value, rank)
    columns = _columns(design.at(task.test_components))
    rank = None
    if task.n_test * design.shape[1] <= DENSE_LIMIT:
        dense = columns.toarray()
        weights, _, dense_rank, _ = np.linalg.lstsq(dense, held_out, rcond=None)
        fitted, rank = dense @ weights, int(dense_rank)
    else:
        n_used = int(columns.indices.max()) + 1
        if n_used >= n_held_out and _fit_anything(task, columns, n_held_out):
            rank = n_held_out
        fits = [columns @ _iterative_fit(columns, output) for output in outputs_of(held_out)]
        fitted = np.stack(fits, axis=-1).reshape(held_out.shape)
    if rank == n_held_out:
        return _any_fit(rank, notes), rank
    return 1.0 - float(np.sum((held_out - fitted) ** 2) / np.sum(spread**2)), rank


def _any_fit(rank: int | None, notes: list[str]) -> float:
    notes.append(
        f"seen conjunctions fit any predictions on these {rank} held-out tuples "
        f"(rank {rank}): the number says nothing; hold out larger blocks of combinations, "
        "or lower max_order"
    )
    return np.nan


def _iterative_fit(columns: sparse.csr_array, values: np.ndarray) -> np.ndarray:
    return lsqr(columns, values, atol=1e-13, btol=1e-13, iter_lim=20_000)[0]


def _fit_anything(task: Task, columns: sparse.csr_array, n_held_out: int) -> bool:
    """Decide whether the columns span all functions of the tuples: do they fit random values?"""
    _, tuple_of_row = np.unique(task.test_components, axis=0, return_inverse=True)
    values = np.random.default_rng(0).normal(size=n_held_out)[tuple_of_row.ravel()]
    left = values - columns @ _iterative_fit(columns, values)
    return bool(np.linalg.norm(left) <= 1e-6 * np.linalg.norm(values))


def _columns(design: ConjunctionDesign) -> sparse.csr_array:
    """Collect the design's columns that any row uses."""
    rows = np.concatenate([np.flatnonzero(index >= 0) for index in design.index])
    pairs = zip(design.blocks, design.index, strict=True)
    columns = np.concatenate([block.start + index[index >= 0] for block, index in pairs])
    present, place = np.unique(columns, return_inverse=True)
    shape = (design.n_rows, len(present))
    return sparse.csr_array((np.ones(len(rows)), (rows, place)), shape=shape)


def _rectangles(
    task: Task, predictions: np.ndarray, noise: tuple[np.ndarray, np.ndarray] | None
) -> tuple[float, float, int]:
    """Sum d²/4 and the squares about the mean over all held-out rectangles, less noise."""
    shape = task.n_values
    count = np.zeros(shape)
    total = np.zeros(shape)
    cells = tuple(task.test_components.T)
    np.add.at(count, cells, 1.0)
    np.add.at(total, cells, predictions[~task.is_train])
    held_out = count > 0
    cell = np.divide(total, count, out=np.zeros(shape), where=held_out)
    variance = np.zeros(shape)
    if noise is not None:
        variance[tuple(noise[0].T)] = noise[1]
    if shape[0] > shape[1]:
        held_out, cell, variance = held_out.T, cell.T, variance.T
    contrasts = squares = 0.0
    n_rectangles = 0
    # For a pair of rows (a, b) the contrast of columns c, d is the difference of u = f(a,.) -
    # f(b,.); the squares split into contrast, row and column parts.
    for a in range(len(cell) - 1):
        for b in range(a + 1, len(cell)):
            shared = held_out[a] & held_out[b]
            k = int(shared.sum())
            if k < 2:
                continue
            n_rectangles += k * (k - 1) // 2
            u, w = (cell[a] - cell[b])[shared], (cell[a] + cell[b])[shared]
            across = k * float(np.sum((u - u.mean()) ** 2))
            contrasts += across / 4.0
            # Over pairs (c, d): (w_c - w_d)²/4 + (u_c + u_d)²/4 + (u_c - u_d)²/4.
            columns = k * float(np.sum((w - w.mean()) ** 2))
            rows = (k - 2) * float(np.sum(u**2)) + float(u.sum()) ** 2
            squares += (columns + rows + across) / 4.0
            # A cell is in k - 1 rectangles of both rows.
            added = (k - 1) * float(np.sum((variance[a] + variance[b])[shared])) / 4.0
            contrasts -= added
            squares -= 3.0 * added
    return contrasts, squares, n_rectangles


@dataclass(frozen=True, eq=False)
class ConjunctionCoefficients:
    """Sum over seen conjunctions that describes predictions, in a stated gauge.

    Parameters
    ----------
    names : tuple of str
        The components' names.
    labels : tuple of tuples
        The values of each component.
    values : dict from component sets to int arrays, shapes (d, |S|)
        The seen combinations of each set, as value indices.
    coefficients : dict from component sets to float arrays, shapes (d,) or (d, k)
    intercept : float, or float array, shape (k,)
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Hashable, ...], ...]
    values: dict[tuple[int, ...], Int[np.ndarray, "d S"]]
    coefficients: dict[tuple[int, ...], Float[np.ndarray, "d *k"]]
    intercept: Number

    @property
    def mean_size(self) -> dict[tuple[int, ...], float]:
        """Return the mean absolute coefficient of each set of components, over all outputs."""
        return {
            components: float(np.mean(np.abs(coefficients)))
            for components, coefficients in self.coefficients.items()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each conjunction: order, set, a value index per component, size.

        A component outside the conjunction has the index -1. With k outputs the last columns are
        coefficient_0 to coefficient_{k - 1}.
        """
        import pandas as pd

        parts = []
        for components, coefficients in self.coefficients.items():
            table = np.full((len(coefficients), len(self.names)), -1)
            table[:, list(components)] = self.values[components]
            part = pd.DataFrame(table, columns=list(self.names))
            part.insert(0, "conjunction", " x ".join(self.names[c] for c in components))
            part.insert(1, "order", len(components))
            if coefficients.ndim == 1:
                part["coefficient"] = coefficients
            else:
                for output, column in enumerate(coefficients.T):
                    part[f"coefficient_{output}"] = column
            parts.append(part)
        return pd.concat(parts, ignore_index=True)


@door
def conjunction_coefficients(
    task: Task, predictions: Float[np.ndarray, "n *k"]
) -> ConjunctionCoefficients:
    r"""Describe predictions by coefficients of all seen conjunctions, as published.

    The predictions on training and held-out rows together are fitted by a constant and the
    indicators of all conjunctions of order 1..C that occur in training. The indicators are
    dependent, so many coefficients describe the same function; these are those of least norm
    (the limit of a vanishing ridge on the coefficients, the constant free), a gauge that is
    not the kernel's own decomposition, which weights columns by :math:`\sqrt{\sigma_S}`.

    Parameters
    ----------
    task : Task
        Its targets are not used.
    predictions : float array, shape (n,) or (n, k)
        For every row of the task.

    Returns
    -------
    ConjunctionCoefficients

    Raises
    ------
    InputError
        When predictions are not finite or do not have a row for each row of the task.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), mean size of each kind of conjunction; published with a
    ridge of 1e-10, and from the signs of the predictions.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> terms = conjunction_coefficients(task, 0.5 * task.targets)
    >>> round(float(terms.coefficients[(0,)][0]), 6)
    -2.0
    """
    require_rows(task, predictions)
    sets = conjunction_sets(task.n_components, task.n_components)[1:]
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    matrix = design.at(task.components).toarray()
    means = matrix.mean(axis=0)
    middle = predictions.mean(axis=0)
    weights = np.linalg.lstsq(matrix - means, predictions - middle, rcond=None)[0]
    intercept = middle - means @ weights
    pairs = list(zip(design.blocks, design.dictionaries, strict=True))
    return ConjunctionCoefficients(
        task.names,
        task.values,
        {dictionary.components: dictionary.values() for _, dictionary in pairs},
        {dictionary.components: weights[block.columns] for block, dictionary in pairs},
        float(intercept) if predictions.ndim == 1 else np.asarray(intercept),
    )
