"""Where a path through concept space turns, and which way it set out."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive
from partwhole.measures.extrema import increasing


@dataclass(frozen=True, eq=False)
class TurningPoint:
    """Sharpest turn of a path.

    Parameters
    ----------
    index, step : int, float
        The checkpoint at which it turns; -1 and NaN for a path that is too short or at rest.
    angle : float
        Between the ways to it and from it, in degrees.
    score : float
        The angle in radians times the shorter of both ways.
    scores : float array, shape (T,)
        Of every checkpoint; NaN where a way would reach beyond the path.
    point : float array, shape (C,)
        Where the path is then.
    """

    index: int
    step: float
    angle: float
    score: float
    scores: Float[np.ndarray, " T"]
    point: Float[np.ndarray, " C"]

    @classmethod
    def nowhere(cls, scores: Float[np.ndarray, " T"], n_concepts: int) -> TurningPoint:
        """Return the turning point of a path that has none."""
        nan = float("nan")
        return cls(-1, nan, nan, nan, scores, np.full(n_concepts, nan))


@door
def turning_point(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    path: Float[np.ndarray, "T C"],
    *,
    window: Count = 3,
) -> TurningPoint:
    r"""Find where a path turns most.

    With the ways :math:`u_k = C_k - C_{k-w}` and :math:`v_k = C_{k+w} - C_k` over a window of w
    checkpoints, it is at

    .. math:: \arg\max_k \; \theta_k \min(\|u_k\|, \|v_k\|), \qquad
              \cos \theta_k = \frac{\langle u_k, v_k \rangle}{\|u_k\| \|v_k\|}.

    Parameters
    ----------
    steps : float array, shape (T,)
        Increasing.
    path : float array, shape (T, C)
        Smoothed, where it has noise: the angle of ways as short as the noise is any angle.
    window : int, keyword-only, default 3

    Returns
    -------
    TurningPoint

    Raises
    ------
    InputError
        For numbers that are not finite, steps that don't increase, or a window below 1.

    Notes
    -----
    Derived here, for the turn that Park et al. (NeurIPS 2024) see where a hidden capability
    appears. Every path that is not straight has a sharpest turn: read the score along.

    Examples
    --------
    >>> path = np.array([[0, 0], [0, 0.3], [0, 0.6], [0.1, 0.9], [0.4, 1], [0.7, 1], [1, 1]])
    >>> turn = turning_point(np.arange(7.0), path, window=2)
    >>> turn.step, round(turn.angle, 1)
    (3.0, 71.1)
    """
    t, c = increasing(steps), path
    n = len(t)
    scores, angles = np.full(n, np.nan), np.full(n, np.nan)
    if n > 2 * window:
        before, after = c[window:-window] - c[: -2 * window], c[2 * window :] - c[window:-window]
        length_before, length_after = np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1)
        # A way of no length has no direction; its score is 0 in any case.
        lengths = np.where(length_before * length_after > 0, length_before * length_after, 1.0)
        cosine = np.einsum("kc,kc->k", before, after) / lengths
        inner = slice(window, n - window)
        angles[inner] = np.arccos(np.clip(cosine, -1.0, 1.0))
        scores[inner] = angles[inner] * np.minimum(length_before, length_after)
    if not np.any(scores > 0):
        return TurningPoint.nowhere(scores, c.shape[1])
    k = int(np.nanargmax(scores))
    return TurningPoint(
        k, float(t[k]), float(np.degrees(angles[k])), float(scores[k]), scores, c[k].copy()
    )


@dataclass(frozen=True, eq=False)
class Heading:
    """Initial direction of a path.

    Parameters
    ----------
    step : float
        The first at which it is further from its start than the radius; infinite if it never is.
    move : float array, shape (C,)
        From the start to there, or to the end of the path.
    first : int
        The concept whose coordinate has moved most by then.
    corner : int array, shape (C,)
        The combination towards which it moves: 0 or 1 for each concept.
    cosine : float
        Of the angle between the move and the way from the start to that corner.

    Of a path that cannot be followed, numbers are NaN, and the concept and the corner -1.
    """

    step: float
    move: Float[np.ndarray, " C"]
    first: int
    corner: Int[np.ndarray, " C"]
    cosine: float

    @classmethod
    def unknown(cls, n_concepts: int) -> Heading:
        """Return the heading of a path that cannot be followed."""
        corner = np.full(n_concepts, -1)
        return cls(float("nan"), np.full(n_concepts, np.nan), -1, corner, float("nan"))


@door
def initial_heading(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    path: Float[np.ndarray, "T C"],
    *,
    radius: Positive = 0.2,
) -> Heading:
    """Return towards which combination a path sets out, and which concept moves first.

    It is read off where the path leaves a ball around its start, so that noise smaller than the
    ball doesn't decide it: a low signal first moves towards the seen combination that shares the
    concept of strong signal.

    Parameters
    ----------
    steps : float array, shape (T,)
        Increasing.
    path : float array, shape (T, C)
        In 0..1, with at most 16 concepts.
    radius : float, keyword-only, default 0.2
        Of the ball.

    Returns
    -------
    Heading

    Raises
    ------
    InputError
        For numbers that are not finite, steps that don't increase, more than 16 concepts, or a
        radius that is not above 0.

    Notes
    -----
    Derived here, for figure 6 of Yang et al. (ICLR 2025).

    Examples
    --------
    >>> path = np.array([[0.5, 0.5], [0.45, 0.6], [0.3, 0.8], [0.2, 0.95], [0.9, 1.0]])
    >>> heading = initial_heading(np.arange(5.0), path)
    >>> heading.step, heading.corner.tolist(), heading.first
    (2.0, [0, 1], 1)
    """
    t, c = increasing(steps), path
    require(
        1 <= c.shape[1] <= 16,
        "a heading is among the corners of 1 to 16 concepts",
        c.shape[1],
        "pass path[:, :16]",
    )
    outside = np.linalg.norm(c - c[0], axis=1) > radius
    at = int(outside.argmax()) if outside.any() else len(c) - 1
    move = c[at] - c[0]
    corners = np.array(list(product((0, 1), repeat=c.shape[1])))
    offsets = corners - c[0]
    lengths = np.linalg.norm(offsets, axis=1) * np.linalg.norm(move)
    # From a corner there is no way to itself.
    cosine = np.where(lengths > 0, offsets @ move / np.where(lengths > 0, lengths, 1.0), -np.inf)
    best = int(cosine.argmax())
    step = float(t[at]) if outside.any() else float("inf")
    largest = float(cosine[best]) if np.isfinite(cosine[best]) else float("nan")
    return Heading(step, move, int(np.abs(move).argmax()), corners[best], largest)
