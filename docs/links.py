"""Check that every link within a site leads somewhere: ``python docs/links.py FOLDER``."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"""\b(?:href|src)=["']([^"']+)""")
ANCHOR = re.compile(r"""\b(?:id|name)=["']([^"']+)""")


def broken(site: Path) -> list[str]:
    """Return the links to files or anchors that are not there, with the page that has them.

    Pages of source, which Sphinx writes, name some anchors by the module that imports a class.
    """
    return [
        f"{page.relative_to(site)}: {target}"
        for page in sorted(site.rglob("*.html"))
        if page.relative_to(site).parts[0] != "_modules"
        for target in sorted({*LINK.findall(page.read_text("utf-8"))})
        if not _leads_somewhere(page, target)
    ]


def _leads_somewhere(page: Path, target: str) -> bool:
    if re.match(r"[a-z]+:", target) or target.startswith("//"):
        return True  # elsewhere, or data
    place, _, anchor = target.partition("#")
    file = page.parent / unquote(place.partition("?")[0]) if place else page
    if not file.exists():
        return False
    if anchor.startswith("search="):  # what the ledger looks for
        return file.name == "ledger.html"
    return not anchor or file.suffix != ".html" or unquote(anchor) in _anchors(file)


@cache
def _anchors(page: Path) -> set[str]:
    return {*ANCHOR.findall(page.read_text("utf-8"))}


if __name__ == "__main__":
    lines = broken(Path(sys.argv[1]))
    raise SystemExit("\n".join(["links that lead nowhere:", *lines]) if lines else 0)
