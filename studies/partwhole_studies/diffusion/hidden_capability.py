"""What can be drawn out of a diffusion model before it does so when it is simply asked."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import PUBLISHED, Capability, capability
from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.study.estimates import estimate_of_several
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._runs import IMAGES, PAPER, POINTS, STEADY, UNSEEN
from partwhole_studies.diffusion._runs import train as train

QUESTION = (
    "A diffusion model does not yet draw a combination that it was never shown. Can it, if it is "
    "asked otherwise: with an overstated prompt, a push inside the network, or guidance?"
)
SOURCE = "Park et al. (NeurIPS 2024), emergence of hidden capabilities"
ANSWER = (
    "Yes. Asked in the best of these ways, chosen on one half of the samples and scored on the "
    "other, it draws the combination before plain prompts bring it out, and where they do not."
)
CAPTION = (
    "Left: product of how right both concepts are when the combination is simply asked for, and by "
    "the best of all ways of asking (chosen on one half of the samples, scored on the other); mean "
    "of the models that learned what they were shown, with 95 % intervals of the gap. Right: plain "
    "prompts, and of each other kind the amount that did best, scored on the same samples."
)

THRESHOLD, CONSECUTIVE = 0.8, 2
ASKED: Config = {
    "over": [0.1, 0.25, 0.4], "directions": [1.0, 2.0, 3.0], "guidance": [2.0, 4.0],
}  # fmt: skip
COLOUR = 0.247
# Weaker colours are not learned in so few steps by each of these models.
LAPTOP: Config = IMAGES | STEADY | {"colour": 0.358, "steps": 1900, "samples": 32}
FREE = {"drop_condition": 0.1}


def _cells(kind: Config, seeds: int) -> list[Config]:
    recipe = kind["recipe"] | FREE
    told = {"colour": COLOUR} | kind | ASKED | {"recipe": recipe}
    return [told | {"seed": seed} for seed in range(seeds)]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, 3),
    "laptop": _cells(LAPTOP, 3),
    "paper": _cells(PAPER, 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over seeds, steps and prompts."""
    return reading.gather(cells, "colour")


def ways(data: xr.Dataset) -> list[str]:
    """Return the names of the ways in which the last class is asked for, the plain one first."""
    names = [str(name) for name in data.prompt.values]
    return names[names.index(UNSEEN) :]


def elicited(data: xr.Dataset) -> Capability | None:
    """Return what the best way and the plain one bring out; None if no model learned."""
    kept, _ = reading.trained(data)
    asked = kept.coordinates.sel(prompt=ways(data)).isel(colour=0).dropna("seed")
    if asked.sizes["seed"] == 0:
        return None
    readings = asked.transpose("seed", "step", "prompt", "sample", "concept").values
    return capability(
        data.step.values.astype(float), readings.astype(float), prompts=tuple(ways(data)),
        threshold=THRESHOLD, consecutive=CONSECUTIVE, resamples=300, seed=0,
    )  # fmt: skip


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh what is hidden, when it emerges, and how alike models are in it."""
    _, trained = reading.trained(data)
    found = elicited(data)
    if found is None:
        return [trained]
    gaps = _gaps(found)
    best, plain = (
        xr.DataArray(each.by_run, dims="seed") for each in (found.emergence, found.naive_emergence)
    )
    last = float(data.step.values[-1])
    alike, apart = (
        float(np.log(each.where(each < last, last).values).std(ddof=1)) if each.size > 1 else np.nan
        for each in (best, plain)
    )
    late = (found.best_by_run - found.naive_by_run)[:, reading.late(data)].mean()
    turns = _turns(data, found)
    return [
        trained,
        reading.at_least(
            "Models can do more than simply asking brings out: accuracy of both concepts by the "
            "best way of asking, less by the plain one, at the step where that is most in the "
            "other models.",
            SOURCE,
            0.1,
            gaps,
            f"Late in training {late:.2f}. The published maximum over ways, chosen and scored on "
            f"the same samples, is {float((found.published - found.best).mean()):.3f} higher.",
        ),
        reading.at_least(
            "The capability emerges before plain prompts show it: log of how many times later "
            f"these are right in {THRESHOLD:g} for {CONSECUTIVE} checkpoints.",
            SOURCE,
            float(np.log(1.1)),
            reading.later(plain, best, data),
            f"Best way: {_steps(best.values)}; plain: {_steps(plain.values)}.",
        ),
        Claim(
            "Models agree more on when they are able than on when they show it: deviation over "
            "models of the log of the step, best way less plain one.",
            SOURCE,
            -0.05,
            alike - apart,
            0.0,
            relation="at most",
            note=f"{alike:.2f} and {apart:.2f}; what does not emerge counts as emerging at the "
            "last step.",
        ),
        turns,
        *reading.readers(data),
    ]


def _gaps(found: Capability) -> xr.DataArray:
    """Return each model's gap at the step where those of the other models are largest."""
    each = found.best_by_run - found.naive_by_run
    if len(each) < 2:
        return xr.DataArray(np.full(len(each), np.nan), dims="seed")
    others = (each.sum(axis=0) - each) / (len(each) - 1)
    return xr.DataArray(each[np.arange(len(each)), others.argmax(axis=1)], dims="seed")


