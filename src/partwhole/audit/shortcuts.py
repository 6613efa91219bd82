"""Shortcut candidates: values whose targets differ between training and test."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.evidence import Shortcut
from partwhole.features.conjunctions import Dictionary, conjunction_sets

TERMS = 2048
CHUNK = 1 << 20
MOST_ASSIGNMENTS = 20_000


def shortcuts(
    case: Case, *, effect: Real = 0.2, effect_sd: Real = 0.5, p_value: Real = 0.01, limit: int = 200
) -> tuple[Shortcut, ...]:
    r"""Return the values and pairs whose targets in training mislead about held-out combinations.

    For labels the effect is the difference of a label's share between the training and the
    held-out combinations that have the conjunction; for numbers the difference of mean targets
    in standard deviations of the target over all combinations.

    Parameters
    ----------
    case : Case
    effect : float, keyword-only, default 0.2
        Smallest difference of shares that is reported.
    effect_sd : float, keyword-only, default 0.5
        Smallest difference of means that is reported, in standard deviations.
    p_value : float, keyword-only, default 0.01
        Greatest p-value, after correction, that is reported.
    limit : int, keyword-only, default 200
        Largest number of reported shortcuts.

    Returns
    -------
    tuple of Shortcut
        Strongest effect first; a conjunction is listed once, with the label (or target column)
        that differs most. The search covers single values and, from order 2, pairs that occur in
        training and in held-out combinations. A pair is left out if one of its values is reported
        for the same label and direction, and the pair's effect exceeds that of the value by less
        than half the threshold: 0.1 of a share, a quarter of a standard deviation.

    Notes
    -----
    Derived here. Combinations count once each, whatever their weights; those whose rows are
    evenly divided between labels have no label and are left out.

    For labels, p is that of Fisher's exact test, twice the smaller hypergeometric tail: the
    probability of a difference at least as large if the conjunction's combinations were assigned
    to training and test at random. For numbers it is Student's t-test with the pooled variance,
    which approximates the same random assignment (Pitman 1937); if that test is passed and there
    are at most 20,000 assignments, they are enumerated instead. Groups of one are not tested.
    Both are multiplied by the number of tests whose p-value could have been as small (Tarone,
    Biometrics 1990), which bounds the probability of any false report.

    Examples
    --------
    >>> from partwhole import tasks
    >>> from partwhole.audit.case import AuditTable
    >>> task = tasks.context_dependence(3)
    >>> table = AuditTable(task.components, task.targets[:, None], (task.targets > 0).astype(int),
    ...                    np.where(task.is_train, 0, 1), np.ones(72), task.names, task.values,
    ...                    ("response",), ("left", "right"), ("train", "test"))
    >>> for found in shortcuts(table.case(1, 2)):
    ...     print(found.components, found.values, found.label, round(found.train, 3), found.test)
    (0,) (0,) right 0.667 0.0
    (0,) (1,) right 0.333 1.0
    """
    if not len(case.held_out):
        return ()
    sets = conjunction_sets(case.task.n_components, min(case.order, 2))[1:]
    count = _labels if case.has_labels else _numbers
    threshold = float(effect if case.has_labels else effect_sd)
    groups = [count(case, subset, threshold) for subset in sets]
    bounds = np.sort(np.concatenate([group.least_tail.ravel() for group in groups]))
    listed: dict[tuple, float] = {}
    reported: list[Shortcut] = []
    for group in groups:
        corrected = _corrected(group.tail, bounds)
        if not case.has_labels:
            tail = group.tail.copy()
            for place, output in np.argwhere(
                (corrected <= p_value) & (np.abs(group.gap) >= threshold)
            ):
                tail[place, output] = group.by_assignment(int(place), int(output))
            corrected = _corrected(tail, bounds)
        size = np.where(corrected <= p_value, np.abs(group.gap), -1.0)
        values, best = group.dictionary.values(), size.argmax(axis=1)
        for place in np.flatnonzero(size.max(axis=1) >= threshold):
            indices = tuple(int(value) for value in values[place])
            parts = list(zip(group.dictionary.components, indices, strict=True))
            output = int(best[place])
            largest, up = float(size[place, output]), bool(group.gap[place, output] > 0)
            if len(indices) == 1:
                for other_output in np.flatnonzero(size[place] >= threshold):
                    key = (parts[0], int(other_output), bool(group.gap[place, other_output] > 0))
                    listed[key] = float(size[place, other_output])
            elif (
                largest
                < max(listed.get((part, output, up), -1.0) for part in parts) + threshold / 2.0
            ):
                continue
            reported.append(
                Shortcut(
                    group.dictionary.components,
                    indices,
                    int(group.n_train[place]),
                    int(group.n_test[place]),
                    group.names[output],
                    float(group.train[place, output]),
                    float(group.test[place, output]),
                    largest,
                    float(corrected[place, output]),
                )
            )
    reported.sort(key=lambda shortcut: (-round(shortcut.effect, 9), shortcut.components))
    return tuple(reported[:limit])


@dataclass(frozen=True, eq=False)
class _Group:
    """Conjunctions of one set of components, with a column for each label or target.

    `gap` is the signed effect, `tail` its uncorrected p-value (1 where the effect is below the
    threshold; for numbers by the t-test) and `least_tail` the least p-value that the counts
    allow. For numbers `members` are each combination's conjunction, scores and split.
    """

    dictionary: Dictionary
    names: tuple[Hashable | None, ...]
    n_train: Int[np.ndarray, " d"]
    n_test: Int[np.ndarray, " d"]
    train: Float[np.ndarray, "d k"]
    test: Float[np.ndarray, "d k"]
    gap: Float[np.ndarray, "d k"]
    tail: Float[np.ndarray, "d k"]
    least_tail: Float[np.ndarray, "d k"]
    members: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def by_assignment(self, place: int, output: int) -> float:
        """Return the p-value over all assignments to training and test if they are few."""
        drawn = int(min(self.n_train[place], self.n_test[place]))
        whole = int(self.n_train[place] + self.n_test[place])
        if self.members is None or comb(whole, drawn) > MOST_ASSIGNMENTS:
            return float(self.tail[place, output])
        index, scores, is_train = self.members
        inside = index == place
        y, seen = scores[inside, output], is_train[inside]
        smaller = seen if self.n_train[place] == drawn else ~seen
        sums = y[np.array(list(combinations(range(whole), drawn)))].sum(axis=1)
        # The same numbers summed in different orders differ by rounding.
        rounding = 1e-12 * float(np.abs(y).sum())
        observed = float(y[smaller].sum())
        tails = np.mean(sums >= observed - rounding), np.mean(sums <= observed + rounding)
        return min(1.0, 2.0 * float(min(tails)))


def _corrected(
    tail: Float[np.ndarray, "d k"], bounds: Float[np.ndarray, " t"]
) -> Float[np.ndarray, "d k"]:
    """Multiply p-values by the number of tests whose least p-value is no larger."""
    return np.minimum(1.0, tail * np.searchsorted(bounds, tail * (1.0 + 1e-9), side="right"))


def _labels(case: Case, subset: tuple[int, ...], threshold: float) -> _Group:
    """Compare the shares of labels."""
    assert case.label is not None
    assert case.table.labels is not None
    has_label, task, names = case.label >= 0, case.task, case.table.labels
    dictionary, index = Dictionary.of(task.components[has_label], subset, task.n_values)
    coded, is_train = (
        index.astype(np.int64) * len(names) + case.label[has_label],
        task.is_train[has_label],
    )
    shape = (dictionary.size, len(names))
    seen, in_test = (
        np.bincount(coded[part], minlength=shape[0] * shape[1]).reshape(shape)
        for part in (is_train, ~is_train)
    )
    n_train, n_test = seen.sum(axis=1), in_test.sum(axis=1)
    if len(names) == 2:
        # The share of the second label implies that of the first.
        seen, in_test, names = seen[:, 1:], in_test[:, 1:], names[1:]
    in_both = ((n_train > 0) & (n_test > 0))[:, None]
    train = seen / np.maximum(n_train, 1)[:, None]
    test = in_test / np.maximum(n_test, 1)[:, None]
    gap = np.where(in_both, test - train, 0.0)
    whole = np.broadcast_to((n_train + n_test)[:, None], seen.shape)
    drawn = np.broadcast_to(n_test[:, None], seen.shape)
    with_label = seen + in_test
    lowest = np.maximum(0, with_label - whole + drawn)
    ends = [
        _log_chance(k, whole, with_label, drawn) for k in (lowest, np.minimum(with_label, drawn))
    ]
    least_tail = np.where(in_both, np.minimum(1.0, 2.0 * np.exp(np.minimum(*ends))), 1.0)
    tail = np.ones(seen.shape)
    tested = np.abs(gap) >= threshold
    if tested.any():
        counts_tested = (part[tested] for part in (in_test, whole, with_label, drawn))
        tail[tested] = _fisher(*counts_tested)
    return _Group(dictionary, names, n_train, n_test, train, test, gap, tail, least_tail)


def _numbers(case: Case, subset: tuple[int, ...], threshold: float) -> _Group:
    """Compare mean targets."""
    task = case.task
    dictionary, index = Dictionary.of(task.components, subset, task.n_values)
    raw = task.targets.reshape(len(task.targets), -1)
    centre, spread = raw.mean(axis=0), raw.std(axis=0)
    # Outputs that do not vary have no effects.
    scores = (raw - centre) / np.where(spread > 0, spread, np.inf)
    sums = [
        _moments(index[part], scores[part], dictionary.size)
        for part in (task.is_train, ~task.is_train)
    ]
    (n_train, train, train_square), (n_test, test, test_square) = sums
    in_both = ((n_train > 1) & (n_test > 1))[:, None]
    gap = np.where(in_both, test - train, 0.0)
    freedom = np.maximum(n_train + n_test - 2, 1)[:, None]
    variance = (train_square + test_square) / freedom
    variance *= (1.0 / np.maximum(n_train, 1) + 1.0 / np.maximum(n_test, 1))[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        tail = 2.0 * special.stdtr(freedom, -np.abs(gap) / np.sqrt(variance))
    whole = n_train + n_test
    log_one = special.gammaln(n_train + 1) + special.gammaln(n_test + 1)
    log_one -= special.gammaln(whole + 1)
    least_chance = np.minimum(1.0, 2.0 * np.exp(log_one))[:, None]
    least_tail = np.where(in_both, np.broadcast_to(least_chance, gap.shape), 1.0)
    # Without variance only the probability of the assignment itself remains.
    tail = np.where(np.isnan(tail), 0.0, tail)
    tail = np.where(np.abs(gap) >= threshold, np.maximum(tail, least_tail), 1.0)
    return _Group(
        dictionary,
        (None,) * raw.shape[1],
        n_train,
        n_test,
        centre + spread * train,
        centre + spread * test,
        gap,
        tail,
        least_tail,
        (index, scores, task.is_train),
    )


def _moments(
    index: Int[np.ndarray, " n"], scores: Float[np.ndarray, "n k"], size: int
) -> tuple[Int[np.ndarray, " d"], Float[np.ndarray, "d k"], Float[np.ndarray, "d k"]]:
    """Return each group's count, mean and sum of squares about it."""
    count = np.bincount(index, minlength=size)
    n = np.maximum(count, 1)[:, None]
    mean = np.stack([np.bincount(index, y, minlength=size) for y in scores.T], axis=1) / n
    residual = scores - mean[index]
    square = np.stack([np.bincount(index, y**2, minlength=size) for y in residual.T], axis=1)
    return count, mean, square


