r"""Saliences of a measured representation: how strongly it separates each conjunction.

They come from distances between tuples, in products of different samples and from sums over groups
of tuples, so no n x n matrix is formed.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, ProperFraction, Seed
from partwhole.features.subsets import MAX_COMPONENTS
from partwhole.measures._groups import TupleGroups
from partwhole.measures._resampling import Resample, chosen_resampling, replicates_of
from partwhole.measures._salience_notes import (
    notes_on_conditions,
    notes_on_intervals,
    notes_on_structure,
)
from partwhole.measures._samples import Whiten, blocks_of, prepared
from partwhole.measures._shared_noise import notes_on_shared_noise
from partwhole.measures._similarity import Samples, noise_by_feature, of_groups, of_trials
from partwhole.measures._structure import structure_of
from partwhole.measures.salience_result import Salience
from partwhole.recordings import Recording

CONFIDENCE = 0.95


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
    confidence: ProperFraction = CONFIDENCE,
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
    trials in another order; of neighbours it says what that does to saliences in the order of these
    trials. Trials in an order that was shuffled can't show it. If none measurably
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
    (result,) = _saliences(
        features, blocks, whiten, self_pairs, [resample], bootstrap, confidence, seed
    )
    return result


def saliences_over(
    recording: Recording,
    resample: list[Resample | None],
    whiten: Whiten,
    bootstrap: int,
    seed: int,
    *,
    noted: bool = True,
) -> list[Salience]:
    """Return the saliences of a recording, once with the intervals of each way of resampling.

    Not `noted`, without structure and notes, which take as long as the rest.
    """
    blocks = blocks_of(recording, None, None)
    return _saliences(
        recording, blocks, whiten, False, resample, bootstrap, CONFIDENCE, seed, noted=noted
    )


def _saliences(
    features: Recording | Float[np.ndarray, "n p"],
    blocks: list[Samples],
    whiten: Whiten,
    self_pairs: bool,
    resample: list[Resample | None],
    bootstrap: int,
    confidence: float,
    seed: int,
    *,
    noted: bool = True,
) -> list[Salience]:
    for block in blocks:
        _require_consistent(block.components)
    grouped = blocks[0].groups is not None
    ways: list[Resample] = [chosen_resampling(way, grouped) for way in resample]
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
    n_neurons = sum(block.features.shape[1] for block in blocks)
    by_feature = bootstrap > 0 and any(way in ("neurons", "both") for way in ways)
    # Neurons are needed one by one where they are drawn, and else only inner products.
    whole, blocks = blocks, [block.reduced() for block in blocks]
    products = [
        of_groups(block, by_feature=by_feature)
        if grouped
        else of_trials(block, groups=groups, self_pairs=self_pairs, by_feature=by_feature)
        for block, groups in zip(whole if by_feature else blocks, by_tuple, strict=True)
    ]
    require(
        all(block.n_tuples.any() for block in products),
        "products across groups need two tuples that are in the same two groups",
        "none",
        "leave groups out, or spread the repeats of tuples over groups",
    )
    parts = [block.kappa() for block in products]
    centred = np.sum([part.sum(axis=1) if by_feature else part for part in parts], axis=0)
    in_design = np.min([groups.n_pairs for groups in by_tuple], axis=0)
    n_pairs = np.min([block.n_pairs.sum(axis=0) > 0 for block in products], axis=0) * in_design
    n_pairs[-1] = min(len(groups.counts) for groups in by_tuple)
    pairs = list(zip(blocks, by_tuple, strict=True))
    noise = float(np.sum([noise_by_feature(block, groups).sum() for block, groups in pairs]))
    structure, unknown = structure_of(features, blocks, self_pairs) if noted else (np.nan, "")
    n_components = len(centred).bit_length() - 1
    names = [f"component {c}" for c in range(n_components)]
    on_shared_noise: list[str] = []
    if isinstance(features, Recording):
        names = list(features.names)
        if noted and not (grouped or self_pairs):
            # Blocks of neurons share their trials in part, and what is wrong with them.
            above_others = float(centred[-1] - centred[0])
            in_units = noise / above_others if above_others > 0.0 else np.nan
            of_blocks = (notes_on_shared_noise(*pair, in_units, seed) for pair in pairs)
            on_shared_noise = next(filter(None, of_blocks), [])
    n_groups = min(int(block.groups.max(initial=0)) + 1 for block in products)
    results = []
    for way in ways:
        replicates = replicates_of(
            blocks, by_tuple, products, centred, way, self_pairs, bootstrap,
            np.random.default_rng(seed),
        )  # fmt: skip
        notes = (
            ()
            if not noted
            else (
                *notes_on_conditions(
                    n_pairs, in_design, centred, counts, self_pairs, bootstrap, way, names
                ),
                *notes_on_structure(structure, unknown),
                *notes_on_intervals(
                    centred, replicates, way, grouped * n_groups, n_neurons, float(confidence)
                ),
                *on_shared_noise,
            )
        )
        results.append(
            Salience(
                n_components,
                centred,
                level,
                n_pairs,
                noise,
                structure,
                self_pairs,
                float(confidence),
                way,
                replicates,
                sum(len(block.features) for block in blocks),
                n_pairs[-1].item(),
                notes,
            )
        )
    return results


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
