"""Imports run downward only, and what the house forbids is nowhere in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import partwhole
import partwhole_studies

SRC = Path(partwhole.__file__).parent
STUDIES = Path(partwhole_studies.__file__).parent

FLOORS = {
    "_checks": 0,
    "_contract": 0,
    "_extras": 0,
    "_faults": 0,
    "_figures": 0,
    "_notebook": 0.3,  # stands on page
    "_lost": 0,
    "_types": 0,
    "_arrays": 0.3,
    "_arguments": 0.5,
    "_door": 0.7,
    "_progress": 0,
    "_delimited": 0,
    "_device": 3,  # the first that imports JAX
    "_reading": 0,
    "_tables": 0.5,
    "_threads": 0,
    "_workers": 0,
    "_writing": 0,
    "page": 0,
    "store": 0,
    "tasks": 1,
    "recordings": 1.5,  # stands on tasks
    "features": 1,
    "limits": 2,
    "measures": 2,
    "audit": 2.5,  # stands on floors 0 to 2
    "measurement": 2.7,  # stands on the audit's elements of pages
    "atlas": 2.7,  # stands on the audit
    "_theories": 2.4,
    "comparison": 2.5,
    "flows": 3.1,
    "networks": 3.1,
    "torch": 3.5,  # stands on networks
    "training": 4,
    "recommendation": 4.5,  # stands on floors 0 to 4
    "study": 5,
    "explorer": 5,  # stands on the audit and on flows
    "cli": 6,
    "__main__": 7,
}
JAX_LINE = 3
BELOW_THE_LINE = {"jax", "jaxlib", "equinox", "optax", "diffrax"}
# What every room may use, whatever its floor.
EVERYWHERE = {
    "_checks",
    "_contract",
    "_door",
    "_extras",
    "_lost",
    "_progress",
    "_reading",
    "_threads",
    "_types",
    "_workers",
    "_writing",
}


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of everything a file imports, at any depth; relative ones resolved."""
    base = SRC if path.is_relative_to(SRC) else STUDIES
    package = [*path.relative_to(base.parent).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def files() -> list[Path]:
    return [path for path in sorted(SRC.rglob("*.py")) if path != SRC / "__init__.py"]


def breaches(path: Path) -> list[str]:
    """Name every import of a file that the floors forbid."""
    home, found = room(path), []
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "partwhole_studies":
            found.append(f"{home} imports the studies, which stand on it")
        if top in BELOW_THE_LINE and FLOORS[home] < JAX_LINE:
            found.append(f"{home} is above the JAX line and imports {top}")
        if top != "partwhole" or not rest or rest[0] not in FLOORS:
            continue
        other = rest[0]
        if other == home or other in EVERYWHERE:
            continue
        if FLOORS[other] >= FLOORS[home]:
            found.append(f"{home} (floor {FLOORS[home]}) imports {other} (floor {FLOORS[other]})")
    return found


def test_every_room_has_a_floor():
    assert {room(path) for path in files()} <= set(FLOORS)


def test_imports_run_downward():
    found = {str(path.relative_to(SRC)): breaches(path) for path in files()}
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("limits/x.py", "from partwhole.measures import slope"),
        ("limits/x.py", "from partwhole import study"),
        ("tasks/x.py", "def f():\n    import partwhole.limits.fits"),
        ("tasks/x.py", "from ..features import OverlapKernel"),
        ("features/deep/x.py", "from ...limits import solve"),
        ("measures/x.py", "def f():\n    from jax import numpy"),
        ("audit/x.py", "import equinox as eqx"),
        ("study/x.py", "from partwhole_studies.overlap import exposure"),
    ],
)
def test_a_breach_is_seen(tmp_path, monkeypatch, where, line):
    monkeypatch.setitem(globals(), "SRC", tmp_path / "partwhole")
    path = tmp_path / "partwhole" / where
    path.parent.mkdir(parents=True)
    path.write_text(line)
    assert len(breaches(path)) == 1


def forbidden(path: Path) -> list[str]:
    """Name what a file uses that is private in JAX, or evaluates text."""
    private = [name for name in imports(path) if name.startswith(("jax._src", "jax.core"))]
    tree = ast.walk(ast.parse(path.read_text("utf-8")))
    called = [node.func for node in tree if isinstance(node, ast.Call)]
    return private + [
        each.id for each in called if isinstance(each, ast.Name) and each.id in ("eval", "exec")
    ]


def test_nothing_private_of_jax_and_nothing_evaluated():
    found = {str(path): forbidden(path) for path in [*SRC.rglob("*.py"), *STUDIES.rglob("*.py")]}
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize("line", ["from jax._src import core", "import jax.core", "eval('1')"])
def test_what_is_forbidden_is_seen(tmp_path, monkeypatch, line):
    monkeypatch.setitem(globals(), "SRC", tmp_path)
    (tmp_path / "x.py").write_text(line)
    assert len(forbidden(tmp_path / "x.py")) == 1
