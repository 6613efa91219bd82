"""CIFAR from small files in its formats, written here byte by byte."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import struct
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.tasks.images._files import VARIABLE
from partwhole.tasks.images._pickles import PickleRefusedError, read_pickle
from partwhole.tasks.images.cifar import cifar_images

TEN = (
    "CIFAR-10 is read from files data_batch_1.bin to data_batch_5.bin (30,730,000 bytes each) or "
    "data_batch_1 to data_batch_5 (about 31.0 million bytes each), plain or packed as .gz"
)
HUNDRED = (
    "CIFAR-100 is read from files train.bin (153,700,000 bytes) or train (about 155 million "
    "bytes), plain or packed as .gz"
)


def old_pickle(entries):
    """Return a dictionary as Python 2 pickled it, arrays included: the layout of the real files."""

    def text(held):
        return b"U" + bytes([len(held)]) + held if len(held) < 256 else (
            b"T" + struct.pack("<i", len(held)) + held
        )  # fmt: skip

    def number(value):
        return b"J" + struct.pack("<i", value)

    def array(values):
        kind = b"cnumpy\ndtype\n" + b"(" + text(b"u1") + number(0) + number(1) + b"tR"
        kind += b"(" + number(3) + text(b"|") + b"NNN" + number(-1) * 2 + number(0) + b"tb"
        made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + number(0) + b"t"
        made += text(b"b") + b"tR("
        shape = b"(" + b"".join(map(number, values.shape)) + b"t"
        return made + number(1) + shape + kind + b"I00\n" + text(values.tobytes()) + b"tb"

    def told(value):
        if isinstance(value, np.ndarray):
            return array(value.astype(np.uint8))
        if isinstance(value, list):
            return b"](" + b"".join(map(told, value)) + b"e"
        return text(value.encode()) if isinstance(value, str) else number(value)

    items = b"".join(text(key.encode()) + told(value) for key, value in entries.items())
    return b"\x80\x02}(" + items + b"u."


def draw(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (n, 3072)), rng.integers(0, n_classes, n)


def write(folder, n_classes, layout, n=2, packed=False):
    """Write a small training set; return pixels, labels and superclasses."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"data_batch_{k}" for k in range(1, 6)] if n_classes == 10 else ["train"]
    found = []
    for k, name in enumerate(names):
        pixels, labels = draw(n, n_classes, k)
        coarse = draw(n, 20, k + 9)[1]
        if layout == "binary":
            columns = [labels] if n_classes == 10 else [coarse, labels]
            held = np.column_stack([*columns, pixels]).astype(np.uint8).tobytes()
        else:
            key = "labels" if n_classes == 10 else "fine_labels"
            entries = {"batch_label": name, key: labels.tolist(), "data": pixels}
            if n_classes == 100:
                entries["coarse_labels"] = coarse.tolist()
            held = old_pickle(entries | {"filenames": ["a.png"] * n})
        path = folder / (name + (".bin" if layout == "binary" else "") + (".gz" if packed else ""))
        path.write_bytes(gzip.compress(held) if packed else held)
        found.append((pixels, labels, coarse))
    return [np.concatenate(each) for each in zip(*found, strict=True)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", ["binary", "pickled"])
@pytest.mark.parametrize("n_classes", [10, 100])
def test_what_was_written_is_read(n_classes, layout, packed, tmp_path):
    pixels, labels, coarse = write(tmp_path, n_classes, layout, packed=packed)
    images, found = cifar_images(n_classes, tmp_path)
    assert images.shape == (len(labels), 32, 32, 3)
    assert images.dtype == np.float32
    np.testing.assert_array_equal(found, labels)
    # Planes of red, green and blue, row by row; single precision is exact to 3e-8 of 1.
    for image, row in zip(images, pixels, strict=True):
        for channel in range(3):
            plane = row[1024 * channel : 1024 * (channel + 1)].reshape(32, 32) / 255.0
            np.testing.assert_allclose(image[:, :, channel], plane, atol=6e-8)
    if n_classes == 100:
        np.testing.assert_array_equal(cifar_images(100, tmp_path, coarse=True)[1], coarse)


@pytest.mark.parametrize(
    ("subfolder", "n_classes", "layout"),
    [
        ("cifar-10-batches-bin", 10, "binary"),
        ("cifar-10-batches-py", 10, "pickled"),
        ("cifar-100-binary", 100, "binary"),
        ("cifar-100-python", 100, "pickled"),
    ],
)
def test_the_variable_names_the_folder(subfolder, n_classes, layout, tmp_path, monkeypatch):
    _, labels, _ = write(tmp_path / subfolder, n_classes, layout)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    np.testing.assert_array_equal(cifar_images(n_classes)[1], labels)


def test_test_images(tmp_path):
    pixels, labels = draw(3, 10)
    whole = np.column_stack([labels, pixels]).astype(np.uint8)
    (tmp_path / "test_batch.bin").write_bytes(whole.tobytes())
    np.testing.assert_array_equal(cifar_images(10, tmp_path, split="test")[1], labels)
    with pytest.raises(
        InputError, match=r"test\.bin \(30,740,000 bytes\) or test \(about 31\.0 mil"
    ):
        cifar_images(100, tmp_path, split="test")


def test_pickles_of_today_are_read_too(tmp_path):
    pixels, labels = draw(4, 100)
    entries = {b"data": pixels.astype(np.uint8), b"fine_labels": labels.tolist()}
    (tmp_path / "train").write_bytes(pickle.dumps(entries, protocol=2))
    images, found = cifar_images(100, tmp_path)
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_allclose(
        images.transpose(0, 3, 1, 2).reshape(4, -1), pixels / 255.0, atol=6e-8
    )


class Malicious:
    """Something whose unpickling would make a folder."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return os.mkdir, (self.place,)


@pytest.mark.parametrize("protocol", range(6))
def test_nothing_that_a_pickle_names_is_executed(protocol, tmp_path):
    made = tmp_path / "made"
    held = pickle.dumps({"data": Malicious(str(made)), "fine_labels": [1]}, protocol=protocol)
    (tmp_path / "train").write_bytes(held)
    module = os.mkdir.__module__
    with pytest.raises(InputError) as caught:
        cifar_images(100, tmp_path)
    assert str(caught.value) == (
        "train is a pickled dictionary of images, data, and of labels, fine_labels; got the name "
        f"{module}.mkdir in {tmp_path / 'train'}; fetch it anew: unpacked it has about 155 million "
        "bytes"
    )
    assert not made.exists()
    # The same file does make it when it is executed: the test can fail.
    pickle.loads(held)
    assert made.exists()


@pytest.mark.parametrize(
    ("named", "rest"),
    [
        ("numpy ndarray", b"(S'ones'\nt\x81"),  # attributes of what is named
        ("numpy dtype", b"}S'x'\nI1\nsb"),
        ("numpy.core.multiarray _reconstruct", b"}S'__defaults__'\nI1\nsb"),
        ("_codecs encode", b"(S'x'\nS'rot13'\ntR"),
    ],
)
def test_stand_ins_cannot_be_turned(named, rest, tmp_path):
    where, name = named.split()
    held = b"\x80\x02}(U\x04datac" + f"{where}\n{name}\n".encode() + rest + b"u."
    (tmp_path / "train").write_bytes(held)
    with pytest.raises(InputError, match="train is a pickled dictionary of images"):
        cifar_images(100, tmp_path)
    # What is read afterwards is as before.
    _, labels, _ = write(tmp_path / "whole", 100, "pickled")
    np.testing.assert_array_equal(cifar_images(100, tmp_path / "whole")[1], labels)


@pytest.mark.parametrize("there", ["nothing", "one batch", "no folder"])
def test_without_the_files(there, tmp_path):
    folder = tmp_path / "data"
    if there != "no folder":
        folder.mkdir()
    found = f"{folder} without them"
    if there == "one batch":
        (folder / "data_batch_3.bin").write_bytes(bytes(3073))
        found = (
            f"{folder} without data_batch_1.bin, data_batch_2.bin, data_batch_4.bin, "
            "data_batch_5.bin"
        )
    with pytest.raises(InputError) as caught:
        cifar_images(10, folder)
    assert str(caught.value) == f"{TEN}; got {found}; download them once, and name their folder"
    with pytest.raises(InputError) as caught:
        cifar_images(100, folder)
    assert str(caught.value).startswith(f"{HUNDRED}; got {folder} without them; ")


def damage(kind, folder):
    """Spoil a file, and return how many classes to ask for and the sentence that tells it."""
    batch, train = folder / "data_batch_2.bin", folder / "train.bin"
    if kind == "cut short":
        held = batch.read_bytes()
        batch.write_bytes(held[:-1])
        return 10, (
            f"data_batch_2.bin holds whole records of 3073 bytes; got 6,145 bytes in {batch}; fetch"
            " it anew: unpacked it has 30,730,000 bytes"
        )
    if kind == "a record short":
        batch.write_bytes(batch.read_bytes()[:3073])
        return 10, (
            "all batches of CIFAR-10 hold equally many images; got 1 and 2 in "
            f"{folder}; download them again"
        )
    if kind == "empty":
        train.write_bytes(b"")
        return 100, (
            f"train.bin holds whole records of 3074 bytes; got 0 bytes in {train}; fetch it anew: "
            "unpacked it has 153,700,000 bytes"
        )
    assert kind == "labels"
    train.write_bytes(bytes([0, 100]) + bytes(3072))
    return 100, f"labels are from 0 to 99; got 100 in {folder}; download the files again"


@pytest.mark.parametrize("kind", ["cut short", "a record short", "empty", "labels"])
def test_damage_is_told_in_a_sentence(kind, tmp_path):
    write(tmp_path, 10, "binary")
    write(tmp_path, 100, "binary")
    n_classes, sentence = damage(kind, tmp_path)
    with pytest.raises(InputError) as caught:
        cifar_images(n_classes, tmp_path)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"data": [1, 2], "fine_labels": [1]}, "data 2 long"),
        ({"fine_labels": [1]}, "data of type NoneType"),
        ({"data": np.zeros((1, 7)), "fine_labels": [1]}, r"data of shape \(1, 7\)"),
        ({"data": np.zeros((2, 3072)), "fine_labels": [1]}, "fine_labels 1 long for 2 images"),
        ({"data": np.zeros((1, 3072))}, "fine_labels of type NoneType for 1 images"),
        ({"data": np.zeros((1, 3072)), "fine_labels": ["a"]}, "fine_labels 1 long for 1 images"),
        ({"data": np.zeros((1, 3072)), "fine_labels": [256]}, "fine_labels 1 long for 1 images"),
    ],
)
def test_pickles_of_something_else_are_told(entries, told, tmp_path):
    (tmp_path / "train").write_bytes(old_pickle(entries))
    with pytest.raises(InputError, match=f"train is a pickled dictionary .*; got {told} in "):
        cifar_images(100, tmp_path)


@pytest.mark.parametrize("label", [2**63, 10**30])
def test_labels_beyond_all_integers_are_told(label, tmp_path):
    held = pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "fine_labels": [label]}, protocol=2)
    (tmp_path / "train").write_bytes(held)
    with pytest.raises(InputError, match="got fine_labels 1 long for 1 images in"):
        cifar_images(100, tmp_path)


def test_names_over_several_lines_are_told_in_one(tmp_path):
    (tmp_path / "train").write_bytes(b"\x80\x04\x8c\x08nu\n\n mpy\x8c\x03o\nk\x93.")
    with pytest.raises(InputError, match=r"fine_labels; got the name nu mpy\.o k in .*; fetch it"):
        cifar_images(100, tmp_path)


def test_a_damaged_package_is_told(tmp_path):
    write(tmp_path, 10, "binary", packed=True)
    file = tmp_path / "data_batch_4.bin.gz"
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(InputError) as caught:
        cifar_images(10, tmp_path)
    assert str(caught.value).startswith("data_batch_4.bin.gz is a whole gzip file of")
    assert str(caught.value).endswith("; fetch it anew: unpacked it has 30,730,000 bytes")


@pytest.mark.parametrize("cut", [0, 1, 20, 200, 4000])
def test_damaged_pickles_are_told(cut, tmp_path):
    write(tmp_path, 100, "pickled")
    held = (tmp_path / "train").read_bytes()
    (tmp_path / "train").write_bytes(held[:cut])
    with pytest.raises(
        InputError, match=r"train is a pickled .* fetch it anew: unpacked it has ab"
    ):
        cifar_images(100, tmp_path)
    (tmp_path / "train").write_bytes(b"[1, 2, 3]")
    with pytest.raises(InputError, match="train is a pickled dictionary"):
        cifar_images(100, tmp_path)


def nested(key: bytes) -> bytes:
    """Return a dictionary with a key that takes as long to hash as two to the 60th."""
    twice = b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60))
    return b"\x80\x02}(" + twice + key + b"K\x01u."


@pytest.mark.parametrize(
    "made", [b"h\x3c", b"h\x3c\x85", b"(h\x3ct", b"(h\x3c\x91", b"\x8f(h\x3c\x90"]
)
def test_keys_that_take_for_ever_to_hash_are_refused(made, tmp_path):
    (tmp_path / "train").write_bytes(nested(made))
    start = time.perf_counter()
    with pytest.raises(InputError, match="train is a pickled dictionary of images"):
        cifar_images(100, tmp_path)
    assert time.perf_counter() - start < 20


@given(
    protocol=st.sampled_from([0, 1, 2, 4]),
    changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_any_damage_of_a_pickle_is_refused_or_read(protocol, changes):
    held = bytearray(pickle.dumps({"a": [1, b"x", (2.5, None)], "b": True}, protocol))
    for at, byte in changes:
        held[at % len(held)] = byte
    with contextlib.suppress(PickleRefusedError):
        assert isinstance(read_pickle(bytes(held)), dict)


@pytest.mark.parametrize("protocol", range(6))
def test_plain_data_of_every_protocol_are_read(protocol):
    array = np.arange(6, dtype=np.uint8).reshape(2, 3)
    plain = {"a": [1, b"x\xff", (2.5, None, -(10**20))], "b": True, "c": {"d": "añ"}, "e": []}
    assert read_pickle(pickle.dumps(plain, protocol)) == plain
    if protocol < 5:  # the fifth names other functions for arrays
        found = read_pickle(pickle.dumps({"array": array}, protocol))
        np.testing.assert_array_equal(found["array"], array)


def test_packed_files_that_unpack_to_much_are_told(tmp_path):
    with gzip.open(tmp_path / "train.bin.gz", "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(bytes(10**6))
    with pytest.raises(InputError) as caught:
        cifar_images(100, tmp_path)
    assert str(caught.value) == (
        "train.bin.gz is a whole gzip file of at most 268,435,456 bytes unpacked; got "
        f"{tmp_path / 'train.bin.gz'}: more than 268,435,456 bytes unpacked; fetch it anew: "
        "unpacked it has 153,700,000 bytes"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_classes": 20}, "n_classes is 10 or 100; got 20; choose one of them"),
        ({"split": "val"}, 'split is "train" or "test"; got \'val\'; choose one of them'),
        (
            {"coarse": True},
            "only CIFAR-100 has superclasses; got coarse=True for CIFAR-10; pass n_classes=100",
        ),
    ],
)
def test_errors_say_rule_got_remedy(options, sentence):
    with pytest.raises(InputError) as caught:
        cifar_images(**options)
    assert str(caught.value) == sentence
