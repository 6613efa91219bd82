"""Real handwritten digits, available without files."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole._extras import needs


def digit_images() -> tuple[Float[np.ndarray, "n 8 8"], Int[np.ndarray, " n"]]:
    """Return the real handwritten digits that scikit-learn includes.

    Returns
    -------
    images : float array, shape (1797, 8, 8)
        Grey levels scaled to 0..1.
    labels : int array, shape (1797,)
        The digits 0..9.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.

    Examples
    --------
    >>> images, labels = digit_images()
    >>> images.shape, float(images.max())
    ((1797, 8, 8), 1.0)
    """
    needs("digits", "partwhole.tasks.digit_images")
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    return np.asarray(pixels, dtype=float).reshape(-1, 8, 8) / 16.0, np.asarray(labels, dtype=int)
