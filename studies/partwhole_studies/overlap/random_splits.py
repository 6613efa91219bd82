"""How many random combinations a training set needs before others follow from them."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import xarray as xr
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from partwhole.limits.random_splits import critical_ratio as limit_ratio
from partwhole.limits.random_splits import critical_rows, determined_share, dimensions
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean
from partwhole.study.plots import QUIET, look, name, panels

# Training rows for each dimension at which shares and errors are measured.
RATIOS = np.array([0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.5])
ABOVE, BELOW = 1.2, 0.8
HELD_OUT, MANY = 4000, 10_000
FUNCTIONS = 12  # random functions, of which each is seen to vanish or not
RIDGE, PROJECTIONS, ZERO = 1e-9, 3, 1e-5  # zero: of a function's size before training
THREE, PAIRS, FOUR, SIX = "3 parts", "pairs of 3", "4 parts", "pairs of 4"
LEARNERS = {THREE: (3, 1), PAIRS: (3, 2), FOUR: (4, 1), SIX: (4, 2), "triples of 4": (4, 3)}


def _cells(sizes: dict[str, list[int]], seeds: int) -> list[Config]:
    return [
        {"learner": learner, "values": n, "seed": seed}
        for learner, values in sizes.items()
        for n in values
        for seed in range(seeds)
    ]


QUICK = {THREE: [30, 100], PAIRS: [12], FOUR: [150], SIX: [10]}
LAPTOP = {
    THREE: [30, 100, 300, 900],
    PAIRS: [8, 12, 18, 27],
    FOUR: [150, 450],
    SIX: [10, 15],
    "triples of 4": [7, 9],
}
PAPER = LAPTOP | {PAIRS: [8, 12, 18, 27, 40], SIX: [10, 15, 22], "triples of 4": [7, 9, 11]}
PRESETS = {"quick": _cells(QUICK, 4), "laptop": _cells(LAPTOP, 50), "paper": _cells(PAPER, 50)}


def conjunctions(
    values: int, n_components: int, order: int, rows: int, seed: int
) -> Int[np.ndarray, "rows b"]:
    """Return the conjunctions in distinct random combinations, numbered."""
    rng, whole = np.random.default_rng(seed), values**n_components
    drawn = np.unique(rng.integers(0, whole, int(1.3 * rows))) if whole > 4 * rows else whole
    places = np.unravel_index(rng.permutation(drawn)[:rows], (values,) * n_components)
    return conjunctions_of(np.stack(places, axis=1), values, order)


def conjunctions_of(
    rows: Int[np.ndarray, "rows C"], values: int, order: int
) -> Int[np.ndarray, "rows b"]:
    """Return the conjunctions in some combinations, numbered."""
    sets, shape = combinations(range(rows.shape[1]), order), (values,) * order
    numbered = [np.ravel_multi_index(tuple(rows[:, list(chosen)].T), shape) for chosen in sets]
    return np.stack(numbered, axis=1) + np.arange(len(numbered)) * values**order


def beyond_training(
    index: Int[np.ndarray, "m b"], rows: int, drawn: Float[np.ndarray, "p f"]
) -> Float[np.ndarray, "p f"]:
    """Return the part of random weights that the first rows leave open.

    A ridge that is tiny beside all singular values leaves some of the determined part, and less
    each time that it is taken away.
    """
    b = index.shape[1]
    places = np.repeat(np.arange(rows), b), index[:rows].ravel()
    design = sparse.csr_array((np.ones(rows * b), places), shape=(rows, len(drawn)))
    is_wide = rows <= len(drawn)
    gram = (design @ design.T if is_wide else design.T @ design).toarray()
    gram[np.diag_indices_from(gram)] += RIDGE
    factor, weights = cho_factor(gram, overwrite_a=True, check_finite=False), drawn
    for _ in range(PROJECTIONS):
        if is_wide:
            weights = weights - design.T @ cho_solve(factor, design @ weights)
        else:
            weights = RIDGE * cho_solve(factor, weights)
    return weights


def measured(
    index: Int[np.ndarray, "m b"], rows: int, drawn: Float[np.ndarray, "p f"]
) -> tuple[float, float]:
    """Return the determined share of held-out rows, and the error of interpolation there.

    The error is that of the smallest weights that fit training, as a share of the mean square of
    random sums: what they leave open of random weights.
    """
    tested = index[rows : rows + HELD_OUT]
    open_ = beyond_training(index, rows, drawn)[tested].sum(axis=1)
    whole = drawn[tested].sum(axis=1)
    vanishes = np.abs(open_).max(axis=1) < ZERO * whole.std()
    return float(vanishes.mean()), float(np.mean(open_**2) / np.mean(whole**2))


def jump(b: int) -> float:
    """Return the share to which that of large tables jumps, with b conjunctions in a row."""
    values = (MANY,) * b
    rows = (1 + 1e-4) * limit_ratio(b, 1) * dimensions(values, 1)
    return determined_share(rows, values, 1)


def cell(config: Config) -> Arrays:
    """Add random rows, and find the ratio at which the share crosses half of its jump."""
    n_components, order = LEARNERS[config["learner"]]
    values, b = config["values"], comb(n_components, order)
    size, whole = dimensions((values,) * n_components, order), values**n_components
    most = min(int(RATIOS[-1] * size), whole - 50)
    index = conjunctions(values, n_components, order, min(most + HELD_OUT, whole), config["seed"])
    drawn = np.random.default_rng(config["seed"]).normal(size=(b * values**order, FUNCTIONS))
    rows = [int(ratio * size) for ratio in RATIOS]
    points = [measured(index, r, drawn) if r <= most else (np.nan, np.nan) for r in rows]
    half = jump(b) / 2
    low, high = int(0.5 * size), min(most, int(1.4 * size))
    # The share of a growing training set never falls.
    while high - low > max(1, size // 500):
        middle = (low + high) // 2
        is_above = measured(index, middle, drawn)[0] > half
        low, high = (low, middle) if is_above else (middle, high)
    determined, error = np.array(points).T
    return {
        "crossing": np.array((low + high) / 2 / size),
        "determined": determined,
        # Of all rows: those of training have no error.
        "error": error * (1 - np.array(rows) / whole),
    }


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {"crossing": "", "determined": "ratio", "error": "ratio"},
        over=["learner", "values", "seed"],
        coords={"ratio": RATIOS},
        labels={"ratio": "training rows per dimension", "determined": "determined share"},
    )


def largest(data: xr.Dataset, learner: str) -> tuple[xr.Dataset, tuple[int, ...], int]:
    """Return the samples of a learner with the most values, those values and its order."""
    of = data.sel(learner=learner)
    n = int(of["values"][of.crossing.notnull().any("seed").to_numpy()].max())
    n_components, order = LEARNERS[learner]
    return of.sel(values=n), (n,) * n_components, order


def theory(ratios: np.ndarray, values: tuple[int, ...], order: int) -> np.ndarray:
    """Return the determined shares at so many training rows for each dimension."""
    rows = np.minimum(ratios * dimensions(values, order), np.prod(values))
    return np.array([determined_share(r, values, order) for r in rows.tolist()])


def numbers(data: xr.Dataset) -> dict[str, float | Estimate]:
    three, _, _ = largest(data, THREE)
    pairs, values, order = largest(data, PAIRS)
    expected = critical_rows(values, order) / dimensions(values, order)
    sizes = data.crossing.sel(learner=THREE).dropna("values", how="all")
    slope = np.polyfit(np.log(sizes["values"]), np.log(sizes.std("seed", ddof=1)), 1)[0]
    above = pairs.determined.sel(ratio=ABOVE)
    return {
        "three": mean(three.crossing),
        "pairs": mean(pairs.crossing / expected),
        "jump": mean(above - theory(np.array([ABOVE]), values, order)[0]),
        "error": mean(three.error.sel(ratio=BELOW)),
        "nothing": float(three.determined.sel(ratio=BELOW).max()),
        "above": float(three.determined.sel(ratio=ABOVE).mean()),
        "slope": float(slope),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 1, 6.0, sharex=True)
    top, bottom = axes[:, 0]
    fine = np.linspace(RATIOS[0], RATIOS[-1], 401)
    for i, learner in enumerate(LEARNERS):
        if learner not in data.learner.to_numpy():
            continue
        of, values, order = largest(data, learner)
        top.plot(fine, theory(fine, values, order), **look(i), label=f"{learner}, theory")
        marks = look(i, line=False)
        label = f"{learner}, {values[0]} values"
        top.plot(of.ratio, of.determined.mean("seed"), **marks, label=label)
        bottom.plot(of.ratio, of.error.mean("seed"), **marks)
    bottom.plot(fine, np.maximum(1 - fine, 0), color=QUIET, linewidth=1, zorder=0)
    name(bottom, 0.62, 0.44, "1 − ratio", QUIET, fontsize=8)
    top.set(ylabel="determined share", ylim=(-0.03, 1.03))
    bottom.set(ylabel="error of interpolation", xlabel="training rows per dimension")
    return key(drawn)
