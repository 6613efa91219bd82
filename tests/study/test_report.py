"""The report names every study, shows every claim, and leads from each page to the others."""

from __future__ import annotations

import csv
import html
import re
import sys

import pytest
import tiny_study
from study_variants import CAPTION, QUESTION, variant

from partwhole.study import report
from partwhole.study.pages.parts import interval, number


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}

    def write(*studies, **rest):
        return report.write_report(
            studies, tmp_path / "out", store=tmp_path / "store", progress=False, **rest
        )

    yield write
    for name in {*sys.modules} - before:
        del sys.modules[name]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Return the report of one study."""
    folder = tmp_path_factory.mktemp("report")
    return report.write_report([tiny_study], folder / "out", store=folder / "store", progress=False)


def text_of(report, name: str = "index.html") -> str:
    return (report.path.parent / name).read_text("utf-8")


def test_the_pages_of_a_report(tiny):
    folder = tiny.path.parent
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
    assert pages == [
        "index.html",
        "ledger.csv",
        "ledger.html",
        "papers/bernoulli-1713.html",
        "papers/nobody-1700.html",
        "studies/tiny_study.html",
    ]


def test_the_page_of_a_study_shows_all_of_it(tiny):
    text = text_of(tiny, "studies/tiny_study.html")
    (result,) = tiny.results
    assert text.count(f">{QUESTION}</h1>") == 1
    assert f"{CAPTION}, for each seed: they approach one half.</figcaption>" in text
    assert '<p class="answer">After 1,000 throws the share of heads is 0.50, from 0.48' in text
    assert result.data.attrs["configuration"] in text
    assert "<dd>12 in " in text
    assert "partwhole run tiny_study --preset laptop" in text
    assert "6 numerical checks, all passed." in text
    for claim in result.claims:
        row = re.search(rf"rowheader\">{re.escape(html.escape(claim.statement))}.*?</tr>", text)
        assert row, claim.statement
        assert f"</span> {claim.verdict}</span>" in row[0]
    assert f"<small>{interval(*result.claims[0].interval)}</small><small>n = 6</small>" in text
    assert "<b>coin" not in text
    assert "<small>It is not.</small>" in text
    assert "illustration</span><small>as claimed</small>" in text
    assert "two standard deviations" not in text
    assert 'href="../ledger.html#search=tiny_study"' in text


def test_the_note_of_a_claim_that_holds_is_read_in_the_ledger(write, tmp_path):
    report = write(variant(tmp_path, "calm", toml={"reference = 0.75": "reference = 0.5"}))
    assert "It is not." not in text_of(report, "studies/calm.html")
    assert "It is not." in text_of(report, "ledger.html")


def test_the_index_tells_what_was_found_and_how_much_was_run(tiny):
    text = text_of(tiny)
    assert "1 study with the preset quick in " in text
    assert "6 numerical checks, all passed; " in text
    counts = re.findall(r"<li title=\"[^\"]*\">(\d+) <span class=\"verdict (\w+)\"", text)
    kinds = "holds", "fails", "open", "illustration", "outside"
    assert counts == list(zip("21111", kinds, strict=True))
    assert text.count('<li><img src="data:image/svg+xml') == 1
    headline = "After 1,000 throws a fair coin looks fair: 0.50 of them are heads."
    assert f'<a href="studies/tiny_study.html">{headline}</a>' in text
    assert f'<a href="studies/tiny_study.html">{QUESTION}</a>' in text


def test_a_check_that_fails_is_named(write, tmp_path):
    path = variant(tmp_path, "unchecked", {"* 1000 % 1": "* 1000 % 1 + 1"})
    report = write(path)
    text = text_of(report, "studies/unchecked.html")
    assert "Failed of 6 numerical checks: </strong>heads are whole numbers differ by 1," in text
    assert "6 numerical checks, 1 of them fails; " in text_of(report)
    assert "<strong>a numerical check failed</strong>" in text_of(report)


def test_the_page_of_a_paper_goes_item_by_item(tiny):
    text = text_of(tiny, "papers/bernoulli-1713.html")
    assert '<p class="source">1 reproduced</p>' in text
    row = re.search(r"rowheader\">Part 4</th>.*?</tr>", text)
    assert row
    assert "</span> reproduced</span>" in row[0]
    assert 'href="../studies/tiny_study.html">tiny_study</a><small>quick</small>' in row[0]
    nobody = text_of(tiny, "papers/nobody-1700.html")
    assert "</span> not decided here</span>" in nobody


def test_a_claim_about_two_figures_is_stated_once(write, tmp_path):
    path = variant(tmp_path, "twofold", toml={'"Figure 1"': '"Figures 1 and 2"'})
    text = text_of(write(path), "papers/nobody-1700.html")
    assert text.count("Three coins show what six do.") == 1
    row = re.search(r"rowheader\">Figure 2</th>.*?</tr>", text)
    assert row
    assert "As for Figure 1." in row[0]


def test_the_ledger_has_every_claim(tiny):
    text = text_of(tiny, "ledger.html")
    with (tiny.path.parent / "ledger.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (result,) = tiny.results
    assert [row["claim"] for row in rows] == [claim.statement for claim in result.claims]
    assert [row["kind"] for row in rows] == ["published", *["ours"] * 4, "published"]
    assert rows[0]["low"] == str(result.claims[0].interval[0])
    assert "\\u003cb\\u003ecoin" in text
    assert "6 claims and 1 kind of check in 1 study" in text
    assert '"Heads are whole numbers."' in text


def test_a_spreadsheet_reads_no_claim_as_a_formula(write, tmp_path):
    path = variant(tmp_path, "formula", toml={"Shares are at least": "=1+2 Shares are at least"})
    with (write(path).path.parent / "ledger.csv").open(newline="") as file:
        assert [row["claim"][:5] for row in csv.DictReader(file)][2] == "'=1+2"


def test_pages_ask_nothing_of_the_network_and_every_link_leads_somewhere(write, tmp_path):
    report = write(tiny_study, tmp_path / "absent.py")
    folder = report.path.parent
    for path in folder.rglob("*.html"):
        text = path.read_text("utf-8")
        assert not re.search(r"url\(|@import|<script src", text)
        for address in re.findall(r"(?:src|href)=\"([^\"]*)\"", text):
            if address.startswith("#"):
                assert text.count(f' id="{address[1:]}"') == 1, address
            elif not address.startswith("data:"):
                assert (path.parent / address.partition("#")[0]).is_file(), address


def test_a_study_without_the_preset_is_named(write):
    report = write(tiny_study, preset="paper")
    assert report.results == ()
    assert "It has no paper preset." in text_of(report)


@pytest.mark.parametrize(
    ("python", "toml", "why"),
    [
        ({'config["throws"]).mean()': "config)"}, {}, "It was stopped by an error: TypeError: "),
        (
            {"def figure(data):": "def figure(data):\n    1 / 0\n"},
            {},
            "ZeroDivisionError: division",
        ),
        ({"longest.min()": "longest.least()"}, {}, "AttributeError: 'DataArray' object has no att"),
        ({}, {"{share:.2f}": "{lost:.2f}"}, "a number that a study declares is one that its `num"),
        ({"PRESETS = {": "PRESETS = None\nOTHERS = {"}, {}, "a study's PRESETS are a mapping"),
    ],
)
def test_a_study_that_fails_costs_the_reader_no_other(write, tmp_path, python, toml, why):
    report = write(variant(tmp_path, "failing", python, toml), tiny_study)
    assert [entry.name.removesuffix(".py")[-7:] for entry in report.failures] == ["failing"]
    assert [result.name for result in report.results] == ["tiny_study"]
    text = html.unescape(text_of(report))
    assert why in text
    assert text.index("1 of 2 studies have no result here") < text.index(">Findings</h2>")


def test_a_study_that_cannot_be_imported_costs_the_reader_no_other(write, tmp_path):
    path = tmp_path / "mistyped.py"
    path.write_text("PRESETS = {}\ndef cell(config:\n")
    report = write(path, tiny_study)
    assert [result.name for result in report.results] == ["tiny_study"]
    why = f"a study can be imported; got SyntaxError in {path}, line 2: '(' was never closed"
    assert why in html.unescape(text_of(report))


def test_a_study_given_twice_is_run_once(write):
    assert len(write(tiny_study, tiny_study).results) == 1


def test_pages_of_former_studies_go(write, tmp_path):
    write(tiny_study, variant(tmp_path, "former"))
    report = write(tiny_study)
    assert [path.name for path in (report.path.parent / "studies").iterdir()] == ["tiny_study.html"]


def test_a_report_without_studies_is_still_a_report(write):
    assert "No study has been run for this page yet." in text_of(write())


def test_numbers_are_set_with_a_true_minus_sign():
    assert number(-1.98095238) == "−1.981"
    assert number(2.0) == "2"
    assert number(float("inf")) == "inf"
