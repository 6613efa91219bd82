"""Calibration: saliences and readouts of recordings, against simulations with known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.study import Arrays, Cells, Config, layout, mean
from partwhole_studies.recordings.drawing import drawn_calibration, errors_of, farthest
from partwhole_studies.recordings.estimates import (
    KINDS,
    NEAR,
    SETTINGS,
    corner,
    errors_of_runs,
    left_out,
    salience_errors,
)

RUNS = (6, 8)


def _recordings(neurons: int, repeats: int, noise: float, least: int, most: int) -> int:
    """Return how many recordings a bias is estimated from: more where estimates vary more."""
    if repeats == 20:
        return max(1, least // 2)
    varied = 3 if noise <= 1 else 8 if repeats == 2 else 5
    return max(least, varied * most // neurons)


def _preset(
    neurons: tuple, noises: tuple, seeds: tuple[int, int, int], least: int, most: int,
    bootstrap: int,
) -> list[Config]:  # fmt: skip
    over_trials, left, cornered = (range(count) for count in seeds)
    return [
        *(
            {"neurons": p, "repeats": m, "noise": s, "seed": seed,
             "recordings": _recordings(p, m, s, least, most), "bootstrap": bootstrap}
            for p in neurons for m in (2, 5, 20) for s in noises for seed in over_trials
        ),
        *(
            {"neurons": p, "runs": m, "noise": s, "seed": seed,
             "recordings": _recordings(p, m, s, least, most), "bootstrap": bootstrap}
            for p in neurons for m in RUNS for s in noises for seed in over_trials
        ),
        *(
            {"neurons": p, "trials": n, "noise": s, "correlated": related, "seed": seed}
            for p in neurons for n in (60, 240) for s in noises for related in (False, True)
            for seed in left
        ),
        *({"setting": name, "seed": seed} for name in SETTINGS for seed in cornered),
    ]  # fmt: skip


PRESETS: dict[str, list[Config]] = {
    "quick": _preset((20, 200), (1.0,), (1, 1, 2), 1, 20, 50),
    "laptop": _preset((20, 60, 200, 1000), (1.0, 2.0), (5, 5, 30), 1, 60, 100),
    "paper": _preset((20, 60, 200, 1000), (1.0, 2.0), (16, 12, 600), 40, 800, 300),
}


def cell(config: Config) -> Arrays:
    """Return errors of saliences and coverage of their intervals, or answers of readouts."""
    if "setting" in config:
        neurons, trials, related = SETTINGS[config["setting"]]
        rng = np.random.default_rng([config["seed"], neurons, trials, related])
        return corner(rng, neurons, trials, correlated=related)
    neurons, noise = config["neurons"], config["noise"]
    number = next(config[name] for name in ("repeats", "runs", "trials") if name in config)
    related = config.get("correlated", False)
    rng = np.random.default_rng([config["seed"], neurons, number, int(noise), related])
    if "trials" in config:
        return left_out(rng, neurons, number, noise, correlated=related)
    if "runs" in config:
        drawn = [
            errors_of_runs(rng, neurons, number, noise, config["bootstrap"])
            for _ in range(config["recordings"])
        ]
        names = ("runs_bias", "runs_coverage", "runs_off")
        return dict(zip(names, np.nanmean(drawn, axis=0), strict=True))
    rows = [
        salience_errors(rng, neurons, number, noise, config["bootstrap"])
        for _ in range(config["recordings"])
    ]
    errors, covered, off, noticed = (np.array(part) for part in zip(*rows, strict=True))
    known = np.isfinite(covered)
    total = np.where(known, covered, 0.0).sum(axis=0)
    share = np.divide(total, known.sum(axis=0), out=np.full(6, np.nan), where=known.any(axis=0))
    # Of those recordings that have saliences.
    given = np.isfinite(errors)
    bias = np.where(given, errors, 0.0).sum(axis=0) / np.maximum(given.sum(axis=0), 1)
    return {
        "bias": np.where(given.any(axis=0), bias, np.nan), "coverage": share,
        "warned": 1.0 - known.mean(axis=0), "off": off.mean(axis=0), "noticed": noticed.mean(),
    }  # fmt: skip


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "bias": "kind", "coverage": "interval", "warned": "interval", "off": "interval",
            "noticed": "",
            "left_out": "",
            "left_out_at_mean": "", "accuracy": "", "measured_accuracy": "", "trained": "",
            "answers_coverage": "", "shares_coverage": "", "sure": "", "sure_right": "",
            "runs_bias": "", "runs_coverage": "", "runs_off": "",
            "answer": "way corner", "expected": "",
        },
        over=["neurons", "repeats", "runs", "trials", "noise", "correlated", "setting", "seed"],
        coords={
            "kind": list(KINDS), "interval": list(KINDS[:-1]), "way": ["predicted", "trained"],
        },
        labels={"neurons": "neurons", "left_out": "root mean square error"},
    )  # fmt: skip


def numbers(data: xr.Dataset) -> dict[str, Any]:
    over = ["neurons", "repeats", "noise"]
    errors = errors_of(data)
    others = errors.drop_sel(setting=NEAR)
    largest = others.mean("seed").idxmax("setting").item()
    # Where most results say that saliences are off on average, or have no interval, they are off.
    bias = data.bias.sel(kind=list(KINDS[:-1])).rename(kind="interval")
    is_unwarned = (data.off + data.warned).mean("seed") <= 0.5
    unwarned = bias.where(is_unwarned)
    # Both noises together.
    covered = data.coverage.where(is_unwarned).mean("noise")
    runs = data[["runs_bias", "runs_coverage"]].where(data.runs_off.mean("seed") <= 0.5)
    biases = [
        farthest(unwarned, 0.0, [*over, "interval"]),
        farthest(runs.runs_bias, 0.0, ["neurons", "runs", "noise"]),
    ]
    coverages = [
        farthest(covered, 0.95, ["neurons", "repeats", "interval"], (0.0, 1.0)),
        farthest(runs.runs_coverage.mean("noise"), 0.95, ["neurons", "runs"], (0.0, 1.0)),
    ]
    of_runs = data.runs_coverage.mean(["noise", "neurons", "seed"])
    by_repeats = data.coverage.mean(["noise", "neurons", "seed"])
    by_kind = by_repeats.mean("repeats")
    sure = data.sure.where(data.sure_right.notnull())
    return {
        "bias": max(biases, key=lambda bias: bias.value),
        "off": float(np.nanmax(np.abs(bias.mean("seed")))),
        "undeclared": farthest(
            data.bias.sel(kind="undeclared", repeats=data.repeats > 2), 0.0, over
        ),
        "noticed": float(data.noticed.mean()),
        "coverage": max(coverages, key=lambda share: abs(share.value - 0.95)),
        **{f"trials_{m}": float(by_repeats.sel(interval="trials", repeats=m)) for m in (2, 5, 20)},
        **{f"runs_{m}": float(of_runs.sel(runs=m)) for m in RUNS},
        "runs_20": float(by_repeats.sel(interval="runs", repeats=20)),
        "over_neurons": float(by_kind.sel(interval="neurons")),
        "sure_right": float((data.sure_right * sure).sum() / sure.sum()),
        **{f"of_{name}": float(data[f"{name}_coverage"].mean()) for name in ("answers", "shares")},
        "error": mean(others.sel(setting=largest)),
        "near": mean(errors.sel(setting=NEAR)),
        "expected": float(data.expected.sel(setting=NEAR).mean()),
        "trained": data.trained.to_numpy()[np.isfinite(data.trained.to_numpy())],
    }


def figure(data: xr.Dataset) -> Figure:
    return drawn_calibration(data)
