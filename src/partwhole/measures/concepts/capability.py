"""Accuracy of a model with the best prompt, beside that with the naive prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Real, Seed
from partwhole.measures.concepts._readings import (
    MOST_ABSTAINED,
    PathOutcome,
    Resamples,
    Share,
    abstained_shares,
    corner,
    image_means,
    number,
    product_of,
    quantile,
    require_enough,
    resampled_means,
    step_text,
    steps_of,
    unit_readings,
)
from partwhole.measures.concepts.emergence import Emergence, emergence_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EmergenceGap:
    """Steps by which the naive prompt succeeds later than the best one.

    Parameters
    ----------
    steps : float
        Naive less best; infinite where only the best succeeds within the run, NaN where neither.
    median, low, high : float
        Of the resamples in which one of the two succeeds; NaN without any.
    neither : float
        The share of the resamples in which none does.
    """

    steps: float
    median: float
    low: float
    high: float
    neither: float


@dataclass(frozen=True, eq=False)
class Capability:
    """Accuracies with the best prompt and with the naive one, at each checkpoint.

    Parameters
    ----------
    steps : float array, shape (T,)
    best, naive : float arrays, shape (T,)
        Multiplicative accuracies, means over runs and both halves of the images.
    best_by_run, naive_by_run : float arrays, shape (runs, T)
    gap, low, high : float arrays, shape (T,)
        Best less naive, and its bootstrap interval.
    by_prompt : float array, shape (runs, T, prompts)
        Of every prompt, on all images.
    best_prompts : int array, shape (runs, T, 2)
        The best prompt on the first half of the images, and on the second.
    emergence, naive_emergence : Emergence
    emergence_gap : EmergenceGap
    prompts : tuple of str
    naive_prompt : int
    outcome : PathOutcome
        Whether accuracies could be followed. If not, all numbers are NaN, and the prompts in
        `best_prompts` are the naive one.
    recorded_steps : float array, shape (all T,)
        Of all checkpoints, where `steps` are those that are read.
    abstained : float array, shape (runs, all T, prompts)
        The share of the images that are abstained on.
    """

    steps: Float[np.ndarray, " T"]
    best: Float[np.ndarray, " T"]
    naive: Float[np.ndarray, " T"]
    best_by_run: Float[np.ndarray, "R T"]
    naive_by_run: Float[np.ndarray, "R T"]
    gap: Float[np.ndarray, " T"]
    low: Float[np.ndarray, " T"]
    high: Float[np.ndarray, " T"]
    by_prompt: Float[np.ndarray, "R T P"]
    best_prompts: Int[np.ndarray, "R T 2"]
    emergence: Emergence
    naive_emergence: Emergence
    emergence_gap: EmergenceGap
    prompts: tuple[str, ...]
    naive_prompt: int
    outcome: PathOutcome
    recorded_steps: Float[np.ndarray, " all_T"]
    abstained: Float[np.ndarray, "R all_T P"]

    @cached_property
    def published(self) -> Float[np.ndarray, " T"]:
        """Return the maximum over prompts of their accuracy on all images, averaged over runs.

        It is chosen and scored on the same images, so it is too high: prompts that differ in
        nothing but chance have a maximum above their common mean.
        """
        return np.fmax.reduce(self.by_prompt, axis=2).mean(axis=0)

    @property
    def hidden(self) -> Bool[np.ndarray, " T"]:
        """Return where the whole interval of the gap is above 0: the model can, and does not."""
        return self.low > 0

    def describe(self) -> str:
        """Return the largest gap and the steps of emergence, in a few lines."""
        k, plural = int(self.gap.argmax()), "s" * (len(self.prompts) > 1)
        lines = [
            f"{len(self.prompts)} prompt{plural}, the naive one is "
            f"{self.prompts[self.naive_prompt]!r}."
        ]
        if self.abstained.any():
            lines.append(
                f"Abstained on {self.abstained.mean():.0%} of the images of "
                f"{len(self.recorded_steps)} checkpoints: {self.outcome.value}."
            )
        if self.outcome is PathOutcome.NOT_FOLLOWED:
            return "\n".join(lines)
        lines += [
            f"Largest gap {self.gap[k]:.3f} ({number(self.low[k])} to {number(self.high[k])}) at "
            f"step {step_text(self.steps[k])}: best {self.best[k]:.3f}, naive {self.naive[k]:.3f}.",
            f"Best prompt: {self.emergence.describe()}",
            f"Naive prompt: {self.naive_emergence.describe()}",
        ]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each checkpoint, and the prompt chosen most often."""
        import pandas as pd

        n_prompts = len(self.prompts)
        votes = [
            np.bincount(prompts.ravel(), minlength=n_prompts)
            for prompts in self.best_prompts.swapaxes(0, 1)
        ]
        return pd.DataFrame(
            {
                "step": self.steps,
                "naive": self.naive,
                "best": self.best,
                "published": self.published,
                "gap": self.gap,
                "low": self.low,
                "high": self.high,
                "best_prompt": [self.prompts[int(prompts.argmax())] for prompts in votes],
            }
        )


