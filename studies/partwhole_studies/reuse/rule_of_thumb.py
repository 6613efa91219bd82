"""A rule of thumb for choosing how to learn a main task, and what following it costs."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import t as student

from partwhole.study import Estimate

ACTIVE = 40  # features of the auxiliary task
SINGLE, MULTI, PROBING = "single-task", "multi-task", "linear probing"
SMALL = "single-task, small weights"
TUNED = ("finetuning, c = 10", "finetuning, c = 1", "finetuning, c = 0.1", "finetuning, c = 0.01")
METHODS = (SINGLE, SMALL, MULTI, PROBING, *TUNED)

Point = tuple[tuple[str, ...], xr.DataArray]


def rule(overlap: int, active: int, n: int) -> tuple[str, ...]:
    """Return the methods that the rule chooses for a main task; it ranks them alike."""
    if active < ACTIVE and overlap == active:
        return TUNED[:1:-1] if active <= ACTIVE // 8 else TUNED[1::-1]
    if overlap == 0:
        return (SINGLE,)
    if overlap == ACTIVE:
        return (PROBING, *TUNED[1::-1])
    return (MULTI,) if n <= 1.6 * active else TUNED[1:2]


def points(overlapping: xr.DataArray, subset: xr.DataArray) -> list[Point]:
    """Return the rule's choice and the losses at all points that are not learned completely."""
    chosen = [
        (rule(int(o), ACTIVE, int(n)), overlapping.sel(overlap=o, n=n))
        for o in overlapping.overlap.values
        for n in overlapping.n.values
    ]
    chosen += [
        (rule(int(a), int(a), int(n)), subset.sel(active=a, n=n))
        for a in subset.active.values
        for n in subset.n.values
    ]
    return [point for point in chosen if float(point[1].mean("seed").min()) > 1e-6]


def best(losses: xr.DataArray) -> tuple[str, float, float]:
    """Return the method with the least mean loss, the ratio of the second to it, and the loss."""
    order = np.argsort(losses.values)  # NaN, a method without predictions, comes last
    values = losses.values[order]
    return str(losses.way.values[order[0]]), float(values[1] / values[0]), float(values[0])


def regret(points: list[Point], fixed: str = "") -> float:
    """Return the mean of ln(loss / least loss) for the rule's choices, or for one method."""
    logs = []
    for chosen, losses in points:
        mean = losses.mean("seed")
        taken = mean.sel(way=[fixed] if fixed else list(chosen)).values
        logs.append(float(np.log(taken).mean() - np.log(float(mean.min()))))
    return float(np.nanmean(logs))


def gain(points: list[Point]) -> Estimate:
    """Estimate the loss by the rule over that of the best fixed method, by the jackknife."""
    fixed = min(METHODS, key=lambda method: regret(points, method))
    gap = regret(points) - regret(points, fixed)
    n = points[0][1].sizes["seed"]
    left = []
    for out in range(n):
        kept = [(chosen, losses.isel(seed=np.arange(n) != out)) for chosen, losses in points]
        left.append(regret(kept) - regret(kept, fixed))
    half = float(student.ppf(0.975, n - 1)) * float(np.sqrt((n - 1) * np.var(left)))
    value, low, high = np.exp([gap, gap - half, gap + half]).tolist()
    return Estimate(value, low, high, n)
