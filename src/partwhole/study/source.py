"""The source that the cells of a study depend on, as a short hash.

It covers what `cell` refers to in the study's module, directly or indirectly, and the modules of
its package and of partwhole that this imports; of partwhole and its rooms, those from which the
names that are imported come, and not the lists of names themselves. Of an import from partwhole it
has the names and the modules that define them, so that a room may cease to list a name. It leaves
out what shows and doesn't compute: docstrings, comments, progress bars and the methods `plot`,
`describe` and reprs. Installed packages are not covered.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from partwhole._checks import InputError
from partwhole.study import HOMES

DIGITS = 16
NO_SOURCE = "none"
# Methods that show a result to a reader; no cell depends on them.
SHOWING = frozenset(("__repr__", "_repr_html_", "describe", "plot"))
PACKAGE = "partwhole"
FRAME = "partwhole.study."  # runs cells; no cell depends on it,
ESTIMATES = "partwhole.study.estimates"  # except on these functions
# Draws bars, and says which packages are missing: no cell depends on them.
IDLE = frozenset(("partwhole._progress", "partwhole._extras"))
BLOCKS = frozenset(("body", "orelse", "finalbody", "handlers", "cases"))  # of statements
BY_NAME = "from "  # marks a package of which names are imported
_RESTART = "import it again in a new process, or give the path of its file"


@dataclass(frozen=True)
class Source:
    """The source that the cells of a study depend on.

    Parameters
    ----------
    digest : str
        16 hexadecimal digits; "none" for a study without a file, whose cells are not stored.
    files : tuple of (str, str, int)
        Each module, its file, and the time of the file's last change, in nanoseconds.
    """

    digest: str
    files: tuple[tuple[str, str, int], ...] = ()

    def require_unchanged(self) -> None:
        """Refuse modules that were imported from other files, or edited since.

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
                    "a study's files are not edited after their import; "
                    f"got {file}, which was edited; {_RESTART}"
                )


def source_of(study: ModuleType) -> Source:
    """Return the source that the cells of a study depend on, as it was at the first call.

    Parameters
    ----------
    study : module

    Returns
    -------
    Source

    Raises
    ------
    InputError
        If a module was edited since, or was imported from another file.
    """
    if not getattr(study, "__file__", None):
        return Source(NO_SOURCE)
    # After a reload the module has another function `cell`.
    function, source = vars(study).get("__source_of_cells__", (None, None))
    if function is not study.cell:
        source = _read(study)
        study.__source_of_cells__ = (study.cell, source)  # type: ignore[attr-defined]
    source.require_unchanged()
    return source


def fingerprint(study: ModuleType) -> str:
    """Return the hash of the source that the cells of a study depend on; see `source_of`."""
    return source_of(study).digest


def _read(study: ModuleType) -> Source:
    path = Path(str(study.__file__))
    start = study.__spec__.name if study.__spec__ else study.__name__
    top = start.partition(".")[0]
    package = start if path.name == "__init__.py" else start.rpartition(".")[0]
    tree = _parsed(path, path.stat().st_mtime_ns)
    statements = _needed_by_cells(tree)
    parts, files = [("", _text(statements))], {}
    files[study.__name__] = (study.__name__, str(path), path.stat().st_mtime_ns)
    waiting = [name for node in statements for name in _imported(node, package)]
    waiting.append(BY_NAME + (start.rpartition(".")[0] or start))
    seen = {start, study.__name__}
    while waiting:
        name = waiting.pop()
        module = name.removeprefix(BY_NAME)
        if name in seen or module in seen:
            continue
        if module in IDLE or (f"{module}.".startswith(FRAME) and module != ESTIMATES):
            continue
        seen.add(name)
        waiting.append(BY_NAME + (module.rpartition(".")[0] or module))  # imported first
        file = _file(module, top)
        if file is None:
            waiting += _passed_on(*module.rpartition(".")[::2])
            continue
        if name != module and _passes_on(module, file):
            continue
        time = file.stat().st_mtime_ns
        text, names = _whole(file, time, module)
        parts.append((module, text))
        files[module] = (module, str(file), time)
        waiting += names
    digest = hashlib.sha256(repr(sorted(parts)).encode()).hexdigest()[:DIGITS]
    return Source(digest, tuple(files.values()))