@door(missing=("coordinates",))
def capability(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    coordinates: Float[np.ndarray, "*axes P I C"] | Mapping[str, Float[np.ndarray, "*axes I C"]],
    *,
    target: Float[np.ndarray, " C"] | None = None,
    naive: int = 0,
    prompts: tuple[str, ...] | None = None,
    threshold: Share = 0.8,
    consecutive: int = 3,
    resamples: Resamples = 1000,
    confidence: ProperFraction = 0.95,
    seed: Seed,
) -> Capability:
    r"""Compare the best of several elicitations with the naive prompt, without selection bias.

    A prompt's accuracy is the multiplicative one, :math:`\prod_i (1 - |g_i - \bar C_i|)` with the
    mean over its images. In each run and at each checkpoint, the prompt that is best on one half
    of the images, drawn at random, is scored on the other half; then the halves change roles, and
    the two scores are averaged. The naive prompt's score is the average over the same halves.

    Parameters
    ----------
    steps : float array, shape (T,)
        Of the checkpoints, increasing.
    coordinates : float array, shape (T, prompts, images, C) or (runs, T, prompts, images, C)
        In 0..1, of every image: 4 or more for each prompt. Over-prompts, interventions on the
        condition and guidance scales all count as prompts. Or a mapping of prompts' names to
        arrays without their axis, such as the coordinates in `Runs.diffusion` of `training.train`.
        NaN for an image on which the decoder abstains.
    target : float array, shape (C,), keyword-only, default None
        The combination's coordinates; all 1 by default.
    naive : int, keyword-only, default 0
        The prompt that simply asks for the combination.
    prompts : tuple of str, keyword-only, default None
        Their names; by default those of the mapping, or "prompt 0", ...
    threshold, consecutive : float, int, keyword-only, defaults 0.8 and 3
        Of the emergence, as in `emergence`.
    resamples, confidence : int, float, keyword-only, defaults 1000 and 0.95
        Of the bootstrap over images within each half, and over runs where there are several, in
        which prompts are chosen anew.
    seed : int, keyword-only
        Of the halves and the bootstrap.

    Returns
    -------
    Capability
        Means are those of the images that are read. A prompt with more than half of the images
        abstained on, in either half of them, has no accuracy and is never the best one; where the
        naive prompt has none in any run, the checkpoint is left out, and if these are more than
        half of the checkpoints, nothing can be followed: `outcome` says so, and all numbers are
        NaN.

    Raises
    ------
    InputError
        For coordinates that are infinite or outside 0..1, fewer than 4 images, steps, target or
        names that don't fit, a naive prompt that is not among them, or options out of range.

    Notes
    -----
    Park et al. (NeurIPS 2024) take the maximum over prompts on all images, here `published`. The
    split is derived here. Where prompts differ in nothing but chance, the expected gap is 0;
    where one is better, the score falls short of it by the cases in which half of the images
    choose another. Intervals of 0.95 for a single run of 16 to 128 binary readings covered
    the true gap in 0.93 to 0.94 of 400 cases where one prompt is best, and in 0.98 and more where
    several are, which are then too wide.

    Examples
    --------
    A prompt that works from step 500 on, a naive one that works from step 1500 on:

    >>> steps = np.arange(25.0) * 100
    >>> level = [1 / (1 + np.exp(-(steps - at) / 100)) for at in (1500, 500)]
    >>> chance = np.random.default_rng(0).uniform(size=(25, 2, 64, 2))
    >>> images = (chance < np.stack(level, axis=1)[..., None, None]).astype(float)
    >>> elicited = capability(steps, images, prompts=("naive", "over"), seed=0)
    >>> elicited.emergence.step, elicited.naive_emergence.step, elicited.emergence_gap.steps
    (800.0, 1800.0, 1000.0)
    >>> both = {"naive": images[:, 0], "over": images[:, 1]}
    >>> capability(steps, both, seed=0).emergence.step
    800.0
    """
    if isinstance(coordinates, Mapping):
        prompts = tuple(coordinates) if prompts is None else prompts
        shapes = {np.shape(readings) for readings in coordinates.values()}
        require(
            len(shapes) == 1,
            "all prompts have coordinates of one shape, (T, images, C) or (runs, T, images, C)",
            ", ".join(map(str, sorted(shapes))) or "no prompt",
            "make as many images with each prompt",
        )
        coordinates = np.stack([np.asarray(readings) for readings in coordinates.values()], axis=-3)
    array = unit_readings(coordinates, abstentions=True)
    require(
        array.ndim in (4, 5),
        "coordinates are of checkpoints, prompts, images and concepts, with runs in front",
        f"{array.ndim} axes",
        "reshape them to (runs, T, prompts, images, C)",
    )
    readings = array[None] if array.ndim == 4 else array
    n_runs, n_steps, n_prompts, n_images, n_concepts = readings.shape
    times = steps_of(steps, n_steps, "(T, prompts, images, C) or (runs, T, prompts, images, C)")
    goal = corner(target, n_concepts)
    require_enough(consecutive, n_steps)
    require(n_images >= 4, "each prompt has 4 images or more, to be halved", n_images, "make more")
    require(
        0 <= naive < n_prompts,
        f"the naive prompt is among 0..{n_prompts - 1}",
        naive,
        "pass its index",
    )
    names = tuple(f"prompt {i}" for i in range(n_prompts)) if prompts is None else prompts
    require(
        len(names) == n_prompts,
        "there is a name for each prompt",
        f"{len(names)} for {n_prompts}",
        "leave the names out to number the prompts",
    )
    rng = np.random.default_rng(seed)
    places = np.array_split(rng.permutation(n_images), 2)
    abstained = abstained_shares(readings)
    # A prompt counts where either half of its images can be scored by the other.
    counts = np.all(
        [abstained_shares(readings[:, :, :, half]) <= MOST_ABSTAINED for half in places], axis=0
    )
    is_read = counts[:, :, naive].all(axis=0)
    outcome = PathOutcome.of(is_read)
    recorded = (outcome, times, abstained)
    rule = (threshold, consecutive, confidence)
    if outcome is PathOutcome.NOT_FOLLOWED:
        return _not_followed(recorded, names, int(naive), rule)
    times, readings, counts = times[is_read], readings[:, is_read], counts[:, is_read]
    n_steps = len(times)
    require_enough(consecutive, n_steps)
    flat = readings.reshape(n_runs, n_steps * n_prompts, n_images, n_concepts)
    shape = (n_runs, n_steps, n_prompts, n_concepts)
    halves = [flat[:, :, half] for half in places]

    def scored(means: list[np.ndarray], counts: np.ndarray) -> list[np.ndarray]:
        scores = [product_of(mean.reshape(shape), goal) for mean in means]
        return [np.where(counts, score, -np.inf) for score in scores]

    means = [image_means(half) for half in halves]
    best, plain, best_prompts = _elicit(scored(means, counts), naive)
    drawn = np.empty((2, resamples, n_steps))
    for b in range(resamples):
        # A run is drawn with both of its halves, and its prompts are chosen anew.
        runs = rng.integers(n_runs, size=n_runs)
        means = [next(resampled_means(half[runs], 1, rng, runs=False)) for half in halves]
        best_emergence, naive_emergence, _ = _elicit(scored(means, counts[runs]), naive)
        drawn[:, b] = best_emergence.mean(axis=0), naive_emergence.mean(axis=0)
    tail = 0.5 * (1.0 - float(confidence))
    low, high = np.quantile(drawn[0] - drawn[1], (tail, 1.0 - tail), axis=0)
    best_emergence = emergence_of(times, best, drawn[0], *rule)
    naive_emergence = emergence_of(times, plain, drawn[1], *rule)
    return Capability(
        steps=times,
        best=best.mean(axis=0),
        naive=plain.mean(axis=0),
        best_by_run=best,
        naive_by_run=plain,
        gap=(best - plain).mean(axis=0),
        low=low,
        high=high,
        by_prompt=np.where(counts, product_of(image_means(readings), goal), np.nan),
        best_prompts=best_prompts,
        emergence=best_emergence,
        naive_emergence=naive_emergence,
        emergence_gap=_later(best_emergence, naive_emergence),
        prompts=names,
        naive_prompt=int(naive),
        outcome=outcome,
        recorded_steps=recorded[1],
        abstained=abstained,
    )


