"""Training settings of a diffusion model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import optax

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real


@door
@dataclass(frozen=True, kw_only=True)
class DiffusionRecipe:
    r"""Training settings of a diffusion model: AdamW on its bits per dimension.

    Parameters
    ----------
    steps : int
    batch : int, default 64
    learning_rate : float, default 1e-3
    weight_decay : float, default 0.01
        Of all parameters, including the learned endpoints of the noise.
    clip : float, default 1
        Largest norm of the gradient over all parameters; longer ones are rescaled to it. None
        for no limit.
    drop_condition : float, default 0
        Share of conditions that are replaced by the empty one, as classifier-free guidance requires
        (Ho & Salimans, 2022).
    average : float, default None
        Decay a of the exponential average of weights from which samples are drawn,
        :math:`\bar\theta \leftarrow a \bar\theta + (1 - a) \theta`. None draws from the current
        weights, as published.
    sampling_steps : int, default 50
        Steps from noise to sample.
    denoise : bool, default False
        Whether samples are estimates of x at time 0, or z at time 0, which retains some noise. See
        `networks.diffusion.sample`.

    Raises
    ------
    InputError
        For a number out of its range.

    Notes
    -----
    Yang et al. (ICLR 2025) and Park et al. (NeurIPS 2024) write of batches of 128 and 100 steps
    of sampling (`as_written`); their code has 64, 50 and gradients clipped at .01 (`published`).

    Examples
    --------
    >>> DiffusionRecipe.published().clip, DiffusionRecipe.as_written().batch
    (0.01, 128)
    """

    steps: int
    batch: int = 64
    learning_rate: Real = 1e-3
    weight_decay: Real = 0.01
    clip: Real | None = 1.0
    drop_condition: Real = 0.0
    average: Real | None = None
    sampling_steps: int = 50
    denoise: bool = False

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "sampling_steps"):
            whole(name, getattr(self, name), 1, "pass 64, say")
        for name in ("learning_rate", "clip"):
            value = getattr(self, name)
            require(
                value is None or value > 0,
                f"{name} is a positive number",
                repr(value),
                "pass 1e-3, say" if name == "learning_rate" else "pass 1, or None for no limit",
            )
        require(
            self.weight_decay >= 0,
            "weight_decay is at least 0",
            self.weight_decay,
            "pass 0.01, say",
        )
        for name in ("drop_condition", "average"):
            value = getattr(self, name)
            require(
                value is None or 0 <= value < 1,
                f"{name} is a share from 0 to below 1",
                repr(value),
                "pass 0.1, say" if name == "drop_condition" else "pass 0.999, say, or None",
            )

    @classmethod
    @door
    def published(cls, **changes: Any) -> DiffusionRecipe:
        """Return those of the authors' code: 20,000 steps of 64, gradients clipped at .01."""
        settings: dict[str, Any] = {"steps": 20_000, "clip": 0.01}
        return cls(**(settings | changes))

    @classmethod
    @door
    def as_written(cls, **changes: Any) -> DiffusionRecipe:
        """Return those in the papers: 20,000 steps of 128, 100 sampling steps, no clipping."""
        settings: dict[str, Any] = {
            "steps": 20_000,
            "batch": 128,
            "clip": None,
            "sampling_steps": 100,
        }
        return cls(**(settings | changes))

    def transformation(self) -> optax.GradientTransformation:
        """Return the optimizer, which turns gradients into updates."""
        optimizer = optax.adamw(float(self.learning_rate), weight_decay=float(self.weight_decay))
        if self.clip is None:
            return optimizer
        return optax.chain(optax.clip_by_global_norm(float(self.clip)), optimizer)
