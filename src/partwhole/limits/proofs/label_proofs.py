"""Labels: does some sum of seen conjunctions give every held-out combination its label?"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.limits.proofs._budget import Budget
from partwhole.limits.proofs.boxes import find_box
from partwhole.limits.proofs.certificates import (
    TOLERANCE,
    Certificate,
    from_weights,
    signed,
    tidy,
)
from partwhole.limits.proofs.label_sums import find_sums
from partwhole.limits.proofs.rectangle_search import (
    PAIRS,
    find_rectangle,
    pairs_of_labels,
    rectangle_of_labels,
)
from partwhole.limits.proofs.separation import PROGRAM_WORK, hinge, separate
from partwhole.tasks import Task

RECTANGLE_SHARE = 0.2
BOX_SHARE = 0.2
PAIR_SHARE = 0.4
SUMS_SHARE = 0.4
ROUNDS = 50
# Most rival labels of a row that are added in one round; few of a thousand labels matter.
RIVALS = 16

Decision = tuple[bool | None, Certificate | None, tuple[str, ...]]


def decide_labels(
    task: Task,
    rows: Int[np.ndarray, " n"],
    y: Float[np.ndarray, "n k"],
    phi: sparse.csr_array,
    order: int,
    among: Int[np.ndarray, " q"],
    best: Float[np.ndarray, "n k"],
    answered: bool,
    budget: Budget,
) -> Decision:
    """Return whether some sum gives every row its label, with a proof if none does.

    Parameters
    ----------
    task : Task
    rows : int array, shape (n,)
        Distinct held-out rows of the task.
    y : float array, shape (n, k)
        Their labels: one column in -1..1, or a column for each label.
    phi : sparse array, shape (n, p)
        Indicators of the seen conjunctions up to the order.
    order : int
    among : int array, shape (q,)
        The rows that a rectangle may have as corners.
    best : float array, shape (n, k)
        The least-squares sum, which often separates the labels.
    answered : bool
        Whether `has_sums` found such sums.
    budget : Budget

    Returns
    -------
    bool or None
        None when not decided within the budget.
    Certificate or None
    tuple of str
        Remarks.
    """
    label, divided = labels_of(y)
    remarks = ()
    if divided.any():
        count = int(divided.sum())
        remarks = (
            f"{count} held-out combination{'s are' if count > 1 else ' is'} evenly divided "
            "between labels and left out of what must be separated.",
        )
    undivided = np.flatnonzero(~divided)
    among = np.flatnonzero(np.isin(undivided, among))
    rows, label, phi, best = rows[undivided], label[undivided], phi[undivided], best[undivided]
    present = np.unique(label)
    if len(present) <= 1 or answered:
        return True, None, remarks
    if budget.over:
        return None, None, remarks
    is_binary = y.shape[1] == 1
    if _least_gap(best, label, is_binary) > TOLERANCE:
        return True, None, remarks
    certificate = _small_proof(task, rows, label, phi, order, among, is_binary, budget)
    if certificate is not None:
        return False, certificate, remarks
    if is_binary:
        sign = 2.0 * label - 1.0
        solvable, shares, _ = separate(_times(phi, sign), budget)
        if shares is not None:
            certificate = from_weights(rows, sign, sign * shares, phi)
        return solvable, certificate, remarks
    if len(present) == 2:
        # The outputs of labels that no row has may be arbitrarily low.
        return *_decide_pair(rows, label, phi, int(present[0]), int(present[1]), budget), remarks
    return *_decide_many(rows, label, phi, best, budget), remarks


def has_sums(y: Float[np.ndarray, "n k"], phi: sparse.csr_array, budget: Budget) -> bool:
    """Return whether sums that give every row its label are found with little work.

    Parameters
    ----------
    y : float array, shape (n, k)
        An output for each label.
    phi : sparse array, shape (n, p)
    budget : Budget
        At most a share of it is spent.
    """
    label, divided = labels_of(y)
    undivided = np.flatnonzero(~divided)
    return len(undivided) > 0 and find_sums(
        phi[undivided], label[undivided], budget.part(SUMS_SHARE)
    )


def labels_of(
    y: Float[np.ndarray, "n k"],
) -> tuple[Int[np.ndarray, " n"], np.ndarray]:
    """Return each row's label, and which rows are evenly divided between labels.

    Examples
    --------
    >>> labels_of(np.array([[-1.0], [0.0], [0.5]]))[0].tolist()
    [0, 0, 1]
    """
    scores = np.column_stack([-y, y]) if y.shape[1] == 1 else y
    top = scores.max(axis=1, keepdims=True)
    return scores.argmax(axis=1), np.sum(scores >= top - 1e-12, axis=1) > 1


def _least_gap(
    scores: Float[np.ndarray, "n k"], label: Int[np.ndarray, " n"], is_binary: bool
) -> float:
    if is_binary:
        return float(((2.0 * label - 1.0) * scores[:, 0]).min())
    return float(_gaps(scores, label).min())


def _gaps(scores: Float[np.ndarray, "n k"], label: Int[np.ndarray, " n"]) -> np.ndarray:
    """Return each row's score for its label minus that for every other; infinite for its label."""
    places = np.arange(len(label))
    gaps = scores[places, label][:, None] - scores
    gaps[places, label] = np.inf
    return gaps


