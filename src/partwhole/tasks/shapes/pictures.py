"""Pictures of many images, and their files."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, whole
from partwhole._writing import write_all


def image_grid(
    images: Float[np.ndarray, "n height width *channels"], columns: int, *, gap: int = 1
) -> Float[np.ndarray, "rows wide 3"]:
    """Return images side by side, row by row, on white.

    Parameters
    ----------
    images : float array, shape (n, height, width), (n, height, width, 1) or (n, height, width, 3)
        Grey levels or colours in 0..1; what lies outside is cut off.
    columns : int
        Images to a row; the last row may be shorter.
    gap : int, keyword-only, default 1
        White pixels between them.

    Returns
    -------
    float array, shape (rows, wide, 3)

    Raises
    ------
    InputError
        For no images, other shapes, or a number of columns below 1.

    Examples
    --------
    >>> import numpy as np
    >>> image_grid(np.zeros((5, 8, 8)), 3).shape
    (17, 26, 3)
    """
    whole("columns", columns, 1, "pass 8, say")
    whole("gap", gap, 0, "pass 1, say")
    array = np.asarray(images)
    require(
        len(array) > 0 and (array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (1, 3))),
        "images have shape (n, height, width), with 1 or 3 channels or none",
        f"shape {array.shape}",
        "put channels last",
    )
    coloured = np.broadcast_to(
        array[..., None] if array.ndim == 3 else array, (*array.shape[:3], 3)
    )
    n, height, width = coloured.shape[:3]
    across = min(columns, n)
    down = -(-n // across)
    page = np.ones((down * (height + gap) - gap, across * (width + gap) - gap, 3))
    for i, image in enumerate(coloured):
        top, left = (height + gap) * (i // across), (width + gap) * (i % across)
        page[top : top + height, left : left + width] = image
    return np.clip(page, 0.0, 1.0)


def example_grid(
    images: Float[np.ndarray, "n height width channels"],
    classes: Int[np.ndarray, " n"],
    per_class: int,
    gap: int,
) -> Float[np.ndarray, "rows wide 3"]:
    """Return the first images of each class side by side, with a row for each class.

    Places of classes that have fewer images than `per_class` stay white.
    """
    rows = []
    for k in np.unique(classes):
        examples = images[np.flatnonzero(classes == k)[:per_class]]
        missing = per_class - len(examples)
        rows.append(np.pad(examples, [(0, missing)] + [(0, 0)] * 3, constant_values=1.0))
    return image_grid(np.concatenate(rows), per_class, gap=gap)


def picture_png(image: Float[np.ndarray, "height width *channels"], *, scale: int = 4) -> bytes:
    """Return a picture as the bytes of a PNG file, each pixel enlarged to a square.

    Parameters
    ----------
    image : float array, shape (height, width) or (height, width, 3)
        Grey levels or colours in 0..1; what lies outside is cut off.
    scale : int, keyword-only, default 4
        Pixels of the file to a side of a pixel.

    Returns
    -------
    bytes
        Of 8 bits a channel, without date: equal pictures give equal files.

    Raises
    ------
    InputError
        For another shape, numbers that are not finite, or a scale below 1.

    Examples
    --------
    >>> import numpy as np
    >>> picture_png(np.zeros((2, 2)))[:4]
    b'\\x89PNG'
    """
    whole("scale", scale, 1, "pass 4, say")
    array = np.asarray(image)
    require(
        array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3)),
        "a picture has shape (height, width), with 1 or 3 channels or none",
        f"shape {array.shape}",
        "lay several out by image_grid",
    )
    require(
        array.size > 0 and bool(np.isfinite(array).all()),
        "a picture is made of finite numbers",
        f"{int(np.sum(~np.isfinite(array)))} that are not, of {array.size}",
        "leave such images out",
    )
    levels = np.rint(255.0 * np.clip(array, 0.0, 1.0)).astype(np.uint8)
    levels = levels if levels.ndim == 3 else levels[..., None]
    levels = np.broadcast_to(levels, (*levels.shape[:2], 3))
    levels = levels.repeat(scale, axis=0).repeat(scale, axis=1)
    height, width = levels.shape[:2]
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter, none
    lines[:, 1:] = levels.reshape(height, -1)

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)

    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            chunk(b"IEND", b""),
        ]
    )


def save_picture(
    path: str | Path, image: Float[np.ndarray, "height width *channels"], *, scale: int = 4
) -> Path:
    """Write a picture to a PNG file, completely or not at all.

    Parameters
    ----------
    path : str or Path
        Ends in .png; what is there is replaced.
    image, scale
        As in `picture_png`.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        For another ending, a folder that is not there, or what `picture_png` refuses.
    """
    place = Path(path)
    require(
        place.suffix.lower() == ".png",
        "a picture is saved as .png",
        repr(place.name),
        "name it so",
    )
    require(
        place.parent.is_dir(),
        "a picture is saved in a folder that exists",
        place.parent,
        "make the folder first",
    )
    file = picture_png(image, scale=scale)
    write_all({place: file})
    return place