def _log_chance(
    k: np.ndarray, whole: np.ndarray, with_label: np.ndarray, drawn: np.ndarray
) -> np.ndarray:
    """Return the log of the hypergeometric chance that k of those drawn have the label."""

    def log_choose(n: np.ndarray, r: np.ndarray) -> np.ndarray:
        return special.gammaln(n + 1) - special.gammaln(r + 1) - special.gammaln(n - r + 1)

    inside = log_choose(with_label, k) + log_choose(whole - with_label, drawn - k)
    return inside - log_choose(whole, drawn)


def _fisher(
    k: Int[np.ndarray, " t"],
    whole: Int[np.ndarray, " t"],
    with_label: Int[np.ndarray, " t"],
    drawn: Int[np.ndarray, " t"],
) -> Float[np.ndarray, " t"]:
    """Return twice the smaller hypergeometric tail, at most 1.

    Past `TERMS` terms the rest is bounded by a geometric series, as ratios of neighbours fall.
    """
    lowest, highest = np.maximum(0, with_label - whole + drawn), np.minimum(with_label, drawn)
    tails = []
    for step, last in ((-1, lowest), (1, highest)):
        length = np.minimum(np.abs(last - k) + 1, TERMS)
        out = np.zeros(len(k))
        # In chunks of at most about CHUNK terms.
        part = (np.cumsum(length) - 1) // CHUNK
        for chunk in np.unique(part):
            members = np.flatnonzero(part == chunk)
            n = length[members]
            owner = np.repeat(members, n)
            offset = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
            terms = np.exp(
                _log_chance(k[owner] + step * offset, whole[owner], with_label[owner], drawn[owner])
            )
            out += np.bincount(owner, terms, minlength=len(k))
            stop = np.cumsum(n) - 1
            cut = np.flatnonzero((n == TERMS) & (terms[stop] > 0))
            if len(cut):
                end = terms[stop[cut]]
                ratio = end / terms[stop[cut] - 1]
                remainder = end * ratio / np.maximum(1.0 - ratio, 1e-300)
                out[members[cut]] += np.where(ratio < 1.0, remainder, 1.0)
        tails.append(out)
    return np.minimum(1.0, 2.0 * np.minimum(*tails))
