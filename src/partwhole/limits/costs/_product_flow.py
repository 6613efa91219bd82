r"""Gradient flow of a product of weights, as a function of the force that has acted on it.

For weights :math:`w_1 \dots w_D` with :math:`P = \prod_l w_l`, gradient flow of a loss of P is

.. math:: \frac{dw_l}{ds} = \prod_{m \ne l} w_m , \qquad s = -\int_0^t \frac{\partial L}{\partial P}
          \, dt ,

which conserves :math:`w_l^2 - w_m^2`. With b the weight of the smallest size, which alone can
change its sign, and :math:`\kappa_m = w_m^2 - b^2 \ge 0` of the others,

.. math:: s = \int_{b_0}^{b} \prod_m (t^2 + \kappa_m)^{-1/2}\, dt , \qquad
          P = b \prod_m \sqrt{b^2 + \kappa_m} , \qquad
          \int_0^s P\, ds = \tfrac12 (b^2 - b_0^2) .

From three weights on, b is infinite at a finite s. With :math:`b = \epsilon \sinh \tau`
(:math:`\epsilon^2` the smallest :math:`\kappa`; :math:`b = e^\tau` if that is 0) the integrand is
smooth on the scale of 1, so that quadrature on narrow panels is exact to rounding; beyond the
panels one power of b is. Derived here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

# Gauss's rule with six nodes on a panel: the singularities of the integrand, at a distance of pi/2
# from the real axis, leave an error of 1e-17.
PANEL = 0.25
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
# Beyond this ratio of b to the largest root of kappa, or its inverse to the smallest, one power of
# b is exact to rounding.
FAR = 1e9
# After a cubic polynomial between the edges of a panel.
NEWTON_STEPS = 3


class Moved(NamedTuple):
    """Products after a force, their derivatives by it, and their integrals over it."""

    product: Float[np.ndarray, " p"]
    slope: Float[np.ndarray, " p"]
    integral: Float[np.ndarray, " p"]


@dataclass(frozen=True, eq=False)
class ProductFlow:
    """The flows of p products of D weights, tabulated for the k different ones.

    A product below 0 is minus that of weights whose product is above 0, with the force reversed.

    Parameters
    ----------
    index : int array, shape (p,)
        The flow of each product.
    sign : float array, shape (p,)
        That of the product at the start; 1 for a product of 0.
    start : float array, shape (k,)
        The size of the smallest weight at the start.
    kappa : float array, shape (D - 1, k)
        Squares of the other weights less its square, at least 0.
    edges, force : float arrays, shape (k, J)
        The edges of the panels in tau, and s there.
    """

    index: Int[np.ndarray, " p"]
    sign: Float[np.ndarray, " p"]
    start: Float[np.ndarray, " k"]
    kappa: Float[np.ndarray, "m k"]
    edges: Float[np.ndarray, "k J"]
    force: Float[np.ndarray, "k J"]

    @classmethod
    def of(cls, weights: Float[np.ndarray, "D p"]) -> ProductFlow:
        """Return the flows that begin at these weights, of which at most one of a product is 0."""
        sign = np.where(np.prod(np.sign(weights), axis=0) < 0, -1.0, 1.0)
        size, index = np.unique(np.sort(np.abs(weights), axis=0), axis=1, return_inverse=True)
        start, kappa = size[0], (size[1:] - size[0]) * (size[1:] + size[0])
        least, largest = np.sqrt(kappa.min(axis=0)), np.sqrt(kappa.max(axis=0))
        crosses = least > 0.0
        begin = _tau(start, least)
        # The panels reach from where the smallest root of kappa is large to where all are small.
        above = np.where(largest > 0.0, FAR * largest, start)
        positive = np.sqrt(np.min(np.where(kappa > 0.0, kappa, np.inf), axis=0))
        below = np.where(np.isfinite(positive), positive / FAR, start)
        last = _tau(np.maximum(above, start), least)
        first = np.where(crosses, -last, _tau(np.minimum(below, start), least))
        n_up, n_down = (1 + int(np.ceil(x.max() / PANEL)) for x in (last - begin, begin - first))
        edges = begin[:, None] + PANEL * np.arange(-n_down, n_up + 1.0)
        flow = cls(index.ravel(), sign, start, kappa, edges, np.zeros_like(edges))
        every = np.arange(len(start))
        steps = flow._between(every[:, None], edges[:, :-1], edges[:, 1:])
        force = np.zeros_like(edges)
        force[:, n_down + 1 :] = np.cumsum(steps[:, n_down:], axis=1)
        force[:, :n_down] = -np.cumsum(steps[:, :n_down][:, ::-1], axis=1)[:, ::-1]
        return replace(flow, force=force)

    @property
    def depth(self) -> int:
        """Return the number of weights D."""
        return len(self.kappa) + 1

    @cached_property
    def least(self) -> Float[np.ndarray, " k"]:
        """Return the smallest root of kappa: above 0 where the product can change its sign."""
        return np.sqrt(self.kappa.min(axis=0))

    @cached_property
    def ends(self) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return the forces at which the products are infinite, below and above."""
        power = self.depth - 2
        if power == 0:
            end = np.full(self.index.shape, np.inf)
            return -end, end
        low, high = (np.abs(_weight(self.edges[:, j], self.least)) for j in (0, -1))
        below = np.where(self.least > 0, self.force[:, 0] - low**-power / power, -np.inf)
        above = self.force[:, -1] + high**-power / power
        below, above = below[self.index], above[self.index]
        positive = self.sign > 0
        return np.where(positive, below, -above), np.where(positive, above, -below)

    @property
    def rises(self) -> Bool[np.ndarray, " p"]:
        """Return which products can grow beyond every bound."""
        return (self.sign > 0) | (self.least > 0)[self.index]

    @property
    def falls(self) -> Bool[np.ndarray, " p"]:
        """Return which products can fall below every bound."""
        return (self.sign < 0) | (self.least > 0)[self.index]

    def repeated(self, p: int) -> ProductFlow:
        """Return the flows of p equal products, where this is the flow of one."""
        return replace(self, index=np.zeros(p, dtype=int), sign=np.full(p, self.sign[0]))

    def among(self, place: Int[np.ndarray, " q"]) -> ProductFlow:
        """Return the flows of some of the products."""
        return replace(self, index=self.index[place], sign=self.sign[place])

    def at(self, force: Float[np.ndarray, " p"]) -> Moved:
        """Return the products after a force; all is infinite at the end of a flow."""
        b, start = self._smallest(self.sign * force), self.start[self.index]
        squares = b**2 + self.kappa[:, self.index]
        # A product of 0 whose weights are all 0 but for rounding has a slope of 0.
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            product = b * np.sqrt(squares).prod(axis=0)
            slope = squares.prod(axis=0) * (1.0 + np.where(b == 0, 0, b**2 / squares).sum(axis=0))
            integral = 0.5 * (b - start) * (b + start)
        grown = np.isinf(b)
        product[grown], slope[grown], integral[grown] = b[grown], np.inf, np.inf
        return Moved(self.sign * product, slope, integral)

    def _smallest(self, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Return the smallest weight, infinite at the end of the flow."""
        i = self.index
        low, high = self.force[i, 0], self.force[i, -1]
        above, below = s > high, s < low
        b = _weight(self._tau_at(np.clip(s, low, high)), self.least[i])
        b[above] = self._beyond(b[above], (s - high)[above])
        crosses = below & (self.least[i] > 0)
        b[crosses] = -self._beyond(-b[crosses], (low - s)[crosses])
        shrinks = below & ~crosses
        b[shrinks] = self._shrunk(i[shrinks], b[shrinks], (low - s)[shrinks])
        return b

    def _beyond(
        self, b: Float[np.ndarray, " q"], force: Float[np.ndarray, " q"]
    ) -> Float[np.ndarray, " q"]:
        """Return weights that were b before this force, where all have about the same size."""
        power = self.depth - 2
        if power == 0:
            with np.errstate(over="ignore"):
                return b * np.exp(force)
        left = b**-power - power * force
        return np.where(left > 0.0, np.maximum(left, 1e-300) ** (-1.0 / power), np.inf)

    def _shrunk(
        self,
        flow: Int[np.ndarray, " q"],
        b: Float[np.ndarray, " q"],
        force: Float[np.ndarray, " q"],
    ) -> Float[np.ndarray, " q"]:
        """Return weights that were b before this force against them, equal ones being smallest."""
        kappa = self.kappa[:, flow]
        equal = (kappa == 0.0).sum(axis=0) - 1
        force = force * np.sqrt(np.where(kappa > 0.0, kappa, 1.0).prod(axis=0))
        power = np.maximum(equal, 1)
        with np.errstate(under="ignore"):
            by_power = (b**-power + power * force) ** (-1.0 / power)
            return np.where(equal > 0, by_power, b * np.exp(-force))

    def _tau_at(self, s: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Return tau within the panels: a cubic polynomial of s, then Newton's method."""
        i = self.index
        panel = np.clip((self.force[i] <= s[:, None]).sum(axis=1) - 1, 0, self.force.shape[1] - 2)
        low, high = self.edges[i, panel], self.edges[i, panel + 1]
        passed, whole = self.force[i, panel], self.force[i, panel + 1] - self.force[i, panel]
        # The last panels add less than the rounding of what has passed.
        x = np.divide(s - passed, whole, out=np.zeros_like(s), where=whole > 0.0)
        slopes = whole / np.exp(self._log_rate(i, np.stack([low, high])))
        tau = low + x**2 * (3.0 - 2.0 * x) * PANEL
        tau += x * (1.0 - x) * ((1.0 - x) * slopes[0] - x * slopes[1])
        for _ in range(NEWTON_STEPS):
            excess = passed + self._between(i, low, tau) - s
            tau = np.clip(tau - excess / np.exp(self._log_rate(i, tau)), low, high)
        return tau

    def _between(
        self,
        flow: Int[np.ndarray, "..."],
        low: Float[np.ndarray, "*q"],
        high: Float[np.ndarray, "*q"],
    ) -> Float[np.ndarray, "*q"]:
        """Return the force between two values of tau in a panel."""
        half = 0.5 * (high - low)
        at = low + half * np.expand_dims(1.0 + NODES, tuple(range(1, 1 + half.ndim)))
        return half * np.tensordot(WEIGHTS, np.exp(self._log_rate(flow, at)), 1)

    def _log_rate(
        self, flow: Int[np.ndarray, "..."], tau: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."]:
        """Return the logarithm of ds / d tau."""
        least = self.least[flow]
        square = _weight(tau, least) ** 2
        product = square + least**2
        log = 0.5 * np.log(product)
        for kappa in self.kappa:
            log -= 0.5 * np.log(square + kappa[flow])
        return log


def _tau(b: Float[np.ndarray, " q"], least: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(least > 0.0, np.arcsinh(b / np.where(least > 0, least, 1.0)), np.log(b))


def _weight(tau: Float[np.ndarray, "..."], least: Float[np.ndarray, "..."]) -> np.ndarray:
    return np.where(least > 0.0, least * np.sinh(tau), np.exp(tau))
