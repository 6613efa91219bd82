"""What is claimed of units that are close to pretrained ones, weighed by networks and theory."""

from __future__ import annotations

from math import sqrt

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar

from partwhole._types import Real
from partwhole.limits import relu_penalty
from partwhole.recommendation.methods import FINETUNING, MULTI, SINGLE
from partwhole.study import Claim
from partwhole.study.claim import Relation
from partwhole_studies.reuse._relu_runs import VARIANCE, tuned
from partwhole_studies.reuse._relu_tables import (
    BY_CORRELATIONS,
    BY_MAGNITUDE,
    CLOSE,
    LARGER,
    SIZES,
)
from partwhole_studies.reuse._weigh import paired

LEFT = "Lippl & Lindsey (NeurIPS 2024), figure 4a"
RIGHT = "Lippl & Lindsey (NeurIPS 2024), figure 4b, one seed"
HERE = "derived here"
UNITS = 6
ONE = tuned(1.0)
# Of the variance, on the samples; a tenth of the errors that are compared.
UNFITTED = 0.005


def strengths(magnitude: Real) -> tuple[float, float]:
    """Return a main unit's strength and an auxiliary one's, where teachers average over units."""
    return float(magnitude) / UNITS, 1.0 / UNITS


def published(
    magnitude: Real, way: str, correlation: Real, *, one_seed: bool = False
) -> dict[int, float]:
    """Return published errors over the variance of the targets, by samples; none if unknown."""
    method = FINETUNING if way == ONE else way
    if not one_seed:
        errors = BY_CORRELATIONS[CLOSE, method]
        return {n: error / VARIANCE for n, error in zip(SIZES, errors, strict=True)}
    # Learned alone, tasks of all correlations are alike; one was published.
    key = (magnitude, method, 1.0 if way == SINGLE else correlation)
    unit = VARIANCE * (magnitude / sqrt(UNITS)) ** 2
    errors = BY_MAGNITUDE.get(key)
    return {n: e / unit for n, e in zip(LARGER, errors, strict=True)} if errors else {}


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_methods(data), *_magnitudes(data), *_penalties()]


def _methods(data: xr.Dataset) -> list[Claim]:
    errors = data.isel(methods_magnitude=0, methods_correlation=0)
    asked: tuple[tuple[str, str, str, Relation], ...] = (
        (
            ONE,
            SINGLE,
            "Finetuning gains from units that are close: error over single-task",
            "at most",
        ),
        (ONE, MULTI, "Finetuning gains more than multi-task learning: ratio of errors", "at most"),
        (MULTI, SINGLE, "Multi-task learning gains nothing: error over single-task", "at least"),
    )
    found = []
    for over, under, words, relation in asked:
        for n in data.methods_n.values:
            if n < 64:
                continue
            pair = [errors.methods_final.sel(methods_n=n, methods_way=way) for way in (over, under)]
            value, interval, count = paired(*pair)
            least = [errors.methods_best.sel(methods_n=n, methods_way=way) for way in (over, under)]
            told = [published(1.0, way, 0.9).get(int(n)) for way in (over, under)]
            if count < 2:
                continue
            note = f"Of the least errors along training: {paired(*least)[0]:.3g}."
            if told[0] and told[1]:
                note += f" Published means: {told[0] / told[1]:.3g}."
            found.append(
                Claim(
                    f"{words}, correlations .9, {n} samples.",
                    LEFT,
                    1,
                    value,
                    0,
                    interval,
                    relation=relation,
                    note=note,
                )
            )
    return found


def _magnitudes(data: xr.Dataset) -> list[Claim]:
    found = []
    for n in (int(n) for n in data.magnitudes_n.values):
        for correlation in (0.9, 0.8):
            words = "Finetuning gains from close units as large as the main task's"
            found += _gain(data, 1.0, correlation, n, words, "at most")
            if n >= 256:
                words = "Finetuning is hindered by close units 100 times as large"
                found += _gain(data, 0.01, correlation, n, words, "at least")
            found += _less(data, correlation, n)
        words = "From units in the same directions, 100 times as large, finetuning gains tenfold"
        found += _gain(data, 0.01, 1.0, n, words, "at most", 0.1)
    return found


def _pair(data: xr.Dataset, m: Real, correlation: Real, n: int, what: str) -> list[xr.DataArray]:
    if m not in data.magnitudes_magnitude or correlation not in data.magnitudes_correlation:
        return [xr.DataArray([np.nan], dims="seed")] * 2
    one = data[f"magnitudes_{what}"].sel(
        magnitudes_magnitude=m, magnitudes_correlation=correlation, magnitudes_n=n
    )
    return [one.sel(magnitudes_way=way) for way in (ONE, SINGLE)]


