"""COGS: English sentences, and the relations of their logical forms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from partwhole._checks import require
from partwhole.atlas.benchmark import ITEM, SPLIT, Benchmark, SplitFiles, SplitTable
from partwhole.atlas.files import first_line, lines, named

ABSENT = "none"
COMPONENTS = ("predicate", "role", "argument", "place", "modifier", "depth")
RULE = "a line of COGS is a sentence, its logical form and its type, separated by tabs"
_RELATION = re.compile(
    r"(\w+) \. (agent|theme|recipient|ccomp|xcomp|nmod \. \w+) \( (x _ \d+|\w+) , (.+?) \)"
)
_NOUN = re.compile(r"(\w+) \( x _ (\d+) \)")
_VARIABLE = re.compile(r"x _ (\d+)")


class Relation(NamedTuple):
    """A relation of a logical form; of a modified noun, that of its preposition.

    `place` is that of the argument beside the predicate, "before" or "after" it, or "after
    another" argument; `modifier` the preposition that modifies the argument; `depth` the number
    of clauses or phrases around the relation.
    """

    predicate: str
    role: str
    argument: str
    place: str
    modifier: str
    depth: str


def relations(sentence: str, form: str) -> list[Relation]:
    """Return the relations of a sentence.

    Examples
    --------
    >>> form = "* cat ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Ada )"
    >>> for relation in relations("The cat saw Ada .", form):
    ...     print(*relation)
    see agent cat before none 0
    see theme Ada after none 0
    """
    words = sentence.split()
    at = {int(index): noun for noun, index in _NOUN.findall(form)}
    edges = [
        (predicate, role, int(_VARIABLE.fullmatch(head)[1]), argument)  # pyright: ignore[reportOptionalSubscript]
        for predicate, role, head, argument in _RELATION.findall(form)
        if _VARIABLE.fullmatch(head)
    ]
    # A predicate is named by its own relations, a noun also without any.
    at |= {head: predicate for predicate, _, head, _ in edges}
    above, modifier = {}, {}
    for _, role, head, argument in edges:
        variable = _VARIABLE.fullmatch(argument)
        if variable and role in ("ccomp", "xcomp"):
            above[int(variable[1])] = head
        elif variable and role.startswith("nmod"):
            above[int(variable[1])] = head
            modifier[head] = role.removeprefix("nmod . ")
    objects: dict[int, list[int]] = {}
    entries = []
    for predicate, role, head, argument in edges:
        variable = _VARIABLE.fullmatch(argument)
        if variable:
            place, name = int(variable[1]), at.get(int(variable[1]), "?")
        else:
            place, name = _nearest(words, argument, head), argument
        if place > head and not role.startswith("nmod"):
            objects.setdefault(head, []).append(place)
        entries.append((predicate, role, head, name, place))
    return [
        Relation(
            *_named(predicate, role),
            name,
            _place(head, place, objects.get(head, [])),
            modifier.get(place, ABSENT),
            str(_depth(head, above)),
        )
        for predicate, role, head, name, place in entries
    ]


def _named(predicate: str, role: str) -> tuple[str, str]:
    """Return predicate and role; of a modifier the preposition, whose noun is an argument."""
    return (role.removeprefix("nmod . "), "nmod") if role.startswith("nmod") else (predicate, role)


def _nearest(words: Sequence[str], name: str, head: int) -> int:
    """Return the place of a name, which logical forms leave out; the nearest if it recurs."""
    places = [i for i, word in enumerate(words) if word == name]
    return min(places, key=lambda i: abs(i - head), default=-1)


def _place(head: int, place: int, objects: Sequence[int]) -> str:
    if place < 0:
        return ABSENT
    if place < head:
        return "before"
    return "after another" if any(other < place for other in objects) else "after"


def _depth(head: int, above: dict[int, int]) -> int:
    depth = 0
    while head in above and depth <= len(above):
        head, depth = above[head], depth + 1
    return depth


def _lone(sentence: str, form: str) -> list[Relation]:
    """Return a word that training shows alone, with the roles of its definition."""
    roles = [
        Relation(*_named(predicate, role), ABSENT, ABSENT, ABSENT, "0")
        for predicate, role, _, _ in _RELATION.findall(form)
    ]
    return roles or [Relation(ABSENT, ABSENT, sentence.strip(), ABSENT, ABSENT, "0")]


def _rows(path: Path, name: str) -> Iterator[tuple[object, ...]]:
    for i, line in lines(path):
        entries = line.split("\t")
        sentence, form, kind = entries if len(entries) == 3 else ("", "", "")
        listed = _lone(sentence, form) if kind == "primitive" else relations(sentence, form)
        require(
            listed,
            RULE,
            f"{line[:80]!r} in line {i} of {path.name}",
            "use the published file",
        )
        for relation in listed:
            yield (*relation, f"{name} {i}", kind if name == "gen" else name)


def _read(folder: Path) -> SplitTable:
    rows: list[tuple[object, ...]] = []
    for name in ("train", "dev", "test", "gen"):
        path = folder / f"{name}.tsv"
        if path.is_file():
            of_file = list(_rows(path, name))
            require(of_file, RULE, f"none in {path.name}", "use the published file")
            rows += of_file
    return SplitTable(
        pd.DataFrame(rows, columns=[*COMPONENTS, ITEM, SPLIT]),
        COMPONENTS,
        remarks=(
            "a row is a relation of a logical form; a sentence is determined if all of its "
            "relations are",
        ),
    )


def _find(files: Sequence[Path]) -> Iterator[SplitFiles]:
    there = set(files)
    for path in named(files, "gen.tsv"):
        train = path.with_name("train.tsv")
        # Where one of the two has its form, the other is refused when it is read.
        is_cogs = any(first_line(file).count("\t") == 2 for file in (train, path))
        if train in there and (is_cogs or "cogs" in path.parent.name.casefold()):
            yield SplitFiles("cogs", path.parent, partial(_read, path.parent))


COGS = Benchmark(
    "cogs",
    "COGS",
    "Kim and Linzen, EMNLP 2020",
    "Nouns and verbs in roles, and phrases at places and depths, that training does not show.",
    "train.tsv and gen.tsv in one folder, dev.tsv and test.tsv if they are there: sentence, "
    "logical form, type",
    "sentence",
    _find,
)
