"""A generative model's path through concept space, from plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive, ProperFraction, Real, Seed
from partwhole.measures.concepts._readings import (
    MOST_ABSTAINED,
    PathOutcome,
    Resamples,
    Share,
    Width,
    abstained_shares,
    corner,
    first_steps,
    image_means,
    product_of,
    require_enough,
    smooth,
    step_text,
    steps_of,
    unit_readings,
)
from partwhole.measures.concepts.bump import Bump, find_bump
from partwhole.measures.concepts.turning import (
    Heading,
    TurningPoint,
    initial_heading,
    turning_point,
)

if TYPE_CHECKING:
    import pandas as pd


@door
@dataclass(frozen=True)
class Smoothing:
    """Widths of smoothing: deviations of a Gaussian, in checkpoints; 0 for none.

    The defaults are the published ones, of the code of Park et al. (NeurIPS 2024).

    Parameters
    ----------
    path : float, default 2.0
        Of the mean coordinates, before errors are taken of them.
    accuracy : float, default 1.0
        Of product and additive accuracies.
    speed : float, default 1.5
        Of the mean coordinates, before the path's speed is taken.
    learning : float, default 1.5
        Of each concept's accuracy, before its learning time is read off.
    truncate : float, default 6.0
        In deviations: where the Gaussian ends.

    Examples
    --------
    At one of ten checkpoints a concept is lost. The published smoothing over two checkpoints
    spreads and lowers that error; a path width of 0 leaves it as it is.

    >>> steps, coordinates = np.arange(10.0), np.ones((10, 2))
    >>> coordinates[5, 0] = 0.0
    >>> widths = (Smoothing(), Smoothing(path=0.0))
    >>> paths = [concept_path(steps, coordinates, smoothing=width) for width in widths]
    >>> [path.error_of_mean[4:7].round(3).tolist() for path in paths]
    [[0.015, 0.02, 0.016], [0.0, 0.5, 0.0]]
    """

    path: Width = 2.0
    accuracy: Width = 1.0
    speed: Width = 1.5
    learning: Width = 1.5
    truncate: Positive = 6.0


#: The smoothing of published paths.
PUBLISHED = Smoothing()
#: Every reading as it is.
RAW = Smoothing(0, 0, 0, 0)


@dataclass(frozen=True, eq=False)
class ConceptPath:
    """Path of a model's images through concept space, checkpoint by checkpoint.

    Parameters
    ----------
    steps : float array, shape (T,)
        Of the checkpoints that could be read.
    coordinates : float array, shape (runs, T, images, C)
        Of every image, as given; NaN where the decoder abstains.
    target : float array, shape (C,)
    smoothing : Smoothing
    outcome : PathOutcome
        Whether the path could be followed. If not, all numbers are NaN.
    recorded_steps : float array, shape (all T,)
        Of all checkpoints.
    abstained : float array, shape (runs, all T)
        The share of the images that are abstained on, at all checkpoints.
    """

    steps: Float[np.ndarray, " T"]
    coordinates: Float[np.ndarray, "R T I C"]
    target: Float[np.ndarray, " C"]
    smoothing: Smoothing
    outcome: PathOutcome
    recorded_steps: Float[np.ndarray, " all_T"]
    abstained: Float[np.ndarray, "R all_T"]

    @property
    def is_followed(self) -> bool:
        """Return whether there is a path: enough images are read at enough checkpoints."""
        return self.outcome is not PathOutcome.NOT_FOLLOWED

    @cached_property
    def means(self) -> Float[np.ndarray, "R T C"]:
        """Return the mean of each run over the images that are read, not smoothed."""
        return image_means(self.coordinates)

    @cached_property
    def by_run(self) -> Float[np.ndarray, "R T C"]:
        """Return the smoothed path of each run."""
        return self._smooth(self.means, self.smoothing.path, axis=1)

    @cached_property
    def mean(self) -> Float[np.ndarray, "T C"]:
        """Return the smoothed path, a mean over images and runs."""
        return self.by_run.mean(axis=0)

    @cached_property
    def error_of_mean(self) -> Float[np.ndarray, " T"]:
        r"""Return the error of the mean, :math:`\frac1C \sum_i (\bar C_i - g_i)^2` of the path.

        This is the published concept-space error. Errors of opposite sign cancel in it.
        """
        return self._error(self.mean)

    @cached_property
    def error_by_run(self) -> Float[np.ndarray, "R T"]:
        """Return the same error of each run's own path."""
        return self._error(self.by_run)

    @cached_property
    def mean_error(self) -> Float[np.ndarray, " T"]:
        """Return the mean over runs of their errors: never below the error of the mean."""
        return self.error_by_run.mean(axis=0)

    @cached_property
    def image_error(self) -> Float[np.ndarray, " T"]:
        """Return the mean of the errors of single images, smoothed: never below the mean error."""
        errors = image_means(self._error(self.coordinates)[..., None])[..., 0]
        return self._smooth(errors.mean(axis=0), self.smoothing.path)

    @cached_property
    def speed(self) -> Float[np.ndarray, " T"]:
        r"""Return the smoothed speed :math:`\|dC/dt\|` of the mean, per step.

        By differences of second order on the given steps. Probabilities of a classifier saturate,
        and what remains of their speed is noise; positions between two means are more informative.
        """
        require(len(self.steps) >= 2, "a speed needs 2 checkpoints", len(self.steps), "record more")
        rate = np.gradient(self.means.mean(axis=0), self.steps, axis=0)
        return self._smooth(np.linalg.norm(rate, axis=1), self.smoothing.speed)

    @cached_property
    def product_accuracy(self) -> Float[np.ndarray, " T"]:
        r"""Return the multiplicative accuracy :math:`\prod_i (1 - |g_i - C_i|)`.

        Of each run's mean over images; then the mean over runs, smoothed.
        """
        return self._smooth(self.product_by_run.mean(axis=0), self.smoothing.accuracy)

    @cached_property
    def product_by_run(self) -> Float[np.ndarray, "R T"]:
        """Return the multiplicative accuracy of each run, not smoothed."""
        return product_of(self.means, self.target)

    @cached_property
    def additive_accuracy(self) -> Float[np.ndarray, " T"]:
        """Return the mean over concepts instead of their product, smoothed: never below it."""
        accuracy = (1.0 - np.abs(self.means - self.target)).mean(axis=(0, 2))
        return self._smooth(accuracy, self.smoothing.accuracy)

    @cached_property
    def concept_accuracy(self) -> Float[np.ndarray, "T C"]:
        """Return each concept's accuracy, smoothed as for learning times."""
        accuracy = (1.0 - np.abs(self.means - self.target)).mean(axis=0)
        return self._smooth(accuracy, self.smoothing.learning)

    @door
    def learning_times(
        self, threshold: Share = 0.9, *, consecutive: int = 3
    ) -> Float[np.ndarray, " C"]:
        """Return when each concept is learned: the first of enough checkpoints above a threshold.

        Parameters
        ----------
        threshold : float, default 0.9
        consecutive : int, keyword-only, default 3
            Checkpoints in a row.

        Returns
        -------
        float array, shape (C,)
            A step, or infinity for a concept that is not above for so many checkpoints in a row.

        Raises
        ------
        InputError
            For a threshold outside 0..1, or more consecutive checkpoints than there are.
        """
        require_enough(consecutive, len(self.steps))
        if not self.is_followed:
            return np.full(len(self.target), np.nan)
        return first_steps(self.steps, self.concept_accuracy.T, threshold, consecutive)

    @door
    def turning_point(self, *, window: Count = 3) -> TurningPoint:
        """Return where the smoothed path turns most; see `turning_point`."""
        if not self.is_followed:
            return TurningPoint.nowhere(np.full(len(self.steps), np.nan), len(self.target))
        return turning_point(self.steps, self.mean, window=window)

    @door
    def initial_heading(self, *, radius: Positive = 0.2) -> Heading:
        """Return which way the smoothed path sets out; see `initial_heading`."""
        if not self.is_followed:
            return Heading.unknown(len(self.target))
        return initial_heading(self.steps, self.mean, radius=radius)

    @door
    def bump(
        self,
        *,
        resamples: Resamples = 1000,
        confidence: ProperFraction = 0.95,
        seed: Seed = 0,
    ) -> Bump:
        """Return the later rise of the error of the mean, and whether it is more than noise.

        The amplitude is compared with the one that the choice of images alone would give an error
        that never rises: a falling curve nearest to the error (its isotonic regression), with the
        deviations by images drawn again. Runs are held fixed; what another set of runs would do,
        `error_by_run` and `over_runs` tell. Of 80 paths of 64 binary readings each that stood
        still, 0.09 and less were called clear at a confidence of 0.95, and none of those that
        rose steadily; the interval of clear bumps covered the truth in 0.91 to 0.94 of the cases.

        Parameters
        ----------
        resamples : int, keyword-only, default 1000
        confidence : float, keyword-only, default 0.95
        seed : int, keyword-only, default 0

        Returns
        -------
        Bump

        Raises
        ------
        InputError
            For fewer than 100 resamples, or a confidence or seed out of range.
        """
        if not self.is_followed:
            return Bump.unknown(float(confidence))
        return find_bump(
            self.steps,
            self.coordinates,
            self.target,
            smoothing=self.smoothing.path,
            truncate=self.smoothing.truncate,
            resamples=resamples,
            confidence=confidence,
            seed=seed,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each checkpoint: path, errors, speed and accuracies."""
        import pandas as pd

        path = {f"concept {i}": column for i, column in enumerate(self.mean.T)}
        curves: dict[str, np.ndarray] = {
            "error of mean": self.error_of_mean,
            "mean error": self.mean_error,
            "image error": self.image_error,
            "product accuracy": self.product_accuracy,
            "additive accuracy": self.additive_accuracy,
        }
        if len(self.steps) >= 2:
            curves["speed"] = self.speed
        return pd.DataFrame({"step": self.steps, **path, **curves})

    def describe(self) -> str:
        """Return what the path does, in a few lines."""
        n_runs, n_steps, n_images, n_concepts = self.coordinates.shape
        counts = [
            f"{n} {word}{'' if n == 1 else 's'}"
            for n, word in (
                (n_runs, "run"),
                (n_steps, "checkpoint"),
                (n_images, "image"),
                (n_concepts, "concept"),
            )
        ]
        if not self.is_followed:
            return "\n".join([", ".join(counts) + ".", self._abstentions()])
        heading, turn = self.initial_heading(), self.turning_point()
        sets_out = "It stays within 0.2 of its start."
        if np.isfinite(heading.step):
            towards = ", ".join(str(value) for value in heading.corner.tolist())
            sets_out = f"It sets out towards ({towards}), concept {heading.first} first."
        smoothed = self.smoothing != RAW
        lines = [
            ", ".join(counts) + (", smoothed over neighbours." if smoothed else "."),
            sets_out,
            f"Error of the mean {self.error_of_mean[0]:.3f} to {self.error_of_mean[-1]:.3f}, "
            f"least {self.error_of_mean.min():.3f}; mean error at the end "
            f"{self.mean_error[-1]:.3f}.",
            self.bump().describe(),
        ]
        if self.abstained.any():
            lines.insert(1, self._abstentions())
        if turn.index >= 0 and np.isfinite(heading.step):
            lines.append(f"It turns by {turn.angle:.0f} degrees at step {step_text(turn.step)}.")
        if n_steps >= 3:
            times = self.learning_times()
            learned = ", ".join(
                f"{i} at step {step_text(time)}" if np.isfinite(time) else f"{i} not by the end"
                for i, time in enumerate(times)
            )
            lines.append(f"Learned, right for 3 checkpoints in a row: concept {learned}.")
        return "\n".join(lines)

    def _abstentions(self) -> str:
        """Return how many images are abstained on, and what becomes of the path, in a sentence."""
        return (
            f"Abstained on {self.abstained.mean():.0%} of the images of {len(self.recorded_steps)} "
            f"checkpoints, of which {len(self.steps) if self.is_followed else 0} are read: "
            f"{self.outcome.value}."
        )

    def _error(self, places: np.ndarray) -> np.ndarray:
        return ((places - self.target) ** 2).mean(axis=-1)

    def _smooth(self, curve: np.ndarray, deviation: Real, axis: int = 0) -> np.ndarray:
        return smooth(curve, deviation, self.smoothing.truncate, axis)


@door(missing=("coordinates",))
def concept_path(
    steps: Float[np.ndarray, " T"] | Int[np.ndarray, " T"],
    coordinates: Float[np.ndarray, "*axes C"],
    *,
    target: Float[np.ndarray, " C"] | None = None,
    smoothing: Smoothing = PUBLISHED,
) -> ConceptPath:
    r"""Follow a generative model through concept space, whatever framework it was trained in.

    Parameters
    ----------
    steps : float array, shape (T,)
        Of the checkpoints, increasing, evenly spaced or not.
    coordinates : float array, shape (T, C), (T, images, C) or (runs, T, images, C)
        In 0..1 for each concept: the probability of one of its values by a classifier, or the
        place between two values by `decode_shapes`; of images made for one combination. NaN for an
        image on which the decoder abstains.
    target : float array, shape (C,), keyword-only, default None
        The coordinates of that combination; all 1 by default.
    smoothing : Smoothing, keyword-only, default PUBLISHED
        Over checkpoints, as for the published 60; with about 20 or fewer pass RAW, for none, as
        smoothing by two checkpoints hides what rises and falls within a few.

    Returns
    -------
    ConceptPath
        With the path, errors, speed, accuracies, learning times, turning point, heading and bump.
        Means are those of the images that are read, which is right where abstention doesn't depend
        on the concept. A checkpoint at which more than half of the images of a run are abstained on
        is left out; if these are more than half of the checkpoints, the path cannot be followed:
        `outcome` says so, and all numbers are NaN.

    Raises
    ------
    InputError
        For coordinates that are infinite or outside 0..1, steps that don't increase or are not
        one for each checkpoint, a target that doesn't fit, or negative smoothing.

    Notes
    -----
    Measures of Park et al. (NeurIPS 2024) and of Yang et al. (ICLR 2025), figure 6. The published
    error is that of the mean of all runs; where some runs never leave a seen combination, the
    mean error of runs is much larger, so both are reported.

    Examples
    --------
    Twenty checkpoints of 64 images: size is learned first, colour is lost and found again.

    >>> steps = np.arange(20.0) * 100
    >>> small = 1 / (1 + np.exp(-(steps - 300) / 100))
    >>> blue = 0.5 + 0.4 * np.cos(2 * np.pi * steps / 1900)
    >>> chance = np.random.default_rng(0).uniform(size=(20, 64, 2))
    >>> images = (chance < np.stack([blue, small], axis=1)[:, None]).astype(float)
    >>> path = concept_path(steps, images)
    >>> path.error_of_mean[[0, 5, 10, 19]].round(2).tolist()
    [0.35, 0.18, 0.31, 0.01]
    >>> path.learning_times(0.8).tolist(), path.bump().clear
    ([1700.0, 500.0], True)
    """
    array = unit_readings(coordinates, abstentions=True)
    require(
        2 <= array.ndim <= 4,
        "coordinates are of checkpoints and concepts, with images between them and runs in front",
        f"{array.ndim} axes",
        "reshape them to (runs, T, images, C)",
    )
    if array.ndim == 2:
        array = array[:, None]
    if array.ndim == 3:
        array = array[None]
    times = steps_of(steps, array.shape[1], "(T, C), (T, images, C) or (runs, T, images, C)")
    goal = corner(target, array.shape[3])
    abstained = abstained_shares(array)
    is_read = np.asarray((abstained <= MOST_ABSTAINED).all(axis=0))
    outcome = PathOutcome.of(is_read)
    if outcome is PathOutcome.NOT_FOLLOWED:
        array, is_read = np.full_like(array, np.nan), np.ones(len(times), dtype=bool)
    return ConceptPath(
        times[is_read], array[:, is_read], goal, smoothing, outcome, times, abstained
    )