def _gain(
    data: xr.Dataset,
    m: Real,
    correlation: Real,
    n: int,
    words: str,
    relation: Relation,
    reference: Real = 1.0,
) -> list[Claim]:
    value, interval, count = paired(*_pair(data, m, correlation, n, "final"))
    if not np.isfinite(value) and count != 1:
        return []
    least = [np.nanmean(each.values) for each in _pair(data, m, correlation, n, "best")]
    left = _pair(data, m, correlation, n, "left")[0]
    told = [
        published(float(m), way, float(correlation), one_seed=True).get(int(n))
        for way in (ONE, SINGLE)
    ]
    note = f"Of the least errors along training: {least[0] / least[1]:.3g}."
    if told[0] and told[1]:
        note += f" Published: {told[0] / told[1]:.3g}."
    rest = float(np.nanmax(left.values))
    if rest > UNFITTED:
        note += f" Finetuning was stopped with {100 * rest:.2g} % of the variance not yet fitted."
    if count == 1:
        ends = _pair(data, m, correlation, n, "final")
        value, interval = float(ends[0].values[0] / ends[1].values[0]), None
        note += " One seed."
    return [
        Claim(
            f"{words}: error over that of single-task learning, correlations {correlation:g}, "
            f"{n} samples.",
            RIGHT,
            reference,
            value,
            0,
            interval,
            applies=bool(rest <= UNFITTED),
            relation=relation,
            note=note,
        )
    ]


def _less(data: xr.Dataset, correlation: Real, n: int) -> list[Claim]:
    """Compare what is gained from close units of one size and of another."""
    ratios = [
        one / other for one, other in (_pair(data, m, correlation, n, "final") for m in (0.01, 1.0))
    ]
    value, interval, count = paired(*ratios)
    if count < 2:
        return []
    told = [
        [published(m, way, correlation, one_seed=True).get(n, np.nan) for way in (ONE, SINGLE)]
        for m in (0.01, 1.0)
    ]
    left = _pair(data, 0.01, correlation, n, "left")[0]
    reference = (told[0][0] / told[0][1]) / (told[1][0] / told[1][1])
    return [
        Claim(
            "Close units help less where they are 100 times as large as where they are as large: "
            "error over single-task, ratio of the two, "
            f"correlations {correlation:g}, {n} samples, at least 1.",
            RIGHT,
            1,
            value,
            0,
            interval,
            applies=bool(np.nanmax(left.values) <= UNFITTED),
            relation="at least",
            note=f"Published: {reference:.3g}.",
        )
    ]


def _penalties() -> list[Claim]:
    """Compare the penalty with a direct minimum over the norm of a unit's input weights."""
    found = []
    for cosine in (0.9, 0.8):
        end, start = strengths(0.01)
        found += [
            Claim(
                f"Turning a unit 100 times as large, correlated {cosine:g}, costs about its "
                "pretrained strength times 1 - correlation^2: penalty over that.",
                HERE,
                1,
                _least(end, start, cosine) / (start * (1 - cosine**2)),
                0.01,
                note="Found by minimising the squared way over the norm of the input weights.",
            ),
            *_powers(end, start, cosine, "Of such a unit", "0", "1"),
        ]
    end, start = strengths(1.0)
    found += _powers(end, start, 1.0, "Of a unit as large, in the same direction,", "1.57", "-.57")
    end, start = strengths(0.01)
    found += _powers(
        end, start, 1.0, "Of one 100 times as large, in the same direction,", "2", "-1"
    )
    return found


def _powers(
    end: float, start: float, cosine: float, words: str, order: str, dependence: str
) -> list[Claim]:
    """Compare order and feature dependence with differences of a direct minimum."""
    step = 1e-3
    exact = relu_penalty(end, start, cosine)
    by_end = _least(end * np.exp(step), start, cosine) / _least(end * np.exp(-step), start, cosine)
    by_start = _least(end, start * np.exp(step), cosine)
    by_start /= _least(end, start * np.exp(-step), cosine)
    more = f", correlated {cosine:g}," if cosine < 1 else ""
    return [
        Claim(
            f"{words}{more} the {what} is about {about}.",
            HERE,
            float(formula),
            float(np.log(ratio) / (2 * step)),
            1e-4,
            note="Formula, and differences of a direct minimum over steps of .1 %.",
        )
        for what, about, formula, ratio in (
            ("order of the penalty", order, exact.order, by_end),
            ("feature dependence", dependence, exact.feature_dependence, by_start),
        )
    ]


def _least(end: float, start: float, cosine: float) -> float:
    """Return the least squared way, over the norm of the input weights."""

    def way(log_norm: float) -> float:
        m = np.exp(log_norm)
        return float((end / m) ** 2 + m**2 + start - 2 * m * sqrt(start) * cosine)

    middle = np.log(max(sqrt(end), sqrt(start) * cosine))
    best = minimize_scalar(
        way, bounds=(middle - 3, middle + 3), method="bounded", options={"xatol": 1e-12}
    )
    return float(best.fun)
