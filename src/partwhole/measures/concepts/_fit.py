"""One disc in each image by least squares: a search over templates, then Gauss-Newton steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.measures.concepts._discs import (
    disc_mask,
    disc_slopes,
    disc_templates,
    distances,
)

COARSE = 32  # pixels a side in the search; larger images are averaged in blocks
STEPS = 15
STILL = 1e-3  # pixels: a step no longer than this is the last


class Fit(NamedTuple):
    """Discs in pixels (row, column, radius), their colours, and what they leave."""

    discs: Float[np.ndarray, "n 3"]
    mask: Float[np.ndarray, "n p"]
    colour: Float[np.ndarray, "n 3"]
    background: Float[np.ndarray, "n 3"]
    residual: Float[np.ndarray, "n p 3"]
    mass: Float[np.ndarray, " n"]  # of the centred mask squared

    @property
    def loss(self) -> Float[np.ndarray, " n"]:
        return np.einsum("npc,npc->n", self.residual, self.residual)

    def take(self, images: np.ndarray) -> Fit:
        return Fit(*(field[images] for field in self))


def fit_discs(
    images: Float[np.ndarray, "n side side 3"], blur: float, bounds: tuple[float, float]
) -> Fit:
    """Return the disc of least squares in each image; lengths are in pixels."""
    n, side = images.shape[:2]
    pixels = images.reshape(n, -1, 3)
    best = _fit(_search(images, blur, bounds), pixels, blur)
    damping = np.full(n, 1e-3)
    moving = np.arange(n)
    for _ in range(STEPS):
        current = best.take(moving)
        step = _step(current, side, blur, damping[moving])
        moved_discs = current.discs + step
        moved_discs[:, :2] = np.clip(moved_discs[:, :2], 0.0, side - 1.0)
        moved_discs[:, 2] = np.clip(moved_discs[:, 2], *bounds)
        trial = _fit(moved_discs, pixels[moving], blur)
        better = trial.loss <= current.loss
        for best_field, trial_field in zip(best, trial, strict=True):
            best_field[moving[better]] = trial_field[better]
        damping[moving] *= np.where(better, 0.2, 8.0)
        moving = moving[np.abs(moved_discs - current.discs).max(axis=1) > STILL]
        if not len(moving):
            break
    return best


def white_noise(residual: Float[np.ndarray, "n side side 3"]) -> Float[np.ndarray, " n"]:
    """Return the deviation of white noise by the median of its second differences in both axes."""
    bends = np.diff(np.diff(residual, 2, axis=1), 2, axis=2)
    # 36 is the sum of the squared weights of [1 -2 1] in both directions.
    return 1.4826 / 6.0 * np.median(np.abs(bends).reshape(len(residual), -1), axis=1)


def _search(
    images: Float[np.ndarray, "n side side 3"], blur: float, bounds: tuple[float, float]
) -> Float[np.ndarray, "n 3"]:
    """Return the disc of a coarse set that explains most of each image."""
    n, side = images.shape[:2]
    block = max(1, side // COARSE)
    coarse_side = side // block
    cut = images[:, : coarse_side * block, : coarse_side * block]
    blocks = (
        cut.reshape(n, coarse_side, block, coarse_side, block, 3)
        .mean(axis=(2, 4))
        .reshape(n, -1, 3)
    )
    # The mean over a block blurs by the deviation of a uniform law, 1 / sqrt(12) of its width.
    width = np.hypot(blur / block, 0.0 if block == 1 else 12**-0.5)
    min_radius, max_radius = max(bounds[0] / block, 0.5), max(bounds[1] / block, 0.75)
    discs, templates = disc_templates(coarse_side, float(width), min_radius, max_radius)
    centred = (blocks - blocks.mean(axis=1, keepdims=True)).astype(np.float32)
    score = sum((centred[:, :, channel] @ templates.T) ** 2 for channel in range(3))
    discs_of_images = discs[np.argmax(score, axis=1)] * block
    discs_of_images[:, :2] += 0.5 * (block - 1)
    discs_of_images[:, :2] = np.clip(discs_of_images[:, :2], 0.0, side - 1.0)
    discs_of_images[:, 2] = np.clip(discs_of_images[:, 2], *bounds)
    return discs_of_images


def _fit(discs: Float[np.ndarray, "n 3"], pixels: Float[np.ndarray, "n p 3"], blur: float) -> Fit:
    """Return the best colours for given discs, the shape's within 0..1."""
    distance, _ = distances(discs, int(np.sqrt(pixels.shape[1])))
    mask = disc_mask(distance, discs[:, 2], blur)
    share = mask.mean(axis=1)
    centred = mask - share[:, None]
    mass = np.maximum(np.einsum("np,np->n", centred, centred), 1e-9)
    contrast = np.einsum("np,npc->nc", centred, pixels) / mass[:, None]
    background = pixels.mean(axis=1) - share[:, None] * contrast
    colour = np.clip(background + contrast, 0.0, 1.0)
    # With the colour at its bound, the background's own line through the pixels outside.
    outside = 1.0 - mask
    weight = np.maximum(np.einsum("np,np->n", outside, outside), 1e-9)
    seen = np.einsum("np,npc->nc", outside, pixels)
    seen -= np.einsum("np,np->n", outside, mask)[:, None] * colour
    clipped = colour != background + contrast
    background = np.where(clipped, seen / weight[:, None], background)
    residual = pixels - background[:, None] - mask[..., None] * (colour - background)[:, None]
    return Fit(discs, mask, colour, background, residual, mass)


def _step(
    current: Fit, side: int, blur: float, damping: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n 3"]:
    """Return a damped Gauss-Newton step of centre and radius, with the colours eliminated."""
    distance, offset = distances(current.discs, side)
    by_radius, by_distance = disc_slopes(distance, current.discs[:, 2], blur)
    outward = offset / np.maximum(distance, 1e-9)[:, None]
    slopes = np.concatenate([-by_distance[:, None] * outward, by_radius[:, None]], axis=1)
    contrast = current.colour - current.background
    strength = np.maximum((contrast**2).sum(axis=1), 1e-12)
    toward = np.einsum("npc,nc->np", current.residual, contrast) / strength[:, None]
    pull = np.einsum("nkp,np->nk", slopes, toward)
    # What moves the mask along itself, or evenly, the colours take up.
    slopes -= slopes.mean(axis=2, keepdims=True)
    centred = current.mask - current.mask.mean(axis=1, keepdims=True)
    along = np.einsum("nkp,np->nk", slopes, centred) / current.mass[:, None]
    slopes -= along[..., None] * centred[:, None]
    normal = np.einsum("nkp,njp->nkj", slopes, slopes)
    size = np.einsum("nkk->nk", normal)
    normal += (damping[:, None] * size + 1e-9)[..., None] * np.eye(3)
    step = np.linalg.solve(normal, pull[..., None])[..., 0]
    # Further than this the slopes say nothing.
    reach = np.maximum(0.5, 0.3 * current.discs[:, 2])
    return step * np.minimum(1.0, reach / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
