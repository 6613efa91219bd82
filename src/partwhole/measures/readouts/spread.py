"""What is said of answers that vary much between training sets, and their intervals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from partwhole.measures.readouts.predicted import FACTORS, NEAR

# Deviation between training sets, over that of targets, from which it is said.
MUCH = 0.2
# Simulated readouts, points of their answers' noise, and sets of trials of each readout.
DRAWS, POINTS, SAMPLES = 128, 128, 4
MOST_NUMBERS = 20_000_000


def steadier_penalty(
    ridge: float, unit: float, error_with: Callable[[float], float]
) -> tuple[float, float, float] | None:
    """Return a larger penalty with a smaller expected error, that error, and the one as it is.

    Penalties are 1, 8 and 64 times the unit or the penalty, the larger of the two. None if no
    larger one is better.
    """
    now = error_with(ridge)
    larger = [factor * max(ridge, unit) for factor in FACTORS]
    errors = {penalty: error_with(penalty) for penalty in larger if penalty > ridge}
    best = min(errors, key=lambda penalty: errors[penalty], default=ridge)
    return (best, errors[best], now) if errors and errors[best] < now else None


def near(n_features: int, n_train: float) -> bool:
    """Return whether features are half to twice as many as training trials."""
    return NEAR[0] <= n_features / n_train <= NEAR[1]


def notes_on_spread(
    between: Float[np.ndarray, "R k"],
    targets: Float[np.ndarray, "A k"],
    n_features: int,
    n_train: float,
    steadier: Callable[[], tuple[float, float, float] | None],
) -> tuple[str, ...]:
    """Return a note where answers to held-out conditions vary much between training sets.

    Parameters
    ----------
    between : float array, shape (R, k)
        Variances of the answers to held-out conditions, over training sets.
    targets : float array, shape (A, k)
        Of all conditions.
    n_features, n_train : int, float
        Features and training trials.
    steadier : callable
        Of a larger penalty, as `steadier_penalty` has it; called only where it could matter.
    """
    deviation = float(np.sqrt(between.mean())) if len(between) else 0.0
    spread = float(np.sqrt(targets.var(axis=0).mean()))
    if not deviation > MUCH * spread > 0.0:
        return ()
    note = (
        f"answers to held-out conditions vary between training sets by {deviation:.2g}, "
        f"{deviation / spread:.0%} of the deviation of targets: those of one readout can be as far "
        "from their prediction"
    ).replace("%", " %")
    if near(n_features, n_train):
        note += f"; {n_features:,} features are about as many as {n_train:,.0f} training trials"
        if (better := steadier()) is not None:
            ridge, error, now = better
            note += f": with ridge={ridge:.3g} expected errors are {error:.2g}, not {now:.2g}"
    return (note,)


def accuracy_intervals(
    mean: Float[np.ndarray, "R k"],
    between: Float[np.ndarray, "R k k"],
    within: Float[np.ndarray, "R k k"],
    trials: Int[np.ndarray, " R"],
    labels: Int[np.ndarray, " R"],
    confidence: float = 0.95,
) -> Float[np.ndarray, "R 2"]:
    """Return ends between which the share of right trials lies, over training sets and trials.

    By simulation: of readouts with normal answers, and of each one's trials.

    Parameters
    ----------
    mean, between : float arrays, shapes (R, k) and (R, k, k)
        Of the answers to conditions, over training sets.
    within : float array, shape (R, k, k)
        Covariance of a readout's answers over trials.
    trials, labels : int arrays, shape (R,)
        Trials of each condition, and the place of its label among outputs.
    confidence : float
    """
    rng = np.random.default_rng(0)
    k = mean.shape[1]
    points = rng.normal(size=(DRAWS, k))
    of_noise = rng.normal(size=(POINTS, k))
    ends = np.empty((len(mean), 2))
    rows = max(1, MOST_NUMBERS // (DRAWS * POINTS * k))
    for start in range(0, len(mean), rows):
        chosen = slice(start, start + rows)
        drawn = mean[chosen, None] + points @ root(between[chosen]).swapaxes(1, 2)
        if k == 1:
            signs = 2.0 * labels[chosen, None] - 1.0
            spread = np.sqrt(np.maximum(within[chosen, :, 0], np.finfo(float).tiny))
            shares = ndtr(np.clip(signs * drawn[..., 0] / spread, -40.0, 40.0))
        else:
            noise = of_noise @ root(within[chosen]).swapaxes(1, 2)
            answers = drawn[:, :, None] + noise[:, None]
            shares = np.mean(answers.argmax(axis=-1) == labels[chosen, None, None], axis=-1)
        counts = trials[chosen, None, None]
        right = rng.binomial(counts, shares[..., None], size=(*shares.shape, SAMPLES)) / counts
        tails = [0.5 * (1.0 - confidence), 0.5 * (1.0 + confidence)]
        ends[chosen] = np.quantile(right.reshape(len(right), -1), tails, axis=1).T
    return ends


def root(covariance: Float[np.ndarray, "*rows k k"]) -> Float[np.ndarray, "*rows k k"]:
    """Return a root of covariances, of which negative eigenvalues count as 0."""
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
