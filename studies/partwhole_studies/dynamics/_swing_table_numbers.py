"""The numbers told of swings, and what they are weighed against."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.flows.two_concepts import SwingForecast, minor_peak, swing_forecast
from partwhole.study import Claim
from partwhole_studies.dynamics import _random_starts

RATIOS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
SCALES = (0.001, 0.01, 0.1)
CORRELATIONS = (0.3, 0.7, 0.95, 0.999)
# Relative amplitudes integrated with a fixed step, for (correlation, scale): one for each ratio.
TABLE = {
    (0.3, 0.1): (0.1492, 0.0413, 0, 0, 0, 0, 0),
    (0.3, 0.001): (0.0279, 0.0187, 0.0034, 0, 0, 0, 0),
    (0.7, 0.1): (0.5056, 0.3118, 0.1039, 0.0147, 0, 0, 0),
    (0.7, 0.01): (0.2441, 0.1763, 0.0834, 0.0178, 0, 0, 0),
    (0.7, 0.001): (0.0803, 0.0675, 0.0470, 0.0201, 0, 0, 0),
    (0.95, 0.1): (0.8054, 0.6504, 0.4067, 0.2286, 0.1107, 0.0414, 0),
    (0.95, 0.01): (0.3650, 0.3091, 0.2444, 0.1739, 0.1012, 0.0398, 0),
    (0.999, 0.1): (0.9081, 0.8364, 0.7411, 0.6270, 0.4840, 0.3328, 0.0957),
    (0.999, 0.01): (0.3934, 0.3534, 0.3508, 0.3551, 0.3357, 0.2848, 0.1185),
}
DIGIT = 1e-4  # the last digit told in the table
SINGLE = ((0.7, 0.1, 0.05), (0.7, 0.01, 0.2), (0.95, 0.01, 0.3), (0.999, 0.1, 0.5))
SAME = 0.9999  # rows that are nearly alike
# As many as in the table, so that they are compiled once.
SMALL = ((0.1, 0.2, 0.3), tuple(10.0**-k for k in range(3, 10)), (0.3, 0.7, 0.95, SAME))
# Strong mean, initial scale, correlation; the weak mean is 1 and the deviations are .05.
RUNS = (
    *((2.0, 1e-3, rho) for rho in (-0.5, 0.0, 0.5, 0.9, 0.99)),
    (3.0, 1e-1, 0.5),
    (3.0, 1e-2, 0.5),
    (3.0, 1e-3, 0.5),
    (3.0, 1e-4, 0.5),
    (2.0, 1e-2, 0.5),
    (1.5, 1e-3, 0.5),
)
# For mean 2 and scale 1e-3: correlation, then time and error at the minimum and the maximum.
TURNS = {
    0.5: (2.535, 0.453752, 3.225, 0.458303),
    0.9: (2.405, 0.426489, 4.335, 0.467114),
    0.99: (2.390, 0.420320, 5.660, 0.486456),
}


def start(run: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the initial matrix, the second moment and the means of a run."""
    strong, scale, rho = run
    w0 = scale * np.array([[1.0, rho], [rho, 1.0]])
    means = np.array([strong, 1.0])
    return w0, np.diag(means**2 / 2 + 0.05**2), means


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_the_table(data),
        *_on_conditions(data),
        *_on_correlation(data),
        *_on_forecasts(data),
        *_random_starts.claims(data.starts, data.attrs["draws"]),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def tabulated(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the swings found and those told, a row for each correlation and scale."""
    rows = [data.table.sel(correlation=rho, scale=scale).values for rho, scale in TABLE]
    return np.array(rows), np.array(list(TABLE.values()), dtype=float)


def _on_the_table(data: xr.Dataset) -> list[Claim]:
    found = []
    for (rho, scale), row, told in zip(TABLE, *tabulated(data), strict=True):
        found.append(
            _here(
                f"Swings tabulated for correlation {rho:g} and initial scale {scale:g}, at 7 "
                "ratios of the signals: largest difference from the flow.",
                0.0,
                float(np.abs(row - told).max()),
                DIGIT,
                relation="at most",
            )
        )
    for rho, scale, ratio in SINGLE:
        told = TABLE[rho, scale][RATIOS.index(ratio)]
        found.append(
            _here(
                f"Swing at correlation {rho:g}, initial scale {scale:g} and a weak signal of "
                f"{ratio:g} times the strong, in units of the plateau.",
                told,
                float(data.table.sel(correlation=rho, scale=scale, ratio=ratio)),
                DIGIT,
            )
        )
    small = {"scale": [0.001, 0.01], "ratio": [0.05, 0.1, 0.2, 0.3]}
    apart = np.abs(data.formula - data.table).sel(small)
    found.append(
        _here(
            "The closed form gives the swing within 4 % of the plateau for initial scales up to "
            ".01 and ratios up to .3: largest difference from the flow.",
            0.0,
            float(apart.max()),
            0.04,
            relation="at most",
        )
    )
    return found


def _on_conditions(data: xr.Dataset) -> list[Claim]:
    corner = data.small.sel(small_ratio=0.3, small_correlation=0.3)
    found = [
        _here(
            "Rows of the initial matrix that are uncorrelated or opposed give no swing: the "
            "largest of 84 settings with correlations from -.9 to 0.",
            0.0,
            float(data.opposed.max()),
            0.0,
        ),
        _here(
            "The error rises when the forecast time of its minimum comes before that of its "
            "maximum: share of 84 tabulated settings in which the flow agrees.",
            0.95,
            float((data.rises == (data.table > 0)).mean()),
            0.0,
            relation="at least",
            note="The formulas are for small initial entries, and err at the boundary.",
        ),
        _here(
            "A smaller start can make a swing appear: at ratio .3 and correlation .3 there is one "
            "from an initial scale of 1e-6.",
            1e-5,
            float(corner.sel(small_scale=1e-6, method="nearest")),
            0.0,
            relation="at least",
            note="From .001 there is none. Any positive correlation and unequal signals give one "
            "in the end, though a small one.",
        ),
    ]
    for ratio in SMALL[0]:
        low, high = data.small.sel(small_ratio=ratio, small_correlation=SAME).values[[-1, -2]]
        theory = 4 * (1 - ratio) / (7 + ratio)
        found.append(
            _here(
                f"As the initial scale ω vanishes the swing vanishes like ω to the power "
                f"4 (1 - r) / (7 + r), at r = {ratio:g}, correlation {SAME:g}: slope between "
                "ω = 1e-9 and 1e-8.",
                theory,
                float(np.log10(high / low)),
                0.01 * theory,
                note="The entry that causes it shrinks more slowly, by (1 - r) / 2; by the time of "
                "the minimum it has already decayed.",
            )
        )
    weak, strong = start((3.0, 1e-3, 0.5))[1].diagonal()[::-1]
    heights = data.read.sel(reading="peak").values
    rows = [RUNS.index((3.0, scale, 0.5)) for scale in (1e-4, 1e-3)]
    found.append(
        _here(
            "The entry between the concepts, at its peak, shrinks like ω to the power (1 - r) / 2: "
            "slope between ω = 1e-4 and 1e-3, means 3 and 1, correlation .5.",
            (1 - weak / strong) / 2,
            float(np.log10(heights[rows[1]] / heights[rows[0]])),
            0.005,
        )
    )
    return found


def _on_correlation(data: xr.Dataset) -> list[Claim]:
    where = "means 2 and 1, initial scale .001"
    found = []
    for rho in (-0.5, 0.0):
        run = RUNS.index((2.0, 1e-3, rho))
        found.append(
            _here(
                f"With correlation {rho:g} the error never turns: number of turns, {where}.",
                0,
                int(data.turns[run]),
                0,
            )
        )
    for rho, (_, least, time, most) in TURNS.items():
        row = data.read[RUNS.index((2.0, 1e-3, rho))]
        found += [
            _here(
                f"With correlation {rho:g} the error is largest again at this paper time, {where}.",
                time,
                float(row.sel(reading="most time")),
                0.01,
            ),
            _here(
                f"With correlation {rho:g} the error rises by this much, {where}.",
                most - least,
                float(row.sel(reading="most") - row.sel(reading="least")),
                1e-4,
            ),
        ]
    return found


def forecast(run: tuple[float, float, float]) -> SwingForecast:
    return swing_forecast(*start(run))


def _on_forecasts(data: xr.Dataset) -> list[Claim]:
    run = (3.0, 1e-3, 0.5)
    told, row = forecast(run), data.read[RUNS.index(run)]
    where = "means 3 and 1, initial scale .001, correlation .5"
    peak = minor_peak(*start(run)[:2])
    numbers = {
        "The strong concept is half learned": ("strong", told.strong_half_time, 0.007),
        "The weak concept is half learned": ("weak", told.weak_half_time, 0.007),
        "The entry between the concepts peaks": ("peak time", peak.time, 0.007),
        "The error turns up": ("least time", told.minimum_time, 0.05),
        "The error turns down again": ("most time", told.maximum_time, 0.007),
    }
    found = [
        _here(
            f"{what} at this paper time by the formula; found by integrating, {where}.",
            formula,
            float(row.sel(reading=reading)),
            within * formula,
        )
        for what, (reading, formula, within) in numbers.items()
    ]
    found += [
        _here(
            f"The error at its second maximum by the formula; found by integrating, {where}.",
            told.maximum_loss,
            float(row.sel(reading="most")),
            0.007 * told.maximum_loss,
        ),
        _here(
            "The formulas are for small starts: their error in the time of the maximum shrinks at "
            "each step from an initial scale of .1 to .0001 (number of steps out of 3).",
            3,
            int((np.diff(_misses(data)) < 0).sum()),
            0,
        ),
    ]
    merged = (1.5, 1e-3, 0.5)
    found.append(
        _here(
            "Means 1.5 and 1 are too close for a swing at correlation .5, and the formulas say so: "
            "turns of the error, against 0 where the forecast has none.",
            2 * forecast(merged).occurs,
            int(data.turns[RUNS.index(merged)]),
            0,
        )
    )
    return found


def _misses(data: xr.Dataset) -> np.ndarray:
    runs = [(3.0, scale, 0.5) for scale in (1e-1, 1e-2, 1e-3, 1e-4)]
    times = data.read.sel(reading="most time").values
    return np.array([abs(forecast(run).maximum_time / times[RUNS.index(run)] - 1) for run in runs])
