r"""Interval of the structure of similarity, over other trials of the same neurons.

Structure is a ratio a / b: of the variance of similarity between sets of shared components, and of
its variance in all. What a and b change by without a trial follows for all trials from the same
products as they do, at twice the cost of structure itself.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtrit

from partwhole._door import door
from partwhole._types import ProperFraction
from partwhole.measures._groups import TupleGroups, over_supersets
from partwhole.measures._offsets import pseudo_trials
from partwhole.measures._rows import averaging
from partwhole.measures._samples import Whiten, blocks_of, centred_by_group, grid_weights, prepared
from partwhole.measures._similarity import Samples
from partwhole.recordings import Recording

# Trials of a condition, or groups with it: without one of them, products need two.
ENOUGH = 3
# Of the mean square of similarities, below which their variance is rounding.
ROUNDING = 1e-12
# Trials of which products are taken two by two: they stand for all conditions.
MOST_TRIALS = 1000


@door
def structure_interval(
    recording: Recording, *, whiten: Whiten = "none", confidence: ProperFraction = 0.95
) -> tuple[float, float]:
    r"""Return the interval of `Salience.structure` over other trials of the same neurons.

    Structure is :math:`a / b`, with the variance b of the similarity of different conditions and
    the part a of it that the components they share explain, both without the variance of noise.

    Parameters
    ----------
    recording : Recording
        Of n trials; responses, shape (n, p) or (n, p, times), are averaged over times. Conditions
        with a single trial are left out, as from structure itself.
    whiten : {"none", "diagonal", "full"}, keyword-only, default "none"
        As in `salience`; several sessions are not whitened, as for structure itself.
    confidence : float, keyword-only, default 0.95
        Level of the interval.

    Returns
    -------
    (float, float)
        Without bounds at 0 and 1, as noise can take estimates beyond them. NaN where a condition
        has two trials (groups, where the recording has groups), where all conditions share the same
        components, or where b is not measurably above 0.

    Raises
    ------
    InputError
        If `recording` is no recording, or whitening lacks repeated trials.

    Notes
    -----
    Derived here. Of every trial i of a condition with m trials, :math:`\Delta_i` is what (a, b)
    would change by without it, also by way of the centre; their covariance is the jackknife's,
    :math:`\sum_i (m - 1) (\Delta_i - \bar\Delta)^2 / m`. Leaving out single trials rather than
    folds of them keeps degrees of freedom where there are three to five of a condition. Products of
    the noise of two conditions count in it for both: their share is taken from the variance of
    b - a, by what two trials change together. The ends are those of Fieller's interval, with
    Student's t and degrees of freedom by Satterthwaite. Whether b is above 0 is judged by the
    jackknife's larger variance: an interval that is given where b is large by chance would miss.

    Trials are independent; of a recording with groups, groups are: they are left out as a whole,
    and intervals are wide where there are few. Offsets of groups are fitted together with means of
    conditions. Neurons and conditions are taken as given. Of several sessions it is the interval of
    their pseudo-trials.

    Simulated with 16 conditions, 20 to 1,000 neurons, 3 to 20 trials of a condition, noise of 1 to
    6 times the deviation between them, independent or correlated, and a structure of .57 to .98,
    intervals of 95 % covered .92 to 1 where at least half of the recordings had one, most often
    .94 to .98; with three to twelve groups .94 to .98. Where under a quarter of recordings
    have one, b is above its error by chance, and coverage can be below .9. With four conditions it
    was .86.

    Examples
    --------
    >>> import partwhole as pw
    >>> rng = np.random.default_rng(0)
    >>> grid = np.array([[a, b] for a in range(4) for b in range(4)])
    >>> means = np.eye(4)[grid].reshape(16, 8) @ rng.normal(size=(8, 60))
    >>> means += 0.7 * rng.normal(size=means.shape)
    >>> print(f"{pw.measures.salience(means, grid, self_pairs=True).structure:.2f}")
    0.74
    >>> noisy = np.repeat(means, 5, axis=0) + 2.0 * rng.normal(size=(80, 60))
    >>> recording = pw.recordings.from_trials(noisy, np.repeat(grid, 5, axis=0))
    >>> print("{:.2f} to {:.2f}".format(*structure_interval(recording)))
    0.66 to 0.92
    """
    parts = _parts_of(recording, whiten)
    return (nan, nan) if parts is None else _interval(parts, float(confidence))


class _Parts(NamedTuple):
    """Numerator and denominator of structure, and what they change by.

    Parameters
    ----------
    value : float array, shape (2,)
        a and b.
    changes : float array, shape (n, 2)
        What they change by without a trial, to first order where trials are of groups.
    condition : int array, shape (n,)
    group : int array, shape (n,), or None
        What is left out together.
    excess : float
        What products of the noise of two conditions add to the jackknife's variance of b - a.
    """

    value: Float[np.ndarray, " 2"]
    changes: Float[np.ndarray, "n 2"]
    condition: Int[np.ndarray, " n"]
    group: Int[np.ndarray, " n"] | None
    excess: float


class _Trials(NamedTuple):
    """Trials of conditions with several, and sums over the conditions beside theirs.

    Parameters
    ----------
    features : float array, shape (n, q)
    components : int array, shape (n, C)
    groups : TupleGroups
        Of those components.
    means : float array, shape (T, q)
        Of conditions.
    weights : float array, shape (T,)
        Of condition means in the centre, which is subtracted.
    present : int array, shape (s,)
        Sets of components that two conditions share, and nothing else.
    n_pairs : float array, shape (s,)
        Ordered pairs of conditions by shared set.
    partners : float array, shape (s, T, q)
        Sums of the means of conditions that share the set with a condition.
    n_partners : float array, shape (s, T)
        Their number.
    """

    features: Float[np.ndarray, "n q"]
    components: Int[np.ndarray, "n C"]
    groups: TupleGroups
    means: Float[np.ndarray, "T q"]
    weights: Float[np.ndarray, " T"]
    present: Int[np.ndarray, " s"]
    n_pairs: Float[np.ndarray, " s"]
    partners: Float[np.ndarray, "s T q"]
    n_partners: Float[np.ndarray, "s T"]


def _parts_of(recording: Recording, whiten: Whiten) -> _Parts | None:
    """Return the parts of structure, or None where some condition has too few trials."""
    averaged = recording.averaged()
    if len(averaged.blocks) > 1:
        averaged, whiten = pseudo_trials(averaged), "none"
    (block,) = blocks_of(averaged, None, None)
    conditions, group = TupleGroups.of(block.components), None
    if conditions.counts.max() < ENOUGH:
        return None
    (block,), _ = prepared([block], [conditions], whiten)
    block = block.reduced()
    # Powers of four of small numbers are too small.
    features = block.features
    size = sqrt(float(np.vdot(features, features)) / features.size)
    if size == 0.0:
        return None
    # They are a copy.
    features /= size
    if block.groups is not None:
        block, group = centred_by_group(block)
        conditions = TupleGroups.of(block.components)
    repeated = conditions.counts >= 2
    if not repeated.any() or conditions.counts[repeated].min() < ENOUGH:
        return None
    weights = grid_weights(block.components[_first(conditions)])[repeated]
    rows = repeated[conditions.index]
    if not rows.all():
        block = Samples(block.features[rows], block.components[rows], None)
    trials = _trials_of(block, weights)
    if len(trials.present) < 2:
        return None
    similarities, influence = _mean_similarities(trials)
    between, grand, by_set_changes, grand_changes = similarities
    square, square_changes = _mean_square(trials)
    if square - grand <= ROUNDING * abs(square):
        return None
    return _Parts(
        np.array([between - grand, square - grand]),
        np.column_stack([by_set_changes, square_changes]) - grand_changes[:, None],
        trials.groups.index,
        None if group is None else group[rows],
        _excess(trials, influence) if group is None else 0.0,
    )


def _first(groups: TupleGroups) -> Int[np.ndarray, " T"]:
    """Return the row of the first trial of every condition."""
    return groups.order[np.cumsum(groups.counts) - groups.counts]


def _trials_of(samples: Samples, weights: Float[np.ndarray, " T"]) -> _Trials:
    groups = TupleGroups.of(samples.components)
    means = groups.means(samples.features)
    known = np.column_stack([means, np.ones(len(means))])
    partners = np.stack([shared.T @ (shared @ known) - known for shared in groups.sharing])
    partners = over_supersets(np.concatenate([partners, np.zeros_like(partners[:1])]))
    present = np.flatnonzero(groups.n_pairs > 0)
    return _Trials(
        samples.features, samples.components, groups, means, weights, present,
        2.0 * groups.n_pairs[present], partners[present, :, :-1], partners[present, :, -1],
    )  # fmt: skip


def _less_mean(groups: TupleGroups, values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Return values of trials less the mean of their condition."""
    return values - groups.means(values)[groups.index]


