"""Chapters as pages: formulas drawn, pictures inside, links to what is there."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from partwhole.explorer import chapters
from partwhole.explorer.server import CHAPTERS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_is_a_page_of_its_own(name):
    page = chapters.chapter(name, CHAPTERS)
    text = (ROOT / f"docs/{name}.md").read_text("utf-8")
    plain = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)
    n_formulas = len(re.findall(r"\$\$.+?\$\$|\$[^$]+\$", plain, flags=re.DOTALL))
    assert page.count("<math ") == n_formulas
    prose = re.sub(
        r"<(pre|code|annotation)\b.*?</\1>|<style>.*?</style>", "", page, flags=re.DOTALL
    )
    assert not re.search(r"\$|\\[a-z]+|\ue000", prose)
    assert page.count("<img ") == len(re.findall(r"!\[", plain))
    assert set(re.findall(r' src="(.{10})', page)) <= {"data:image"}
    links = set(re.findall(r'href="([^"]+)"', page)) - {"#content", "data:,", "./"}
    assert links <= {f"{other}.html" for other in CHAPTERS}
    assert f"<h1>{chapters.title_of(name)}</h1>" in page
    assert page.count("<table>") == len(re.findall(r"^\|[-|]+\|$", plain, flags=re.MULTILINE))


def test_the_wheel_has_all_chapters_with_their_pictures(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    hook = import_module("hatch_build")
    data: dict = {"force_include": {}}
    hook.CustomBuildHook(str(ROOT), {}, None, None, "", "").initialize("standard", data)
    files = {Path(place).name for place in data["force_include"].values()}
    pages = [(ROOT / f"docs/{name}.md").read_text("utf-8") for name in CHAPTERS]
    pictures = {p for page in pages for p in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page)}
    assert files == {f"{name}.md" for name in CHAPTERS} | pictures
    assert all(Path(file).is_file() for file in data["force_include"])
