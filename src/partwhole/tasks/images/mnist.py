"""Handwritten digits of MNIST, read from local files."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.tasks.images._files import find_files, read_whole

IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
SIZES = {IMAGES: "47,040,016 bytes", LABELS: "60,008 bytes"}
RULE = (
    f"MNIST is read from files {IMAGES} ({SIZES[IMAGES]}) and {LABELS} ({SIZES[LABELS]}), plain or "
    "packed as .gz"
)
SIDE = 28


@door
def mnist_images(
    folder: Path | str | None = None,
) -> tuple[Float[np.ndarray, "n 28 28"], Int[np.ndarray, " n"]]:
    """Return the training images of MNIST, read from local files; nothing is downloaded.

    Parameters
    ----------
    folder : Path or str, optional
        Where train-images-idx3-ubyte and train-labels-idx1-ubyte lie, plain or packed as .gz, or
        a folder with them in a subfolder mnist. By default the folder that the environment
        variable PARTWHOLE_DATA names.

    Returns
    -------
    images : float array, shape (n, 28, 28)
        Grey levels scaled to 0..1; n is 60,000 in the files of MNIST.
    labels : int array, shape (n,)
        The digits 0..9.

    Raises
    ------
    InputError
        When the files are not there, or hold something else than they say,
        or one has more than 256 MiB unpacked.

    Notes
    -----
    LeCun, Bottou, Bengio & Haffner (1998) for the images and the format: two zero bytes, the type
    of the entries, the number of dimensions, each size as a big-endian whole number of four
    bytes, then the entries.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> head = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / IMAGES).write_bytes(head + bytes(784) + bytes([255]) * 784)
    ...     _ = (Path(folder) / LABELS).write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 5, 0]))
    ...     images, labels = mnist_images(folder)
    >>> images.shape, images.mean(axis=(1, 2)).tolist(), labels.tolist()
    ((2, 28, 28), [0.0, 1.0], [5, 0])
    """
    pixels, classes = find_files(RULE, folder, [("mnist", (IMAGES, LABELS))])
    images, labels = _read(pixels, 3), _read(classes, 1)
    require(
        images.shape[1:] == (SIDE, SIDE),
        f"images of MNIST are {SIDE} by {SIDE} pixels",
        f"{images.shape[1]} by {images.shape[2]} in {pixels}",
        "name the folder of MNIST's own files",
    )
    require(
        len(images) == len(labels) > 0,
        "there is one label for each image",
        f"{len(images)} images and {len(labels)} labels in {pixels.parent}",
        "download both files again",
    )
    limit = int(labels.max())
    require(limit <= 9, "labels are the digits 0 to 9", f"{limit} in {classes}", _anew(classes))
    return images / 255.0, labels.astype(int)


def _anew(path: Path) -> str:
    """Return the remedy for a damaged file, with the size of a complete one."""
    return f"fetch it anew: unpacked it has {SIZES[path.name.removesuffix('.gz')]}"


def _read(path: Path, n_axes: int) -> np.ndarray:
    """Return the bytes of an IDX file in their shape."""
    remedy = _anew(path)
    raw = read_whole(path, remedy)
    head = 4 + 4 * n_axes
    require(
        raw[:4] == bytes([0, 0, 8, n_axes]) and len(raw) >= head,
        f"{path.name} begins as an IDX file of bytes in {n_axes} dimension{'s' * (n_axes > 1)}",
        f"{raw[:4].hex(' ') or 'nothing'} in {path}",
        remedy,
    )
    shape = [int.from_bytes(raw[at : at + 4], "big") for at in range(4, head, 4)]
    require(
        len(raw) - head == prod(shape),
        f"{path.name} holds as many entries as its header states, {prod(shape)}",
        f"{len(raw) - head} in {path}",
        remedy,
    )
    return np.frombuffer(raw, dtype=np.uint8, offset=head).reshape(shape)
