r"""The whole path of the tied network in closed form, for any number of concepts.

The Cholesky factor of W, its concepts ordered by falling signal, moves as if each of its entries
met only the two concepts it joins. What is neglected is the influence of minor entries on each
other. No integration: thousands of paths cost milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._door import door
from partwhole.flows._inputs import SYMMETRY, Power, factor, grid, moment, signals, symmetric
from partwhole.flows._path import PACE, Path
from partwhole.flows.clocks import RANK, never_learned
from partwhole.flows.field import require_stack

SMALL = 0.05  # the largest initial entry at which the formula's first stage is accurate
MINOR = 1.0 / 3.0  # the largest minor entry whose square may be neglected
NO_SIGNAL = 1e-12  # of the strongest signal
CACHE = 1 << 13  # numbers of one entry over the flows and times that are worked on together


@door
def cholesky_path(
    w0: Float[np.ndarray, "*batch d d"],
    second_moment: Float[np.ndarray, "*#batch d d"],
    times: Float[np.ndarray, " T"],
    *,
    clock: Literal["paper", "gradient"] = "paper",
    power: Power = 1,
) -> Path:
    r"""Approximate the training of a tied two-layer network in closed form.

    Order the concepts by falling signal a, factor :math:`W_0 = L_0 L_0^\top` in that order, let
    :math:`p_k` be its squared diagonal and :math:`E_k = 1 - p_k + p_k e^{2 a_k t}`. Then
    :math:`W = L L^\top` with

    .. math::
        L_{kk} &= \sqrt{p_k e^{2 a_k t} / E_k} \\
        L_{jk} &= (L_0)_{jk}\, e^{a_j t} E_k^{-(a_k + a_j)/(4 a_k)} E_j^{-(3 a_j + a_k)/(4 a_j)},
            \qquad j \text{ weaker than } k.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Initial input-output matrix, symmetric and positive semidefinite. With leading axes, many
        paths at once.
    second_moment : float array, shape (d, d)
        A = E[x x'], diagonal: the formula is by concepts.
    times : float array, shape (T,)
        Increasing, from 0 or later, in units of `clock`, however late.
    clock : {"paper", "gradient"}, keyword-only, default "paper"
    power : {1, 2}, keyword-only, default 1
        2 puts the square of A in its place, as the published matrix figures do.

    Returns
    -------
    Path
        `valid` says whether the conditions below hold, for a batch whether they hold for all of
        it (`cholesky_valid` returns which); the notes say what fails.

    Raises
    ------
    InputError
        As `Tied`, and for a second moment that is not diagonal.

    Notes
    -----
    Derived here. Positive semidefinite by construction, exact to first order as t goes to 0 and
    to infinity, and for two concepts equal to the product of the strong concept's logistic
    curve, the weak one's and the minor entry between them. What it neglects is of second order
    in the minor entries, so that its error goes with the square of the largest of them, which
    `cholesky_valid` reads from the initial matrix. While that stays below 1/3 and no initial
    entry exceeds 0.05, no entry of W was off by more than 0.15, in 95 of 100 starts by no more
    than 0.07, and the largest rise of the loss on the combination of all concepts by no more
    than 5 % of its initial value; the number of its extrema, counting moves beyond 1 % of that
    value, differed in 2 of 100. That is of 2,747 valid starts :math:`U U^\top` out of 4,500,
    two to four concepts, entries of U uniform up to a c between 0.001 and 0.4, as many columns
    as rows or 16, ratios of signals that follow each other uniform in 0.05..0.99 (NumPy's
    generator, seeds 22 to 24). Beyond 1/3 entries can be off by more than 1.

    In the published runs that are valid the times of the extrema are within 5 % and their values
    within 4 %, but for the first rise among four concepts, 10 %.

    A coordinate without a signal takes the limit of the formula as its a goes to 0: what it
    holds beyond the concepts, :math:`p_j`, stays; its minor entries decay by
    :math:`E_k^{-1/4} e^{-p_j a_k t / 2}`.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = cholesky_path(w0, np.diag([4.5025, 0.5025]), np.array([0.5, 5.0]))
    >>> path.probe_losses(np.array([3.0, 1.0])).round(4)
    array([1.5574, 0.1082])
    """
    times = grid(times)
    problem = _Problem.read(w0, second_moment, power)
    n, d = problem.signals.shape
    states = np.empty((n, d, d, len(times)))
    step = max(1, CACHE // len(times))
    for i in range(0, n, step):  # in pieces that stay in the processor's cache
        _follow(problem.part(slice(i, i + step)), PACE[clock] * times, states[i : i + step])
    by_time = np.moveaxis(states, -1, 1).reshape(*np.shape(w0)[:-2], len(times), d, d)
    is_small, is_low = problem.largest <= SMALL, _minor_peaks(problem) <= MINOR
    notes = _notes(is_small, is_low)
    if np.ndim(w0) == 2:
        notes = never_learned(w0, second_moment) + notes
    return Path(times, by_time, clock, notes=notes, valid=bool((is_small & is_low).all()))


@door
def cholesky_valid(
    w0: Float[np.ndarray, "*batch d d"],
    second_moment: Float[np.ndarray, "*#batch d d"],
    *,
    power: Power = 1,
) -> Bool[np.ndarray, "*batch"]:
    r"""Return for which initial matrices the conditions of `cholesky_path` hold.

    Parameters
    ----------
    w0 : float array, shape (d, d)
        Leading axes are carried along.
    second_moment : float array, shape (d, d)
        Diagonal.
    power : {1, 2}, keyword-only, default 1

    Returns
    -------
    bool array
        One for each initial matrix: True if no initial entry exceeds 0.05, and no minor entry
        grows beyond 1/3 on its way.

    Raises
    ------
    InputError
        As `cholesky_path`.

    Notes
    -----
    Derived here. While the weaker concept j is not learned, the stronger k lends the entry
    between them :math:`L_{jk} L_{kk}`. With :math:`r = a_j / a_k` it is largest at

    .. math::
        |(L_0)_{jk}| \sqrt{p_k} \left[2(1+r) \frac{1-p_k}{p_k}\right]^{(1+r)/2}
        [(1-p_k)(3+r)]^{-(3+r)/4}\, (1-r)^{(1-r)/4} .

    It grows with r and with the correlation of the initial rows. The two limits were read off a
    comparison with integrated flows, which `cholesky_path` reports.

    Examples
    --------
    >>> w0 = np.array([[1, 0.5], [0.5, 1]])
    >>> cholesky_valid(np.stack([0.01 * w0, 0.1 * w0]), np.diag([4.5025, 0.5025]))
    array([ True, False])
    """
    problem = _Problem.read(w0, second_moment, power)
    valid = (problem.largest <= SMALL) & (_minor_peaks(problem) <= MINOR)
    return valid.reshape(np.shape(w0)[:-2])


@dataclass(frozen=True, eq=False)
class _Problem:
    """Cholesky factors of n initial matrices, the coordinates by falling signal."""

    signals: Float[np.ndarray, "n d"]
    order: Int[np.ndarray, "n d"]
    lower: Float[np.ndarray, "n d d"]
    pivots: Float[np.ndarray, "n d"]
    silent: Bool[np.ndarray, "n d"]  # without a signal
    largest: Float[np.ndarray, " n"]

    def part(self, place: slice) -> _Problem:
        return _Problem(*(getattr(self, field.name)[place] for field in fields(self)))

    @classmethod
    def read(cls, w0: np.ndarray, second_moment: np.ndarray, power: Power) -> _Problem:
        w, a = _checked(w0, second_moment, power)
        order = np.argsort(-a, axis=-1, kind="stable")
        rows = np.arange(len(w))[:, None]
        a = a[rows, order]
        sorted_ = w[rows[..., None], order[:, :, None], order[:, None, :]]
        lower = _cholesky(sorted_)
        largest = np.abs(w).max(axis=(-1, -2))
        off = np.abs(lower @ np.swapaxes(lower, -1, -2) - sorted_).max(axis=(-1, -2))
        if (off > SYMMETRY * largest).any():
            factor(w)  # raises if a negative eigenvalue is the reason, and not a lack of rank
        pivots = np.diagonal(lower, axis1=-2, axis2=-1) ** 2
        return cls(a, order, lower, pivots, a <= NO_SIGNAL * a[:, :1], largest)


def _checked(w: np.ndarray, moments: np.ndarray, power: Power) -> tuple[np.ndarray, np.ndarray]:
    symmetric("the initial matrix", w)
    d = w.shape[-1]
    if moments.ndim == 2:
        a = signals(moment(moments, d, power))
    else:
        require_stack(w, moments)
        a = _many_signals(moments.reshape(-1, d, d), power).reshape(moments.shape[:-1])
    spread = np.broadcast_to(a, w.shape[:-1])
    return w.reshape(-1, d, d), np.array(spread.reshape(-1, d))


def _many_signals(moments: Float[np.ndarray, "n d d"], power: Power) -> Float[np.ndarray, "n d"]:
    a = np.diagonal(moments, axis1=-2, axis2=-1)
    sound = np.isfinite(moments).all() and (a >= 0).all()
    off = np.abs(moments - a[..., None] * np.eye(a.shape[-1])).max(axis=(-1, -2))
    if not sound or (off > SYMMETRY * np.abs(a).max(axis=-1)).any() or power not in (1, 2):
        for matrix in moments:  # the first one at fault is named
            signals(moment(matrix, len(matrix), power))
    return a**power


def _cholesky(w: Float[np.ndarray, "n d d"]) -> Float[np.ndarray, "n d d"]:
    """Return the factors of many matrices; columns are zero where rank is lacking."""
    lower = np.zeros_like(w)
    for k in range(w.shape[-1]):
        column = w[:, k:, k] - np.einsum("nij,nj->ni", lower[:, k:, :k], lower[:, k, :k])
        present = column[:, 0] > RANK * np.maximum(w[:, k, k], 1e-300)
        root = np.sqrt(np.where(present, column[:, 0], 1.0))
        lower[:, k:, k] = np.where(present[:, None], column / root[:, None], 0.0)
    return lower


def _follow(
    problem: _Problem, times: Float[np.ndarray, " T"], out: Float[np.ndarray, "n d d T"]
) -> None:
    """Write the states into `out`, the coordinates in the caller's order."""
    a, p = problem.signals, problem.pivots
    n, d = a.shape
    missing = p == 0

    # E = e^{2at} Q with Q = e^{-2at} + p (1 - e^{-2at}), so that no number grows.
    size = np.exp(-2.0 * a[..., None] * times)
    size *= (1.0 - p)[..., None]
    size += p[..., None]
    if missing.any():
        size[missing] = 1.0
    log_size = np.log(size)
    if missing.any():
        log_size[missing] = -2.0 * a[missing][:, None] * times

    entry = np.empty((d, d, n, len(times)))
    for k in range(d):
        np.sqrt(p[:, k, None] / size[:, k], out=entry[k, k])
        for j in range(k + 1, d):
            pace, mine, weaker = _exponents(problem, j, k)
            power = pace[:, None] * times
            power += mine[:, None] * log_size[:, k]
            power += weaker[:, None] * log_size[:, j]
            np.exp(power, out=power)
            np.multiply(power, problem.lower[:, j, k, None], out=entry[j, k])

    rows = np.arange(n)
    for i in range(d):
        for j in range(i + 1):
            w = entry[i, 0] * entry[j, 0]
            for k in range(1, j + 1):
                w += entry[i, k] * entry[j, k]
            to_i, to_j = problem.order[:, i], problem.order[:, j]
            out[rows, to_i, to_j] = w
            if i != j:
                out[rows, to_j, to_i] = w


def _exponents(problem: _Problem, j: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what multiplies t, log Q_k and log Q_j in the exponent of L_jk."""
    weak, strong = problem.signals[:, j], problem.signals[:, k]
    still, silent = problem.silent[:, k], problem.silent[:, j]
    over = np.where(still, 1.0, strong)
    under = np.where(silent, 1.0, weak)
    pace = np.where(silent, -0.5 * strong * (1.0 + problem.pivots[:, j]), -(strong + weak))
    mine = np.where(still, 0.0, -(strong + weak) / (4.0 * over))
    weaker = np.where(silent, 0.0, -(3.0 * weak + strong) / (4.0 * under))
    return np.where(still, 0.0, pace), mine, weaker


def _minor_peaks(problem: _Problem) -> Float[np.ndarray, " n"]:
    """Return the largest height that any minor entry reaches before its weaker concept grows."""
    a, p = problem.signals, problem.pivots
    largest = np.zeros(len(a))
    # Concepts that start beyond a half are over the limit on initial entries as it is.
    start = np.clip(p, 1e-300, 0.5)
    left = 1.0 - start
    for k in range(a.shape[1] - 1):
        begin, gap = start[:, k, None], left[:, k, None]
        over = np.where(problem.silent[:, k], 1.0, a[:, k])[:, None]
        r = a[:, k + 1 :] / over
        height = np.abs(problem.lower[:, k + 1 :, k]) * np.sqrt(begin)
        height = height * (2.0 * (1.0 + r) * gap / begin) ** (0.5 * (1.0 + r))
        height = height * (gap * (3.0 + r)) ** (-0.25 * (3.0 + r))
        height = height * (1.0 - r) ** (0.25 * (1.0 - r))
        moves = ~problem.silent[:, k] & (p[:, k] > 0)
        largest = np.maximum(largest, np.where(moves, height.max(axis=1), 0.0))
    return largest


def _notes(is_small: np.ndarray, is_low: np.ndarray) -> tuple[str, ...]:
    prefix = "" if len(is_small) == 1 else "{} of {} paths: "
    notes = []
    for holds, problem in (
        (is_small, f"initial entries exceed {SMALL}"),
        (is_low, "minor entries grow beyond 1/3"),
    ):
        if not holds.all():
            subject = prefix.format((~holds).sum(), len(holds))
            notes.append(f"{subject}{problem}; follow Tied(w0, second_moment) by flow")
    return tuple(notes)
