r"""Squares of noise-free second moments, from products of four different trials or groups.

With the means M of T conditions, centred by H or not, and K = H M M' H, these are tr K, its square
and tr K². A product of four means needs four different trials where they are of one condition, and
four different groups always: else the noise of a trial or a group counts as similarity. Sums over
such quadruples follow by inclusion and exclusion, derived here.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.measures._group_means import GroupMeans
from partwhole.measures._means import Means
from partwhole.measures._trial_means import TrialMeans

ENOUGH = 4


class Moments(NamedTuple):
    """Sums of the noise-free similarities K of conditions, without bias.

    Parameters
    ----------
    trace : float
        tr K.
    trace_squared : float
        Its square.
    square : float
        tr K².
    note : str
        Where they are approximate.
    """

    trace: float
    trace_squared: float
    square: float
    note: str


def moments(means: Means) -> Moments:
    """Return the noise-free moments of condition means."""
    return _of_trials(means) if isinstance(means, TrialMeans) else _of_groups(means)


def _of_trials(means: TrialMeans) -> Moments:
    """Sum over patterns in which slots of a product are of the same condition.

    With centring the means add up to 0, and most patterns vanish or reduce to others.
    """
    y, counts = means.means, means.counts
    n_conditions = len(counts)
    lengths = np.einsum("ij,ij->i", y, y)
    total = float(lengths.sum())
    second = y.T @ y if y.shape[1] < n_conditions else y @ y.T
    sums = _conditions(means)
    # Of U_c, products of two trials of a condition, which estimate M_c M_c'.
    scaled = means.trials / np.sqrt(means._pairs)[means.index, None]
    raised = y * np.sqrt(counts / (counts - 1.0))[:, None]
    whole = raised.T @ raised - scaled.T @ scaled
    pairs = float(np.sum(whole**2) - np.sum(sums["square"]))
    sizes, fourth = sums["size"], float(np.sum(sums["fourth"]))
    squares = float(np.sum(sizes)) ** 2 - float(np.sum(sizes**2))
    few = int(np.sum(counts < ENOUGH))
    which = f"{few} of {n_conditions}" if few < n_conditions else f"all {n_conditions}"
    note = (
        f"{which} conditions have fewer than {ENOUGH} trials: for dimensions, noise is assumed to "
        "be alike in all conditions"
        if few
        else ""
    )
    if not means.center:
        return Moments(float(sizes.sum()), squares + fourth, pairs + fourth, note)
    trace = float(sizes.sum()) * (1.0 - 1.0 / n_conditions) + total / n_conditions
    # Three slots of one condition and one of another; two of one and one each of two others.
    third = -float(np.sum(sums["third"]))
    inner = float(np.sum(sums["along"]))
    crossed = 2.0 * inner - float(np.sum((y @ whole) * y))
    outer = float(np.sum(sizes * (2.0 * lengths - total)))
    distinct = total**2 + 2.0 * float(np.sum(second**2)) - 6.0 * float(np.sum(lengths**2))
    everything = fourth + 4.0 * third + squares + 2.0 * pairs + 2.0 * outer + 4.0 * crossed
    everything = (everything + distinct) / n_conditions**2
    rows = fourth + 2.0 * third + pairs + crossed
    products = fourth + 2.0 * third + squares + outer
    share = 2.0 / n_conditions
    return Moments(
        trace,
        squares + fourth - share * products + everything,
        pairs + fourth - share * rows + everything,
        note,
    )


def _conditions(means: TrialMeans) -> dict[str, Float[np.ndarray, " T"]]:
    """Return products of two, three and four different trials of each condition.

    For means M: "size" is of M'M, "square" of the squares of its products of two, "along" of
    y'(MM')y for the mean y itself, "third" of (M'M)(M'y), "fourth" of (M'M)².
    """
    order = np.argsort(means.index, kind="stable")
    ends = np.cumsum(means.counts)
    names = ("size", "square", "along", "third", "fourth", "spread", "spread_along")
    sums = {name: np.empty(len(ends)) for name in names}
    for c, (start, end) in enumerate(zip(ends - means.counts, ends, strict=True)):
        rows, y = means.trials[order[start:end]], means.means[c]
        m = len(rows)
        gram = rows @ rows.T
        along, whole = rows @ y, gram.sum(axis=1)
        squares, length = float(np.sum(gram**2)), float(whole.sum())
        np.fill_diagonal(gram, 0.0)
        others = gram.sum(axis=1)
        total = float(others.sum())
        pairs = m * (m - 1.0)
        sums["size"][c] = total / pairs
        cubic = float(np.sum(whole**2))
        sums["square"][c] = (length**2 - 2.0 * cubic + squares) / pairs**2
        flat = float(np.sum(along**2))
        sums["along"][c] = (float(along.sum()) ** 2 - flat) / pairs
        # Products of the condition's squared deviations with U_c, and with y.
        sums["spread"][c] = (cubic * (1.0 + 1.0 / m) - length**2 / m - squares) / pairs
        sums["spread_along"][c] = flat - float(along.sum()) ** 2 / m
        if m > 2:
            triples = total * float(along.sum()) - 2.0 * float(others @ along)
            sums["third"][c] = triples / (pairs * (m - 2.0))
        if m >= ENOUGH:
            different = total**2 - 4.0 * float(others @ others) + 2.0 * float(np.sum(gram**2))
            sums["fourth"][c] = different / (pairs * (m - 2.0) * (m - 3.0))
    _fill_few(means, sums)
    return sums


def _fill_few(means: TrialMeans, sums: dict[str, Float[np.ndarray, " T"]]) -> None:
    """Estimate products of three and four trials where there are two or three.

    What noise adds to products of two is taken away, by the covariance in other conditions.
    """
    m = means.counts.astype(float)
    few = np.flatnonzero(m < ENOUGH)
    if not len(few):
        return
    deviations, y = means.deviations, means.means
    pooled = deviations.T @ deviations
    degrees = means.degrees - (m - 1.0)
    through = np.sum((means.trials @ pooled) * means.trials, axis=1)
    centre = np.sum((y @ pooled) * y, axis=1)
    pairs = m * (m - 1.0)
    of_pairs = (m**2 * centre - np.bincount(means.index, through)) / pairs
    of_signal = (of_pairs - sums["spread"]) / degrees
    # Squares of M'M from products of two trials have this variance.
    variance = 4.0 * of_signal / m + 2.0 * means.noise_square / pairs
    sums["fourth"][few] = (sums["size"] ** 2 - variance)[few]
    few = np.flatnonzero(m < 3)
    lengths = np.einsum("ij,ij->i", y, y)
    along = (centre - sums["spread_along"]) / degrees
    sums["third"][few] = (sums["size"] * lengths - 2.0 * along / m)[few]


def _of_groups(means: GroupMeans) -> Moments:
    """Sum over different groups: of four, or of as many as there are."""
    n_sets = len(means.groups)
    flat = means.groups.reshape(n_sets, -1)
    gram = flat @ flat.T
    np.fill_diagonal(gram, 0.0)
    total = float(gram.sum())
    trace = total / (n_sets * (n_sets - 1))
    if n_sets < ENOUGH:
        square = _of_few_groups(means)
        note = (
            f"dimensions are measured without bias from {ENOUGH} groups or more that have all "
            f"conditions; of {n_sets}, noise that conditions of a group share can count as signal"
        )
        return Moments(trace, trace**2, square, note)
    rows = gram.sum(axis=1)
    different = total**2 - 4.0 * float(rows @ rows) + 2.0 * float(np.sum(gram**2))
    quadruples = float(np.prod(n_sets - np.arange(4.0)))
    y, deviations = means.means, means.deviations
    middle = y @ y.T
    crossed = [rows @ y.T for rows in deviations]
    squares = [rows @ rows.T for rows in deviations]
    # Of E E y y, by the places of both E: around the trace, neighbours in two ways, or opposite.
    twos = sum(
        2.0 * float(np.sum(squares[r] * middle) + np.sum(c**2) + np.sum(c * c.T))
        for r, c in enumerate(crossed)
    )
    threes = sum(4.0 * float(np.sum(squares[r] * c)) for r, c in enumerate(crossed))
    fours = float(np.sum(sum(squares) ** 2)) - 6.0 * sum(float(np.sum(g**2)) for g in squares)
    for rows, columns in product(deviations, repeat=2):
        between = rows @ columns.T
        fours += float(np.sum(between**2) + np.sum(between * between.T))
    square = (
        float(np.sum(middle**2))
        - twos / (n_sets * (n_sets - 1))
        + 2.0 * threes / (n_sets * (n_sets - 1) * (n_sets - 2))
        + fours / quadruples
    )
    return Moments(trace, different / quadruples, square, "")


def _of_few_groups(means: GroupMeans) -> float:
    """Return tr K² from products in which a group stands at two places that are not neighbours.

    At neighbouring places its noise would count in all conditions, here only in a condition's
    products with itself.
    """
    y, n_sets = means.groups, len(means.groups)
    values = [
        float(np.sum((y[r] @ y[s].T) * (y[r] @ y[t].T).T))
        for r in range(n_sets)
        for s in range(n_sets)
        for t in range(n_sets)
        if r not in (s, t) and (s != t or n_sets == 2)
    ]
    return float(np.mean(values))
