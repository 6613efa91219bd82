"""Test errors of every method, from theory alone: no network is trained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit
from threadpoolctl import threadpool_limits

from partwhole._checks import require, seed_list, whole
from partwhole._door import door
from partwhole._progress import bar
from partwhole._threads import cores
from partwhole._types import Count, Positive, Real, Seed
from partwhole.flows import FlowOutcome
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.recommendation.methods import (
    METHODS,
    MULTI,
    Method,
    Scales,
    end_of,
    multitask_end,
    named_methods,
    pretrained_coefficients,
    stopped_early,
)
from partwhole.tasks import SparseTeachers

if TYPE_CHECKING:
    import pandas as pd

# In units of the main targets' variance: the test error below which stopping and rounding may
# change more than a percent of it.
RESOLUTION = 1e-7
SMALL = Scales(1e-3, 1e-3)


class SamplesNeeded(NamedTuple):
    """Number of samples at which a method's error falls to a level.

    Parameters
    ----------
    method : Method
    samples : float
        Interpolated between the computed sizes; NaN where the error stays above the level, or
        where the level is below the resolution of the predictions.
    low, high : float
        95 % interval over seeds (jackknife, in the logarithm).
    at_most : bool, default False
        Whether the error is that low at the smallest size already, so that fewer might do.
    """

    method: Method
    samples: float
    low: float
    high: float
    at_most: bool = False


@dataclass(frozen=True, eq=False)
class PredictedLosses:
    """Test errors that theory predicts for each method, sample size and seed.

    Parameters
    ----------
    task : SparseTeachers
    methods : tuple of Method, length M
    sizes : tuple of int, length S
        Samples of the main task.
    seeds : tuple of int
        Each draws teachers and inputs, the same for all methods.
    losses : float array, shape (M, S, seeds)
        Expected squared error on new inputs when learning has ended.
    n_aux : int
        Samples of the auxiliary task.
    scales : Scales
        Of initial weights.
    notes : tuple of str
        One for each solve that stopped early: its name, the reason, and its violation.
    """

    task: SparseTeachers
    methods: tuple[Method, ...]
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    losses: Float[np.ndarray, "M S seeds"]
    n_aux: int = 1024
    scales: Scales = SMALL
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> Float[np.ndarray, "M S"]:
        """Return the mean over seeds."""
        return self.losses.mean(axis=-1)

    @property
    def standard_error(self) -> Float[np.ndarray, "M S"]:
        """Return the standard error of the mean; NaN for a single seed."""
        n = len(self.seeds)
        if n == 1:
            return np.full(self.losses.shape[:2], np.nan)
        return self.losses.std(axis=-1, ddof=1) / np.sqrt(n)

    @property
    def resolution(self) -> float:
        """Return the loss below which losses are not compared, 1e-7 of the main targets' variance.

        The end of the multi-task flow and the rounding of solvers change losses above it by less
        than a percent, and lower losses by more.
        """
        return RESOLUTION * self.task.active_main * self.task.main_amplitude**2

    @door
    def samples_needed(self, error: Positive) -> tuple[SamplesNeeded, ...]:
        """Return for each method the number of samples at which its mean error falls to a level.

        Parameters
        ----------
        error : float
            Epsilon, in the units of the losses, above 0. Below `resolution` the result is NaN.

        Returns
        -------
        tuple of SamplesNeeded

        Raises
        ------
        InputError
            For an error that is not above 0, and for fewer than two sizes.
        """
        require(
            len(self.sizes) > 1,
            "a curve needs at least two sample sizes",
            len(self.sizes),
            "predict losses for more sizes",
        )
        needed, n = [], len(self.seeds)
        for method, losses in zip(self.methods, self.losses, strict=True):
            at = low = high = np.nan
            if error >= self.resolution:
                at = _crossing(self.sizes, losses.mean(axis=-1), float(error))
            if n > 2 and np.isfinite(at):
                left = [
                    _crossing(self.sizes, np.delete(losses, i, axis=-1).mean(axis=-1), float(error))
                    for i in range(n)
                ]
                spread = np.log(left)
                deviation = np.sqrt((n - 1) * np.mean((spread - spread.mean()) ** 2))
                half = stdtrit(n - 1, 0.975) * deviation
                low, high = at * np.exp(-half), at * np.exp(half)
            first = bool(np.isfinite(at) and (losses.mean(axis=-1) <= float(error)).all())
            needed.append(SamplesNeeded(method, at, float(low), float(high), first))
        return tuple(needed)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each method, size and seed."""
        import pandas as pd

        rows = [
            {"method": m.name, "rescale": m.rescale, "n": n, "seed": seed, "loss": loss}
            for m, sized in zip(self.methods, self.losses.tolist(), strict=True)
            for n, seeded in zip(self.sizes, sized, strict=True)
            for seed, loss in zip(self.seeds, seeded, strict=True)
        ]
        return pd.DataFrame(rows)


