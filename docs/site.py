"""Write what `make docs` builds, these pages and a reference: ``python docs/site.py FOLDER``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from types import GenericAlias, ModuleType

import partwhole

HERE = Path(__file__).parent
ROOT = HERE.parent
GALLERY = HERE / "gallery"  # which `conf.py` has run, with a page for each folder
# Pages that stand elsewhere; the README is the first one.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "studies/README.md": "studies.md",
}
CONTENTS = {
    "Start": [
        "your-theory",
        "your-recording",
        "audit",
        "your-network",
        "explorer",
        "gallery/index",
    ],
    "Guide": ["kernels", "networks", "dynamics", "reuse", "gated", "diffusion", "notation"],
    "Papers": ["papers", "new-results"],
    "Audit for teams": ["rules", "audit-teams"],
    "How to": ["command", "studies", "your-images", "torch", "following", "clusters"],
    "Extend": [
        "extend-cost",
        "extend-gates",
        "extend-kernel",
        "extend-flow",
        "extend-network",
        "extend-measure",
        "extend-study",
        "extend-rule",
    ],
    "About": ["paper-presets", "stability", "cite", "contributing", "changelog"],
}
REPORT = ROOT / "report"
# The papers of the report, by their files, with the chapters that tell their theory.
CHAPTERS = {
    "lippl-stachenfeld-iclr-2025": ("kernels", "networks"),
    "yang-et-al-iclr-2025": ("dynamics",),
    "lippl-lindsey-neurips-2024": ("reuse",),
    "lippl-abbott-chung-2022": ("gated",),
    "park-et-al-neurips-2024": ("diffusion",),
    "okawa-et-al-neurips-2023": ("diffusion",),
}
# Examples whose pictures chapters show, which the build draws.
PICTURES = {
    "kernels": ("unseen/plot_anchors", "unseen/plot_shortcut"),
    "networks": ("trained/plot_compare", "trained/plot_rich_units"),
    "dynamics": ("order/plot_concept_space",),
    "reuse": ("reuse/plot_penalty",),
    "gated": ("gates/plot_boundary",),
    "diffusion": ("order/plot_first_concept",),
}
WITHOUT_REPORT = "`make report` writes these pages, and `make docs` after it has them here."
# Rooms whose modules have pages too, for the mathematics in them and what a face leaves out.
THEORY = (
    "features",
    "flows",
    "limits",
    "measurement",
    "measures",
    "networks",
    "recordings",
    "tasks",
    "training",
)
ORPHAN = ":orphan:"  # in no table of contents: that stands on every page, and is made for each


def write(folder: Path) -> None:
    """Write all sources of the site into a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {ROOT / place: name for place, name in ELSEWHERE.items()}
    pages |= {page: page.name for page in HERE.glob("*.md")}
    texts = {name: _relinked(page, pages) for page, name in pages.items()}
    add_pictures(texts)
    add_papers(texts, folder.with_name("extra") / "report")
    reference = _reference()
    rooms = [name.removesuffix(".rst") for name in reference if name.count("/") == 1]
    contents = CONTENTS | {"Reference": rooms}
    texts["index.md"] += "\n".join(_contents(*part) for part in contents.items())
    for name, text in (texts | reference).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for picture in [*HERE.glob("*.svg"), *HERE.glob("*.png"), HERE / "diffusion.py"]:
        shutil.copy(picture, folder)


def _contents(caption: str, names: list[str]) -> str:
    options = f":caption: {caption}\n:hidden:\n:maxdepth: 1\n"
    return "\n```{toctree}\n" + options + "\n" + "\n".join(names) + "\n```\n"


