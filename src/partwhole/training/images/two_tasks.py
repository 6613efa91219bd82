"""Epochs of two classification tasks: both in every step, or one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from partwhole._device import on_device
from partwhole.networks import ImageNetwork
from partwhole.training.images.assembly import Layout, Samples, assemble
from partwhole.training.images.step import Kind, State, descend
from partwhole.training.images.train import ORDER
from partwhole.training.losses import LOSSES

BESIDE = 108  # random stream of the second task's order, separate from that of the first


class Half(NamedTuple):
    """Samples of one of two tasks, and their classes."""

    samples: Samples
    goal: Int[Array, " n"]


class Stretch(NamedTuple):
    """Composition of the steps from some position in an epoch on."""

    tasks: tuple[int, ...]
    sizes: tuple[int, ...]  # of their batches
    weights: tuple[float, ...]  # of their losses
    start: int


@partial(
    jax.jit,
    static_argnames=("stretch", "per_epoch", "kind", "layout"),
    donate_argnames="state",
)
def take_joint_step(
    state: State,
    halves: tuple[Half, Half],
    orders: tuple[Int[Array, " l"], Int[Array, " m"]],
    key: PRNGKeyArray,
    *,
    stretch: Stretch,
    per_epoch: int,
    kind: Kind,
    layout: Layout,
) -> State:
    """Take one step on the batches whose turn it is, passed through the network as one.

    Batch normalisation then normalises by the same mixture that its running statistics describe.
    """
    turn = state.step % per_epoch - stretch.start
    for_images, for_network = jax.random.split(jax.random.fold_in(key, state.step))
    images, targets = [], []
    for task, size in zip(stretch.tasks, stretch.sizes, strict=True):
        rows = jax.lax.dynamic_slice(orders[task], (turn * size,), (size,))
        samples, goal = halves[task]
        images.append(assemble(samples, rows, layout, jax.random.fold_in(for_images, task)))
        targets.append(goal[rows])
    batch = jnp.concatenate(images)
    cuts = np.cumsum(stretch.sizes)[:-1]

    def loss(parameters: ImageNetwork) -> tuple[Array, tuple[Array, ImageNetwork]]:
        network = eqx.combine(parameters, state.rest)
        outputs, after = network.in_training(batch, for_network, short=kind.short)
        answers = jnp.split(outputs, cuts)
        task_losses = jnp.stack([
            LOSSES[kind.loss](*pair) for pair in zip(answers, targets, strict=True)
        ])  # fmt: skip
        value = jnp.sum(jnp.asarray(stretch.weights, task_losses.dtype) * task_losses)
        losses = jnp.zeros_like(state.total).at[jnp.asarray(stretch.tasks)].set(task_losses)
        return value, (losses, after.partition()[1])

    return descend(state, loss, kind)


@dataclass(frozen=True, eq=False)
class TwoTasks:
    """Composition of an epoch of a main and an auxiliary task.

    Parameters
    ----------
    halves : tuple of two Half
        The main task and the auxiliary one.
    kind : Kind
    batch : int
        Samples in a batch, or all of a task that has fewer.
    layout : Layout
    seed : int
    weight : float, default None
        Weight of the auxiliary loss. None is that of Lippl & Lindsey (NeurIPS 2024): the number of
        batches of the main task over that of the auxiliary one, both as fractions.
    together : bool
        Whether every step takes a batch of each task: an epoch is as long as the longer of the two,
        and the other starts over in a new order. Otherwise all batches of the main task come first,
        then all of the auxiliary one. Only joint training stops by both losses.
    """

    halves: tuple[Half, Half]
    kind: Kind
    batch: int
    layout: Layout
    seed: int
    weight: float | None
    together: bool

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the number of samples in a batch of each task."""
        return tuple(min(self.batch, len(half.goal)) for half in self.halves)

    @property
    def batches(self) -> tuple[int, ...]:
        """Return the number of batches of each task in an epoch."""
        counts = tuple(
            len(half.goal) // size for half, size in zip(self.halves, self.sizes, strict=True)
        )
        return (max(counts),) * 2 if self.together else counts

    @property
    def per_epoch(self) -> int:
        """Return the number of steps of an epoch."""
        return self.batches[0] if self.together else sum(self.batches)

    @property
    def stopping(self) -> int:
        """Return how many tasks, from the first, have a loss that ends training."""
        return 2 if self.together else 1

    @cached_property
    def auxiliary_weight(self) -> float:
        """Return the factor of the auxiliary loss."""
        if self.weight is not None:
            return float(self.weight)
        main, auxiliary = (
            len(half.goal) / size for half, size in zip(self.halves, self.sizes, strict=True)
        )
        return main / auxiliary

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """Return the stretches of an epoch, from the first step to the last."""
        weights = (1.0, self.auxiliary_weight)
        if self.together:
            return (Stretch((0, 1), self.sizes, weights, 0),)
        starts = (0, self.batches[0])
        return tuple(
            Stretch((task,), (self.sizes[task],), (weights[task],), starts[task]) for task in (0, 1)
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Return what a checkpoint must agree with."""
        return {"together": self.together, "auxiliary weight": self.auxiliary_weight}

    @property
    def arrays(self) -> tuple[Half, Half]:
        """Return the arrays that a checkpoint must agree with."""
        return self.halves

    def order(self, epoch: int) -> tuple[Int[Array, " l"], Int[Array, " m"]]:
        """Return the order of the samples of each task in an epoch."""
        first, second = (self._turns(task, epoch) for task in (0, 1))
        return first, second

    def step(self, state: State, order: Any, key: PRNGKeyArray, place: int) -> State:
        """Take the step at a place of the epoch."""
        stretch = [candidate for candidate in self.stretches if candidate.start <= place][-1]
        return take_joint_step(
            state, self.halves, order, key,
            stretch=stretch, per_epoch=self.per_epoch, kind=self.kind, layout=self.layout,
        )  # fmt: skip

    def _turns(self, task: int, epoch: int) -> Int[Array, " m"]:
        """Return as many passes over the samples of a task as the epoch takes."""
        rng = np.random.default_rng([self.seed, (ORDER, BESIDE)[task], epoch])
        n, size = len(self.halves[task].goal), self.sizes[task]
        whole, needed = n // size * size, self.batches[task] * size
        passes = [rng.permutation(n)[:whole] for _ in range(-(-needed // whole))]
        return on_device(np.concatenate(passes)[:needed], np.int32)
