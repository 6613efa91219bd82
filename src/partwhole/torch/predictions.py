"""Classifiers of torch at their checkpoints: the concepts that they see in images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Index
from partwhole.torch._checkpoints import CheckpointReadings, numbers_of, read_all, several
from partwhole.torch._installed import torch_for

Classifier = Callable[[int, Any], Any]
Logits = Literal["concepts", "classes"]


@door
def read_predictions(
    predict: Classifier | Sequence[Classifier],
    steps: Sequence[Index],
    images: Mapping[str, Any],
    *,
    target: Sequence[Index],
    n_values: Sequence[Count],
    logits: Logits = "concepts",
    batch: Count = 256,
    progress: bool = True,
) -> CheckpointReadings:
    r"""Read which concepts a classifier of torch sees in images, at its checkpoints.

    A coordinate is the probability of the target's value of a concept: by a softmax over the logits
    of its values, or over those of all classes, summed over the classes with this value.

    Parameters
    ----------
    predict : callable, or a sequence of them, one for each run
        ``predict(step, images)`` returns the logits of a batch by the classifier at the checkpoint
        of a step, shape (n, k), as a tensor or an array. Steps come in order. It runs without
        gradients.
    steps : sequence of int
        Of the checkpoints, increasing.
    images : mapping of str to tensors or arrays, shape (n, ...)
        Sets of images by name, which are passed on as they are, in batches: those of a held-out
        combination, say, or several views of them, the `prompts` of `capability`.
    target : sequence of int, keyword-only
        The value of each concept in the combination, from 0: a row of `ConceptSpace.classes`.
    n_values : sequence of int, keyword-only
        The number of values of each concept, such as `ConceptSpace.n_values`.
    logits : {"concepts", "classes"}, keyword-only, default "concepts"
        Whether logits are those of the values, concept after concept; or of all classes, the
        combinations of values in lexicographic order, the first concept slowest.
    batch : int, keyword-only, default 256
        Images of a call.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    CheckpointReadings
        NaN for logits that are not finite.

    Raises
    ------
    MissingExtraError
        Without torch.
    InputError
        For no callables, images or steps, steps that do not increase, a target that is no
        combination, and logits of another shape. Errors of the callables pass through.

    Examples
    --------
    A "classifier" that learns the first of two concepts only:

    >>> import torch
    >>> def predict(step, images):
    ...     return images * torch.tensor([0.0, step / 100, 0.0, 0.0])
    >>> readings = read_predictions(
    ...     predict, [0, 100, 400], {"both": torch.ones(5, 4)}, target=[1, 1], n_values=[2, 2]
    ... )
    >>> readings.coordinates["both"][0].mean(axis=1).round(2).tolist()
    [[0.5, 0.5], [0.7300000190734863, 0.5], [0.9800000190734863, 0.5]]
    """
    torch = torch_for("read_predictions")
    classifiers = several(predict, "predict(step, images)")
    require(len(images) > 0, "predictions are of images", "none", "pass a set of them or more")
    require(
        len(target) == len(n_values) > 0
        and all(value < count for value, count in zip(target, n_values, strict=True)),
        "target has a value of each concept, from 0 to its number of values less 1",
        f"{[*target]} for {[*n_values]} values",
        "pass a row of space.classes, and space.n_values",
    )
    for name, rows in images.items():
        n = len(rows) if getattr(rows, "shape", ()) else 0
        rule = "sets of images are tensors or arrays of shape (n, ...)"
        require(n > 0, rule, f"{name!r} without any", "pass one image or more")
    sets = list(images.values())
    width = int(np.sum(n_values) if logits == "concepts" else np.prod(n_values))

    def read(run: int, turn: int, number: int) -> tuple[np.ndarray, None]:
        rows, parts = sets[number], []
        for first in range(0, len(rows), batch):
            part = rows[first : first + batch]
            with torch.no_grad():
                answer = numbers_of(classifiers[run](int(steps[turn]), part), "logits")
            require(
                answer.shape == (len(part), width),
                f"logits of {logits}, of {' and '.join(map(str, n_values))} values, have shape "
                f"(n, {width})",
                f"{answer.shape} for {len(part)} images",
                'choose logits="concepts" or "classes" by what they are of',
            )
            parts.append(answer.astype(float))
        return _probabilities(np.concatenate(parts), target, n_values, logits), None

    return read_all(read, len(classifiers), steps, images, title="Predicting", progress=progress)


def _probabilities(
    answers: Float[np.ndarray, "n k"],
    target: Sequence[int],
    n_values: Sequence[int],
    logits: Logits,
) -> Float[np.ndarray, "n C"]:
    """Return the probability of the target's value of each concept."""
    answers = np.where(np.isfinite(answers).all(axis=1, keepdims=True), answers, np.nan)
    if logits == "concepts":
        values = [softmax(part, axis=1) for part in np.split(answers, np.cumsum(n_values)[:-1], 1)]
    else:
        classes = softmax(answers, axis=1).reshape(-1, *n_values)
        axes = range(1, len(n_values) + 1)
        values = [classes.sum(axis=tuple(axis for axis in axes if axis != c)) for c in axes]
    columns = [part[:, value] for part, value in zip(values, target, strict=True)]
    return np.stack(columns, axis=1).astype(np.float32)
