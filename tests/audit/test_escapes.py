"""What others read: values that would be links, placeholders, or turn the text around them."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from partwhole.audit import audit_split
from partwhole.audit.outputs.build_servers import _message
from partwhole.page import data, join, tag

# Line ends of other kinds, marks that turn what follows, a control and one at the edge.
UNSEEN = "\u2028\u2029\x0c\x1b\x85\u061c\u200e\u202e\u2066\ufeff"


@pytest.mark.parametrize("sign", UNSEEN)
def test_no_page_has_signs_that_turn_or_end_what_others_read(sign):
    value = f"red{sign}der"
    name = sign.encode("unicode_escape").decode()
    for text in (
        str(join(value)),
        str(tag("p", value)),
        str(tag("img", alt=value)),
        str(data({value: [value, (value,)]})),
    ):
        assert sign not in text
        assert f"red{name.replace(chr(92), chr(92) * 2)}der" in text or f"red{name}der" in text
    (entry,) = json.loads(str(data([value])).split(">", 1)[1].removesuffix("</script>"))
    assert entry == f"red{name}der"


def test_text_that_can_be_read_stays_as_it_is():
    text = "naïve שלום 日本 \u200d👩\u200d🔬 a\tb\nc"
    assert str(join(text)) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("shape = {0}", "shape = {{0}}"),
        ("see [here](http://a.b)", "see \\[here\\](http://a.b)"),
        ("f[a - b](x, y)", "f\\[a - b\\](x, y)"),
        ("a\\[b](1)", "a\\\\\\[b\\](1)"),
        ("a [b] (c) \\", "a [b] (c) \\"),
    ],
)
def test_messages_of_sarif_have_no_links_and_no_placeholders(text, escaped):
    assert _message(text) == escaped


def test_every_output_is_inert():
    bad = "[x](http://a.b) {0} " + UNSEEN
    frame = pd.DataFrame(
        {
            "first": ["p", "p", "q", f"{bad}v"],
            "second": [f"{bad}w", "s", "s", f"{bad}w"],
            "y": [f"{bad}yes", "no", "no", f"{bad}yes"],
            "split": ["train", "train", "train", f"{bad}test"],
        }
    )
    report = audit_split(frame, ["first", "second"], "y", "split")
    assert {"unseen-value"} <= {one.rule for one in report.findings}
    for text in (report.to_html(), report.to_junit(), report.to_sarif(), report.to_text()):
        assert not set(UNSEEN) & set(text)
    for result in json.loads(report.to_sarif())["runs"][0]["results"]:
        message = result["message"]["text"]
        assert not re.search(r"(?<!\\)\]\(", message)
        assert not re.search(r"(?<!\{)\{(?!\{)", message.replace("{{", ""))
