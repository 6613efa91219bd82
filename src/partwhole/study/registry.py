"""Studies by their registered name, their module, or their file."""

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

# The folders of studies that were loaded by their file.
_folders: set[Path] = set()
GROUP = "partwhole.studies"
NEEDED = ("PRESETS", "cell", "gather", "numbers", "figure")


def registered() -> dict[str, str]:
    """Return the registered studies: module by short name.

    A package registers the full names of its study modules, in the order of a report, as an entry
    point of the group ``partwhole.studies``.
    """
    modules = [name for entry in entry_points(group=GROUP) for name in entry.load()]
    return {short_name(module): module for module in modules}


def short_name(study: ModuleType | str) -> str:
    """Return the short name of a study: that of its module, without the outermost package."""
    name = study if isinstance(study, str) else study.__name__
    if name == "__main__" and isinstance(study, ModuleType) and study.__file__:
        return Path(study.__file__).stem
    return name.partition(".")[2] or name


def full_name(name: str) -> str:
    """Return the short name of a registered study, from that name or its unique last part.

    Hyphens stand for underscores.

    Raises
    ------
    InputError
        If no study, or several, have this name.
    """
    studies = list(registered())
    name = name.replace("-", "_")
    by_end = [study for study in studies if name in (study, study.rpartition(".")[2])]
    matches = [name] if name in studies else by_end
    if len(matches) == 1:
        return matches[0]
    if not studies:
        remedy = "none is registered; install partwhole-studies, or name a file"
    elif len(by_end) > 1:
        remedy = f"choose from {', '.join(by_end)}"
    else:
        names = {study.rpartition(".")[2]: study for study in studies}
        names |= {study: study for study in studies}
        (nearest,) = get_close_matches(name, names, 1, 0.0)
        remedy = f"the nearest is {names[nearest]}"
    raise InputError(f"a study's name is one that `partwhole list` shows; got {name!r}; {remedy}")


def find(name: str | Path) -> ModuleType:
    """Import and return a study by its name, by the last part of its name, or by its file.

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
        If no study has this name, or its file can't be imported.
    """
    if str(name).endswith(".py"):
        return load(Path(name))
    return load(registered()[full_name(str(name))])


def load(place: str | Path | ModuleType) -> ModuleType:
    """Import a study and check that its module has the interface of a study.

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
        If it can't be imported, or lacks a part of the interface.
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
        If a declaration can't be read.
    """
    return {name: _declared_in(module) for name, module in registered().items()}


def _declared_in(module: str) -> Declaration:
    spec = find_spec(module)
    return read(Path(spec.origin or "").with_suffix(".toml")) if spec else declared(load(module))


def place_of(study: ModuleType) -> str:
    """Return the file of a study, or its name in a package, from which a process can load it."""
    file = getattr(study, "__file__", None)
    if "." in study.__name__ or not file:
        return study.__name__
    return os.path.abspath(file)


def _imported(place: str | Path) -> ModuleType:
    path = Path(place) if str(place).endswith(".py") else None
    if path is not None:
        require(path.is_file(), "a study's file exists", str(path), "check its path")
        require(
            path.stem.isidentifier(),
            "a study's file has a name that can be imported",
            path.name,
            "rename it, with letters, digits and underscores alone",
        )
        path = Path(os.path.abspath(path))
        _make_way_for(path)
    before = sys.dont_write_bytecode
    # Python would use old compiled code for a file that was edited within the same second.
    sys.dont_write_bytecode = before or path is not None
    try:
        study = import_module(path.stem if path is not None else str(place))
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(_failure(place, error)) from error
    finally:
        sys.dont_write_bytecode = before
    if path is not None:
        file = Path(study.__file__ or "")
        require(
            file == path,
            "a study's file does not share its name with another module",
            f"{path.name} and {file}",
            "rename it",
        )
    return study


def _make_way_for(path: Path) -> None:
    """Prepare the import of a file and the modules beside it in their present version.

    Modules from the folders of earlier studies, and earlier versions of these, are forgotten.
    """
    with suppress(InputError):
        loaded = sys.modules.get(path.stem)
        if getattr(loaded, "__file__", None) == str(path) and loaded is not None:
            source_of(loaded).require_unchanged()
            return
    _folders.add(path.parent)
    modules = {name: module for name, module in sys.modules.items() if "." not in name}
    leaving = {name for name, module in modules.items() if _folder_of(module) in _folders}
    for name in [name for name in sys.modules if name.partition(".")[0] in leaving]:
        del sys.modules[name]
    sys.path[:] = [folder for folder in sys.path if Path(folder) not in _folders]
    sys.path.insert(0, str(path.parent))
    invalidate_caches()


def _folder_of(module: ModuleType) -> Path | None:
    """Return the folder from which a module or package is imported."""
    file = getattr(module, "__file__", None)
    places = [file] if file else [*getattr(module, "__path__", ())]
    if not places:
        return None
    path = Path(places[0])
    return path.parents[1] if path.name == "__init__.py" else path.parent


def _failure(place: str | Path, error: BaseException) -> str:
    """Return the sentence of an import that failed, with the cause and its place."""
    rule = f"a study can be imported; got {type(error).__name__} in {place}"
    if isinstance(error, SyntaxError):
        return f"{rule}, line {error.lineno}: {error.msg}; correct that line"
    trace = extract_tb(error.__traceback__)
    frames = [frame for frame in trace if "importlib" not in frame.filename]
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{rule}{place}: {' '.join(str(error).split())}; correct it"
