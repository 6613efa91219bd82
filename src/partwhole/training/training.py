"""Training settings: steps and batches, the loss, the optimiser, and stopping rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jax
import numpy as np
import optax
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Count, Index, NonNegative, Positive, Real
from partwhole.training.losses import Loss
from partwhole.training.order import Shuffle

Precision = Literal["float32", "float64", "bfloat16"]
Record = Literal["geometric"] | int | Sequence[int] | Int[np.ndarray, " T"]
FLOW = "normalised flow"
RATED = ("sgd", "adam", "adamw")  # optimisers with a learning rate
DIFFUSION: dict[str, Any] = {
    "steps": 20_000, "loss": "bits", "optimiser": "adamw", "learning_rate": 1e-3,
    "weight_decay": 0.01,
}  # fmt: skip
PUBLISHED: dict[str, dict[str, Any]] = {
    "convnet": {"optimiser": "sgd", "learning_rate": 1e-4, "momentum": 0.9, "epochs": 100},
    "resnet": {"learning_rate": 1e-3, "epochs": 100, "crop": 4, "flip": True},
    "vit": {"learning_rate": 1e-4, "epochs": 200, "crop": 4, "flip": True},
    "resnet-18": {"loss": "cross entropy", "optimiser": "sgd", "learning_rate": 1e-3,
                  "momentum": 0.9, "epochs": 1000, "threshold": 1e-2},
    "identity": {"optimiser": "sgd", "learning_rate": 0.1 / 64, "epochs": 40, "shuffle": "once"},
    "vit-finetuning": {"loss": "cross entropy", "learning_rate": 1e-3, "weight_decay": 0.5 * 5e-5,
                       "epochs": 1000, "threshold": 1e-2},
    "diffusion": DIFFUSION | {"batch": 64, "clip": 0.01},
    "diffusion as written": DIFFUSION,
    "diffusion unclipped": DIFFUSION | {"batch": 64},
}  # fmt: skip


@door
@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    r"""Training settings for networks of any family, as passed to `train`.

    The objective is the mean loss over all samples of all tasks, plus
    :math:`\lambda |\theta|^2`; with "adamw" the decay is no part of it.

    Parameters
    ----------
    steps : int, default None
    epochs : int, default None
        Passes over the samples; pass this or `steps`. Image networks take epochs.
    loss : {"squared", "logistic", "exponential", "cross entropy", "bits"}, default "squared"
        :math:`|f - y|^2`; of labels -1 and +1 :math:`\log(1 + e^{-y f})` or :math:`e^{-y f}`; or
        :math:`-\log p_y` of classes numbered from 0, by a softmax of the outputs. Several
        questions, targets of shape (n, q), share the outputs evenly, one after another. "bits" are
        the bits per dimension of a diffusion model, see `bits_per_dimension`.
    optimiser : {"sgd", "adam", "adamw", "normalised flow"} or optax.GradientTransformation
        "sgd" by default. "normalised flow", of gated networks without biases, follows
        :math:`\dot\theta = -\nabla \log \sum_i \ell_i` in adaptive steps: the path of gradient flow
        at another speed. At small losses gradient flow takes exponentially long, this does not, and
        it ends near a stationary point of the margin (Lyu & Li, ICLR 2020, for the limit; the steps
        are derived here). A unit of zeros stays zero. A transformation of optax sees the parameters
        of a diffusion model as one array.
    learning_rate : float, or float array, shape (runs,); default None
        Of "sgd", "adam" and "adamw", the same for all runs or one for each; None for 0.01. A
        transformation of optax has its own.
    momentum : float, default 0
        Applies only to "sgd"; from 0 to below 1.
    late_factor : float, default 1
        Factor of the learning rate from half-way on, for gated networks.
    weight_decay : float, default 0
        Lambda; with "adamw" that of `optax.adamw`, by whose product with the learning rate a step
        shrinks the parameters, apart from the gradient (Loshchilov & Hutter, ICLR 2019).
    clip : float, default None
        Largest norm of the gradient of the loss over all parameters, without weight decay; longer
        ones are rescaled to it. None for no limit.
    parametrisation : {"standard", "ntk"}, default "standard"
        "ntk", of an MLP, trains as if every weight were its initial standard deviation, as "he" and
        "framework" have it, times a parameter of unit variance: rates of a layer with n inputs are
        2 / n for weights and 1 / (3 n) for biases.
    trained : {"all", "readout"}, default "all"
        "readout", of diagonal and two-layer ReLU networks, keeps the hidden layer fixed.
    batch : int, default None
        Samples in a step, in an order drawn anew for each epoch, whose last batch may be smaller;
        None for all of them. Image networks and diffusion models leave out an incomplete last
        batch, other samples in each epoch.
    shuffle : {"every epoch", "once"}, default "every epoch"
        When the order of the samples in batches is drawn; "once" repeats that of the first epoch.
        Image networks and diffusion models have a new order in every epoch.
    seed : int or sequence of int, default 0
        For the order of batches, dropout, augmentation, the noise of diffusion models and their
        samples, and the samples of a structured identity task: run r has seed + r; or one for each
        run.
    crop : int, default 0
        Component images are shifted by up to so many pixels in each direction and padded with 0.
    flip : bool, default False
        Whether half of the component images are mirrored, left to right.
    drop_condition : float, default 0
        Of diffusion models: share of conditions that are replaced by the empty one, as
        classifier-free guidance requires (Ho & Salimans, 2022), from 0 to below 1.
    average : float, default None
        Of diffusion models: decay a of the exponential average of weights from which samples are
        drawn, :math:`\bar\theta \leftarrow a \bar\theta + (1 - a) \theta`, from 0 to below 1. None
        draws from the current weights, as published.
    keep_weights : bool, default None
        Of diffusion models: whether the weights from which samples are drawn are kept at each
        recorded step, in memory and in a checkpoint, 4 bytes a number, for `Runs.at` and
        `Runs.read`. None for where those of all runs take 256 MiB or less.
    threshold : float, default 0
        A run ends at the first step whose mean loss is no larger; with batches, and for gated
        networks, at the first such step that is recorded. For image networks, after the first
        epoch whose mean loss in training is no larger. Diffusion models have none.
    restarts : int, default 0
        How often a run that diverges is restarted at a tenth of its learning rate, as in the
        protocol of Lippl & Lindsey (NeurIPS 2024).
    record : "geometric", int or sequence of int, default None
        About 200 steps spaced geometrically; every so many steps; or the steps themselves. The
        last step is always added. Image networks are recorded after epochs, which this then
        counts; of diffusion models samples are drawn at these steps. None for "geometric", and for
        image networks and diffusion models for the end alone.
    precision : {"float32", "float64", "bfloat16"}, default None
        None for single precision, and double for the normalised flow. In single precision a loss
        may stall between 1e-9 and 1e-7. "bfloat16", of image networks and diffusion models, has
        convolutions and products of matrices in it, and weights, normalisation, the loss and the
        optimiser in single precision: for accelerators (times in docs/paper-presets.md).

    Raises
    ------
    InputError
        For numbers out of their range, options that don't exist, and options of another optimiser.

    See Also
    --------
    Training.published : the settings of the papers for their networks.

    Examples
    --------
    >>> Training(steps=5000, optimiser="adam", learning_rate=1e-3, threshold=1e-4).loss
    'squared'
    """

    steps: Count | None = None
    epochs: Count | None = None
    loss: Loss = "squared"
    optimiser: Literal["sgd", "adam", "adamw", "normalised flow"] | optax.GradientTransformation = (
        "sgd"
    )
    learning_rate: Positive | Float[np.ndarray, " runs"] | None = None
    momentum: Annotated[Real, Bounds(at_least=0, below=1)] = 0.0
    late_factor: Positive = 1.0
    weight_decay: NonNegative = 0.0
    clip: Positive | None = None
    parametrisation: Literal["standard", "ntk"] = "standard"
    trained: Literal["all", "readout"] = "all"
    batch: Count | None = None
    shuffle: Shuffle = "every epoch"
    seed: Index | Sequence[Index] | Int[np.ndarray, " runs"] = 0
    crop: Index = 0
    flip: bool = False
    drop_condition: Annotated[Real, Bounds(at_least=0, below=1)] = 0.0
    average: Annotated[Real, Bounds(at_least=0, below=1)] | None = None
    keep_weights: bool | None = None
    threshold: NonNegative = 0.0
    restarts: Index = 0
    record: Record | None = None
    precision: Precision | None = None

    def __post_init__(self) -> None:
        require(
            (self.steps is None) != (self.epochs is None),
            "training takes so many steps, or so many epochs",
            "neither" if self.steps is None else "both",
            "pass one of them",
        )
        if not isinstance(self.optimiser, str):
            _require_plain(self.optimiser)
        has_rate = self.optimiser in RATED
        title = self.optimiser if isinstance(self.optimiser, str) else "a transformation of optax"
        for name, applies in (
            ("learning_rate", self.learning_rate is None or has_rate),
            ("restarts", self.restarts == 0 or has_rate),
            ("momentum", self.momentum == 0 or self.optimiser == "sgd"),
            ("late_factor", self.late_factor == 1 or self.optimiser == "sgd"),
        ):
            of = '"sgd"' if name in ("momentum", "late_factor") else '"sgd", "adam" and "adamw"'
            require(applies, f"{name} is an option of {of}", f"it for {title}", "leave it out")
        for name, is_used in (
            ("drop_condition", self.drop_condition > 0),
            ("average", self.average is not None),
            ("keep_weights", self.keep_weights is not None),
        ):
            require(
                not is_used or self.loss == "bits",
                f"{name} is an option of diffusion models, by the loss 'bits'",
                f"it for the loss {self.loss!r}",
                "leave it out",
            )
        require(
            self.clip is None or self.parametrisation == "standard",
            "clip limits the gradient in the parametrisation 'standard'",
            f"{self.clip} for {self.parametrisation!r}",
            "leave one of them out",
        )
        require(
            self.optimiser != FLOW or (self.precision != "float32" and self.batch is None),
            "the normalised flow is of all samples, in double precision",
            "float32" if self.precision == "float32" else f"batches of {self.batch}",
            "leave it out",
        )

    @classmethod
    @door
    def published(
        cls,
        network: Literal[
            "convnet",
            "resnet",
            "vit",
            "resnet-18",
            "vit-finetuning",
            "identity",
            "diffusion",
            "diffusion as written",
            "diffusion unclipped",
        ],
        **changes: Any,
    ) -> Training:
        r"""Return the settings of the papers for one of their networks.

        Parameters
        ----------
        network : str
            "convnet", "resnet", "vit", "resnet-18", "vit-finetuning", "identity", "diffusion",
            "diffusion as written" or "diffusion unclipped".
            The first three of Lippl & Stachenfeld (ICLR 2025), by the loss "squared" or "logistic";
            images of CIFAR are shifted by up to 4 pixels and mirrored. The next two of Lippl &
            Lindsey (NeurIPS 2024), on classes of CIFAR-100, until the mean loss of an epoch is
            .01, for at most 1000 epochs; see `train_transfer`. "identity", of Yang et al. (ICLR
            2025), dense networks in d = 64 dimensions on structured identity tasks: their rate of
            0.1 for the mean over the d outputs is 0.1 / d for the sum, in other dimensions too. The
            last three of Yang et al. and Park et al. (NeurIPS 2024), 20,000 steps: their code, what
            they write, and their code without the limit on gradients.
        **changes
            Any fields, in place of the published values; with another optimiser the published
            momentum, with "adamw" instead of another or another instead of it the decay, and with a
            transformation of optax the learning rate, are left out.

        Raises
        ------
        InputError
            For another network.

        Notes
        -----
        Decay of 5e-5 times the weights, added to their gradients, is a `weight_decay` of 2.5e-5
        here.

        The papers on diffusion write of batches of 128 and 100 steps of sampling; their code has
        batches of 64, 50 steps of sampling (see `Sampling`) and gradients clipped at .01. With a
        learned schedule that limit all but stops the other parameters: the norm includes the slope
        of the reconstruction term with the first endpoint,
        :math:`e^{-5} / (2 s^2 \ln 2) = 4860` for s = .001, so that all slopes are multiplied by
        2e-6, and those that were under .005 fall below the 1e-8 that Adam adds to their root mean
        square. "diffusion" follows the code; "diffusion unclipped" does without the limit.

        Examples
        --------
        >>> training = Training.published("convnet", loss="logistic")
        >>> training.optimiser, training.learning_rate, training.momentum, training.batch
        ('sgd', 0.0001, 0.9, 128)
        >>> Training.published("diffusion").clip, Training.published("diffusion as written").batch
        (0.01, 128)
        """
        settings = {"batch": 128, "optimiser": "adam"} | PUBLISHED[network]
        if "steps" in changes or "epochs" in changes:
            settings.pop("epochs", None)
            settings.pop("steps", None)
        if "optimiser" in changes:  # of which these are options
            settings.pop("momentum", None)
            # The decay of "adamw" is another number than that of the objective.
            if (settings["optimiser"] == "adamw") != (changes["optimiser"] == "adamw"):
                settings.pop("weight_decay", None)
            if not isinstance(changes["optimiser"], str):
                settings.pop("learning_rate")
        return cls(**(settings | changes))

    @property
    def dtype(self) -> np.dtype:
        """Return the type of numbers in training."""
        if self.precision in ("float32", "float64"):
            return np.dtype(self.precision)
        return np.dtype("float64" if self.optimiser == FLOW else "float32")


def _require_plain(optimiser: optax.GradientTransformation) -> None:
    """Refuse a transformation that needs more than slopes, its state and parameters."""

    def step(parameters: jax.Array) -> object:
        return optimiser.update(parameters, optimiser.init(parameters), parameters)

    try:
        with jax.numpy_dtype_promotion("standard"):
            jax.eval_shape(step, jax.ShapeDtypeStruct((1,), np.float32))
    except TypeError as error:
        require(
            "keyword-only argument" not in str(error),
            "a transformation of optax turns slopes alone into updates",
            f"one that needs more, {error}",
            "pass another, such as optax.adamw(1e-3)",
        )
    except Exception:
        return  # one for parameters of another structure, which the first step will show
