"""The sentences and claims of a study, declared in a TOML file beside its module.

An editor can revise `name.toml` without Python: the question, the paper, the answer, the caption
and the claims. The module's `numbers` returns numbers by name, and a claim, a check or a sentence
refers to a number by its name. In the answer and the caption a number is written in braces with
its format, ``{slope:.2f}``, so that every number in a sentence is computed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any, NamedTuple, cast, get_args, get_origin, get_type_hints

import numpy as np

from partwhole._checks import InputError, require
from partwhole.study.claim import Claim, Estimate, Relation

Number = float | int | str | Estimate | np.ndarray
OURS = "derived here"


@dataclass(frozen=True)
class DeclaredClaim:
    """A claim without its number.

    Parameters
    ----------
    number : str
        Name of the number that is compared, as `numbers` returns it.
    says : str
        The claim in a sentence.
    reference : float or str
        The claimed number; text names a number that `numbers` returns, such as a prediction.
    item : str, default ""
        Figure, equation, theorem or section of the paper; a claim without an item is not published.
    paper : str, default ""
        The paper, if it is not that of the study.
    relation, tolerance, unit, note, applies, artefact
        As of `Claim`.
    headline : str, default ""
        The finding in one sentence, with numbers in braces, if a report is to begin with it.
    why : str, default ""
        The reason for the tolerance; required with a tolerance.
    presets : list of str, default all
        The presets in which the claim is made; in the others `numbers` need not return its number.
    """

    number: str
    says: str
    reference: float | int | str
    item: str = ""
    paper: str = ""
    relation: str = "equal"
    tolerance: float | int = 0
    why: str = ""
    unit: str = ""
    note: str = ""
    applies: bool = True
    artefact: bool = False
    headline: str = ""
    presets: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeclaredCheck:
    """A numerical check: differences between two routes to the same numbers, and their bound.

    Parameters
    ----------
    number : str
        Name of the differences, a number or an array of them.
    says : str
        The two quantities that are compared, as a phrase.
    at_most : float
        The largest absolute difference that passes.
    """

    number: str
    says: str
    at_most: float | int


@dataclass(frozen=True)
class Check:
    """The outcome of a numerical check.

    Parameters
    ----------
    says : str
        The two quantities that are compared.
    largest : float
        Largest absolute difference; NaN if one of them is.
    count : int
        Number of differences.
    at_most : float
        The largest that passes.
    """

    says: str
    largest: float
    count: int
    at_most: float

    @property
    def passed(self) -> bool:
        return self.largest <= self.at_most


class Findings(NamedTuple):
    """The findings of a study: its sentences with their numbers, its claims and its checks."""

    answer: str
    caption: str
    claims: tuple[Claim, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True)
class Declaration:
    """The content of a study's TOML file.

    Parameters
    ----------
    question : str
        The question, for someone who has not read the paper.
    paper : str
        The paper, as "authors (venue and year)", or "derived here".
    answer : str
        One or two sentences, with numbers in braces.
    items : list of str, default none
        Figures, theorems and equations of the paper that the study covers beside those of its
        claims.
    caption : str, default ""
        A description of the figure, for readers who can't see it, with numbers in braces.
    claims, checks : lists of tables, default none
        See `DeclaredClaim` and `DeclaredCheck`.
    """

    question: str
    paper: str
    answer: str
    items: tuple[str, ...] = ()
    caption: str = ""
    claims: tuple[DeclaredClaim, ...] = ()
    checks: tuple[DeclaredCheck, ...] = ()
    file: Path | None = None

    @property
    def source(self) -> str:
        """The paper with the items that the study covers."""
        claimed = [claim.item for claim in self.claims if claim.item and not claim.paper]
        texts: list[str] = []
        seen: set[str] = set()
        # "Figures 11 and 12" includes "Figure 12".
        for text in sorted([*self.items, *claimed], key=lambda text: -len(items_of(text))):
            if not seen.issuperset(items_of(text)):
                texts.append(text)
                seen.update(items_of(text))
        return ", ".join([self.paper, *texts])

    def findings(self, numbers: Mapping[str, Number], preset: str | None = None) -> Findings:
        """Fill the claims of a preset, and the sentences, with the numbers of a run.

        Without a preset all claims are filled.

        Raises
        ------
        InputError
            If a declared number is missing, or a number is not declared.
        """
        claims = [
            claim
            for claim in self.claims
            if preset is None or preset in (claim.presets or [preset])
        ]
        self._require_same_names(numbers, claims)
        return Findings(
            _Sentence().format(self.answer, **numbers),
            _Sentence().format(self.caption, **numbers),
            tuple(self._claim(claim, numbers) for claim in claims),
            tuple(_checked(check, numbers[check.number]) for check in self.checks),
        )

    def _claim(self, claim: DeclaredClaim, numbers: Mapping[str, Number]) -> Claim:
        number, reference = numbers[claim.number], claim.reference
        if isinstance(reference, str):
            reference = _single(numbers[reference])
            reference = reference if math.isfinite(reference) else math.nan
        estimate = isinstance(number, Estimate)
        return Claim(
            claim.says,
            claim.paper or (self.paper if claim.item else OURS),
            reference,
            _single(number),
            claim.tolerance,
            number.interval if estimate else None,
            claim.applies,
            cast("Relation", claim.relation),
            claim.note,
            claim.item,
            claim.why,
            claim.unit,
            number.n if estimate else None,
            claim.artefact,
            _Sentence().format(claim.headline, **numbers),
        )

    def _require_same_names(
        self, numbers: Mapping[str, Number], claims: list[DeclaredClaim]
    ) -> None:
        places = {name: f"{table} {k}" for name, table, k in self._references(self.claims)}
        needed = {name for name, _, _ in self._references(claims)}
        for name, place in places.items():
            require(
                name in numbers or name not in needed,
                "a number that a study declares is one that its `numbers` returns",
                f"{name!r} in {self._place(place)}",
                _nearest(name, numbers, "return it"),
            )
        for name in numbers:
            require(
                name in places,
                "a number that a study returns is declared in a claim, a check or a sentence",
                f"{name!r} in {self._code(name)}",
                f"name it in {self.file.name if self.file else 'the declaration'}, or leave it out",
            )

    def _references(self, claims: Sequence[DeclaredClaim]) -> list[tuple[str, str, int]]:
        """Return the name of each declared number, with the table that refers to it."""
        references = [(check.number, "checks", k) for k, check in enumerate(self.checks)]
        for k, claim in enumerate(claims):
            references.append((claim.number, "claims", k))
            if isinstance(claim.reference, str):
                references.append((claim.reference, "claims", k))
            references += [(name, "claims", k) for name in _fields(claim.headline)]
        for field in ("answer", "caption"):
            references += [(name, field, 0) for name in _fields(getattr(self, field))]
        return references

    def _code(self, name: str) -> str:
        """Return the line of the study's module that names a number."""
        path = self.file.with_suffix(".py") if self.file else Path()
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        matches = [i for i, line in enumerate(lines, 1) if re.search(rf"[\"']{name}[\"']", line)]
        return f"{path}, line {matches[0]}" if matches else "`numbers`"

    def _place(self, place: str) -> str:
        table, _, k = place.partition(" ")
        text = self.file.read_text("utf-8") if self.file else ""
        return f"{self.file}, line {_line(text, table, int(k))}"


