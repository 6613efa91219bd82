"""MIT-States, UT-Zappos and C-GQA: images of an object in a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from partwhole._checks import InputError, require
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import lines, named, read_pickle

PARTS = ("train", "val", "test")
COMPONENTS = ("attribute", "object")
FOLDER = "compositional-split-natural"
METADATA = f"metadata_{FOLDER}.t7"


def _of_images(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield attribute, object and split of each image."""
    entries = read_pickle(path)
    rule = f"{path.name} is a list of images with attr, obj and set"
    remedy = "use the published file"
    require(isinstance(entries, list), rule, f"a {type(entries).__name__}", remedy)
    for i, entry in enumerate(entries):
        try:
            split = entry["set"]
            row = str(entry["attr"]), str(entry["obj"]), str(split)
        except (TypeError, KeyError):
            raise InputError(f"{rule}; got another entry at {i}; {remedy}") from None
        # Images of pairs that no split has are "NA".
        if split in PARTS:
            yield row


def _of_pairs(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield attribute, object and split of each pair."""
    for split in PARTS:
        path = folder / f"{split}_pairs.txt"
        for i, line in lines(path) if path.is_file() else ():
            words = line.split()
            require(
                len(words) == 2,
                "a line of pairs is an attribute and an object",
                f"{line[:80]!r} in line {i} of {path.name}",
                "use the published file",
            )
            yield words[0], words[1], split


def _read(pairs: Path | None, images: Path | None) -> SplitTable:
    rows: list[Any] = list(_of_images(images) if images else _of_pairs(pairs or Path()))
    frame = pd.DataFrame(rows, columns=[*COMPONENTS, SPLIT])
    unit = "an image" if images else f"a pair, since there is no {METADATA}"
    return SplitTable(
        frame,
        COMPONENTS,
        ("attribute",),
        remarks=(f"a row is {unit}", "asked is the attribute"),
        unit="" if images else "pair",
    )


def _find(files: Sequence[Path], benchmark: str, folders: tuple[str, ...]) -> Iterator[SplitFiles]:
    """Yield the datasets in folders of these names, whatever their case and signs."""
    pairs = {path.parent.parent: path.parent for path in named(files, f"{FOLDER}/train_pairs.txt")}
    images = {path.parent: path for path in named(files, METADATA)}
    for folder in sorted({*pairs, *images}):
        plain = folder.name.casefold().replace("-", "").replace("_", "")
        if plain in folders:
            read = partial(_read, pairs.get(folder), images.get(folder))
            yield SplitFiles(benchmark, folder, read)


def _benchmark(name: str, title: str, source: str, folders: tuple[str, ...]) -> Benchmark:
    return Benchmark(
        name,
        title,
        source,
        "Pairs of an attribute and an object that training does not show.",
        f"{METADATA}, or {FOLDER}/train_pairs.txt with val_pairs.txt and test_pairs.txt, in a "
        f"folder {' or '.join(folders)}, in any case, with or without hyphens",
        "image",
        partial(_find, benchmark=name, folders=folders),
    )


MIT_STATES = _benchmark(
    "mit-states",
    "MIT-States",
    "Isola, Lim and Adelson, CVPR 2015; split of Purushwalkam and others, ICCV 2019",
    ("mitstates",),
)
UT_ZAPPOS = _benchmark(
    "ut-zappos",
    "UT-Zappos",
    "Yu and Grauman, CVPR 2014; split of Purushwalkam and others, ICCV 2019",
    ("utzap50k", "utzappos", "utzappos50k"),
)
C_GQA = _benchmark(
    "c-gqa",
    "C-GQA",
    "Naeem, Xian, Tombari and Akata, CVPR 2021",
    ("cgqa",),
)
