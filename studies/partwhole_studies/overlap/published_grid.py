"""The published grid of representations for context dependence, and margins on it."""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.features.overlap import OverlapKernels
from partwhole.features.subsets import kernel_spectrum
from partwhole.limits import shortcut_margin
from partwhole.tasks import context_dependence

GRID = 50
FITS = ("margin", "regression")
# S(1;3) and S(2;3) of the two representations marked in the published diagram.
REPRESENTATIONS = {"Rep. 1": (0.10100758, 0.13911539), "Rep. 2": (0.20350064, 0.09423825)}


def grid_axes() -> tuple[np.ndarray, np.ndarray]:
    """Return the similarity of inputs that share two components, and its halving by one less."""
    return np.linspace(0, 2 / 3, GRID), np.linspace(0, 0.5, GRID)


def saliences_at(similarity_2: np.ndarray, ratio: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return S(1;3) and S(2;3) over a grid of the two axes."""
    order_1 = similarity_2[:, None] * ratio
    return order_1, similarity_2[:, None] - 2 * order_1


@cache
def published_grid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return S(1;3), S(2;3) and whether they make a kernel, on the published grid."""
    order_1, order_2 = saliences_at(*grid_axes())
    spectrum = kernel_spectrum(sigmas(order_1, order_2), (2, 6, 6))
    return order_1, order_2, spectrum.min(axis=-1) >= -1e-8


def on_grid(values: np.ndarray) -> np.ndarray:
    """Arrange numbers of the kernels on the grid; NaN at points without a kernel."""
    valid = published_grid()[2]
    grid = np.full(valid.shape, np.nan)
    grid[valid] = values
    return grid


def margin_law(fit: Literal["margin", "regression"]) -> np.ndarray:
    """Return the closed form of the margin on CD-3 on the grid."""
    order_1, order_2, valid = published_grid()
    return on_grid(shortcut_margin(order_1[valid], order_2[valid].clip(0), fit=fit))


def sigmas(order_1: np.ndarray, order_2: np.ndarray) -> np.ndarray:
    """Return Möbius coefficients by bitmask, shape (..., 8)."""
    none, full = np.zeros_like(order_1), 1 - 3 * order_1 - 3 * order_2
    full = np.where(np.abs(full) < 1e-12, 0.0, full)
    return np.stack([none, order_1, order_1, order_2, order_1, order_2, order_2, full], axis=-1)


def solved_margins(left_out: int, saliences: tuple[float, float], half: int = 3) -> list[float]:
    """Return the mean margin on held-out tuples, for each fit."""
    task, kernel = context_dependence(left_out, half), OverlapKernel.from_salience(saliences)
    return [
        float(solve(task, kernel, fit=fit, intercept="free").test_margins.mean())
        for fit in ("margin", "equal")
    ]


def solved_boundary(order_1: float, fit: str) -> float:
    """Find by bisection the S(2;3) at which the solved margin of CD-3 changes its sign."""
    end = (1 - 3 * order_1) / 3 - 1e-6
    return _root(lambda order_2: _margin(order_1, order_2, fit), 1e-6, end)


def solved_corner() -> float:
    """Find by bisection the S(1;3) at which it changes sign without memorization, S(3;3) = 0."""
    return _root(lambda order_1: _margin(order_1, 1 / 3 - order_1, "margin"), 0.05, 0.30)


def _margin(order_1: float, order_2: float, fit: str) -> float:
    task = context_dependence(3)
    sigma = sigmas(np.array(order_1), np.array(order_2))
    if fit == "margin":
        kernels = OverlapKernels(3, sigma[None])
        return float(solve(task, kernels, fit="margin", intercept="free").test_margins.mean())
    return float(solve(task, OverlapKernel(3, sigma), intercept="free").test_margins.mean())


def _root(function: object, low: float, high: float) -> float:
    return float(brentq(function, low, high, full_output=False))  # type: ignore[arg-type]
