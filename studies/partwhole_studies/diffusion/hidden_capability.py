"""Combinations that a diffusion model can draw before plain prompts elicit them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import PUBLISHED, capability
from partwhole.measures.concepts.capability import Capability
from partwhole.study import Cells, Config, key, mean, series
from partwhole.study.plots import COLOURS, look, mosaic
from partwhole.tasks.shapes.published import CONCEPT_SIGNALS
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.concept_times import by_seed, rank_correlation
from partwhole_studies.diffusion.training_sets import UNSEEN

THRESHOLD, CONSECUTIVE = 0.8, 2
FEWEST = 100  # resamples, where only steps of models are read
# Published, but for the directions and without the plain prompt and guidance of 1, which it has.
WAYS: Config = {
    "over": [0.05, 0.15, 0.25, 0.35], "directions": [1.0, 2.0, 3.0],
    "guidance": [0.0, 0.5, 1.5, 2.0, 3.0, 5.0, 7.0],
}  # fmt: skip
NAMES = {"over": "over-prompt", "direction": "latent direction", "guidance": "guidance"}
SEPARATIONS, PUBLISHED_SEPARATIONS = CONCEPT_SIGNALS[:9:2], CONCEPT_SIGNALS[2:6]
COLOUR = 0.247  # in both


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    recipe = kind["recipe"] | {"drop_condition": 0.1}  # guidance needs it
    kind = kind | WAYS | {"recipe": recipe}
    return [kind | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, [COLOUR], 1),
    "laptop": _cells(POINTS, SEPARATIONS, 12),
    "paper": _cells(PAPER | {"samples": 64}, PUBLISHED_SEPARATIONS, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    data = readings.gather(cells, "colour")
    # Means of all samples are read, which a hundredth of one does not change.
    coordinates = data.coordinates.round(2)
    coordinates.encoding = {"dtype": "int8", "scale_factor": 0.01, "_FillValue": -1}
    return data.assign(coordinates=coordinates)


def prompts_of(data: xr.Dataset) -> list[str]:
    """Return the prompts for the unseen combination, the plain one first."""
    names = [str(name) for name in data.prompt.values]
    return names[names.index(UNSEEN) :]


def elicited(
    runs: xr.Dataset, prompts: Sequence[str] = (), resamples: int = 300
) -> Capability | None:
    """Return the capability by the best of some prompts, by default all, and by the plain one.

    The plain one is the first; None if no model learned its training classes.
    """
    names = tuple(prompts or prompts_of(runs))
    samples = runs.coordinates.sel(prompt=list(names)).dropna("seed")
    if samples.sizes["seed"] == 0:
        return None
    values = samples.transpose("seed", "step", "prompt", "sample", "concept").values
    return capability(
        runs.step.values.astype(float), values.astype(float), prompts=names,
        threshold=THRESHOLD, consecutive=CONSECUTIVE, resamples=resamples, seed=0,
    )  # fmt: skip


def emerged(runs: xr.Dataset, prompts: Sequence[str] = ()) -> xr.DataArray:
    """Return the steps at which the plain and the best prompt elicit it, (prompt, seed).

    NaN for models that did not learn their training classes.
    """
    is_whole = runs.coordinates.notnull().all(["step", "prompt", "sample", "concept"]).values
    steps, ability = np.full((2, len(is_whole)), np.nan), elicited(runs, prompts, FEWEST)
    if ability is not None:
        steps[:, is_whole] = ability.naive_emergence.by_run, ability.emergence.by_run
    return xr.DataArray(steps, {"prompt": ["plain", "best"], "seed": runs.seed.values})


def over_colours(data: xr.Dataset) -> xr.DataArray:
    """Return the steps of both prompts for each separation of colours, (prompt, colour, seed)."""
    runs = readings.learned(data)
    steps = [emerged(runs.sel(colour=c)) for c in data.colour.values]
    return readings.capped(xr.concat(steps, data.colour), data)


def turns(runs: xr.Dataset) -> xr.DataArray:
    """Return the step of the sharpest turn of each path, smoothed as published; NaN for none."""
    steps = []
    for seed in runs.seed.values:
        path = readings.path_of(runs.sel(seed=[seed]), UNSEEN, PUBLISHED)
        turn = path.turning_point(window=2) if path is not None else None
        steps.append(turn.step if turn is not None and turn.index >= 0 else np.nan)
    return xr.DataArray(np.array(steps, float), dims="seed")


def jackknifed(logs: np.ndarray) -> np.ndarray:
    """Return pseudo-values of the first row's standard deviation less that of the second."""

    def difference(logs: np.ndarray) -> float:
        first, second = logs.std(axis=1, ddof=1)
        return float(first - second)

    n = logs.shape[1]
    if n < 3:
        return np.full(n, np.nan)
    without = np.array([difference(np.delete(logs, k, axis=1)) for k in range(n)])
    return n * difference(logs) - (n - 1) * without


