"""Combinations that a diffusion model can draw before plain prompts elicit them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import PUBLISHED, capability
from partwhole.measures.concepts.capability import Capability
from partwhole.study import Cells, Config, key, mean
from partwhole.study.plots import COLOURS, look, mosaic
from partwhole_studies.costs import of_model, seconds_of
from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.concept_models import PAPER, POINTS
from partwhole_studies.diffusion.concept_models import train as train
from partwhole_studies.diffusion.training_sets import UNSEEN

THRESHOLD, CONSECUTIVE = 0.8, 2
WAYS: Config = {
    "over": [0.1, 0.25, 0.4], "directions": [1.0, 2.0, 3.0], "guidance": [2.0, 4.0],
}  # fmt: skip
NAMES = {"over": "over-prompt", "direction": "latent direction", "guidance": "guidance"}
COLOUR = 0.247


def _cells(kind: Config, seeds: int) -> list[Config]:
    recipe = kind["recipe"] | {"drop_condition": 0.1}  # guidance needs it
    kind = {"colour": COLOUR} | kind | WAYS | {"recipe": recipe}
    return [kind | {"seed": seed} for seed in range(seeds)]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, 1),
    "laptop": _cells(POINTS, 20),
    "paper": _cells(PAPER, 5),
}
seconds = seconds_of(of_model)
ON_GPU = True
cell = train


def gather(cells: Cells) -> xr.Dataset:
    return readings.gather(cells, "colour").isel(colour=0)


def prompts_of(data: xr.Dataset) -> list[str]:
    """Return the prompts for the unseen combination, the plain one first."""
    names = [str(name) for name in data.prompt.values]
    return names[names.index(UNSEEN) :]


def elicited(runs: xr.Dataset) -> Capability | None:
    """Return the capability by the best prompt and by the plain one; None if no model learned."""
    samples = runs.coordinates.sel(prompt=prompts_of(runs)).dropna("seed")
    if samples.sizes["seed"] == 0:
        return None
    values = samples.transpose("seed", "step", "prompt", "sample", "concept").values
    return capability(
        runs.step.values.astype(float), values.astype(float), prompts=tuple(prompts_of(runs)),
        threshold=THRESHOLD, consecutive=CONSECUTIVE, resamples=300, seed=0,
    )  # fmt: skip


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


def numbers(data: xr.Dataset) -> dict[str, Any]:
    runs = readings.learned(data)
    ability = elicited(runs)
    complete = runs.coordinates.notnull().all(["step", "prompt", "sample", "concept"]).values
    best, plain = (xr.DataArray(np.full(len(complete), np.nan), dims="seed") for _ in range(2))
    if ability is not None:
        best[complete], plain[complete] = ability.emergence.by_run, ability.naive_emergence.by_run
    delay = readings.later(plain, best, data)
    logs = np.log([readings.capped(times, data).values[complete] for times in (best, plain)])
    reached = best.where(np.isfinite(best))
    return {
        "delay": delay,
        "spread": mean(jackknifed(logs)),
        "turn": readings.ratio((reached / turns(runs)).pipe(np.log)),
        "order": "sooner than"
        if delay.low > 1
        else "later than"
        if delay.high < 1
        else "neither clearly sooner nor later than",
        "at_least": "at least " if np.isinf(plain).any() else "",
        **readings.counts(runs),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB", 3.4, sharey=True)
    ability = elicited(readings.learned(data))
    if ability is not None:
        _draw_best(axes["A"], ability)
        _draw_ways(axes["B"], ability)
    axes["A"].set(title="Best prompt", ylabel="accuracy, blue and small")
    axes["B"].set(title="Best prompt of each kind")
    for ax in axes.values():
        ax.set(xlabel=data.step.long_name, ylim=(-0.03, 1.03))
    return key(drawn, columns=5)


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
