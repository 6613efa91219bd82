"""Pictures of a folder are those that were saved there, and what does not fit is refused."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import partwhole as pw
from partwhole._checks import InputError
from partwhole.measures.concepts import decode_shapes
from partwhole.networks.diffusion import diffusion_model
from partwhole.tasks import circles
from partwhole.tasks.images import folder as module
from partwhole.tasks.images import from_folder
from partwhole.tasks.shapes.pictures import save_picture
from partwhole.tasks.shapes.splits import leave_out

RNG = np.random.default_rng(0)
HALF_A_LEVEL = 0.5 / 255  # the largest error of levels that are rounded to 8 bits
SINGLE = 1e-6  # rounding of numbers from 0 to 1 in single precision
CONCEPTS = ["shape", "colour"]
# Four combinations of two concepts, once each.
ATTRIBUTES = {"shape": ["disc", "disc", "star", "star"], "colour": ["red", "blue", "red", "blue"]}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def saved(images, names=None, columns=ATTRIBUTES) -> pd.DataFrame:
    """Save pictures in the folder `images`; return their table."""
    names = [f"{i}.png" for i in range(len(images))] if names is None else names
    for name, image in zip(names, images, strict=True):
        path = Path("images") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(image, Image.Image):
            image.save(path)
        elif isinstance(image, bytes):
            path.write_bytes(image)
        else:
            save_picture(path, image, scale=1)
    return pd.DataFrame({"file": names, **columns})


def four(**options) -> pd.DataFrame:
    """Save four pictures of random levels."""
    return saved(RNG.integers(0, 256, (4, 6, 6, 3)) / 255, **options)


def png16(levels: np.ndarray) -> bytes:
    """Return a PNG of 16 bits, in the words of its specification."""
    height, width, channels = levels.shape
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in levels)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    )


def refusal(table, **options) -> str:
    with pytest.raises(InputError) as caught:
        from_folder("images", table, **{"concepts": CONCEPTS, **options})
    return str(caught.value)


# --- a space whose truth is known


@pytest.fixture
def shown():
    return circles(0.8).sample(6, side=16, seed=0)


@pytest.fixture
def read(shown):
    """Return the same pictures from files, with the words of the space in its order."""
    space = shown.space
    words = {
        name: pd.Categorical([labels[i] for i in column], categories=labels)
        for name, labels, column in zip(space.names, space.words, shown.components.T, strict=True)
    }
    return from_folder("images", saved(shown.images, columns=words), concepts=list(space.names))


def test_pictures_of_a_known_space_come_back_to_half_a_level(shown, read):
    assert read.images.dtype == np.float32
    np.testing.assert_allclose(read.images, shown.images, atol=HALF_A_LEVEL + SINGLE)
    np.testing.assert_array_equal(read.images, np.rint(255 * shown.images) / np.float32(255))


def test_the_space_of_a_folder_is_that_of_its_pictures(shown, read):
    space = shown.space
    assert (read.space.names, read.space.words) == (space.names, space.words)
    np.testing.assert_array_equal(read.classes, shown.classes)
    np.testing.assert_array_equal(read.components, shown.components)
    np.testing.assert_array_equal(read.tokens(), shown.tokens())
    asked = leave_out(space, "blue small")
    np.testing.assert_array_equal(leave_out(read.space, "small blue"), asked)


def test_readings_of_a_folder_are_those_of_the_space_to_its_rounding(shown, read):
    ends = shown.space.ends()
    # Rounding is noise of 1 / (255 sqrt(12)) = .0011, of which a decoder reads means over pixels.
    np.testing.assert_allclose(
        decode_shapes(read.images).coordinates(ends),
        decode_shapes(shown.images).coordinates(ends),
        atol=0.01,
    )


def test_training_on_a_folder_is_that_on_the_space(shown, read):
    is_train = leave_out(shown.space, "blue small")
    seen, _ = read.hold_out("blue small")
    rows = is_train[shown.classes]
    levels = np.rint(255 * shown.images) / np.float32(255)
    vocabulary = len(shown.space.vocabulary) + 1
    start = diffusion_model("vector", vocabulary=vocabulary, size=768, seed=0)
    training = pw.Training.published("diffusion", steps=20, batch=6, clip=1.0, record=[10, 20])

    def trained(images, tokens, prompt):
        prompts = {"unseen": pw.training.Prompt(conditions=np.repeat(prompt, 4, axis=0))}
        sampling = pw.training.Sampling(
            prompts, lambda flat: flat[:, :2], steps=3, denoise=True
        )  # fmt: skip
        data = images.reshape(len(images), -1), tokens
        runs = pw.train(start, data, training, read=sampling, progress=False)
        return runs.training_loss, runs.diffusion.coordinates["unseen"]

    prompt = read.space.tokens("small blue")
    from_files = trained(seen.images, seen.tokens(), prompt)
    of_space = trained(levels[rows], shown.tokens()[rows], shown.space.tokens("blue small"))
    unrounded = trained(shown.images[rows], shown.tokens()[rows], prompt)
    for file, same, near in zip(from_files, of_space, unrounded, strict=True):
        np.testing.assert_array_equal(file, same)
        # Twenty steps on pictures that differ by at most half a level.
        np.testing.assert_allclose(file, near, rtol=HALF_A_LEVEL, atol=HALF_A_LEVEL)
    assert not np.array_equal(from_files[1], unrounded[1])


# --- formats


GREY, COLOUR = RNG.integers(0, 256, (5, 6), np.uint8), RNG.integers(0, 256, (5, 6, 3), np.uint8)
ALPHA = RNG.integers(0, 256, (5, 6), np.uint8)
RGBA = np.dstack([COLOUR, ALPHA])
PALETTE = RNG.integers(0, 256, (4, 3), np.uint8)
INDEX = RNG.integers(0, 4, (5, 6), np.uint8)
DEEP = RNG.integers(0, 65536, (5, 6, 3), np.uint16)


def of_palette(**options) -> Image.Image:
    image = Image.fromarray(INDEX)
    image.putpalette(PALETTE.ravel().tolist())
    image.info.update(options)
    return image


FORMATS = {
    "grey": (Image.fromarray(GREY), GREY[..., None] / 255),
    "black and white": (Image.fromarray(GREY > 127), (GREY > 127)[..., None]),
    "colour": (Image.fromarray(COLOUR), COLOUR / 255),
    "transparent": (Image.fromarray(RGBA), RGBA / 255),
    "grey, transparent": (
        Image.fromarray(np.dstack([GREY, ALPHA])),
        np.dstack([GREY, GREY, GREY, ALPHA]) / 255,
    ),
    "palette": (of_palette(), PALETTE[INDEX] / 255),
    "palette, one colour transparent": (
        of_palette(transparency=2),
        np.dstack([PALETTE[INDEX], 255 * (INDEX != 2)]) / 255,
    ),
    "16 bits": (Image.fromarray(DEEP[..., 0]), DEEP[..., :1] / 65535),
    "16 bits, by hand": (png16(DEEP[..., :1]), DEEP[..., :1] / 65535),
}


@pytest.mark.parametrize(("image", "expected"), FORMATS.values(), ids=FORMATS)
def test_levels_are_those_of_the_file(image, expected):
    table = saved([image] * 4)
    images = from_folder("images", table, concepts=CONCEPTS).images
    assert images.shape == (4, *expected.shape)
    np.testing.assert_allclose(images[3], expected, atol=SINGLE)


@pytest.mark.parametrize("channels", [3, 4])
def test_colours_of_16_bits_are_right_to_a_level_of_8(channels):
    levels = RNG.integers(0, 65536, (5, 6, channels), np.uint16)
    images = from_folder("images", saved([png16(levels)] * 4), concepts=CONCEPTS).images
    np.testing.assert_allclose(images[0], levels / 65535, atol=1 / 255 + SINGLE)


def test_a_jpeg_is_read_and_turned_as_its_camera_was_held():
    ramp = np.repeat(np.arange(0, 256, 16, dtype=np.uint8)[:, None], 8, axis=1)
    image, turned = Image.fromarray(ramp), Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees to the right
    names = [f"{i}.jpg" for i in range(4)]
    Path("images").mkdir()
    for name in names:
        image.save(Path("images") / name, quality=100, exif=turned)
    table = pd.DataFrame({"file": names, **ATTRIBUTES})
    images = from_folder("images", table, concepts=CONCEPTS).images
    assert images.shape == (4, 8, 16, 1)
    # Losses of a smooth ramp at the highest quality are a level or two.
    np.testing.assert_allclose(images[0, ..., 0], ramp[::-1].T / 255, atol=3 / 255)


def test_channels_are_made_equal_when_they_are_asked_for():
    table = saved(
        [Image.fromarray(levels) for levels in (GREY, COLOUR, RGBA, np.dstack([GREY, ALPHA]))]
    )
    colours = from_folder("images", table, concepts=CONCEPTS, channels=3).images
    opacity = ALPHA[..., None] / 255
    over_white = opacity * COLOUR / 255 + 1 - opacity
    grey_over_white = (opacity * GREY[..., None] / 255 + 1 - opacity).repeat(3, axis=2)
    expected = [GREY[..., None].repeat(3, axis=2) / 255, COLOUR / 255, over_white, grey_over_white]
    np.testing.assert_allclose(colours, expected, atol=SINGLE)
    greys = from_folder("images", table, concepts=CONCEPTS, channels=1).images
    np.testing.assert_allclose(greys[..., 0], colours @ [0.299, 0.587, 0.114], atol=SINGLE)
    four_channels = from_folder("images", table, concepts=CONCEPTS, channels=4).images
    np.testing.assert_allclose(four_channels[:2, ..., :3], colours[:2], atol=SINGLE)
    np.testing.assert_allclose(four_channels[:2, ..., 3], 1.0)
    np.testing.assert_allclose(four_channels[2], RGBA / 255, atol=SINGLE)


def test_a_smaller_size_has_the_means_of_blocks_and_the_middle_of_a_long_picture():
    square, wide = RNG.integers(0, 256, (2, 12, 20, 3), np.uint8)
    square = square[:, :12]
    table = saved([Image.fromarray(levels) for levels in (square, wide, wide, square)])
    images = from_folder("images", table, concepts=CONCEPTS, size=4).images
    assert images.shape == (4, 4, 4, 3)

    def blocks(levels):
        return levels.reshape(4, 3, 4, 3, 3).mean(axis=(1, 3)) / 255

    np.testing.assert_allclose(images[0], blocks(square), atol=SINGLE)
    np.testing.assert_allclose(images[1], blocks(wide[:, 4:16]), atol=SINGLE)
    tall = from_folder(
        "images", table[1:3], concepts=["colour"], size=(6, 10), unlisted="leave out"
    )
    expected = wide.reshape(6, 2, 10, 2, 3).mean(axis=(1, 3)) / 255
    np.testing.assert_allclose(tall.images[0], expected, atol=SINGLE)


def test_a_larger_size_repeats_pixels():
    table = four()
    plain = from_folder("images", table, concepts=CONCEPTS).images
    large = from_folder("images", table, concepts=CONCEPTS, size=12).images
    np.testing.assert_allclose(large, plain.repeat(2, axis=1).repeat(2, axis=2), atol=SINGLE)


# --- tables


def written(table: pd.DataFrame, ending: str) -> str:
    name = f"attributes{ending}"
    if ending == ".parquet":
        table.to_parquet(name)
    elif ending == ".jsonl":
        table.to_json(name, orient="records", lines=True)
    else:
        table.to_csv(name, index=False, sep="\t" if ending.startswith(".tsv") else ";")
    return name


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".jsonl", ".parquet"])
def test_a_table_may_be_any_file(ending):
    table = four(names=["b/2.png", "a/1.png", "1.png", "x.PNG"])
    plain = from_folder("images", table, concepts=CONCEPTS)
    read = from_folder(Path("images"), written(table, ending), concepts=CONCEPTS)
    np.testing.assert_array_equal(read.images, plain.images)
    np.testing.assert_array_equal(read.components, plain.components)
    assert read.table["file"].tolist() == ["b/2.png", "a/1.png", "1.png", "x.PNG"]


def test_rows_are_in_the_order_of_the_table_and_labels_as_they_are():
    table = four()
    table["number"], table["is round"] = [10, 9, 10, 9], [True, True, False, False]
    backwards = table[::-1]
    read = from_folder("images", backwards, concepts=["number", "is round"])
    plain = from_folder("images", table, concepts=CONCEPTS)
    np.testing.assert_array_equal(read.images, plain.images[::-1])
    assert dict(read.space.labels) == {"number": (9, 10), "is round": (False, True)}
    assert read.components.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert read.table.index.tolist() == [0, 1, 2, 3]
    assert backwards.index.tolist() == [3, 2, 1, 0]


def test_files_that_are_hidden_or_no_pictures_count_as_none():
    table = four()
    for name in ("._0.png", "notes.txt", "table.csv"):
        (Path("images") / name).write_text("no picture")
    assert len(from_folder("images", table, concepts=CONCEPTS)) == 4


def test_pictures_without_a_row_may_be_left_out():
    table = four()[:3]
    assert len(from_folder("images", table, concepts=CONCEPTS, unlisted="leave out")) == 3


# --- what is refused


def bad(change) -> dict:
    """Return what `change` makes of four pictures: a table, and options that go with it."""
    changed = change(four())
    return {"table": changed} if isinstance(changed, pd.DataFrame) else changed


def cut_short(table):
    path = Path("images/2.png")
    path.write_bytes(path.read_bytes()[:60])
    return table


def replaced(image, name="2.png", **options):
    def change(table):
        path = Path("images") / name
        path.write_bytes(image) if isinstance(image, bytes) else image.save(path, **options)
        return table

    return change


def animated(table):
    frames = [Image.fromarray(COLOUR), Image.fromarray(255 - COLOUR)]
    frames[0].save("images/2.png", save_all=True, append_images=frames[1:])
    return table


def many(**columns):
    def change(table):
        repeated = pd.concat([table] * 6, ignore_index=True)
        repeated["file"] = [f"{i}.png" for i in range(24)]
        saved(np.zeros((24, 6, 6, 3)), columns={})
        return {"table": repeated.assign(**columns), "concepts": ["shape", *columns]}

    return change


BAD = {
    "row without file": (
        lambda t: t.assign(file=[*t["file"][:3], "9.png"]),
        "each row's picture is in the folder; got no file '9.png' there; check the names, or leave "
        "those rows out",
    ),
    "rows without file": (
        lambda t: t.assign(file=["7.png", "8.png", "9.png", "3.png"]),
        "each row's picture is in the folder; got no file '7.png' and 2 more there; check the "
        "names, or leave those rows out",
    ),
    "name without ending": (
        lambda t: t.assign(file=list("0123")),
        "each row's picture is in the folder; got no file '0' and 3 more there; did you mean "
        "'0.png'?",
    ),
    "other capitals": (
        lambda t: t.assign(file=[*t["file"][:3], "3.PNG"]),
        "each row's picture is in the folder; got no file '3.PNG' there; did you mean '3.png'?",
    ),
    "another folder": (
        lambda t: t.assign(file="pictures/" + t["file"]),
        "each row's picture is in the folder; got no file 'pictures/0.png' and 3 more there; check "
        "the names, or leave those rows out",
    ),
    "another ending": (
        lambda t: Image.fromarray(GREY).save("images/3.gif") or t.assign(
            file=[*t["file"][:3], "3.gif"]
        ),
        "pictures end in .png, .jpg, .jpeg; got '3.gif'; save it in one of these forms, or leave "
        "its row out",
    ),
    "row without name": (
        lambda t: t.assign(file=["0.png", None, "", "3.png"]),
        "each row of the table names its picture; got 2 without a name, the first in row 1 "
        "(counted from 0); fill in the names, or drop those rows",
    ),
    "file without row": (
        lambda t: t[:3],
        "each picture of the folder has a row in the table; got 1 without one, '3.png' the first; "
        "add rows, or pass unlisted='leave out'",
    ),
    "file with two rows": (
        lambda t: t.assign(file=["0.png", "1.png", "2.png", "1.png"]),
        "each picture has one row; got two or more of '1.png'; drop the others",
    ),
    "no rows": (lambda t: t[:0], "a table has rows; got none; check the file"),
    "no such column": (
        lambda t: {"table": t, "concepts": ["shape", "color"]},
        "the column of files and those of concepts are columns of the table; got 'color', which no "
        "columns have; columns are file, shape, colour; rename the column or the argument",
    ),
    "a column twice": (
        lambda t: {"table": t, "concepts": ["shape", "shape"]},
        "each column has one role; got file, shape, shape; name each once",
    ),
    "no concepts": (
        lambda t: {"table": t, "concepts": []},
        "concepts name a column; got none; name one or more",
    ),
    "no table": (
        lambda t: {"table": [1, 2]},
        "attributes are a table, or the name of its file; got list; pass a pandas.DataFrame, or "
        "attributes.csv, say",
    ),
    "no file of a table": (
        lambda t: {"table": "nowhere.csv"},
        "the file of attributes exists; got no file 'nowhere.csv'; check the path",
    ),
    "truncated": (
        cut_short,
        "a picture is a whole file of PNG or JPEG; got a damaged one, or one of another kind, "
        "'2.png'; save it again, or leave its row out",
    ),
    "no picture": (
        replaced(b"not a picture"),
        "a picture is a whole file of PNG or JPEG; got a damaged one, or one of another kind, "
        "'2.png'; save it again, or leave its row out",
    ),
    "a gif by another name": (
        replaced(Image.fromarray(GREY), format="GIF"),
        "a picture is a whole file of PNG or JPEG; got a damaged one, or one of another kind, "
        "'2.png'; save it again, or leave its row out",
    ),
    "empty file": (
        replaced(b""),
        "a picture is a whole file of PNG or JPEG; got a damaged one, or one of another kind, "
        "'2.png'; save it again, or leave its row out",
    ),
    "animated": (
        animated,
        "a picture has one frame; got 2 in '2.png'; save the frame that is meant by itself",
    ),
    "two sizes": (
        replaced(Image.fromarray(COLOUR)),
        "pictures have one size; got 6 x 6 in '0.png' and 5 x 6 in '2.png', 1 of 4 unlike the "
        "first; pass the size that they are to have, size=32, say",
    ),
    "grey among colours": (
        replaced(Image.fromarray(np.zeros((6, 6), np.uint8))),
        "pictures have as many channels, or are brought to one number of them; got 3 in '0.png' "
        "and 1 in '2.png'; pass channels=3 for colours, or channels=1 for grey levels",
    ),
    "constant": (
        lambda t: t.assign(colour="red"),
        "a concept has two labels or more; got 1 of 'colour', 'red'; leave out a concept that "
        "never changes",
    ),
    "missing": (
        lambda t: t.assign(colour=["red", None, "red", None]),
        "each row has a label of each concept; got 2 missing in 'colour', the first in row 1 "
        "(counted from 0); fill them in, or drop those rows",
    ),
    "NaN": (
        lambda t: t.assign(colour=[1.0, np.nan, 1.0, 2.0]),
        "each row has a label of each concept; got 1 missing in 'colour', the first in row 1 "
        "(counted from 0); fill them in, or drop those rows",
    ),
    "continuous": (
        many(size=np.linspace(0, 1, 24)),
        "a concept has labels that recur; got 24 different numbers in 24 rows of 'size'; put "
        "numbers into bins with pandas.cut",
    ),
    "unlike names": (
        many(title=[f"picture {i}" for i in range(24)]),
        "a concept has labels that recur; got 24 different labels in 24 rows of 'title'; name "
        "another column",
    ),
    "capitals": (
        lambda t: t.assign(colour=["red", "Red", "blue", "red"]),
        "labels of a concept differ in more than capitals and blanks; got 'Red' and 'red' in "
        "'colour'; write one label in one way",
    ),
    "two channels": (
        lambda t: {"table": t, "channels": 2},
        "channels are 1 for grey levels, 3 for colours, or 4 for colours with opacity; got 2; pass "
        "one of these, or leave it out",
    ),
    "a side of 0": (
        lambda t: {"table": t, "size": 0},
        "height is a whole number of at least 1; got 0; pass size=32, say",
    ),
    "a vast side": (
        lambda t: {"table": t, "size": (4, 10_000)},
        "a picture that is asked for has at most 8192 pixels to a side; got 10000; pass a smaller "
        "size",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused_in_a_sentence(change, sentence):
    assert refusal(**bad(change)) == sentence


def test_a_folder_must_be_there_and_have_pictures():
    table = pd.DataFrame({"file": ["a.png"], "shape": ["disc"], "colour": ["red"]})
    assert refusal(table) == "pictures are in a folder that exists; got 'images'; check the path"
    Path("images").mkdir()
    assert refusal(table) == (
        "a folder has pictures that end in .png, .jpg, .jpeg; got none in 'images'; check the path"
    )


def test_too_many_pixels_are_refused_by_the_header_alone(monkeypatch):
    table = four()
    monkeypatch.setattr("partwhole.tasks.images._decoding.MOST_PIXELS", 35)
    assert refusal(table) == ("a picture has at most 35 pixels; got 36 in '0.png'; make it smaller")
    vast = bytearray(png16(np.zeros((1, 1, 1), np.uint16)))
    vast[16:24] = struct.pack(">II", 2**30, 2**30)
    vast[29:33] = struct.pack(">I", zlib.crc32(bytes(vast[12:29])))
    Path("images/0.png").write_bytes(vast)
    assert refusal(table).startswith("a picture has at most 35 pixels; got far more in '0.png'")


def test_memory_is_refused_before_a_picture_is_decoded(monkeypatch):
    table = four()

    def decode(*_):
        raise AssertionError("decoded")

    monkeypatch.setattr(module, "read_levels", decode)
    # 4 pictures of 6 x 6 x 3 numbers of 4 bytes are 1728 bytes.
    assert refusal(table, memory=1727 / 2**30) == (
        "pictures may take 1.60839e-06 GiB; got 1.61e-06 GiB for 4 of 6 x 6 x 3; pass size, "
        "channels=1 or fewer rows, or raise memory"
    )
    with pytest.raises(AssertionError, match="decoded"):
        from_folder("images", table, concepts=CONCEPTS, memory=1728 / 2**30)
