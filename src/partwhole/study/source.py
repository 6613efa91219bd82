"""The source that a study's cells stand on, as one short hash.

It holds the study's module and all modules of its own and of partwhole that it imports, directly or
through others, without docstrings and comments. Of the study itself its sentences, its presets and
what lays out, weighs and draws are left out, with what is imported for these alone. Installed
packages are not in it: their versions are kept beside a result.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from partwhole._checks import InputError
from partwhole.study import HOMES

DIGITS = 16
NO_SOURCE = "none"
# Of a study: what its cells don't stand on, unless something that they do names it.
LEFT_OUT = frozenset(("DECLARATION", "PRESETS", "gather", "numbers", "figure"))
PACKAGE = "partwhole"
FRAME = "partwhole.study."  # runs cells and lends its types; none stands on it,
ESTIMATES = "partwhole.study.estimates"  # but for these
_RESTART = "import it again, in another process say, or give the path of its file"


@dataclass(frozen=True)
class Source:
    """What a study's cells stand on.

    Parameters
    ----------
    digest : str
        16 hexadecimal digits; "none" for a study without a file, of which nothing is kept.
    files : tuple of (str, str, int)
        Each module, its file, and when that was last changed, in nanoseconds.
    """

    digest: str
    files: tuple[tuple[str, str, int], ...] = ()

    def require_unchanged(self) -> None:
        """Refuse modules that are imported from other files, or that were edited since.

        Raises
        ------
        InputError
        """
        for module, file, time in self.files:
            loaded = getattr(sys.modules.get(module), "__file__", None)
            if loaded is not None and Path(loaded) != Path(file):
                raise InputError(
                    f"a study's modules have names of their own; got {module} from {loaded}, and "
                    f"{file} beside the study; rename one of them"
                )
            try:
                changed = Path(file).stat().st_mtime_ns != time
            except OSError:
                changed = True
            if changed:
                raise InputError(
                    "a study runs as it was imported; "
                    f"got {file}, which was edited since; {_RESTART}"
                )


def source_of(study: ModuleType) -> Source:
    """Return what a study's cells stand on, as it was when the study was first asked for it.

    Parameters
    ----------
    study : module

    Returns
    -------
    Source

    Raises
    ------
    InputError
        If a module was edited since, or is another than the one beside the study.
    """
    if not getattr(study, "__file__", None):
        return Source(NO_SOURCE)
    # A module that is loaded again has another function.
    function, source = vars(study).get("__source_of_cells__", (None, None))
    if function is not study.cell:
        source = _read(study)
        study.__source_of_cells__ = (study.cell, source)  # type: ignore[attr-defined]
    source.require_unchanged()
    return source


def fingerprint(study: ModuleType) -> str:
    """Return the hash of what a study's cells stand on; see `source_of`."""
    return source_of(study).digest


def _read(study: ModuleType) -> Source:
    path = Path(str(study.__file__))
    start = study.__spec__.name if study.__spec__ else study.__name__
    top = start.partition(".")[0]
    package = start if path.name == "__init__.py" else start.rpartition(".")[0]
    tree = _parsed(path, path.stat().st_mtime_ns)
    kept = _stood_on(tree)
    parts, files = [("", "\n".join(map(ast.unparse, kept)))], {}
    files[study.__name__] = (study.__name__, str(path), path.stat().st_mtime_ns)
    waiting = [name for node in kept for name in _imported(node, package)]
    waiting.append(start.rpartition(".")[0] or start)
    seen = {start, study.__name__}
    while waiting:
        module = waiting.pop()
        if module in seen or (f"{module}.".startswith(FRAME) and module != ESTIMATES):
            continue
        seen.add(module)
        waiting.append(module.rpartition(".")[0] or module)  # packages around it run first
        file = _file(module, top)
        if file is None:
            continue
        time = file.stat().st_mtime_ns
        text, names = _whole(file, time, module)
        parts.append((module, text))
        files[module] = (module, str(file), time)
        waiting += names
    digest = hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:DIGITS]
    return Source(digest, tuple(files.values()))