def _mean_square(trials: _Trials) -> tuple[float, Float[np.ndarray, " n"]]:
    r"""Return the mean square of similarities, and what it changes by without a trial.

    It is the sum of :math:`\langle D_t, D_u \rangle` over pairs of conditions, with the mean D of
    :math:`x_i x_j^T` over pairs of trials. Without trial i, D changes by
    :math:`2 (D - x_i \bar x_{-i}^T) / (m - 2)`, for the mean of the others.
    """
    features, groups = trials.features, trials.groups
    counts, index = groups.counts.astype(float), groups.index
    pairs, means = counts * (counts - 1.0), trials.means
    raised = means * np.sqrt(counts / (counts - 1.0))[:, None]
    whole = raised.T @ raised - groups.weighted_products(features, 1.0 / pairs)
    # Products of x_i and the mean of the others by the sum of D over the other conditions.
    products = np.empty(len(features))
    # Change by the centre: that sum times the mean, summed over conditions.
    by_centre = whole @ means.sum(axis=0)
    for c, rows in enumerate(np.split(groups.order, np.cumsum(groups.counts)[:-1])):
        x, total = features[rows], counts[c] * means[c]
        gram, through = x @ x.T, x @ whole
        along = gram.sum(axis=1)
        inside = along * (along.sum() - along) - gram @ along + np.einsum("ij,ij->i", gram, gram)
        across = through @ total - np.einsum("ij,ij->i", through, x)
        products[rows] = (across - inside / pairs[c]) / (counts[c] - 1.0)
        by_centre -= (along.sum() * total - x.T @ along) / (counts[c] * pairs[c])
    m, n_pairs = counts[index], trials.n_pairs.sum()
    both = _less_mean(groups, np.column_stack([products, features @ by_centre]))
    changes = -both[:, 0] / (m - 2.0) + trials.weights[index] * both[:, 1] / (m - 1.0)
    return float(groups.means(products[:, None]).sum()) / n_pairs, 4.0 * changes / n_pairs