@door
def predict_losses(
    task: SparseTeachers,
    sizes: Sequence[int] | int,
    *,
    methods: Iterable[str] = METHODS,
    rescalings: Sequence[Real] | Real = (1.0, 0.1, 0.01),
    n_aux: Count = 1024,
    init_scale: Positive = 1e-3,
    readout_scale: Positive = 1e-3,
    rescaled: Literal["all", "hidden"] = "all",
    seeds: Iterable[int] = range(6),
    max_gradients: Count = 100_000,
    progress: bool = True,
) -> PredictedLosses:
    r"""Predict the test errors of learning a main task in four ways, without training.

    Parameters
    ----------
    task : SparseTeachers
        What the two tasks share.
    sizes : sequence of int, or int
        Samples of the main task.
    methods : iterable of str, keyword-only
        Among "single-task", "multi-task", "linear probing" and "finetuning"; all by default.
    rescalings : sequence of float, keyword-only, default (1, 0.1, 0.01)
        c: finetuning is predicted once for each.
    n_aux : int, keyword-only, default 1024
        Samples of the auxiliary task. From the number of features on, pretraining ends at its
        teacher; multi-task learning still depends on the sample.
    init_scale, readout_scale : float, keyword-only, default 0.001
        Alpha, where all weights start; gamma, to which finetuning resets the readout.
    rescaled : {"all", "hidden"}, keyword-only, default "all"
        What c multiplies: the pretrained first layer and gamma, as published, or that layer
        alone. The size of the layer sets the cost of reused features, gamma that of new ones.
    seeds : iterable of int, keyword-only, default range(6)
        Each draws teachers and inputs; samples of different size are nested.
    max_gradients : int, keyword-only, default 100,000
        Evaluations of the gradient that each multi-task flow may take; 1,000 features and as many
        auxiliary samples take some ten seconds for each seed and size. A flow that would take
        more, as for coefficients of very different size, stops there and leaves a note.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    PredictedLosses

    Raises
    ------
    InputError
        For a task of another kind, unknown methods, rescalings and scales that are not above 0, an
        unknown choice of what is rescaled, and sizes below 1.

    Notes
    -----
    Single-task learning, finetuning and linear probing are where gradient flow ends, exactly
    (`HyperbolicEntropy`, `LinearProbing`). Multi-task learning has no such closed form; its flow
    on the samples of both tasks is integrated (`flow` of `Diagonal`) until the training loss is
    1e-8 of the main targets' variance times the main task's share of the samples, and extrapolated
    along its tangent (`tangent_end`); where the extrapolated error may be wrong by a percent, the
    integration continues to 1e-10 or 1e-12.
    The tasks and protocols are those of Lippl & Lindsey (NeurIPS 2024), whose published losses
    are the least along training and so lower wherever transfer is negative.

    Examples
    --------
    >>> task = SparseTeachers(dimension=100, active_aux=10, active_main=10, overlap=10)
    >>> predicted = predict_losses(task, [8, 32], methods=["single-task", "finetuning"],
    ...                            rescalings=[1], seeds=range(3))
    >>> [method.label for method in predicted.methods]
    ['single-task', 'finetuning, c = 1']
    >>> bool((predicted.mean[1] < predicted.mean[0]).all())
    True
    """
    ways = named_methods(methods, rescalings)
    scales = Scales(float(init_scale), float(readout_scale), rescaled)
    counts, drawn = _listed(sizes), seed_list(seeds)
    require(len(counts) > 0, "there is at least one sample size", "none", "pass [32, 64], say")
    for n in counts:
        whole("a sample size", n, 1, "pass the number of samples of the main task")
    counts = tuple(int(n) for n in counts)
    require(
        len({*counts}) == len(counts) and len({*drawn}) == len(drawn),
        "sizes and seeds have no duplicates",
        f"sizes {counts} and seeds {drawn}" if len(counts) + len(drawn) < 20 else "duplicates",
        "drop the duplicates",
    )
    losses = np.full((len(ways), len(counts), len(drawn)), np.nan)
    notes: list[str] = []
    total = losses.size
    workers = cores()
    with (
        threadpool_limits(1),
        ThreadPoolExecutor(workers) as pool,
        bar(f"predicting {total} losses", total, shown=progress) as advance,
    ):
        for seed_at, seed in enumerate(drawn):
            case = _Case.drawn(task, seed, max(counts), n_aux, scales, ways)
            if case.note:
                notes.append(f"pretraining, seed {seed}: {case.note}")
            # The largest first, so that no core waits for one at the end.
            jobs = sorted(np.ndindex(*losses.shape[:2]), key=lambda at: -counts[at[1]])
            ends = pool.map(partial(_ended, case, ways, counts, max_gradients), jobs)
            for at, (loss, note) in zip(jobs, ends, strict=True):
                losses[(*at, seed_at)] = loss
                if note:
                    notes.append(f"{ways[at[0]].label}, n = {counts[at[1]]}, seed {seed}: {note}")
                advance(1)
    return PredictedLosses(task, ways, counts, drawn, losses, n_aux, scales, tuple(notes))


