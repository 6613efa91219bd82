"""Pictures from files: their headers first, then their levels, cut and scaled to one size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._extras import MissingExtraError

if TYPE_CHECKING:
    from PIL.Image import Image

ENDINGS = (".png", ".jpg", ".jpeg")
FORMATS = ("PNG", "JPEG")
MOST_PIXELS = 2**26  # of one picture: 8,192 by 8,192
ORIENTATION = 0x0112
TURNED = (5, 6, 7, 8)  # orientations that exchange height and width
LUMA = (0.299, 0.587, 0.114)  # of red, green and blue (ITU-R BT.601)
WHITE = 1.0


@dataclass(frozen=True)
class Header:
    """Height, width and channels of a picture as its file has them."""

    height: int
    width: int
    channels: int


def require_pillow(part: str) -> None:
    """Raise an error of one sentence unless Pillow is installed."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"{part} needs the package Pillow; got an installation without it; "
            "install it: pip install pillow, or 'partwhole[plot]', which brings it",
            name="PIL",
        ) from error


def read_header(path: Path, name: str) -> Header:
    """Return the size and channels of a picture without decoding it.

    Raises
    ------
    InputError
        For a damaged file or one of another kind, an animation, and one of too many pixels.
    """
    with _opened(path, name) as image:
        frames = getattr(image, "n_frames", 1) if image.format == "PNG" else 1
        require(
            frames == 1,
            "a picture has one frame",
            f"{frames} in {name!r}",
            "save the frame that is meant by itself",
        )
        width, height = image.size
        # For what a PNG says of it, all of the file is read.
        if image.format != "PNG" and image.getexif().get(ORIENTATION) in TURNED:
            width, height = height, width
        return Header(height, width, _channels(image))


def read_levels(
    path: Path, name: str, size: tuple[int, int], channels: int
) -> Float[np.ndarray, "height width channels"]:
    """Return the levels of a picture in 0..1, of a size and a number of channels.

    Raises
    ------
    InputError
        For a damaged file, or one of another kind.
    """
    from PIL import Image, ImageOps

    with _opened(path, name) as file:
        image = file if file.format == "PNG" else ImageOps.exif_transpose(file)
        levels = _in_channels(_levels(image), channels)
    height, width = levels.shape[:2]
    if (height, width) == size:
        return levels
    # The largest part in the middle that has the proportions of the size.
    scale = min(height / size[0], width / size[1])
    tall, wide = scale * size[0], scale * size[1]
    top, left = 0.5 * (height - tall), 0.5 * (width - wide)
    box = (left, top, min(left + wide, width), min(top + tall, height))
    parts = [
        Image.fromarray(np.ascontiguousarray(levels[..., c])).resize(
            (size[1], size[0]), Image.Resampling.BOX, box=box
        )
        for c in range(levels.shape[2])
    ]
    return np.clip(np.stack([np.asarray(part) for part in parts], axis=2), 0.0, 1.0)


@contextmanager
def _opened(path: Path, name: str) -> Iterator[Image]:
    """Open a picture, and turn every error that its bytes cause into one sentence."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures, and of odd metadata
            with Image.open(path, formats=FORMATS) as image:
                _require_pixels(image, name)
                yield image
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(_too_large("far more", name)) from error
    except Exception as error:  # damaged bytes can cause any error
        raise InputError(
            "a picture is a whole file of PNG or JPEG; got a damaged one, or one of another kind, "
            f"{name!r}; save it again, or leave its row out"
        ) from error


def _require_pixels(image: Image, name: str) -> None:
    pixels = image.size[0] * image.size[1]
    if pixels > MOST_PIXELS:
        raise InputError(_too_large(f"{pixels:,}", name))


def _too_large(count: str, name: str) -> str:
    return f"a picture has at most {MOST_PIXELS:,} pixels; got {count} in {name!r}; make it smaller"


def _channels(image: Image) -> int:
    """Return 1 for grey levels, 3 for colours, and 4 for colours that are partly transparent."""
    if image.mode.startswith("I"):  # 16 bits
        return 1
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        return 4
    return 1 if image.mode in ("1", "L") else 3


def _levels(image: Image) -> Float[np.ndarray, "height width channels"]:
    """Return the levels in the channels that `_channels` counts."""
    if image.mode.startswith("I"):
        return (np.asarray(image).astype(np.float32) / np.float32(65535))[..., None]
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[_channels(image)]
    levels = np.asarray(image if image.mode == mode else image.convert(mode), dtype=np.float32)
    levels = levels / np.float32(255)
    return levels if levels.ndim == 3 else levels[..., None]


def _in_channels(
    levels: Float[np.ndarray, "height width channels"], channels: int
) -> Float[np.ndarray, "height width _"]:
    """Return levels in another number of channels; what is transparent is laid over white."""
    n_channels = levels.shape[2]
    if n_channels == channels:
        return levels
    if n_channels == 4:
        opaque = levels[..., 3:]
        levels = opaque * levels[..., :3] + (1 - opaque) * np.float32(WHITE)
    if channels == 1 and levels.shape[2] == 3:
        return levels @ np.array(LUMA, dtype=np.float32)[:, None]
    if channels >= 3 and levels.shape[2] == 1:
        levels = np.repeat(levels, 3, axis=2)
    if channels == 4 and n_channels != 4:
        levels = np.concatenate([levels, np.ones_like(levels[..., :1])], axis=2)
    return levels
