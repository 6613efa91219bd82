"""Readers of files: what is there or one error, within the memory that is said."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._reading import UnreadableError, read_npy, read_npz, read_whole

ARRAYS = {
    "scalar": np.array(3.5),
    "flags": np.array([True, False]),
    "words": np.array(["añadir", ""]),
    "bytes": np.array([b"x", b"yz"]),
    "complex": np.array([1 + 2j]),
    "empty": np.zeros((0, 3), dtype=np.int32),
    "none_of_many": np.zeros((2, 0, 10**6)),
    "big_endian": np.arange(3, dtype=">i2"),
    "by_columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "half": np.float16([1, np.nan]),
}


def saved(array: np.ndarray, **rest) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **rest)
    return file.getvalue()


def described(dtype: str, shape: str, body: bytes = b"") -> bytes:
    """Return an .npy file whose header says what it is told to."""
    header = f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def archive(members: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as written:
        for name, held in members.items():
            written.writestr(name, held)
    return file.getvalue()


def npy(held: bytes, **rest) -> np.ndarray:
    return read_npy(io.BytesIO(held), **rest)


def label(value: object) -> str:
    return value[:24] if isinstance(value, str) else ""


def npz(held: bytes, **rest) -> dict[str, np.ndarray]:
    return read_npz(io.BytesIO(held), **rest)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_arrays_are_read_as_they_were_written(name, version):
    file = io.BytesIO()
    np.lib.format.write_array(file, ARRAYS[name], version=version)
    found = npy(file.getvalue())
    np.testing.assert_array_equal(found, ARRAYS[name], strict=True)
    assert found.dtype == ARRAYS[name].dtype
    assert found.flags.f_contiguous == ARRAYS[name].flags.f_contiguous


@pytest.mark.parametrize(("save", "most"), [(np.savez, None), (np.savez_compressed, 10**6)])
def test_archives_are_read_as_they_were_written(tmp_path, save, most):
    path = tmp_path / "some.npz"
    save(path, **ARRAYS)
    found = read_npz(path, limit=most)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array, strict=True)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (b"", "no array"),
        (b"\x93NUMPY\x07\x00" + bytes(99), "no array"),
        (b"\x93NUMPY\x02\x00" + b"\xff" * 99, "an array with a header of 4,294,967,295 bytes"),
        (saved(np.arange(9))[:-1], "an array whose number of entries is not that of its shape"),
        (saved(np.arange(9)) + b"x", "an array whose number of entries is not that of its shape"),
        (described("'<f8'", "(1000000000000,)"), "an array whose number of entries is not that of"),
        (described("'<f8'", "(1" + "0" * 400 + ",)"), "an array that is not of numbers, booleans"),
        (described("'<f8'", "(" * 1000), "an array that is not of numbers, booleans"),
        (described("'<f8'", "(0, 9999999999999999999)"), "a damaged file or one of another kind"),
        (described("'<i3'", "(1,)", b"abc"), "a damaged file or one of another kind"),
        (described("'|S0'", "(10000000000,)"), "an array that is not of numbers, booleans"),
        (described("'<M8[s]'", "(1,)", bytes(8)), "an array that is not of numbers, booleans"),
        (
            described("[('a', '<f8')]", "(1,)", bytes(8)),
            "an array that is not of numbers, booleans",
        ),
        (described("__import__('os')", "(1,)", bytes(8)), "an array that is not of numbers"),
        (saved(np.array([{}]), allow_pickle=True), "an array that is not of numbers, booleans"),
        (described("'|b1'", "(2,)", b"\x00\x02"), "booleans that are neither true nor false"),
        (described("'<U1'", "(1,)", b"\xff" * 4), "text with code points beyond Unicode"),
    ],
    ids=label,
)
def test_what_is_no_array_is_reported(held, why):
    with pytest.raises(UnreadableError) as caught:
        npy(held)
    assert str(caught.value).startswith(why)
    with pytest.raises(UnreadableError) as caught:
        npz(archive({"y.npy": held}))
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (b"", "a damaged file or one of another kind"),
        (b"PK\x05\x06" + b"\xff" * 18, "a damaged file or one of another kind"),
        (archive({"y.txt": b"some words"}), "an archive with a member 'y.txt'"),
        (archive({"y.npy": saved(np.arange(9))}, zipfile.ZIP_LZMA), "an archive packed by method"),
    ],
    ids=label,
)
def test_what_is_no_archive_is_told(held, why):
    with pytest.raises(UnreadableError) as caught:
        npz(held, limit=10**6)
    assert str(caught.value).startswith(why)


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_name_that_two_arrays_have_is_told():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        for number in range(2):
            written.writestr("y.npy", saved(np.array(number)))
    with pytest.raises(UnreadableError, match=r"a member 'y\.npy'"):
        npz(file.getvalue())


@pytest.fixture
def little():
    """Fail a test that takes over 24 MB."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24e6, f"{peak / 1e6:.0f} MB"