def _ended(
    case: _Case,
    methods: tuple[Method, ...],
    sizes: tuple[int, ...],
    max_gradients: int,
    at: tuple[int, int],
) -> tuple[float, str]:
    return case.error(methods[at[0]], sizes[at[1]], max_gradients)


class _Case(NamedTuple):
    """Draw of one seed, and the coefficients after pretraining on it."""

    inputs: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]
    main: Float[np.ndarray, " d"]
    pretrained: Float[np.ndarray, " d"]
    auxiliary: QuadraticLoss | None  # of the sample; None where no method learns both tasks at once
    n_aux: int
    scales: Scales
    note: str  # on pretraining that stopped early

    @classmethod
    def drawn(
        cls,
        task: SparseTeachers,
        seed: Seed,
        n: int,
        n_aux: int,
        scales: Scales,
        methods: tuple[Method, ...],
    ) -> _Case:
        # As many samples as features determine the map, so that pretraining ends at the teacher.
        determined = n_aux >= task.dimension
        together = any(method.name == MULTI for method in methods)
        sample = task.sample(seed, n, n_aux if together or not determined else 0)
        auxiliary = sample.aux_inputs, sample.aux_targets
        pretrained, note = sample.auxiliary, ""
        if not determined:
            pretrained, note = pretrained_coefficients(*auxiliary, scales)
        # Multi-task learning depends on the sample even where pretraining does not: directions of
        # small variance in the sample are learned late.
        loss = QuadraticLoss.from_sample(*auxiliary) if together else None
        main = sample.inputs, sample.targets, sample.main
        return cls(*main, pretrained, loss, n_aux, scales, note)

    def error(self, method: Method, n: int, max_gradients: int) -> tuple[float, str]:
        """Return the expected test error of a method, and why a solve stopped early."""
        inputs, targets = self.inputs[:n], self.targets[:n]
        if method.name == MULTI:
            return self._together(inputs, targets, max_gradients)
        limit = end_of(method, inputs, targets, self.pretrained, self.scales)
        return float(np.sum((limit.coefficients - self.main) ** 2)), stopped_early(limit)

    def _together(
        self, inputs: np.ndarray, targets: np.ndarray, max_gradients: int
    ) -> tuple[float, str]:
        assert self.auxiliary is not None  # drawn where a method needs it
        end = multitask_end(
            self.auxiliary,
            QuadraticLoss.from_sample(inputs, targets),
            self.main,
            self.scales,
            share=len(inputs) / (len(inputs) + self.n_aux),
            nothing=float(np.mean(targets**2)),
            resolution=RESOLUTION * float(self.main @ self.main),
            max_gradients=max_gradients,
        )
        return end.error, "" if end.path.outcome is FlowOutcome.FITTED else end.path.describe()


def _listed(sizes: Any) -> tuple[Any, ...]:
    """Return sample sizes as a tuple; a single size as a tuple of one."""
    try:
        return tuple(sizes)
    except TypeError:
        return (sizes,)


def _crossing(sizes: Sequence[int], losses: Float[np.ndarray, " S"], error: float) -> float:
    """Return where a curve first falls to a level and stays there, linearly in both logarithms."""
    order = np.argsort(sizes)
    if np.isnan(losses).any():
        return float("nan")
    with np.errstate(divide="ignore"):
        x, y = np.log(np.asarray(sizes, dtype=float)[order]), np.log(losses[order])
    above = np.flatnonzero(y > np.log(error))
    if len(above) == 0:
        return float(min(sizes))
    last = int(above[-1])
    if last == len(x) - 1:
        return float("nan")
    part = (y[last] - np.log(error)) / (y[last] - y[last + 1])
    return float(np.exp(x[last] + part * (x[last + 1] - x[last])))
