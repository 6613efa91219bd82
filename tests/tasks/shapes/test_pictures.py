"""Grids of pictures, and PNG files that another library reads."""

from __future__ import annotations

import errno
import os
from inspect import unwrap

import numpy as np
import pytest
from matplotlib.image import imread

from partwhole._checks import InputError
from partwhole.tasks.shapes.pictures import image_grid, picture_png, save_picture


@pytest.mark.parametrize("n", [1, 3, 4, 7])
@pytest.mark.parametrize("columns", [1, 3, 9])
@pytest.mark.parametrize("gap", [0, 2])
def test_images_lie_in_their_places(n, columns, gap):
    images = np.random.default_rng(0).random((n, 4, 5, 3))
    page = image_grid(images, columns, gap=gap)
    seen = np.zeros(page.shape[:2], dtype=bool)
    for i, image in enumerate(images):
        place = np.s_[(i // columns) * (4 + gap) :, (i % columns) * (5 + gap) :]
        np.testing.assert_array_equal(page[place][:4, :5], image)
        seen[place][:4, :5] = True
    assert (page[~seen] == 1.0).all()
    assert seen[-1].any()
    assert seen[:, -1].any()


def test_greys_become_colours():
    grey = np.random.default_rng(0).random((3, 4, 4))
    np.testing.assert_array_equal(image_grid(grey, 2), image_grid(grey[..., None], 2))
    np.testing.assert_array_equal(image_grid(grey, 2), image_grid(np.stack([grey] * 3, -1), 2))
    assert image_grid(2.0 * grey - 0.5, 2).min() >= 0.0


@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("shape", [(5, 7, 3), (5, 7), (5, 7, 1)])
def test_files_hold_the_picture(tmp_path, scale, shape):
    image = np.random.default_rng(0).random(shape) * 1.4 - 0.2
    path = save_picture(tmp_path / "grid.png", image, scale=scale)
    colours = image if image.ndim == 3 else image[..., None]
    expected = np.rint(255 * np.clip(np.broadcast_to(colours, (5, 7, 3)), 0, 1))
    expected = np.kron(expected, np.ones((scale, scale, 1)))
    np.testing.assert_allclose(imread(path)[..., :3] * 255, expected, atol=1e-4)  # single precision
    assert [each.name for each in tmp_path.iterdir()] == ["grid.png"]
    assert path.read_bytes() == picture_png(image, scale=scale)


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path = save_picture(tmp_path / "a.png", np.zeros((2, 2)))
    before = path.read_bytes()

    def fails(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    save_picture(path, np.ones((2, 2)))
    assert path.read_bytes() == picture_png(np.ones((2, 2))) != before
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match=r"got Input/output error at .*a\.png; check its disk"):
        save_picture(path, np.zeros((2, 2)))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["a.png"]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda at: image_grid(np.zeros((0, 4, 4)), 2), "images have shape .* got shape"),
        (lambda at: image_grid(np.zeros((2, 4, 4, 2)), 2), "with 1 or 3 channels or none; got sha"),
        (lambda at: image_grid(np.zeros((2, 4, 4)), 0), "columns is a whole number of at least 1"),
        (lambda at: image_grid(np.zeros((2, 4, 4)), 1, gap=-1), "gap is a whole number of at lea"),
        (lambda at: picture_png(np.zeros((4, 4, 2))), "a picture has shape .* lay several out by"),
        (
            lambda at: picture_png(np.full((4, 4), np.nan)),
            "made of finite numbers; got 16 t",
        ),
        (lambda at: picture_png(np.zeros((4, 4)), scale=0), "scale is a whole number of at least"),
        (
            lambda at: save_picture(at / "a.jpg", np.zeros((4, 4))),
            "a picture is saved as .png; g",
        ),
        (lambda at: save_picture(at / "b" / "a.png", np.zeros((4, 4))), "in a folder that exists"),
    ],
)
def test_errors(make, sentence, tmp_path):
    with pytest.raises(InputError, match=sentence):
        make(tmp_path)


def test_pictures_of_more_dimensions_are_refused():
    with pytest.raises(InputError, match=r"with 1 or 3 channels or none; got shape \(4,\); put"):
        unwrap(image_grid)(np.zeros(4), 2)
