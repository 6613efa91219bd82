"""The shell of a self-contained HTML page, and a builder in which plain text is always escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from partwhole._checks import require
from partwhole._door import door

_VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
_KINDS = {"svg": "image/svg+xml", "png": "image/png"}
# Control characters, line and paragraph separators, marks of text direction, and halves of
# surrogate pairs: they change how other text is read, or are no text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)


@dataclass(frozen=True)
class Html:
    """Markup, which is not escaped again; any other text is."""

    text: str

    def __str__(self) -> str:
        return self.text


def visible(text: str) -> str:
    r"""Replace invisible characters, and those that change how other text is read, by escapes.

    Examples
    --------
    >>> visible("red\u202eder")
    'red\\u202eder'
    """
    return _UNSEEN.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def join(*children: Any) -> Html:
    """Join children into markup: `Html` unchanged, iterables by their members, text escaped.

    None and False are left out; invisible characters become their escapes (`visible`).

    Examples
    --------
    >>> str(join("a < b", None, [tag("br"), 3]))
    'a &lt; b<br>3'
    """
    parts = []
    for child in children:
        if child is None or child is False:
            continue
        if isinstance(child, Html):
            parts.append(child.text)
        elif isinstance(child, Iterable) and not isinstance(child, str | bytes):
            parts.append(join(*child).text)
        else:
            parts.append(html.escape(visible(str(child))))
    return Html("".join(parts))


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """Build an element.

    A trailing underscore of an attribute's name is dropped (`class_`), others become hyphens.
    An attribute of True stands bare; one of None or False is left out.

    Examples
    --------
    >>> str(tag("a", "R & D", href="?a=1&b=2", class_="plain", hidden=False))
    '<a href="?a=1&amp;b=2" class="plain">R &amp; D</a>'
    """
    words = [element]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{html.escape(visible(str(value)))}"')
    opening = f"<{' '.join(words)}>"
    if element in _VOID:
        require(not children, "an empty element has no children", element, "leave them out")
        return Html(opening)
    return Html(f"{opening}{join(*children)}</{element}>")


@door
def picture(
    data: bytes, alt: str, *, kind: Literal["svg", "png"] = "svg", **attributes: Any
) -> Html:
    """Return an image whose data are part of the page.

    Parameters
    ----------
    data : bytes
        The image's file.
    alt : str
        Description, for readers who can't see the image.
    kind : {"svg", "png"}, default "svg"
        Kind of file.
    **attributes
        Further attributes of the element.

    Returns
    -------
    Html
    """
    address = f"data:{_KINDS[kind]};base64,{base64.b64encode(data).decode()}"
    return tag("img", src=address, alt=alt, **attributes)


def section(anchor: str, title: str, *children: Any) -> Html:
    """Return a section of a page with its heading, to which links lead by the anchor."""
    return tag(
        "section",
        tag("h2", title, id=f"{anchor}-title"),
        children,
        id=anchor,
        aria_labelledby=f"{anchor}-title",
    )


def plot(figure: Any, alt: str, *, kind: Literal["svg", "png"] = "svg") -> Html:
    """Return a matplotlib figure as an image whose data are part of the page."""
    file = BytesIO()
    figure.savefig(file, format=kind, bbox_inches="tight")
    return picture(file.getvalue(), alt, kind=kind)


def scroll(*children: Any, label: str) -> Html:
    """Return a region in which wide content scrolls sideways, and which the keyboard can reach."""
    return tag("div", *children, class_="scroll", role="region", aria_label=label, tabindex=0)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str,
    numbers: Sequence[int] = (),
    foot: Sequence[Any] | None = None,
) -> Html:
    """Return a table that scrolls in its own region; the first cell of a row is its heading.

    On a narrow screen each row becomes a block of `heading: cell` lines.

    Parameters
    ----------
    headings : sequence of str
        A heading for each column.
    rows : iterable of sequences
        Cells, as text or `Html`.
    caption : str
        Caption, shown above the table.
    numbers : sequence of int, default ()
        Columns of numbers, which are aligned to the right.
    foot : sequence, default None
        A last row of totals.

    Returns
    -------
    Html
    """

    def line(cells: Sequence[Any]) -> Html:
        first, *values = cells
        return tag(
            "tr",
            tag("th", first, scope="row", role="rowheader"),
            [
                tag(
                    "td",
                    cell,
                    role="cell",
                    data_label=headings[i],
                    class_="number" if i in numbers else None,
                )
                for i, cell in enumerate(values, 1)
            ],
            role="row",
        )

    # On a narrow screen rows become blocks; the roles keep the meaning of a table.
    head = [
        tag(
            "th",
            heading,
            scope="col",
            role="columnheader",
            class_="number" if i in numbers else None,
        )
        for i, heading in enumerate(headings)
    ]
    return scroll(
        tag(
            "table",
            tag("caption", caption),
            tag("thead", tag("tr", head, role="row"), role="rowgroup"),
            tag("tbody", [line(row) for row in rows], role="rowgroup"),
            tag("tfoot", line(foot), role="rowgroup") if foot is not None else None,
            role="table",
        ),
        label=caption,
    )


def data(value: Any, **attributes: Any) -> Html:
    """Return data for the page's script; no text in them can end the element or start another.

    Parameters
    ----------
    value : Any
        Data that JSON can represent.
    **attributes
        Attributes of the element, such as its id.

    Returns
    -------
    Html

    Examples
    --------
    >>> print(data(["</script>"]))
    <script type="application/json">["\\u003c/script\\u003e"]</script>
    """
    text = json.dumps(_visible(value), separators=(",", ":"), allow_nan=False)
    # json.dumps has already written all characters beyond ASCII, U+2028 too, as escapes.
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    opening = str(tag("script", type="application/json", **attributes)).removesuffix("</script>")
    return Html(f"{opening}{text}</script>")


def _visible(value: Any) -> Any:
    """Return data with invisible characters replaced in all texts."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {_visible(key): _visible(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_visible(entry) for entry in value]
    return value


def page(
    title: str,
    *,
    header: Any,
    main: Any,
    nav: Any = None,
    footer: Any = None,
    style: str = "",
    script: str = "",
    connects: bool = False,
) -> str:
    """Return a whole page: one file that loads nothing from the network.

    Parameters
    ----------
    title : str
        Title of the document.
    header, main : children
        The page's opening, with its one `h1`, and its content.
    nav, footer : children, default None
        Links into the page, and its closing lines.
    style : str, default ""
        CSS rules to add to those of every page.
    script : str, default ""
        The page's only script. A policy with its digest stops the browser from running any other
        script, and from loading anything.
    connects : bool, default False
        Whether the script may ask the server from which the page came.

    Returns
    -------
    str

    Examples
    --------
    >>> print(page("Hello", header=tag("h1", "Hello"), main="")[:36])
    <!doctype html>
    <html lang="en"><hea
    """
    style = Path(__file__).with_name("page.css").read_text("utf-8") + style
    policy = None
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
            f"script-src 'sha256-{digest}'" + ("; connect-src 'self'" if connects else "")
        )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy) if policy else None,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(style)),
    )
    body = tag(
        "body",
        tag("a", "Skip to content", class_="skip", href="#content"),
        tag("header", header),
        tag("nav", nav, aria_label="On this page") if nav is not None else None,
        tag("main", main, id="content", tabindex=-1),
        tag("footer", footer) if footer is not None else None,
        tag("script", Html(script)) if script else None,
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
