"""Validation of images and their classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from partwhole._checks import require


def known_pictures(
    name: str, images: ArrayLike, labels_name: str, labels: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """Validate images and labels; return the images with channels, and the labels.

    Raises
    ------
    InputError
        For images that are not floating-point, of another shape, none, or not finite, and for
        labels that are not one whole number for each image.
    """
    images, labels = np.asarray(images), np.asarray(labels)
    require(
        images.ndim in (3, 4) and np.issubdtype(images.dtype, np.floating) and images.size > 0,
        f"{name} are floating-point, of shape (k, height, width) or (k, height, width, channels)",
        f"shape {images.shape} of {images.dtype}",
        "divide grey levels by the largest, for example",
    )
    # NaN passes through both, and neither needs memory as large as the images.
    require(
        np.isfinite(images.min()) and np.isfinite(images.max()),
        f"grey levels of {name} are finite",
        "NaN or infinity",
        "leave those images out",
    )
    require(
        labels.shape == (len(images),) and np.issubdtype(labels.dtype, np.integer),
        f"{labels_name} are a whole number for each image",
        f"shape {labels.shape} of {labels.dtype} for {len(images)} images",
        "number the classes",
    )
    return (images if images.ndim == 4 else images[..., None]), labels
