"""MNIST from small files in its format, written here byte by byte."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.tasks.images._files import VARIABLE
from partwhole.tasks.images.mnist import IMAGES, LABELS, mnist_images

FILES = (
    f"MNIST is read from files {IMAGES} (47,040,016 bytes) and {LABELS} (60,008 bytes), plain or "
    "packed as .gz"
)

ANEW = "fetch it anew: unpacked it has"


def idx(values, packed=False):
    """Return the bytes of an IDX file."""
    head = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    whole = head + values.astype(np.uint8).tobytes()
    return gzip.compress(whole) if packed else whole


def write(folder, images, labels, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    end = ".gz" if packed else ""
    (folder / f"{IMAGES}{end}").write_bytes(idx(images, packed))
    (folder / f"{LABELS}{end}").write_bytes(idx(labels, packed))


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (7, 28, 28)), np.array([3, 0, 9, 5, 1, 1, 4])


@pytest.mark.parametrize("packed", [False, True])
def test_what_was_written_is_read(drawn, packed, tmp_path):
    write(tmp_path, *drawn, packed)
    images, labels = mnist_images(tmp_path)
    # Scaled by a division: whole grey levels come back exactly.
    np.testing.assert_array_equal(images * 255.0, drawn[0])
    np.testing.assert_array_equal(labels, drawn[1])
    assert images.dtype == np.float64
    assert labels.dtype.kind == "i"


@pytest.mark.parametrize("below", ["", "mnist"])
def test_the_variable_names_the_folder(drawn, below, tmp_path, monkeypatch):
    write(tmp_path / below, *drawn)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    np.testing.assert_array_equal(mnist_images()[1], drawn[1])


def test_a_folder_that_is_passed_comes_first(drawn, tmp_path, monkeypatch):
    write(tmp_path / "here", *drawn)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    assert len(mnist_images(tmp_path / "here")[0]) == 7
    assert len(mnist_images(str(tmp_path / "here"))[0]) == 7


def test_plain_files_come_before_packed_ones(drawn, tmp_path):
    images, labels = drawn
    write(tmp_path, images, labels)
    write(tmp_path, images, labels[::-1], packed=True)
    np.testing.assert_array_equal(mnist_images(tmp_path)[1], labels)


def test_without_a_folder(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(InputError) as caught:
        mnist_images()
    assert str(caught.value) == (
        f"{FILES}; got no folder to look in ({VARIABLE} is not set); name their folder in "
        f"{VARIABLE}, or with --data on the command line"
    )


@pytest.mark.parametrize("there", ["nothing", "images only", "no folder"])
def test_without_the_files(drawn, there, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    if there != "no folder":
        folder.mkdir()
    if there == "images only":
        (folder / IMAGES).write_bytes(idx(drawn[0]))
    remedy = "download them once, and name their folder"
    monkeypatch.setenv(VARIABLE, str(folder))
    for given in (None, folder):
        with pytest.raises(InputError) as caught:
            mnist_images(given)
        found = f"{folder} without {LABELS if there == 'images only' else 'them'}"
        assert str(caught.value) == f"{FILES}; got {found}; {remedy}"


def damage(kind, folder, images, labels):
    """Spoil one of the files, and return the sentence that should tell it."""
    pixels, classes = folder / IMAGES, folder / LABELS
    if kind == "cut short":
        pixels.write_bytes(idx(images)[:-10])
        return (
            f"{IMAGES} holds as many entries as its header states, 5488; got 5478 in {pixels}; "
            f"{ANEW} 47,040,016 bytes"
        )
    if kind == "other file":
        pixels.write_bytes(b"<html>")
        return (
            f"{IMAGES} begins as an IDX file of bytes in 3 dimensions; got 3c 68 74 6d in "
            f"{pixels}; {ANEW} 47,040,016 bytes"
        )
    if kind == "empty":
        classes.write_bytes(b"")
        return (
            f"{LABELS} begins as an IDX file of bytes in 1 dimension; got nothing in {classes}; "
            f"{ANEW} 60,008 bytes"
        )
    if kind == "only a head":
        pixels.write_bytes(idx(images)[:9])
        return (
            f"{IMAGES} begins as an IDX file of bytes in 3 dimensions; got 00 00 08 03 in "
            f"{pixels}; {ANEW} 47,040,016 bytes"
        )
    if kind == "fewer labels":
        classes.write_bytes(idx(labels[:-1]))
        return (
            f"there is one label for each image; got 7 images and 6 labels in {folder}; "
            "download both files again"
        )
    if kind == "labels":
        classes.write_bytes(idx(labels + 20))
        return f"labels are the digits 0 to 9; got 29 in {classes}; {ANEW} 60,008 bytes"
    assert kind == "pixels"
    pixels.write_bytes(idx(images[:, :20]))
    return (
        f"images of MNIST are 28 by 28 pixels; got 20 by 28 in {pixels}; name the folder of "
        "MNIST's own files"
    )


@pytest.mark.parametrize(
    "kind",
    ["cut short", "other file", "empty", "only a head", "fewer labels", "labels", "pixels"],
)
def test_damage_is_told_in_a_sentence(kind, drawn, tmp_path):
    write(tmp_path, *drawn)
    sentence = damage(kind, tmp_path, *drawn)
    with pytest.raises(InputError) as caught:
        mnist_images(tmp_path)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("spoil", [lambda held: held[:-20], lambda held: b"no gzip" + held[7:]])
def test_a_damaged_package_is_told_too(spoil, drawn, tmp_path):
    write(tmp_path, *drawn, packed=True)
    file = tmp_path / f"{IMAGES}.gz"
    file.write_bytes(spoil(file.read_bytes()))
    with pytest.raises(InputError) as caught:
        mnist_images(tmp_path)
    assert str(caught.value).startswith(f"{IMAGES}.gz is a whole gzip file of")
    assert str(caught.value).endswith(f"; {ANEW} 47,040,016 bytes")


def test_a_garbled_package_is_told_too(drawn, tmp_path):
    write(tmp_path, *drawn, packed=True)
    file = tmp_path / f"{IMAGES}.gz"
    held = bytearray(file.read_bytes())
    held[40:60] = bytes(20)
    file.write_bytes(bytes(held))
    with pytest.raises(InputError, match="is a whole gzip file"):
        mnist_images(tmp_path)