def _times(phi: sparse.csr_array, sign: Float[np.ndarray, " n"]) -> sparse.csr_array:
    """Return the rows times their signs."""
    out = phi.copy()
    out.data = out.data * np.repeat(sign, np.diff(phi.indptr))
    return out


def _small_proof(
    task: Task,
    rows: np.ndarray,
    label: np.ndarray,
    phi: sparse.csr_array,
    order: int,
    among: np.ndarray,
    is_binary: bool,
    budget: Budget,
) -> Certificate | None:
    """Return the proof of a rectangle or a box, with one label at even and one at odd corners."""
    rectangle = _rectangle(task, rows, label, phi, among, is_binary, budget.part(RECTANGLE_SHARE))
    if rectangle is not None:
        return rectangle
    box = find_box(task, rows, order, budget.part(BOX_SHARE), labels=label)
    if box is None:
        return None
    corners, signs, groups = box
    even, odd = int(label[corners[0]]), int(label[corners[signs < 0][0]])
    facts = {}
    sign = 2.0 * label - 1.0
    if not is_binary:
        facts = {"labels": (even, odd)}
        sign = np.where(label == even, 1.0, -1.0)
    return signed(rows, sign, corners, signs, groups=groups, **facts)


def _rectangle(
    task: Task,
    rows: np.ndarray,
    label: np.ndarray,
    phi: sparse.csr_array,
    among: np.ndarray,
    is_binary: bool,
    budget: Budget,
) -> Certificate | None:
    """Return the proof of a rectangle: all labels at once, or two by two if there are many rows."""
    if pairs_of_labels(label[among]) <= PAIRS:
        return rectangle_of_labels(task, rows[among], label[among], phi[among], is_binary, budget)
    for low, high in combinations(_by_label(label, among), 2):
        if budget.over:
            break
        # f is the output for one label minus that for the other; for two labels, the output.
        above, below = (high, low) if is_binary else (low, high)
        facts = {} if is_binary else {"labels": (above[0], below[0])}
        of_label = np.sort(np.concatenate([above[1], below[1]]))
        sign = np.where(label[of_label] == above[0], 1.0, -1.0)
        rectangle = find_rectangle(task, rows[of_label], sign, phi[of_label], True, budget, **facts)
        if rectangle is not None:
            return rectangle
    return None


def _by_label(
    label: Int[np.ndarray, " n"], among: Int[np.ndarray, " q"]
) -> list[tuple[int, Int[np.ndarray, " r"]]]:
    """Return the labels that at least two of these rows have, with the rows of each.

    A rectangle needs two rows of each of its labels.
    """
    # Sorted once, because a thousand labels have half a million pairs.
    arranged = among[np.argsort(label[among], kind="stable")]
    present, first, count = np.unique(label[arranged], return_index=True, return_counts=True)
    ends = zip(present.tolist(), first.tolist(), count.tolist(), strict=True)
    return [(name, arranged[start : start + size]) for name, start, size in ends if size > 1]


def _decide_pair(
    rows: np.ndarray, label: np.ndarray, phi: sparse.csr_array, a: int, b: int, budget: Budget
) -> tuple[bool | None, Certificate | None]:
    """Return the verdict for the rows with one of two labels, by output a minus output b."""
    pair_rows = np.flatnonzero((label == a) | (label == b))
    sign = np.where(label[pair_rows] == a, 1.0, -1.0)
    part = phi[pair_rows]
    part = sparse.csr_array(part[:, np.flatnonzero(np.diff(part.tocsc().indptr))])
    solvable, shares, _ = separate(_times(part, sign), budget)
    if shares is None:
        return solvable, None
    return False, from_weights(rows[pair_rows], sign, sign * shares, part, labels=(a, b))


