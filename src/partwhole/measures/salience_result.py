"""The result of `salience`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features import OverlapKernel
from partwhole.features.subsets import moebius, set_of, set_sizes
from partwhole.measures._resampling import Resample
from partwhole.measures._shares import quantiles, shares_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Salience:
    r"""Overlap similarities and saliences of a representation.

    Parameters
    ----------
    n_components : int
        C.
    centred : float array, shape (2**C,)
        Similarity by overlap set (bitmask: bit c stands for component c) of centred features: the
        mean squared length of tuples, less half the mean squared distance of pairs with that
        overlap. NaN where no two tuples have exactly that overlap.
    level : float
        By how much similarities of the features as they are exceed those of centred ones.
    n_pairs : int array, shape (2**C,)
        Pairs of different tuples with that overlap; for the full set, the number of tuples.
    noise : float
        Trace of the covariance within a tuple, mean over tuples, in units of similarity. To a
        learner on far more features than trials it is a ridge, for each observation (for others
        see `predict_readout`): where repeats are rows of the task, pass
        ``fit=Equal(slack=measured.noise)`` to `partwhole.solve`; where one row stands for m
        samples of its tuple, ``Equal(slack=measured.noise / m)``.
    structure : float
        Share of the variance of similarity between different tuples that their overlap set
        explains: 1 for an overlap kernel. Below 0.5, similarity depends on more than the overlap
        (some values look alike, say), and predictions from `kernel` can be far off. It is
        corrected for noise, so it can leave 0..1 by chance. NaN where fewer than two tuples have
        two samples, where all pairs of tuples share the same components, or where similarity
        doesn't vary; `notes` says which.
    self_pairs : bool
        Whether a sample's similarity with itself was counted, as in the published analysis;
        then noise counts as similarity and saliences are biased towards the full conjunction.
    confidence : float
        Level of the intervals.
    resampled : {"trials", "groups", "neurons", "both"}
        What the replicates draw anew.
    replicates : float array, shape (B, 2**C)
        Values of `centred` for other trials, groups or neurons, drawn as `salience` says; B is 0
        without bootstrap.
    n_samples, n_tuples : int
    notes : tuple of str
        What could not be measured, and why.

    Examples
    --------
    >>> from partwhole.measures import salience
    >>> rows = np.array([[a, b] for a in range(3) for b in range(3)])
    >>> one_hot = np.hstack([np.eye(3)[rows[:, 0]], np.eye(3)[rows[:, 1]]])
    >>> salience(one_hot, rows, self_pairs=True).salience.round(6).tolist()
    [0.5, 0.0]
    """

    n_components: int
    centred: Float[np.ndarray, " sets"]
    level: float
    n_pairs: Int[np.ndarray, " sets"]
    noise: float
    structure: float
    self_pairs: bool
    confidence: float
    resampled: Resample
    replicates: Float[np.ndarray, "B sets"] = field(repr=False)
    n_samples: int
    n_tuples: int
    notes: tuple[str, ...] = ()

    @property
    def kappa(self) -> Float[np.ndarray, " sets"]:
        """Return the mean similarity by overlap set, features not centred."""
        return self.centred + self.level

    @property
    def similarity(self) -> Float[np.ndarray, " orders"]:
        """Return the similarity for 0..C shared components: the mean over pairs of tuples."""
        return self._by_count(self.kappa)

    @property
    def salience(self) -> Float[np.ndarray, " C"]:
        """Return S(1; C)..S(C; C), from the similarities by count."""
        return self._by_order(self.centred)

    @property
    def saliences(self) -> dict[tuple[int, ...], float]:
        """Return the salience of every non-empty set of components."""
        return dict(zip(self._sets, shares_of(self.centred).tolist(), strict=True))

    @property
    def kernel(self) -> OverlapKernel:
        """Return the overlap kernel with the measured similarity of every overlap set.

        Measured saliences of sets that play no part may scatter below 0, where the verbs of
        `partwhole.limits` may refuse the kernel; its ``nonnegative()`` sets these to 0.

        Examples
        --------
        >>> from partwhole.measures import salience
        >>> rng = np.random.default_rng(1)
        >>> rows = np.repeat([[a, b] for a in range(4) for b in range(4)], 3, axis=0)
        >>> clean = np.hstack([np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]])
        >>> measured = salience(clean + rng.normal(0, 0.3, clean.shape), rows)
        >>> measured.kernel.salience.round(2).tolist()
        [0.51, -0.03]
        >>> measured.kernel.nonnegative().salience.round(2).tolist()
        [0.5, 0.0]
        """
        return self._kernel(self._whole(self.centred, "overlap set"))

    @property
    def count_kernel(self) -> OverlapKernel:
        """Return the overlap kernel with the measured similarity of every overlap count.

        Saliences may scatter below 0, as in `kernel`; ``nonnegative()`` sets these to 0.
        """
        similarity = self._whole(self._by_count(self.centred), "overlap count")
        return self._kernel(similarity[set_sizes(self.n_components)])

    def kernels(self) -> list[OverlapKernel]:
        """Return a kernel like `kernel` for each bootstrap replicate.

        Pass them to `partwhole.solve` (after ``nonnegative()`` where saliences
        scatter below 0) and take quantiles over them: an interval for the predictions.

        Returns
        -------
        list of OverlapKernel
            Empty without bootstrap.

        Raises
        ------
        InputError
            When some overlap set was met by no pair of tuples.

        Examples
        --------
        >>> from partwhole.measures import salience
        >>> rng = np.random.default_rng(0)
        >>> rows = np.repeat([[a, b] for a in range(4) for b in range(4)], 5, axis=0)
        >>> clean = np.hstack([np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]])
        >>> measured = salience(clean + rng.normal(0, 0.1, clean.shape), rows, bootstrap=50)
        >>> leads = [kernel.range for kernel in measured.kernels()]
        >>> bool(np.quantile(leads, 0.025) < 2.0 < np.quantile(leads, 0.975))
        True
        """
        self._whole(self.centred, "overlap set")
        return [self._kernel(centred) for centred in self.replicates]

    @property
    def centred_interval(self) -> Float[np.ndarray, "sets 2"]:
        """Return the interval of `centred`, NaN without bootstrap."""
        return self._interval(self.replicates)

    @property
    def salience_interval(self) -> Float[np.ndarray, "C 2"]:
        """Return the bootstrap interval of `salience`, NaN without bootstrap."""
        return self._interval(self._by_order(self.replicates))

    @property
    def saliences_interval(self) -> dict[tuple[int, ...], tuple[float, float]]:
        """Return the bootstrap interval of each of `saliences`, NaN without bootstrap."""
        intervals = self._interval(shares_of(self.replicates))
        return {
            components: (float(low), float(high))
            for components, (low, high) in zip(self._sets, intervals, strict=True)
        }

    @door
    def plot(self, ax: Axes | None = None, *, names: Sequence[str] | None = None) -> Axes:
        """Draw the salience of every set of components, with its interval where there is one.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.
        names : sequence of str, keyword-only, optional
            The components' names.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            For another number of names.
        MissingExtraError
            Without matplotlib, of the extra "plot".
        """
        from partwhole.measures.plotting import plot_salience

        return plot_salience(self, ax, names)

    def __repr__(self) -> str:
        by_order = ", ".join(f"{value:.3g}" for value in self.salience)
        return (
            f"Salience({self.n_samples:,} samples of {self.n_tuples:,} tuples of "
            f"{self.n_components} components: {by_order} by order, structure {self.structure:.3g})"
        )

    def _repr_html_(self) -> str:
        from partwhole.measures.plotting import card_of_salience

        return card_of_salience(self)

    def _kernel(self, centred: np.ndarray) -> OverlapKernel:
        sigma = moebius(centred)
        sigma[0] += self.level
        return OverlapKernel(self.n_components, sigma)

    @property
    def _sets(self) -> list[tuple[int, ...]]:
        return [set_of(mask) for mask in range(1, len(self.n_pairs))]

    def _by_count(self, kappa: np.ndarray) -> np.ndarray:
        sizes = set_sizes(self.n_components)
        out = np.full((*kappa.shape[:-1], self.n_components + 1), np.nan)
        for k in range(self.n_components + 1):
            present = (sizes == k) & (self.n_pairs > 0)
            if present.any():
                weight = self.n_pairs[present] / self.n_pairs[present].sum()
                out[..., k] = kappa[..., present] @ weight
        return out

    def _by_order(self, kappa: np.ndarray) -> np.ndarray:
        by_set = shares_of(self._by_count(kappa)[..., set_sizes(self.n_components)])
        # Any set of an order stands for it; the first k components do.
        return by_set[..., (1 << np.arange(1, self.n_components + 1)) - 2]

    def _interval(self, replicates: np.ndarray) -> np.ndarray:
        if not len(replicates):
            return np.full((replicates.shape[-1], 2), np.nan)
        return quantiles(replicates, self.confidence)

    def _whole(self, similarity: np.ndarray, overlap: str) -> np.ndarray:
        missing = np.flatnonzero(np.isnan(similarity)).tolist()
        names = [str(set_of(m)) for m in missing] if "set" in overlap else missing
        require(
            not missing,
            f"a kernel needs the similarity of every {overlap}",
            f"no pair of tuples for {', '.join(map(str, names))}",
            "add tuples, or use count_kernel" if "set" in overlap else "add tuples",
        )
        return similarity