def _not_followed(
    recorded: tuple[PathOutcome, np.ndarray, np.ndarray], names: tuple[str, ...], naive: int,
    rule: tuple[Real, int, Real],
) -> Capability:  # fmt: skip
    """Return a capability without numbers."""
    outcome, times, abstained = recorded
    n_runs, n_steps, n_prompts = abstained.shape
    nan, unknown = float("nan"), np.full(n_steps, np.nan)
    threshold, consecutive, confidence = rule
    none = Emergence(
        nan, np.full(n_runs, nan), nan, nan, nan, nan, float(threshold), consecutive,
        float(confidence), np.empty(0),
    )  # fmt: skip
    return Capability(
        steps=times,
        best=unknown,
        naive=unknown,
        best_by_run=np.full((n_runs, n_steps), nan),
        naive_by_run=np.full((n_runs, n_steps), nan),
        gap=unknown,
        low=unknown,
        high=unknown,
        by_prompt=np.full((n_runs, n_steps, n_prompts), nan),
        best_prompts=np.full((n_runs, n_steps, 2), naive),
        emergence=none,
        naive_emergence=none,
        emergence_gap=EmergenceGap(nan, nan, nan, nan, nan),
        prompts=names,
        naive_prompt=naive,
        outcome=outcome,
        recorded_steps=times,
        abstained=abstained,
    )


def _elicit(scores: list[np.ndarray], naive: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return best and naive accuracy over both halves, and each half's chosen prompt."""
    best_prompts = np.stack([score.argmax(axis=2) for score in scores], axis=2)
    best = [
        np.take_along_axis(score, best_prompts[:, :, 1 - h, None], axis=2)[..., 0]
        for h, score in enumerate(scores)
    ]
    plain = [score[..., naive] for score in scores]
    return 0.5 * (best[0] + best[1]), 0.5 * (plain[0] + plain[1]), best_prompts


def _later(best: Emergence, naive: Emergence) -> EmergenceGap:
    def delays(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        # Neither within the run: nothing is known of what lies between.
        reached = np.isfinite(first) | np.isfinite(second)
        return second[reached] - first[reached]

    steps = delays(np.array([best.step]), np.array([naive.step]))
    drawn = delays(best.drawn, naive.drawn)
    tail = 0.5 * (1.0 - best.confidence)
    return EmergenceGap(
        float(steps[0]) if len(steps) else float("nan"),
        quantile(drawn, 0.5),
        quantile(drawn, tail),
        quantile(drawn, 1.0 - tail),
        1.0 - len(drawn) / len(best.drawn),
    )
