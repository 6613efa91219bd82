"""When the gates of ReLU networks stop mattering in training: at the step of separation."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.study import Arrays, Cells, Config, Estimate, geometric_mean, key, layout, mean
from partwhole.study.declaration import Number
from partwhole.study.plots import COLOURS, QUIET, look, panels
from partwhole_studies.gated.gate_freezing import READINGS, along_training, sample

BASE: Config = {"data": "digits", "n": 100, "units": 20, "scale": 1.0, "momentum": 0.9}
SETTINGS: dict[str, Config] = {
    "20 units, 100 digits": {},
    "50 units": {"units": 50},
    "200 digits": {"n": 200},
    "weights × 0.1": {"scale": 0.1},
    "weights × 3": {"scale": 3.0},
    "no momentum": {"momentum": 0.0},
    "product": {"data": "product"},
    "square": {"data": "square"},
}
LARGE: dict[str, Config] = {
    "10 units": {"units": 10},
    "100 units": {"units": 100},
    "200 units": {"units": 200},
    "400 digits": {"n": 400},
    "weights × 0.3": {"scale": 0.3},
    "momentum 0.5": {"momentum": 0.5},
}
DIGITS = [name for name, changes in (SETTINGS | LARGE).items() if "data" not in changes]
WIDTHS = ["20 units, 100 digits", "10 units", "50 units", "100 units", "200 units"]
OCTAVES = 4.0  # of steps before and after separation
FIXED = 0.8  # agreement of networks from which on their gates count as fixed


def _cells(settings: list[str], checkpoints: int, seeds: int) -> list[Config]:
    return [
        BASE
        | (SETTINGS | LARGE)[name]
        | {"setting": name, "checkpoints": checkpoints, "seed": seed}
        for seed in range(seeds)
        for name in settings
    ]


PRESETS = {
    "quick": _cells([*SETTINGS][:1], 3, 5),
    "laptop": _cells([*SETTINGS, "10 units", "100 units"], 7, 12),
    "paper": _cells([*SETTINGS, *LARGE], 199, 20),
}


def ratios(checkpoints: int) -> Float[np.ndarray, " r"]:
    """Return the steps at which gates are read, over that of separation: 0, and 1/16 to 16."""
    return np.append(0.0, 2.0 ** np.linspace(-OCTAVES, OCTAVES, checkpoints))


def cell(config: Config) -> Arrays:
    drawn, units = sample(config["data"], config["n"], config["seed"]), config["units"]
    start = GatedNetwork.draw(
        drawn.inputs.shape[1], [LearnedGates(units), 1], seed=config["seed"], initial="he",
        scale=config["scale"],
    )  # fmt: skip
    return along_training(start, drawn, ratios(config["checkpoints"]), config["momentum"])


def gather(cells: Cells) -> xr.Dataset:
    """Lay the readings out, and add the step from which on frozen networks agree."""
    data = layout(
        cells,
        dict.fromkeys(READINGS, "ratio") | {"separated": ""},
        over=["setting", "seed"],
        coords={"ratio": ratios(cells[0][0]["checkpoints"])},
        labels={"ratio": "step / step of separation"},
    )
    octaves = np.append(np.nan, np.log2(data.ratio.to_numpy()[1:]))

    def crossing(frozen: Float[np.ndarray, " r"]) -> float:
        below = np.flatnonzero(frozen < FIXED)
        # On a logarithmic axis, where step 0 has no place.
        if not len(below) or below[-1] == 0 or not np.isfinite(frozen).all():
            return np.nan
        pair = slice(below[-1], below[-1] + 2)
        return float(2.0 ** np.interp(FIXED, frozen[pair], octaves[pair]))

    fixed = xr.apply_ufunc(crossing, data.frozen, input_core_dims=[["ratio"]], vectorize=True)
    data["fixed"] = fixed * data.separated
    return data


def power_of_width(data: xr.Dataset) -> Estimate:
    """Estimate the power of the number of units with which the step of fixed gates changes."""
    every = SETTINGS | LARGE
    widths = {s: every[s].get("units", BASE["units"]) for s in WIDTHS if s in data.setting}
    steps = np.log(data.fixed.sel(setting=list(widths)).transpose("setting", "seed").values)
    steps = steps[:, np.isfinite(steps).all(axis=0)]
    if len(widths) < 2 or not steps.size:
        return mean(np.array([]))
    return mean(np.polyfit(np.log([*widths.values()]), steps, 1)[0])


def change(data: xr.Dataset, setting: str) -> Estimate:
    """Estimate the factor by which a setting changes the step of fixed gates."""
    base = data.fixed.sel(setting=WIDTHS[0], drop=True)
    return geometric_mean((data.fixed.sel(setting=setting, drop=True) / base).dropna("seed"))


def numbers(data: xr.Dataset) -> dict[str, Number]:
    of_digits = data.sel(setting=[name for name in DIGITS if name in data.setting])
    start, separated, end = (of_digits.sel(ratio=r) for r in (0.0, 1.0, 2.0**OCTAVES))

    def by_seed(values: xr.DataArray) -> Estimate:
        return mean(values.mean("setting"))

    after = by_seed(end.limit - separated.limit)
    frozen = data.frozen.sel(ratio=1.0).mean("seed")
    later = data.where(data.ratio >= 1, drop=True)
    return {
        "after": after,
        "before": by_seed(separated.limit - start.limit),
        "frozen": by_seed(separated.frozen),
        "when": "From" if abs(after.value) <= 0.05 else "Not from",
        "initial": float(start.limit.mean()),
        "known": float(separated.limit.mean()),
        "final": float(end.limit.mean()),
        "late": float(separated.differ.mean() / start.differ.mean()),
        "least": float(frozen.min()),
        "weakest": str(frozen.idxmin().item()),
        "missing": 1.0 - later.exists.where(later.separated.notnull(), 1.0).fillna(0.0).to_numpy(),
        "wrong": later.error.fillna(0.0).to_numpy(),
        "unseparated": int(data.separated.isnull().sum()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 2, 6.4)
    (limits, frozen), (changes, law) = axes
    x = data.ratio.to_numpy().copy()
    x[0] = x[1] / 4.0  # step 0
    for i, name in enumerate(data.setting.to_numpy().tolist()):
        of, marks = data.sel(setting=name), look(i, line=False, markersize=4)
        # Filled where colours are used again.
        marks |= {"markerfacecolor": marks["color"]} if i >= len(COLOURS) else {}
        law.plot(of.separated, of.fixed, **marks)
        marks |= {"linestyle": "-", "linewidth": 0.8}
        limits.plot(x, of.limit.mean("seed"), **marks, label=name)
        frozen.plot(x, of.frozen.mean("seed"), **marks)
        changes.plot(x, (of.differ / of.differ.sel(ratio=0.0)).mean("seed"), **marks)
    of_digits = data.sel(setting=[name for name in DIGITS if name in data.setting])
    average = of_digits.mean(["setting", "seed"])
    limits.plot(x, average.limit, color="black", linewidth=2.5, label="digits, mean of all")
    limits.plot(
        x,
        average.final_limit,
        color=QUIET,
        linestyle=":",
        label="digits, with the limit of final gates",
    )
    ends = np.array([data.separated.min(), data.separated.max()])
    law.plot(ends, ends, color=QUIET, linewidth=1)
    for ax, title in (
        (limits, "limit and final network"), (frozen, "frozen and final network"),
        (changes, "gates that still differ"),
    ):  # fmt: skip
        ax.axvline(1.0, color=QUIET, linewidth=1, zorder=0)
        ax.set(xscale="log", ylim=(0, 1.03), title=title, xlabel=data.ratio.attrs["long_name"])
        ax.set_xticks([x[0], 0.25, 1.0, 4.0, 16.0], ["0", "1/4", "1", "4", "16"])
        ax.minorticks_off()
    limits.set_ylabel("agreement beyond chance")
    frozen.axhline(FIXED, color=QUIET, linewidth=1, zorder=0)
    changes.set_ylabel("share of those at step 0")
    law.set(xscale="log", yscale="log", title="gates fixed", xlabel="step of separation")
    law.set_ylabel(f"step of frozen agreement {FIXED:g}")
    return key(drawn, 3)
