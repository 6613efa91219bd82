"""Chapters of the guide as pages that load nothing from a network."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from pathlib import Path

from partwhole.page import Html, page, picture, scroll, tag

HERE = Path(__file__).with_name("chapters")  # of an installed wheel
CHECKOUT = Path(__file__).parents[3] / "docs"
# Formulas in dollar signs: on lines of their own, or in a sentence.
FORMULA = re.compile(r"\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$\n]+(?:\n[^$\n]+)?)\$", re.DOTALL)
IMAGE = re.compile(r"<img src=\"(?P<name>[\w.-]+)\" alt=\"(?P<alt>[^\"]*)\"[^>]*>")
# What is wider than a phone scrolls by itself, and the keyboard can reach it.
WIDE = re.compile(r"<(?P<kind>table|pre)>.*?</(?P=kind)>|\ue000\d+\ue002", re.DOTALL)
LINK = re.compile(r"<a href=\"(?P<target>[^\"]*)\">(?P<words>.*?)</a>", re.DOTALL)


def folder() -> Path:
    """Return where the chapters lie, as Markdown."""
    return HERE if HERE.is_dir() else CHECKOUT


def title_of(name: str) -> str:
    """Return the title of a chapter."""
    text = (folder() / f"{name}.md").read_text("utf-8")
    return text.partition("\n")[0].removeprefix("# ")


@cache
def chapter(name: str, others: tuple[str, ...]) -> str:
    """Return a chapter as a page.

    Parameters
    ----------
    name : str
        Its file, without the ending.
    others : tuple of str
        Chapters that links may lead to; other links are plain words.
    """
    from latex2mathml.converter import convert
    from markdown_it import MarkdownIt

    text = (folder() / f"{name}.md").read_text("utf-8")
    formulas: list[str] = []

    def keep(match: re.Match[str]) -> str:
        block = match["block"]
        formula = match["inline"] if block is None else block
        formulas.append(convert(formula, display="inline" if block is None else "block"))
        return f"\ue000{len(formulas) - 1}" + ("\ue001" if block is None else "\ue002")

    def image(match: re.Match[str]) -> str:
        file = folder() / match["name"]
        kind = "svg" if file.suffix == ".svg" else "png"
        return str(picture(file.read_bytes(), match["alt"].replace("&quot;", '"'), kind=kind))

    def link(match: re.Match[str]) -> str:
        target = match["target"].partition("#")[0].removesuffix(".md")
        return (
            f'<a href="{target}.html">{match["words"]}</a>' if target in others else match["words"]
        )

    blocks = re.split(r"(```.*?```|`[^`\n]+`)", text, flags=re.DOTALL)
    blocks[::2] = [FORMULA.sub(keep, block) for block in blocks[::2]]  # every second one is code
    markup = MarkdownIt("commonmark").enable("table").render("".join(blocks))
    markup = re.sub(r"<p>In forty lines each:.*?</p>", "", markup, flags=re.DOTALL)
    markup = re.sub(r"\n+</code>", "</code>", LINK.sub(link, IMAGE.sub(image, markup)))
    numbers = count(1)
    markup = WIDE.sub(lambda match: str(_scrolling(match, next(numbers))), markup)
    markup = re.sub("\ue000(\\d+)[\ue001\ue002]", lambda match: formulas[int(match[1])], markup)
    title, _, rest = markup.partition("</h1>")
    words = re.sub("<[^>]+>", "", title)
    back = tag("ul", tag("li", tag("a", "Explorer", href="./")))
    style = Path(__file__).with_name("chapter.css").read_text("utf-8")
    return page(words, header=Html(f"{title}</h1>"), nav=back, main=Html(rest), style=style)


def _scrolling(match: re.Match[str], number: int) -> Html:
    part, kind = Html(match[0]), match["kind"]
    if kind:
        return scroll(part, label=f"{'Table' if kind == 'table' else 'Code'} {number}")
    # A formula stands in a paragraph, which has no divisions.
    marks = {"class_": "scroll", "role": "region", "aria_label": f"Formula {number}", "tabindex": 0}
    return tag("span", part, **marks)
