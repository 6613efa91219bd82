"""Three and four concepts: how often the error on the unseen combination falls."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import Tied, descend, flow
from partwhole.flows.cholesky_path import cholesky_path
from partwhole.flows.tied import identity_losses
from partwhole.measures import extrema, swing
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, proportion, published
from partwhole.study.plots import QUIET, look, name, panels
from partwhole_studies.dynamics.published_settings import (
    QUADRUPLE_CAPTION,
    QUADRUPLE_CODE,
    STEP,
    TRIPLE_CAPTION,
    TRIPLE_CODE,
    log_times,
)

SETTINGS = {
    "triple, as captioned": TRIPLE_CAPTION,
    "triple, as run": TRIPLE_CODE,
    "quadruple, as captioned": QUADRUPLE_CAPTION,
    "quadruple, as run": QUADRUPLE_CODE,
}
POWERS = (2, 1)
LAST = 200.0
UPDATES = 10_000
SHRUNKEN = 1e-8  # of the published initial map, for the plateaus
SPREAD = 0.1  # initial factors are uniform between 0 and this, as published
DRAWN = ("triple, as captioned", "quadruple, as run")


def _cells(seeds: int) -> list[Config]:
    runs: list[Config] = [{"setting": s, "power": p} for s in SETTINGS for p in POWERS]
    return [*runs, {"shrunken": SHRUNKEN}, *({"seed": seed} for seed in range(seeds))]


# The figures' own scale takes seconds; the presets differ in how many other starts they try.
PRESETS = {"quick": _cells(30), "laptop": _cells(300), "paper": _cells(3000)}


def cell(config: Config) -> Arrays:
    """Train one setting at one power, from the published start, a tiny one or other starts."""
    times = log_times(LAST)
    if "seed" in config:
        return {"descents": np.array([_counts(s, config["seed"], times) for s in DRAWN], float)}
    if "shrunken" in config:
        setting = TRIPLE_CAPTION
        w0 = config["shrunken"] * setting.w0
        path = flow(Tied(w0, setting.second_moment, 2), times)
        return {"shrunken_error": path.probe_losses(setting.probe)}
    setting, power = SETTINGS[config["setting"]], config["power"]
    path = flow(Tied(setting.w0, setting.second_moment, power), times)
    formula = cholesky_path(setting.w0, setting.second_moment, times, power=power)
    recurrence = descend(Tied(setting.w0, setting.second_moment, power), UPDATES, STEP, on="matrix")
    return {
        "error": path.probe_losses(setting.probe),
        "training_error": identity_losses(path.states, setting.second_moment),
        "formula": formula.probe_losses(setting.probe),
        "valid": np.array(formula.valid),
        # Records are counted from 0 after each update, as in the reference implementation.
        "recurrence": recurrence.probe_losses(setting.probe)[1:],
        "recurrence_training_error": identity_losses(recurrence.states, setting.second_moment)[1:],
    }


def _counts(setting: str, seed: int, times: np.ndarray) -> list[int]:
    """Count the descents from a drawn start at both powers."""
    task = SETTINGS[setting]
    size = len(task.w0)
    u = np.random.default_rng(seed).uniform(0.0, SPREAD, (size, size))
    paths = [
        flow(Tied(u @ u.T, task.second_moment, power), times, rtol=1e-7, atol=1e-10)
        for power in POWERS
    ]
    # Rounding of the looser tolerances is not a descent.
    return [
        extrema(times, path.probe_losses(task.probe), threshold=1e-5).descents for path in paths
    ]


def gather(cells: Cells) -> xr.Dataset:
    return layout(
        cells,
        {
            "error": "time", "training_error": "time", "formula": "time", "valid": "",
            "recurrence": "update", "recurrence_training_error": "update",
            "shrunken_error": "time", "descents": "drawn power",
        },
        over=["setting", "power", "seed"],
        coords={"time": log_times(LAST), "update": np.arange(UPDATES), "drawn": list(DRAWN)},
        labels={"time": "time (paper)", "error": "error at the unseen combination"},
    )  # fmt: skip


def _rises(error: xr.DataArray) -> np.ndarray:
    """Return the largest rise of each error along its last axis."""
    return np.asarray(swing(error[error.dims[-1]].values, error.values).amplitude)


def turns(error: xr.DataArray) -> np.ndarray:
    """Return times and errors of the turns, shape (2, n); times of a recurrence are updates."""
    (axis,) = error.dims
    extremes = extrema(error[axis].values, error.values, refine=axis == "time")
    return np.stack([extremes.times, extremes.values])


def away(data: xr.Dataset, route: str, variable: str) -> tuple[np.ndarray, np.ndarray]:
    """Return differences of times and errors at the turns from the references; NaN if amiss."""
    reference = published(__file__, ["setting", "power", "turn"], route=route)
    rows = []
    for setting, power in {
        (s, p) for s in reference.setting.values for p in reference.power.values
    }:
        expected = reference.sel(setting=setting, power=power).dropna("turn")
        if expected.sizes["turn"]:
            measured = turns(data[variable].sel(setting=setting, power=power))
            expected = expected.to_array().values
            same = measured.shape == expected.shape
            rows.append(measured - expected if same else np.full_like(expected, np.nan))
    times, errors = np.concatenate(rows, axis=1)
    return times, errors


def plateaus(setting: str) -> np.ndarray:
    """Return the plateaus: half the squared means of concepts not learned after the first, ...

    Examples
    --------
    >>> plateaus("triple, as captioned")
    array([1.625, 0.5  ])
    """
    task = SETTINGS[setting]
    weakest = np.argsort(np.diagonal(task.second_moment))
    return 0.5 * np.cumsum(task.probe[weakest] ** 2)[-2::-1]


def numbers(data: xr.Dataset) -> dict[str, float | int | Estimate | np.ndarray]:
    counts = {
        (setting, power): extrema(
            data.time.values, data.error.sel(setting=setting, power=power).values
        ).descents
        for setting in SETTINGS
        for power in POWERS
    }
    drawn = data.descents.sel(drawn="quadruple, as run", power=2)
    path = away(data, "flow", "error")
    formula = away(data, "formula", "formula")
    recurrence = away(data, "recurrence", "recurrence")
    tiny = turns(data.shrunken_error)[1][1::2]
    levels = plateaus("triple, as captioned")
    training = ("training_error", "recurrence_training_error")
    return {
        "square": sum(int(counts[s, 2] == len(task.w0)) for s, task in SETTINGS.items()),
        "triple_square": counts["triple, as run", 2],
        "triple_defined": counts["triple, as run", 1],
        "quadruple_square": counts["quadruple, as run", 2],
        "quadruple_defined": counts["quadruple, as run", 1],
        "quadruple_drawn": proportion(int((drawn >= 4).sum()), data.sizes["seed"]),
        "times": path[0],
        "updates": recurrence[0],
        "errors": np.concatenate([path[1], recurrence[1]]),
        "formula_times": formula[0],
        "formula_errors": formula[1],
        "tiny": tiny - levels if tiny.shape == levels.shape else np.nan,
        "training_rises": np.stack([_rises(data[error]) for error in training]),
    }


def figure(data: xr.Dataset) -> Figure:
    """Draw the error over log time, with the square and without it."""
    drawn, axes = panels(2, 2, 5.4, sharex=True, sharey=True)
    for row, setting in zip(axes, ("triple, as run", "quadruple, as run"), strict=True):
        for ax, power in zip(row, POWERS, strict=True):
            _draw(ax, data.sel(setting=setting, power=power), setting)
    axes[0, 0].set_title("squared second moment")
    axes[0, 1].set_title("second moment as defined")
    for ax, label in zip(axes[:, 0], ("three concepts", "four concepts"), strict=True):
        ax.set_ylabel(f"{label}\nerror")
    for ax in axes[1]:
        ax.set_xlabel("time (paper)")
    return key(drawn)


def _draw(ax: Axes, run: xr.Dataset, setting: str) -> None:
    for level, text in zip(plateaus(setting)[::-1], ("one left", "two left"), strict=False):
        ax.axhline(level, color=QUIET, linewidth=0.8, zorder=0)
        name(ax, 115.0, level + 0.09, text, "#555555", fontsize=8, ha="right")
    ax.plot(run.time[1:], run.error[1:], **look(0), label="flow")
    label = "closed form" if bool(run.valid) else "closed form, outside its conditions"
    ax.plot(run.time[1:], run.formula[1:], **look(1 if bool(run.valid) else 3), label=label)
    ax.plot(*turns(run.error), **look(0, line=False, color="black", markersize=3.5), label="turns")
    ax.set(xscale="log", xlim=(0.2, 120), ylim=(-0.08, 3.0))