def _decide_many(
    rows: np.ndarray,
    label: np.ndarray,
    phi: sparse.csr_array,
    best: Float[np.ndarray, "n k"],
    budget: Budget,
) -> tuple[bool | None, Certificate | None]:
    """Return the verdict for more than two labels: pairs of labels first, then all together.

    Together, the output for each row's label must exceed those for its rivals, the other labels.
    Rivals are added when they are violated, at most 16 for each row in a round.
    """
    n, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    k = best.shape[1]
    counts = np.bincount(label, minlength=k)
    pairs = [(a, b) for a, b in combinations(range(k), 2) if counts[a] and counts[b]]
    pairs.sort(key=lambda pair: -(counts[pair[0]] + counts[pair[1]]))
    part = budget.part(PAIR_SHARE)
    is_small = float(n) * p <= PROGRAM_WORK
    for a, b in pairs if is_small else pairs[:1]:
        if part.over:
            break
        solvable, certificate = _decide_pair(rows, label, phi, a, b, part)
        if solvable is False:
            return False, certificate
    gaps = _gaps(best, label)
    # The outputs of labels that no held-out row has may be arbitrarily low.
    gaps[:, counts == 0] = np.inf
    active = np.zeros((n, k), dtype=bool)
    active[np.arange(n), gaps.argmin(axis=1)] = True
    active |= _broken(gaps, active, 0.0)
    if is_small:
        active = np.isfinite(gaps)
    w = None
    for _ in range(ROUNDS):
        row, rival = np.nonzero(active)
        matrix = _contrasts(phi, row, label[row], rival, k)
        solvable, shares, w = separate(matrix, budget) if is_small else hinge(matrix, budget, w)
        if shares is not None:
            whole = tidy(shares, matrix)
            if whole is None:
                return False, None
            places = np.flatnonzero(whole)
            names = tuple((int(label[row[place]]), int(rival[place])) for place in places.tolist())
            total = float(whole[places].sum())
            ones = np.ones(len(places))
            return False, Certificate(
                rows[row[places]], whole[places], total, False, wanted=ones, rivals=names
            )
        if solvable is None or w is None:
            return None, None
        scores = phi @ w.reshape(k, p).T
        gaps = _gaps(scores, label)
        gaps[:, counts == 0] = np.inf
        if gaps.min() > TOLERANCE * np.abs(w).max():
            return True, None
        # Rivals that are nearly violated are added too, so that few rounds are needed.
        active |= _broken(gaps, active, 0.1 * float(np.median(gaps[active])))
    return None, None


def _broken(
    gaps: Float[np.ndarray, "n k"], active: np.ndarray, most: float
) -> Bool[np.ndarray, "n k"]:
    """Return the rivals with a gap of at most `most` that are not yet active.

    For each row only the 16 of the smallest gaps are returned.
    """
    gaps = np.where(active, np.inf, gaps)
    if gaps.shape[1] <= RIVALS:
        return gaps <= most
    nearest = np.argpartition(gaps, RIVALS, axis=1)[:, :RIVALS]
    broken = np.zeros(gaps.shape, dtype=bool)
    np.put_along_axis(broken, nearest, np.take_along_axis(gaps, nearest, axis=1) <= most, axis=1)
    return broken


def _contrasts(
    phi: sparse.csr_array, row: np.ndarray, label: np.ndarray, rival: np.ndarray, k: int
) -> sparse.csr_array:
    """Return each row's indicators in the block of its label, minus those in that of its rival."""
    _, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    part = phi[row]
    size = np.diff(part.indptr)
    edges = np.zeros(len(row) + 1, dtype=np.int64)
    np.cumsum(2 * size, out=edges[1:])
    shift = np.repeat(label * p, size)
    rival_shift = np.repeat(rival * p, size)
    # Each entry has two copies. They are interleaved, so that the entries of a row stay together.
    first = 2 * np.arange(part.nnz)
    columns = np.empty(2 * part.nnz, dtype=np.int32)
    entries = np.empty(2 * part.nnz)
    columns[first], columns[first + 1] = part.indices + shift, part.indices + rival_shift
    entries[first], entries[first + 1] = part.data, -part.data
    return sparse.csr_array((entries, columns, edges), (len(row), k * p))
