"""A diffusion model on its way through concept space, to a combination it was never shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.study.estimates import share
from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion._reading import accuracy, at_least, late, means, path_of
from partwhole_studies.diffusion._runs import IMAGES, PAPER, POINTS, UNSEEN, classes
from partwhole_studies.diffusion._runs import train as train

QUESTION = (
    "A diffusion model has seen red circles, big and small, and big blue ones. When it is asked "
    "for a small blue one, where does it go as it learns, and can it do more than plain asking "
    "brings out?"
)
SOURCE = "Yang et al. (ICLR 2025), figure 6; Park et al. (NeurIPS 2024), hidden capabilities"
ANSWER = (
    "Toward what it was shown of the stronger concept, and from there to what was asked, often "
    "losing ground on the way. Weak colours come after size. Over-prompts bring out more of both "
    "than plain ones."
)
CAPTION = (
    "Left: what models draw for the combination that they were not shown (star), mean of the "
    "models that learned what they were shown, from the first checkpoint to the last (hollow "
    "marker), for how far colours are apart. Right: product of how right each concept is, by plain "
    "prompts and with a colour that is overstated, for the weakest and strongest signal; samples "
    "of the first such model of each below, where there are images. The quick preset draws points "
    "instead."
)

OVER = 0.25
STILL = 1e-3  # a move from checkpoint to checkpoint that is as good as none
OVERSTATED = f"over {OVER:g}"
LEVELS = (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    told = kind | {"over": [OVER]}
    return [told | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (LEVELS[0], LEVELS[-1]), 3),
    "laptop": _cells(IMAGES, (LEVELS[0], LEVELS[-1]), 3),
    "paper": _cells(PAPER, LEVELS, 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over signals, seeds, steps and prompts."""
    return reading.gather(cells, "colour")


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh order, signal, capability, the bump and the pace."""
    kept, trained = reading.trained(data)
    low, high = (kept.isel(colour=k) for k in (0, -1))
    return [
        trained,
        _order(low),
        _signal(low, high),
        _over(kept),
        _bumps(kept),
        _slows(kept),
        *reading.readers(data),
    ]


def _order(low: xr.Dataset) -> Claim:
    each = means(low, UNSEEN)
    lead = (each.sel(concept="size") - each.sel(concept="colour")).mean("step", skipna=False)
    return at_least(
        "At the weakest colour signal size is learned before colour: how much further size is on "
        "the way to the combination that was not shown, mean over checkpoints.",
        "Yang et al. (ICLR 2025), figure 6",
        0.0,
        lead,
        f"Colours {float(low.colour):g} apart.",
    )


def _signal(low: xr.Dataset, high: xr.Dataset) -> Claim:
    weak, strong = (reading.ends(each, UNSEEN).sel(concept="colour") for each in (low, high))
    levels = ", ".join(
        f"{float(found.mean()):.2f} at {float(each.colour):g}"
        for each, found in ((low, weak), (high, strong))
    )
    return at_least(
        "The stronger the colour signal, the more of the colour is right where it was not shown: "
        "late mean of blue at the strongest signal less that at the weakest, same seeds.",
        "Yang et al. (ICLR 2025), figure 6",
        0.0,
        strong - weak,
        f"Blue: {levels}.",
    )


def _over(kept: xr.Dataset) -> Claim:
    when = {"step": late(kept)}
    plain, over = (accuracy(kept, name).isel(when) for name in (UNSEEN, OVERSTATED))
    ties = 0.5 * (over == plain)
    better = ((over > plain) + ties).where(plain.notnull()).mean("step", skipna=False)
    return at_least(
        "Over-prompting brings out more than plain prompting: share of late checkpoints, ties one "
        "half.",
        "Park et al. (NeurIPS 2024), over-prompting",
        0.5,
        better,
        f"Both concepts right {float(plain.mean()):.2f} by plain prompts and "
        f"{float(over.mean()):.2f} with a colour {OVER:g} further from grey.",
    )


def _bumps(kept: xr.Dataset) -> Claim:
    # What is drawn at first is no shape yet.
    formed = kept.sel(step=kept.step >= 0.1 * kept.step.max())
    known, clear, lines = 0, 0, []
    for k, colour in enumerate(map(float, kept.colour.values)):
        runs = [formed.isel(colour=k, seed=[s]) for s in range(kept.sizes["seed"])]
        bumps = [path.bump() for path in map(path_of, runs) if path is not None]
        sizes = [f"{each.amplitude:.2f}" for each in bumps if each.clear]
        known, clear = known + len(bumps), clear + len(sizes)
        by = f", by {', '.join(sizes)} of the mean square" if sizes else ""
        lines.append(f"{len(sizes)} of {len(bumps)} models at {colour:g}{by}")
    centre, ends = share(clear, known)
    return Claim(
        "The error where nothing was shown rises again on the way, by more than noise: share of "
        "models.",
        "Yang et al. (ICLR 2025), figure 6, the swing",
        0.5,
        centre,
        0.0,
        ends,
        relation="at least",
        note=f"{'; '.join(lines)}.",
    )


def _slows(kept: xr.Dataset) -> Claim:
    each = means(kept, UNSEEN).diff("step")
    moves = ((each**2).sum("concept", skipna=False) ** 0.5).clip(min=STILL)
    return reading.slows(moves, "the root of steps")


def figure(data: xr.Dataset) -> Figure:
    """Draw paths in concept space, both concepts in time, and samples where there are any."""
    pictures = "pictures" in data
    kept, _ = reading.trained(data)
    drawn, axes = plots.mosaic("AB;CC" if pictures else "AB", 5.4 if pictures else 3.0)
    _draw_paths(axes["A"], kept)
    _draw_prompts(axes["B"], kept)
    if pictures:
        _draw_pictures(axes["C"], kept)
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset) -> None:
    for k, colour in enumerate(map(float, data.colour.values)):
        path = path_of(data.isel(colour=k))
        if path is None:
            continue
        ax.plot(*path.mean.T, label=f"{colour:g}", **plots.look(k))
        ax.plot(*path.mean[-1], **plots.look(k, line=False))
    for name, corner in classes().items():
        up = corner[1] > 0.5
        ax.annotate(
            name, (corner[0], corner[1]), xytext=(0, 5 if up else -5), textcoords="offset points",
            ha="center", va="bottom" if up else "top", fontsize=7.5,
        )  # fmt: skip
        ax.plot(*corner, "*" if name == UNSEEN else ".", color="black")
    ax.set(xlim=(-0.25, 1.25), ylim=(-0.2, 1.2), xlabel="blue", ylabel="small")
    reading.legend(
        ax, title="colour signal", title_fontsize=7, ncols=3, loc="lower center",
        bbox_to_anchor=(0.5, 0.98),
    )  # fmt: skip


def _draw_prompts(ax: Axes, data: xr.Dataset) -> None:
    for k in (0, data.sizes["colour"] - 1):
        for name, dashed in ((UNSEEN, False), (OVERSTATED, True)):
            path = path_of(data.isel(colour=k), name)
            if path is None:
                continue
            style: dict[str, Any] = plots.look(k) | {"linestyle": "--" if dashed else "-"}
            label = f"{float(data.colour[k]):g}, {'over-prompt' if dashed else 'plain'}"
            ax.plot(data.step, path.product_accuracy, label=label, **style)
    ax.set(xlabel="steps", ylabel="blue and small", ylim=(-0.03, 1.03))
    reading.legend(ax)


def _draw_pictures(ax: Axes, data: xr.Dataset) -> None:
    """Draw samples of the first model of each signal that learned what it was shown, or white."""
    most = 12
    some = np.unique(np.linspace(0, data.sizes["step"] - 1, most).round().astype(int))
    data = data.isel(step=some)
    steps, side = data.sizes["step"], data.sizes["row"]
    rows, names = [], []
    for k in (0, -1):
        each = data.isel(colour=k)
        learned = each.coordinates.notnull().all(["step", "prompt", "sample", "concept"]).values
        seed = int(np.argmax(learned))
        shown = np.concatenate(list(each.pictures.isel(seed=seed, shown=0).values), axis=1)
        rows.append(shown if learned.any() else np.full_like(shown, 255))
        told = f"seed {int(data.seed[seed])}" if learned.any() else "none learned"
        names.append(f"{float(each.colour):g}\n{told}")
    ax.imshow(np.concatenate(rows, axis=0), interpolation="nearest")
    ax.set_xticks((np.arange(steps) + 0.5) * side, labels=map(str, data.step.values))
    ax.set_yticks([0.5 * side, 1.5 * side], labels=names)
    ax.tick_params(length=0, labelsize=7)
    ax.set(xlabel="steps", ylabel="colour signal")
