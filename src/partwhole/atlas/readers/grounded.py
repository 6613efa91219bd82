"""gSCAN: commands about objects in a grid world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from partwhole._checks import require
from partwhole._progress import bar
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable, varying
from partwhole.atlas.files import first_line, json_items, named

COMPONENTS = (
    "verb", "adverb", "size word", "colour word", "shape", "colour", "size", "direction",
)  # fmt: skip
SIZES = ("small", "big")
ABSENT = "none"


def components_of(entry: Any) -> tuple[str, ...]:
    """Return the components of an example; KeyError or TypeError if it lacks one."""
    target = entry["situation"]["target_object"]["object"]
    words = set(entry["command"].split(","))
    colour = target["color"]
    return (
        entry["verb_in_command"],
        entry["manner"] or ABSENT,
        next((word for word in SIZES if word in words), ABSENT),
        colour if colour in words else ABSENT,
        target["shape"],
        colour,
        str(target["size"]),
        entry["situation"]["direction_to_target"],
    )


def _read(path: Path) -> SplitTable:
    rows: list[tuple[str, ...]] = []
    with bar("Reading gSCAN", 400_000, shown=True) as advance:
        for split, entry in json_items(path, "examples"):
            try:
                rows.append((*components_of(entry), split))
            except (KeyError, TypeError, AttributeError):
                require(
                    False,
                    "an example of gSCAN has a command, a manner and a situation with its target",
                    f"others in example {len(rows)} of {path.name}",
                    "use the published dataset.txt",
                )
            advance(1)
    frame = pd.DataFrame(rows, columns=[*COMPONENTS, SPLIT])
    require(
        (frame[SPLIT] == "train").any() and frame[SPLIT].nunique() > 1,
        "gSCAN has examples for training and test",
        f"{', '.join(sorted(set(frame[SPLIT]))) or 'none'} in {path.name}",
        "use the published dataset.txt",
    )
    return SplitTable(
        frame,
        varying(frame, COMPONENTS),
        remarks=(
            "components are those of the command and of its target; other objects are left out",
        ),
    )


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    for path in named(files, "dataset.txt"):
        # On one line, or on many.
        if first_line(path).startswith("{"):
            yield SplitFiles(f"gscan/{path.parent.name}", path.parent, partial(_read, path))


GSCAN = Benchmark(
    "gscan",
    "gSCAN",
    "Ruis, Andreas, Baroni, Bouchacourt and Lake, NeurIPS 2020",
    "Objects, words for them, directions and adverbs in pairs that training does not show.",
    "dataset.txt in a folder named after the split: JSON with examples by split",
    "command",
    _find,
)
