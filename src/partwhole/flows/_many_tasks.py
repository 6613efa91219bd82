r"""Gradient flow of a diagonal linear network that learns several tasks with one first layer.

With :math:`u_t = -p_t \partial L_t / \partial \beta_t`, both :math:`(w_+, v_+)` and
:math:`(w_-, -v_-)` obey :math:`\dot w = u \cdot v, \dot v = u w`, feature by feature. The
directions of u at two moments don't commute, so that with several tasks, unlike with one, there
is no closed form in the accumulated gradients. The flow is stiff where some features have hardly
grown; its steps are explicit but stabilised, and take no matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_blas_funcs

from partwhole._types import Real
from partwhole.flows._follow import Stops, follow
from partwhole.flows._integrate import SMALL
from partwhole.flows._path import FlowOutcome
from partwhole.flows._stabilised import stabilised_steps
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits.diagonal import DiagonalWeights


def _half_gradient(task: QuadraticLoss) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function of coefficients that is half the gradient of a loss.

    Of many rows the second moment is read once, and half of it since it is symmetric: with 1,000
    features and as many samples a gradient takes a quarter of the time of two products.
    """
    rows, targets = task.rows, task.targets
    if rows is None:
        return lambda beta: beta - targets
    m, d = rows.shape
    if 4 * m <= d:
        return lambda beta: (rows @ beta - targets) @ rows
    moment, pulled = np.asfortranarray(rows.T @ rows), targets @ rows
    (product,) = get_blas_funcs(("symv",), (moment,))
    return lambda beta: product(1.0, moment, beta) - pulled


def follow_many_tasks(
    start: DiagonalWeights,
    tasks: Sequence[QuadraticLoss],
    shares: Sequence[float],
    stops: Stops,
    *,
    rtol: Real,
    atol: Real,
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T k d"], DiagonalWeights, FlowOutcome]:
    """Return times, coefficients and weights there, and how the flow ended."""
    # One row for each pathway, (w+, v+) and (w-, -v-): both then move alike.
    first = np.stack(
        [
            np.vstack([start.hidden_plus, start.readout_plus]),
            np.vstack([start.hidden_minus, -start.readout_minus]),
        ]
    )

    rates, half_gradients = [-2.0 * share for share in shares], [_half_gradient(t) for t in tasks]

    def velocity(state: np.ndarray) -> np.ndarray:
        hidden, readout = state[:, :1], state[:, 1:]
        beta = (hidden * readout).sum(axis=0)
        push = np.empty_like(beta)
        for t, (rate, half_gradient) in enumerate(zip(rates, half_gradients, strict=True)):
            push[t] = rate * half_gradient(beta[t])
        slope = np.empty_like(state)
        np.einsum("kd,ckd->cd", push, readout, out=slope[:, 0])
        np.multiply(push, hidden, out=slope[:, 1:])
        return slope

    def loss(state: np.ndarray) -> float:
        beta = (state[:, :1] * state[:, 1:]).sum(axis=0)
        return sum(
            p * float(task.losses(b)) for p, task, b in zip(shares, tasks, beta, strict=True)
        )

    scale = min(1.0, float(np.abs(first).max()) / SMALL)
    reached, states, outcome = follow(
        first,
        stabilised_steps(velocity, first, rtol=float(rtol), atol=float(atol) * scale),
        stops,
        loss,
    )
    plus, minus = states[:, 0], states[:, 1]
    weights = DiagonalWeights(plus[:, 0], plus[:, 1:], minus[:, 0], -minus[:, 1:])
    beta = (states[:, :, :1] * states[:, :, 1:]).sum(axis=1)
    return reached, beta, weights, outcome
