"""CFQ: questions to a database, and splits that diverge in their compounds."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from partwhole._checks import require
from partwhole._progress import bar
from partwhole.atlas.benchmark import SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import json_items, named

# An audit spreads a column over at most so many values; the rarest words share one.
MOST_WORDS = 100
RARE = "(rare)"
PATTERN = "questionPatternModEntities"
_ENTITY = re.compile(r"M\d+")
_WORD = re.compile(r"[\w']+")


def words_of(question: str) -> tuple[str, ...]:
    """Return the different words of a question, all entities as one.

    Examples
    --------
    >>> words_of("Did M0 's editor produce M1 and M2")
    ('Did', 'ENTITY', "'s", 'editor', 'produce', 'and')
    """
    words = ("ENTITY" if _ENTITY.fullmatch(word) else word for word in _WORD.findall(question))
    return tuple(dict.fromkeys(words))


def _read(dataset: Path, split: Path) -> SplitTable:
    rule = "a split of CFQ has lists of row numbers, trainIdxs and testIdxs"
    try:
        lists = json.loads(split.read_text("utf-8"))
        parts = {
            name: np.asarray(lists.get(f"{name}Idxs", [])) for name in ("train", "dev", "test")
        }
    except (ValueError, AttributeError):
        parts = {}
    parts = {name: rows for name, rows in parts.items() if rows.size}
    are_numbers = all(rows.ndim == 1 and rows.dtype.kind == "i" for rows in parts.values())
    require(
        "train" in parts and len(parts) > 1 and are_numbers,
        rule,
        f"others in {split.name}",
        "use the published file",
    )
    questions: list[tuple[str, ...]] = []
    with bar("Reading CFQ", 240_000, shown=True) as advance:
        for _, entry in json_items(dataset):
            pattern = entry.get(PATTERN) if isinstance(entry, dict) else None
            require(
                isinstance(pattern, str),
                f"an entry of CFQ has a {PATTERN}",
                f"none in entry {len(questions)} of {dataset.name}",
                "use the published dataset.json",
            )
            questions.append(words_of(str(pattern)))
            advance(1)
    named_rows = np.concatenate([*parts.values()])
    odd = named_rows[(named_rows < 0) | (named_rows >= len(questions))]
    require(
        not odd.size,
        f"row numbers of {split.name} are those of {dataset.name}",
        f"{int(odd[0]) if odd.size else 0:,} of {len(questions):,} entries",
        "use files of one release",
    )
    counts = Counter(word for i in named_rows for word in questions[i])
    most = MOST_WORDS if len(counts) <= MOST_WORDS else MOST_WORDS - 1
    kept = {word for word, _ in counts.most_common(most)}
    frame = pd.DataFrame(
        {
            "words": [
                list(dict.fromkeys(word if word in kept else RARE for word in questions[i]))
                for rows in parts.values()
                for i in rows
            ],
            SPLIT: [name for name, rows in parts.items() for _ in rows],
        }
    )
    remarks = ["a component is a word of the question: whether it occurs"]
    if len(counts) > len(kept):
        remarks.append(f"{len(counts) - len(kept):,} rare words count as one")
    return SplitTable(frame, ("words",), multi_hot=("words",), remarks=tuple(remarks))


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    for dataset in named(files, "dataset.json"):
        for split in named(files, "splits/*.json"):
            if split.parent.parent == dataset.parent:
                yield SplitFiles(
                    f"cfq/{split.stem}", dataset.parent, partial(_read, dataset, split)
                )


CFQ = Benchmark(
    "cfq",
    "CFQ",
    "Keysers, Schärli, Scales and others, ICLR 2020",
    "Questions whose words are those of training, in compounds of other frequency.",
    "dataset.json, and splits/NAME.json beside it with trainIdxs, devIdxs and testIdxs",
    "question",
    _find,
)
