"""Diffusion models by name: the published one, and small ones for a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from partwhole._checks import require, whole
from partwhole._device import on_device
from partwhole._door import door
from partwhole._types import Real, Seed
from partwhole.networks.diffusion.model import DiffusionModel, Words
from partwhole.networks.diffusion.noise_mlp import noise_mlp
from partwhole.networks.diffusion.schedule import ENDS, linear_schedule
from partwhole.networks.diffusion.unet import unet

WORD_SIZE = 32
VECTOR_ENDS = (-5.0, 5.0)
SMALL: dict[str, Any] = {"blocks": 1, "heads": 2, "dropout": 0.0, "clock": 64}
SIZES: dict[str, tuple[int, dict[str, Any]]] = {
    "small16": (16, {"channels": (16, 32)} | SMALL),
    "small32": (32, {"channels": (16, 32, 64)} | SMALL),
    "paper": (32, {}),
}


@door
def diffusion_model(
    name: Literal["vector", "small16", "small32", "paper"],
    *,
    condition: int | None = None,
    vocabulary: int | None = None,
    size: int = 2,
    schedule: Literal["fixed", "learned"] | None = None,
    ends: Sequence[Real] | None = None,
    seed: Seed,
) -> DiffusionModel:
    """Draw a conditional diffusion model by its name.

    Parameters
    ----------
    name : {"vector", "small16", "small32", "paper"}
        "vector": 4 maps, 64 wide, for vectors. "small16" and "small32": U-Nets for images of 16 and
        32 pixels to a side, 16 to 32 or 64 channels, one block a level. "paper": that of Yang et
        al. (ICLR 2025), 32 pixels, 64 to 256 channels, two blocks a level, dropout 0.1.
    condition : int, keyword-only
        Conditions are vectors of this length: 4 for colour and size of circles, as the papers
        describe them, 11 in the papers' code.
    vocabulary : int, keyword-only
        Conditions are words, of this many tokens, 0 for an absent word; their vectors of 32 entries
        are learned. Pass this or `condition`.
    size : int, keyword-only, default 2
        Length of the vectors of "vector".
    schedule : {"fixed", "learned"}, keyword-only, default None
        Whether the endpoints of the noise are learned. None: learned for "paper", as published.
    ends : pair of float, keyword-only, default None
        The log of noise over signal at times 0 and 1. None: (-5, 10) for images, (-5, 5) for
        vectors.
    seed : int, keyword-only

    Returns
    -------
    DiffusionModel

    Raises
    ------
    InputError
        For an unknown name, and if both or neither of `condition` and `vocabulary` are passed.

    Examples
    --------
    >>> diffusion_model("small16", condition=4, seed=0).n_parameters
    121123
    >>> spoken = diffusion_model("small16", vocabulary=8, seed=0)
    >>> len(spoken.embed(np.array([[1, 4, 7]])))
    1
    """
    require(
        (condition is None) != (vocabulary is None),
        "conditions are either vectors or words",
        "both" if condition is not None else "neither",
        "pass condition, the length of a vector, or vocabulary, the number of tokens",
    )
    words = None
    if vocabulary is not None:
        whole("vocabulary", vocabulary, 2, "pass len(space.vocabulary)")
        drawn = np.random.default_rng([seed, 109]).standard_normal((vocabulary - 1, WORD_SIZE))
        words = Words(on_device(drawn, np.float32))
    length = WORD_SIZE if condition is None else condition
    if name == "vector":
        shape, usual = (size,), VECTOR_ENDS
        predictor: Any = noise_mlp(size, length, seed=seed)
    else:
        side, options = SIZES[name]
        shape, usual = (side, side, 3), ENDS
        predictor = unet(shape, length, seed=seed, **options)
    learned = schedule == "learned" or (schedule is None and name == "paper")
    noise = linear_schedule(usual if ends is None else ends, learned=learned)
    return DiffusionModel(predictor, noise, words, shape, length)
