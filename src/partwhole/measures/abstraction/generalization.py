r"""Cross-condition generalization performance: decoders tested on unseen conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Index, Positive, Seed
from partwhole.measures._confounded import dependence
from partwhole.measures.abstraction.decoder import (
    Clouds,
    Places,
    condition_means,
    whole_vectors,
)
from partwhole.measures.abstraction.dichotomies import (
    Dichotomies,
    Near,
    balanced_dichotomies,
    component_dichotomies,
    with_components,
)
from partwhole.measures.abstraction.nulls import (
    p_values,
    permuted_labels,
    values_of_other_groups,
)
from partwhole.measures.abstraction.splits import (
    Split,
    folds_of_groups,
    splits_of,
    transfer,
    transfer_between_groups,
)
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

# P-value of the dependence of values and groups, below which a null moves values between groups.
CONFOUNDED = 0.05
# Times that values are moved for each repetition, where some draws change which conditions are.
DRAWS = 3


@dataclass(frozen=True, eq=False)
class CrossConditionGeneralization:
    """Cross-condition generalization performance of dichotomies of conditions.

    Parameters
    ----------
    names : tuple of str, length C
        Components.
    labels : int array, shape (D, T)
        Side of every condition, -1 or +1; 0 where it is left out.
    component : int array, shape (D,)
        The component whose values the two sides are; -1 for none.
    texts : tuple of str, length D
        Each dichotomy in words: two values, or the conditions of the side of +1.
    score : float array, shape (D,)
        Mean accuracy on conditions that the decoder was not trained on; chance is 0.5.
    n_splits : int array, shape (D,)
        Sets of conditions that were held out in turn.
    null : float array, shape (B, D)
        Scores with the means of each neuron permuted, or another null.
    n_dichotomies : int
        Balanced dichotomies of these conditions, of which `labels` may hold a sample.
    notes : tuple of str

    Examples
    --------
    Of 40 neurons 30 respond to shape, and 10 to shape times colour. A decoder of colour that is
    trained on some conditions errs on the others.

    >>> from partwhole.recordings import from_trials
    >>> shape, colour = np.repeat([[-1, -1, 1, 1], [-1, 1, -1, 1]], 20, axis=1)
    >>> clean = np.repeat(np.stack([shape, shape * colour], axis=1), [30, 10], axis=1)
    >>> noisy = clean + np.random.default_rng(0).normal(size=clean.shape)
    >>> measured = ccgp(from_trials(noisy, {"shape": shape, "colour": colour}))
    >>> {name: round(score, 1) for name, score in measured.by_component.items()}
    {'shape': 1.0, 'colour': 0.0}
    """

    names: tuple[str, ...]
    labels: Int[np.ndarray, "D T"]
    component: Int[np.ndarray, " D"]
    texts: tuple[str, ...]
    score: Float[np.ndarray, " D"]
    n_splits: Int[np.ndarray, " D"]
    null: Float[np.ndarray, "B D"] = field(repr=False)
    n_dichotomies: int
    notes: tuple[str, ...] = ()

    @property
    def p(self) -> Float[np.ndarray, " D"]:
        """Return each dichotomy's p-value, one-sided, (1 + higher) / (1 + B); NaN without null."""
        return p_values(self.score, self.null)

    @property
    def by_component(self) -> dict[str, float]:
        """Return the mean score over pairs of values of each component, NaN if there are none."""
        return dict(zip(self.names, self._by_component(self.score[None])[0].tolist(), strict=True))

    @property
    def p_by_component(self) -> dict[str, float]:
        """Return the p-values of `by_component`."""
        values = p_values(self._by_component(self.score[None])[0], self.null_by_component)
        return dict(zip(self.names, values.tolist(), strict=True))

    @property
    def null_by_component(self) -> Float[np.ndarray, "B C"]:
        """Return `by_component` of the null."""
        return self._by_component(self.null)

    def _by_component(self, scores: np.ndarray) -> np.ndarray:
        chosen = self.component == np.arange(len(self.names))[:, None]
        count = chosen.sum(axis=1)
        total = scores @ chosen.T.astype(np.float64)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each dichotomy.

        Returns
        -------
        pandas.DataFrame
            dichotomy, component (empty for none), ccgp, splits, and of the null its mean, standard
            deviation, the p-value and the number of repetitions.
        """
        import pandas as pd

        names = [self.names[c] if c >= 0 else "" for c in self.component]
        mean, deviation = np.full((2, len(self.score)), np.nan)
        if len(self.null):
            mean, deviation = self.null.mean(axis=0), self.null.std(axis=0)
        return pd.DataFrame({
            "dichotomy": list(self.texts),
            "component": names,
            "ccgp": self.score,
            "splits": self.n_splits,
            "null mean": mean,
            "null deviation": deviation,
            "p": self.p,
            "repetitions": len(self.null),
        })  # fmt: skip


@door
def ccgp(
    recording: Recording,
    *,
    dichotomies: Literal["balanced", "components"] = "balanced",
    held_out: Count = 1,
    differing: Count | None = None,
    ridge: Positive = 1.0,
    null: Literal["neurons", "rotation", "labels"] = "neurons",
    repetitions: Index = 100,
    max_dichotomies: Count = 200,
    max_splits: Count = 64,
    seed: Seed = 0,
) -> CrossConditionGeneralization:
    r"""Return how well decoders of two labels generalize to conditions that they never saw.

    A linear decoder is trained on trials of some conditions of both sides of a dichotomy, and
    tested on trials of the others; the score is the mean accuracy over all ways of holding out
    `held_out` conditions of each side. Above the null the dichotomy is encoded in an abstract
    format: alike in all conditions.

    Parameters
    ----------
    recording : Recording
        Averaged over its times, and with pseudo-trials where not all neurons were recorded
        together.
    dichotomies : {"balanced", "components"}, keyword-only, default "balanced"
        All divisions of the conditions in halves (nearly, if their number is odd), with every pair
        of values of each component; or these pairs alone. A pair of values takes the conditions
        that have one of them. For two values it is the published dichotomy of the variable; for
        more, pairs are the published definition for the conditions that are left, while one value
        against the rest would change what a side is.
    held_out : int, keyword-only, default 1
        Conditions of each side that are held out together, as published with 1.
    differing : int, keyword-only, default None
        Most components in which the two conditions that are held out together may differ; None for
        any, as published. With 1 a component is tested in one context, the values of all others,
        and trained in all other contexts, as decodanda does by default.
    ridge : float, keyword-only, default 1.0
        Penalty on squared weights, in units of the variance of trials within conditions, mean over
        neurons: with 1 the noise counts half as measured and half as if it were the same for all
        neurons. At least 1e-8 is used.
    null : {"neurons", "rotation", "labels"}, keyword-only, default "neurons"
        "neurons" permutes the condition means of each neuron, independently of those of all others,
        with the noise of trials as it is: above it, conditions are not only apart but in an
        abstract format, whatever the gains of neurons. "rotation" is the published one: whole
        clouds of trials are turned about the mean of all, noise included, by permuting the neurons
        of each condition; it takes neurons to be alike. "labels" permutes the conditions of trials,
        within groups if there are any: above it, trials tell of conditions at all.
    repetitions : int, keyword-only, default 100
        Of the null; 0 for none.
    max_dichotomies : int, keyword-only, default 200
        If there are more balanced dichotomies, so many are drawn, beside those of components.
    max_splits : int, keyword-only, default 64
        If there are more ways of holding out for a dichotomy, so many are drawn.
    seed : int, keyword-only, default 0
        For pseudo-trials, drawn dichotomies and splits, and the null.

    Returns
    -------
    CrossConditionGeneralization

    Raises
    ------
    InputError
        If no dichotomy has more than `held_out` conditions on both sides, or with `differing` two
        such conditions, for `differing` beside another `held_out` than 1, and for options out of
        range.

    Notes
    -----
    Bernardi et al. (Cell 2020): definition, and the geometric random model, "rotation"; there with
    linear support vector machines on standardised neurons, and as many trials of every condition,
    drawn anew. Here every condition counts the same, however many trials it has, and the decoder is
    ridge regression on labels -1 and +1 (`partwhole.measures.abstraction.decoder`). In simulations
    of 40 neurons scores were within .015 of those of support vector machines with the best of
    several penalties C; with C = 1, the default of scikit-learn and decodanda, these were lower by
    up to .07 where noise is large. Accuracy depends on the noise of trials and on their number;
    what trials of a group share is no signal, as decoders are tested on trials of other groups than
    they were trained on, where the recording has groups.

    Groups that lack a value are held out with others that have it. Where values and groups depend
    on each other (chi-squared, p < .05), every repetition of the null is the higher of two: that of
    `null`, and one in which values move from group to group with all they share. With few groups
    such a p-value cannot be small. A value that a single group has has no score.

    Where few conditions are left for training, these differ in other components too: with two
    values of two components, half of all ways train on conditions that differ in both, so that of
    a sum of two codes at right angles the longer has a score of 1 and the shorter of 1/2. The null
    shares this. With ``differing=1`` both have a score of 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(2) for b in range(4)], 20, axis=0)
    >>> clean = np.eye(2)[rows[:, 0]] @ rng.normal(size=(2, 50))
    >>> clean += np.eye(4)[rows[:, 1]] @ rng.normal(size=(4, 50))
    >>> names, values = ("shape", "colour"), (("disc", "star"), tuple("rgby"))
    >>> recording = Recording(clean + 2.0 * rng.normal(size=clean.shape), rows, names, values)
    >>> measured = ccgp(recording, repetitions=99)
    >>> len(measured.score), round(measured.by_component["shape"], 2)
    (41, 0.95)
    >>> measured.p_by_component["shape"]
    0.01

    Two values of two components, each with 25 neurons, which respond to colour half as much:

    >>> rows = np.repeat([[a, b] for a in range(2) for b in range(2)], 20, axis=0)
    >>> clean = np.repeat(rows * [2.0, 1.0], 25, axis=1)
    >>> names, values = ("shape", "colour"), (("disc", "star"), ("red", "blue"))
    >>> recording = Recording(clean + 0.5 * rng.normal(size=clean.shape), rows, names, values)
    >>> anywhere, in_context = (
    ...     ccgp(recording, differing=most, repetitions=0).by_component for most in (None, 1)
    ... )
    >>> anywhere, in_context
    ({'shape': 1.0, 'colour': 0.5}, {'shape': 1.0, 'colour': 1.0})
    """
    whole = whole_vectors(recording, seed)
    listed, notes = component_dichotomies(whole), whole.notes
    if dichotomies == "balanced":
        balanced = balanced_dichotomies(whole, max_dichotomies, seed)
        listed, notes = with_components(balanced, listed), (*notes, *balanced.notes)
    require(
        differing is None or held_out == 1,
        "differing is of two conditions that are held out together, one of each side",
        f"held_out={held_out}",
        "leave one of them out",
    )
    near = None if differing is None else Near(whole.conditions, differing)
    splits, n_splits = splits_of(listed, held_out, max_splits, seed, near)
    usable = n_splits > 0
    require(
        near is not None or bool(usable.any()),
        "both sides of a dichotomy have more conditions than are held out",
        f"{whole.n_conditions} conditions, {held_out} of each side held out",
        "hold out fewer, or add conditions",
    )
    apart = "" if near is None else f"{near.most} component{'s' * (near.most != 1)}"
    require(
        bool(usable.any()),
        f"two conditions that differ in at most {apart} are held out, one of each side of a "
        "dichotomy, and others of both sides trained on",
        f"none among {whole.n_conditions} conditions",
        "add conditions",
    )
    rng = np.random.default_rng(seed)
    clouds = Places.of(whole).clouds(float(ridge), repetitions if null == "neurons" else 0, rng)
    if null != "neurons":
        moved = _permuted if null == "labels" else _rotated
        drawn = (Places.of(moved(whole, rng)) for _ in range(repetitions))
        of_others = (places.clouds(float(ridge), 0, rng) for places in drawn)
        clouds = chain(clouds, chain.from_iterable(of_others))
    if not usable.all():
        lack = int(np.sum(~usable))
        word = "dichotomy" if lack == 1 else "dichotomies"
        few = "with too few conditions to hold some out"
        if near is not None:
            few += f" that differ in at most {apart}"
        notes = (*notes, f"{lack} {word} left out, {few}")
    if whole.groups is None:
        scores = np.concatenate([transfer(part, listed.labels, splits) for part in clouds])
        scores = scores[:, usable] / n_splits[usable]
    else:
        scores, n_splits, of_groups = _between_groups(
            whole, listed, splits, clouds, float(ridge), repetitions, rng
        )
        notes, usable = (*notes, *of_groups), n_splits > 0
        scores = scores[:, usable]
    if int(np.bincount(whole.condition_of_trial).max()) == 1:
        notes = (*notes, "one trial of every condition: the noise of trials is unknown")
    texts = listed.texts(whole)
    return CrossConditionGeneralization(
        whole.names,
        listed.labels[usable],
        listed.component[usable],
        tuple(text for text, use in zip(texts, usable, strict=True) if use),
        scores[0],
        n_splits[usable],
        scores[1:],
        listed.total,
        notes,
    )


def _between_groups(
    whole: Recording,
    listed: Dichotomies,
    splits: list[Split],
    clouds: Iterable[Clouds],
    ridge: float,
    repetitions: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, "R D"], Int[np.ndarray, " D"], list[str]]:
    """Return scores of decoders tested on trials of other groups, their splits, and notes.

    Where values and groups depend on each other, so do values and what trials of a group share:
    in the null values then also move between groups, and the higher score counts.
    """
    assert whole.groups is not None
    group = np.unique(whole.groups, return_inverse=True)[1].ravel()
    index, labels = whole.condition_of_trial, listed.labels
    folds = folds_of_groups(group, index, labels)
    several = np.flatnonzero(folds.max(axis=1) > 0)
    kept = [replace(split, dichotomies=np.intersect1d(split.dichotomies, several))
            for split in splits]  # fmt: skip
    plain = np.bincount(np.concatenate([of.dichotomies for of in splits]), minlength=len(labels))
    parts, n_splits = [], np.zeros(len(labels), dtype=np.int64)
    for part in clouds:
        # Moved means are unrelated to groups: their decoders may train on trials of the same ones.
        total = transfer(part, labels, splits) / np.maximum(plain, 1)
        if not parts:
            measured = replace(part, positions=part.positions[:1])
            held_out, n_splits = transfer_between_groups(measured, labels, kept, group, folds)
            total[0] = held_out[0] / np.maximum(n_splits, 1)
        parts.append(total)
    scores, notes = np.concatenate(parts), []
    require(
        bool(np.any(n_splits > 0)),
        "decoders are tested on trials of other groups than they were trained on",
        "no two values of a component that two groups have",
        "record every value in two groups or more",
    )
    for c, name in enumerate(whole.names):
        of = np.flatnonzero((listed.component == c) & (n_splits > 0))
        lack = int(np.sum((listed.component == c) & (folds.max(axis=1) == 0)))
        if lack:
            pairs = f"{lack} pair{'s' * (lack != 1)} of its values" if len(of) else "it"
            notes.append(
                f"values of {name!r} need two groups each to be told from groups, and {pairs} "
                f"{'have' if lack > 1 and len(of) else 'has'} no score in unseen contexts: record "
                "every value in several groups"
            )
        if not len(of) or not repetitions:
            continue
        value = whole.components[:, c]
        if dependence(group, value) >= CONFOUNDED:
            continue
        chosen = [replace(split, dichotomies=np.intersect1d(split.dichotomies, of))
                  for split in kept]  # fmt: skip
        drawn = []
        for cloud in _moved_over_groups(whole, c, group, ridge, repetitions, rng):
            of_moved = folds_of_groups(group, cloud.index, labels)
            total, count = transfer_between_groups(cloud, labels, chosen, group, of_moved)
            # A pair of values that cannot be tested there could have any score.
            drawn.append(np.where(count > 0, total[0] / np.maximum(count, 1), 1.0)[of])
        # Too few draws are used again; without any, no p-value is small.
        moved = np.resize(drawn or np.ones(len(of)), (repetitions, len(of)))
        scores[1:, of] = np.maximum(scores[1:, of], moved)
        notes.append(
            f"values of {name!r} are confounded with groups: its decoders in unseen contexts are "
            "compared with values moved between groups, too, so that few groups give no small p"
        )
    return scores, n_splits, notes


def _moved_over_groups(
    whole: Recording,
    component: int,
    group: Int[np.ndarray, " n"],
    ridge: float,
    repetitions: int,
    rng: np.random.Generator,
) -> Iterator[Clouds]:
    """Yield trials whose values of a component are as those of other groups are.

    Draws that leave a condition without trials, or make a new one, are drawn again.
    """
    place = {tuple(row): t for t, row in enumerate(whole.conditions.tolist())}
    places, rows = Places.of(whole), whole.components.copy()
    count = 0
    for _ in range(DRAWS * repetitions):
        rows[:, component] = values_of_other_groups(whole.components[:, component], group, rng)
        index = np.array([place.get(tuple(row), -1) for row in rows.tolist()])
        if index.min() >= 0 and len(np.unique(index)) == len(place):
            yield from replace(places, index=index).clouds(ridge, 0, rng)
            count += 1
        if count == repetitions:
            return


def _rotated(recording: Recording, rng: np.random.Generator) -> Recording:
    """Return a recording in which the neurons of each condition are permuted, in all its trials.

    Centred means are longer by what they are shorter for having a common mean, so that conditions
    are as far apart as independent ones.
    """
    index, data = recording.condition_of_trial, recording.responses
    means = condition_means(data, index)
    centred = means - means.mean(axis=0)
    shift = centred * np.sqrt(len(means) / (len(means) - 1.0)) - means
    order = rng.permuted(np.tile(np.arange(data.shape[1]), (len(means), 1)), axis=1)
    turned = np.take_along_axis(data + shift[index], order[index], axis=1)
    return replace(recording, responses=turned)


def _permuted(recording: Recording, rng: np.random.Generator) -> Recording:
    """Return a recording whose trials have other trials' conditions, of the same group."""
    index = recording.condition_of_trial
    within = np.zeros_like(index) if recording.groups is None else recording.groups
    permuted = permuted_labels(index, within, rng)
    return replace(recording, components=recording.conditions[permuted])
