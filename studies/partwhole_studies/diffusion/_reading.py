"""What the studies of concept-space diffusion read off their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from partwhole.measures.concepts import RAW, ConceptPath, Smoothing, concept_path
from partwhole.study import Cells, Claim
from partwhole.study import plots as plots
from partwhole.study.estimates import by_seed, estimate, estimate_of_several, known
from partwhole_studies.diffusion._runs import UNSURE, classes, concepts, names_of, shown

HALF = 0.5
NEAR = 0.25  # of a corner: what counts as having learned a class


def gather(cells: Cells, axis: str) -> xr.Dataset:
    """Lay what every sample was read as over settings, seeds, steps and prompts.

    Parameters
    ----------
    cells : list of (configuration, arrays)
        Of `_runs.train`.
    axis : str
        What settings differ in: a number that each configuration has.
    """
    first, arrays = cells[0]
    levels = sorted({config[axis] for config, _ in cells})
    seeds = sorted({config["seed"] for config, _ in cells})
    found = {(config[axis], config["seed"]): each for config, each in cells}

    def laid(name: str) -> np.ndarray:
        return np.array([[found[level, seed][name] for seed in seeds] for level in levels])

    run = (axis, "seed")
    each = (*run, "step", "prompt", "sample", "concept")
    told = {
        "coordinates": (each, "how far samples are from the first to the second value"),
        "classified": (each, "the same by a classifier"),
        "judged": ((*run, "reader", "score", "concept"), "how well samples are read"),
        "pictures": (
            (*run, "step", "shown", "row", "column", "channel"),
            "samples of the class that was not shown",
        ),
    }
    variables: dict[str, Any] = {
        name: (dims, _kept(laid(name)), {"long_name": what})
        for name, (dims, what) in told.items()
        if name in arrays
    }
    if "classified" in variables:  # as published, what a classifier says comes first
        variables["decoded"] = variables.pop("coordinates")
        variables["coordinates"] = variables.pop("classified")
    coords: dict[str, Any] = {
        axis: levels, "seed": seeds, "step": arrays["steps"], "prompt": names_of(first),
        "concept": list(concepts(first)),
    }  # fmt: skip
    if "judged" in arrays:
        coords["reader"] = ["decoder", "classifier"][: arrays["judged"].shape[0]]
        coords["score"] = ["accuracy", "Brier score", "calibration error", "abstained"]
    return xr.Dataset(variables, coords=coords, attrs={"model": first["model"]})


def _kept(values: np.ndarray) -> np.ndarray:
    """Return numbers in a type that files of data know: they have no bytes without sign."""
    return values.astype(np.int16) if values.dtype == np.uint8 else values


def late(data: xr.Dataset) -> np.ndarray:
    """Return which checkpoints are late: those after half of the steps."""
    return data.step.values > 0.5 * data.step.values.max()


def ends(data: xr.Dataset, prompt: str | Sequence[str]) -> xr.DataArray:
    """Return what late samples of prompts are read as, in the mean."""
    asked = data.coordinates.sel(prompt=prompt)
    return asked.isel(step=late(data)).mean(["step", "sample"])


def reached(data: xr.Dataset, of: Sequence[str] | None = None) -> xr.DataArray:
    """Return how far classes that were shown end from their corners, the worst of each run."""
    corners = classes(data.sizes["concept"])
    names = list(shown(data.sizes["concept"]) if of is None else of)
    goal = xr.DataArray(
        np.array([corners[name] for name in names], float), dims=("prompt", "concept")
    )
    return abs(ends(data, names) - goal).max(["prompt", "concept"])


def trained(data: xr.Dataset, of: Sequence[str] | None = None) -> tuple[xr.Dataset, Claim]:
    """Return what models read as that learned what they were shown, and how many did not.

    The others are NaN.
    """
    far = reached(data, of)
    n, missing = far.size, int((~(far <= NEAR)).sum())
    claim = Claim(
        "Models learn what they are shown: share of those that don't get near the corners of "
        f"{'the classes shown' if of is None else ' and '.join(of)}, and are left out below.",
        "derived here",
        0.1,
        missing / n,
        0.0,
        relation="at most",
        note=f"{missing} of {n}: further than {NEAR:g} from a corner late in training.",
    )
    kept = data.assign(coordinates=data.coordinates.where(far <= NEAR))
    return kept, claim


def target(data: xr.Dataset) -> str:
    """Return the class that differs from the first one in all concepts."""
    return list(classes(data.sizes["concept"]))[-1]


def means(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the mean of what samples of a prompt are read as."""
    return data.coordinates.sel(prompt=prompt, drop=True).mean("sample")


def accuracy(data: xr.Dataset, prompt: str, corner: Sequence[int] | None = None) -> xr.DataArray:
    """Return the multiplicative accuracy of a prompt; by default for the last class."""
    goal = xr.DataArray(
        np.ones(data.sizes["concept"]) if corner is None else np.array(corner, float),
        dims="concept",
    )
    return (1.0 - abs(means(data, prompt) - goal)).prod("concept", skipna=False)


def path_of(
    data: xr.Dataset, prompt: str | None = None, smoothing: Smoothing = RAW
) -> ConceptPath | None:
    """Return the path of the runs of one setting that learned, or of one; None without any."""
    each = data.coordinates.sel(prompt=target(data) if prompt is None else prompt)
    if "seed" in each.dims:
        each = each.dropna("seed")
        if each.sizes["seed"] == 0:
            return None
    order = [d for d in ("seed", "step", "sample", "concept") if d in each.dims]
    values = each.transpose(*order).values.astype(float)
    return concept_path(data.step.values.astype(float), values, smoothing=smoothing)