def _mean_similarities(
    trials: _Trials,
) -> tuple[
    tuple[float, float, Float[np.ndarray, " n"], Float[np.ndarray, " n"]],
    Float[np.ndarray, "n s"],
]:
    """Return squares of mean similarities and their changes, and the influence of trials.

    By shared set, weighted by pairs, then over all pairs; their changes without a trial in the same
    order. Influence is on the sum of similarities by shared set, times the number of trials.
    """
    features, groups = trials.features, trials.groups
    counts, index = groups.counts.astype(float), groups.index
    m = counts[index]
    along = np.empty((len(features), len(trials.present)))
    for c, rows in enumerate(np.split(groups.order, np.cumsum(groups.counts)[:-1])):
        along[rows] = features[rows] @ trials.partners[:, c].T
    means = trials.means
    influence = 2.0 * _less_mean(groups, along)
    by_centre = 2.0 * _less_mean(groups, features @ (trials.n_partners @ means).T)
    steps = (trials.weights[index, None] * by_centre - influence) / (m - 1.0)[:, None]
    sums = np.einsum("sij,ij->s", trials.partners, means)

    def squared(
        total: float, step: np.ndarray, influence: np.ndarray, count: float
    ) -> tuple[float, np.ndarray]:
        """Return the square of a mean less its variance, and what it changes by."""
        mean, step, squares = total / count, step / count, (influence / count) ** 2
        spread = np.bincount(index, squares)
        variance = spread / (counts * (counts - 1.0))
        left = (spread[index] - m / (m - 1.0) * squares) / ((m - 1.0) * (m - 2.0))
        changes = 2.0 * mean * step + step**2 - (left - variance[index])
        return mean**2 - float(variance.sum()), changes

    n_pairs = float(trials.n_pairs.sum())
    between, changes = 0.0, np.zeros(len(features))
    for s, count in enumerate(trials.n_pairs.tolist()):
        square, change = squared(float(sums[s]), steps[:, s], influence[:, s], count)
        between += count / n_pairs * square
        changes += count / n_pairs * change
    grand, grand_changes = squared(
        float(sums.sum()), steps.sum(axis=1), influence.sum(axis=1), n_pairs
    )
    return (between, grand, changes, grand_changes), influence


