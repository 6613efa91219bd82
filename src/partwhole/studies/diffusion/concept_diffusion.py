"""A diffusion model on its way through concept space, to a combination it was never shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.measures.concepts import RAW, ConceptPath, concept_path
from partwhole.studies import Cells, Claim, Config
from partwhole.studies import _plots as plots
from partwhole.studies._estimates import estimate
from partwhole.studies.diffusion._runs import CLASSES, CORNERS, UNSEEN, late, names_of
from partwhole.studies.diffusion._runs import train as train

QUESTION = (
    "A diffusion model has seen red circles, big and small, and big blue ones. When it is asked "
    "for a small blue one, where does it go as it learns, and can it do more than plain asking "
    "brings out?"
)
SOURCE = "Yang et al. (ICLR 2025), figure 6; Park et al. (NeurIPS 2024), hidden capabilities"
ANSWER = (
    "Toward what it was shown of the stronger concept, and from there to what was asked. Weak "
    "colours are late: on the way small means red. Over-prompting brings blue out before plain "
    "prompts do."
)
CAPTION = (
    "Left: what models draw for the combination that they were not shown (star), mean of the "
    "models, from the first checkpoint to the last (hollow marker), for how far colours are "
    "apart. Right: share of both concepts that is right, by plain prompts and with a colour that "
    "is overstated. Samples below, where there are images: one model of each signal. The quick "
    "preset draws points in place of images."
)
REVISION = 1
BUDGET = 4.5

OVER = 0.25
IMAGES: Config = {
    "model": "small16", "size": 0.4, "per_class": 1024, "samples": 64, "checkpoints": 12,
    "first": 100, "steps": 3000, "over": [OVER], "directions": [], "guidance": [],
    "recipe": {"sampling_steps": 25, "denoise": True},
}  # fmt: skip
POINTS: Config = IMAGES | {
    "model": "vector", "per_class": 500, "checkpoints": 16, "first": 5, "steps": 400,
    "samples": 200, "recipe": {"sampling_steps": 50, "denoise": True, "batch": 128},
}  # fmt: skip
PAPER: Config = IMAGES | {
    "model": "paper", "per_class": 2048, "samples": 32, "checkpoints": 60, "first": 500,
    "steps": 20_000, "recipe": {"clip": 0.01, "sampling_steps": 50},
}  # fmt: skip
LEVELS = (0.137, 0.247, 0.358, 0.468, 0.579, 0.689)


def _cells(kind: Config, colours: Sequence[float], seeds: int) -> list[Config]:
    return [kind | {"colour": c, "seed": seed} for seed in range(seeds) for c in colours]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(POINTS, (LEVELS[0], LEVELS[-1]), 2),
    "laptop": _cells(IMAGES, (LEVELS[0], LEVELS[-1]), 3),
    "paper": _cells(PAPER, LEVELS, 5),
}
cell = train


def gather(cells: Cells) -> xr.Dataset:
    """Lay what every sample was read as over signals, seeds, steps and prompts."""
    first = cells[0][0]
    colours = sorted({config["colour"] for config, _ in cells})
    seeds = sorted({config["seed"] for config, _ in cells})
    found = {(config["colour"], config["seed"]): each for config, each in cells}

    def laid(name: str) -> np.ndarray:
        return np.array([[found[c, seed][name] for seed in seeds] for c in colours])

    run = ("colour", "seed")
    variables: dict[str, Any] = {
        "coordinates": (
            (*run, "step", "prompt", "sample", "concept"), laid("coordinates"),
            {"long_name": "how blue and how small samples are"},
        ),
    }  # fmt: skip
    if "pictures" in cells[0][1]:
        variables["pictures"] = (
            (*run, "step", "shown", "row", "column", "channel"), laid("pictures"),
            {"long_name": "samples of the class that was not shown"},
        )  # fmt: skip
    return xr.Dataset(
        variables,
        coords={
            "colour": colours, "seed": seeds, "step": cells[0][1]["steps"],
            "prompt": names_of(first), "concept": ["blue", "small"],
        },
        attrs={"model": first["model"]},
    )  # fmt: skip


def reached(data: xr.Dataset) -> xr.DataArray:
    """Return how far classes that were shown end from their corners, the worst of each run."""
    ends = data.coordinates.isel(step=late(data.step.values)).mean(["step", "sample"])
    corners = xr.DataArray(CORNERS, dims=("prompt", "concept"), coords={"prompt": list(CLASSES)})
    shown = list(CLASSES[:3])
    return np.abs(ends.sel(prompt=shown) - corners.sel(prompt=shown)).max(["prompt", "concept"])


NEAR = 0.25  # of a corner


def path_of(data: xr.Dataset, prompt: str = UNSEEN) -> ConceptPath:
    """Return the path of the runs of one signal, or of one run."""
    each = data.coordinates.sel(prompt=prompt)
    order = [d for d in ("seed", "step", "sample", "concept") if d in each.dims]
    return concept_path(
        data.step.values.astype(float), each.transpose(*order).values.astype(float), smoothing=RAW
    )


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh order, signal, capability, the bump and the pace."""
    far = reached(data)
    kept = data.where(far <= NEAR)
    n, missing = far.size, int((far > NEAR).sum())
    low, high = (kept.isel(colour=k) for k in (0, -1))
    return [
        Claim(
            "Models learn what they are shown: share of those that don't get near the corners of "
            "the three classes, and are left out below.",
            "derived here",
            0.1,
            missing / n,
            0.0,
            relation="at most",
            note=f"{missing} of {n}: further than {NEAR:g} from a corner late in training.",
        ),
        _order(low),
        _signal(low, high),
        _over(kept),
        *_bumps(data, far),
        _slows(kept),
    ]


