"""Find studies: by the name that a package registers, by their module, or by their file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module, invalidate_caches
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from partwhole._checks import InputError, require
from partwhole._extras import MissingExtraError, needs
from partwhole.study.declaration import Declaration, declared, read
from partwhole.study.source import source_of

# Of studies that were given as files.
_folders: set[Path] = set()
GROUP = "partwhole.studies"
NEEDED = ("PRESETS", "cell", "gather", "numbers", "figure")


def registered() -> dict[str, str]:
    """Return the registered studies: the name a person types, and the module behind it.

    A package registers the full names of its study modules, in the order in which reports show
    them, as an entry point of the group ``partwhole.studies``.
    """
    modules = [name for entry in entry_points(group=GROUP) for name in entry.load()]
    return {short_name(module): module for module in modules}


def short_name(study: ModuleType | str) -> str:
    """Return the name a person types: that of the module, without its outermost package."""
    name = study if isinstance(study, str) else study.__name__
    if name == "__main__" and isinstance(study, ModuleType) and study.__file__:
        return Path(study.__file__).stem
    return name.partition(".")[2] or name


def full_name(name: str) -> str:
    """Return the name of a registered study, given that name or its last part if that is unique.

    Hyphens stand for underscores.

    Raises
    ------
    InputError
        If no study, or more than one, has this name.
    """
    known = list(registered())
    name = name.replace("-", "_")
    ends = [each for each in known if name in (each, each.rpartition(".")[2])]
    matches = [name] if name in known else ends
    if len(matches) == 1:
        return matches[0]
    if not known:
        remedy = "none is registered; install partwhole-studies, or name a file"
    elif len(ends) > 1:
        remedy = f"choose from {', '.join(ends)}"
    else:
        by_end = {each.rpartition(".")[2]: each for each in known} | {each: each for each in known}
        (near,) = get_close_matches(name, by_end, 1, 0.0)
        remedy = f"the nearest is {by_end[near]}"
    raise InputError(f"a study's name is one that `partwhole list` shows; got {name!r}; {remedy}")


def find(name: str | Path) -> ModuleType:
    """Return a study by its name, by the last part of it, or by its file.

    Parameters
    ----------
    name : str or path
        Text that ends with ``.py`` is a path.

    Returns
    -------
    module

    Raises
    ------
    InputError
        If no study has this name, or its file can't be run.
    """
    if str(name).endswith(".py"):
        return load(Path(name))
    return load(registered()[full_name(str(name))])


def load(place: str | Path | ModuleType) -> ModuleType:
    """Import a study and check that it has all that a study needs.

    Parameters
    ----------
    place : str, path or module
        The full name of a module, or its file.

    Returns
    -------
    module

    Raises
    ------
    InputError
        If it can't be imported, or lacks something.
    MissingExtraError
        If the packages of the extra "plot" are not installed.
    """
    needs("plot", "a study")
    study = place if isinstance(place, ModuleType) else _imported(place)
    missing = [name for name in NEEDED if not hasattr(study, name)]
    require(
        not missing,
        f"a study defines {', '.join(NEEDED)}",
        f"{short_name(study)} without {', '.join(missing)}",
        "add what is missing",
    )
    require(
        isinstance(study.PRESETS, Mapping),
        "a study's PRESETS are a mapping of names to lists of configurations",
        f"{type(study.PRESETS).__name__} in {short_name(study)}",
        'write PRESETS = {"quick": [{...}, ...]}',
    )
    return study


def declarations() -> dict[str, Declaration]:
    """Return the declarations of the registered studies by name, without importing them.

    Returns
    -------
    dict of str to Declaration

    Raises
    ------
    InputError
        If one can't be read.
    """
    return {name: _declared_in(module) for name, module in registered().items()}


def _declared_in(module: str) -> Declaration:
    spec = find_spec(module)
    return read(Path(spec.origin or "").with_suffix(".toml")) if spec else declared(load(module))


def place_of(study: ModuleType) -> str:
    """Return what another process can load a study from: its file, or its name in a package."""
    file = getattr(study, "__file__", None)
    if "." in study.__name__ or not file:
        return study.__name__
    return os.path.abspath(file)


def _imported(place: str | Path) -> ModuleType:
    path = Path(place) if str(place).endswith(".py") else None
    if path is not None:
        require(path.is_file(), "a study's file is there", str(path), "check its path")
        require(
            path.stem.isidentifier(),
            "a study's file has a name that can be imported",
            path.name,
            "rename it, with letters, digits and underscores alone",
        )
        path = Path(os.path.abspath(path))
        _make_way_for(path)
    keeps = sys.dont_write_bytecode
    # Python takes compiled source for that of a file that was edited within the same second.
    sys.dont_write_bytecode = keeps or path is not None
    try:
        study = import_module(path.stem if path is not None else str(place))
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(_failure(place, error)) from error
    finally:
        sys.dont_write_bytecode = keeps
    if path is not None:
        file = Path(study.__file__ or "")
        require(
            file == path,
            "a study's file has a name of its own",
            f"{path.name}, beside {file}",
            "rename it",
        )
    return study


def _make_way_for(path: Path) -> None:
    """Let a file and the modules beside it be imported, as they are now, as Python does a script.

    Modules of an earlier study's folder, or of an earlier version of this one, are let go.
    """
    with suppress(InputError):
        here = sys.modules.get(path.stem)
        if getattr(here, "__file__", None) == str(path) and here is not None:
            source_of(here).require_unchanged()
            return
    _folders.add(path.parent)
    modules = {name: module for name, module in sys.modules.items() if "." not in name}
    leaving = {name for name, module in modules.items() if _folder_of(module) in _folders}
    for name in [name for name in sys.modules if name.partition(".")[0] in leaving]:
        del sys.modules[name]
    sys.path[:] = [each for each in sys.path if Path(each) not in _folders]
    sys.path.insert(0, str(path.parent))
    invalidate_caches()


def _folder_of(module: ModuleType) -> Path | None:
    """Return the folder that a module or package is imported from."""
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    if not places:
        return None
    path = Path(places[0])
    return path.parents[1] if path.name == "__init__.py" else path.parent


def _failure(place: str | Path, error: BaseException) -> str:
    """Say why a study can't be imported, and where."""
    rule = f"a study can be imported; got {type(error).__name__} in {place}"
    if isinstance(error, SyntaxError):
        return f"{rule}, line {error.lineno}: {error.msg}; mend that line"
    frames = [each for each in extract_tb(error.__traceback__) if "importlib" not in each.filename]
    at = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    what = " ".join(str(error).split())
    return f"{rule} ({at}): {what}; mend it" if at else f"{rule}: {what}; mend it"