def _relinked(page: Path, pages: dict[Path, str]) -> str:
    """Return the text of a page with links to where pages lie in the site."""

    def link(match: re.Match[str]) -> str:
        words, target = match.groups()
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve()
        if "://" in target or not name:
            return match[0]
        if place in pages:
            return f"[{words}]({pages[place]}{'#' + anchor if anchor else ''})"
        if GALLERY in (place, *place.parents):
            return f"[{words}]({place.relative_to(HERE).as_posix()}/index.rst)"
        # Pictures and scripts lie beside the pages; what else is in the repository has no page.
        return f"[{words}]({place.name})" if place.parent == HERE else words

    blocks = re.split(r"(```.*?```)", page.read_text("utf-8"), flags=re.DOTALL)
    # Every second block is code.
    blocks[::2] = [re.sub(r"\[([^]]*)\]\(([^)]+)\)", link, block) for block in blocks[::2]]
    return "".join(blocks)


def add_pictures(texts: dict[str, str]) -> None:
    """Show in chapters what examples of the gallery draw, before the line that leads to them."""
    from gallery_pictures import alternative, title

    for chapter, names in PICTURES.items():
        figures = ""
        for name in names:
            source = (GALLERY / f"{name}.py").read_text("utf-8")
            section, _, last = name.partition("/")
            image = f"gallery/{section}/images/sphx_glr_{last}_001_2_00x.png"
            options = f":alt: {alternative(source)}\n:target: gallery/{name}.html\n:width: 60%"
            figures += f"```{{figure}} {image}\n{options}\n\n{title(source)}\n```\n\n"
        text, mark, rest = texts[f"{chapter}.md"].rpartition("\nIn forty lines each:")
        texts[f"{chapter}.md"] = (
            f"{text}\n{figures}{mark.lstrip()}{rest}" if mark else rest + "\n" + figures
        )


def add_papers(texts: dict[str, str], copied: Path) -> None:
    """Write the page of papers, and link chapters and pages of the report both ways.

    Parameters
    ----------
    texts : dict of str to str
        The pages by name; the chapters get a link, and ``papers.md`` comes new.
    copied : Path
        A folder for the pages of the report, as it is now, or none if there is no report.
    """
    shutil.rmtree(copied, ignore_errors=True)
    lines = ["# Papers, item by item", ""]
    if not (REPORT / "index.html").is_file():
        texts["papers.md"] = "\n".join([*lines, WITHOUT_REPORT, ""])
        return
    shutil.copytree(REPORT, copied, ignore=shutil.ignore_patterns("store"))
    lines += [
        "Each figure, theorem and equation: whether it is reproduced, the published number and "
        'that of the library. All of them: <a href="report/index.html">findings</a>, '
        '<a href="report/ledger.html">ledger</a>.',
        "",
    ]
    for name, chapters in CHAPTERS.items():
        page = copied / "papers" / f"{name}.html"
        if not page.is_file():
            continue
        text = page.read_text("utf-8")
        title = re.search(r"<h1[^>]*>(.*?)</h1>", text)
        assert title is not None, f"{page} has no heading"
        link = f'<a href="report/papers/{name}.html">{title[1]}</a>'
        titles = {chapter: _title_of(texts[f"{chapter}.md"]) for chapter in chapters}
        guide = ", ".join(f"[{words}]({chapter}.md)" for chapter, words in titles.items())
        lines.append(f"- {link}; in the guide: {guide}")
        back = (f'<li><a href="../../{to}.html">{words}</a></li>' for to, words in titles.items())
        page.write_text(text.replace("</ul></nav>", f"{''.join(back)}</ul></nav>", 1), "utf-8")
        for chapter in chapters:
            texts[f"{chapter}.md"] += f"\nItem by item: {link}.\n"
    texts["papers.md"] = "\n".join([*lines, ""])


