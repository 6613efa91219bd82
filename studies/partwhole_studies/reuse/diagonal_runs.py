r"""Test errors of diagonal networks along learning, by theory and as trained.

Single-task learning, finetuning and multi-task learning follow gradient flow, whose time is the
number of steps times the learning rate. Linear probing is linear, so that gradient descent itself
has a closed form: with :math:`D = w_+^2 + w_-^2` and :math:`K = X D X^\top`, after t steps

.. math:: \beta_t = \beta_0 + D X^\top K^{-1} \left(I - (I - \tfrac{2 \eta}{n} K)^t\right)
          (y - X \beta_0) .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from partwhole.flows import Diagonal, FlowOutcome, Path, flow
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits import DiagonalWeights
from partwhole.recommendation.methods import (
    FINETUNING,
    MULTI,
    PROBING,
    SINGLE,
    Scales,
    multitask_end,
)
from partwhole.recommendation.predicted import RESOLUTION
from partwhole.study import Cells, layout
from partwhole.tasks import SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherSample
from partwhole.training import Runs, Training
from partwhole.training import train as train_networks

SCRATCH = "linear probing, not pretrained"
LABELS = {SINGLE: "single-task", FINETUNING: "finetuning", PROBING: "probing", MULTI: "multi-task"}
SCALE, RATE, THRESHOLD = 1e-3, 0.1, 1e-10
RECORDED = 50  # steps between the published records
LONGEST = 1_000_000  # published steps, at most
N_AUX = 1024
# Errors of single-task learning and finetuning are then good to 0.0003 along the way where they
# are above 0.001, those of multi-task learning to 0.003.
ALONE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-7}
TOGETHER: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-8}
# A learning curve turns early: every step at first, every record for longer.
STEPS = np.unique(
    np.concatenate(
        [
            np.arange(RECORDED),
            np.arange(0, 3000, RECORDED),
            RECORDED * np.geomspace(60, LONGEST / RECORDED, 80).round(),
        ]
    ).astype(int)
)


class Learning(NamedTuple):
    """Expected test error along learning.

    Parameters
    ----------
    errors : float array, shape (T,)
        At STEPS; after the threshold they repeat the end.
    fitted : bool
        Whether the threshold was reached.
    """

    errors: Float[np.ndarray, " T"]
    fitted: bool

    @property
    def best(self) -> float:
        """Return the least error at the published records."""
        return float(self.errors[STEPS % RECORDED == 0].min())

    @property
    def last(self) -> float:
        return float(self.errors[-1])


def initial(method: str, auxiliary: np.ndarray, rescale: float = 1.0) -> DiagonalWeights:
    """Return the weights from which a method begins on the main task; shape of `auxiliary`."""
    d = auxiliary.shape[-1]
    if method in (SINGLE, SCRATCH):
        return DiagonalWeights.constant(d, SCALE)
    if method == MULTI:
        return DiagonalWeights.constant(d, SCALE, n_tasks=2)
    pretrained = DiagonalWeights.pretrained(auxiliary, SCALE)
    return pretrained.for_finetuning(rescale=rescale, readout_scale=rescale * SCALE)


def learn(method: str, sample: TeacherSample) -> Learning:
    """Return the test error of one method along learning, by theory."""
    weights = initial(method, sample.auxiliary)
    if "probing" in method:
        path = probing_path(weights, sample.inputs, sample.targets, STEPS)
        return Learning(_errors(sample, path), True)
    times = RATE * STEPS
    if method == MULTI:
        path = together(sample, len(sample.inputs), times=times, until=THRESHOLD)
        errors = _errors(sample, path.states[:, 1])
    else:
        path = flow(
            Diagonal(weights, sample.inputs, sample.targets), times, until=THRESHOLD, **ALONE
        )
        errors = _errors(sample, path.states[:, 0])
    ended = np.full(len(STEPS), errors[-1])
    ended[: len(errors)] = errors
    return Learning(ended, path.outcome.name == "FITTED")


def together(sample: TeacherSample, n: int, **options: Any) -> Path:
    """Integrate multi-task learning of the whole auxiliary task and n samples of the main task."""
    share = n / (n + N_AUX)
    tasks = [
        QuadraticLoss.from_population(sample.auxiliary),
        QuadraticLoss.from_sample(sample.inputs[:n], sample.targets[:n]),
    ]
    weights = initial(MULTI, sample.auxiliary)
    return flow(Diagonal(weights, tasks=tasks, shares=(1.0 - share, share)), **(TOGETHER | options))


def multitask_error(sample: TeacherSample, n: int) -> tuple[float, bool]:
    """Return the test error where it ends, and whether the flow stopped early."""
    targets = sample.targets[:n]
    end = multitask_end(
        QuadraticLoss.from_population(sample.auxiliary),
        QuadraticLoss.from_sample(sample.inputs[:n], targets),
        sample.main,
        Scales(SCALE, SCALE),
        share=n / (n + N_AUX),
        nothing=float(np.mean(targets**2)),
        resolution=RESOLUTION * float(sample.main @ sample.main),
        **TOGETHER,
    )
    return end.error, end.path.outcome is not FlowOutcome.FITTED


def probing_path(
    weights: DiagonalWeights,
    inputs: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, " n"],
    steps: Int[np.ndarray, " T"],
    rate: float = RATE,
) -> Float[np.ndarray, "T d"]:
    """Return the coefficients after so many steps of gradient descent on the readout."""
    squared = weights.hidden_plus**2 + weights.hidden_minus**2
    initial = weights.coefficients
    values, vectors = np.linalg.eigh((inputs * squared) @ inputs.T)
    missing = vectors.T @ (targets - inputs @ initial)
    # Of each direction, the share that is learned after t steps.
    learned = -np.expm1(steps[:, None] * np.log1p(-2.0 * rate / len(targets) * values))
    return initial + squared * ((learned / values * missing) @ vectors.T @ inputs)


def _errors(sample: TeacherSample, path: np.ndarray) -> np.ndarray:
    return np.asarray(sample.test_error(path))


def train(
    task: SparseTeachers, n: int, method: str, seeds: Sequence[int], *, max_steps: int
) -> dict[str, np.ndarray]:
    """Train one network for each seed; return its least and last error and training loss.

    Finetuning starts from weights that are pretrained to the end. Errors are recorded at every
    50th step up to the 2000th, and at some of these after it.
    """
    runs = trained(task, n, method, seeds, max_steps=max_steps)
    assert runs.test_loss is not None
    errors, loss = runs.test_loss, runs.training_loss
    if method == MULTI:
        errors, loss = errors[:, 1], runs.task_loss[:, 1]
    return {"best": errors.min(axis=-1), "last": errors[:, -1], "loss": loss[:, -1]}


def trained(
    task: SparseTeachers,
    n: int,
    method: str,
    seeds: Sequence[int],
    *,
    max_steps: int,
    rescale: float = 1.0,
) -> Runs:
    """Return the runs of one method, a network for each seed."""
    samples = task.samples(seeds, n, N_AUX if method == MULTI else 0)
    weights = initial(method, samples.auxiliary, rescale)
    shortly = np.arange(0, min(2001, max_steps), RECORDED)
    later = np.geomspace(2000, max_steps, 60) // RECORDED * RECORDED
    steps = np.union1d(shortly, later[later <= max_steps]).astype(int)
    training = Training(
        steps=max_steps,
        learning_rate=RATE,
        threshold=THRESHOLD,
        record=steps.tolist(),
        restarts=3,
        trained="readout" if "probing" in method else "all",
    )
    if method == MULTI:
        return train_networks(
            weights,
            [(samples.aux_inputs, samples.aux_targets), (samples.inputs, samples.targets)],
            training,
            teachers=[samples.auxiliary, samples.main],
            progress=False,
        )
    return train_networks(
        weights,
        (samples.inputs, samples.targets),
        training,
        teachers=samples.main,
        progress=False,
    )


def run_table(cells: Cells, variables: Mapping[str, str], over: Sequence[str]) -> xr.Dataset:
    """Combine the errors of cells over learner, sample size and seed.

    Variables are combined one by one, because their learners and sizes differ.
    """
    runs = _single_runs(cells)
    tables = [
        layout(
            [(run, {name: result[name]}) for run, result in runs if name in result],
            {name: within},
            over=over,
        )
        for name, within in variables.items()
    ]
    return xr.merge(tables, join="outer")


def _single_runs(cells: Cells) -> Cells:
    """Split cells by learner, sample size and seed; of two with the same keys the last counts."""
    keys = {"methods": "learner", "sizes": "n", "seeds": "seed"}
    runs = {}
    for config, arrays in cells:
        listed = [key for key in keys if key in config]
        common = {key: value for key, value in config.items() if key not in keys}
        for at in product(*(range(len(config[key])) for key in listed)):
            run = common | {keys[key]: config[key][i] for key, i in zip(listed, at, strict=True)}
            runs[tuple(run.items())] = (
                run,
                {name: np.asarray(values[at]) for name, values in arrays.items()},
            )
    return list(runs.values())
