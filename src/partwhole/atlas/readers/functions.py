"""PCFG SET: nested functions of strings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from partwhole._checks import require
from partwhole.atlas.benchmark import ITEM, SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import first_line, lines, named

UNARY = ("copy", "reverse", "shift", "echo", "swap", "swap_first_last", "repeat")
BINARY = ("append", "prepend", "remove_first", "remove_second")
COMPONENTS = ("outer", "argument", "inner", "depth")
STRING = "(string)"
_LETTER = re.compile(r"[A-Z]\d*")
# A synonym, in the tests of substitution, has the name of its function with this ending.
SYNONYM = "_twin"


def arity(word: str) -> int:
    """Return the number of arguments of a function, 0 for anything else."""
    name = word.split(SYNONYM)[0]
    return 1 if name in UNARY else 2 if name in BINARY else 0


def applications(source: str) -> list[tuple[str, str, str, int]] | None:
    """Return the nested pairs of functions; None if the source is not of the grammar.

    Each is the outer function, which of its arguments, the function that this is, or
    "(string)", and the number of functions around the outer one.

    Examples
    --------
    >>> for application in applications("append repeat A1 B2 , C3"):
    ...     print(*application)
    append first repeat 0
    repeat only (string) 1
    append second (string) 0
    """
    words = source.replace(",", " , ").split()
    entries: list[tuple[str, str, str, int]] = []

    def expression(i: int, depth: int) -> int:
        """Parse one expression; return where it ends, -1 if it does not."""
        if i >= len(words) or words[i] == ",":
            return -1
        n = arity(words[i])
        if n == 0:
            start = i
            while i < len(words) and _LETTER.fullmatch(words[i]):
                i += 1
            return i if i > start else -1
        outer, i = words[i], i + 1
        for place in ("only",) if n == 1 else ("first", "second"):
            if place == "second":
                if i >= len(words) or words[i] != ",":
                    return -1
                i += 1
            inner = words[i] if i < len(words) else ""
            entries.append((outer, place, inner if arity(inner) else STRING, depth))
            i = expression(i, depth + 1)
            if i < 0:
                return -1
        return i

    return entries if expression(0, 0) == len(words) and entries else None


def _rows(path: Path) -> Iterator[tuple[object, ...]]:
    for i, line in lines(path):
        entries = applications(line)
        require(
            entries is not None,
            "a line of PCFG SET is functions before their arguments, append echo A1 , B2",
            f"{line[:80]!r} in line {i} of {path.name}",
            "use the published .src file",
        )
        for outer, place, inner, depth in dict.fromkeys(entries or ()):
            yield outer, place, inner, str(depth), f"{path.stem} {i}", path.stem


def _read(train: Path, tests: Sequence[Path]) -> SplitTable:
    rows = [row for path in (train, *tests) for row in _rows(path)]
    return SplitTable(
        pd.DataFrame(rows, columns=[*COMPONENTS, ITEM, SPLIT]),
        COMPONENTS,
        remarks=(
            "a row is a function within another; a sequence is determined if all of its rows are",
        ),
    )


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    for train in named(files, "train.src"):
        tests = [
            path
            for path in named(files, "test.src", "test_twin.src")
            if path.parent == train.parent
        ]
        if tests and arity(first_line(train).split(" ")[0]):
            yield SplitFiles(
                f"pcfg/{train.parent.name}", train.parent, partial(_read, train, tests)
            )


PCFG = Benchmark(
    "pcfg",
    "PCFG SET",
    "Hupkes, Dankers, Mul and Bruni, Journal of Artificial Intelligence Research 2020",
    "Pairs of nested functions, or depths of nesting, that training does not show.",
    "train.src and test.src in a folder named after the split: functions before their arguments",
    "sequence",
    _find,
)
