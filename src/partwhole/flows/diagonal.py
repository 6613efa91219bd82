r"""Gradient flow of a diagonal linear network on one task, in as many unknowns as samples.

With :math:`s` the gradient accumulated on the coefficients, :math:`\dot s = -\partial L /
\partial \beta`, the flow stretches :math:`w_+ + v_+` and :math:`w_- - v_-` by :math:`e^s`, and
:math:`w_+ - v_+` and :math:`w_- + v_-` by :math:`e^{-s}`, feature by feature. So

.. math:: \beta(s) = \tfrac14 (A e^{2s} - B e^{-2s}) = \tfrac{k}{2} \sinh(2s + \delta),

with :math:`A = (w_+ + v_+)^2 + (w_- - v_-)^2` and :math:`B = (w_+ - v_+)^2 + (w_- + v_-)^2` at the
start, :math:`k = \sqrt{AB}` and :math:`\delta = \frac12 \ln(A/B)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import BDF

from partwhole._checks import require
from partwhole._types import Real
from partwhole.flows._follow import Step, Stops, follow
from partwhole.flows.diagonal_path import DiagonalPath, check_weights
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits.diagonal import DiagonalWeights


def diagonal_flow(
    weights: DiagonalWeights,
    inputs: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, " n"],
    times: Float[np.ndarray, " T"] | None = None,
    *,
    until: Real | None = None,
    max_time: Real = 1e12,
    rtol: Real = 1e-8,
    atol: Real = 1e-10,
    max_steps: int = 20_000,
) -> DiagonalPath:
    r"""Integrate gradient flow of a diagonal network on the mean square error of one task.

    .. math:: \dot\theta = -\nabla_\theta L, \qquad L = \tfrac1n |X \beta - y|^2

    Parameters
    ----------
    weights : DiagonalWeights, shapes (d,)
        The start.
    inputs : float array, shape (n, d)
        X.
    targets : float array, shape (n,)
        y.
    times : float array, shape (T,), default None
        When to record, increasing, from 0 or later; the flow stops at the last. None records the
        start and the end.
    until : float, keyword-only, default None
        A training loss at which to stop; with `times`, if it is reached before their last.
    max_time : float, keyword-only, default 1e12
        When to stop where `until` is not reached.
    rtol, atol : float, keyword-only, defaults 1e-8 and 1e-10
        Tolerances on the accumulated gradients, that is, on the logarithms of weights.
    max_steps : int, keyword-only, default 20000

    Returns
    -------
    DiagonalPath
        Its last time is where the flow stopped, and its `outcome` says why.

    Raises
    ------
    InputError
        For weights of more than one network, inputs and targets that don't fit them, times that
        don't increase, neither `times` nor `until`, and a loss that can't be reached.

    Notes
    -----
    Since :math:`s = X^\top \nu`, what is integrated is
    :math:`\dot\nu = \frac2n (y - X \beta(X^\top \nu))` in n dimensions, whatever d, by an
    implicit method: where some features have hardly grown, this is stiff. All that the weights
    conserve, they conserve exactly, and where the loss goes to 0 the end does not depend on
    errors of the path. Derived here; no condition on the initial weights is needed.

    Examples
    --------
    >>> x, y = np.array([[1.0, 2.0, 0.5]]), np.array([1.0])
    >>> path = diagonal_flow(DiagonalWeights.constant(3, 0.01), x, y, until=1e-12)
    >>> path.coefficients[-1].round(4).tolist(), path.outcome.name
    ([0.007, 0.4963, 0.0008], 'FITTED')
    """
    start = check_weights(weights, many_tasks=False)
    task = QuadraticLoss.from_sample(inputs, targets)
    require(
        task.dimension == len(start.hidden_plus),
        f"inputs have as many features as the network, {len(start.hidden_plus)}",
        task.dimension,
        "pass weights and inputs of one problem",
    )
    require(rtol > 0 and atol > 0, "rtol and atol are positive", f"{rtol}, {atol}", "use 1e-8")
    stops = Stops.checked(times, until, max_time, max_steps, task.floor)
    x = task.rows
    assert x is not None  # a sample has rows
    growth = Growth.of(start)

    def velocity(_: float, nu: np.ndarray) -> np.ndarray:
        return -2.0 * task.residual(growth.coefficients(nu @ x))

    def jacobian(_: float, nu: np.ndarray) -> np.ndarray:
        return -2.0 * (x * growth.slope(nu @ x)) @ x.T

    # A trial step may go far beyond where the loss is small; it is then refused.
    with np.errstate(over="ignore", invalid="ignore"):
        steps = _implicit_steps(velocity, jacobian, len(x), stops.last, float(rtol), float(atol))
        found, states, ending = follow(
            np.zeros(len(x)), steps, stops, lambda nu: task(growth.coefficients(nu @ x))
        )
    accumulated = states @ x
    losses = task.losses(growth.coefficients(accumulated))
    reached = growth.weights(accumulated)
    return DiagonalPath(found, reached, losses, losses[:, None], ending)


class Growth(NamedTuple):
    """Hold what the four sums and differences of the initial weights are, per feature.

    Parameters
    ----------
    plus_sum, plus_difference, minus_sum, minus_difference : float arrays, shape (d,)
        w+ + v+, w+ - v+, w- + v- and w- - v-.

    Examples
    --------
    >>> growth = Growth.of(DiagonalWeights.constant(1, 0.1))
    >>> growth.coefficients(np.array([2.0])).round(6), (0.02 * np.sinh(4.0)).round(6)
    (array([0.545798]), np.float64(0.545798))
    """

    plus_sum: np.ndarray
    plus_difference: np.ndarray
    minus_sum: np.ndarray
    minus_difference: np.ndarray

    @classmethod
    def of(cls, weights: DiagonalWeights) -> Growth:
        """Read it off the weights at the start."""
        w, v, x, y = weights
        return cls(w + v, w - v, x + y, x - y)

    @property
    def rising(self) -> np.ndarray:
        """Return A, the weight of exp(2s)."""
        return self.plus_sum**2 + self.minus_difference**2

    @property
    def falling(self) -> np.ndarray:
        """Return B, the weight of exp(-2s)."""
        return self.plus_difference**2 + self.minus_sum**2

    def coefficients(self, accumulated: np.ndarray) -> np.ndarray:
        """Return beta at accumulated gradients s; shape (..., d), as theirs."""
        up = np.exp(2.0 * accumulated)
        return 0.25 * (self.rising * up - self.falling / up)

    def slope(self, accumulated: np.ndarray) -> np.ndarray:
        """Return the derivative of beta by s; shape (..., d)."""
        up = np.exp(2.0 * accumulated)
        return 0.5 * (self.rising * up + self.falling / up)

    def weights(self, accumulated: np.ndarray) -> DiagonalWeights:
        """Return the weights at accumulated gradients s, of shape (..., d)."""
        up = np.exp(accumulated)
        one, two = self.plus_sum * up, self.plus_difference / up
        three, four = self.minus_sum / up, self.minus_difference * up
        return DiagonalWeights(
            0.5 * (one + two), 0.5 * (one - two), 0.5 * (three + four), 0.5 * (three - four)
        )


def _implicit_steps(
    velocity: Callable[[float, np.ndarray], np.ndarray],
    jacobian: Callable[[float, np.ndarray], np.ndarray],
    n: int,
    last: float,
    rtol: float,
    atol: float,
) -> Iterator[Step]:
    """Yield the steps of backward differentiation formulas from 0, until they can't go on."""
    solver = BDF(velocity, 0.0, np.zeros(n), last, rtol=max(rtol, 1e-13), atol=atol, jac=jacobian)
    while solver.status == "running":
        start = solver.t
        solver.step()
        if solver.status != "failed":
            yield Step(start, solver.t, solver.y.copy(), solver.dense_output())
