"""Assembly of a batch of composite images from their components, within a compiled step."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from partwhole._device import on_device
from partwhole.tasks.images.composites import Composites


class Layout(NamedTuple):
    """Arrangement of the component images of a composite, and their augmentation."""

    distance: int = 0
    combine: str = "channels"
    crop: int = 0
    flip: bool = False


Images = Composites | Float[np.ndarray, "n h w c"]


def pictures_of(images: Images) -> np.ndarray:
    """Return the component images of composites, or plain images unchanged."""
    return images.images if isinstance(images, Composites) else images


class Samples(NamedTuple):
    """Component images as JAX arrays, and the indices of the components of each sample."""

    pictures: Float[Array, "k h w c"]
    shown: Int[Array, "n C"]

    @classmethod
    def of(
        cls, images: Images, neighbour: tuple[Images, Samples] | None = None
    ) -> tuple[Samples, Layout]:
        """Return the samples of composites or of plain images, and their layout.

        Component images shared with another set of samples are stored once.
        """
        rows = (
            images.image_index
            if isinstance(images, Composites)
            else np.arange(len(images))[:, None]
        )
        layout = (
            Layout(images.distance, images.combine) if isinstance(images, Composites) else Layout()
        )
        source = pictures_of(images)
        shared = neighbour is not None and pictures_of(neighbour[0]) is source
        pictures = (
            neighbour[1].pictures if neighbour and shared else jnp.asarray(source, jnp.float32)
        )
        return cls(pictures, on_device(rows, np.int32)), layout


def assemble(
    samples: Samples, rows: Int[Array, " b"], layout: Layout, key: PRNGKeyArray | None = None
) -> Float[Array, "b high wide channels"]:
    """Return a batch of composites; with a key, components are shifted and mirrored at random."""
    pictures = samples.pictures[samples.shown[rows]]
    if key is not None and (layout.crop or layout.flip):
        pictures = _augmented(pictures, layout, key)
    b, n_components, h, w, c = pictures.shape
    reach = layout.distance * (n_components - 1)
    if reach == 0 and layout.combine == "channels":
        return pictures.transpose(0, 2, 3, 1, 4).reshape(b, h, w, n_components * c)
    parts = []
    for place in range(n_components):
        left = layout.distance * place
        around = ((0, 0), (0, 0), (left, reach - left), (0, 0))
        parts.append(jnp.pad(pictures[:, place], around, mode="edge"))
    if layout.combine == "channels":
        return jnp.concatenate(parts, axis=-1)
    combine = jnp.maximum if layout.combine == "maximum" else jnp.add
    composites = parts[0]
    for part in parts[1:]:
        composites = combine(composites, part)
    return composites


def _augmented(
    pictures: Float[Array, "b C h w c"], layout: Layout, key: PRNGKeyArray
) -> Float[Array, "b C h w c"]:
    """Shift and mirror each component image independently."""
    b, n_components, h, w, c = pictures.shape
    rows = pictures.reshape(-1, h, w, c)
    for_crop, for_flip = jax.random.split(key)
    if layout.crop:
        r = layout.crop
        padded = jnp.pad(rows, ((0, 0), (r, r), (r, r), (0, 0)))
        offsets = jax.random.randint(for_crop, (len(rows), 2), 0, 2 * r + 1)

        def cropped(row: Array, offset: Array) -> Array:
            return jax.lax.dynamic_slice(row, (offset[0], offset[1], 0), (h, w, c))

        rows = jax.vmap(cropped)(padded, offsets)
    if layout.flip:
        mirrored = jax.random.bernoulli(for_flip, 0.5, (len(rows), 1, 1, 1))
        rows = jnp.where(mirrored, rows[:, :, ::-1], rows)
    return rows.reshape(b, n_components, h, w, c)
