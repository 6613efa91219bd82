"""CelebA from the files that are distributed: pictures, attributes and the published split."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._tables import text_of
from partwhole._types import Count, Positive
from partwhole.tasks.images.folder import from_folder
from partwhole.tasks.images.labelled_images import LabelledImages

ATTRIBUTES, PARTITION = "list_attr_celeba.txt", "list_eval_partition.txt"
PICTURES = "img_align_celeba"
PARTS = ("train", "validation", "test")
REMEDY = "use the files as they are distributed"


class CelebA(NamedTuple):
    """Pictures of the three published parts, each with the labels of the chosen attributes."""

    train: LabelledImages
    validation: LabelledImages
    test: LabelledImages


@door
def read_celeba(
    folder: Path | str,
    *,
    attributes: Sequence[str],
    size: int | tuple[int, int] | None = 64,
    channels: int | None = 3,
    per_part: Count | None = None,
    memory: Positive = 8.0,
    progress: bool = True,
) -> CelebA:
    """Read CelebA's pictures with some of their attributes, in the published parts.

    Parameters
    ----------
    folder : Path or str
        With list_attr_celeba.txt, list_eval_partition.txt and the folder img_align_celeba.
    attributes : sequence of str, keyword-only
        Two or three of the 40 names, as ``["Male", "Wearing_Hat"]``: they become concepts, with
        the words ``not-Male`` for -1 and ``Male`` for 1.
    size, channels, memory, progress : keyword-only, defaults 64, 3, 8.0 and True
        As in `from_folder`. Of 218 x 178 pixels the middle 178 x 178 become a square. All pictures
        take 9.3 GiB at size 64.
    per_part : int, keyword-only, default None
        The first so many pictures of each part; None for all.

    Returns
    -------
    CelebA
        ``train``, ``validation`` and ``test``, each as `from_folder` returns it, with one space:
        ``images`` and ``tokens()`` train a diffusion model, ``images`` and ``components`` a
        classifier of concepts, and `hold_out` leaves out combinations.

    Raises
    ------
    InputError
        For files that are missing or have other entries, attributes that are not in the list or
        have one value, parts other than 0, 1 and 2 or without a picture, and what `from_folder`
        refuses: pictures that are missing or damaged, and too little memory.
    MissingExtraError
        If Pillow is not installed.

    Notes
    -----
    Liu, Luo, Wang and Tang (ICCV 2015). Park et al. (NeurIPS 2024) ask a model of gender and hats
    for women with hats, which it did not see: ``train.hold_out("not-Male Wearing_Hat")``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from partwhole.tasks.shapes.pictures import save_picture
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "img_align_celeba").mkdir()
    >>> values = [(-1, -1), (-1, 1), (1, -1), (1, 1)] * 3
    >>> names = [f"{i + 1:06}.png" for i in range(12)]
    >>> for name in names:
    ...     place = save_picture(folder / "img_align_celeba" / name, np.ones((22, 18)), scale=1)
    >>> rows = [f"{name} {hat} {male}" for name, (male, hat) in zip(names, values)]
    >>> lines = "\\n".join(["12", "Wearing_Hat Male", *rows])
    >>> n = (folder / "list_attr_celeba.txt").write_text(lines)
    >>> parts = "\\n".join(f"{name} {i // 4}" for i, name in enumerate(names))
    >>> n = (folder / "list_eval_partition.txt").write_text(parts)
    >>> parts = read_celeba(folder, attributes=["Male", "Wearing_Hat"], size=8)
    >>> print(parts.train.describe())
    4 pictures of 8 x 8 x 3: Male (2) x Wearing_Hat (2), 0.0 MiB
    4 of 4 combinations have pictures, 1 to 1 of each
    >>> seen, unseen = parts.train.hold_out("not-Male Wearing_Hat")
    >>> len(seen), unseen.table["file"].tolist()
    (3, ['000002.png'])
    """
    import pandas as pd

    root = Path(folder)
    for name in (ATTRIBUTES, PARTITION, PICTURES):
        require(
            (root / name).exists(),
            f"CelebA's folder has {ATTRIBUTES}, {PARTITION} and {PICTURES}",
            f"no {name} in {str(root)!r}",
            "check the path, or put it there",
        )
    require(
        len(attributes) > 0 and len(set(attributes)) == len(attributes),
        "attributes name columns, each once",
        list(attributes),
        'pass ["Male", "Wearing_Hat"], say',
    )
    values = _attributes(root / ATTRIBUTES, attributes)
    parts = _parts(root / PARTITION, values)
    chosen = []
    for part, role in enumerate(PARTS):
        rows = [file for file in values if parts[file] == part][:per_part]
        require(
            len(rows) > 0,
            "each part has a picture, 0 for training, 1 for validation and 2 for test",
            f"none of {part}, {role}, in {PARTITION}",
            REMEDY,
        )
        chosen += rows
    table: dict[str, object] = {"file": chosen}
    for column, name in enumerate(attributes):
        numbers = [values[file][column] for file in chosen]
        odd = next((i for i, number in enumerate(numbers) if number not in ("-1", "1")), None)
        require(
            odd is None,
            "values of attributes are -1 and 1",
            f"{numbers[odd or 0]!r} of {name} for {chosen[odd or 0]!r}",
            REMEDY,
        )
        require(
            len(set(numbers)) == 2,
            "an attribute has both values among the pictures",
            f"{numbers[0]} alone of {name}, in {len(numbers):,}",
            "read more pictures, or leave it out",
        )
        words = [f"not {name}", name]
        table[name] = pd.Categorical([words[number == "1"] for number in numbers], words)
    table["split"] = [PARTS[parts[file]] for file in chosen]
    pictures = from_folder(
        root / PICTURES, pd.DataFrame(table), concepts=list(attributes), size=size,
        channels=channels, unlisted="leave out", memory=memory, progress=progress,
    )  # fmt: skip
    ends = [0, *(sum(parts[file] <= part for file in chosen) for part in range(3))]
    # Slices share the memory of all pictures.
    return CelebA(*(pictures.take(slice(a, b)) for a, b in pairwise(ends)))


def _lines(path: Path) -> list[str]:
    """Return the lines that hold something."""
    text = text_of(path).decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip()]


def _attributes(path: Path, wanted: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of the attributes that are wanted, of each picture."""
    lines = _lines(path)
    rule = f"{path.name} begins with a line that counts the pictures and one of attributes' names"
    is_whole = len(lines) > 2 and lines[0].strip().isdecimal()
    require(is_whole, rule, lines[0][:40].strip() if lines else "an empty file", REMEDY)
    n, names, body = int(lines[0]), lines[1].split(), lines[2:]
    require(len(body) == n, rule, f"{n:,} in the first line and {len(body):,} rows", REMEDY)
    for name in wanted:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.0)
            raise InputError(
                f"attributes are in the second line of {path.name}; got {name!r}; did you mean "
                f"{near[0]!r}?"
            )
    columns, values = [names.index(name) for name in wanted], {}
    for line in body:
        file, *numbers = line.split()
        require(
            len(numbers) == len(names),
            f"each row of {path.name} has a file and a value of each attribute",
            f"{len(numbers)} values of {len(names)} for {file!r}",
            REMEDY,
        )
        values[file] = [numbers[column] for column in columns]
    return values


def _parts(path: Path, values: dict[str, list[str]]) -> dict[str, int]:
    """Return the number of each picture's part."""
    rows = [line.split() for line in _lines(path)]
    odd = next((row for row in rows if len(row) != 2 or row[1] not in ("0", "1", "2")), None)
    require(
        odd is None,
        f"each row of {path.name} has a file and its part, 0, 1 or 2",
        repr(" ".join(odd or [])),
        REMEDY,
    )
    parts = {file: int(part) for file, part in rows}
    lost = [file for file in values if file not in parts]
    require(
        not lost,
        f"each picture of {ATTRIBUTES} has a part in {path.name}",
        f"{len(lost):,} without one, {lost[0] if lost else ''!r} the first",
        REMEDY,
    )
    return parts