def declared(study: ModuleType) -> Declaration:
    """Return the declaration of a study: the TOML file beside its module, or its DECLARATION.

    Parameters
    ----------
    study : module
        A module without a file, from an interactive session, has a `Declaration` under the name
        DECLARATION.

    Returns
    -------
    Declaration

    Raises
    ------
    InputError
        If the file is absent, is not TOML, or breaks a rule; the sentence names file and line.
    """
    typed = getattr(study, "DECLARATION", None)
    if isinstance(typed, Declaration):
        return typed
    file = getattr(study, "__file__", None)
    rule = "a study without a file has its sentences in a Declaration"
    require(file, rule, f"none in {study.__name__}", "assign it to the name DECLARATION")
    return read(Path(str(file)).with_suffix(".toml"))


def read(path: Path) -> Declaration:
    """Read a declaration from its TOML file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Declaration

    Raises
    ------
    InputError
        If the file is absent, is not TOML, or breaks a rule; the sentence names file and line.
    """
    rule = "a study declares its sentences in a TOML file beside its module"
    require(path.is_file(), rule, f"no {path}", "write it")
    try:
        text = path.read_text("utf-8")
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{rule}; got {path}: {error}; correct it") from error
    file = _File(path, text)
    parts: dict[str, Any] = {}
    for name, kind in (("claims", DeclaredClaim), ("checks", DeclaredCheck)):
        rows = table.get(name, [])
        file.require(isinstance(rows, list), f"{name} are tables, [[{name}]]", rows, name)
        parts[name] = tuple(file.build(kind, row, name, k) for k, row in enumerate(rows))
    plain = {name: value for name, value in table.items() if name not in parts}
    declaration = replace(file.build(Declaration, plain), **parts, file=path)
    for k, claim in enumerate(declaration.claims):
        file.require_claim(claim, k)
    return declaration


