"""Pictures by a renderer of one's own, validated, and the memory that they may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._progress import bar

ROUNDING = 1e-6  # of levels in single precision
GIB = 2**30
NUMBER = 4  # bytes in single precision


class Request(NamedTuple):
    """A class that a renderer draws: its name, its labels, how often, and the random numbers."""

    label: str
    values: Sequence[Any]
    times: int
    rng: np.random.Generator


def rendered(
    renderer: Callable[..., Any], requests: Sequence[Request], gibibytes: float, progress: bool
) -> Float[np.ndarray, "n height width channels"]:
    """Return the pictures of some classes, one after another.

    Raises
    ------
    InputError
        For pictures of several shapes, what `checked_picture` refuses, and too little memory.
    """
    total, place = sum(request.times for request in requests), 0
    images = np.empty((0, 0, 0, 0), dtype=np.float32)
    with bar("pictures", total, shown=progress) as advance:
        for label, values, times, rng in requests:
            for _ in range(times):
                picture = checked_picture(renderer(*values, rng), label)
                if place == 0:
                    remedy = "draw fewer or smaller, or raise memory"
                    require_memory(total, picture.shape, gibibytes, remedy)
                    images = np.empty((total, *picture.shape), dtype=np.float32)
                require(
                    picture.shape == images.shape[1:],
                    "a renderer returns pictures of one shape",
                    f"{picture.shape} for {label!r} after {images.shape[1:]}",
                    "return all in the same height, width and channels",
                )
                images[place] = picture
                place += 1
                advance(1)
    return images


def checked_picture(value: Any, label: str) -> Float[np.ndarray, "height width channels"]:
    """Validate the picture of a class; return it with channels, in single precision.

    Parameters
    ----------
    value : what the renderer returned
    label : str
        The class, for the sentences.

    Raises
    ------
    InputError
        For another shape, numbers that are not finite or outside 0..1, and levels of 8 bits.
    """
    try:
        picture = np.asarray(value)
    except Exception:  # rows of different lengths, or an object of any library
        picture = np.empty(0)
    is_array = hasattr(value, "dtype")
    require(
        picture.ndim in (2, 3) and picture.size > 0 and picture.dtype.kind in "fb",
        "a renderer returns an array of floats of shape (height, width), or with channels last",
        f"shape {picture.shape} of {picture.dtype} for {label!r}"
        if is_array
        else f"{type(value).__name__} for {label!r}",
        "divide levels of 8 bits by 255" if picture.dtype.kind in "iu" else "return such an array",
    )
    picture = picture.astype(np.float32)
    n_odd = int((~np.isfinite(picture)).sum())
    require(
        n_odd == 0,
        "a renderer returns finite numbers",
        f"{n_odd:,} of {picture.size:,} that are NaN or infinite for {label!r}",
        "correct the renderer for these values",
    )
    low, high = float(picture.min()), float(picture.max())
    require(
        low >= -ROUNDING and high <= 1.0 + ROUNDING,
        "a renderer returns levels in 0..1",
        f"{low:g}..{high:g} for {label!r}",
        "clip them, or divide by the largest",
    )
    picture = np.clip(picture, 0.0, 1.0)
    return picture if picture.ndim == 3 else picture[..., None]


def require_memory(count: int, shape: tuple[int, ...], gibibytes: float, remedy: str) -> None:
    """Require that so many pictures, at 4 bytes a number, take no more than some GiB."""
    needed = NUMBER * count * int(np.prod(shape, dtype=object)) / GIB
    require(
        needed <= gibibytes,
        f"pictures may take {gibibytes:g} GiB",
        f"{needed:.3g} GiB for {count:,} of {' x '.join(map(str, shape))}",
        remedy,
    )
