r"""Gradient flow of a diagonal linear network that learns several tasks with one first layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows._follow import Stops, follow
from partwhole.flows._integrate import SMALL
from partwhole.flows._stabilised import stabilised_steps
from partwhole.flows.diagonal import require_some_weight, require_tolerances
from partwhole.flows.diagonal_path import DiagonalPath, check_weights
from partwhole.flows.quadratic_loss import QuadraticLoss, mean_shares
from partwhole.limits.diagonal import DiagonalWeights

# Inputs and targets; tasks differ in their number.
Sample = tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]


@door(infinite=("max_time",))
def multitask_flow(
    weights: DiagonalWeights,
    tasks: Sequence[QuadraticLoss | Sample],
    times: Float[np.ndarray, " T"] | None = None,
    *,
    shares: Sequence[Real] | None = None,
    until: Real | None = None,
    max_time: Real = 1e9,
    rtol: Real = 1e-7,
    atol: Real = 1e-10,
    max_steps: int = 10_000,
    max_gradients: int = 1_000_000,
) -> DiagonalPath:
    r"""Integrate gradient flow of a diagonal network with one readout for each of k tasks.

    .. math:: \dot\theta = -\nabla_\theta L, \qquad
        L = \sum_t p_t L_t(\beta_t), \qquad
        \beta_t = w_+ \circ v_{+,t} - w_- \circ v_{-,t}

    Parameters
    ----------
    weights : DiagonalWeights, hidden of shape (d,), readouts of shape (k, d)
        The start.
    tasks : sequence of QuadraticLoss, or of pairs (inputs, targets)
        One for each readout, in their order.
    times : float array, shape (T,), default None
        When to record, increasing, from 0 or later; the flow stops at the last. None records the
        start and the end.
    shares : sequence of float, shape (k,), keyword-only, default None
        What each task's mean square error weighs, :math:`p_t`. None weighs them by their samples,
        :math:`n_t / n`: one mean over all samples of all tasks.
    until : float, keyword-only, default None
        A training loss L at which to stop; with `times`, if it is reached before their last.
    max_time : float, keyword-only, default 1e9
        When to stop where `until` is not reached.
    rtol, atol : float, keyword-only, defaults 1e-7 and 1e-10
        Tolerances on the weights, for each step; `rtol` below 1, and `atol` less in proportion
        for initial weights all below 1e-3: errors of small weights grow with them.
    max_steps : int, keyword-only, default 10000
    max_gradients : int, keyword-only, default 1,000,000
        Evaluations of the gradient, some hundred to a step where the flow is stiff; the flow stops
        at the first step that ends beyond.

    Returns
    -------
    DiagonalPath
        Its last time is where the flow stopped, and its `outcome` says why.

    Raises
    ------
    InputError
        For weights of more than one network or all 0, tasks or shares that don't fit its
        readouts, times that don't increase, neither `times` nor `until`, tolerances out of range,
        and a loss that can't be reached.

    Notes
    -----
    With :math:`u_t = -p_t \partial L_t / \partial \beta_t`, both :math:`(w_+, v_+)` and
    :math:`(w_-, -v_-)` obey :math:`\dot w = u \cdot v, \dot v = u w`, feature by feature. The
    directions of u at two moments don't commute, so that with several tasks, unlike with one,
    there is no closed form in the accumulated gradients. The flow is stiff where some features
    have hardly grown; its steps are explicit but stabilised, and take no matrix. With one task it
    is `diagonal_flow` by another route.

    Examples
    --------
    >>> aux = QuadraticLoss.from_population(np.array([1.0, 0.0]))
    >>> main = QuadraticLoss.from_sample(np.array([[1.0, 1.0]]), np.array([0.5]))
    >>> start = DiagonalWeights.constant(2, 0.01, n_tasks=2)
    >>> path = multitask_flow(start, [aux, main], shares=(0.5, 0.5), until=1e-9)
    >>> path.coefficients[-1, 1].round(3).tolist(), path.outcome.name
    ([0.495, 0.005], 'FITTED')
    """
    start = check_weights(weights, many_tasks=True)
    require_some_weight(start)
    readouts, dimension = start.readout_plus.shape
    losses = [_task(each) for each in tasks]
    require(
        len(losses) == readouts,
        f"the network has a readout for each task, {readouts}",
        f"{len(losses)} tasks",
        "make initial weights by DiagonalWeights.constant(d, scale, n_tasks=k)",
    )
    wide = [each.dimension for each in losses]
    require(
        set(wide) == {dimension},
        f"tasks have as many features as the network, {dimension}",
        ", ".join(map(str, wide)),
        "give all tasks the same features",
    )
    weigh = _shares(shares, losses)
    require_tolerances(rtol, atol, "leave their defaults, 1e-7 and 1e-10")
    floor = sum(p * each.floor for p, each in zip(weigh, losses, strict=True))
    stops = Stops.checked(times, until, max_time, max_steps, floor, max_gradients)

    # One row for each pathway, (w+, v+) and (w-, -v-): both then move alike.
    first = np.stack(
        [
            np.vstack([start.hidden_plus, start.readout_plus]),
            np.vstack([start.hidden_minus, -start.readout_minus]),
        ]
    )

    rates = [-2.0 * share for share in weigh]

    def velocity(state: np.ndarray) -> np.ndarray:
        hidden, readout = state[:, :1], state[:, 1:]
        beta = (hidden * readout).sum(axis=0)
        push = np.empty_like(beta)
        for t, (rate, task) in enumerate(zip(rates, losses, strict=True)):
            rows, target = task.rows, task.targets
            push[t] = rate * (
                beta[t] - target if rows is None else (rows @ beta[t] - target) @ rows
            )
        moved = np.empty_like(state)
        np.einsum("kd,ckd->cd", push, readout, out=moved[:, 0])
        np.multiply(push, hidden, out=moved[:, 1:])
        return moved

    def loss(state: np.ndarray) -> float:
        beta = (state[:, :1] * state[:, 1:]).sum(axis=0)
        return sum(
            p * float(task.losses(b)) for p, task, b in zip(weigh, losses, beta, strict=True)
        )

    small = min(1.0, float(np.abs(first).max()) / SMALL)
    found, states, ending = follow(
        first,
        stabilised_steps(velocity, first, rtol=float(rtol), atol=float(atol) * small),
        stops,
        loss,
    )
    plus, minus = states[:, 0], states[:, 1]
    reached = DiagonalWeights(plus[:, 0], plus[:, 1:], minus[:, 0], -minus[:, 1:])
    beta = (states[:, :, :1] * states[:, :, 1:]).sum(axis=1)
    each = np.stack([task.losses(beta[:, t]) for t, task in enumerate(losses)], axis=1)
    return DiagonalPath(found, reached, each @ np.array(weigh), each, ending)


def _task(given: QuadraticLoss | Sample) -> QuadraticLoss:
    return given if isinstance(given, QuadraticLoss) else QuadraticLoss.from_sample(*given)


def _shares(shares: Sequence[Real] | None, losses: list[QuadraticLoss]) -> tuple[float, ...]:
    if shares is None:
        return mean_shares(losses)
    require(
        len(shares) == len(losses) and all(p > 0 for p in shares),
        f"shares are {len(losses)} numbers above 0, one for each task",
        ", ".join(f"{p:g}" for p in shares) or "none",
        "pass the fraction of samples that each task has, say",
    )
    return tuple(float(p) for p in shares)
