"""Coordinates of samples of diffusion models in concept space, and the times of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from partwhole.measures.concepts import RAW, Smoothing, concept_path
from partwhole.measures.concepts.path import ConceptPath
from partwhole.networks.diffusion.schedule import MOST_SIGNAL
from partwhole.study import Cells, Estimate, geometric_mean, layout
from partwhole.study.estimates import by_seed
from partwhole.study.plots import look
from partwhole_studies.diffusion.concept_models import prompt_names, steps_of
from partwhole_studies.diffusion.image_readers import UNSURE
from partwhole_studies.diffusion.training_sets import classes, concepts, train_classes

HALF = 0.5
NEAR = 0.25  # of its corner: what counts as having learned a class
DIMENSIONS = {
    "coordinates": "step prompt sample concept",
    "decoded": "step prompt sample concept",
    "regressed": "step prompt sample concept",
    "scores": "reader score concept",
    "pictures": "step picture row column channel",
    "noise_left": "step",
    "signal_left": "step",
}
LABELS = {
    "coordinates": "position of samples between the two values of a concept",
    "decoded": "the same by the decoder",
    "alike": "samples that a regressor reads, as the classifier reads them",
    "scores": "how well the readers read new images",
    "pictures": "a sample of the unseen class",
    "noise_left": "noise left on samples by the schedule",
    "signal_left": "scale of an image where sampling starts",
    "step": "training steps",
}


def gather(cells: Cells, *settings: str, pictures: bool = False) -> xr.Dataset:
    """Lay the readings out over settings, seeds, steps and prompts; on request with a picture."""
    config, arrays = cells[0]
    coords: dict[str, Any] = {
        "step": steps_of(config), "prompt": prompt_names(config), "concept": list(concepts(config)),
    }  # fmt: skip
    if "scores" in arrays:
        coords["reader"] = ["decoder", "regressor", "classifier"][: len(arrays["scores"])]
        coords["score"] = ["accuracy", "Brier score", "calibration error", "abstained"]
    data = layout(
        cells, {name: DIMENSIONS[name] for name in arrays}, over=[*settings, "seed"], coords=coords
    ).isel(picture=0, missing_dims="ignore")
    if "regressed" in data:
        alike = (data.regressed > HALF) == (data.coordinates > HALF)
        data["alike"] = alike.where(data.regressed.notnull()).mean("sample")
        data = data.drop_vars("regressed")
    if not pictures:
        data = data.drop_vars("pictures", errors="ignore")
    for name in data.variables:
        data[name].attrs["long_name"] = LABELS.get(str(name), str(name))
    return data


def averaged(data: xr.Dataset) -> xr.Dataset:
    """Return readings with the mean over samples in place of each sample."""
    coordinates = data.coordinates.mean("sample").expand_dims("sample")
    return data.drop_vars("coordinates").assign(coordinates=coordinates)


def late(data: xr.Dataset) -> np.ndarray:
    """Return which checkpoints lie in the second half of training."""
    return data.step.values > 0.5 * data.step.values.max()


def means(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the mean coordinates of a prompt's samples."""
    return data.coordinates.sel(prompt=prompt, drop=True).mean("sample")


