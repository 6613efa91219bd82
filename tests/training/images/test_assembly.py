"""Batches assembled in a compiled step are the composites that NumPy lays together."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole import tasks
from partwhole.training.images.assembly import Layout, Samples, assemble

# One program for each layout: what it is made of would be compiled piece by piece.
laid = jax.jit(assemble, static_argnames="layout")


def composites(combine="channels", distance=2, channels=1):
    rng = np.random.default_rng(0)
    images, labels = rng.random((24, 5, 4, channels), dtype=np.float32), np.tile(np.arange(4), 6)
    task = tasks.symbolic_addition(range(-1, 2), [0], n_components=3)
    return tasks.compose_images(
        task, images, labels, distance=distance, combine=combine, seed=0
    ).draw(2)


@pytest.mark.parametrize("combine", ["channels", "maximum", "sum"])
@pytest.mark.parametrize("distance", [0, 2, 9])
@pytest.mark.parametrize("channels", [1, 3])
def test_as_composites_are(combine, distance, channels):
    drawn = composites(combine, distance, channels)
    samples, layout = Samples.of(drawn)
    which = np.array([5, 0, 17, 5], dtype=np.int32)
    found = laid(samples, jnp.asarray(which), layout)
    # Sums of three numbers may be added in another order.
    np.testing.assert_allclose(found, drawn[which], rtol=3e-7)


def test_images_as_they_are():
    images = np.random.default_rng(1).random((6, 4, 3, 2), dtype=np.float32)
    samples, layout = Samples.of(images)
    found = laid(samples, jnp.asarray([4, 1], dtype=jnp.int32), layout)
    np.testing.assert_array_equal(found, images[[4, 1]])


def test_sets_of_the_same_pictures_hold_them_once():
    drawn = composites()
    samples, _ = Samples.of(drawn)
    other, _ = Samples.of(drawn.take(np.array([0, 1])), (drawn, samples))
    assert other.pictures is samples.pictures
    apart, _ = Samples.of(composites(), (drawn, samples))
    assert apart.pictures is not samples.pictures


def test_moved_pictures():
    image = np.arange(1.0, 21.0, dtype=np.float32).reshape(1, 4, 5, 1)
    samples, layout = Samples.of(np.repeat(image, 2000, axis=0))
    which = jnp.arange(2000, dtype=jnp.int32)
    found = np.asarray(laid(samples, which, layout._replace(crop=2), jax.random.key(0)))
    wide = np.pad(image[0, :, :, 0], 2)
    places = {wide[i : i + 4, j : j + 5].tobytes(): (i, j) for i in range(5) for j in range(5)}
    counts = np.zeros((5, 5))
    for each in found[:, :, :, 0]:
        counts[places[each.tobytes()]] += 1
    # Each of 25 moves comes 80 times in 2,000, give or take 9.
    assert np.abs(counts - 80).max() < 45


def test_mirrored_pictures():
    drawn = composites(distance=0)
    samples, layout = Samples.of(drawn)
    which = np.arange(len(drawn), dtype=np.int32)
    key = jax.random.key(0)
    found = np.asarray(laid(samples, jnp.asarray(which), layout._replace(flip=True), key))
    plain = drawn[which]
    same = (found == plain).all(axis=(1, 2))
    turned = (found == plain[:, :, ::-1]).all(axis=(1, 2))
    assert np.all(same ^ turned)
    # Each picture on its own: 162 of them, half of which turn, give or take 6.
    assert 55 < turned.sum() < 107
    assert np.any(turned.any(axis=1) & same.any(axis=1))
    np.testing.assert_array_equal(
        laid(samples, jnp.asarray(which), Layout(distance=0)),
        laid(samples, jnp.asarray(which), Layout(distance=0, flip=True)),
    )  # without a key nothing is random
