"""Simulated recordings of a 4 x 4 grid, whose saliences and readouts are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from partwhole.recordings import Recording

VALUES = np.linspace(-1.5, 1.5, 4)
GRID = np.array([[a, b] for a in range(4) for b in range(4)])
SUMS = VALUES[GRID].sum(axis=1)
CORNER = np.all(GRID >= 2, axis=1)
# Of the variance of responses over conditions: first part, second part, their conjunction.
SHARES = np.array([0.4, 0.4, 0.2])
LOWEST = 4.0  # deviations of responses below their mean at which a rate is 0


@dataclass(frozen=True, eq=False)
class World:
    """Neurons with random codes of both parts and of their conjunctions, and their noise.

    Parameters
    ----------
    means : float array, shape (16, p)
        Response to each condition, of variance 1 over conditions.
    noise : float
        Deviation of noise, root mean square over neurons.
    root : float array, shape (p, p), or None
        Root of the covariance of noise with a mean variance of 1; None for independent noise.
    """

    means: Float[np.ndarray, "16 p"]
    noise: float
    root: Float[np.ndarray, "p p"] | None = None

    @classmethod
    def of(
        cls, rng: np.random.Generator, neurons: int, noise: float, *, correlated: bool = False
    ) -> World:
        """Draw a world; correlated noise has half of its variance in a tenth of the directions."""
        first, second, both = (rng.normal(size=(n, neurons)) for n in (4, 4, 16))
        parts = (first[GRID[:, 0]], second[GRID[:, 1]], both)
        means = sum(np.sqrt(share) * part for share, part in zip(SHARES, parts, strict=True))
        if not correlated:
            return cls(np.asarray(means), noise)
        factors = rng.normal(size=(neurons, max(1, neurons // 10)))
        factors *= np.sqrt(0.5 * neurons / np.sum(factors**2))
        covariance = 0.5 * np.eye(neurons) + factors @ factors.T
        return cls(np.asarray(means), noise, np.linalg.cholesky(covariance))

    @property
    def rates(self) -> Float[np.ndarray, "16 p"]:
        """Return responses as rates, which are not negative."""
        return np.maximum(self.means + LOWEST, 0.0)

    def counts(
        self, rng: np.random.Generator, repeats: int
    ) -> tuple[Float[np.ndarray, "n p"], Int[np.ndarray, " n"]]:
        """Return Poisson counts as rates; at the mean rate their deviation is that of the noise."""
        index = np.repeat(np.arange(len(GRID)), repeats)
        unit = LOWEST / self.noise**2
        return rng.poisson(unit * self.rates[index]) / unit, index

    def trials(
        self, rng: np.random.Generator, repeats: int | np.ndarray, offset: float = 0.0
    ) -> tuple[Float[np.ndarray, "n p"], Int[np.ndarray, " n"]]:
        """Return responses in some trials of every condition, and the condition of each.

        Trial k of every condition is of run k, which has an offset of this deviation.
        """
        index = np.repeat(np.arange(len(GRID)), repeats)
        drawn = rng.normal(size=(len(index), self.means.shape[1]))
        correlated = drawn if self.root is None else drawn @ self.root.T
        responses = self.means[index] + self.noise * correlated
        if offset:
            responses += offset * rng.normal(size=(repeats, responses.shape[1]))[runs_of(index)]
        return responses, index


def runs_of(index: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """Return the run of each trial, if trial k of every condition is of run k."""
    return np.tile(np.arange(len(index) // len(GRID)), len(GRID))


def recording(
    responses: Float[np.ndarray, "n p"],
    index: Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> Recording:
    """Return the recording of trials whose conditions are rows of the grid."""
    values = tuple(VALUES.tolist())
    return Recording(responses, GRID[index], ("first", "second"), (values, values), groups=groups)
