r"""Diagonal linear networks that learn one task, or several with one first layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._follow import Stops
from partwhole.flows._many_tasks import follow_many_tasks
from partwhole.flows._one_task import follow_one_task
from partwhole.flows._path import Path
from partwhole.flows.quadratic_loss import QuadraticLoss, mean_shares
from partwhole.limits.diagonal import DiagonalWeights

# Inputs and targets; tasks differ in their number.
Sample = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]


@door
@dataclass(frozen=True, eq=False)
class Diagonal:
    r"""A diagonal linear network and its tasks, one for each readout.

    .. math:: \dot\theta = -\nabla_\theta L, \qquad
        L = \sum_t p_t L_t(\beta_t), \qquad
        \beta_t = w_+ \circ v_{+,t} - w_- \circ v_{-,t}

    For one sample, :math:`L = \tfrac1n |X \beta - y|^2`. Give inputs and targets of a sample, or
    tasks.

    Parameters
    ----------
    weights : DiagonalWeights
        Initial weights: hidden weights of shape (d,), readouts of shape (d,), or (k, d) for k
        tasks that share the first layer.
    inputs : float array, shape (n, d), default None
        X.
    targets : float array, shape (n,), default None
        y.
    tasks : sequence of QuadraticLoss, or of pairs (inputs, targets), keyword-only, default None
        One for each readout, in their order.
    shares : sequence of float, shape (k,), keyword-only, default None
        Weights :math:`p_t` of the tasks' mean square errors. None takes their shares of all
        samples, :math:`n_t / n`: one mean over all samples of all tasks.

    Raises
    ------
    InputError
        For weights of more than one network or all 0, and inputs, targets, tasks or shares that
        don't fit them.

    Notes
    -----
    With one task the flow is integrated in the gradients accumulated on the samples, as many
    unknowns as samples, by an implicit method. All that the weights conserve, they conserve
    exactly, and where the loss goes to 0 the end does not depend on errors of the path. Derived
    here; no condition on the initial weights is needed.

    With several tasks there is no such closed form, since the gradients at two moments do not
    commute; its steps are explicit but stabilised, and take no matrix. With one task in a readout
    of shape (1, d) it is the same flow by another route.

    Examples
    --------
    >>> from partwhole.flows import flow
    >>> x, y = np.array([[1.0, 2.0, 0.5]]), np.array([1.0])
    >>> path = flow(Diagonal(DiagonalWeights.constant(3, 0.01), x, y), until=1e-12)
    >>> path.states[-1].round(4).tolist(), path.outcome.name
    ([[0.007, 0.4963, 0.0008]], 'FITTED')

    >>> auxiliary = QuadraticLoss.from_population(np.array([1.0, 0.0]))
    >>> main = QuadraticLoss.from_sample(np.array([[1.0, 1.0]]), np.array([0.5]))
    >>> start = DiagonalWeights.constant(2, 0.01, n_tasks=2)
    >>> system = Diagonal(start, tasks=[auxiliary, main], shares=(0.5, 0.5))
    >>> flow(system, until=1e-9).states[-1, 1].round(3).tolist()
    [0.495, 0.005]
    """

    weights: DiagonalWeights
    inputs: Float[np.ndarray, "n d"] | None = None
    targets: Float[np.ndarray, " n"] | None = None
    _: KW_ONLY
    tasks: Sequence[QuadraticLoss | Sample] | None = None
    shares: Sequence[Real] | None = None

    def __post_init__(self) -> None:
        start = self.start
        readouts, dimension = np.atleast_2d(start.readout_plus).shape
        dimensions = [task.dimension for task in self.quadratic_losses]
        require(
            len(dimensions) == readouts,
            f"the network has a readout for each task, {readouts}",
            f"{len(dimensions)} tasks",
            "make initial weights by DiagonalWeights.constant(d, scale, n_tasks=k)",
        )
        require(
            set(dimensions) == {dimension},
            f"tasks have as many features as the network, {dimension}",
            ", ".join(map(str, dimensions)),
            "give all tasks and the network the same features",
        )
        _ = self.weighting

    @cached_property
    def start(self) -> DiagonalWeights:
        """The initial weights as floats."""
        return _checked_start(self.weights)

    @cached_property
    def quadratic_losses(self) -> tuple[QuadraticLoss, ...]:
        """The mean square error of each task."""
        if self.tasks is None:
            require(
                self.inputs is not None and self.targets is not None,
                "a diagonal network learns a sample, or tasks",
                "neither, or half a sample",
                "pass inputs and targets, or tasks=[...]",
            )
            assert self.inputs is not None
            assert self.targets is not None
            return (QuadraticLoss.from_sample(self.inputs, self.targets),)
        require(
            self.inputs is None and self.targets is None,
            "a diagonal network learns a sample, or tasks",
            "both",
            "pass tasks=[(inputs, targets), ...] for samples among them",
        )
        return tuple(
            task if isinstance(task, QuadraticLoss) else QuadraticLoss.from_sample(*task)
            for task in self.tasks
        )

    @cached_property
    def weighting(self) -> tuple[float, ...]:
        """The weight of each task in the training loss."""
        tasks, shares = self.quadratic_losses, self.shares
        if shares is None:
            return (1.0,) if len(tasks) == 1 else mean_shares(list(tasks))
        require(
            self.start.readout_plus.ndim == 2,
            "shares weigh the tasks of a network with an axis of tasks",
            f"readouts of shape {self.start.readout_plus.shape}",
            "leave shares out, or make weights by DiagonalWeights.constant(d, scale, n_tasks=k)",
        )
        require(
            len(shares) == len(tasks) and all(share > 0 for share in shares),
            f"shares are {len(tasks)} numbers above 0, one for each task",
            ", ".join(f"{share:g}" for share in shares) or "none",
            "pass the fraction of samples that each task has, say",
        )
        return tuple(float(share) for share in shares)

    def task_losses(self, states: Float[np.ndarray, "*t k d"]) -> Float[np.ndarray, "*t k"]:
        """Return the mean square error of each task, without its share.

        Parameters
        ----------
        states : float array, shape (..., k, d)
            Coefficients, such as a path's states.

        Returns
        -------
        float array, shape (..., k)
        """
        tasks = enumerate(self.quadratic_losses)
        return np.stack([task.losses(states[..., t, :]) for t, task in tasks], axis=-1)

    def losses(self, states: np.ndarray, offsets: np.ndarray | None = None) -> np.ndarray:
        """Return the training loss of each state, whose gradient the weights follow."""
        return self.task_losses(states) @ np.array(self.weighting)

    def best_answers(self, probes: np.ndarray) -> np.ndarray:
        """Refuse: many coefficients may fit a sample best, with as many answers."""
        require(
            False,
            "the targets of probes are not part of the tasks of a diagonal network",
            "probes without targets",
            "pass targets, one row for each probe",
        )
        raise AssertionError  # unreachable


def follow_diagonal(
    system: Diagonal,
    times: Float[np.ndarray, " T"] | None,
    *,
    until: Real | None = None,
    max_time: Real | None = None,
    rtol: Real | None = None,
    atol: Real = 1e-10,
    max_steps: int | None = None,
    max_gradients: int | None = None,
) -> Path:
    """Return the path of a diagonal network, in the time of gradient flow on its loss."""
    tasks, shares = system.quadratic_losses, system.weighting
    several = system.start.readout_plus.ndim == 2
    rtol = (1e-7 if several else 1e-8) if rtol is None else rtol
    require(
        several or max_gradients is None,
        "max_gradients bounds the work for several tasks",
        "one task",
        "leave it out, or lower max_steps",
    )
    stops = Stops.checked(
        times,
        until,
        (1e9 if several else 1e12) if max_time is None else max_time,
        (10_000 if several else 20_000) if max_steps is None else max_steps,
        sum(share * task.floor for share, task in zip(shares, tasks, strict=True)),
        (1_000_000 if max_gradients is None else max_gradients) if several else None,
    )
    if several:
        reached, coefficients, weights, outcome = follow_many_tasks(
            system.start, tasks, shares, stops, rtol=rtol, atol=atol
        )
    else:
        reached, beta, weights, outcome = follow_one_task(
            system.start, tasks[0], stops, rtol=rtol, atol=atol
        )
        coefficients = beta[:, None]
    return Path(reached, coefficients, "gradient", outcome, system=system, weights=weights)


def _checked_start(weights: DiagonalWeights) -> DiagonalWeights:
    """Return the weights of one network as floats."""
    hidden, readout, _, _ = layers = weights.checked()
    require(
        hidden.ndim == 1 and readout.ndim <= 2,
        "a flow starts at one network, with hidden weights of shape (d,) and readouts of shape "
        "(d,), or (k, d) for k tasks",
        f"shapes {hidden.shape} and {readout.shape}",
        "call it once for each network",
    )
    require(
        all(np.isfinite(layer).all() for layer in layers),
        "initial weights are finite",
        "NaN or infinity",
        "replace them",
    )
    require(
        any(layer.any() for layer in layers),
        "a flow starts at weights of which some are not 0",
        "zeros alone",
        "start from DiagonalWeights.constant(d, 0.001), say; from weights of zero nothing is "
        "learned",
    )
    return layers
