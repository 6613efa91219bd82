"""Minimum-norm interpolation as ridge regression on the seen conjunctions.

A kernel that depends on the overlap of two tuples only, ``K(z, z') = sum_S sigma_S 1[z_S = z'_S]``,
has the explicit features ``sqrt(sigma_S) onehot(z_S)``. Each training tuple owns its full
conjunction; eliminating that private column leaves the ridge problem ::

    minimise over b, c   P = sum_i (y_i - b - (A c)_i)^2 / s_i + sum_j c_j^2 / w_j

with ``A`` (n by p) holding one 1 per row and block, ``w`` the block's ``sigma_S`` and ``s`` the
weight of the full conjunction plus any ridge (derived here). ``A`` is never formed: a block is
the array of its column numbers, one per row.

In the scaled variables ``x = c / sqrt(w)``, ``B = diag(sqrt(s0/s)) A diag(sqrt(w))``, with the
intercept projected out, the smallest blocks are eliminated exactly by one Cholesky factor and the
rest runs conjugate gradients on the least-squares form. Directions that ``A`` annihilates never
enter, which keeps tiny ``s`` harmless. When every column is coarse the same loop is a direct solve
with iterative refinement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

COARSE_COLUMNS = 1500
WINDOW = 8
STALL = 0.25
ROUNDING = 2**18
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class RidgeSolution:
    """Solution of a ridge regression, with its estimated error and duality gap.

    Parameters
    ----------
    coefficients : Float, shape (p,) or (p, k)
        ``c``, block after block.
    intercept : float or Float, shape (k,)
        ``b``; 0 without a free intercept.
    multipliers : Float, shape (n,) or (n, k)
        ``v = (y - b - A c) / s``, the dual variables: ``c = w * A' v`` at the optimum.
    steps : int
        Conjugate-gradient steps, summed over the outputs; 0 for a direct solve.
    converged : bool
        Whether the last refinement changed every prediction by less than the tolerance, or
        refinement stalled at rounding; False when `max_steps` or the deadline ended the search.
    error : float
        Estimated largest error of any prediction, in the unit of the targets: ``sqrt(2 sum sigma)``
        times the kernel norm of the last refinement; pessimistic at its rounding floor. Infinite
        where the deadline left an output without any step.
    gap : float
        Duality gap of ``P`` at ``(c, v)``, which equals ``sum_j w_j (A'v - c/w)_j^2`` (no
        cancellation); no prediction anywhere is off by more than ``sqrt(2 sum_S sigma_S gap)``.
    """

    coefficients: Float[np.ndarray, "p *k"]
    intercept: Float[np.ndarray, " k"] | float
    multipliers: Float[np.ndarray, "n *k"]
    steps: int
    converged: bool
    error: float
    gap: float


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    # einsum, because the threads of BLAS wait for each other at every step on a busy machine.
    return float(np.einsum("i,i->", a, b))


def cross_table(
    blocks: Sequence[Int[np.ndarray, " n"]],
    sizes: Sequence[int],
    row_weights: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "p p"]:
    """Return the total weight of the rows that contain both columns, for each pair of columns.

    Parameters
    ----------
    blocks, sizes
        As in `solve_ridge`.
    row_weights : Float, shape (n,)

    Examples
    --------
    >>> cross_table([np.array([0, 0, 1])], [2], np.ones(3)).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    ends = np.cumsum([0, *sizes])
    slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
    out = np.zeros((int(ends[-1]), int(ends[-1])))
    for i, a in enumerate(blocks):
        for j, b in enumerate(blocks[: i + 1]):
            shape = (sizes[i], sizes[j])
            flat = np.bincount(a * shape[1] + b, row_weights, shape[0] * shape[1])
            table = flat.reshape(shape)
            out[slices[i], slices[j]] = table
            out[slices[j], slices[i]] = table.T
    return out