def _runs(data: xr.Dataset, values: xr.DataArray) -> np.ndarray:
    """Return the finite numbers of runs in a row."""
    numbers = np.asarray(values, float).ravel()
    return numbers[np.isfinite(numbers)]


def _order(low: xr.Dataset) -> Claim:
    means = low.coordinates.sel(prompt=UNSEEN).mean("sample")
    lead = (means.sel(concept="small") - means.sel(concept="blue")).mean("step")
    centre, ends = estimate(_runs(low, lead))
    return Claim(
        "At the weakest colour signal size is learned before colour: how much further size is on "
        "the way to the combination that was not shown, mean over steps.",
        "Yang et al. (ICLR 2025), figure 6",
        0.0,
        centre,
        0.0,
        ends,
        relation="at least",
        note=f"{len(_runs(low, lead))} models with colours {float(low.colour):g} apart.",
    )


def _late(data: xr.Dataset, prompt: str) -> xr.DataArray:
    found = data.coordinates.sel(prompt=prompt).isel(step=late(data.step.values))
    return found.mean("sample")


def _signal(low: xr.Dataset, high: xr.Dataset) -> Claim:
    gain = (_late(high, UNSEEN) - _late(low, UNSEEN)).sel(concept="blue").mean("step")
    centre, ends = estimate(_runs(high, gain))
    levels = ", ".join(
        f"{float(_late(each, UNSEEN).sel(concept='blue').mean()):.2f} at {float(each.colour):g}"
        for each in (low, high)
    )
    return Claim(
        "The stronger the colour signal, the more of the colour is right where it was not shown: "
        "late share of blue at the strongest signal less that at the weakest, same seeds.",
        "Yang et al. (ICLR 2025), figure 6",
        0.0,
        centre,
        0.0,
        ends,
        relation="at least",
        note=f"Blue: {levels}.",
    )


def _over(kept: xr.Dataset) -> Claim:
    plain, over = (
        _late(kept, name).prod("concept", skipna=False) for name in (UNSEEN, _over_name(kept))
    )
    better = (over >= plain).where(plain.notnull()).mean("step")
    each = _runs(kept, better)
    centre, ends = estimate(each)
    return Claim(
        "Over-prompting brings out at least as much as plain prompting: share of late checkpoints.",
        "Park et al. (NeurIPS 2024), over-prompting",
        0.5,
        centre,
        0.0,
        ends,
        relation="at least",
        note=f"{len(each)} models; both concepts right {float(plain.mean()):.2f} by plain prompts "
        f"and {float(over.mean()):.2f} with a colour {OVER:g} further from grey.",
    )


def _over_name(data: xr.Dataset) -> str:
    return next(name for name in map(str, data.prompt.values) if name.startswith("over"))


