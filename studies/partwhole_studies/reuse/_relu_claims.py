"""What is claimed of ReLU networks that reuse units, weighed by trained networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.recommendation.methods import MULTI, PROBING, SINGLE
from partwhole.study import Claim
from partwhole.study.claim import Relation
from partwhole.study.plots import mean_interval
from partwhole_studies.reuse._relu_runs import (
    LONG,
    ROOT,
    TANGENT,
    UNIT,
    VARIANCE,
    named,
    of_unit_readouts,
    tuned,
)
from partwhole_studies.reuse._relu_tables import (
    ALL,
    BY_CORRELATIONS,
    BY_RESCALING,
    BY_UNITS,
    HALF,
    NONE,
    SIZES,
)
from partwhole_studies.reuse._tables import SCRATCH
from partwhole_studies.reuse._weigh import BAND, FACTOR, known, paired

SHARED = "Lippl & Lindsey (NeurIPS 2024), figures 2b, 2d and 2f"
NESTED = "Lippl & Lindsey (NeurIPS 2024), figures 3e, 3f and 9b"
HERE = "derived here"
ONE = tuned(1.0)
MIXES: dict[tuple[float, ...], str] = {
    NONE: "no unit",
    HALF: "three of six units",
    ALL: "all six units",
}


def published(task: str, way: str) -> dict[int, float]:
    """Return published errors over the variance of the targets, by samples; none if unknown."""
    mix, entries = task.rsplit(", ", 1)
    correlations = tuple(float(a) for a in mix.split())
    count, first = len(correlations), correlations[0]
    if entries == ROOT:
        method = "finetuning" if way == ONE else way
        errors, unit = BY_CORRELATIONS.get((correlations, method)), VARIANCE
    else:
        unit = VARIANCE * of_unit_readouts(count) ** 2
        if way.startswith("finetuning"):
            errors = BY_RESCALING.get((first, count, float(way.rpartition(" ")[2])))
            if way == ONE and errors is None:
                errors = BY_UNITS.get((first, "finetuning", count))
        else:
            errors = BY_UNITS.get((first, way, count))
    return {n: e / unit for n, e in zip(SIZES, errors or (), strict=bool(errors))}


def errors(data: xr.Dataset, task: str, n: int, way: str, what: str = "final") -> xr.DataArray:
    """Return the errors of a cell, one for each seed; NaN where there is no such cell."""
    there = task in data.task and n in data.n and way in data.way
    if not there:
        return xr.DataArray(np.full(data.seed.size, np.nan), dims="seed")
    return data[what].sel(task=task, n=n, way=way)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_nothing_shared(data),
        *_all_shared(data),
        *_half_shared(data),
        *_tangent(data),
        *_units(data),
        *_rescaling(data),
        *_readings(data),
        *_published_errors(data),
        _published_readouts(),
    ]


def _compared(
    statement: str,
    source: str,
    data: xr.Dataset,
    over: tuple[str, str],
    under: tuple[str, str],
    n: int,
    relation: Relation,
    reference: Real = 1.0,
    tolerance: Real = 0.0,
    **more: bool,
) -> list[Claim]:
    """Weigh a ratio of errors at the end; over and under are a task and a way each."""
    value, interval, count = paired(
        errors(data, over[0], n, over[1]), errors(data, under[0], n, under[1])
    )
    if count < 2:
        return []
    least, _, _ = paired(
        errors(data, over[0], n, over[1], "best"), errors(data, under[0], n, under[1], "best")
    )
    note = f"Of the least errors along training: {least:.3g}."
    told = published(*over).get(n), published(*under).get(n)
    if told[0] and told[1]:
        note += f" Published means: {told[0] / told[1]:.3g}."
    return [
        Claim(
            statement,
            source,
            reference,
            value,
            tolerance,
            interval,
            relation=relation,
            note=note,
            **more,
        )
    ]


def _sizes(data: xr.Dataset, most: int = 10_000) -> list[int]:
    return [int(n) for n in data.n.values if n <= most]


def _nothing_shared(data: xr.Dataset) -> list[Claim]:
    none = named(NONE, ROOT)
    found = []
    for n in _sizes(data):
        for way, word in ((ONE, "finetuning"), (MULTI, "multi-task learning")):
            found += _compared(
                f"Where no unit is shared single-task learning is better than {word}: error of "
                f"{word} over it, {n} samples.",
                SHARED,
                data,
                (none, way),
                (none, SINGLE),
                n,
                "at least",
            )
    return found


def _all_shared(data: xr.Dataset) -> list[Claim]:
    every = named(ALL, ROOT)
    found = []
    for n in _sizes(data):
        for way, word in ((ONE, "finetuning"), (MULTI, "multi-task learning")):
            found += _compared(
                f"Where all units are shared {word} is far better than single-task learning: "
                f"ratio of the errors with {n} samples, at most a half.",
                SHARED,
                data,
                (every, way),
                (every, SINGLE),
                n,
                "at most",
                0.5,
            )
    for n in _sizes(data, 128):
        found += _compared(
            "Where all units are shared linear probing is far ahead of finetuning: ratio of the "
            f"errors with {n} samples, at most a tenth.",
            SHARED,
            data,
            (every, PROBING),
            (every, ONE),
            n,
            "at most",
            0.1,
            # What is left after pretraining is all the error that probing has.
            applies=n < 128 or data.pretraining_loss < 1e-7,
        )
    return found


def _half_shared(data: xr.Dataset) -> list[Claim]:
    half = named(HALF, ROOT)
    found = []
    for n in _sizes(data):
        if n < 64:
            continue
        for way, word in ((ONE, "finetuning"), (MULTI, "multi-task learning")):
            found += _compared(
                "Where half of the units are shared linear probing lacks the others and falls "
                f"behind {word}: ratio of the errors with {n} samples, at least 1.",
                SHARED,
                data,
                (half, PROBING),
                (half, way),
                n,
                "at least",
            )
    return found


def _tangent(data: xr.Dataset) -> list[Claim]:
    logs = []
    for mix in MIXES:
        for n in _sizes(data):
            one, two = (
                errors(data, named(mix, ROOT), n, way, "best") for way in (TANGENT, PROBING)
            )
            # With all units shared both errors are what pretraining left.
            if mix != ALL and np.isfinite(one).all():
                logs.append(np.log(one.values / two.values))
    if not logs:
        return []
    value, low, high = np.exp(mean_interval(np.mean(logs, axis=0)))
    return [
        Claim(
            "Regression on tangent features where finetuning starts is within 3 % of linear "
            f"probing: ratio of the errors, geometric mean over {len(logs)} points.",
            SHARED,
            1,
            float(value),
            0.03,
            (float(low), float(high)),
            note="There the readout is near 0, so that slopes in the first layer are too.",
        )
    ]


def _units(data: xr.Dataset) -> list[Claim]:
    """Weigh whether a main task of six units takes more samples than one of one unit."""
    six, one = (named((1,) * count, UNIT) for count in (6, 1))
    asked: tuple[tuple[str, str, Real, Relation, Real, str], ...] = (
        (SINGLE, "single-task learning", 1.0, "at least", 0.0, ""),
        (ONE, "finetuning with c = 1", 1.0, "at least", 0.0, ""),
        (tuned(0.1), "finetuning with c = .1", 2.0, "at least", 0.0, ", at least 2"),
    )
    found = []
    for way, word, reference, relation, tolerance, more in asked:
        for n in _sizes(data, 128):
            # Below this all is learned of one unit's task, and thresholds are compared.
            learned = way == ONE and n > 64
            if not learned:
                found += _compared(
                    f"Six units take more samples than one in {word}: error of six over error of "
                    f"one, both over their variance, {n} samples{more}.",
                    NESTED,
                    data,
                    (six, way),
                    (one, way),
                    n,
                    relation,
                    reference,
                    tolerance,
                )
    for n in _sizes(data, 128):
        value, interval, count = paired(
            errors(data, six, n, tuned(10.0)), errors(data, one, n, tuned(10.0))
        )
        if count < 2 or interval is None:
            continue
        found.append(
            Claim(
                "With c = 10 the number of units no longer matters: log2 of the error of six over "
                f"that of one, within a factor of 4, {n} samples.",
                NESTED,
                0,
                float(np.log2(value)),
                2,
                (float(np.log2(interval[0])), float(np.log2(interval[1]))),
            )
        )
    return found


def _rescaling(data: xr.Dataset) -> list[Claim]:
    found = []
    for count in (1, 6):
        task = named((1,) * count, UNIT)
        words = "one reused unit" if count == 1 else f"{count} reused units"
        for n in _sizes(data, 64):
            value, interval, seeds = paired(
                errors(data, task, n, tuned(10.0)), errors(data, task, n, PROBING)
            )
            if seeds >= 2 and interval is not None:
                found.append(
                    Claim(
                        f"With {words} finetuning with c = 10 is like linear probing, within a "
                        f"factor of 4: log2 of the ratio of the errors, {n} samples.",
                        NESTED,
                        0,
                        float(np.log2(value)),
                        2,
                        (float(np.log2(interval[0])), float(np.log2(interval[1]))),
                    )
                )
            found += _compared(
                f"With {words} c = .1 does harm: ratio of the errors at c = .1 and c = 1, {n} "
                "samples, at least 1.",
                NESTED,
                data,
                (task, tuned(0.1)),
                (task, ONE),
                n,
                "at least",
            )
    one = named((1,), UNIT)
    for n in _sizes(data, 32):
        value, interval, seeds = paired(
            errors(data, one, n, tuned(0.1)), errors(data, one, n, SINGLE)
        )
        if seeds >= 2 and interval is not None:
            found.append(
                Claim(
                    "Little of what reuse gains is left at c = .1: log2 of the error over that of "
                    f"single-task learning, within a factor of 4, one unit, {n} samples.",
                    NESTED,
                    0,
                    float(np.log2(value)),
                    2,
                    (float(np.log2(interval[0])), float(np.log2(interval[1]))),
                )
            )
    return found


def _readings(data: xr.Dataset) -> list[Claim]:
    """Compare the error at the end with the least along training."""
    found = []
    for way in (SINGLE, MULTI, ONE):
        logs = []
        for task in data.task.values:
            for n in _sizes(data):
                end, least = (errors(data, task, n, way, what) for what in ("final", "best"))
                if np.isfinite(end).all():
                    logs.append(np.log(end.values / least.values))
        if not logs:
            continue
        # Networks of one seed are alike; seeds are what is independent.
        value, low, high = np.exp(mean_interval(np.mean(logs, axis=0)))
        found.append(
            Claim(
                f"The error at the end is hardly above the least one in training, {way}: "
                f"ratio, geometric mean over {len(logs)} points, at most 1.25.",
                HERE,
                1.25,
                float(value),
                0,
                (float(low), float(high)),
                relation="at most",
                note=f"Up to {float(np.exp(np.max(logs))):.3g} in single networks.",
            )
        )
    every = named(ALL, ROOT)
    for n in _sizes(data, 32):
        end, least = (errors(data, every, n, LONG, what) for what in ("final", "best"))
        value, interval, count = paired(end, least)
        if count >= 2:
            told = published(every, ONE)[n]
            means = [float(errors(data, every, n, ONE).mean()), float(end.mean())]
            found.append(
                Claim(
                    "In steps of 1, as the published ones, finetuning overshoots and ends above "
                    f"its least error: ratio with all units shared, {n} samples, at least 1.5.",
                    HERE,
                    1.5,
                    value,
                    0,
                    interval,
                    relation="at least",
                    note=f"Means over the variance: {means[0]:.3g} at the end in steps of .3, "
                    f"{means[1]:.3g} at the end and {float(least.mean()):.3g} at the least in "
                    f"steps of 1, {told:.3g} published.",
                )
            )
    return found


def _published_errors(data: xr.Dataset) -> list[Claim]:
    """Lay errors beside the published ones where networks are as wide."""
    found = []
    tasks = [named(mix, ROOT) for mix in MIXES] + [named((1,) * a, UNIT) for a in (1, 6)]
    for task in tasks:
        for way in (SINGLE, MULTI, ONE, tuned(0.1), SCRATCH):
            off = _furthest(data, task, way)
            if off is None or data.hidden != 1000:
                continue
            ratio, n, least = off
            found.append(
                Claim(
                    f"Errors of {way} are those published where these are above 1 % of the "
                    f"variance, {_said(task)}: log10 of the ratio of the means, where it is "
                    "furthest from 0.",
                    SHARED if task.endswith(ROOT) else NESTED,
                    0,
                    ratio,
                    FACTOR,
                    note=f"With {n} samples; by the least errors {least:.3g}. Tolerance: {BAND}."
                    + ("" if data.full else " Here steps are of another size, and fewer."),
                )
            )
    return found


def _furthest(data: xr.Dataset, task: str, way: str) -> tuple[float, int, float] | None:
    ratios = []
    for n, told in published(task, way).items():
        ours = known(errors(data, task, n, way))
        if told > 0.01 and ours.size:
            best = known(errors(data, task, n, way, "best"))
            ratios.append(
                (float(np.log10(ours.mean() / told)), n, float(np.log10(best.mean() / told)))
            )
    return max(ratios, key=lambda each: abs(each[0]), default=None)


def _said(task: str) -> str:
    mix, entries = task.rsplit(", ", 1)
    correlations = tuple(float(a) for a in mix.split())
    if entries == ROOT:
        return f"{MIXES[correlations]} shared"
    return f"{len(correlations)} reused unit" + ("s" if len(correlations) > 1 else "")


def _published_readouts() -> Claim:
    """Compare two published tables of one task, learned alone: only the targets' size differs."""
    sizes = range(4)
    alone = [row for (_, way), row in BY_CORRELATIONS.items() if way == SINGLE]
    small = [BY_UNITS[a, SINGLE, 6] for a in (0, 1)]
    logs = np.log([_mean(alone, i) / _mean(small, i) for i in sizes])
    value, low, high = np.exp(mean_interval(logs))
    return Claim(
        "Published tasks by number of units have readouts of one over it, not over its root: "
        "single-task errors of six units by correlation over those by number, 16 to 128 samples, "
        "are 6.",
        "Lippl & Lindsey (NeurIPS 2024), published errors of figures 2 and 3",
        6,
        float(value),
        1.2,
        (float(low), float(high)),
        note="A fifth is allowed: other seeds, and steps of 1 rather than .1. So the number of "
        "units and the size of the targets change together there, and here.",
    )


def _mean(rows: Sequence[Sequence[float]], at: int) -> float:
    return float(np.exp(np.mean([np.log(row[at]) for row in rows])))
