"""CLEVR-CoGenT: objects whose colours depend on their shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from partwhole._checks import require
from partwhole._progress import bar
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import json_items, named

COMPONENTS = ("shape", "color", "material", "size")
TRAIN = "CLEVR_trainA_scenes.json"
TESTS = {"valA": "CLEVR_valA_scenes.json", "valB": "CLEVR_valB_scenes.json"}


def _rows(path: Path, split: str) -> Iterator[tuple[str, ...]]:
    with bar(f"Reading {path.name}", 100_000, shown=True) as advance:
        for i, (_, scene) in enumerate(json_items(path, "scenes")):
            try:
                entries = [tuple(str(o[name]) for name in COMPONENTS) for o in scene["objects"]]
            except (KeyError, TypeError):
                entries = []
            require(
                entries,
                "a scene of CLEVR has objects with shape, color, material and size",
                f"none in scene {i} of {path.name}",
                "use the published file",
            )
            for entry in entries:
                yield (*entry, split)
            advance(1)


def _read(folder: Path) -> SplitTable:
    rows = [*_rows(folder / TRAIN, "train")]
    for split, name in TESTS.items():
        if (folder / name).is_file():
            rows += _rows(folder / name, split)
    return SplitTable(
        pd.DataFrame(rows, columns=[*COMPONENTS, SPLIT]),
        COMPONENTS,
        ("shape",),
        remarks=("a row is an object; asked is its shape",),
    )


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    there = set(files)
    for path in named(files, TRAIN):
        if any(path.with_name(name) in there for name in TESTS.values()):
            yield SplitFiles("cogent", path.parent, partial(_read, path.parent))


COGENT = Benchmark(
    "cogent",
    "CLEVR-CoGenT",
    "Johnson and others, CVPR 2017",
    "Cubes and cylinders in the colours that in training the other shape has.",
    f"scenes/{TRAIN}, and {' or '.join(TESTS.values())} beside it",
    "object",
    _find,
)
