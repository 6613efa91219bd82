"""The report names every study, weighs every claim, and keeps to its time."""

from __future__ import annotations

import html
import re
import sys
import types

import pytest
import tiny_study

from partwhole import study as frame
from partwhole.study.report_page import number


def variant(name: str, **changes) -> types.ModuleType:
    """Return the tiny study under another name, importable as that."""
    module = types.ModuleType(name, tiny_study.__doc__)
    shared = {key: value for key, value in vars(tiny_study).items() if key[:2] != "__"}
    vars(module).update({**shared, **changes})
    return module


@pytest.fixture
def write(tmp_path):
    def write(*modules, **rest):
        return frame.write_report(
            modules, tmp_path / "out", store=tmp_path / "store", progress=False, **rest
        )

    return write


def test_the_page_shows_the_study_and_every_claim(write):
    made = write(tiny_study)
    text = made.path.read_text()
    assert made.path.name == "index.html"
    assert text.count(f">{tiny_study.QUESTION}</h2>") == 1
    assert tiny_study.SOURCE in text
    assert tiny_study.CAPTION in text
    assert "A coin is thrown many times" in text
    assert "<code>1 / (2 sqrt(n))</code>" in text
    assert made.results[0].data.attrs["configuration"] in text
    assert "12 computed, 0 read from the store" in text
    assert "partwhole run tiny_study --preset laptop" in text
    for claim in made.results[0].claims:
        words = claim.statement.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        row = re.search(rf"<th scope=\"row\" role=\"rowheader\">{re.escape(words)}.*?</tr>", text)
        assert row, claim.statement
        assert f"</span> {claim.verdict}</span>" in row[0]
    assert "0.4833 to 0.5262" in text
    assert "<b>coin" not in text


def test_the_ledger_counts_the_verdicts(write):
    text = write(tiny_study).path.read_text()
    counts = re.findall(r"<strong>(\d+)</strong>.*?<span class=\"verdict (\w+)\"", text)
    assert counts == [("2", "holds"), ("1", "fails"), ("1", "open"), ("1", "outside")]
    assert "1 study weighed 5 claims" in text
    assert "<summary>5 claims: 2 hold, 1 does not, 1 inconclusive, 1 outside its" in text


def test_the_answer_and_the_figure_come_before_the_claims(write, monkeypatch):
    answered = variant("answered", ANSWER="After some hundred throws.", claims=_all_hold)
    monkeypatch.setitem(sys.modules, "answered", answered)
    text = write(tiny_study, answered).path.read_text()
    order = [
        "A few words that recur",
        "2 studies weighed 7 claims",
        'id="tiny_study"',
        "<figure>",
        "<details open>",
        'id="answered"',
        '<p class="answer">After some hundred throws.</p>',
        "<summary>2 claims: all hold</summary>",
        'id="verdicts"',
        'id="exceptions"',
        "<footer>",
    ]
    places = [text.index(each) for each in order]
    assert places == sorted(places)
    assert text.count("<details open>") == 1
    assert text.count('class="answer"') == 1


def _all_hold(data):
    return [tiny_study.claims(data)[0], tiny_study.claims(data)[2]]


def test_claims_that_do_not_hold_are_listed_last_by_their_question(write, monkeypatch):
    text = write(tiny_study).path.read_text()
    last = text[text.index('id="exceptions"') :]
    assert last.count(f'<a href="#tiny_study">{tiny_study.QUESTION}</a>') == 3
    assert "Every coin is biased by a quarter." in last
    assert "Shares are at least nought." not in last
    monkeypatch.setitem(sys.modules, "held", variant("held", claims=_all_hold))
    held = write(sys.modules["held"]).path.read_text()
    assert 'id="exceptions"' not in held
    assert 'href="#exceptions"' not in held


def test_every_recurring_word_is_told(write):
    text = write().path.read_text()
    for word in ("component", "salience S(k;C)", "leak slope", "CD-n", "tangent kernel"):
        assert f"<dt>{word}</dt><dd>" in text


def test_the_page_is_one_file_that_asks_nothing_of_the_network(write):
    made = write(tiny_study)
    text = made.path.read_text()
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"", text)
    assert addresses
    assert {address.partition(":")[0] for address in addresses if address[0] != "#"} == {"data"}
    assert not re.search(r"url\(|@import|<script", text)
    assert [path.name for path in made.path.parent.iterdir()] == ["index.html"]


def test_every_link_of_the_page_leads_somewhere(write):
    text = write(tiny_study, variant("published.overlap.long", PRESETS={})).path.read_text()
    targets = re.findall(r"href=\"#([^\"]+)\"", text)
    for target in [*targets, *re.findall(r"aria-labelledby=\"([^\"]+)\"", text)]:
        assert text.count(f' id="{target}"') == 1, target


def test_a_study_without_the_preset_is_named(write):
    made = write(tiny_study, preset="paper")
    assert made.results == ()
    assert "It has no paper preset." in made.path.read_text()


def test_a_study_that_fails_costs_the_reader_no_other(write, monkeypatch):
    import broken_study

    made = write(broken_study, tiny_study)
    assert [entry.name for entry in made.failures] == ["broken_study"]
    assert [result.name for result in made.results] == ["tiny_study"]
    text = made.path.read_text()
    assert "It was stopped by an error: ZeroDivisionError: division by zero" in text


def test_a_study_that_cannot_be_imported_costs_the_reader_no_other(write, tmp_path):
    path = tmp_path / "mistyped.py"
    path.write_text("QUESTION = 'Why?'\ndef cell(config:\n")
    made = write(path, tiny_study)
    assert [result.name for result in made.results] == ["tiny_study"]
    text = made.path.read_text()
    why = f"a study can be imported; got SyntaxError in {path}, line 2: '(' was never closed"
    assert text.index("1 of 2 studies have no result here") < text.index("What was claimed, and")
    assert why in html.unescape(text)


def test_a_page_without_studies_is_still_a_page(write):
    assert "No study has been run for this page yet." in write().path.read_text()


def test_numbers_are_set_with_a_true_minus_sign():
    assert number(-1.98095238) == "−1.981"
    assert number(2.0) == "2"
    assert number(float("inf")) == "inf"
