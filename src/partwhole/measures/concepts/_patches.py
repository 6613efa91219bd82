"""Features of images by random filters, pooled over the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

SIDE = 3  # pixels of a filter
FILTERS = 256
DRAWN = 4096  # patches that set the scale and the thresholds of filters
AT_ONCE = 2**15  # patches
FILTER = 114  # a random stream of its own


@dataclass(frozen=True, eq=False)
class RandomPatches:
    """Mean and maximum over an image of rectified random filters of its patches."""

    filters: Float[np.ndarray, "p k"]
    thresholds: Float[np.ndarray, " k"]
    side: int

    @classmethod
    def of(cls, images: Float[np.ndarray, "n h w c"], *, seed: int) -> RandomPatches:
        """Return filters that respond with unit variance to patches of these images.

        Thresholds are responses to patches drawn from them.
        """
        rng = np.random.default_rng([seed, FILTER])
        side = min(SIDE, *images.shape[1:3])
        patches = _patches(images, side)
        places = (rng.integers(length, size=DRAWN) for length in patches.shape[:3])
        drawn = patches[tuple(places)].reshape(DRAWN, -1)
        filters = rng.standard_normal((drawn.shape[1], FILTERS)).astype(np.float32)
        responses = drawn @ filters
        scale = np.maximum(responses.std(axis=0), 1e-12)
        thresholds = responses[rng.integers(DRAWN, size=FILTERS), np.arange(FILTERS)] / scale
        return cls(filters / scale, thresholds, side)

    def __call__(self, images: Float[np.ndarray, "n h w c"]) -> Float[np.ndarray, "n m"]:
        """Return means and maxima, 512 for each image."""
        patches = _patches(images, self.side)
        n_patches = patches.shape[1] * patches.shape[2]
        features = np.empty((len(images), 2 * len(self.thresholds)))
        chunk = max(1, AT_ONCE // n_patches)
        for first in range(0, len(images), chunk):
            part = slice(first, first + chunk)
            flat = patches[part].reshape(-1, n_patches, len(self.filters))
            rectified = np.maximum(flat @ self.filters - self.thresholds, 0.0)
            features[part] = np.concatenate([rectified.mean(axis=1), rectified.max(axis=1)], axis=1)
        return features


def _patches(images: np.ndarray, side: int) -> np.ndarray:
    """Return a view of all patches, shape (n, rows, columns, channels, side, side)."""
    pixels = np.asarray(images, dtype=np.float32)
    return np.lib.stride_tricks.sliding_window_view(pixels, (side, side), axis=(1, 2))
