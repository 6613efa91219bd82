"""What `make docs` does around the examples of docs/gallery: style, pictures, downloads."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sphinx.application import Sphinx  # pyright: ignore[reportMissingImports]
from sphinx_gallery.scrapers import matplotlib_scraper  # pyright: ignore[reportMissingImports]

from partwhole.study.figure import STYLE

# In the order of the index.
SECTIONS = ("unseen", "order", "reuse", "gates", "trained", "recording", "split")


def place(section: str) -> int:
    """Return where a section stands in the index."""
    return SECTIONS.index(Path(section).name)


def in_house_style(conf: dict[str, Any], name: str) -> None:
    """Begin each example in the style of all figures."""
    mpl.rcParams.update({**STYLE, "savefig.dpi": 100})


def picture(block: Any, variables: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save the picture of an example; its text alternative is what the example says of it."""
    directive = matplotlib_scraper(block, variables, conf)
    words = alternative(Path(variables["src_file"]).read_text("utf-8"))
    return re.sub(r"(?<=:alt: ).*", lambda _: words, directive)


def alternative(source: str) -> str:
    """Return the last paragraph before the code of an example, without marks, in one line."""
    words = (ast.get_docstring(ast.parse(source)) or "").rpartition("\n\n")[2]
    return " ".join(re.sub(r":\w+:(?=`)|[`*]|<[^>]*>", "", words).split())


def title(source: str) -> str:
    """Return the question that an example answers."""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def without_archives(app: Sphinx, name: str, source: list[str]) -> None:
    """Leave out archives of a single example, which have the hour of the build in them."""
    if name.startswith("gallery/"):
        archive = r" *\.\. container:: sphx-glr-download sphx-glr-download-zip\n\n.*\n"
        source[0] = re.sub(archive, "", source[0])