class _Blocks:
    """Scaled columns of some blocks, as products with their matrix B and its transpose."""

    def __init__(self, blocks: list, sizes: list[int], weights: list[float], d: np.ndarray | None):
        self.blocks, self.sizes, self.d = blocks, sizes, d
        self.roots = [float(np.sqrt(w)) for w in weights]
        ends = np.cumsum([0, *sizes])
        self.slices = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.width = int(ends[-1])

    def subtract(self, x: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return ``q - B x``, built in a new array."""
        out, share = np.zeros_like(q), np.empty_like(q)
        for block, part, root in zip(self.blocks, self.slices, self.roots, strict=True):
            # With an output array and without bounds checks, in half the time.
            out += np.take(root * x[part], block, out=share, mode="clip")
        if self.d is not None:
            out *= self.d
        return np.subtract(q, out, out=out)

    def sums(self, r: np.ndarray) -> np.ndarray:
        """Return the weighted sum of r over the rows of each column."""
        out = np.empty(self.width)
        for block, part, root in zip(self.blocks, self.slices, self.roots, strict=True):
            out[part] = root * np.bincount(block, r, part.stop - part.start)
        return out

    def backward(self, r: np.ndarray) -> np.ndarray:
        """Return ``B' r``."""
        return self.sums(r if self.d is None else self.d * r)

    def backward_exactly(self, r: np.ndarray) -> np.ndarray:
        """Return ``B' r`` with no rounding error except that of the result.

        Gradients along null directions of ``A`` are divided by ``s``, and with plain sums their
        rounding would be as well. Values on a grid of ``2^-52 n max|r|`` add without rounding.
        """
        r = r if self.d is None else self.d * r
        top = r.size * float(np.abs(r).max(initial=0.0))
        if top == 0.0:
            return np.zeros(self.width)
        grid = 2.0 ** (np.ceil(np.log2(top)) - 52)
        on_grid = np.rint(r / grid) * grid
        return self.sums(on_grid) + self.sums(r - on_grid)

    def gram(self, row_weights: np.ndarray) -> np.ndarray:
        """Return ``B' D B`` for a diagonal matrix D of row weights."""
        roots = np.repeat(self.roots, self.sizes)
        return cross_table(self.blocks, self.sizes, row_weights) * np.outer(roots, roots)


class _System:
    """Minimisation of ``|y - B x|^2 + s0 |x|^2``, with the intercept projected out."""

    def __init__(self, coarse: _Blocks, fine: _Blocks, d: np.ndarray, s0: float, free: bool):
        self.coarse, self.fine, self.d, self.s0, self.free = coarse, fine, d, s0, free
        gram = coarse.gram(d * d)
        if free:
            sums = coarse.sums(d * d)
            gram -= np.outer(sums, sums) / (d @ d)
        # A shift as large as the Gram matrix's rounding keeps it positive definite; refinement
        # removes the effect of the shift.
        gram[np.diag_indices_from(gram)] += s0 + 4 * EPS * np.trace(gram)
        self.factor = cho_factor(gram, overwrite_a=True, check_finite=False) if gram.size else None

    def centre(self, q: np.ndarray) -> np.ndarray:
        """Project out the intercept's direction, in place."""
        if self.free:
            q -= self.d * (_dot(self.d, q) / _dot(self.d, self.d))
        return q

    def eliminate(self, g: np.ndarray) -> np.ndarray:
        return g if self.factor is None else cho_solve(self.factor, g, check_finite=False)

    def residual(self, y: np.ndarray, xc: np.ndarray, xf: np.ndarray) -> np.ndarray:
        return self.centre(self.fine.subtract(xf, self.coarse.subtract(xc, y)))

    def refine(
        self,
        y: np.ndarray,
        xc: np.ndarray,
        xf: np.ndarray,
        target: float,
        limit: int,
        deadline: float,
    ) -> tuple[float, int]:
        """Reduce the energy from ``(xc, xf)`` in place; return its drop and the number of steps."""
        coarse, fine, s0 = self.coarse, self.fine, self.s0
        r = self.residual(y, xc, xf)
        gc = coarse.backward_exactly(r) - s0 * xc
        u = self.eliminate(gc)
        xc += u
        total = float(gc @ u)
        r = self.centre(coarse.subtract(u, r))
        drops: list[float] = []
        nil = np.zeros_like(y)
        g, p, gg, steps = fine.backward_exactly(r) - s0 * xf, np.zeros(fine.width), 1.0, 0
        while steps < limit:
            gg, previous = _dot(g, g), gg
            if gg == 0.0 or (steps >= WINDOW and sum(drops[-WINDOW:]) <= target):
                break
            if process_time() > deadline:
                break
            p *= gg / previous if steps else 0.0
            p += g
            q = self.centre(fine.subtract(-p, nil))
            u = self.eliminate(coarse.backward(q))
            q = self.centre(coarse.subtract(u, q))
            alpha = gg / (_dot(q, q) + s0 * (_dot(p, p) + _dot(u, u)))
            xf += alpha * p
            xc -= alpha * u
            q *= alpha
            r -= q
            g = fine.backward(r) - s0 * xf
            drops.append(alpha * gg)
            steps += 1
        return total + sum(drops), steps


def solve_ridge(
    blocks: Sequence[Int[np.ndarray, " n"]],
    sizes: Sequence[int],
    weights: Sequence[float],
    targets: Float[np.ndarray, "n *k"],
    slack: float | Float[np.ndarray, " n"],
    *,
    free_intercept: bool = True,
    tolerance: float = 1e-11,
    max_steps: int = 5000,
    deadline: float = float("inf"),
    start: Float[np.ndarray, "p *k"] | None = None,
) -> RidgeSolution:
    """Return the minimum-norm interpolant, solved as a ridge regression.

    The solver stops when a refinement, from a residual computed anew, changes every prediction by
    less than `tolerance`. (Each step of conjugate gradients reduces the squared energy error by
    ``alpha |g|^2``, Hestenes and Stiefel 1952, and the kernel norm bounds each prediction.) The
    caller validates all inputs.

    Parameters
    ----------
    blocks : sequence of Int, shape (n,)
        Column number of every row, one array per conjunction set (int32 saves memory).
    sizes : sequence of int
        Number of columns of each block.
    weights : sequence of float
        ``sigma_S > 0`` of each block.
    targets : Float, shape (n,) or (n, k)
    slack : float or Float, shape (n,)
        ``s > 0``: the weight of the full conjunction plus the ridge.
    free_intercept : bool, default True
        Fit ``b`` without penalty; else ``b = 0`` (penalised: a block of zeros, ``sigma_0``).
    tolerance : float, default 1e-11
        Largest error of a prediction, in units of the targets' root mean square about ``b``.
    max_steps : int, default 5000
        Conjugate-gradient steps allowed per output.
    deadline : float, default infinity
        Time at which to stop, by `time.process_time`; outputs not solved by then have not
        converged.
    start : Float, shape (p,) or (p, k), optional
        Initial coefficients, such as those of a similar problem; 0 by default. Their part in null
        directions of ``A`` decays slowly, at the rate of ``s``.

    Examples
    --------
    Two components, anchors {0}: memorization leak ``S / (1 - S)`` at ``S = 0.4``.

    >>> rows = np.array([[1, 0], [1, 1], [1, 2], [0, 1], [2, 1]])
    >>> fit = solve_ridge(list(rows.T), [3, 3], [0.4, 0.4], (rows - 1.0).sum(1), 0.2)
    >>> round(float(fit.coefficients[2] + fit.coefficients[5] + fit.intercept), 6)
    1.333333
    """
    y = np.asarray(targets, dtype=float)
    columns = y.reshape(len(y), -1)
    per_row = np.broadcast_to(np.asarray(slack, dtype=float), len(y))
    s0 = float(1 / np.mean(1 / per_row))
    d = np.sqrt(s0 / per_row)

    ends = np.cumsum([0, *sizes])
    order = sorted(range(len(blocks)), key=lambda i: sizes[i])
    n_coarse = int(np.searchsorted(np.cumsum([sizes[i] for i in order]), COARSE_COLUMNS, "right"))
    scale = d if np.ndim(slack) else None
    coarse, fine = (
        _Blocks(
            [blocks[i] for i in part], [sizes[i] for i in part], [weights[i] for i in part], scale
        )
        for part in (order[:n_coarse], order[n_coarse:])
    )
    system = _System(coarse, fine, d, s0, free_intercept)
    reach = 2.0 * float(sum(weights))
    roots = np.repeat(np.sqrt(np.asarray(weights, dtype=float)), sizes)
    place = np.concatenate([np.arange(ends[i], ends[i + 1]) for i in order] or [np.arange(0)])

    coefficients = np.zeros((int(ends[-1]), columns.shape[1]))
    initial = np.zeros_like(coefficients)
    if start is not None:
        initial += (start.reshape(initial.shape) / roots[:, None])[place]
    multipliers = np.zeros_like(columns)
    intercept = np.zeros(columns.shape[1])
    all_steps, converged, error, gap = 0, True, 0.0, 0.0
    for k in range(columns.shape[1]):
        if k and process_time() > deadline:
            converged, error, gap = False, float("inf"), float("inf")
            break
        raw = columns[:, k] * d
        yk = system.centre(raw.copy())
        size = float(np.linalg.norm(yk))
        goal = s0 * (tolerance * size) ** 2 / (len(y) * max(reach, EPS))
        xc, xf = np.zeros(coarse.width), np.zeros(fine.width)
        drop, steps = 0.0, 0
        if size > 4 * EPS * float(np.linalg.norm(raw)):
            xc += initial[: coarse.width, k]
            xf += initial[coarse.width :, k]
            last = drop = np.inf
            late = False
            while drop > goal and drop <= STALL * last and steps < max_steps and not late:
                target = max(goal, (16 * EPS * size) ** 2)
                last = drop
                drop, new_steps = system.refine(yk, xc, xf, target, max_steps - steps, deadline)
                steps += new_steps
                late = process_time() > deadline
            converged &= (
                not late and steps < max_steps and drop <= max(goal, (ROUNDING * EPS * size) ** 2)
            )
        r = system.residual(yk, xc, xf)
        g = [part.backward_exactly(r) - s0 * x for part, x in ((coarse, xc), (fine, xf))]
        coefficients[place, k] = roots[place] * np.concatenate([xc, xf])
        if free_intercept:
            intercept[k] = d @ fine.subtract(xf, coarse.subtract(xc, raw)) / (d @ d)
        multipliers[:, k] = d * r / s0
        all_steps += steps
        error = max(error, float(np.sqrt(reach * drop / s0)))
        gap = max(gap, float(g[0] @ g[0] + g[1] @ g[1]) / s0**2)
    shape = y.shape[1:]
    return RidgeSolution(
        coefficients.reshape(-1, *shape) if coefficients.size else np.zeros((0, *shape)),
        intercept if shape else float(intercept[0]),
        multipliers.reshape(y.shape),
        all_steps,
        bool(converged),
        error,
        gap,
    )
