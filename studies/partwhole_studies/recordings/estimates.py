"""Saliences and readouts that are estimated from simulated recordings, beside the truth."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from partwhole.measures import held_out_readouts, predict_readout, salience
from partwhole.measures.readouts import HeldOutReadouts
from partwhole.measures.readouts.predicted import SURE
from partwhole.measures.salience import Resample, Salience
from partwhole.recordings import Recording
from partwhole_studies.recordings.worlds import (
    CORNER,
    GRID,
    SHARES,
    SUMS,
    World,
    recording,
    runs_of,
)

RIDGE = 1e-3
OFFSET = 1.0  # deviation of what the trials of a run have in common
KINDS = ("trials", "correlated", "Poisson", "unequal", "runs", "neurons", "undeclared")
# Neurons, training trials, correlated noise; of the last, neurons are nearly as many as trials.
SETTINGS = {
    "20, 240": (20, 240, False),
    "60, 240": (60, 240, False),
    "200, 60": (200, 60, False),
    "1000, 60": (1000, 60, False),
    "20, 240, correlated": (20, 240, True),
    "200, 240, correlated": (200, 240, True),
}
NEAR = "200, 240, correlated"


def saliences_of(result: Salience) -> Float[np.ndarray, " 3"]:
    """Return the saliences of both parts and of their conjunction."""
    return np.array(list(result.saliences.values()))


def coverage(result: Salience, truth: Float[np.ndarray, " 3"]) -> float:
    """Return the share of intervals with the truth in them; NaN for a result that warns of them."""
    low, high = np.array(list(result.saliences_interval.values())).T
    if np.isnan([low, high]).any() or any("interval" in note for note in result.notes):
        return np.nan
    return float(np.mean((low <= truth) & (truth <= high)))


def salience_errors(
    rng: np.random.Generator, neurons: int, repeats: int, noise: float, bootstrap: int
) -> tuple[Float[np.ndarray, " 7"], Float[np.ndarray, " 6"], Bool[np.ndarray, " 6"], bool]:
    """Return errors of the conjunction's salience, coverage and warnings, by what is resampled.

    Of parts the bias is half of the conjunction's, with the opposite sign. Results are in the order
    of KINDS: resampled trials, also with correlated noise, Poisson noise and unequal numbers of
    trials, from half as many to half as many more, two at least; runs; neurons; errors also of runs
    that are not declared. Warnings are that saliences are off on average, and at the end that
    trials share noise.
    """
    errors, covered, off = [], [], []
    plain, correlated = (
        World.of(rng, neurons, noise, correlated=related) for related in (False, True)
    )
    truths = [
        saliences_of(salience(means, GRID, self_pairs=True))
        for means in (plain.means, correlated.means, plain.rates)
    ]
    responses, index = plain.trials(rng, repeats)
    related, _ = correlated.trials(rng, repeats)
    counted, _ = plain.counts(rng, repeats)
    unequal = plain.trials(rng, rng.integers(max(2, repeats // 2), repeats + repeats // 2 + 1, 16))
    shifted, _ = plain.trials(rng, repeats, OFFSET)
    runs = runs_of(index)
    designs: tuple[tuple[Recording, np.ndarray, Resample], ...] = (
        (recording(responses, index), truths[0], "trials"),
        (recording(related, index), truths[1], "trials"),
        (recording(counted, index), truths[2], "trials"),
        (recording(*unequal), truths[0], "trials"),
        (recording(shifted, index, runs), truths[0], "groups"),
        (recording(responses, index), SHARES, "neurons"),
    )
    for measured, truth, resample in designs:
        seed = int(rng.integers(2**31))
        result = salience(measured, resample=resample, bootstrap=bootstrap, seed=seed)
        errors.append(saliences_of(result)[-1] - truth[-1])
        covered.append(coverage(result, truth) if bootstrap else np.nan)
        off.append(any("on average" in note for note in result.notes))
    undeclared = salience(recording(shifted, index))
    errors.append(saliences_of(undeclared)[-1] - truths[0][-1])
    noticed = any("of their noise" in note for note in undeclared.notes)
    return np.array(errors), np.array(covered), np.array(off), noticed


def errors_of_runs(
    rng: np.random.Generator, neurons: int, runs: int, noise: float, bootstrap: int
) -> tuple[float, float, bool]:
    """Return the error, coverage and warning of `salience_errors` for declared runs alone."""
    world = World.of(rng, neurons, noise)
    truth = saliences_of(salience(world.means, GRID, self_pairs=True))
    responses, index = world.trials(rng, runs, OFFSET)
    measured = recording(responses, index, runs_of(index))
    seed = int(rng.integers(2**31))
    result = salience(measured, resample="groups", bootstrap=bootstrap, seed=seed)
    off = any("on average" in note for note in result.notes)
    return float(saliences_of(result)[-1] - truth[-1]), coverage(result, truth), off


def ridge_answers(
    features: Float[np.ndarray, "n p"],
    targets: Float[np.ndarray, " n"],
    at: Float[np.ndarray, "m p"],
) -> Float[np.ndarray, " m"]:
    """Return answers of a ridge regression with a free intercept, by its normal equations."""
    centre, level = features.mean(axis=0), targets.mean()
    x, y = features - centre, targets - level
    n, p = x.shape
    if p <= n:
        weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(p), x.T @ y)
    else:
        weights = x.T @ np.linalg.solve(x @ x.T + RIDGE * np.eye(n), y)
    return (at - centre) @ weights + level


def left_out(
    rng: np.random.Generator, neurons: int, trials: int, noise: float, *, correlated: bool
) -> dict[str, np.ndarray]:
    """Predict and measure answers to every condition, held out by itself.

    Coverage is of the answers, and of the shares of right trials, of another recording; so is
    `sure_right`, the share of mean answers with the right value where that was predicted to be so.
    """
    world = World.of(rng, neurons, noise, correlated=correlated)
    responses, index = world.trials(rng, trials // (len(GRID) - 1))
    measured = recording(responses, index)
    sums = held_out_readouts(measured, SUMS[index], ridge=RIDGE)
    labels = held_out_readouts(measured)
    trained, at_mean = [], []
    for condition in range(len(GRID)):
        others = index != condition
        at = np.vstack([responses[~others], world.means[condition]])
        answers = ridge_answers(responses[others], SUMS[index[others]], at)
        trained.append(answers[:-1].mean())
        at_mean.append(answers[-1])
    again = held_out_readouts(recording(*world.trials(rng, trials // (len(GRID) - 1))))
    predicted, answered = sums.predicted[:, 0], sums.measured[:, 0]
    return {
        "left_out": root_mean_square(predicted - answered),
        "left_out_at_mean": root_mean_square(predicted - at_mean),
        "accuracy": np.asarray(labels.accuracy.mean()),
        "measured_accuracy": np.asarray(labels.measured_accuracy.mean()),
        "trained": np.asarray(np.max(np.abs(answered - trained))),
        "answers_coverage": _share_within(labels.interval, again.measured),
        "shares_coverage": _share_within(labels.accuracy_interval, again.measured_accuracy),
        **_where_sure(labels, again),
    }


def corner(
    rng: np.random.Generator, neurons: int, trials: int, *, correlated: bool
) -> dict[str, np.ndarray]:
    """Predict answers at the corner, beside those of a readout of all other conditions.

    Both are for true means. `expected` is the deviation between training sets that the prediction
    comes with.
    """
    world = World.of(rng, neurons, 1.0, correlated=correlated)
    responses, index = world.trials(rng, trials // int(np.sum(~CORNER)))
    used = ~CORNER[index]
    result = predict_readout(responses, GRID[index], SUMS[index], used, ridge=RIDGE)
    trained = ridge_answers(responses[used], SUMS[index[used]], world.means[CORNER])
    return {
        "answer": np.stack([result.predicted[CORNER, 0], trained]),
        "expected": root_mean_square(np.sqrt(result.between[CORNER, 0, 0])),
    }


def _share_within(ends: Float[np.ndarray, "r k 2"], values: Float[np.ndarray, "r k"]) -> np.ndarray:
    # Shares of trials are equal to an end or not, whatever rounding says.
    inside = (ends[..., 0] - 1e-12 <= values) & (values <= ends[..., 1] + 1e-12)
    return np.asarray(np.mean(inside))


def _where_sure(labels: HeldOutReadouts, again: HeldOutReadouts) -> dict[str, np.ndarray]:
    """Return how many mean answers are predicted to be right, and how many of these are."""
    n_labels = len(labels.labels)
    right = again.measured.reshape(len(GRID), n_labels, -1).argmax(axis=-1) == GRID
    sure = labels.certainty >= SURE
    share = right[sure].mean() if sure.any() else np.nan
    return {"sure": np.asarray(sure.mean()), "sure_right": np.asarray(share)}


def root_mean_square(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.mean(values**2)))