def _steps(found: np.ndarray) -> str:
    return ", ".join("never" if np.isinf(each) else f"{each:g}" for each in found)


def _turns(data: xr.Dataset, found: Capability) -> Claim:
    """Weigh whether the path turns when the capability emerges."""
    kept, _ = reading.trained(data)
    ratios, lines = [], []
    runs = [kept.isel(colour=0, seed=[s]) for s in range(data.sizes["seed"])]
    paths = [path for each in runs if (path := reading.path_of(each, smoothing=PUBLISHED))]
    for path, able in zip(paths, found.emergence.by_run, strict=True):
        turn = path.turning_point(window=2)
        if turn.index >= 0 and np.isfinite(able):
            ratios.append(np.log(able) - np.log(turn.step))
            lines.append(f"{turn.step:g} and {able:g}")
    centre, ends = estimate_of_several(np.array(ratios))
    return Claim(
        "The capability emerges where the path through concept space turns: log of its step over "
        "that of the sharpest turn.",
        "Park et al. (NeurIPS 2024), turning point of the path",
        0.0,
        centre,
        0.5,
        ends,
        note=f"Steps of turn and capability: {'; '.join(lines)}. Paths are smoothed as published."
        if lines
        else "No turn is told.",
    )


def figure(data: xr.Dataset) -> Figure:
    """Draw what the best way and the plain one bring out, and single ways."""
    drawn, axes = plots.mosaic("AB", 3.0, sharey=True)
    found = elicited(data)
    if found is not None:
        _draw_best(axes["A"], found)
        _draw_ways(axes["B"], found)
    for ax in axes.values():
        ax.set(xlabel="steps", ylim=(-0.03, 1.03))
        reading.legend(ax)
    axes["A"].set_ylabel("blue and small")
    return drawn


def _draw_best(ax: Axes, found: Capability) -> None:
    ax.plot(found.steps, found.best, label="best way", **plots.look(1))
    ax.plot(found.steps, found.naive, label="plain", **plots.look(0))
    low, high = (np.clip(found.naive + gap, 0.0, 1.0) for gap in (found.low, found.high))
    ax.fill_between(found.steps, low, high, color=plots.COLOURS[1], alpha=0.2, linewidth=0)


def _draw_ways(ax: Axes, found: Capability) -> None:
    by_way = found.by_prompt.mean(axis=0)
    kinds = dict.fromkeys(name.split()[0] for name in found.prompts[1:])
    ax.plot(found.steps, by_way[:, 0], label="plain", **plots.look(0))
    for k, kind in enumerate(kinds, 1):
        of_kind = [i for i, name in enumerate(found.prompts) if name.split()[0] == kind and i]
        strongest = max(of_kind, key=lambda i: by_way[:, i].mean())
        ax.plot(found.steps, by_way[:, strongest], label=found.prompts[strongest], **plots.look(k))