def items_of(text: str) -> list[str]:
    """Return the items in the text of a claim, one by one.

    Examples
    --------
    >>> items_of("Figures 2a, 2b and 3"), items_of("Proposition 5.1")
    (['Figure 2a', 'Figure 2b', 'Figure 3'], ['Proposition 5.1'])
    """
    several = re.fullmatch(r"(Figure|Equation|Proposition|Theorem|Section)s (.+)", text)
    if several is None:
        return [text]
    return [f"{several[1]} {number}" for number in re.split(r", | and ", several[2])]


class _File(NamedTuple):
    """A file and its text, for errors that name the line."""

    path: Path
    text: str

    def require(
        self, condition: object, rule: str, actual: object, table: str, k: int = 0, field: str = ""
    ) -> None:
        if not condition:
            line = _line(self.text, table, k, field)
            raise InputError(f"{rule}; got {actual!r} in {self.path}, line {line}; edit that line")

    def build(self, kind: type, row: Any, table: str = "", k: int = 0) -> Any:
        name = table.removesuffix("s") or "study"
        self.require(isinstance(row, dict), f"a {name} is a table", row, table, k)
        kinds = _kinds(kind)
        for field in row:
            rule = f"a field of a {name} is one of {', '.join(kinds)}"
            self.require(field in kinds, rule, field, table, k, field)
            rule = f"{field} of a {name} is {_either(kinds[field])}"
            self.require(type(row[field]) in kinds[field], rule, row[field], table, k, field)
        for field in fields(kind):
            needed = field.default is MISSING and field.name not in row
            self.require(not needed, f"a {name} has the field {field.name}", "none", table, k)
        return kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in row.items()})

    def require_claim(self, claim: DeclaredClaim, k: int) -> None:
        relations = get_args(Relation)
        self.require(
            claim.relation in relations,
            f"the relation of a claim is {', '.join(map(repr, relations))}",
            claim.relation, "claims", k, "relation",
        )  # fmt: skip
        self.require(
            0 <= claim.tolerance < math.inf,
            "a tolerance is finite and at least 0",
            claim.tolerance, "claims", k, "tolerance",
        )  # fmt: skip
        self.require(
            claim.why or not claim.tolerance,
            "a claim with a tolerance gives the reason for it in `why`",
            claim.number, "claims", k, "tolerance",
        )  # fmt: skip


_WORDS = {str: "text", float: "a number", int: "a number", bool: "true or false", list: "a list"}


@cache
def _kinds(kind: type) -> dict[str, tuple[type, ...]]:
    """Return the types that TOML may give for each field of a declaration."""
    hints = get_type_hints(kind)
    return {
        name: tuple(
            list if get_origin(part) is tuple else part for part in get_args(hint) or [hint]
        )
        if get_origin(hint) is not tuple
        else (list,)
        for name, hint in hints.items()
        if name != "file"
    }


class _Sentence(Formatter):
    """A formatter of sentences: a typographic minus sign, and words for a NaN."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Estimate):
            value = value.value
        if isinstance(value, str):
            return value
        if isinstance(value, float) and math.isnan(value):
            return "an unknown number"
        return super().format_field(value, format_spec).replace("-", "−")


def _either(kinds: tuple[type, ...]) -> str:
    return " or ".join(dict.fromkeys(_WORDS[kind] for kind in kinds))


def _fields(sentence: str) -> list[str]:
    """Return the names in braces."""
    return [
        re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(sentence) if name
    ]  # fmt: skip


def _single(number: Number) -> float:
    return number.value if isinstance(number, Estimate) else float(cast("float", number))


def _checked(check: DeclaredCheck, number: Number) -> Check:
    differences = np.abs(np.asarray(number, dtype=float)).ravel()
    largest = float(differences.max()) if len(differences) else math.nan
    return Check(check.says, largest, len(differences), float(check.at_most))


def _nearest(name: str, names: Any, remedy: str) -> str:
    near = get_close_matches(name, list(names), 1)
    return f"{remedy}; the nearest is {near[0]!r}" if near else remedy


def _line(text: str, table: str, k: int = 0, field: str = "") -> int:
    """Return the line of a field in the k-th table of a name, or else the line of the table."""
    lines = text.splitlines()
    head = re.compile(rf"\s*\[\[{table}\]\]\s*(#.*)?")
    starts = [i for i, line in enumerate(lines) if head.fullmatch(line)]
    start = starts[k] if k < len(starts) else 0
    for i in range(start, len(lines)):
        if i > start and lines[i].startswith("["):
            break
        if re.match(rf"{field or table}\s*=", lines[i].strip()):
            return i + 1
    return start + 1
