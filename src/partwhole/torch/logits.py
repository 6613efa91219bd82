"""Logits of models of torch, beside what a theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole import comparison
from partwhole._checks import require
from partwhole._door import door
from partwhole._theories import Fit, Theory
from partwhole._types import Positive
from partwhole.comparison import Comparison
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy
from partwhole.tasks import Task
from partwhole.torch._installed import torch_for


@door(infinite=("samples",))
def compare(
    task: Task,
    logits: Any,
    theory: Theory,
    *,
    rows: Any = None,
    fit: Fit | None = None,
    samples: Positive | None = None,
    has_learned: Bool[np.ndarray, " _"] | Sequence[bool] | None = None,
) -> Comparison:
    """Compare logits of models of torch with the predictions of a theory, as `partwhole.compare`.

    Logits may be on any device, with gradients or of 16 bits; they are read in double precision.
    Those of several images of one row of the task are averaged.

    Parameters
    ----------
    task : Task
    logits : tensor or array, shape (n, k), or (runs, n, k); or a sequence of them, one for each run
        For each row of the task, or with `rows` for each image. Without the last axis, or with a
        last axis of length 1, where targets have shape (n,).
    theory : Limit, Readout, OverlapKernel, Salience or floats; or one for each run
        As in `partwhole.compare`; a limit at the `tangent_kernel` of the model before training, for
        example.
    rows : int tensor or array, shape (n,), keyword-only, default None
        The row of the task that each image shows, such as `Composites.rows`; every row has one
        image or more. None for one logit for each row, in their order.
    fit, samples, has_learned : keyword-only, default None
        As in `partwhole.compare`.

    Returns
    -------
    Comparison

    Raises
    ------
    MissingExtraError
        Without torch.
    InputError
        As `partwhole.compare`, for logits and rows of different lengths, and for rows that are not
        the task's or have no image.

    Examples
    --------
    >>> import torch
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> logits = torch.tensor(0.66 * task.targets, dtype=torch.float64, requires_grad=True)
    >>> comparison = compare(task, logits[:, None], [0.4])
    >>> round(comparison.measured["slope"].mean, 3), round(comparison.predicted["slope"].mean, 3)
    (0.66, 0.667)
    """
    torch_for("compare")
    answers, rows = _answers(task, _plain(logits), _plain(rows))
    if rows is not None:
        answers = _row_means(task, answers, rows)
    return comparison.compare(
        task, answers, theory, fit=fit, samples=samples, has_learned=has_learned
    )


def _plain(values: Any) -> Any:
    """Return tensors as arrays, also those in a list, and anything else as it is."""
    if is_tensor(values):
        return tensor_to_numpy(values)
    if isinstance(values, list | tuple) and any(map(is_tensor, values)):
        return [_plain(value) for value in values]
    return values


@door(missing=("logits",))
def _answers(
    task: Task, logits: Float[np.ndarray, "..."], rows: Int[np.ndarray, " n"] | None
) -> tuple[Float[np.ndarray, "..."], Int[np.ndarray, " n"] | None]:
    """Return logits without a last axis of length 1 that targets lack, and rows."""
    n = len(task.targets) if rows is None else len(rows)
    if task.targets.ndim == 1 and logits.ndim > 1 and logits.shape[-2:] == (n, 1):
        logits = logits[..., 0]
    return logits, rows


def _row_means(
    task: Task, answers: Float[np.ndarray, "*runs_n_k"], rows: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "*runs_rows_k"]:
    """Return the mean of the answers to the images of each row of a task."""
    n_rows = len(task.targets)
    require(
        rows.min() >= 0 and rows.max() < n_rows,
        f"rows are those of the task, 0..{n_rows - 1}",
        f"{rows.min()}..{rows.max()}",
        "pass composites.rows, say",
    )
    axis = answers.ndim - task.targets.ndim
    require(
        axis in (0, 1) and answers.shape[axis] == len(rows),
        "logits have an entry for each of rows",
        f"shape {answers.shape} for {len(rows)}",
        "pass the logits of all images, in the order of rows",
    )
    counts = np.bincount(rows, minlength=n_rows)
    empty = np.flatnonzero(counts == 0).tolist()
    require(
        not empty,
        "every row of the task has an image or more",
        f"none for {len(empty)} of {n_rows}",
        "answer images of held-out rows too",
    )
    images = np.moveaxis(answers, axis, 0)
    sums = np.zeros((n_rows, *images.shape[1:]))
    np.add.at(sums, rows, images)
    means = sums / counts.reshape(-1, *[1] * (sums.ndim - 1))
    return np.moveaxis(means, 0, axis)
