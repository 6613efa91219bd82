r"""Saliences of a measured representation: how strongly it separates each conjunction.

All similarities are inner products of different samples, from sums over groups of tuples, so no
n x n matrix is formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, ProperFraction, Seed
from partwhole.features import OverlapKernel
from partwhole.features.subsets import MAX_COMPONENTS, moebius, set_of, set_sizes
from partwhole.measures._groups import TupleGroups, structure_score

# A lead of identical tuples below this share of the similarity keeps few digits.
FEW_DIGITS = 1e-10


@dataclass(frozen=True, eq=False)
class Salience:
    r"""Overlap similarities and saliences of a representation.

    Parameters
    ----------
    n_components : int
        C.
    kappa : float array, shape (2**C,)
        Mean similarity by overlap set (bitmask: bit c stands for component c); NaN where no
        two tuples have exactly that overlap.
    n_pairs : int array, shape (2**C,)
        Pairs of different tuples with that overlap; for the full set, the number of tuples
        whose own similarity could be measured.
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
    replicates : float array, shape (B, 2**C)
        Bootstrap replicates of `kappa`, widened as `salience` says; B is 0 without bootstrap.
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
    kappa: Float[np.ndarray, " sets"]
    n_pairs: Int[np.ndarray, " sets"]
    noise: float
    structure: float
    self_pairs: bool
    confidence: float
    replicates: Float[np.ndarray, "B sets"] = field(repr=False)
    n_samples: int
    n_tuples: int
    notes: tuple[str, ...] = ()

    @property
    def similarity(self) -> Float[np.ndarray, " orders"]:
        """Return the similarity for 0..C shared components: the mean over pairs of tuples."""
        return self._by_count(self.kappa)

    @property
    def salience(self) -> Float[np.ndarray, " C"]:
        """Return S(1; C)..S(C; C), from the similarities by count."""
        return self._by_order(self.kappa)

    @property
    def saliences(self) -> dict[tuple[int, ...], float]:
        """Return the salience of every non-empty set of components."""
        return dict(zip(self._sets, _shares(self.kappa).tolist(), strict=True))

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
        return OverlapKernel(self.n_components, moebius(self._whole(self.kappa, "overlap set")))

    @property
    def count_kernel(self) -> OverlapKernel:
        """Return the overlap kernel with the measured similarity of every overlap count.

        Saliences may scatter below 0, as in `kernel`; ``nonnegative()`` sets these to 0.
        """
        similarity = self._whole(self.similarity, "overlap count")
        return OverlapKernel.from_similarity(similarity.tolist())

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
        self._whole(self.kappa, "overlap set")
        return [OverlapKernel(self.n_components, moebius(kappa)) for kappa in self.replicates]

    @property
    def kappa_interval(self) -> Float[np.ndarray, "sets 2"]:
        """Return the bootstrap interval of `kappa`, NaN without bootstrap."""
        return self._interval(self.replicates)

    @property
    def salience_interval(self) -> Float[np.ndarray, "C 2"]:
        """Return the bootstrap interval of `salience`, NaN without bootstrap."""
        return self._interval(self._by_order(self.replicates))

    @property
    def saliences_interval(self) -> dict[tuple[int, ...], tuple[float, float]]:
        """Return the bootstrap interval of each of `saliences`, NaN without bootstrap."""
        intervals = self._interval(_shares(self.replicates))
        return {
            components: (float(low), float(high))
            for components, (low, high) in zip(self._sets, intervals, strict=True)
        }

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
        by_set = _shares(self._by_count(kappa)[..., set_sizes(self.n_components)])
        # Any set of an order stands for it; the first k components do.
        return by_set[..., (1 << np.arange(1, self.n_components + 1)) - 2]

    def _interval(self, replicates: np.ndarray) -> np.ndarray:
        if not len(replicates):
            return np.full((replicates.shape[-1], 2), np.nan)
        tail = 0.5 * (1.0 - self.confidence)
        return np.quantile(replicates, [tail, 1.0 - tail], axis=0).T

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


