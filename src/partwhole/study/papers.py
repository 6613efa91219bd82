"""Papers: their items with the status of each, and their terms."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

from partwhole._checks import InputError, require
from partwhole.study.claim import Claim, Verdict
from partwhole.study.declaration import items_of
from partwhole.study.execution import Result

GROUP = "partwhole.papers"


@dataclass(frozen=True)
class Paper:
    """A paper, with its items in the paper's order.

    Parameters
    ----------
    name : str
        As the declarations of studies name it: "authors (venue and year)".
    title : str
    items : dict of str to str
        Each figure, theorem, equation or section, with its content in a phrase.
    words : dict of str to str
        Terms on its pages, with their meanings.
    """

    name: str
    title: str = ""
    items: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Row:
    """The status of an item of a paper in one study.

    Parameters
    ----------
    item : str
        Figure, theorem, equation or section.
    shows : str
        Its content in a phrase.
    status : {"reproduced", "differs", "artefact", "not decided here", "not tested"}
    claim : Claim, default None
        The claim that decides the status, if any.
    result : Result, default None
        The study, if any.
    """

    item: str
    shows: str
    status: str
    claim: Claim | None = None
    result: Result | None = None


def registered_papers() -> list[Paper]:
    """Return the papers that installed packages describe.

    A package registers the folder of their TOML files, as an entry point of the group
    ``partwhole.papers``.
    """
    folders = [Path(entry.load()) for entry in entry_points(group=GROUP)]
    return [read_paper(path) for folder in folders for path in sorted(folder.glob("*.toml"))]


def read_paper(path: Path) -> Paper:
    """Read the description of a paper: name, title, [items] and [words].

    Raises
    ------
    InputError
        If the file is not TOML, or has no name.
    """
    rule = "a paper is described in a TOML file with name, title, [items] and [words]"
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{rule}; got {path}: {error}; correct it") from error
    require(isinstance(table.get("name"), str), rule, f"{path} without a name", "add it")
    items, words = (tuple(dict(table.get(name, {})).items()) for name in ("items", "words"))
    return Paper(table["name"], str(table.get("title", "")), items, words)


def papers_of(results: Sequence[Result], described: Sequence[Paper]) -> list[Paper]:
    """Return the papers of some studies, in the order of the studies.

    A paper without a description has its name, and the items that claims name.
    """
    names: dict[str, None] = {}
    for result in results:
        if result.declaration.items:
            names[result.declaration.paper] = None
        names |= {claim.paper: None for claim in result.claims if claim.item}
    by_name = {paper.name: paper for paper in described}
    return [by_name.get(name, Paper(name)) for name in names]


def rows(paper: Paper, results: Sequence[Result]) -> list[Row]:
    """Return the status of each item of a paper, in the paper's order."""
    claims: dict[str, list[tuple[Claim, Result]]] = {}
    covering: dict[str, list[Result]] = {}
    for result in results:
        for claim in result.claims:
            if claim.paper == paper.name and claim.item:
                for item in items_of(claim.item):
                    claims.setdefault(item, []).append((claim, result))
        if result.declaration.paper == paper.name:
            for item in (item for text in result.declaration.items for item in items_of(text)):
                covering.setdefault(item, []).append(result)
    contents = dict(paper.items)
    table = []
    for item in dict.fromkeys([*contents, *claims, *covering]):
        content = contents.get(item, "")
        decided = [
            Row(item, content, _status(claim), claim, result)
            for claim, result in claims.get(item, [])
        ]
        drawn = [
            Row(item, content, "not decided here", None, result)
            for result in covering.get(item, [])
        ]
        table += decided or drawn or [Row(item, content, "not tested")]
    return table


def _status(claim: Claim) -> str:
    if claim.verdict is Verdict.HOLDS:
        return "reproduced"
    if claim.verdict is Verdict.FAILS:
        return "artefact" if claim.artefact else "differs"
    return "not decided here"
