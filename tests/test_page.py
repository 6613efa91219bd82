"""Text is always escaped, and a page asks nothing of the network."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from partwhole import page
from partwhole._checks import InputError


class Reader(HTMLParser):
    """Collects the elements, the attributes and the text of markup."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes.update(attrs)

    def handle_data(self, data):
        self.text += data


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0")))
def test_text_is_read_back_as_it_was_given(text):
    read = Reader(str(page.tag("p", text, title=text)))
    assert read.elements == ["p"]
    # Signs that nobody sees are written out.
    assert read.text == read.attributes["title"] == page.visible(text)
    assert not re.search("[\u2028-\u202e\u2066-\u2069\x0c]", read.text)
    assert len(page.visible(text)) >= len(text)


def test_attributes_and_children():
    made = page.tag("td", ["a", None, False, 0], class_="x", aria_label="n", hidden=True, id=None)
    assert str(made) == '<td class="x" aria-label="n" hidden>a0</td>'
    with pytest.raises(InputError, match="got br; leave them out"):
        page.tag("br", "x")


def test_a_table_is_named_and_reached_by_the_keyboard():
    made = str(page.table(["a", "b"], [["r", 1]], caption="Sums", numbers=[1], foot=["all", 1]))
    assert 'role="region"' in made
    assert 'tabindex="0"' in made
    assert 'aria-label="Sums"' in made
    assert "<caption>Sums</caption>" in made
    assert '<th scope="row" role="rowheader">r</th>' in made
    assert '<td role="cell" data-label="b" class="number">1</td>' in made
    assert made.count('scope="col"') == 2
    assert made.count("<tfoot") == 1


def test_a_picture_travels_inside_the_page():
    figure = Figure(figsize=(1, 1))
    figure.subplots()
    made = str(page.plot(figure, 'one "square"'))
    address = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', made)
    assert address
    assert b"<svg" in base64.b64decode(address[1])
    assert Reader(made).attributes["alt"] == 'one "square"'
    with pytest.raises(InputError, match=r'kind is "svg" or "png"; got .gif.; choose one of them'):
        page.picture(b"", "", kind="gif")


def test_the_shell_has_its_landmarks_and_no_address():
    made = page.page("T & T", header=page.tag("h1", "T"), main="m", nav="n", footer="f")
    read = Reader(made)
    for landmark in ("header", "nav", "main", "footer", "title", "style"):
        assert read.elements.count(landmark) == 1, landmark
    assert "<title>T &amp; T</title>" in made
    assert "prefers-color-scheme: dark" in made
    assert not re.search(r"(https?:)?//|@import|url\(", made)
    assert "script" not in read.elements
