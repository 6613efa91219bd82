"""Parallelism score: whether a component is encoded along the same direction in all contexts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index, ProperFraction, Seed
from partwhole.measures._means import Means, condition_means
from partwhole.measures.abstraction.coding import CodingVectors
from partwhole.measures.abstraction.nulls import p_values, permuted_means
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

MOST_CONDITIONS = 1000


@dataclass(frozen=True, eq=False)
class Parallelism:
    """Parallelism scores of the components of a recording.

    Parameters
    ----------
    names : tuple of str, length C
        Components.
    score : float array, shape (C,)
        Without the noise of trials: 1 if coding vectors are the same in all contexts, 0 if they
        have nothing in common. It scatters, so that it can exceed 1. NaN where `notes` says so.
    plug_in : float array, shape (C,)
        Mean cosine of differences of condition means, as published, which noise lowers.
    interval : float array, shape (C, 2)
        Of `score`; NaN where `notes` says so.
    confidence : float
    null : float array, shape (B, C)
        Scores with the means of each neuron permuted.
    n_contexts : int array, shape (C,)
        Contexts that were compared: for the pair of values that has most of them.
    notes : tuple of str

    Examples
    --------
    Of 40 neurons 30 respond to shape, and 10 to shape times colour. These 10 reverse the coding
    vector of colour from shape to shape (a score of -1, but for noise), and lower the score of
    shape to (30 - 10) / 40.

    >>> from partwhole.recordings import from_trials
    >>> shape, colour = np.repeat([[-1, -1, 1, 1], [-1, 1, -1, 1]], 20, axis=1)
    >>> clean = np.repeat(np.stack([shape, shape * colour], axis=1), [30, 10], axis=1)
    >>> noisy = clean + np.random.default_rng(0).normal(size=clean.shape)
    >>> measured = parallelism(from_trials(noisy, {"shape": shape, "colour": colour}))
    >>> dict(zip(measured.names, measured.score.round(1).tolist(), strict=True))
    {'shape': 0.5, 'colour': -1.0}
    """

    names: tuple[str, ...]
    score: Float[np.ndarray, " C"]
    plug_in: Float[np.ndarray, " C"]
    interval: Float[np.ndarray, "C 2"]
    confidence: float
    null: Float[np.ndarray, "B C"] = field(repr=False)
    n_contexts: Int[np.ndarray, " C"]
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> Float[np.ndarray, " C"]:
        """Return the p-values of `score`, one-sided, (1 + higher) / (1 + B); NaN without null."""
        return p_values(self.score, self.null)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each component.

        Returns
        -------
        pandas.DataFrame
            component, contexts, score, low and high (its interval), plug-in, and of the null the
            p-value and the number of repetitions.
        """
        import pandas as pd

        return pd.DataFrame({
            "component": list(self.names),
            "contexts": self.n_contexts,
            "score": self.score,
            "low": self.interval[:, 0],
            "high": self.interval[:, 1],
            "plug-in": self.plug_in,
            "p": self.p,
            "repetitions": len(self.null),
        })  # fmt: skip


