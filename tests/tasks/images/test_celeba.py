"""CelebA's files as they are distributed, written here in small."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.tasks.images.celeba import read_celeba
from partwhole.tasks.shapes.pictures import save_picture

NAMES = ("Bald", "Male", "Wearing_Hat")
ASKED = ["Male", "Wearing_Hat"]
PARTS = [0] * 8 + [1] * 4 + [2] * 4


def write(folder, parts=PARTS, names=NAMES):
    """Write pictures whose level is their number, with all values of the last two attributes."""
    (folder / "img_align_celeba").mkdir()
    lines, partition = [str(len(parts)), " ".join(names)], []
    for i, part in enumerate(parts):
        name = f"{i + 1:06}.png"
        image = np.full((22, 18), (i + 1) / 255)
        image[:2], image[-2:] = 1.0, 1.0  # cut off, as the middle square is taken
        save_picture(folder / "img_align_celeba" / name, image, scale=1)
        male, hat = 2 * (i // 2 % 2) - 1, 2 * (i % 2) - 1
        lines.append(f"{name} -1  {male}  {hat}".replace("  -", " -"))
        partition.append(f"{name} {part}")
    (folder / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n")
    (folder / "list_eval_partition.txt").write_text("\n".join(partition) + "\n")
    return folder


def edit(name, old, new):
    def change(folder):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def test_parts_pictures_and_labels_are_those_of_the_files(tmp_path):
    # Parts that alternate in the file, to see that rows follow their pictures.
    order = [PARTS[i] for i in np.random.default_rng(0).permutation(16)]
    read = read_celeba(write(tmp_path, order), attributes=ASKED, size=9)
    for number, part in enumerate(read):
        rows = [i for i, of in enumerate(order) if of == number]
        assert part.table["file"].tolist() == [f"{i + 1:06}.png" for i in rows]
        assert set(part.table["split"]) == {("train", "validation", "test")[number]}
        assert part.shape == (9, 9, 3)
        levels = np.array(rows)[:, None, None, None] + 1.0
        np.testing.assert_allclose(part.images * 255, levels + np.zeros((9, 9, 3)), atol=1e-3)
        np.testing.assert_array_equal(part.components, [[i // 2 % 2, i % 2] for i in rows])
        assert part.space is read.train.space
    space = read.train.space
    assert space.words == (("not-Male", "Male"), ("not-Wearing_Hat", "Wearing_Hat"))
    assert read.train.tokens().shape == (8, 2)
    assert np.shares_memory(read.train.images, read.train.images.base)


def test_it_goes_where_other_pictures_go(tmp_path):
    read = read_celeba(write(tmp_path), attributes=ASKED, size=4, channels=1)
    seen, unseen = read.train.hold_out("not-Male Wearing_Hat")
    assert (len(seen), len(unseen)) == (6, 2)
    assert unseen.components.tolist() == [[0, 1], [0, 1]]
    samples = read.train.composites("Male", held_out="not-Male Wearing_Hat")
    assert samples.task.n_test == 1
    assert samples.shape == (4, 4, 1)


def test_the_first_of_each_part(tmp_path):
    read = read_celeba(write(tmp_path), attributes=["Wearing_Hat"], size=4, per_part=2)
    assert [part.table["file"].iloc[0] for part in read] == [
        "000001.png", "000009.png", "000013.png",
    ]  # fmt: skip
    assert [len(part) for part in read] == [2, 2, 2]


def remove(name):
    return lambda folder: (folder / name).unlink()


def damage(folder):
    for path in (folder / "img_align_celeba").iterdir():
        path.write_bytes(b"no picture")


LIST, PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"


@pytest.mark.parametrize(
    ("change", "attributes", "sentence"),
    [
        (remove(LIST), ASKED, f"CelebA's folder has {LIST}, .* got no {LIST} in '.*'; check the"),
        (remove(PARTITION), ASKED, f"got no {PARTITION} in '.*'; check the path, or put it there"),
        (None, ["Male", "Waring_Hat"], "got 'Waring_Hat'; did you mean 'Wearing_Hat'?"),
        (None, [], "attributes name columns, each once; got"),
        (None, ["Male", "Male"], r"each once; got \['Male', 'Male'\]; pass"),
        (None, ["Bald"], "both values among the pictures; got -1 alone of Bald, in 16; read more"),
        (remove("img_align_celeba/000003.png"), ASKED, "got no file '000003.png' there; check the"),
        (edit(PARTITION, "000003.png 0", "000003.png 3"), ASKED, "0, 1 or 2; got '000003.png 3'"),
        (edit(PARTITION, "000003.png 0\n", ""), ASKED, "1 without one, '000003.png' the first"),
        (
            lambda folder: (folder / PARTITION).write_text(
                (folder / PARTITION).read_text().replace(" 2\n", " 1\n")
            ),
            ASKED,
            "each part has a picture, .* got none of 2, test, in list_eval_partition.txt; use",
        ),
        (edit(LIST, "16\n", "17\n"), ASKED, "got 17 in the first line and 16 rows; use the files"),
        (edit(LIST, "16\n", ""), ASKED, "counts the pictures .*; got Bald Male Wearing_Hat; use"),
        (edit(LIST, "-1 -1 -1", "-1 -1 0"), ASKED, "-1 and 1; got '0' of Wearing_Hat for '000001"),
        (edit(LIST, "-1 -1 -1", "-1 -1"), ASKED, "got 2 values of 3 for '000001.png'; use the"),
        (damage, ASKED, "000001.png"),
    ],
)
def test_refusals_say_rule_got_and_remedy(tmp_path, change, attributes, sentence):
    folder = write(tmp_path)
    if change is not None:
        change(folder)
    with pytest.raises(InputError, match=sentence):
        read_celeba(folder, attributes=attributes, size=4)


def test_no_pictures_and_no_folder(tmp_path):
    folder = write(tmp_path)
    with pytest.raises(InputError, match=r"got no list_attr_celeba.txt in '.*nowhere'; check"):
        read_celeba(folder / "nowhere", attributes=ASKED)
    for path in (folder / "img_align_celeba").iterdir():
        path.unlink()
    with pytest.raises(InputError, match=r"a folder has pictures that end in .*; got none in"):
        read_celeba(folder, attributes=ASKED)