def _stood_on(tree: ast.Module) -> list[ast.stmt]:
    """Return a study's statements without what its cells don't need."""
    aside = [node for node in tree.body if (names := {*_bound(node)}) and names <= LEFT_OUT]
    rest = [node for node in tree.body if node not in aside]
    imports = [node for node in rest if isinstance(node, ast.Import | ast.ImportFrom)]
    named = _mentioned(node for node in rest if node not in imports)
    # What the rest names after all, such as a preset.
    back = [node for node in aside if named & {*_bound(node)}]
    named |= _mentioned(back)
    for_others = _mentioned(node for node in aside if node not in back)
    unneeded = [
        node
        for node in imports
        if (names := {*_bound(node)}) and not names & named and names <= for_others
    ]
    kept = [node for node in tree.body if node not in unneeded and (node in rest or node in back)]
    return [_of_the_frame(node, named) for node in kept]


def _of_the_frame(node: ast.stmt, named: set[str]) -> ast.stmt:
    """Return an import from the frame without the names that only what is left out needs."""
    if not isinstance(node, ast.ImportFrom) or node.module != FRAME[:-1]:
        return node
    names = [alias for alias in node.names if (alias.asname or alias.name) in named]
    return ast.ImportFrom(node.module, names, node.level) if names else ast.Pass()


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines, assigns or imports."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((each.asname or each.name).partition(".")[0] for each in node.names)
    else:
        loops = [part for part in ast.walk(node) if isinstance(part, ast.comprehension)]
        inner = {name for loop in loops for name in _mentioned([loop.target])}
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name, ctx=ast.Store()) if name not in inner:
                    yield name


def _mentioned(nodes: Any) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that a piece of source imports, and names that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
            # Its rooms are imported as they are asked for.
            if any(each.name == PACKAGE for each in node.names):
                yield from _rooms()
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module
            if module == FRAME[:-1]:
                yield from (f"{FRAME}{HOMES.get(alias.name, alias.name)}" for alias in node.names)
            yield from (f"{module}.{each.name}" for each in node.names if each.name != "*")


@cache
def _rooms() -> tuple[str, ...]:
    import partwhole

    return tuple(f"{PACKAGE}.{name}" for name in (*partwhole.__all__, *partwhole._HOMES.values()))


@cache
def _whole(path: Path, time: int, module: str) -> tuple[str, tuple[str, ...]]:
    """Return a module's text, and what it imports."""
    tree = _parsed(path, time)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return ast.unparse(tree), tuple(dict.fromkeys(_imported(tree, package)))


@cache
def _parsed(path: Path, time: int) -> ast.Module:
    """Parse a file without docstrings, and without what is imported for type checkers alone."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        at = f"{path}, line {line}" if line else str(path)
        raise InputError(f"a study's modules are Python; got {at}: {error}; mend it") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            node.body = [ast.Pass()]
    return tree


def _file(module: str, package: str) -> Path | None:
    """Return the file of a module of partwhole, of the study's package, or of no package's."""
    top = module.partition(".")[0]
    if top not in (PACKAGE, package) and _is_installed(top):
        return None
    return _file_of_partwhole(module) if top == PACKAGE else _found(module)


@cache
def _file_of_partwhole(module: str) -> Path | None:
    return _found(module)


def _found(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        try:
            spec = find_spec(module)
        except (ImportError, AttributeError, ValueError):
            return None
        file = spec.origin if spec else None
    return Path(file) if file and file.endswith(".py") and Path(file).is_file() else None


@cache
def _is_installed(top: str) -> bool:
    """Return whether a package comes with Python or was installed."""
    if top in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        try:
            spec = find_spec(top)
        except (ImportError, ValueError):
            return True
        if spec is None:
            return False
        file = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
    return any(Path(file).is_relative_to(folder) for folder in _INSTALLED)


_INSTALLED = {
    Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")
}