@pytest.fixture(scope="module")
def bombs():
    zeros = bytes(4 * 10**7)
    big = saved(np.zeros(5 * 10**6))
    packed = archive({"y.npy": big}, zipfile.ZIP_DEFLATED)
    # What a damaged or hostile archive says of its sizes in the directory: 30 bytes for 4 * 10**7.
    head = described("'<f8'", "(5000000,)")
    lying = bytearray(archive({"y.npy": head}))
    at = lying.index(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<I", 4 * 10**7 + len(head))
    many = archive({f"a{number}.npy": b"" for number in range(60_000)})
    return {
        "npz": packed,
        "lying": bytes(lying),
        "many": many,
        "twice": archive({"y.npy": packed}, zipfile.ZIP_DEFLATED),
        "gz": gzip.compress(zeros),
        "gz in parts": gzip.compress(b"") * 10_000 + gzip.compress(zeros[: 10**7]),
    }


@pytest.mark.parametrize(
    ("name", "most"),
    [("npz", None), ("npz", 10**7), ("lying", None), ("lying", 10**9), ("many", None),
     ("many", 10**9), ("twice", 10**7)],
)  # fmt: skip
def test_archives_that_unpack_to_much_take_no_memory(bombs, name, most, request):
    held = bombs[name]
    request.getfixturevalue("little")
    with pytest.raises(UnreadableError):
        npz(held, limit=most)


def test_an_archive_of_many_members_is_told(bombs):
    with pytest.raises(UnreadableError, match="an archive of too many members"):
        npz(bombs["many"])


def test_a_compressed_archive_is_read_up_to_a_bound(bombs):
    assert npz(bombs["npz"], limit=4 * 10**7 + 200)["y"].nbytes == 4 * 10**7
    with pytest.raises(UnreadableError, match="40,000,128 bytes unpacked, of at most 10,000,000"):
        npz(bombs["npz"], limit=10**7)


@pytest.mark.parametrize("name", ["gz", "gz in parts"])
def test_packed_files_that_unpack_to_much_take_no_memory(tmp_path, bombs, name, request):
    path = tmp_path / "digits.gz"
    path.write_bytes(bombs[name])
    request.getfixturevalue("little")
    with pytest.raises(UnreadableError) as caught:
        read_whole(path, limit=4 * 10**6)
    assert str(caught.value) == "more than 4,000,000 bytes unpacked"


def test_large_files_that_are_not_packed_take_no_memory(tmp_path, little):
    path = tmp_path / "digits"
    with path.open("wb") as file:
        file.truncate(10**12)
    for read in (read_whole, read_npy, read_npz):
        with pytest.raises(UnreadableError):
            read(path, limit=10**7)


def test_whole_files_are_read_whole(tmp_path):
    plain, packed = tmp_path / "words", tmp_path / "words.gz"
    plain.write_bytes(b"some words")
    packed.write_bytes(gzip.compress(b"some ") + gzip.compress(b"words"))
    assert read_whole(plain, limit=10) == read_whole(packed, limit=10) == b"some words"
    packed.write_bytes(gzip.compress(b"some words")[:-3])
    with pytest.raises(UnreadableError, match="a damaged file or one of another kind"):
        read_whole(packed, limit=10)


def test_what_is_no_plain_file_is_told(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, why in [("nothing", "no file"), ("pipe", "no plain file"), (".", "a folder")]:
        with pytest.raises(UnreadableError) as caught:
            read_npz(tmp_path / name)
        assert str(caught.value) == why


PLAIN, PACKED = io.BytesIO(), io.BytesIO()
np.savez(PLAIN, allow_pickle=False, **ARRAYS)
np.savez_compressed(PACKED, allow_pickle=False, **ARRAYS)


@given(
    held=st.sampled_from([PLAIN.getvalue(), PACKED.getvalue(), saved(np.arange(30.0))]),
    end=st.integers(0, 4000),
    changes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=4),
)
def test_damage_is_one_error_or_none(held, end, changes):
    damaged = bytearray(held[: len(held) - end] or held)
    for at, byte in changes:
        damaged[at % len(damaged)] = byte
    sentences = []
    for read in (npy, npz):
        try:
            read(bytes(damaged), limit=10**6)
        except UnreadableError as error:
            sentences.append(str(error))
    assert all(sentence and "\n" not in sentence for sentence in sentences)


def test_a_changed_entry_of_an_archive_is_told():
    held = bytearray(archive({"y.npy": saved(np.full(9, 0.1))}))
    held[held.index(np.float64(0.1).tobytes())] ^= 1
    with pytest.raises(UnreadableError, match="a damaged file or one of another kind"):
        npz(bytes(held))