def settled(paths: xr.DataArray, level: float = HALF) -> xr.DataArray:
    """Return when paths reach a level for good; infinite where they end below it.

    That is where a path passes the level for the last time, between two records on a straight
    line; a path that never lies below it has the first record. NaN where paths are unknown.
    """
    values = paths.transpose(..., "step").values
    steps = paths.step.values.astype(float)
    found = np.full(values.shape[:-1], np.nan)
    for at in np.ndindex(*found.shape):
        path = values[at]
        if not np.isfinite(path).all():
            continue
        below = np.flatnonzero(path < level)
        if not len(below):
            found[at] = steps[0]
        elif below[-1] == len(path) - 1:
            found[at] = np.inf
        else:
            k = below[-1]
            found[at] = np.interp(level, path[k : k + 2], steps[k : k + 2])
    like = paths.isel(step=0, drop=True).transpose(*(dim for dim in paths.dims if dim != "step"))
    return like.copy(data=found)


def later(one: xr.DataArray, other: xr.DataArray, data: xr.Dataset) -> xr.DataArray:
    """Return the log of how many times later one time is than another.

    What is never reached counts as reached at the last record, which can only bring both nearer.
    """
    last = float(data.step.values[-1])
    ratio = one.where(one < last, last).where(one.notnull()) / other.where(other < last, last)
    return ratio.where(other.notnull()).pipe(np.log)


def at_least(statement: str, source: str, floor: float, found: xr.DataArray, note: str) -> Claim:
    """Return the claim that a mean over seeds is at least so much; one seed decides nothing."""
    seeds = by_seed(found)
    centre, interval = estimate_of_several(seeds)
    if len(seeds) == 1:
        note = f"{note} What is left has {float(seeds[0]):.2f}."
    return Claim(
        statement, source, floor, centre, 0.0, interval, relation="at least",
        note=f"{len(seeds)} seed{'s' * (len(seeds) != 1)}. {note}".strip(),
    )  # fmt: skip


def slows(moves: xr.DataArray, spaced: str) -> Claim:
    """Weigh whether moves through concept space, (..., seed, step), become smaller."""
    n = max(1, (moves.sizes["step"] + 1) // 4)
    last, first = (
        moves.isel(step=part).mean("step", skipna=False)
        for part in (slice(-n, None), slice(None, n))
    )
    centre, ends = estimate(by_seed((last / first).pipe(np.log10)))
    return Claim(
        "Learning slows down, even from checkpoint to checkpoint, which lie further and further "
        "apart: log10 of the mean move through concept space in the last quarter over that in the "
        "first.",
        "Yang et al. (ICLR 2025), figure 6",
        -0.1,
        centre,
        0.0,
        ends,
        relation="at most",
        note=f"Checkpoints are spaced evenly in {spaced}.",
    )


def legend(ax: Axes, **how: Any) -> None:
    """Put a legend into a panel, or say that there is nothing to show."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**({"fontsize": 7, "frameon": False} | how))
    else:
        plots.name(ax, 0.5, 0.5, "no model learned what it was shown", transform=ax.transAxes)


def readers(data: xr.Dataset) -> list[Claim]:
    """Weigh how well samples are read; nothing for points, which need no reading."""
    if "judged" not in data:
        return []
    told = data.judged.mean("seed")
    lines = "; ".join(
        f"{reader} "
        + ", ".join(
            f"{score} {float(told.sel(reader=reader, score=score).min('concept').min()):.3f}"
            if score == "accuracy"
            else f"{score} {float(told.sel(reader=reader, score=score).max()):.3f}"
            for score in map(str, data.score.values)
        )
        for reader in map(str, data.reader.values)
    )
    found = [
        Claim(
            "Images are read rightly: least share of new images whose concept is told rightly, "
            "over readers, concepts and settings.",
            "derived here",
            0.9,
            float(told.sel(score="accuracy").min()),
            0.0,
            relation="at least",
            note=f"The worst of each: {lines}.",
        )
    ]
    if "decoded" in data:
        found += _decoded(data)
    return found


def _decoded(data: xr.Dataset) -> list[Claim]:
    """Weigh what the decoder says of late samples beside the classifier."""
    end = data.isel(step=late(data))
    # An image on which the decoder abstains is in the middle of all concepts.
    shy = (end.decoded == UNSURE).all("concept")
    gap = (end.coordinates - end.decoded).where(~shy).mean(["step", "sample"])
    each = abs(gap).mean([d for d in gap.dims if d != "seed"])
    centre, interval = estimate(known(each))
    share = shy.sel(prompt=target(data)).mean(["step", "sample"])
    other, bounds = estimate(known(share.mean([d for d in share.dims if d != "seed"])))
    return [
        Claim(
            "Decoder and classifier say the same of what late models draw: mean difference of "
            "prompts' mean readings.",
            "derived here",
            0.1,
            centre,
            0.0,
            interval,
            relation="at most",
            note="Of images on which the decoder does not abstain; the classifier gives "
            "probabilities, the decoder places between two means.",
        ),
        Claim(
            "What late models draw for the combination that was not shown are circles: share of "
            "samples on which the decoder abstains.",
            "derived here",
            0.25,
            other,
            0.0,
            bounds,
            relation="at most",
            note="By setting " + ", ".join(f"{float(s):.2f}" for s in share.mean("seed")) + "; of "
            f"classes shown {float(shy.sel(prompt=shown(data.sizes['concept'])).mean()):.2f}.",
        ),
    ]