def by_guidance(data: xr.Dataset) -> xr.DataArray:
    """Return the step at which each weight of guidance elicits it, (weight, seed)."""
    runs = readings.learned(data).sel(colour=COLOUR)
    weights = sorted([1.0, *WAYS["guidance"]])
    names = {w: UNSEEN if w == 1.0 else f"guidance {w:g}" for w in weights}
    steps = [emerged(runs, [name]).sel(prompt="plain", drop=True) for name in names.values()]
    weight = xr.DataArray([*names], dims="weight", name="weight")
    return readings.capped(xr.concat(steps, weight), data)


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data).sel(colour=COLOUR)
    plain, best = emerged(runs)
    delay = readings.later(plain, best, data)
    logs = np.log([readings.capped(steps, data).dropna("seed") for steps in (best, plain)])
    reached = best.where(np.isfinite(best))
    by_colour = by_seed(over_colours(data).sel(prompt="best"), rank_correlation, 3)
    return {
        "delay": delay,
        "spread": mean(jackknifed(logs)),
        "turn": readings.ratio((reached / turns(runs)).pipe(np.log)),
        "signal": mean(by_colour, within=(-1.0, 1.0)),
        "order": "sooner than"
        if delay.low > 1
        else "later than"
        if delay.high < 1
        else "neither clearly sooner nor later than",
        "at_least": "at least " if np.isinf(plain).any() else "",
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 5.6)
    ability = elicited(readings.learned(data).sel(colour=COLOUR))
    if ability is not None:
        _draw_best(axes["A"], ability)
        _draw_ways(axes["B"], ability)
    axes["A"].set(title="Best prompt", ylabel="accuracy, blue and small")
    axes["B"].set(title="Best prompt of each kind")
    for ax in (axes["A"], axes["B"]):
        ax.set(xlabel=data.step.long_name, ylim=(-0.03, 1.03))
    axes["C"].set(xlabel="separation of the colours", ylabel="steps to an accuracy of .8")
    steps = over_colours(data)
    for prompt, shift in (("plain", 0), ("best", 4)):
        series(axes["C"], "colour", measured=steps.sel(prompt=prompt), shift=shift)
    axes["D"].set(xlabel="weight of guidance", ylabel="steps to an accuracy of .8")
    series(axes["D"], "weight", measured=by_guidance(data), shift=3)
    return key(drawn, columns=3)


def _draw_best(ax: Axes, ability: Capability) -> None:
    ax.plot(ability.steps, ability.naive, label="plain", **look(0))
    ax.plot(ability.steps, ability.best, label="best", **look(4))
    low, high = (np.clip(ability.naive + gap, 0.0, 1.0) for gap in (ability.low, ability.high))
    ax.fill_between(ability.steps, low, high, color=COLOURS[4], alpha=0.2, linewidth=0)


def _draw_ways(ax: Axes, ability: Capability) -> None:
    """Draw plain prompts, and for each other kind of prompt its best amount on average."""
    accuracy = ability.by_prompt.mean(axis=0)
    ax.plot(ability.steps, accuracy[:, 0], **look(0))
    for k, (kind, label) in enumerate(NAMES.items(), 1):
        amounts = [i for i, name in enumerate(ability.prompts) if name.split()[0] == kind]
        strongest = max(amounts, key=lambda i: accuracy[:, i].mean())
        ax.plot(ability.steps, accuracy[:, strongest], label=label, **look(k))