def ends(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the mean coordinates of a prompt's samples late in training."""
    return means(data, prompt).isel(step=late(data)).mean("step", skipna=False)


def learned(data: xr.Dataset, names: Sequence[str] | None = None) -> xr.Dataset:
    """Return the readings of models that learned classes, by default all training classes.

    Those are within a quarter of their corners late in training. Readings of other models are NaN.
    """
    n = data.sizes["concept"]
    distances = [
        abs(ends(data, name) - corner_of(data, classes(n)[name])).max("concept")
        for name in (names or train_classes(n))
    ]
    worst = xr.concat(distances, "prompt").max("prompt")
    return data.assign(coordinates=data.coordinates.where(worst <= NEAR))


def counts(runs: xr.Dataset) -> dict[str, int | str]:
    """Return the number of models, of those that learned their training classes, and their kind."""
    learned = runs.coordinates.isel(step=0, prompt=0, sample=0, concept=0).notnull()
    kind = "images" if "scores" in runs else "points"
    return {"learned": int(learned.sum()), "models": learned.size, "kind": kind}


def corner_of(data: xr.Dataset, corner: Sequence[int]) -> xr.DataArray:
    return xr.DataArray(np.array(corner, float), {"concept": data.concept.values})


def accuracy(data: xr.Dataset, prompt: str) -> xr.DataArray:
    """Return the multiplicative accuracy of a prompt; those of other names are for the last class.

    It is the product over concepts of one less the distance from the corner of the class.
    """
    corners = classes(data.sizes["concept"])
    goal = corner_of(data, corners.get(prompt, list(corners.values())[-1]))
    return (1.0 - abs(means(data, prompt) - goal)).prod("concept", skipna=False)


def path_of(data: xr.Dataset, prompt: str, smoothing: Smoothing = RAW) -> ConceptPath | None:
    """Return the path of the models of one setting that learned; None without any."""
    readings = data.coordinates.sel(prompt=prompt).dropna("seed")
    if readings.sizes["seed"] == 0:
        return None
    values = readings.transpose("seed", "step", "sample", "concept").values.astype(float)
    return concept_path(data.step.values.astype(float), values, smoothing=smoothing)


def settled(paths: xr.DataArray, level: float = HALF) -> xr.DataArray:
    """Return the step after which paths stay above a level; infinite if they end below it.

    It is interpolated between checkpoints. A path that never lies below the level has the first
    checkpoint; a path with NaN has NaN.
    """
    steps = paths.step.values.astype(float)

    def time(path: np.ndarray) -> float:
        below = np.flatnonzero(path < level)
        if not np.isfinite(path).all():
            return np.nan
        if not len(below):
            return float(steps[0])
        k = below[-1]
        if k == len(path) - 1:
            return np.inf
        return float(np.interp(level, path[k : k + 2], steps[k : k + 2]))

    return xr.apply_ufunc(
        time, paths, input_core_dims=[["step"]], vectorize=True, output_dtypes=[float]
    )


def capped(times: xr.DataArray, data: xr.Dataset) -> xr.DataArray:
    """Return times, with the last checkpoint in place of infinite ones."""
    last = float(data.step.values[-1])
    return times.where(~(times > last), last)


def later(second: xr.DataArray, first: xr.DataArray, data: xr.Dataset) -> Estimate:
    """Estimate the ratio of the second of two times to the first, as a mean over seeds.

    The cap on infinite times can only bring the ratio nearer to 1.
    """
    return ratio((capped(second, data) / capped(first, data)).pipe(np.log))


def ratio(logs: xr.DataArray) -> Estimate:
    """Estimate a ratio from its logarithms, a mean over seeds."""
    return geometric_mean(np.exp(by_seed(logs)))


def curves(ax: Axes, paths: xr.DataArray, index: int, label: str, **style: Any) -> None:
    """Draw the mean over models against training steps, and each model as a thin line."""
    style = look(index) | style
    thin = {"color": style["color"], "linewidth": 0.6, "alpha": 0.45}
    ax.plot(paths.step, paths.transpose("step", "seed"), **thin)
    ax.plot(paths.step, paths.mean("seed"), label=label, **style)


def differences(data: xr.Dataset) -> str:
    """Return a sentence on late samples that two readers take for different values; or none."""
    if "alike" not in data:
        return ""
    alike = data.alike.isel(step=late(data)).sel(prompt=list(classes(data.sizes["concept"])))
    by_class = alike.mean([dim for dim in alike.dims if dim not in ("prompt", "concept")])
    share = 1.0 - float(by_class.min())
    return f" Of a class, a regressor reads up to {share:.0%} of late samples differently."


def unreadable(data: xr.Dataset) -> str:
    """Return sentences on images without a circle, and on where sampling starts; none for points.

    The first is on images in which the decoder recognises nothing.
    """
    if "decoded" not in data:
        return ""
    prompt = list(classes(data.sizes["concept"]))[-1]
    decoded = data.decoded.sel(prompt=prompt).isel(step=late(data))
    share = float((decoded == UNSURE).all("concept").mean())
    text = f" In {share:.0%} of late images of the unseen class the decoder recognises no circle."
    signal = float(data.signal_left.max()) if "signal_left" in data else 0.0
    if signal <= MOST_SIGNAL:
        return text
    return text + (
        f" The learned schedule leaves up to {signal:.2f} of an image where sampling starts from "
        "noise alone."
    )