def _bumps(data: xr.Dataset, far: xr.DataArray) -> list[Claim]:
    found = []
    for k, colour in enumerate(map(float, data.colour.values)):
        bumps = [
            path_of(data.isel(colour=k, seed=s)).bump()
            for s in range(data.sizes["seed"])
            if far.values[k, s] <= NEAR
        ]
        clear = [each for each in bumps if each.clear]
        sizes = ", ".join(f"{each.amplitude:.2f}" for each in clear)
        found.append(
            Claim(
                f"The error where nothing was shown rises again on the way, by more than noise: "
                f"share of models, colours {colour:g} apart.",
                "Yang et al. (ICLR 2025), figure 6, the swing",
                0.5,
                len(clear) / len(bumps) if bumps else float("nan"),
                0.0,
                relation="at least",
                note=f"{len(clear)} of {len(bumps)} models"
                + (f", by {sizes} of the mean square." if clear else "."),
            )
        )
    return found


def _slows(kept: xr.Dataset) -> Claim:
    means = kept.coordinates.sel(prompt=UNSEEN).mean("sample")
    pace = np.sqrt((means.diff("step") ** 2).sum("concept", skipna=False)) / np.diff(kept.step)
    n = max(1, kept.sizes["step"] // 4)
    ratio = np.log10(pace.isel(step=slice(-n, None)).mean("step")) - np.log10(
        pace.isel(step=slice(None, n)).mean("step")
    )
    each = _runs(kept, ratio)
    centre, ends = estimate(each)
    return Claim(
        "Learning slows down: log10 of the pace through concept space in the last quarter of the "
        "checkpoints over that in the first.",
        "Yang et al. (ICLR 2025), figure 6",
        -0.5,
        centre,
        0.0,
        ends,
        relation="at most",
        note=f"{len(each)} models; checkpoints are spaced evenly in the root of steps.",
    )


def figure(data: xr.Dataset) -> Figure:
    """Draw paths in concept space, both concepts in time, and samples where there are any."""
    pictures = "pictures" in data
    drawn, axes = plots.mosaic("AB;CC" if pictures else "AB", 5.4 if pictures else 3.0)
    _draw_paths(axes["A"], data)
    _draw_prompts(axes["B"], data)
    if pictures:
        _draw_pictures(axes["C"], data)
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset) -> None:
    for k, colour in enumerate(map(float, data.colour.values)):
        means = path_of(data.isel(colour=k)).mean
        ax.plot(*means.T, label=f"{colour:g}", **plots.look(k))
        ax.plot(*means[-1], **plots.look(k, line=False))
    for name, corner in zip(CLASSES, CORNERS, strict=True):
        up = corner[1] > 0.5
        ax.annotate(
            name, corner, xytext=(0, 5 if up else -5), textcoords="offset points",
            ha="center", va="bottom" if up else "top", fontsize=7.5,
        )  # fmt: skip
        ax.plot(*corner, "*" if name == UNSEEN else ".", color="black")
    ax.set(xlim=(-0.25, 1.25), ylim=(-0.2, 1.2), xlabel="blue", ylabel="small")
    ax.legend(
        title="colour signal",
        fontsize=7,
        title_fontsize=7,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.1),
    )


def _draw_prompts(ax: Axes, data: xr.Dataset) -> None:
    steps = data.step.values
    for k in (0, data.sizes["colour"] - 1):
        for name, dashed in ((UNSEEN, False), (_over_name(data), True)):
            both = path_of(data.isel(colour=k), name).product_accuracy
            style: dict[str, Any] = plots.look(k) | {"linestyle": "--" if dashed else "-"}
            label = f"{float(data.colour[k]):g}, {'over-prompt' if dashed else 'plain'}"
            ax.plot(steps, both, label=label, **style)
    ax.set(xlabel="steps", ylabel="blue and small", ylim=(-0.03, 1.03))
    ax.legend(fontsize=7, frameon=False)


def _draw_pictures(ax: Axes, data: xr.Dataset) -> None:
    shown = data.pictures.isel(seed=0, shown=0)
    rows = [np.concatenate(list(shown.isel(colour=k).values), axis=1) for k in (0, -1)]
    ax.imshow(np.concatenate(rows, axis=0), interpolation="nearest")
    side = shown.sizes["row"]
    ax.set_xticks((np.arange(data.sizes["step"]) + 0.5) * side, labels=map(str, data.step.values))
    ax.set_yticks([0.5 * side, 1.5 * side], labels=[f"{float(data.colour[k]):g}" for k in (0, -1)])
    ax.tick_params(length=0, labelsize=7)
    ax.set(xlabel="steps", ylabel="colour signal")
