"""What a linear network regresses on: moments of its inputs and targets, and the best map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.flows._inputs import SYMMETRY, moment, present

# Of the largest entry of a cross covariance: beyond the rounding of one taken from a sample.
UNEXPLAINED = 1e-7


@dataclass(frozen=True, eq=False)
class Population:
    r"""Moments that decide every gradient, and the map at which all gradients are zero.

    The training loss of a map W is, above the least that any linear map reaches,
    :math:`\frac12 \mathrm{tr}[(W - W_*) M (W - W_*)^\top]`, with :math:`W_* M = C`.

    Parameters
    ----------
    n_inputs : int
        d.
    moment : float array, shape (m, m)
        M, the second moment of x (m = d), or of (x, 1) for networks with biases (m = d + 1).
    best : float array, shape (e, m)
        :math:`W_*`, zero along directions in which the inputs do not vary; the identity's is
        not, since its targets are known there too.
    is_identity : bool
        Whether the targets are the inputs themselves.
    """

    n_inputs: int
    moment: Float[np.ndarray, "m m"]
    best: Float[np.ndarray, "e m"]
    is_identity: bool

    @classmethod
    def read(
        cls,
        second_moment: np.ndarray,
        cross_covariance: np.ndarray | None,
        mean: np.ndarray | None,
        target_mean: np.ndarray | None,
    ) -> Population:
        """Return the population with these moments, after checking that they agree."""
        d = len(second_moment)
        a = moment(second_moment, d)
        require(
            (target_mean is not None) == (cross_covariance is not None and mean is not None),
            "target_mean is E[y] of targets y that networks with biases learn: it goes with "
            "cross_covariance and mean",
            "no target_mean" if target_mean is None else "a target_mean without both",
            "pass all three, or leave target_mean out",
        )
        m = a if mean is None else moment_with_constant(a, mean)
        if cross_covariance is None:
            return cls(d, m, np.eye(d, len(m)), True)
        c = cross_covariance
        if target_mean is not None:
            c = np.column_stack([c, target_mean])
        return cls(d, m, best_map(c, m), False)

    @property
    def has_bias(self) -> bool:
        """Whether networks on this population have biases."""
        return len(self.moment) > self.n_inputs

    @property
    def centred_moment(self) -> Float[np.ndarray, "d d"]:
        """The inputs' second moment, or their covariance where biases can learn the mean."""
        if not self.has_bias:
            return self.moment
        mean = self.moment[:-1, -1]
        return self.moment[:-1, :-1] - np.outer(mean, mean)

    def losses(
        self, states: Float[np.ndarray, "*t e d"], offsets: Float[np.ndarray, "*t e"] | None
    ) -> Float[np.ndarray, "*t"]:
        """Return the training loss of each map, above the least that any linear map reaches."""
        d = self.n_inputs
        gap = states - self.best[:, :d]
        if self.has_bias:
            shift = (0.0 if offsets is None else offsets) - self.best[:, d]
            gap = np.concatenate([gap, np.broadcast_to(shift, gap.shape[:-1])[..., None]], axis=-1)
        return quadratic(gap, self.moment)

    def best_answers(self, probes: Float[np.ndarray, "*k d"]) -> Float[np.ndarray, "*k e"]:
        """Return the best map's answer to each probe."""
        if self.is_identity:
            return probes
        answers = probes @ self.best[:, : self.n_inputs].T
        return answers + self.best[:, -1] if self.has_bias else answers


def quadratic(
    gap: Float[np.ndarray, "*t e m"], second_moment: Float[np.ndarray, "*#t m m"]
) -> Float[np.ndarray, "*t"]:
    r"""Return :math:`\frac12 \mathrm{tr}[G A G^\top]` for each gap G."""
    moments = "..." if second_moment.ndim > 2 else ""
    return 0.5 * np.einsum(f"...ij,{moments}jk,...ik->...", gap, second_moment, gap)


def moment_with_constant(a: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the second moment of (x, 1), after checking that the mean goes with it."""
    joint = np.block([[a, mean[:, None]], [mean[None, :], np.ones((1, 1))]])
    largest = max(float(np.abs(a).max()), float(mean @ mean))
    require(
        np.linalg.eigvalsh(a - np.outer(mean, mean))[0] >= -SYMMETRY * largest,
        "the mean goes with the second moment: A - m m' has no negative eigenvalue",
        str(mean.tolist()),
        "pass E[x] and E[x x'] of the same inputs",
    )
    return joint


def best_map(
    cross_covariance: Float[np.ndarray, "e m"], second_moment: Float[np.ndarray, "m m"]
) -> Float[np.ndarray, "e m"]:
    """Return the least map W with W A = C, or refuse a C that no inputs with this A have."""
    rates, basis = np.linalg.eigh(second_moment)
    inverse = np.divide(1.0, rates, out=np.zeros_like(rates), where=present(rates))
    rotated = cross_covariance @ basis
    # An output can't vary with a direction in which the inputs do not: its gradient would push
    # the weights along it without end.
    unexplained = np.abs(rotated[:, inverse == 0.0]).max(initial=0.0)
    require(
        unexplained <= UNEXPLAINED * np.abs(cross_covariance).max(initial=0.0),
        "the cross covariance goes with the second moment: it is 0 along directions in which the "
        "inputs do not vary",
        f"{unexplained:.3g} along one of them",
        "pass E[y x'] and E[x x'] of the same inputs",
    )
    return (rotated * inverse) @ basis.T
