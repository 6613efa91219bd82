"""Samples that are drawn from a diffusion model during training: prompts, and their reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from partwhole._arrays import Array as ArrayRule
from partwhole._arrays import Axes
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole.networks.diffusion import ConditionEmbedding, DiffusionModel, sample
from partwhole.tasks.shapes.pictures import image_grid, save_picture
from partwhole.training.diffusion.prompt import Prompt

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
        From samples, shape (n, *shape), to coordinates, shape (n, C): a decoder or a classifier.
    steps : int, keyword-only, default 50
        Steps from noise to sample.
    denoise : bool, keyword-only, default False
        Whether samples are estimates of x at time 0, or z at time 0, which retains some noise. See
        `networks.diffusion.sample`.
    keep : bool, keyword-only, default False
        Whether to keep the samples too, as float16. Pass this, a decoder or `pictures`.
    pictures : Path or str, keyword-only, default None
        A folder in which figures of eight samples of each prompt are saved during training; for
        several models in folders `run_0`, `run_1` and so on within it.

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
        samples = sample(
            model, conditions, steps=sampling.steps, guidance=guidance, denoise=sampling.denoise,
            seed=int(drawn.generate_state(1)[0]), progress=False,
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


def save_samples(samples_of: Mapping[str, Float[np.ndarray, "n h w c"]], file: Path) -> None:
    """Save a figure with a row of samples for each prompt."""
    clipped = [np.clip(images[:IN_PICTURE], 0.0, 1.0) for images in samples_of.values()]
    rows = [
        np.pad(images, [(0, IN_PICTURE - len(images))] + [(0, 0)] * 3, constant_values=1.0)
        for images in clipped
    ]
    save_picture(file, image_grid(np.concatenate(rows), IN_PICTURE))
