r"""Saliences of a measured representation: how strongly it separates each conjunction.

They come from distances between tuples, in products of different samples and from sums over groups
of tuples, so no n x n matrix is formed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, ProperFraction, Seed
from partwhole.features import OverlapKernel
from partwhole.features.subsets import MAX_COMPONENTS, moebius, set_of, set_sizes
from partwhole.measures._groups import TupleGroups
from partwhole.measures._resampling import Resample, chosen_resampling, replicates_of
from partwhole.measures._salience_notes import (
    notes_on_conditions,
    notes_on_intervals,
    notes_on_structure,
)
from partwhole.measures._samples import Whiten, blocks_of, prepared
from partwhole.measures._shared_noise import notes_on_shared_noise
from partwhole.measures._shares import quantiles, shares_of
from partwhole.measures._similarity import noise_by_feature, of_groups, of_trials
from partwhole.measures._structure import structure_of
from partwhole.recordings import Recording

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


@door
def salience(
    features: Recording | Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"] | None = None,
    *,
    groups: Int[np.ndarray, " n"] | None = None,
    whiten: Whiten = "none",
    self_pairs: bool = False,
    resample: Resample | None = None,
    bootstrap: Index = 0,
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> Salience:
    r"""Measure the overlap saliences of a representation.

    With the mean :math:`\mu_t` over the samples of tuple t,

    .. math:: \kappa(O) = q - \tfrac12 \mathrm{mean}_{t, t':\, O(t, t') = O}\; d^2(t, t')
              \quad (O \ne \text{all}), \qquad
              \kappa(\text{all}) = q = \mathrm{mean}_t\; q_t, \qquad
              d^2(t, t') = q_t + q_{t'} - 2 \mu_t \cdot \mu_{t'},

    .. math:: q_t = \frac{|\sum_i x_i|^2 - \sum_i |x_i|^2}{m_t (m_t - 1)},

    over pairs of different tuples with exactly the overlap O. A sample never meets itself, so noise
    that is independent between samples adds nothing. Every tuple counts the same, however many
    samples it has. On a complete grid :math:`\kappa` is the mean inner product of tuples with each
    overlap; where combinations are missing, distances, unlike inner products, don't depend on the
    features' mean.

    Parameters
    ----------
    features : Recording; or float array, shape (n, p)
        Trials of known conditions. Times are averaged; neurons of different sessions add up. Or one
        row for each sample: pixels, activations.
    components : int array, shape (n, C), default None
        Of an array, the sample's tuple, as value indices from 0, of any integer type; from a table
        of labels, ``tasks.from_frame(...).components``. Repeats of a row are several samples.
    groups : int array, shape (n,), keyword-only, default None
        Of an array, the run or block of each sample, within which noise may be shared. Then only
        products of samples of different groups count, as in cross-validated distances, and an
        offset of all samples of a group changes nothing.
    whiten : {"none", "diagonal", "full"}, keyword-only, default "none"
        Divide features by the standard deviation of their noise within tuples, or decorrelate it
        by its shrunk covariance (Ledoit & Wolf, 2004). Then the unit is that of the noise.
    self_pairs : bool, keyword-only, default False
        Count a sample's similarity with itself in the similarity of identical tuples, as the
        published analysis does. Exact for representations without noise (one row a tuple),
        biased for others.
    resample : {"trials", "groups", "neurons", "both"}, keyword-only, default None
        What varies in intervals. Trials within tuples, for statements on these features;
        groups, if there are any, in their place; "neurons" (features), for statements on the
        population from which they are drawn, whose noise must be independent; or "both" trials (or
        groups) and neurons. None is "groups" if there are any, else "trials".
    bootstrap : int, keyword-only, default 0
        Replicates. Similarities for other trials or groups are drawn from a normal distribution;
        its covariance is that of the parts that single trials or groups have in them, less the
        noise that these parts count twice. Neurons are drawn with replacement. As variances are
        estimates, from few trials, groups or neurons, deviations are Student's. The tuples
        themselves are taken as given; a tuple with one sample adds no spread. Where all tuples have
        just one, there are two groups or a single neuron, intervals are NaN.
    confidence : float, keyword-only, default 0.95
        Level of the intervals.
    seed : int, keyword-only, default 0
        For the bootstrap.

    Returns
    -------
    Salience

    Raises
    ------
    InputError
        When features are not a table of finite numbers, components not one of integers, their
        rows disagree, there are fewer than two tuples, no tuple has two samples (unless
        `self_pairs`) or is in two groups, or options are out of range or exclude one another.

    Notes
    -----
    Saliences: Lippl & Stachenfeld (ICLR 2025), definition 3.1 and the analysis of trained
    networks, whose similarity of identical tuples includes self-pairs. Products across groups are
    those of cross-validated distances (Walther et al., NeuroImage 2016). Correction, group sums,
    covariance and structure score are derived here. With :math:`G(S) = \sum_{v}
    |\sum_{t: t_S = v} \mu_t|^2 - \sum_t |\mu_t|^2`, pairs that share at least S, those that
    share exactly S follow by a Möbius sum over supersets. A tuple with a single sample takes the
    noise of the others.

    Of a recording without groups a note says if trials share noise: if products of residuals of
    neighbouring trials, or of the k-th trials of different conditions, are far above those of
    trials in another order. Trials in an order that was shuffled can't show it. If none measurably
    do, but trials of a condition stand together (or apart), a note says what a drift of a tenth of
    the noise would do to saliences: it is not seen in residuals.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(5) for b in range(5)], 40, axis=0)
    >>> clean = np.hstack([np.eye(5)[rows[:, 0]], np.eye(5)[rows[:, 1]]])
    >>> noisy = clean + rng.normal(0, 0.1, clean.shape)
    >>> round(float(salience(noisy, rows).salience[0]), 2)
    0.5
    """
    blocks = blocks_of(features, components, groups)
    for block in blocks:
        _require_consistent(block.components)
    grouped = blocks[0].groups is not None
    chosen = chosen_resampling(resample, grouped)
    require(
        not (grouped and self_pairs),
        "a sample's similarity with itself is no product across groups",
        "self_pairs beside groups",
        "leave one of them out",
    )
    by_tuple = [TupleGroups.of(block.components) for block in blocks]
    counts = np.concatenate([groups.counts for groups in by_tuple])
    require(
        self_pairs or all(bool((groups.counts >= 2).any()) for groups in by_tuple),
        "the similarity of identical tuples needs a tuple with two samples",
        f"one sample for each of {len(counts)} tuples",
        "add repeats, or pass self_pairs=True if the features carry no noise",
    )
    blocks, level = prepared(blocks, by_tuple, whiten)
    by_feature = chosen in ("neurons", "both") and bootstrap > 0
    if not by_feature:
        blocks = [block.reduced() for block in blocks]
    if grouped:
        products = [of_groups(block, by_feature=by_feature) for block in blocks]
    else:
        products = [
            of_trials(block, groups=groups, self_pairs=self_pairs, by_feature=by_feature)
            for block, groups in zip(blocks, by_tuple, strict=True)
        ]
    require(
        all(block.n_tuples.any() for block in products),
        "products across groups need two tuples that are in the same two groups",
        "none",
        "leave groups out, or spread the repeats of tuples over groups",
    )
    parts = [block.kappa() for block in products]
    centred = np.sum([part.sum(axis=1) if by_feature else part for part in parts], axis=0)
    n_pairs = np.min([block.n_pairs.sum(axis=0) > 0 for block in products], axis=0) * np.min(
        [groups.n_pairs for groups in by_tuple], axis=0
    )
    n_pairs[-1] = min(len(groups.counts) for groups in by_tuple)
    noise = float(
        np.sum(
            [
                noise_by_feature(block, groups).sum()
                for block, groups in zip(blocks, by_tuple, strict=True)
            ]
        )
    )
    structure, unknown = structure_of(features, blocks, self_pairs)
    replicates = replicates_of(
        blocks,
        by_tuple,
        products,
        centred,
        chosen,
        self_pairs,
        bootstrap,
        np.random.default_rng(seed),
    )
    n_components = len(centred).bit_length() - 1
    names = [f"component {c}" for c in range(n_components)]
    if isinstance(features, Recording):
        names = list(features.names)
    result = Salience(
        n_components,
        centred,
        level,
        n_pairs,
        noise,
        structure,
        self_pairs,
        float(confidence),
        chosen,
        replicates,
        sum(len(block.features) for block in blocks),
        n_pairs[-1].item(),
        (
            *notes_on_conditions(n_pairs, centred, counts, self_pairs, bootstrap, chosen, names),
            *notes_on_structure(structure, unknown),
        ),
    )
    n_groups = min(int(block.groups.max(initial=0)) + 1 for block in products)
    n_neurons = sum(block.features.shape[1] for block in blocks)
    of_intervals = notes_on_intervals(
        centred, replicates, chosen, grouped * n_groups, n_neurons, result.confidence
    )
    notes = (*result.notes, *of_intervals)
    if isinstance(features, Recording) and not (grouped or self_pairs):
        # Blocks of neurons share their trials in part, and what is wrong with them.
        above_others = float(centred[-1] - centred[0])
        in_units = noise / above_others if above_others > 0.0 else np.nan
        of_blocks = (
            notes_on_shared_noise(block, groups, in_units, seed)
            for block, groups in zip(blocks, by_tuple, strict=True)
        )
        notes = (*notes, *next(filter(None, of_blocks), []))
    return replace(result, notes=notes)


def _require_consistent(components: np.ndarray) -> None:
    require(
        1 <= components.shape[1] <= MAX_COMPONENTS,
        f"samples have 1 to {MAX_COMPONENTS} components",
        components.shape[1],
        "similarity is measured for every set of them",
    )
    require(
        len(components) > 0 and bool(np.any(components != components[0])),
        "saliences compare at least two tuples",
        f"{min(len(components), 1)}",
        "add samples of other tuples",
    )
    require(
        components.min() >= 0, "components are value indices from 0", components.min(), "renumber"
    )