def _excess(trials: _Trials, influence: Float[np.ndarray, "n s"]) -> float:
    """Return what pairs of conditions add to the jackknife's variance of b - a.

    The variance of a product of the noise of two conditions is counted for both, and twice where
    it is of two trials of a condition. Here it is estimated by what two trials of different
    conditions change together, and weighted so that products of four trials, most of the variance
    where there is much noise, count once; products of two or three remain a little too large.
    """
    groups, sets = trials.groups, len(trials.groups.n_pairs)
    n_conditions = len(groups.counts)
    n_kept = n_conditions // max(1, -(-len(trials.features) // MOST_TRIALS))
    if n_kept < 2:
        # Conditions of so many trials that products of noise add little.
        return 0.0
    # At random, as every k-th condition may have the same value of a component.
    kept = np.sort(np.random.default_rng(0).choice(n_conditions, n_kept, replace=False))
    place = np.full(n_conditions, -1)
    place[kept] = np.arange(len(kept))
    rows = place[groups.index] >= 0
    x, index, m = (
        trials.features[rows],
        place[groups.index[rows]],
        groups.counts[kept].astype(float),
    )
    mean = averaging(index, groups.counts[kept])

    def less_means(values: np.ndarray) -> np.ndarray:
        values = values - (mean @ values)[index]
        return values - (mean @ values.T).T[:, index]

    # Products of trials, of a trial with the mean of the others of a condition, and of such means.
    totals = (mean @ x) * m[:, None]
    others = (m - 1.0)[index]
    gram, along = x @ x.T, (x @ totals.T)[:, index]
    crossed = (along - gram) / others
    inner = (totals @ totals.T)[np.ix_(index, index)] - along - along.T + gram
    products = 0.5 * (gram * inner / np.outer(others, others) + crossed * crossed.T)
    together = 8.0 * less_means(products) / np.outer(others - 1.0, others - 1.0)
    # Less their change of squared mean similarities, by shared set.
    mean_of_set = np.zeros(sets)
    mean_of_set[trials.present] = (
        np.einsum("sij,ij->s", trials.partners, trials.means) / trials.n_pairs
    )
    tuples = trials.components[_first(groups)[kept]]
    shared = sum((1 << c) * np.equal.outer(v, v) for c, v in enumerate(tuples.T))
    scaled = influence[rows] / np.sqrt(trials.n_pairs)
    by_set = 4.0 * mean_of_set[shared][np.ix_(index, index)] * less_means(gram)
    together -= (by_set + 2.0 * scaled @ scaled.T) / np.outer(others, others)

    share = (m - 1.0) / m
    squares = np.outer(share * m, share * m) * (mean @ (mean @ together**2).T)
    np.fill_diagonal(squares, 0.0)
    times = _times(m)
    once = (np.add.outer(times, times) - 1.0) / np.outer(times, times)
    of_all = n_conditions * (n_conditions - 1.0) / (len(kept) * (len(kept) - 1.0))
    return 0.5 * float(np.sum(once * squares)) * of_all / float(trials.n_pairs.sum()) ** 2


def _times(counts: np.ndarray) -> np.ndarray:
    """Return how often the jackknife counts the variance of products of two trials."""
    return 2.0 * (counts - 1.0) / (counts - 2.0)


def _interval(parts: _Parts, confidence: float) -> tuple[float, float]:
    """Return Fieller's interval of a / b, NaN where b may be 0."""
    a, b = parts.value.tolist()
    index, ratio = parts.condition, a / b
    counts = np.bincount(index)
    share = ((counts - 1.0) / counts)[index]
    # In units of b from here on.
    left = (parts.changes - (averaging(index, counts) @ parts.changes)[index]) / b
    if parts.group is None:
        covariance = (share[:, None] * left).T @ left
        by_condition = np.bincount(index, share * (left[:, 0] - ratio * left[:, 1]) ** 2)
        squares = float(np.sum(by_condition**2 / (counts - 1.0)))
        # Without noise any number will do.
        degrees = float(by_condition.sum()) ** 2 / squares if squares > 0.0 else 1.0
    else:
        _, group = np.unique(parts.group, return_inverse=True)
        sums = np.stack([np.bincount(group, share * column) for column in left.T])
        degrees = sums.shape[1] - 1.0
        covariance = (degrees + 1.0) / degrees * sums @ sums.T
    square = float(stdtrit(degrees, 0.5 + 0.5 * confidence)) ** 2
    if square * covariance[1, 1] >= 1.0:
        return nan, nan
    apart = float(covariance[0, 0] - 2.0 * covariance[0, 1] + covariance[1, 1])
    most = 1.0 - 0.5 / float(_times(counts).max())
    covariance[1, 1] -= min(parts.excess / b**2, most * apart)
    (of_a, of_both), (_, of_b) = square * covariance
    middle, lead = ratio - of_both, 1.0 - of_b
    root = sqrt(max(middle**2 - lead * (ratio**2 - of_a), 0.0))
    return float((middle - root) / lead), float((middle + root) / lead)
