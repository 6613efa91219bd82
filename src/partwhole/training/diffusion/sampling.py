"""Samples that are drawn from a diffusion model during training: prompts, and their reading."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from partwhole._arrays import Array as ArrayRule
from partwhole._arrays import Axes
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole.networks.diffusion import ConditionEmbedding, DiffusionModel, sample
from partwhole.networks.diffusion.schedule import ScheduleWarning
from partwhole.tasks.shapes.pictures import save_picture
from partwhole.training.diffusion.prompt import Prompt
from partwhole.training.diffusion.rows import labelled_rows

SAMPLING = 111  # random stream of samples, separate from that of the order
IN_PICTURE = 8  # samples of each prompt in a saved figure

Decoder = Callable[[Float[np.ndarray, "n *shape"]], Float[np.ndarray, "n C"]]


@door
@dataclass(frozen=True, eq=False)
class Sampling:
    """Samples to be drawn from a diffusion model during training, at the recorded steps.

    Parameters
    ----------
    prompts : mapping of str to Prompt
        Prompts to sample, by name.
    decoder : callable, default None
        From samples, shape (n, ...), to coordinates, shape (n, C): a decoder or a classifier.
    steps : int, keyword-only, default 50
        Steps from noise to sample.
    denoise : bool, keyword-only, default False
        Whether samples are estimates of x at time 0, or z at time 0, which retains some noise. See
        `networks.diffusion.sample`.
    keep : bool, keyword-only, default False
        Whether to keep the samples too, as float16. Pass this, a decoder or `pictures`.
    pictures : Path or str, keyword-only, default None
        A folder in which a figure of eight samples of each prompt is saved at every recorded step,
        such as `step_000100.png`, a row for each prompt; for several models in folders `run_0`,
        `run_1` and so on within it. With the extra "plot" the rows have names.

    Raises
    ------
    InputError
        Without prompts, and for samples that are neither decoded, kept nor saved as figures.

    Notes
    -----
    Yang et al. (ICLR 2025) and Park et al. (NeurIPS 2024) write of 100 steps of sampling; their
    code has 50.

    Examples
    --------
    >>> Sampling({"far": Prompt(conditions=[[3.0, 3.0]])}, lambda samples: samples).steps
    50
    """

    prompts: Mapping[str, Prompt]
    decoder: Decoder | None = None
    _: KW_ONLY
    steps: Count = 50
    denoise: bool = False
    keep: bool = False
    pictures: Path | str | None = None

    def __post_init__(self) -> None:
        require(len(self.prompts) > 0, "samples are drawn for prompts", "none", "pass one or more")
        require(
            self.keep or self.decoder is not None or self.pictures is not None,
            "samples that are drawn are decoded, kept or saved as pictures",
            "none of decoder, keep and pictures",
            "pass one of them",
        )


def require_fit(sampling: Sampling, models: Sequence[DiffusionModel]) -> None:
    """Require that all prompts fit all models, which have samples of one shape."""
    shape = models[0].shape
    require(
        sampling.pictures is None or len(shape) == 3,
        "pictures are of images", f"samples of {shape}", "leave them out",
    )  # fmt: skip
    for model in models:
        for prompt in sampling.prompts.values():
            prompt.embed(model)


def draw_samples(
    sampling: Sampling, model: DiffusionModel, seed: int, turn: int
) -> dict[str, Float[np.ndarray, "n *shape"]]:
    """Return samples of each prompt, drawing prompts of equal guidance together."""
    prompts, samples_of = sampling.prompts, {}
    for number, guidance in enumerate(dict.fromkeys(p.guidance for p in prompts.values())):
        same_guidance = {name: p for name, p in prompts.items() if p.guidance == guidance}
        embedded = [prompt.embed(model).parts for prompt in same_guidance.values()]
        conditions = ConditionEmbedding(tuple(map(jnp.concatenate, zip(*embedded, strict=True))))
        drawn = np.random.SeedSequence([seed, SAMPLING, turn, number])
        with warnings.catch_warnings():  # of the schedule: it is recorded, and warned of once
            warnings.simplefilter("ignore", ScheduleWarning)
            samples = sample(
                model, conditions, steps=sampling.steps, guidance=guidance,
                denoise=sampling.denoise, seed=int(drawn.generate_state(1)[0]), progress=False,
            )  # fmt: skip
        ends = np.cumsum([len(prompt) for prompt in same_guidance.values()])
        samples_of |= dict(zip(same_guidance, np.split(samples, ends[:-1]), strict=True))
    return {name: samples_of[name] for name in prompts}


def decode(decoder: Decoder, samples: Float[np.ndarray, "n *shape"]) -> Float[np.ndarray, "n C"]:
    """Return the coordinates of samples, validated."""
    rule = ArrayRule(Axes("n concepts", True), "float", nan=True)
    coordinates = rule("what the decoder returns", decoder(samples), {})
    require(
        len(coordinates) == len(samples),
        "what the decoder returns has a row of coordinates for each sample",
        f"shape {coordinates.shape} for {len(samples)} samples",
        "return an array of shape (n, concepts)",
    )
    return coordinates.astype(np.float32)


class Readings(NamedTuple):
    """Coordinates and samples of each prompt at the recorded steps; NaN where there are none.

    Parameters
    ----------
    coordinates : dict of str to float32 array, shape (T, n, C)
    samples : dict of str to float16 array, shape (T, n, ...)
    """

    coordinates: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]

    @classmethod
    def blank(cls, sampling: Sampling | None, stops: int, shape: tuple[int, ...]) -> Readings:
        """Return readings of so many recorded steps, all NaN."""
        coordinates, samples = {}, {}
        if sampling is not None:
            counts = {name: len(prompt) for name, prompt in sampling.prompts.items()}
            if sampling.decoder is not None:
                concepts = decode(sampling.decoder, np.zeros((1, *shape), np.float32)).shape[1]
                coordinates = {
                    name: np.full((stops, n, concepts), np.nan, np.float32)
                    for name, n in counts.items()
                }
            if sampling.keep:
                samples = {
                    name: np.full((stops, n, *shape), np.nan, np.float16)
                    for name, n in counts.items()
                }
        return cls(coordinates, samples)

    def record(self, turn: int, sampling: Sampling, samples_of: Mapping[str, np.ndarray]) -> None:
        """Read the samples of a recorded step; those that are no finite numbers stay NaN."""
        for name, samples in samples_of.items():
            if sampling.decoder is not None:
                # After divergence no sample may be finite.
                finite = np.isfinite(samples).reshape(len(samples), -1).all(axis=1)
                if finite.any():
                    self.coordinates[name][turn, finite] = decode(sampling.decoder, samples[finite])
            if sampling.keep:
                self.samples[name][turn] = samples


def picture_folder(sampling: Sampling | None, run: int, runs: int) -> Path | None:
    """Return the folder of a run's figures, which exists then; None if there are none."""
    if sampling is None or sampling.pictures is None:
        return None
    folder = Path(sampling.pictures)
    folder = folder / f"run_{run}" if runs > 1 else folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def save_samples(
    samples_of: Mapping[str, Float[np.ndarray, "n h w c"]], folder: Path, step: int
) -> None:
    """Save a figure of a recorded step, with a row of samples and a name for each prompt."""
    shown = {name: images[:IN_PICTURE] for name, images in samples_of.items()}
    save_picture(folder / f"step_{step:06d}.png", labelled_rows(shown), scale=1)
