r"""Weights of diagonal linear networks: initial, pretrained, and at the start of finetuning.

A two-layer diagonal network has two pathways, one for each sign of a coefficient:

.. math:: f(x) = \sum_d \beta_d x_d, \qquad \beta = w_+ \circ v_+ - w_- \circ v_- ,

with a hidden layer w and a readout v (Lippl & Lindsey, NeurIPS 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, NonNegative, Real


class DiagonalWeights(NamedTuple):
    """Weights of a diagonal linear network, or of several networks along leading axes.

    The positive pathway comes first, then the negative one, each with its first layer before its
    readout. Pass the fields by name to avoid mistakes of order.

    Parameters
    ----------
    hidden_plus : float array, shape (..., d)
        First layer of the positive pathway.
    readout_plus : float array, shape (..., d) or (..., k, d)
        Second layer of the positive pathway; with an axis of k tasks if they share a first layer.
    hidden_minus, readout_minus : float arrays
        Layers of the negative pathway, of the same shapes.

    Examples
    --------
    >>> weights = DiagonalWeights.pretrained([1.0, 0.0], init_scale=0.1)
    >>> weights.coefficients.round(9).tolist()
    [1.0, 0.0]
    """

    hidden_plus: np.ndarray
    readout_plus: np.ndarray
    hidden_minus: np.ndarray
    readout_minus: np.ndarray

    @property
    def coefficients(self) -> np.ndarray:
        """Return the network's coefficients beta, shape (..., d) or (..., k, d).

        Raises
        ------
        InputError
            For layers whose shapes don't fit each other.
        """
        w, v, x, y = self.checked()
        if v.ndim > w.ndim:
            w, x = w[..., None, :], x[..., None, :]
        return w * v - x * y

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the layers, as networks have them."""
        return "hidden", "output"

    @property
    def shape(self) -> tuple[int]:
        """Return the shape of one input, (d,)."""
        return (np.shape(self.hidden_plus)[-1],)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs: tasks, or 1."""
        several = np.ndim(self.readout_plus) > np.ndim(self.hidden_plus)
        return np.shape(self.readout_plus)[-2] if several else 1

    @property
    def lead(self) -> tuple[int, ...]:
        """Return the leading axes along which there are many networks."""
        return np.shape(self.hidden_plus)[:-1]

    def contexts(self, inputs: Any, /) -> tuple[()]:
        """Return (): a layer depends only on the layer before."""
        return ()

    def layer(self, place: int, x: Any, contexts: tuple[()] = (), /) -> Any:
        """Return the hidden units of both pathways, shape (n, 2 d), or the outputs, (n, k)."""
        join = x.__array_namespace__().concat
        if place == 0:
            return join([x * self.hidden_plus[None], x * self.hidden_minus[None]], axis=-1)
        readout = join([self.readout_plus, -self.readout_minus], axis=-1)
        return x @ readout.reshape(-1, readout.shape[-1]).T

    def partition(self) -> tuple[DiagonalWeights, DiagonalWeights]:
        """Return the weights, all of which training changes, and the rest."""
        return self, DiagonalWeights(*[None] * 4)  # type: ignore[arg-type]

    def checked(self) -> DiagonalWeights:
        """Return the weights as arrays of floats.

        Raises
        ------
        InputError
            For layers that are not numeric, or whose shapes don't fit each other.
        """
        w, v, x, y = layers = _arrays(*self)
        before, d = v.shape[:-2], v.shape[-1:]
        require(
            w.ndim > 0
            and w.shape == x.shape
            and v.shape == y.shape
            and w.shape in (v.shape, before + d, (*before, 1, *d)),
            "both pathways have a hidden layer of shape (..., d) and a readout of that shape, or "
            "of shape (..., k, d) for k tasks",
            ", ".join(f"{name} {layer.shape}" for name, layer in layers._asdict().items()),
            "name the fields, or pass them in that order",
        )
        return layers

    @classmethod
    @door
    def constant(
        cls, dimension: Count, scale: Real, *, n_tasks: Count | None = None
    ) -> DiagonalWeights:
        """Return weights that all have one value, the start of training from scratch.

        Parameters
        ----------
        dimension : int
        scale : float
            Alpha, above 0.
        n_tasks : int, keyword-only, default None
            If a number k is given, readouts for k tasks, shape (k, d).

        Returns
        -------
        DiagonalWeights

        Raises
        ------
        InputError
            For a scale that is not above 0 and finite, and numbers of features or tasks that are
            not whole and at least 1.
        """
        _require_scale("the scale of initial weights", scale)
        hidden = np.full(dimension, float(scale))
        shape = (dimension,) if n_tasks is None else (n_tasks, dimension)
        readout = np.full(shape, float(scale))
        return cls(hidden, readout, hidden.copy(), readout.copy())

    @classmethod
    @door
    def pretrained(
        cls, coefficients: Float[np.ndarray, "*b d"] | Sequence[Real], init_scale: Real
    ) -> DiagonalWeights:
        r"""Return the weights of a network whose gradient flow has ended at these coefficients.

        Parameters
        ----------
        coefficients : float array, shape (..., d)
            The coefficients after pretraining, :math:`\beta_{aux}`.
        init_scale : float
            Alpha, the initial value of all weights, from 1e-150 to 1e150.

        Returns
        -------
        DiagonalWeights

        Raises
        ------
        InputError
            For coefficients that are not finite, and a scale out of range.

        Notes
        -----
        Gradient flow from :math:`w_\pm = v_\pm = \alpha` keeps :math:`w_\pm = v_\pm` and
        :math:`w_+ w_- = \alpha^2`, so that

        .. math:: w_\pm^2 = \tfrac12 (S \pm \beta_{aux}), \qquad
                  S = \sqrt{\beta_{aux}^2 + 4 \alpha^4} .

        Derived here.
        """
        beta = np.asarray(coefficients, dtype=float)
        _require_scale("init_scale", init_scale)
        require(
            init_scale >= 1e-150,
            "init_scale is at least 1e-150, so that its square is a number",
            repr(init_scale),
            "take a small one, such as 0.001",
        )
        square = float(init_scale) ** 2
        total = np.hypot(beta, 2.0 * square)
        # Computed by this formula, the smaller weight would cancel; it follows from the product.
        larger = np.sqrt(0.5 * (total + np.abs(beta)))
        # Where the coefficient is 0, the two weights must be exactly equal.
        smaller = np.where(beta == 0, larger, square / larger)
        plus, minus = np.where(beta >= 0, (larger, smaller), (smaller, larger))
        return cls(plus, plus.copy(), minus, minus.copy())

    @door
    def for_finetuning(self, *, rescale: Real = 1.0, readout_scale: NonNegative) -> DiagonalWeights:
        """Return the weights with the first layer times c and every readout reset to gamma.

        Parameters
        ----------
        rescale : float, keyword-only, default 1
            c, above 0.
        readout_scale : float, keyword-only
            Gamma, at least 0.

        Returns
        -------
        DiagonalWeights
            Weights for one task, even if several were pretrained.

        Raises
        ------
        InputError
            For a rescaling that is not above 0 or beyond 1e-60 to 1e60, a readout scale below 0,
            and layers whose shapes don't fit each other.
        """
        require_rescale(rescale)
        w, _, x, _ = self.checked()
        readout, c = np.full_like(w, float(readout_scale)), float(rescale)
        return DiagonalWeights(c * w, readout, c * x, readout.copy())


@door(missing=("hidden_plus", "readout_plus", "hidden_minus", "readout_minus"))
def _arrays(
    hidden_plus: Float[np.ndarray, "..."],
    readout_plus: Float[np.ndarray, "..."],
    hidden_minus: Float[np.ndarray, "..."],
    readout_minus: Float[np.ndarray, "..."],
) -> DiagonalWeights:
    """Return layers as weights; layers of a training that diverged are accepted."""
    return DiagonalWeights(hidden_plus, readout_plus, hidden_minus, readout_minus)


def require_rescale(rescale: Real) -> None:
    """Refuse a rescaling that is not above 0, or whose fourth power over- or underflows."""
    require(
        rescale > 0,
        "a rescaling is above 0",
        repr(rescale),
        "take 1 to leave weights as they are; to forget them altogether, train from scratch",
    )
    require(
        1e-60 <= rescale <= 1e60,
        "a rescaling lies from 1e-60 to 1e60, so that its powers are numbers",
        repr(rescale),
        "take 1e-4, say; beyond, what is learned hardly changes",
    )


def _require_scale(name: str, scale: Real) -> None:
    require(
        scale > 0,
        f"{name} is above 0",
        repr(scale),
        "take a small one, such as 0.001; from weights of zero nothing is learned",
    )
