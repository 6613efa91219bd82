"""Datasets of torch: composed images and pictures of shapes, with their labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from partwhole._checks import require
from partwhole._door import door
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy
from partwhole.tasks.images.composites import Composites
from partwhole.tasks.shapes.labelled import LabelledShapes
from partwhole.torch._installed import torch_for

KINDS = {"f": np.float32, "i": np.int64, "u": np.int64, "b": np.bool_}
REMEDIES = {
    "ComposedImages": "draw some: images.training(50), or images.draw(5)",
    "ConceptSpace": "draw some: space.sample(64, seed=0)",
}


@door
def dataset(samples: Any, labels: Any = None) -> Any:
    """Return composed images or pictures of shapes as a dataset of torch, with their labels.

    An entry is a pair of tensors: an image with channels first, shape (channels, height, width), in
    single precision; and its label. Composed images are assembled on access, whole batches at once.
    Nothing is random: the seed with which samples were drawn fixes all entries, and those that
    workers of a `torch.utils.data.DataLoader` load are the same.

    Parameters
    ----------
    samples : Composites or LabelledShapes
        As `tasks.compose_images(...).training(50)` and `ConceptSpace.sample` return.
    labels : array or tensor, shape (n, ...), default None
        A label for each sample; None for the targets of composites, and the numbers of classes of
        shapes. Numbers with a fraction arrive in single precision and whole ones in 64 bits, as
        the losses of torch expect. Others are `composites.components`, of one-hot targets
        `composites.targets.argmax(1)`, `shapes.conditions()`, `shapes.tokens()` or `shapes.has`.

    Returns
    -------
    torch.utils.data.Dataset
        Map style, with n entries.

    Raises
    ------
    MissingExtraError
        Without torch.
    InputError
        For other samples, and labels that are not numbers or not one for each sample.

    Examples
    --------
    >>> import torch
    >>> from partwhole import tasks
    >>> from partwhole.tasks.shapes.splits import leave_out
    >>> space = tasks.circles(0.8)
    >>> seen = leave_out(space, "blue small")
    >>> shapes = dataset(space.sample(64, side=16, is_train=seen, seed=0))
    >>> images, classes = next(iter(torch.utils.data.DataLoader(shapes, batch_size=32)))
    >>> len(shapes), tuple(images.shape), classes.dtype
    (192, (32, 3, 16, 16), torch.int64)
    """
    torch = torch_for("dataset")
    require(
        isinstance(samples, Composites | LabelledShapes),
        "samples are drawn Composites or LabelledShapes",
        f"one of type {type(samples).__name__}",
        REMEDIES.get(type(samples).__name__, "use torch.utils.data.TensorDataset for arrays"),
    )
    if labels is None:
        labels = samples.targets if isinstance(samples, Composites) else samples.classes
    labels = tensor_to_numpy(labels) if is_tensor(labels) else labels
    return _kind(torch)(samples, _held(labels, len(samples)))


@door
def _held(
    labels: Float[np.ndarray, "n ..."] | Integer[np.ndarray, "n ..."] | Bool[np.ndarray, "n ..."],
    count: int,
) -> np.ndarray:
    """Return labels as an array of the type that they have in torch."""
    require(
        len(labels) == count,
        "labels have one entry or row for each sample",
        f"{len(labels)} for {count} samples",
        "pass the labels of these samples",
    )
    return np.array(labels, dtype=KINDS[labels.dtype.kind])


class Samples:
    """Images with channels first and their labels, by number: what a dataset has beside torch's."""

    def __init__(self, samples: Composites | LabelledShapes, labels: np.ndarray) -> None:
        self.samples, self.labels = samples, labels

    def __len__(self) -> int:
        """Return the number of entries n."""
        return len(self.labels)

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        """Return an image and its label."""
        return self.__getitems__([int(index)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, Any]]:
        """Return several images, assembled at once, and their labels; loaders call this."""
        torch = torch_for("dataset")
        order = np.asarray(indices, dtype=int)
        source = self.samples if isinstance(self.samples, Composites) else self.samples.images
        images = np.ascontiguousarray(source[order].transpose(0, 3, 1, 2), dtype=np.float32)
        labels = torch.from_numpy(self.labels[order])
        return list(zip(torch.from_numpy(images), labels, strict=True))

    def __reduce__(self) -> Any:
        """Return how a process that is spawned gets the same dataset."""
        return dataset, (self.samples, self.labels)


@cache
def _kind(torch: Any) -> type[Samples]:
    """Return the class of such datasets, which is one of torch's too."""
    return type("Samples", (Samples, torch.utils.data.Dataset), {"__module__": __name__})
