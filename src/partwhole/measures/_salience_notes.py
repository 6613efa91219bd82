"""Notes on saliences: what could not be measured, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from partwhole.features.subsets import set_of
from partwhole.measures._resampling import Resample
from partwhole.measures._shares import bias_of, quantiles, shares_of

FEW_GROUPS = 6
# Of a salience, from which it is said: less than .01, as it is an estimate itself.
MOST_BIAS = 0.0075


def notes_on_conditions(
    n_pairs: np.ndarray,
    in_design: np.ndarray,
    centred: np.ndarray,
    counts: np.ndarray,
    self_pairs: bool,
    bootstrap: int,
    resample: Resample,
    names: Sequence[str],
) -> list[str]:
    """Return what conditions lack: partners with an overlap, repeats, or similarity.

    `n_pairs` counts pairs of conditions that have products, `in_design` all, by what they share.
    """
    notes = []
    for mask in np.flatnonzero(n_pairs == 0).tolist():
        share = f"{_in_words(set_of(mask), names)} and nothing else" if mask else "nothing"
        if in_design[mask]:
            notes.append(
                f"no two conditions that share {share} are in the same two groups: how similar "
                "they are is unknown; groups in which values change would show it"
            )
        else:
            notes.append(f"no two conditions share {share}: how similar they would be is unknown")
    if self_pairs:
        notes.append(
            "products of a trial with itself are counted: noise within a condition passes for "
            "similarity"
        )
    single = int(np.sum(counts == 1))
    over_trials = bootstrap and resample in ("trials", "both")
    if single and not self_pairs:
        notes.append(f"{_single(single)} is taken to have the noise of the others")
    if over_trials and single == len(counts):
        notes.append("no condition has two trials to draw from: there are no intervals")
    elif single and over_trials:
        notes.append(f"{_single(single)} adds no spread to the intervals")
    if centred[-1] <= centred[0]:
        notes.append(
            "trials of one condition are no more alike than those of others: there are no saliences"
        )
    return notes


def _single(count: int) -> str:
    """Return how many conditions have one trial, as the subject of a sentence in the singular."""
    return (
        "a condition with one trial" if count == 1 else f"each of {count} conditions with one trial"
    )


def _in_words(members: tuple[int, ...], names: Sequence[str]) -> str:
    return " and ".join(names[c] for c in members)


def notes_on_structure(structure: float, unknown: str) -> list[str]:
    """Return whether shared components say little of similarity, or why that is unknown."""
    if unknown:
        return [f"structure was not measured: {unknown}"]
    if structure >= 0.5:
        return []
    return [
        f"structure is {structure:.2f}: similarity depends on more than which components two "
        "conditions share; predictions from `kernel` can be far off"
    ]


def notes_on_intervals(
    centred: Float[np.ndarray, " sets"],
    replicates: Float[np.ndarray, "B sets"],
    resample: Resample,
    n_groups: int,
    n_neurons: int,
    confidence: float,
) -> list[str]:
    """Return where intervals can't be had or rest on few, and where values are off on average.

    `n_groups` is 0 without groups.
    """
    if not len(replicates):
        return []
    notes = []
    few_groups = n_groups and resample != "neurons" and n_groups < FEW_GROUPS
    if few_groups:
        notes.append(f"intervals rest on {n_groups} groups: they are wide or missing")
    lone = resample in ("neurons", "both") and n_neurons < 2
    if lone:
        notes.append("a single neuron says nothing of others: there are no intervals over neurons")
    values, drawn = shares_of(centred), shares_of(replicates)
    explained = (few_groups and n_groups < 3) or lone or np.isnan(values).any()
    if explained:
        return notes
    few = "neurons" if resample == "neurons" else "groups" if few_groups else "trials"
    undefined = np.isnan(drawn).any(axis=1).mean()
    if undefined and np.isnan(quantiles(drawn, confidence)).any():
        notes.append(
            f"in {100 * undefined:.0f} % of resamplings trials of one condition are no more alike "
            f"than those of others, so that saliences have no interval: there are too few {few}"
        )
    elif (bias := np.abs(bias_of(centred, replicates)).max()) > MOST_BIAS:
        notes.append(
            f"as ratios of noisy numbers saliences are off by up to {bias:.2g} on average: there "
            f"are few {few}"
        )
    return notes
