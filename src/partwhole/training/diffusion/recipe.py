"""How a diffusion model is trained."""

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
    r"""State how a diffusion model is trained, by AdamW on its bits per dimension.

    Parameters
    ----------
    steps : int
    batch : int, default 64
    learning_rate : float, default 1e-3
    weight_decay : float, default 0.01
        Of all parameters, the learned endpoints of the noise among them.
    clip : float, default 1
        Slopes longer than this, all together, are shortened to it. None leaves them.
    drop_condition : float, default 0
        Share of conditions that are replaced by one that says nothing, as classifier-free guidance
        needs it (Ho & Salimans, 2022).
    average : float, default None
        Samples are asked of weights averaged over steps, of which each step keeps this share:
        :math:`\bar\theta \leftarrow a \bar\theta + (1 - a) \theta`. None: of the weights as they
        are, as published.
    sampling_steps : int, default 50
        From noise to sample, whenever samples are asked for.
    denoise : bool, default False
        Whether samples are estimates of x at time 0, or z there, on which some noise is left. See
        `networks.diffusion.sample`.

    Raises
    ------
    InputError
        For a number out of its range.

    Notes
    -----
    Yang et al. (ICLR 2025) and Park et al. (NeurIPS 2024) write of batches of 128 and 100 steps
    of sampling (`as_written`); their code has 64, 50 and slopes clipped at .01 (`published`).

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
        """Return how the authors' code trains: 20,000 steps of 64, slopes clipped at .01."""
        settings: dict[str, Any] = {"steps": 20_000, "clip": 0.01}
        return cls(**(settings | changes))

    @classmethod
    @door
    def as_written(cls, **changes: Any) -> DiffusionRecipe:
        """Return how the papers say it: 20,000 steps of 128, 100 steps of sampling, no limit."""
        settings: dict[str, Any] = {
            "steps": 20_000,
            "batch": 128,
            "clip": None,
            "sampling_steps": 100,
        }
        return cls(**(settings | changes))

    def transformation(self) -> optax.GradientTransformation:
        """Return what turns slopes into moves."""
        optimizer = optax.adamw(float(self.learning_rate), weight_decay=float(self.weight_decay))
        if self.clip is None:
            return optimizer
        return optax.chain(optax.clip_by_global_norm(float(self.clip)), optimizer)
