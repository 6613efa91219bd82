"""The source that a cell's result stands on, as one short hash.

It holds the function `cell` and whatever that names, directly or through others, in the study, in
modules beside it and in partwhole: functions, classes and constants, each by its syntax tree
without docstrings and comments. What draws, weighs or describes is not in it, and neither are other
packages: their versions are kept beside a result.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).resolve().parents[1]
DIGITS = 16
NO_SOURCE = "none"
WHOLE = "*"  # all of a module

Name = tuple[str, str]  # a module, and what is defined in it
# A module, and the attributes asked of it; those of a file's own names begin with "".
Reference = tuple[str, ...]


def fingerprint(study: ModuleType, function: str = "cell") -> str:
    """Return a hash of the source that a function of a study stands on.

    Parameters
    ----------
    study : module
        One that was read from a file.
    function : str, default "cell"

    Returns
    -------
    str
        16 hexadecimal digits; "none" for a study without a file, of which nothing is kept.
    """
    if not getattr(study, "__file__", None):
        return NO_SOURCE
    path = Path(str(study.__file__)).resolve()
    module = path.stem if study.__name__ == "__main__" else study.__name__
    # Where a study's own modules lie: beside its outermost package, or beside its file.
    tree = _Tree((PACKAGE.parent, path.parents[module.count(".")]))
    parts = [(*name, tree.text(*name)) for name in sorted(tree.reached(module, function))]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:DIGITS]


class _Tree:
    """The modules that are looked at: those of partwhole and those of a study."""

    def __init__(self, bases: tuple[Path, ...]) -> None:
        self.bases = bases
        self.sources: dict[str, _Source | None] = {}

    def source(self, module: str) -> _Source | None:
        """Return a module's source as it is now; None for modules that are not looked at."""
        if module not in self.sources:
            path = _file(self.bases, module)
            self.sources[module] = path and _read(path, module, path.stat().st_mtime_ns)
        return self.sources[module]

    def reached(self, module: str, function: str) -> set[Name]:
        """Return a function and all that it names, directly or through others."""
        waiting, seen = [(module, function)], set[Name]()
        while waiting:
            name = waiting.pop()
            source = self.source(name[0])
            if source is None or name in seen:
                continue
            seen.add(name)
            for first, *attributes in source.references(name[1]):
                waiting.append(self._meant(first or name[0], *attributes))
        return seen

    def text(self, module: str, name: str) -> str:
        """Return what a name is defined by."""
        source = self.source(module)
        return source.text(name) if source else ""

    def _meant(self, module: str, *attributes: str) -> Name:
        """Follow attributes as long as they name modules; a package's own names come first."""
        while attributes:
            package, inner = self.source(module), f"{module}.{attributes[0]}"
            if package is None or self.source(inner) is None or package.hides(attributes[0]):
                return module, attributes[0]
            module, attributes = inner, attributes[1:]
        return module, WHOLE


class _Source:
    """A file's definitions by name, what they refer to, and what the file does on import."""

    def __init__(self, module: str, package: str, text: str) -> None:
        self.module, self.package = module, package
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, Reference] = {}
        self.starred: list[str] = []
        self.on_import: list[ast.stmt] = []
        self.known: dict[str, tuple[Reference, ...]] = {}
        self.texts: dict[str, str] = {}
        for node in _without_docstrings(ast.parse(text)).body:
            names = [*_defined(node)]
            if isinstance(node, ast.Import | ast.ImportFrom) or _is_for_checkers(node):
                for each in ast.walk(node):
                    self.imports |= self._bound(each)
                    if isinstance(each, ast.ImportFrom) and each.names[0].name == "*":
                        self.starred.append(self._absolute(each))
            elif names:
                for name in names:
                    self.definitions.setdefault(name, []).append(node)
            else:
                self.on_import.append(node)

    def hides(self, name: str) -> bool:
        """Return whether a package gives another meaning to the name of a module in it."""
        own = self.imports.get(name, (self.module, name)) != (self.module, name)
        return own or name in self.definitions

    def text(self, name: str) -> str:
        """Return a definition, and what the file does on import, whatever its layout."""
        if name not in self.texts:
            nodes = (*self.definitions.get(name, ()), *self.on_import)
            self.texts[name] = "\n".join(map(ast.unparse, nodes))
        return self.texts[name]

    def references(self, name: str) -> tuple[Reference, ...]:
        """Return what a definition refers to."""
        if name not in self.known:
            self.known[name] = tuple(dict.fromkeys(self._references(name)))
        return self.known[name]

    def _references(self, name: str) -> Iterator[Reference]:
        if name == WHOLE:
            yield from (("", each) for each in self.definitions)
            yield from self.imports.values()
            return
        if name not in self.definitions:
            if name in self.imports:
                yield self.imports[name]
            yield from ((each, name) for each in self.starred)
        for node in (*self.definitions.get(name, ()), *self.on_import):
            bound = dict(self.imports)
            for each in ast.walk(node):
                bound |= self._bound(each)
            for first, *attributes in _chains(node):
                if first in bound:
                    yield (*bound[first], *attributes)
                elif first in self.definitions or self.starred:
                    yield "", first

    def _bound(self, node: ast.AST) -> dict[str, Reference]:
        """Return what an import binds, by local name; nothing for other nodes."""
        if isinstance(node, ast.Import):
            plain = {each.name.partition(".")[0] for each in node.names if not each.asname}
            renamed = {each.asname: (each.name,) for each in node.names if each.asname}
            return {name: (name,) for name in plain} | renamed
        if isinstance(node, ast.ImportFrom):
            module = self._absolute(node)
            return {each.asname or each.name: (module, each.name) for each in node.names}
        return {}

    def _absolute(self, node: ast.ImportFrom) -> str:
        parts = self.package.split(".")
        above = parts[: len(parts) - node.level + 1] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])


@cache
def _file(bases: tuple[Path, ...], module: str) -> Path | None:
    for base in bases:
        path = base.joinpath(*module.split("."))
        for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@cache
def _read(path: Path, module: str, time: int) -> _Source:
    """Read a file; once as long as its time of change stays."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    return _Source(module, package, path.read_text("utf-8"))


def _is_for_checkers(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


def _defined(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def _chains(node: ast.AST) -> Iterator[list[str]]:
    """Yield the names in a piece of source, each with the attributes asked of it."""
    chain: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        chain.append(inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        yield [inner.id, *chain[::-1]]
    else:
        for child in ast.iter_child_nodes(inner):
            yield from _chains(child)
