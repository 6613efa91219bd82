r"""Gradient flow of a diagonal linear network on one task, in as many unknowns as samples.

With :math:`s` the gradient accumulated on the coefficients, :math:`\dot s = -\partial L /
\partial \beta`, the flow stretches :math:`w_+ + v_+` and :math:`w_- - v_-` by :math:`e^s`, and
:math:`w_+ - v_+` and :math:`w_- + v_-` by :math:`e^{-s}`, feature by feature. So

.. math:: \beta(s) = \tfrac14 (A e^{2s} - B e^{-2s}) = \tfrac{k}{2} \sinh(2s + \delta),

with :math:`A = (w_+ + v_+)^2 + (w_- - v_-)^2` and :math:`B = (w_+ - v_+)^2 + (w_- + v_-)^2` at the
start, :math:`k = \sqrt{AB}` and :math:`\delta = \frac12 \ln(A/B)`.

Since :math:`s = X^\top \nu`, what is integrated is
:math:`\dot\nu = \frac2n (y - X \beta(X^\top \nu))` in n dimensions, whatever d, by an implicit
method: where some features have hardly grown, this is stiff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.integrate import BDF

from partwhole._types import Real
from partwhole.flows._follow import Step, Stops, follow
from partwhole.flows._path import FlowOutcome
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits.diagonal import DiagonalWeights

FURTHEST = 2.0  # that a step stretches the logarithm of a weight, where that has a size


def follow_one_task(
    start: DiagonalWeights, task: QuadraticLoss, stops: Stops, *, rtol: Real, atol: Real
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, "T d"], DiagonalWeights, FlowOutcome]:
    """Return times, coefficients and weights there, and how the flow ended."""
    x = np.eye(task.dimension) if task.rows is None else task.rows
    growth = Growth.of(start)

    def velocity(_: float, nu: np.ndarray) -> np.ndarray:
        return -2.0 * task.residual(growth.coefficients(nu @ x))

    def jacobian(_: float, nu: np.ndarray) -> np.ndarray:
        return -2.0 * (x * growth.slope(nu @ x)) @ x.T

    largest = np.abs(x).max(axis=1)
    usual = np.abs(task.targets).max() / max(largest.max(), 1e-300)
    # An error of nu is one of s as many times as large as an input; a row of zeros has none.
    atol_nu = float(atol) / np.where(largest > 0, largest, 1.0)

    def longest(nu: np.ndarray) -> float:
        """Return the longest step that tries no weights beyond the largest number."""
        rate, s = velocity(0.0, nu) @ x, nu @ x
        rising = np.where(rate > 0, growth.rising, growth.falling)
        # From tiny weights it is long until they have a size, and the gradient is constant so long.
        until_usual = 0.5 * (np.log(usual) - np.log(rising)) - np.sign(rate) * s
        return float(np.min((FURTHEST + np.maximum(until_usual, 0.0)) / np.abs(rate)))

    # A trial step may go far beyond where the loss is small; it is then refused.
    with np.errstate(all="ignore"):
        steps = _implicit_steps(
            velocity, jacobian, longest, len(x), stops.last, rtol=float(rtol), atol=atol_nu
        )
        reached, states, outcome = follow(
            np.zeros(len(x)),
            steps,
            stops,
            lambda nu: float(task.losses(growth.coefficients(nu @ x))),
        )
    accumulated = states @ x
    return reached, growth.coefficients(accumulated), growth.weights(accumulated), outcome


class Growth(NamedTuple):
    """Sums and differences of the initial weights, for each feature.

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
        """Return those of the weights at the start."""
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
        s = 2.0 * accumulated
        return 0.25 * (_stretched(self.rising, s) - _stretched(self.falling, -s))

    def slope(self, accumulated: np.ndarray) -> np.ndarray:
        """Return the derivative of beta by s; shape (..., d)."""
        s = 2.0 * accumulated
        return 0.5 * (_stretched(self.rising, s) + _stretched(self.falling, -s))

    def weights(self, accumulated: np.ndarray) -> DiagonalWeights:
        """Return the weights at accumulated gradients s, of shape (..., d)."""
        s = accumulated
        plus, plus_gap = _stretched(self.plus_sum, s), _stretched(self.plus_difference, -s)
        minus, minus_gap = _stretched(self.minus_sum, -s), _stretched(self.minus_difference, s)
        return DiagonalWeights(
            0.5 * (plus + plus_gap),
            0.5 * (plus - plus_gap),
            0.5 * (minus + minus_gap),
            0.5 * (minus - minus_gap),
        )


def _stretched(weight: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return weight times exp(exponent); what is 0 stays so however large the exponent."""
    return weight * np.exp(np.where(weight != 0.0, exponent, 0.0))


def _implicit_steps(
    velocity: Callable[[float, np.ndarray], np.ndarray],
    jacobian: Callable[[float, np.ndarray], np.ndarray],
    longest: Callable[[np.ndarray], float],
    n: int,
    last: float,
    *,
    rtol: float,
    atol: Float[np.ndarray, " n"],
) -> Iterator[Step]:
    """Yield the steps of backward differentiation formulas from 0, until they can't go on."""
    nu = np.zeros(n)
    try:
        solver = BDF(
            velocity, 0.0, nu, last, max_step=longest(nu), rtol=max(rtol, 1e-13),
            atol=atol, jac=jacobian,  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
        while solver.status == "running":
            start, solver.max_step = solver.t, longest(solver.y)
            solver.step()
            if solver.status != "failed":
                yield Step(start, solver.t, solver.y.copy(), solver.dense_output())
    except ValueError:
        # So SciPy ends where a slope is no finite number any more.
        return