def _title_of(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _reference() -> dict[str, str]:
    """Return a page for each room, each name on its face, and modules of theory or of its words."""
    pages: dict[str, list[str]] = {}
    every = rooms()
    for room in every:
        face = importlib.import_module(room)
        members = {name: getattr(face, name) for name in sorted(face.__all__) if name[0] != "_"}
        # Other names of types, such as dict[str, Any], have no words of their own.
        left_out = (ModuleType, GenericAlias)
        names = [name for name, member in members.items() if not isinstance(member, left_out)]
        inner = tuple(f"{other}." for other in every if other.startswith(f"{room}."))
        below = [
            name for name in modules(room) if room != "partwhole"
            and not f"{name}.".startswith(inner) and name.rpartition(".")[2] not in names
            and ({*THEORY} & {*room.split(".")} or _is_in_words(name, face))
        ]  # fmt: skip
        parts = [_title(room), f".. automodule:: {room}", _table(f"{room}.{n}" for n in names)]
        parts += [_title("Modules", "-"), _table(below)] if below else []
        pages[f"reference/{room}.rst"] = parts
        for name in names:
            directive = _directive(f"{room}.{name}", members[name])
            pages[f"reference/names/{room}.{name}.rst"] = [ORPHAN, _title(name), directive]
        for name in below:
            directive = f".. automodule:: {name}\n   :members:"
            pages[f"reference/modules/{name}.rst"] = [ORPHAN, _title(name), directive]
    return {place: "\n\n".join(parts) + "\n" for place, parts in pages.items()}


def rooms() -> list[str]:
    """Return the library, the modules on its face, and packages of theory with a face."""
    faces = [name for name in partwhole.__all__ if inspect.ismodule(getattr(partwhole, name))]
    below = (name for face in faces if face in THEORY for name in modules(f"partwhole.{face}"))
    inner = [
        name for name in below if {"__all__", "__path__"} <= {*vars(importlib.import_module(name))}
    ]
    return ["partwhole", *(f"partwhole.{face}" for face in faces), *inner]


def modules(room: str) -> list[str]:
    """Return the public modules below a room."""
    path = getattr(importlib.import_module(room), "__path__", ())
    names = [module.name for module in pkgutil.walk_packages(path, f"{room}.")]
    return [name for name in names if "._" not in name]


def _is_in_words(module: str, face: ModuleType) -> bool:
    """Return whether a room's docstring names a module or what it defines."""
    name = re.escape(module.removeprefix(f"{face.__name__}."))
    listed = rf"(`|^|, ){name}(\.\w+)?(`|,|$)"
    return re.search(listed, face.__doc__ or "", re.MULTILINE) is not None


def _directive(name: str, member: object) -> str:
    if inspect.isclass(member):
        return f".. autoclass:: {name}\n   :members:"
    if inspect.isfunction(member):
        return f".. autofunction:: {name}"
    value = " ".join(repr(member).split())
    lines = [f".. py:data:: {name}", f"   :value: {value if len(value) < 200 else '...'}"]
    module, words = _words_of(name)
    page = f"../../_modules/{module.replace('.', '/')}.html"
    has_page = "._" not in module and not hasattr(importlib.import_module(module), "__path__")
    words += ["", f"`Source <{page}>`__" if has_page else f"Defined in ``{module}``."]
    return "\n".join([*lines, "", *(f"   {line}" for line in words)])


def _words_of(name: str) -> tuple[str, list[str]]:
    """Return the module that assigns a constant, and the comment or string that describes it."""
    from sphinx.pycode import ModuleAnalyzer  # pyright: ignore[reportMissingImports]

    room, _, last = name.rpartition(".")
    path = getattr(importlib.import_module(room), "__path__", ())
    below = [module.name for module in pkgutil.walk_packages(path, f"{room}.")]
    for module in [*below, "partwhole._figures"]:
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
        if ("", last) in analyzer.attr_docs:
            return module, analyzer.attr_docs["", last]
    raise ValueError(f"no module of {room} says what {last} is")


def _title(words: str, line: str = "=") -> str:
    return f"{words}\n{line * len(words)}"


def _table(names: Iterable[str]) -> str:
    return "\n".join([".. autosummary::", "", *(f"   ~{name}" for name in names)])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
