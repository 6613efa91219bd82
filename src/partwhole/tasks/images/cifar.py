"""Photographs of CIFAR-10 and CIFAR-100, read from local files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int, Integer, UInt8

from partwhole._checks import require
from partwhole._door import door
from partwhole.tasks.images._files import find_files, read_whole
from partwhole.tasks.images._pickles import PickleRefusedError, read_pickle

SIDE, PIXELS = 32, 3072
BATCHES = tuple(f"data_batch_{k}" for k in range(1, 6))
# Layouts by number of classes: subfolder and files of the training images, then of the test ones.
BINARY = {
    10: ("cifar-10-batches-bin", tuple(f"{name}.bin" for name in BATCHES), ("test_batch.bin",)),
    100: ("cifar-100-binary", ("train.bin",), ("test.bin",)),
}
PICKLED = {
    10: ("cifar-10-batches-py", BATCHES, ("test_batch",)),
    100: ("cifar-100-python", ("train",), ("test",)),
}
# File sizes in messages, unpacked; the size of pickles varies with the lengths of image names.
SIZES = {
    **dict.fromkeys([*BINARY[10][1], *BINARY[10][2]], "30,730,000 bytes"),
    **dict.fromkeys([*PICKLED[10][1], *PICKLED[10][2]], "about 31.0 million bytes"),
    "train.bin": "153,700,000 bytes",
    "test.bin": "30,740,000 bytes",
    "train": "about 155 million bytes",
    "test": "about 31.0 million bytes",
}


@door
def cifar_images(
    n_classes: Literal[10, 100] = 10,
    folder: Path | str | None = None,
    *,
    split: Literal["train", "test"] = "train",
    coarse: bool = False,
) -> tuple[Float[np.ndarray, "n 32 32 3"], Int[np.ndarray, " n"]]:
    """Return the images of CIFAR, read from local files; nothing is downloaded.

    Parameters
    ----------
    n_classes : {10, 100}, default 10
        CIFAR-10 or CIFAR-100.
    folder : Path or str, optional
        Where the files lie: the binary layout (data_batch_1.bin to data_batch_5.bin; train.bin) or
        the pickled one (data_batch_1 to data_batch_5; train), or a folder with one of the
        subfolders cifar-10-batches-bin, cifar-10-batches-py, cifar-100-binary, cifar-100-python.
        By default the folder that the environment variable PARTWHOLE_DATA names.
    split : {"train", "test"}, keyword-only, default "train"
    coarse : bool, keyword-only, default False
        Of CIFAR-100, label images by the 20 superclasses.

    Returns
    -------
    images : float array (single precision), shape (n, 32, 32, 3)
        Red, green and blue scaled to 0..1; n is 50,000 in the training files of CIFAR, which then
        take .6 GB.
    labels : int array, shape (n,)

    Raises
    ------
    InputError
        When the files are not there, or hold something else than images and labels,
        or one has more than 256 MiB unpacked.

    Notes
    -----
    Krizhevsky (2009) for the images and both formats. From pickles only plain data are taken:
    nothing that they name is executed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "train.bin").write_bytes(bytes([3, 42]) + bytes([255]) * 3072)
    ...     images, labels = cifar_images(100, folder)
    >>> images.shape, float(images.mean()), labels.tolist()
    ((1, 32, 32, 3), 1.0, [42])
    """
    require(
        not coarse or n_classes == 100,
        "only CIFAR-100 has superclasses",
        "coarse=True for CIFAR-10",
        "pass n_classes=100",
    )
    layouts = [
        (location, train if split == "train" else test)
        for location, train, test in (BINARY[n_classes], PICKLED[n_classes])
    ]
    paths = find_files(_rule(n_classes, split), folder, layouts)
    reads = _binary if ".bin" in paths[0].suffixes else _pickled
    parts = [reads(path, n_classes, coarse) for path in paths]
    sizes = sorted({len(labels) for _, labels in parts})
    require(
        len(sizes) == 1,
        "all batches of CIFAR-10 hold equally many images",
        f"{sizes[0]} and {sizes[-1]} in {paths[0].parent}",
        "download them again",
    )
    labels = np.concatenate([labels for _, labels in parts]).astype(int)
    limit, last = int(labels.max()), (20 if coarse else n_classes) - 1
    require(
        limit <= last,
        f"labels are from 0 to {last}",
        f"{limit} in {paths[0].parent}",
        "download the files again",
    )
    images = np.empty((len(labels), SIDE, SIDE, 3), dtype=np.float32)
    begin = 0
    for pixels, _ in parts:
        planes = pixels.reshape(-1, 3, SIDE, SIDE)
        np.divide(
            planes.transpose(0, 2, 3, 1), np.float32(255), out=images[begin : begin + len(planes)]
        )
        begin += len(planes)
    return images, labels


def _rule(n_classes: int, split: str) -> str:
    """Return the rule that names the files."""
    place = 1 if split == "train" else 2

    def listed(names: tuple[str, ...]) -> str:
        size = SIZES[names[0]]
        several = f"{names[0]} to {names[-1]} ({size} each)"
        return f"{names[0]} ({size})" if len(names) == 1 else several

    return (
        f"CIFAR-{n_classes} is read from files {listed(BINARY[n_classes][place])} or "
        f"{listed(PICKLED[n_classes][place])}, plain or packed as .gz"
    )


def _anew(path: Path) -> str:
    """Return the remedy for a damaged file, with the size of a complete one."""
    return f"fetch it anew: unpacked it has {SIZES[path.name.removesuffix('.gz')]}"


def _binary(
    path: Path, n_classes: int, coarse: bool
) -> tuple[UInt8[np.ndarray, "n 3072"], Integer[np.ndarray, " n"]]:
    """Read records of one label, or two in CIFAR-100, and 3,072 pixels."""
    raw = np.frombuffer(read_whole(path, _anew(path)), dtype=np.uint8)
    label_bytes = 1 if n_classes == 10 else 2
    record = label_bytes + PIXELS
    require(
        len(raw) > 0 and len(raw) % record == 0,
        f"{path.name} holds whole records of {record} bytes",
        f"{len(raw):,} bytes in {path}",
        _anew(path),
    )
    rows = raw.reshape(-1, record)
    return rows[:, label_bytes:], rows[:, 0 if coarse else label_bytes - 1]


def _pickled(
    path: Path, n_classes: int, coarse: bool
) -> tuple[UInt8[np.ndarray, "n 3072"], Integer[np.ndarray, " n"]]:
    """Read a pickled dictionary of images and labels."""
    key = "labels" if n_classes == 10 else "coarse_labels" if coarse else "fine_labels"
    rule = f"{path.name} is a pickled dictionary of images, data, and of labels, {key}"
    try:
        entries = read_pickle(read_whole(path, _anew(path)))
    except PickleRefusedError as error:
        # A damaged pickle may name what runs over several lines.
        require(False, rule, f"{' '.join(str(error).split())} in {path}", _anew(path))
        raise AssertionError from error
    pixels: Any = entries.get("data")
    labels = entries.get(key)
    require(
        isinstance(pixels, np.ndarray) and pixels.ndim == 2 and pixels.shape[1] == PIXELS,
        rule,
        f"data {_description(pixels)} in {path}",
        _anew(path),
    )
    require(
        isinstance(labels, list)
        and len(labels) == len(pixels) > 0
        and all(type(label) is int and 0 <= label < 256 for label in labels),
        rule,
        f"{key} {_description(labels)} for {len(pixels)} images in {path}",
        _anew(path),
    )
    return pixels, np.asarray(labels)


def _description(value: object) -> str:
    """Return a description of a value that should be an array or a list."""
    if isinstance(value, np.ndarray):
        return f"of shape {value.shape}"
    return f"{len(value)} long" if isinstance(value, list) else f"of type {type(value).__name__}"
