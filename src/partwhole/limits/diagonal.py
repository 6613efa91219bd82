r"""Diagonal linear networks: their weights, pretrained and at the start of finetuning.

A two-layer diagonal network has two pathways, one for either sign of each coefficient:

.. math:: f(x) = \sum_d \beta_d x_d, \qquad \beta = w_+ \circ v_+ - w_- \circ v_- ,

with a hidden layer w and a readout v (Lippl & Lindsey, NeurIPS 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole._types import Real


class DiagonalWeights(NamedTuple):
    """Hold the weights of a diagonal linear network, or of many along leading axes.

    The pathways stand one after the other, each from its first layer to its readout; name the
    fields to be sure of their order.

    Parameters
    ----------
    hidden_plus : float array, shape (..., d)
        First layer of the positive pathway.
    readout_plus : float array, shape (..., d) or (..., k, d)
        Its second layer; with an axis of k tasks where these share one first layer.
    hidden_minus, readout_minus : float arrays
        Those of the negative pathway, of the same shapes.

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
        """Return what the network computes, beta; shape (..., d), or (..., k, d).

        Raises
        ------
        InputError
            For layers whose shapes don't fit each other.
        """
        w, v, x, y = self.checked()
        if v.ndim > w.ndim:
            w, x = w[..., None, :], x[..., None, :]
        return w * v - x * y

    def checked(self) -> DiagonalWeights:
        """Return the weights as arrays of floats.

        Raises
        ------
        InputError
            For layers that hold no numbers, or whose shapes don't fit each other.
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
            ", ".join(f"{name} {each.shape}" for name, each in layers._asdict().items()),
            "name the fields, or pass them in that order",
        )
        return layers

    @classmethod
    @door
    def constant(
        cls, dimension: int, scale: Real, *, n_tasks: int | None = None
    ) -> DiagonalWeights:
        """Set all weights to one number, as training from scratch starts.

        Parameters
        ----------
        dimension : int
        scale : float
            Alpha, above 0.
        n_tasks : int, keyword-only, default None
            With a number k, readouts for k tasks, shape (k, d).

        Returns
        -------
        DiagonalWeights

        Raises
        ------
        InputError
            For a scale that is not above 0 and finite, and numbers of features or tasks that are
            not whole and at least 1.
        """
        whole("dimension", dimension, 1, "give the number of features")
        _require_scale("the scale of initial weights", scale)
        hidden = np.full(dimension, float(scale))
        if n_tasks is not None:
            whole("n_tasks", n_tasks, 1, "give the number of tasks, or leave it None for one")
        shape = (dimension,) if n_tasks is None else (n_tasks, dimension)
        readout = np.full(shape, float(scale))
        return cls(hidden, readout, hidden.copy(), readout.copy())

    @classmethod
    @door
    def pretrained(
        cls, coefficients: Float[np.ndarray, "*b d"] | Sequence[Real], init_scale: Real
    ) -> DiagonalWeights:
        r"""Return the weights that gradient flow reaches when it ends at these coefficients.

        Parameters
        ----------
        coefficients : float array, shape (..., d)
            What was learned, :math:`\beta_{aux}`.
        init_scale : float
            Alpha, the number all weights began with; above 0, its square within double precision.

        Returns
        -------
        DiagonalWeights

        Raises
        ------
        InputError
            For coefficients that are not finite, and a scale that is not above 0 and finite, or
            whose square is not.

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
            1e-150 <= init_scale <= 1e150,
            "init_scale lies from 1e-150 to 1e150, so that its square is a number",
            repr(init_scale),
            "take a small one, such as 0.001",
        )
        square = float(init_scale) ** 2
        total = np.hypot(beta, 2.0 * square)
        # The smaller of the two would cancel.
        larger = np.sqrt(0.5 * (total + np.abs(beta)))
        # Where nothing was learned, the two are equal to the last digit.
        smaller = np.where(beta == 0, larger, square / larger)
        plus, minus = np.where(beta >= 0, (larger, smaller), (smaller, larger))
        return cls(plus, plus.copy(), minus, minus.copy())

    @door
    def for_finetuning(self, *, rescale: Real = 1.0, readout_scale: Real) -> DiagonalWeights:
        """Multiply the first layer by c and reset every readout to gamma.

        Parameters
        ----------
        rescale : float, keyword-only, default 1
            c, above 0.
        readout_scale : float, keyword-only
            Gamma, at least 0.

        Returns
        -------
        DiagonalWeights
            Of one task, also where several were learned before.

        Raises
        ------
        InputError
            For a rescaling that is not above 0 or beyond 1e-60 to 1e60, a readout scale below 0,
            and layers whose shapes don't fit each other.
        """
        require_rescale(rescale)
        require(
            readout_scale >= 0,
            "readout_scale is at least 0",
            repr(readout_scale),
            "take a small one, such as 0.001",
        )
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
    """Return layers as weights; those of a training that diverged too."""
    return DiagonalWeights(hidden_plus, readout_plus, hidden_minus, readout_minus)


def require_rescale(rescale: Real) -> None:
    """Refuse a rescaling that forgets what was learned, turns its sign, or has no fourth power."""
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