def _needed_by_cells(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a study that `cell` refers to, and those that bind no names.

    An import that nothing in the module mentions is there for what it does.
    """
    bound = [{*_bound(node)} for node in tree.body]
    mentioned = [_mentioned([node]) for node in tree.body]
    everything = set().union(*mentioned)
    used = {"cell"}
    while True:
        needed = [
            i
            for i, (node, names) in enumerate(zip(tree.body, bound, strict=True))
            if not names
            or names & used
            or (isinstance(node, ast.Import | ast.ImportFrom) and not names & everything)
        ]
        more = used.union(*(mentioned[i] for i in needed))
        if more == used:
            return [_without_unused_names(tree.body[i], used) for i in needed]
        used = more


def _without_unused_names(node: ast.stmt, used: set[str]) -> ast.stmt:
    """Return an import from the frame of studies without the names that cells do not use."""
    if not isinstance(node, ast.ImportFrom) or node.module != FRAME[:-1]:
        return node
    names = [alias for alias in node.names if (alias.asname or alias.name) in used]
    return ast.ImportFrom(node.module, names, node.level) if names else ast.Pass()


def _bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement defines, assigns or imports."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    else:
        loops = [part for part in ast.walk(node) if isinstance(part, ast.comprehension)]
        inner = {name for loop in loops for name in _mentioned([loop.target])}
        for part in ast.walk(node):
            match part:
                case ast.Name(id=name, ctx=ast.Store()) if name not in inner:
                    yield name


def _mentioned(nodes: Any) -> set[str]:
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that a piece of source imports, and names that may be modules."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            # The rooms of partwhole are imported on first use.
            if any(alias.name == PACKAGE for alias in node.names):
                yield from _rooms()
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            is_whole = any(alias.name == "*" for alias in node.names)
            yield module if is_whole else BY_NAME + module
            if module == FRAME[:-1]:
                yield from (f"{FRAME}{HOMES.get(alias.name, alias.name)}" for alias in node.names)
            yield from (f"{module}.{alias.name}" for alias in node.names if alias.name != "*")


def _passes_on(module: str, file: Path) -> bool:
    """Return whether a package of partwhole only passes on what its modules define."""
    if module == PACKAGE:
        return True
    if file.name != "__init__.py" or module.partition(".")[0] != PACKAGE:
        return False
    tree = _parsed(file, file.stat().st_mtime_ns)
    return all(
        isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)
        or {*_bound(node)} == {"__all__"}
        or _asks_for_packages(node)
        for node in tree.body
    )


def _asks_for_packages(node: ast.stmt) -> bool:
    """Return whether a statement says which packages are missing, and does nothing else."""
    match node:
        case ast.Expr(ast.Call(ast.Name("needs"))):
            return True
    return False


def _passed_on(package: str, name: str) -> list[str]:
    """Return the modules from which a package of partwhole has a name that it passes on."""
    if package == PACKAGE:
        home = f"{PACKAGE}.{_homes().get(name, '')}"
        return [BY_NAME + home, f"{home}.{name}"] if name in _homes() else []
    file = _file(package, PACKAGE) if package.partition(".")[0] == PACKAGE else None
    if file is None or not _passes_on(package, file):
        return []
    tree = _parsed(file, file.stat().st_mtime_ns)
    return [
        source
        for node in tree.body
        if name in {*_bound(node)} and isinstance(node, ast.ImportFrom)
        for source in _imported(_only(node, name), package)
    ]


def _only(node: ast.ImportFrom, name: str) -> ast.ImportFrom:
    names = [alias for alias in node.names if (alias.asname or alias.name) == name]
    return ast.ImportFrom(node.module, names, node.level)


def _homes() -> dict[str, str]:
    """Return the room or module of each name of partwhole itself."""
    import partwhole

    return partwhole._HOMES


@cache
def _rooms() -> tuple[str, ...]:
    import partwhole

    return tuple(f"{PACKAGE}.{name}" for name in (*partwhole.__all__, *_homes().values()))


@cache
def _whole(path: Path, time: int, module: str) -> tuple[str, tuple[str, ...]]:
    """Return the text of a module, and the names of its imports."""
    tree = _parsed(path, time)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _text(tree.body), tuple(dict.fromkeys(_imported(tree, package)))


def _text(statements: list[ast.stmt]) -> str:
    """Return statements as text, and what they import from partwhole as sorted names."""
    imports = {
        f"{_definition(str(node.module), alias.name)} as {alias.asname or alias.name}"
        for statement in statements
        for node in _statements(statement)
        if _is_from_partwhole(node)
        for alias in node.names
    }
    return "\n".join([_written(statements), *sorted(imports)])


def _is_from_partwhole(node: Any) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{PACKAGE}.")


@cache
def _definition(module: str, name: str) -> str:
    """Return the module that defines a name which a module of partwhole has, and the name."""
    if module == PACKAGE and name in _homes():
        return _definition(f"{PACKAGE}.{_homes()[name]}", name)
    if module == FRAME[:-1] and name in HOMES:
        return f"{FRAME}{HOMES[name]}.{name}"
    file = _file_of_partwhole(module)
    if file is not None and module != PACKAGE and _passes_on(module, file):
        for node in _parsed(file, file.stat().st_mtime_ns).body:
            if _is_from_partwhole(node) and node.module != module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return _definition(str(node.module), alias.name)
    return f"{module}.{name}"


def _written(part: Any) -> str:
    """Return a tree as text that is the same for every version of Python.

    What `ast.unparse` and `ast.dump` return depends on it: versions quote strings within strings
    differently, and write or leave out what is empty.
    """
    if isinstance(part, list):
        pieces = [_written(piece) for piece in part if not _is_from_partwhole(piece)]
        return f"[{', '.join(pieces)}]"
    if not isinstance(part, ast.AST):
        return repr(part)
    if isinstance(part, ast.JoinedStr):  # of which some versions have empty pieces
        pieces = [x for x in part.values if not (isinstance(x, ast.Constant) and x.value == "")]
        return f"JoinedStr({_written(pieces)})"
    fields = [
        f"{name}={_written(value)}"
        for name in part._fields
        if (value := getattr(part, name, None)) is not None and value != []
    ]
    return f"{type(part).__name__}({', '.join(fields)})"


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a piece of source and the statements within it, in the order of `ast.walk`.

    Expressions, which are most of the source, hold none.
    """
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        for name in node._fields:
            if name in BLOCKS and isinstance(part := getattr(node, name, None), list):
                waiting.extend(part)


@cache
def _parsed(path: Path, time: int) -> ast.Module:
    """Parse a file without docstrings, imports for type checkers alone and methods that show."""
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"{path}, line {line}" if line else str(path)
        rule = "a study's modules are Python"
        raise InputError(f"{rule}; got {place}: {error}; correct it") from error
    for node in _statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.ClassDef):
            node.body = [part for part in node.body if not SHOWING & {*_bound(part)}] or [
                ast.Pass()
            ]
    tree.body = [kept for node in tree.body for kept in _at_run_time(node)]
    return tree


def _at_run_time(node: ast.stmt) -> list[ast.stmt]:
    """Return what is left of a statement without what is there for type checkers alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return node.orelse
    if isinstance(node, ast.ImportFrom) and node.module == "typing":
        node.names = [alias for alias in node.names if alias.name != "TYPE_CHECKING"]
        return [node] if node.names else []
    return [node]


def _file(module: str, package: str) -> Path | None:
    """Return the file of a module, None if it belongs to an installed package."""
    top = module.partition(".")[0]
    if top not in (PACKAGE, package) and _is_installed(top):
        return None
    return _file_of_partwhole(module) if top == PACKAGE else _located(module)


@cache
def _file_of_partwhole(module: str) -> Path | None:
    return _located(module)


def _located(module: str) -> Path | None:
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
