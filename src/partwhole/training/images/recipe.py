"""Training settings of an image network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import optax

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real
from partwhole.training.losses import Loss

Optimizer = Literal["sgd", "adam"]


@door
@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Training settings of an image network.

    Parameters
    ----------
    loss : {"squared", "logistic", "cross entropy"}
        For numbers, for labels -1 and +1, and for classes numbered from 0, of one question or
        several.
    optimizer : {"sgd", "adam"}, default "adam"
    learning_rate : float, default 1e-3
    momentum : float, default 0
        Applies only to "sgd": a step is the gradient plus this share of the previous step; from 0
        to below 1.
    weight_decay : float, default 0
        This times the weights is added to gradients, as in common frameworks.
    batch : int, default 128
        Samples in a step. An epoch leaves out an incomplete last batch, other samples each time.
    epochs : int, default 100
    stop_loss : float, default None
        Training ends after the first epoch whose mean loss is below.
    diverged_loss : float, default 200
        Training ends after the first epoch whose mean loss is above, or is not a number.
    crop : int, default 0
        Component images are shifted by up to so many pixels in each direction and padded with 0.
    flip : bool, default False
        Whether half of the component images are mirrored, left to right.

    Raises
    ------
    InputError
        For an unknown option or a number out of its range.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025) train the ConvNet by `Recipe.published("convnet", loss)` and so
    on; images of CIFAR are shifted by up to 4 pixels and mirrored. The recipes of Lippl & Lindsey
    (NeurIPS 2024) are `Recipe.published_transfer("resnet-18")` and so on; see `train_transfer`.

    Examples
    --------
    >>> Recipe.published("convnet", "squared")
    Recipe(loss='squared', optimizer='sgd', learning_rate=0.0001, momentum=0.9, weight_decay=0.0,
    batch=128, epochs=100, stop_loss=None, diverged_loss=200.0, crop=0, flip=False)
    """

    loss: Loss
    optimizer: Optimizer = "adam"
    learning_rate: Real = 1e-3
    momentum: Real = 0.0
    weight_decay: Real = 0.0
    batch: int = 128
    epochs: int = 100
    stop_loss: Real | None = None
    diverged_loss: Real = 200.0
    crop: int = 0
    flip: bool = False

    def __post_init__(self) -> None:
        for name in ("learning_rate", "diverged_loss"):
            value = getattr(self, name)
            require(
                value > 0,
                f"{name} is a positive number",
                value,
                "pass 1e-3, say" if name == "learning_rate" else "pass 200, say",
            )
        require(
            0 <= self.momentum < 1,
            "momentum is a share from 0 to below 1",
            repr(self.momentum),
            "pass 0.9, say",
        )
        require(
            self.optimizer == "sgd" or self.momentum == 0,
            'momentum is of "sgd"',
            f"{self.momentum!r} for {self.optimizer!r}",
            "leave it out",
        )
        require(
            self.weight_decay >= 0,
            "weight_decay is at least 0",
            self.weight_decay,
            "pass 5e-5, say",
        )
        whole("batch", self.batch, 1, "pass 128, say")
        whole("epochs", self.epochs, 1, "pass 100, say")
        whole("crop", self.crop, 0, "pass 4, say")
        require(
            self.stop_loss is None or self.stop_loss > 0,
            "stop_loss is a positive number",
            self.stop_loss,
            "leave it out to train for all epochs",
        )

    @classmethod
    @door
    def published(cls, network: str, loss: Loss) -> Recipe:
        """Return how Lippl & Stachenfeld (ICLR 2025) train one of their networks.

        Parameters
        ----------
        network : {"convnet", "resnet", "vit"}
        loss : {"squared", "logistic"}

        Raises
        ------
        InputError
            For another network.
        """
        require(
            network in ("convnet", "resnet", "vit"),
            "a published recipe is that of convnet, resnet or vit",
            repr(network),
            "write your own",
        )
        if network == "convnet":
            return cls(loss=loss, optimizer="sgd", learning_rate=1e-4, momentum=0.9)
        if network == "resnet":
            return cls(loss=loss, crop=4, flip=True)
        return cls(loss=loss, learning_rate=1e-4, epochs=200, crop=4, flip=True)

    @classmethod
    @door
    def published_transfer(cls, network: str) -> Recipe:
        """Return how Lippl & Lindsey (NeurIPS 2024) train a network on classes of CIFAR-100.

        Until the mean loss of an epoch is below 0.01, for at most 1000 epochs.

        Parameters
        ----------
        network : {"resnet-18", "vit-finetuning"}

        Raises
        ------
        InputError
            For another network.

        Examples
        --------
        >>> recipe = Recipe.published_transfer("vit-finetuning")
        >>> recipe.optimizer, recipe.learning_rate, recipe.weight_decay
        ('adam', 0.001, 5e-05)
        """
        require(
            network in ("resnet-18", "vit-finetuning"),
            "a published recipe of transfer is that of resnet-18 or vit-finetuning",
            repr(network),
            "write your own",
        )
        if network == "resnet-18":
            return cls(
                loss="cross entropy", optimizer="sgd", momentum=0.9, epochs=1000, stop_loss=1e-2
            )
        return cls(loss="cross entropy", weight_decay=5e-5, epochs=1000, stop_loss=1e-2)

    def transformation(self) -> optax.GradientTransformation:
        """Return the optimizer."""
        optimizer = (
            optax.sgd(float(self.learning_rate), momentum=float(self.momentum) or None)
            if self.optimizer == "sgd"
            else optax.adam(float(self.learning_rate))
        )
        if not self.weight_decay:
            return optimizer
        return optax.chain(optax.add_decayed_weights(float(self.weight_decay)), optimizer)


def of_a_step(recipe: Recipe) -> Recipe:
    """Return a recipe with only the settings of a step, so that others cause no recompilation.

    The length of training is left out, and batch, crop and flip, which a step gets separately.
    """
    return Recipe(
        loss=recipe.loss,
        optimizer=recipe.optimizer,
        learning_rate=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
    )
