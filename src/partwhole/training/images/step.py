"""The step of an image network: what it changes, and one step of gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole.networks import ImageNetwork
from partwhole.training.checkpoints import fingerprint
from partwhole.training.losses import Loss
from partwhole.training.training import Training

# Steps at which a transformation of optax is recognised: 0, 1, 2, 3, 4, 6, 8 and so on.
PROBED = (0, 1, *sorted(factor << k for k in range(17) for factor in (2, 3)))


class Kind(NamedTuple):
    """Static settings, for which steps are compiled."""

    loss: Loss
    optimiser: str | optax.GradientTransformation
    learning_rate: float
    momentum: float
    weight_decay: float
    clip: float | None
    short: bool

    @classmethod
    def of(cls, training: Training, learning_rate: float) -> Kind:
        """Return the settings of a training's steps."""
        return cls(
            training.loss, training.optimiser, learning_rate, float(training.momentum),
            float(training.weight_decay), None if training.clip is None else float(training.clip),
            training.precision == "bfloat16",
        )  # fmt: skip

    def transformation(self) -> optax.GradientTransformation:
        """Return the transformation of gradients into changes of parameters."""
        if not isinstance(self.optimiser, str):
            rule = self.optimiser
        elif self.optimiser == "sgd":
            rule = optax.sgd(self.learning_rate, momentum=self.momentum or None)
        elif self.optimiser == "adam":
            rule = optax.adam(self.learning_rate)
        else:
            rule = optax.adamw(self.learning_rate, weight_decay=self.weight_decay)
        if self.weight_decay and self.optimiser != "adamw":
            # The slope of the decay times the square of the weights.
            rule = optax.chain(optax.add_decayed_weights(2.0 * self.weight_decay), rule)
        if self.clip is None:
            return rule
        return optax.chain(optax.clip_by_global_norm(self.clip), rule)


def settings_of(
    training: Training, kind: Kind, seed: int, optimiser_state: Any, parameters: Any
) -> tuple[dict[str, Any], str]:
    """Return the settings that a checkpoint must agree with, and a mark of the optimiser.

    The length of a run and what it keeps are none of them, as it may go on. A transformation of
    optax is known by its updates for slopes of 1 at steps up to 196,608, a half or a third apart;
    others need no mark.
    """
    optimiser, updates = training.optimiser, []
    if not isinstance(optimiser, str):
        ones = jax.tree.map(jnp.ones_like, parameters)

        @jax.jit
        def update(ones: Any, state: Any, parameters: Any, step: Int[Array, ""]) -> Any:
            at_step = jax.tree.map(
                lambda leaf: step.astype(leaf.dtype) if _counts_steps(leaf) else leaf, state
            )
            with jax.numpy_dtype_promotion("standard"):
                return kind.transformation().update(ones, at_step, parameters)[0]

        updates = [
            fingerprint({}, update(ones, optimiser_state, parameters, jnp.int32(step)))
            for step in PROBED
        ]
    name = optimiser if isinstance(optimiser, str) else "optax"
    settings = asdict(training) | {"optimiser": name, "seed": seed}
    for length in ("steps", "epochs", "record", "keep_weights"):
        settings.pop(length)
    mark = fingerprint({"updates": updates}, ())
    return {"training": settings, "learning rate": kind.learning_rate}, mark


def _counts_steps(leaf: Any) -> bool:
    """Return whether this part of an optimiser's state is a number of steps."""
    return leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jnp.integer)


class State(NamedTuple):
    """What a step changes: parameters, running statistics, optimiser state, step and losses."""

    kept: ImageNetwork
    rest: ImageNetwork
    optimiser: optax.OptState
    step: Int[Array, ""]
    total: Float[Array, " tasks"]  # sum over the epoch so far


@partial(jax.jit, static_argnames=("kind", "tasks"))
def begin(parameters: ImageNetwork, rest: ImageNetwork, *, kind: Kind, tasks: int) -> State:
    """Return the state before the first step, in one program.

    A step reuses the memory of its input; this copy keeps the caller's network intact.
    """
    kept, statistics = jax.tree.map(jnp.copy, (parameters, rest))
    optimiser = kind.transformation().init(cast(Any, kept))
    losses = jnp.zeros(tasks, jnp.float32)
    return State(kept, statistics, optimiser, jnp.zeros((), jnp.int32), losses)


@jax.jit
def copied(state: State) -> State:
    """Return a copy of a state, in one program."""
    return jax.tree.map(jnp.copy, state)


@runtime_checkable
class Course(Protocol):
    """Composition of an epoch of several tasks; a single task needs none."""

    @property
    def per_epoch(self) -> int:
        """Return the number of steps."""
        ...

    @property
    def batches(self) -> tuple[int, ...]:
        """Return the number of batches of each task, over which its loss is averaged."""
        ...

    @property
    def stopping(self) -> int:
        """Return how many tasks, from the first, have a loss that ends training."""
        ...

    @property
    def settings(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        ...

    @property
    def arrays(self) -> Any:
        """Return the arrays that a checkpoint must agree with."""
        ...

    def order(self, epoch: int) -> Any:
        """Return the order of the samples in an epoch."""
        ...

    def step(self, state: State, order: Any, key: PRNGKeyArray, place: int) -> State:
        """Take the step at a place of the epoch."""
        ...


def descend(
    state: State, loss: Callable[[ImageNetwork], tuple[Array, tuple[Array, ImageNetwork]]],
    kind: Kind,
) -> State:  # fmt: skip
    """Take a gradient step on a loss, which also returns the losses of all tasks and statistics."""
    (_, (losses, rest)), gradients = jax.value_and_grad(loss, has_aux=True)(state.kept)
    with jax.numpy_dtype_promotion("standard"):  # as optimisers expect
        updates, optimiser = kind.transformation().update(
            gradients, state.optimiser, cast(Any, state.kept)
        )
    parameters = eqx.apply_updates(state.kept, updates)
    return State(parameters, rest, optimiser, state.step + 1, state.total + losses)