@door
def parallelism(
    recording: Recording,
    *,
    confidence: ProperFraction = 0.95,
    repetitions: Index = 200,
    seed: Seed = 0,
) -> Parallelism:
    r"""Measure how parallel each component's coding vectors are, without the noise of trials.

    A coding vector leads from one value of a component to another in a context, the values of all
    other components. Over pairs of values, and over pairs of different contexts x and y in which
    both values were shown,

    .. math:: \mathrm{score} = \frac{\sum d_x \cdot d_y}{\sum \frac12 (|d_x|^2 + |d_y|^2)}.

    Both sums are of products of different trials (of different groups, where the recording has
    groups), to which independent noise adds nothing.

    Parameters
    ----------
    recording : Recording
        Responses are averaged over its times. Conditions need two trials, or trials in two groups.
    confidence : float, keyword-only, default 0.95
        Level of the intervals, over other trials of the same neurons.
    repetitions : int, keyword-only, default 200
        Of the null, in which the condition means of each neuron are permuted, independently of
        those of all others; 0 for none.
    seed : int, keyword-only, default 0
        For the null, and for pseudo-trials of neurons that were not recorded together.

    Returns
    -------
    Parallelism

    Raises
    ------
    InputError
        If there is a single component, fewer than two conditions have two trials (or trials in two
        groups), no two values of any component share two contexts, or for more than 1,000
        conditions.

    Notes
    -----
    Bernardi et al. (Cell 2020) define the score for two values, with cosines of measured
    differences, whose mean over all pairs is `plug_in`. Here the ratio of sums takes the place of
    the mean of ratios, so that both can be had without noise; they agree where coding vectors are
    equally long. Values in any number and the correction are derived here.

    In a complete design the score follows from mean similarities by overlap set: with two
    components and saliences :math:`\sigma` it is :math:`\sigma_a / (\sigma_a + \sigma_{ab})`.

    Intervals are the score plus and minus quantiles of Student's t times the root of the sum of
    squared influences of trials (groups), less what these count twice; its degrees of freedom are
    Satterthwaite's, so that a condition with few trials has few. Those of 95 % covered .92 to .97
    in simulations, .99 where one condition of four had 2 trials and the others 40, and .89 where
    squared lengths were hardly above three standard errors, below which there are none.

    In the null neurons are unrelated, and each varies over conditions as much as it does. Where
    neurons are correlated, as voxels are, codes scatter more than it does, and p-values are too
    small. The published null turns the mean of each condition to a random direction: it takes
    neurons to be alike, so that gains which differ as log-normal numbers of deviation 1 bring p
    below .05 in a fifth to a quarter of independent codes (here in a twentieth or less).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 10, axis=0)
    >>> clean = 2 * np.eye(3)[rows[:, 0]] @ rng.normal(size=(3, 100))
    >>> clean += np.eye(9)[3 * rows[:, 0] + rows[:, 1]] @ rng.normal(size=(9, 100))
    >>> names, values = ("shape", "colour"), (tuple("dst"), tuple("rgb"))
    >>> recording = Recording(clean + 3.0 * rng.normal(size=clean.shape), rows, names, values)
    >>> measured = parallelism(recording)
    >>> [round(float(number), 2) for number in (measured.score[0], measured.plug_in[0])]
    [0.77, 0.65]
    """
    return parallelism_by(
        recording, lambda: condition_means(recording, seed=seed), confidence, repetitions, seed
    )


def parallelism_by(
    recording: Recording,
    means_of: Callable[[], Means],
    confidence: float = 0.95,
    repetitions: int = 200,
    seed: int = 0,
) -> Parallelism:
    """Return `parallelism` by means of conditions, which several measures can share."""
    from scipy.stats import t

    require(
        recording.n_components > 1,
        "parallelism compares contexts, the values of a second component",
        "a single component",
        "name another column of the conditions",
    )
    require(
        recording.n_conditions <= MOST_CONDITIONS,
        f"parallelism compares up to {MOST_CONDITIONS:,} conditions with one another",
        f"{recording.n_conditions:,}",
        "select fewer",
    )
    means = means_of()
    n_conditions = len(means.conditions)
    vectors = [CodingVectors.of(means.conditions, c) for c in range(recording.n_components)]
    require(
        any(of.n_comparisons for of in vectors),
        "two values of a component were shown in two contexts, the same other components",
        f"{n_conditions} repeated conditions without",
        "add conditions",
    )
    products = means.similarity_times(np.eye(n_conditions))
    score = np.array([of.score(products) for of in vectors])
    errors, degrees = np.transpose([
        of.error(means, value, float(np.sum(of.forms[1] * products)))
        for of, value in zip(vectors, score, strict=True)
    ])  # fmt: skip
    width = t.ppf(0.5 + 0.5 * confidence, degrees) * errors
    noise = np.diag(np.sum(means.means**2, axis=1) - means.diagonal)
    by_neuron = means.by_neuron.means
    by_neuron = (by_neuron - by_neuron.mean(axis=0))[:, np.ptp(by_neuron, axis=0) > 0.0]
    null = np.empty((repetitions, len(vectors)))
    drawn = permuted_means(by_neuron, repetitions, np.random.default_rng(seed))
    for row, places in zip(null, drawn, strict=True):
        row[:] = [of.score(places @ places.T - noise) for of in vectors]
    return Parallelism(
        recording.names,
        score,
        np.array([of.mean_cosine(means.means) for of in vectors]),
        np.column_stack([score - width, score + width]),
        float(confidence),
        null,
        np.array([of.counts.max() if of.n_comparisons else 0 for of in vectors]),
        (*means.notes, *_notes(recording.names, vectors, score, errors)),
    )


def _notes(
    names: tuple[str, ...],
    vectors: list[CodingVectors],
    score: Float[np.ndarray, " C"],
    errors: Float[np.ndarray, " C"],
) -> list[str]:
    notes = []
    for name, of, value, error in zip(names, vectors, score, errors, strict=True):
        if not of.n_comparisons:
            notes.append(f"no two values of {name!r} share two contexts: it has no score")
        elif np.isnan(value):
            notes.append(f"coding vectors of {name!r} are no longer than noise: it has no score")
        elif np.isnan(error):
            notes.append(f"coding vectors of {name!r} are hardly longer than noise: no interval")
    return notes