def _shares(kappa: np.ndarray) -> np.ndarray:
    """Return saliences by set, NaN where identical inputs are no more similar than others."""
    sigma = moebius(kappa)[..., 1:]
    total = kappa[..., -1:] - kappa[..., :1]
    return np.divide(sigma, total, out=np.full_like(sigma, np.nan), where=total > 0)


@door
def salience(
    features: Float[np.ndarray, "n p"],
    components: Int[np.ndarray, "n C"],
    *,
    centre: bool = False,
    self_pairs: bool = False,
    bootstrap: Index = 0,
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> Salience:
    r"""Measure the overlap saliences of a representation.

    With the mean :math:`\mu_t` over the samples of tuple t,

    .. math:: \kappa(O) = \mathrm{mean}_{t, t':\, O(t, t') = O}\; \mu_t \cdot \mu_{t'}
              \quad (O \ne \text{all}), \qquad
              \kappa(\text{all}) = \mathrm{mean}_t\;
              \frac{|\sum_i x_i|^2 - \sum_i |x_i|^2}{m_t (m_t - 1)},

    over pairs of different tuples with exactly the overlap O, and over tuples with at least
    two samples. A sample never meets itself, so noise that is independent between samples
    adds nothing. Every tuple counts the same, however many samples it has.

    Parameters
    ----------
    features : float array, shape (n, p)
        One row for each sample: pixels, activations. An offset common to all samples that is
        huge beside their differences costs digits; `centre` takes it away.
    components : int array, shape (n, C)
        The sample's tuple, as value indices from 0, of any integer type; from a table of
        labels, ``tasks.from_frame(...).components``. Repeats of a row are several samples.
    centre : bool, keyword-only, default False
        Subtract the mean over tuples first. On a complete grid this shifts all similarities
        alike and leaves saliences as they are.
    self_pairs : bool, keyword-only, default False
        Count a sample's similarity with itself in the similarity of identical tuples, as the
        published analysis does. Exact for representations without noise (one row a tuple),
        biased for others.
    bootstrap : int, keyword-only, default 0
        Replicates. The samples of each tuple are drawn anew with replacement, pairs of one
        sample with itself left out. Resampling m samples understates the variance of their
        mean by (m-1)/m; deviations are widened to make up for that. The tuples themselves are
        taken as given; a tuple with one sample adds no spread, and where all have just one,
        intervals are NaN.
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
        `self_pairs`), or options are out of range.

    Notes
    -----
    Saliences: Lippl & Stachenfeld (ICLR 2025), definition 3.1 and the analysis of trained
    networks, whose similarity of identical tuples includes self-pairs. Correction, group sums
    and structure score are derived here. With :math:`G(S) = \sum_{v}
    |\sum_{t: t_S = v} \mu_t|^2 - \sum_t |\mu_t|^2`, pairs that share at least S, those that
    share exactly S follow by a Möbius sum over supersets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(5) for b in range(5)], 40, axis=0)
    >>> clean = np.hstack([np.eye(5)[rows[:, 0]], np.eye(5)[rows[:, 1]]])
    >>> noisy = clean + rng.normal(0, 0.1, clean.shape)
    >>> round(float(salience(noisy, rows).salience[0]), 2)
    0.5
    """
    data, rows = features, components
    _require_consistent(rows)
    n, n_components = rows.shape
    # Features beyond the samples' own span add nothing to inner products.
    if data.shape[1] > 2 * n:
        data = np.asarray(np.linalg.qr(data.T, mode="r")).T
    offset = not centre and bool(np.any(data != data[0]))
    groups = TupleGroups.of(rows)
    repeated = groups.counts >= 2
    require(
        self_pairs or bool(repeated.any()),
        "the similarity of identical tuples needs a tuple with two samples",
        f"one sample for each of {len(groups.counts)} tuples",
        "add repeats, or pass self_pairs=True if the features carry no noise",
    )
    mean_of = groups.averaging(np.ones(n))
    if centre:
        data = data - np.mean(mean_of @ data, axis=0)
    squares = np.einsum("ij,ij->i", data, data)
    kappa = groups.similarity(data, squares, np.ones(n), self_pairs)

    deviation = np.bincount(groups.index, squares) - groups.counts * np.sum(
        (mean_of @ data) ** 2, axis=1
    )
    noise = np.nan
    if repeated.any():
        noise = float(np.mean(deviation[repeated] / (groups.counts[repeated] - 1)))
    n_pairs = groups.n_pairs.copy()
    n_pairs[-1] = len(repeated) if self_pairs else int(repeated.sum())
    shifted = offset and bool(kappa[0] > kappa[-1] - kappa[0])
    structure, unknown = structure_score(data, rows, correct=not self_pairs)
    return Salience(
        n_components,
        kappa,
        n_pairs,
        noise,
        structure,
        self_pairs,
        float(confidence),
        _bootstrap(data, squares, groups, kappa, self_pairs, centre, bootstrap, seed),
        n,
        len(groups.counts),
        (
            *_notes(n_pairs, kappa, groups.counts, self_pairs, bootstrap, offset),
            *_structure_notes(structure, unknown, shifted),
        ),
    )


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


def _notes(
    n_pairs: np.ndarray,
    kappa: np.ndarray,
    counts: np.ndarray,
    self_pairs: bool,
    bootstrap: int,
    offset: bool,
) -> list[str]:
    notes = [
        f"no two tuples share exactly {set_of(mask) or 'nothing'}: that similarity is NaN"
        for mask in np.flatnonzero(n_pairs == 0).tolist()
    ]
    if self_pairs:
        notes.append("self-pairs are counted: noise within a tuple passes for similarity")
    single = int(np.sum(counts == 1))
    if single and not self_pairs:
        notes.append(f"{single} tuples with one sample have no similarity of their own")
    if bootstrap and single == len(counts):
        notes.append("no tuple has two samples to draw from: intervals are NaN")
    elif single and bootstrap:
        notes.append(f"{single} tuples with one sample add no spread to the intervals")
    if kappa[-1] <= kappa[0]:
        notes.append("identical tuples are no more similar than others: saliences are NaN")
    lead, size = abs(kappa[-1] - kappa[0]), np.nanmax(np.abs(kappa))
    if offset and lead < FEW_DIGITS * size:
        notes.append(
            f"identical tuples lead by {lead / size:.0e} of the similarity, so saliences have "
            "few digits or none; pass centre=True to take the features' common offset away"
        )
    return notes


def _structure_notes(structure: float, unknown: str, offset: bool) -> list[str]:
    if unknown:
        return [f"structure is NaN: {unknown}"]
    if structure >= 0.5:
        return []
    note = (
        f"structure is {structure:.2f}: similarity depends on more than the overlap; "
        "predictions from `kernel` can be far off"
    )
    if offset:
        note += "; the features' common offset may hide it, look again with centre=True"
    return [note]


def _bootstrap(
    features: np.ndarray,
    squares: np.ndarray,
    groups: TupleGroups,
    kappa: np.ndarray,
    self_pairs: bool,
    centre: bool,
    bootstrap: int,
    seed: Seed,
) -> np.ndarray:
    if not bootstrap or groups.counts.max() < 2:
        return np.empty((0, len(kappa)))

    def replicates(rng: np.random.Generator) -> Iterator[np.ndarray]:
        for _ in range(bootstrap):
            weights = groups.resampled(rng)
            centred, lengths = features, squares
            if centre:
                centred = features - np.mean(groups.averaging(weights) @ features, axis=0)
                lengths = np.einsum("ij,ij->i", centred, centred)
            yield groups.similarity(centred, lengths, weights, self_pairs)

    drawn = np.stack(list(replicates(np.random.default_rng(seed))))
    # A replicate in which no tuple drew two different samples has no similarity of its own.
    drawn = drawn[~np.isnan(drawn[:, -1])]
    variance = 1.0 / groups.counts[groups.counts > 1]
    widen = np.sqrt(variance.sum() / np.sum(variance * (1.0 - variance))) if len(variance) else 1.0
    return kappa + widen * (drawn - kappa)
