"""Networks trained as the published ones were, in single precision and with finite steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from partwhole.recommendation.methods import MULTI
from partwhole.tasks import SparseTeachers
from partwhole.training import DiagonalRuns, train_diagonal, train_multitask
from partwhole_studies.reuse._paths import N_AUX, RATE, RECORDED, THRESHOLD, initial


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
    task: SparseTeachers, n: int, method: str, seeds: Sequence[int], *, max_steps: int
) -> DiagonalRuns:
    """Return the runs of one method, a network for each seed."""
    samples = task.samples(seeds, n, N_AUX if method == MULTI else 0)
    weights = initial(method, samples.auxiliary)
    shortly = np.arange(0, min(2001, max_steps), RECORDED)
    later = np.geomspace(2000, max_steps, 60) // RECORDED * RECORDED
    steps = np.union1d(shortly, later[later <= max_steps]).astype(int)
    if method == MULTI:
        return train_multitask(
            [samples.aux_inputs, samples.inputs],
            [samples.aux_targets, samples.targets],
            weights,
            teachers=[samples.auxiliary, samples.main],
            max_steps=max_steps,
            learning_rate=RATE,
            threshold=THRESHOLD,
            record=steps.tolist(),
            restarts=3,
            progress=False,
        )
    return train_diagonal(
        samples.inputs,
        samples.targets,
        weights,
        teachers=samples.main,
        train="readout" if "probing" in method else "all",
        max_steps=max_steps,
        learning_rate=RATE,
        threshold=THRESHOLD,
        record=steps.tolist(),
        restarts=3,
        progress=False,
    )
