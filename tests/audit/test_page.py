"""The page: what it says is true, nothing from the table acts in it, and it stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise

import audit_samples
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from partwhole import audit_split
from partwhole import page as shell
from partwhole.audit import HoldOut
from partwhole.audit.judging.judge import judge
from partwhole.audit.page import charts, to_html, words
from partwhole.audit.page.cells import grids, states
from partwhole.audit.page.findings import ROWS
from partwhole.audit.page.grid import PALETTE, draw, png
from partwhole.audit.page.marks import targets
from partwhole.audit.page.opening import DOUBTFUL
from partwhole.audit.page.signed import groups_of
from partwhole.audit.reading.source import File
from partwhole.audit.rules import RULES, Finding

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}
SAMPLES = [
    "faulty",
    "sums",
    "scenes",
    "hostile",
    "products",
    "parity",
    "votes",
    "rivals",
    "nothing",
    "large",
    "silenced",
    "one_label",
    "ring",
    "islands",
    "measured",
]
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Reader(HTMLParser):
    """Reads a page as a browser does: elements, attributes, text; and that each tag is closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.text = ""
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.labels: list[str] = []
        self._caption, self._row = "", []
        self.feed(markup)
        self.close()
        assert self.open == [], "left open"

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs
        given_ = dict(attrs)
        if given_.get("id"):
            self.ids.append(str(given_["id"]))
        if "aria-label" in given_:
            self.labels.append(str(given_["aria-label"]))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((given_, ""))
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self._row = []
        if tag in ("td", "th"):
            self._row.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"{tag} closes something else"
        if tag == "tr":
            self.tables.setdefault(self._caption, []).append(self._row)

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif "style" not in self.open:
            self.text += data
        if "caption" in self.open:
            self._caption += data
        if self.open and ("td" in self.open or "th" in self.open):
            self._row[-1] += data


@pytest.fixture(scope="module")
def pages():
    # Samples of two and three components have sweeps of saliences, those of four none.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("partwhole.audit.audit.salience_sweep", lambda *_, **__: None)
        audit_samples.scenes()
        audit_samples.measured()
    return {name: to_html(getattr(audit_samples, name)()) for name in SAMPLES}


@pytest.fixture(scope="module")
def read(pages):
    return {name: Reader(made) for name, made in pages.items()}


def value(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_well_formed_and_asks_for_nothing(pages, read, name):
    made, page = pages[name], read[name]
    assert not re.search(r"https?:|@import|url\(|srcset|<base|<iframe|<object|<form", made)
    for key, given_ in page.attributes:
        assert not key.startswith("on")
        if key in ("src", "href"):
            assert str(given_).startswith(("#", "data:"))
    assert len(page.ids) == len(set(page.ids))
    links = [g for k, g in page.attributes if k == "href" and str(g).startswith("#")]
    assert {str(link)[1:] for link in links} <= set(page.ids)
    assert page.elements.count("h1") == 1
    assert len(made.encode()) < 1_500_000


@pytest.mark.parametrize("name", SAMPLES)
def test_only_the_pages_own_script_may_run(pages, read, name):
    code = [text for attributes, text in read[name].scripts if not attributes.get("type")]
    assert len(code) == 1
    digest = base64.b64encode(hashlib.sha256(code[0].encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in pages[name]
    kinds = {attributes.get("type") for attributes, _ in read[name].scripts}
    # Where nothing is held out there is no grid to carry data for.
    assert kinds == ({None} if name == "nothing" else {None, "application/json"})


def test_names_from_the_table_are_text(read):
    page = read["hostile"]
    assert page.elements.count("title") == 1 + page.elements.count("desc")
    assert not {"img", "b2", "iframe"} & set(page.elements)
    for name in audit_samples.HOSTILE:
        if name.isprintable():
            assert name in page.text
    assert "\\u2028\\u202eline" in page.text
    assert not re.search("[\u2028\u202e\x00]", page.text)


def test_data_for_the_script_cannot_end_it():
    for text in audit_samples.HOSTILE:
        made = str(shell.data([text, "</script>"], id="x"))
        inner = made.removeprefix('<script type="application/json" id="x">')
        inner = inner.removesuffix("</script>")
        assert not set(inner) & set("<>&\u2028")
        assert json.loads(inner) == [shell.visible(text), "</script>"]


def test_a_lone_surrogate_does_not_stop_the_page():
    report = audit_samples.sums()
    finding = replace(report.findings[0], message="a \ud800 b")
    made = to_html(replace(report, findings=(finding,)))
    assert "a \\ud800 b" in made


@pytest.mark.parametrize("name", ["faulty", "sums", "scenes", "votes"])
def test_the_verdict_and_every_finding_are_told(read, name):
    report, text = getattr(audit_samples, name)(), read[name].text
    assert report.headline in text
    assert f"order K = {report.order}" in text
    assert report.findings
    for finding in report.findings:
        assert finding.message in text
        assert RULES[finding.rule].meaning in text
        assert RULES[finding.rule].remedy in text
        combinations = [tuple(row) for row in report.table.components[finding.rows].tolist()]
        distinct = list(dict.fromkeys(combinations))
        if distinct:
            rows, many = len(combinations), len(distinct)
            assert f"{rows} row{'s' * (rows > 1)} with {many} combination" in text
        for each in distinct[:20]:
            values = [str(v[i]) for v, i in zip(report.table.values, each, strict=True)]
            assert f"({', '.join(values)}) → " in text
    for rule in RULES.values():
        assert rule.trigger in text


def test_a_silenced_rule_is_shown_with_its_reason(read):
    page = read["faulty"]
    assert "Silenced: four colours are all there are <b>" in page.text
    rules = {row[0]: row for row in page.tables["All rules, with the thresholds in force"]}
    state = {cells[-1] for name, cells in rules.items() if name.startswith("thin-coverage")}
    assert state == {"silenced: four colours are all there are <b>"}


def test_rows_are_told_by_combination_and_by_number(read):
    # By hand: the 30 rows that repeat training, after 43 others; and four of which one disagrees.
    text = read["faulty"].text
    assert "30 rows with 1 combination:(cross, red) → no · 30 rowsThe rows' numbers43–72" in text
    assert "(cross, green) → no (1) and yes (3) · 4 rowsThe rows' numbers33–35, 73" in text
    assert "2 rows with 2 combinations:(circle, black) → yes(moon, green) → no" in text
    assert "Rows of the table are counted from 0." in text
    assert "is on line" not in text


def test_of_many_rows_the_first_numbers_are_listed():
    report = audit_samples.sums()
    rows = np.arange(0, 2 * (ROWS + 3), 2)
    finding = Finding("unseen-value", "error", "a message", rows, "test", "")
    text = Reader(to_html(replace(report, findings=(finding,)))).text
    listed = text.partition("The rows' numbers")[2].partition(" more rows")[0]
    assert listed.endswith(", and 3")
    assert len(listed.split(", ")) == ROWS + 1


def test_lines_are_counted_only_where_they_are_known():
    report = audit_samples.sums()
    for files, said in (
        ([File("a/t.csv", 9, 4)], "; row 0 is on line 4 of t.csv."),
        ([File("a.csv", 9, 2), File("b.csv", 5, 3)],
         "; row 0 is on line 2 of a.csv; row 9 is on line 3 of b.csv."),
        ([File("a.csv", 9), File("b.csv", 5, 3)], "; row 9 is on line 3 of b.csv."),
        ([File("", 14, None)], "."),
    ):  # fmt: skip
        table = replace(report.table, files=tuple(files))
        text = Reader(to_html(replace(report, table=table))).text
        assert f"Rows of the table are counted from 0{said}" in text


@given(st.sets(st.integers(0, 400), min_size=1), st.integers(1, 30))
def test_ranges_are_read_back(rows, most):
    text, left = words.ranges(np.array(sorted(rows)), most)
    told = []
    for each in text.split(", "):
        first, _, last = each.partition("–")
        told += range(int(first), int(last or first) + 1)
    assert told == sorted(rows)[: len(told)]
    assert len(told) + left == len(rows)
    assert len(text.split(", ")) <= most


def carried(page: Reader) -> list[dict]:
    return [json.loads(text) for kind, text in page.scripts if kind.get("type")]


def unpacked(text: str, size: int) -> list[int]:
    six = [ALPHABET.index(sign) for sign in text]
    return [(s >> shift) & 3 for s in six for shift in (4, 2, 0)][:size]


@pytest.mark.parametrize("name", ["faulty", "scenes"])
def test_cells_are_counted_as_by_hand(read, name):
    report = getattr(audit_samples, name)()
    table = report.table
    for split, data in enumerate(carried(read[name]), 1):
        assert data["names"] == list(table.names)
        rows = list(zip(table.components.tolist(), table.split.tolist(), strict=True))
        train = {tuple(row) for row, part in rows if part == 0}
        held = {tuple(row) for row, part in rows if part == split} - train
        for key, pair in data["pairs"].items():
            i, j = map(int, key.split(","))
            code = iter(unpacked(pair["s"], table.n_values[i] * table.n_values[j]))
            place = 0
            for a in range(table.n_values[i]):
                for b in range(table.n_values[j]):
                    seen = sum(row[i] == a and row[j] == b for row in train)
                    out = sum(row[i] == a and row[j] == b for row in held)
                    assert (pair["n"][place], pair["h"][place]) == (seen, out)
                    expected = {(0, 0): 0, (1, 0): 1, (1, 1): 2, (0, 1): 3}[seen > 0, out > 0]
                    assert next(code) == expected
                    place += 1
        assert len(data["pairs"]) == len(table.names) * (len(table.names) - 1) // 2


def test_the_grid_is_told_in_words(read):
    # By hand: 7 shapes x 5 colours; 12 combinations in training; 7 held out; 16 are in neither.
    assert (
        "Down: shape; across: colour. Of 35 cells 12 are all seen, 0 have some combinations held "
        "out, 7 are held out only, and 16 are in neither. Held out only: (circle, black), (circle, "
        "blue), (circle, red), (moon, green), (square, blue), (square, red), (star, red)."
    ) in read["faulty"].text


def test_a_drawn_grid_has_a_mark_for_each_cell():
    cell = np.array([[0, 1, 2, 3], [3, 3, 1, 1]])
    made = str(draw(cell, ["a", "b"], ["c", "d", "e", "f"]))
    for style, ends in (("never", "h0"), ("all", "z"), ("some", "zM"), ("held", "zm")):
        path = re.search(rf'd="([^"]+)" class="is-{style}"', made)
        assert path
        counted = path[1].count(ends)
        assert counted == np.sum(cell == ("never", "all", "some", "held").index(style)), style


def test_a_large_grid_is_a_picture():
    cell = np.random.default_rng(0).integers(0, 4, (70, 90))
    with Image.open(BytesIO(png(cell))) as picture:
        assert picture.size == (90 * 5, 70 * 5)
        shown = np.array(picture.convert("RGBA"))[::5, ::5]
    assert np.array_equal(shown, np.array(PALETTE)[cell])


def test_cells_of_a_thin_grid_can_be_seen():
    cell = np.random.default_rng(0).integers(0, 4, (300, 3))
    for grid, sides in ((cell, (1, 12)), (cell.T, (12, 1))):
        with Image.open(BytesIO(png(grid))) as picture:
            assert picture.size == (grid.shape[1] * sides[1], grid.shape[0] * sides[0])
            pixels = np.array(picture.convert("RGBA"))[:: sides[0], :: sides[1]]
        assert np.array_equal(pixels, np.array(PALETTE)[grid])


def test_rows_that_labels_divide_evenly_are_a_tie_in_a_drawn_cell():
    rows = [(0, 0, "no"), (0, 0, "yes"), (0, 1, "yes"), (1, 0, "no")]
    frame = pd.DataFrame(rows, columns=["row", "column", "y"]).assign(split="train")
    frame.loc[4] = [1, 1, "no", "test"]
    case = audit_split(frame, ["row", "column"], "y", "split", add=0).evidence[0].case
    train = np.flatnonzero(case.label == -1)
    assert targets(case, train, np.zeros(1)) == ["a tie (0)"]


def test_a_proof_from_unseen_values_is_not_the_last_word():
    rows = [(a, b, f"is {a}", "train") for a in "pq" for b in "uvw" if a + b != "qw"]
    rows += [("q", "w", "is q", "test"), ("r", "w", "is r", "test"), ("s", "w", "is s", "test")]
    frame = pd.DataFrame(rows, columns=["first", "second", "y", "split"])
    for rows, said in ((frame, True), (frame[:-2], False)):
        report = audit_split(rows, ["first", "second"], "y", "split", add=0)
        text = Reader(str(report.to_html())).text
        assert ("Not solvable. " in text) == said
        assert ("Without them: Solvable in principle" in text) == said


def test_names_of_axes_fit_into_their_charts(pages):
    axes = {
        name: re.findall(r'<text [^>]*class="name"[^>]*>([^<]*)</text>', page)
        for name, page in pages.items()
    }
    assert "hidden layers of a random ReLU network" in axes["scenes"]
    assert "salience S" in axes["sums"]
    # A sign is about 6 of the 380 pixels wide.
    assert max(len(axis) for names in axes.values() for axis in names) <= 60


def test_only_what_fits_is_shown_and_the_rest_is_told(read):
    made = grids(audit_samples.large().evidence[0].case, 4)
    assert sum(map(len, made.values)) <= 750
    assert grids(audit_samples.large().evidence[0].case).left_out == []
    case = audit_samples.large().evidence[0].case
    few = grids(case, 40)
    assert few.left_out[0].startswith("component number 0: the ")
    counts = np.bincount(case.task.components[:, 0], minlength=200)
    assert counts[few.values[0]].min() >= np.delete(counts, few.values[0]).max()
    assert "A random sample of 2,000 of 200,000 is drawn" in read["large"].text


@pytest.mark.parametrize("name", ["faulty", "products", "parity", "votes"])
def test_the_certificate_adds_up_on_the_page(read, name):
    report = getattr(audit_samples, name)()
    case, certificate = report.evidence[0].case, report.evidence[0].solvability.certificate
    lines = read[name].tables["The sum of the targets, for checking by hand"]
    head, body, foot = lines[0], lines[1:-1], lines[-1]
    assert head[0] == "Held-out combination"
    total = 0.0
    combinations, weights = [], []
    for cells in body:
        weight, target, product = value(cells[1]), value(cells[-2]), value(cells[-1])
        assert product == pytest.approx(weight * target, rel=1e-5)
        total += product
        words_ = cells[0][1:-1].split(", ")
        place = [
            list(map(str, of)).index(v) for of, v in zip(case.task.values, words_, strict=True)
        ]
        combinations.append(place)
        weights.append(weight)
        # The target is that of the table's rows with this combination, none of them training's.
        rows = np.flatnonzero(np.all(report.table.components == place, axis=1))
        assert set(report.table.split[rows].tolist()) == {1}
        if report.table.labels is not None:
            assert {report.table.labels[i] for i in report.table.label[rows]} == {cells[2]}
        else:
            assert target == pytest.approx(report.table.targets[rows, 0].mean(), rel=1e-5)
    assert value(foot[-1]) == pytest.approx(total, rel=1e-5)
    assert total > 0
    assert total == pytest.approx(certificate.total, rel=1e-5)
    # Every sum of conjunctions up to K gives 0, whatever was seen: a route without the design.
    columns = np.array(combinations)
    for keep in range(1 << columns.shape[1]):
        chosen = [c for c in range(columns.shape[1]) if keep >> c & 1]
        if len(chosen) <= report.order:
            sums: dict[tuple, float] = {}
            for row, weight in zip(columns[:, chosen].tolist(), weights, strict=True):
                sums[tuple(row)] = sums.get(tuple(row), 0.0) + weight
            assert all(abs(each) < 1e-9 for each in sums.values())
    balance = next(
        t
        for c, t in read[name].tables.items()
        if c.startswith("All numbers that such a learner adds up")
    )
    assert all(row[1] == "never seen" or row[-1] == "0" for row in balance[1:])


def test_a_proof_of_many_labels_adds_up_for_each(read):
    lines = read["rivals"].tables["The sum of the targets, for checking by hand"]
    assert lines[0][3] == "Compared"
    sums: dict[tuple[str, int, str], float] = {}
    for cells in lines[1:-1]:
        right, rival = cells[3].split(" − ")
        assert right == cells[2]
        for place, name in enumerate(cells[0][1:-1].split(", ")):
            for label, sign in ((right, 1), (rival, -1)):
                key = label, place, name
                sums[key] = sums.get(key, 0.0) + sign * value(cells[1])
    assert set(sums.values()) == {0.0}
    assert value(lines[-1][-1]) == sum(value(cells[-1]) for cells in lines[1:-1]) > 0


def test_a_split_that_holds_nothing_out_is_told(read):
    page = read["nothing"]
    assert "training has all of themNo combination is held out, so none was tested." in page.text
    assert "training contains the combination of each of the 9 rows of this test split" in page.text
    assert "What learners will do" not in page.text
    assert "✓" not in page.text
    assert page.ids.count("s1") == 1
    assert "s1-solvable" not in page.ids


def test_only_what_was_tested_and_found_gets_a_tick(pages, read):
    for name in SAMPLES:
        report = getattr(audit_samples, name)()
        opening = pages[name].partition("<nav")[0]
        plain = report.verdict == "supported" and name not in ("silenced", "nothing")
        assert ("Training supports" in opening) == plain, name
        doubtful = {one.rule for one in report.warnings} & set(DOUBTFUL)
        assert ("✓" in opening) == (plain and not doubtful), name
    assert "; but see shortcut." in read["one_label"].text
    assert (
        f"○ {audit_samples.silenced().headline}Supported with 2 errors silenced: not-solvable and "
        "no-better-than-constant. If they counted, training would not support"
    ) in read["silenced"].text


def test_what_was_not_decided_is_not_called_supported():
    report = audit_samples.sums()
    one = report.evidence[0]
    assert one.solvability
    open_ = replace(one, solvability=replace(one.solvability, solvable=None))
    changed = replace(report, evidence=(open_,), findings=judge([open_], report.settings))
    text = Reader(to_html(changed)).text
    assert changed.headline.startswith("Not decided if ")
    assert f"○ {changed.headline}Whether" in text
    assert "Whether training supports the tested combinations was not decided" in text
    assert "Training supports" not in text


def test_up_to_which_order_learners_generalise_is_said(read):
    text = read["scenes"].text
    assert "generalise by parts and pairs (order 2): whatever depends on more is memorized" in text
    assert "In deep networks 3 values may interact too" in text
    assert "share, without terms for sets of 3 components: on a held-out combination" in text
    assert "hidden layers of a random ReLU network, generalising up to order 2" in text
    for name in ("sums", "parity"):
        assert "generalise by" not in read[name].text
        assert "components two inputs share: on a held-out combination" in read[name].text


def test_labels_are_compared_with_guessing(read):
    assert "(balanced accuracy; guessing has 50 %)" in read["faulty"].text
    assert "(balanced accuracy; guessing has 33.3 %)" in read["scenes"].text
    assert "Always answering the commonest label is right in " in read["scenes"].text
    told = "The test split has only one label, so accuracy alone is not informative."
    assert told in read["one_label"].text
    for name in ("faulty", "scenes", "sums"):
        assert told not in read[name].text
    for page in read.values():
        assert "A constant answer" not in page.text
        assert not any("constant answer" in label for label in page.labels)


def test_open_answers_are_said_to_be_the_learners_choice(read):
    told = "Training leaves some of these answers open"
    for name in SAMPLES:
        evidence = getattr(audit_samples, name)().evidence
        is_open = any(e.determination and e.determination.share < 1 for e in evidence)
        assert (told in read[name].text) == is_open, name


def test_additions_are_marked_grouped_and_counted(read):
    page = read["faulty"]
    first = page.tables["Combinations to add to training first"][1:]
    shown = [cells[0] for cells in first]
    held = {"(moon, green)", "(circle, black)", "(star, red)", "(circle, red)"}
    for i, text in enumerate(shown, 1):
        assert text.startswith(f"{i}. (")
        held_out = text.removesuffix("held out: move it into training")
        name = held_out.removesuffix("not in training or test: collect").removeprefix(f"{i}. ")
        assert (held_out != text) == (name in held)
        assert text.endswith(("training", "collect"))
    assert [cells[1].split(" → ")[1] for cells in first] == ["85.7 %", "100 %"]
    # Those found after them settle nothing more, and are left out.
    assert len(audit_samples.faulty().evidence[0].additions.steps) > len(first)
    # Eight blocks are joined by seven combinations at least.
    assert "To determine all takes at least 7 additions; 3 are listed." in read["islands"].text
    assert "To determine all takes" not in page.text
    sums = read["sums"]
    assert "None is needed: training determines all combinations of test." in sums.text
    assert "eigenvalue" not in sums.text
    assert "Tried at each step" not in sums.text


def test_additions_that_do_not_settle_all_are_told_so():
    report = audit_samples.islands()
    one = report.evidence[0]
    assert one.determination
    unknown = replace(one.determination, free_dimensions=None)
    text = Reader(to_html(replace(report, evidence=(replace(one, determination=unknown),)))).text
    assert "3 additions are listed; to determine all takes more." in text


def test_why_no_addition_is_recommended_is_told():
    report = audit_samples.islands()
    one = report.evidence[0]
    assert one.additions
    none = replace(one.additions, steps=(), evaluations=0, remarks=("the reason is this",))
    useless = replace(one.additions.steps[0], determined=one.additions.determined)
    no_gain = replace(none, steps=(useless,))
    for found in (none, no_gain):
        whole = to_html(replace(report, evidence=(replace(one, additions=found),)))
        assert "None is recommended.The reason is this." in Reader(whole).text
    text = Reader(to_html(replace(report, evidence=(replace(one, additions=none),)))).text
    assert "None is recommended.The reason is this." in text
    assert "Tried at each step" not in text


def test_measured_features_are_told_with_what_they_leave_out():
    report = audit_samples.measured()
    one = report.evidence[0]
    assert one.prediction
    for structure, noise in ((0.661, 0.0934), (0.97, 0.0)):
        found = replace(one.prediction, structure=structure, noise=noise, readout="")
        text = Reader(to_html(replace(report, evidence=(replace(one, prediction=found),)))).text
        assert ("several times larger" in text) == (structure < 0.95)
        if noise:
            assert (
                "the overlap explains 66 % of the variance of similarity; the noise of single "
                "rows is 0.093 of the similarity gained by sharing all components. It counts as a "
                "ridge, which holds for far more features than rows"
            ) in text
        else:
            assert "the noise of single rows is set to 0" in text
    assert "Measured features:" not in Reader(to_html(audit_samples.scenes())).text


@pytest.mark.parametrize("name", ["faulty", "votes", "rivals", "sums"])
def test_every_held_out_combination_is_in_the_table(read, name):
    evidence = getattr(audit_samples, name)().evidence[0]
    frame = evidence.to_frame()
    caption, lines = next(
        (c, t)
        for c, t in read[name].tables.items()
        if c.endswith("by squared error") or "by squared error;" in c
    )
    assert evidence.case.has_labels == ("wrong ones first" in caption)
    assert len(lines) - 1 == len(frame)
    names = evidence.case.task.names
    by_name = {
        f"({', '.join(map(str, row[: len(names)]))})": i
        for i, row in enumerate(frame.itertuples(index=False))
    }
    errors, wrongs = [], []
    for cells in lines[1:]:
        row = frame.iloc[by_name.pop(cells[0])]
        assert value(cells[-2]) == row["weight"]
        assert (cells[-1] == "yes") == row["determined"]
        targets = [row[c] for c in frame.columns if str(c).startswith("target")]
        outputs = [row[c] for c in frame.columns if str(c).startswith("prediction")]
        errors.append(float(np.mean((np.array(targets) - np.array(outputs)) ** 2)))
        told = [value(v) for v in cells[-3].split(", ")]
        # Shown to three digits, labels' outputs; numbers to four.
        assert told == pytest.approx(outputs, rel=6e-3, abs=1e-12)
        if evidence.case.has_labels:
            assert cells[1] == row["label"]
            tie = np.sum(np.isclose(outputs, max(outputs))) > 1 if len(outputs) > 1 else False
            wrong = row["label"] != row["predicted label"]
            assert tie or cells[2] == row["predicted label"] + "wrong" * wrong
            wrongs.append(wrong or tie)
        else:
            wrongs.append(False)
            assert value(cells[1]) == pytest.approx(row["target"])
    assert not by_name
    keys = [(not w, -e) for w, e in zip(wrongs, errors, strict=True)]
    assert all(a[0] < b[0] or (a[0] == b[0] and a[1] <= b[1] + 1e-12) for a, b in pairwise(keys))


def test_a_long_table_of_predictions_says_that_it_is_cut(read):
    caption = next(c for c in read["large"].tables if "arranged by squared error" in c)
    assert caption.endswith("(the first 200 of 200,000)")
    assert len(read["large"].tables[caption]) == 201
    for name in ("large", "sums"):
        assert (
            "In Python, to_frame() of the evidence returns all of them; of the command, --output "
            "writes a table of all test rows with their predictions."
        ) in read[name].text


def test_worst_values_are_only_those_with_errors(read):
    for name in ("faulty", "scenes", "sums"):
        lines = next(t for c, t in read[name].tables.items() if c.startswith("Values at which"))
        right = "0" if name == "sums" else "100 %"
        assert right not in {cells[1] for cells in lines[1:]}
    assert "No value is predicted wrong." in read["one_label"].text
    assert "counts by its rows' weights" in read["sums"].text


def test_what_shortcuts_were_looked_at_is_told(read):
    none = "None found: no component alone predicts the targets of training and fails in test"
    assert none in read["sums"].text
    text = read["one_label"].text
    assert none not in text
    assert "Each of these components alone predicts the targets of training." in text


def test_a_long_proof_is_left_to_a_program(read):
    assert "With 48 terms this is tedious to check by hand" in read["ring"].text
    found = json.loads(audit_samples.ring().to_json())["splits"][0]["solvability"]["certificate"]
    certificate = audit_samples.ring().evidence[0].solvability.certificate
    kept = [each["weight"] for each in found["combinations"]]
    assert kept == certificate.weights.tolist()
    for name in ("products", "parity", "faulty"):
        assert "tedious to check by hand" not in read[name].text


def test_the_rectangle_is_drawn_with_signs(pages):
    drawn = re.search(r'<figure class="certificate">.*?</figure>', pages["products"], re.S)
    assert drawn
    cells = re.findall(r'class="(plus|minus)"></rect><text[^>]*>([+−])</text>', drawn[0])
    assert sorted(cells) == [("minus", "−")] * 2 + [("plus", "+")] * 2
    both = re.findall(r'<svg [^>]*class="corners">', pages["parity"])
    assert len(both) == 4  # a box of eight corners for the proof, another for the derivation


def test_a_derivation_adds_up_to_the_target(read):
    # Sums are settled exactly: what the page derives for (-4, -4) must be -8.
    found = re.search(r"f\((-?\d), (-?\d)\) = ", read["sums"].text)
    assert found
    expected = int(found[1]) + int(found[2])
    line = re.search(r"((?:[+−] )?\([−\d]+\)(?: [+−] \([−\d]+\))+) = ([−\d]+)", read["sums"].text)
    assert line
    terms = re.findall(r"([+−]?) ?\(([−\d]+)\)", line[1])
    total = sum((-1 if sign == "−" else 1) * value(number) for sign, number in terms)
    assert total == value(line[2]) == expected


def test_what_is_open_changes_nothing_in_training(read):
    lines = read["faulty"].tables[
        "A change of the learned function that leaves all training outputs as they are"
    ][1:]
    assert {row[1] for row in lines} == {"held out", "training"}
    for row in lines:
        assert row[-1] == ("1" if row[1] == "held out" else "0")
        terms = re.findall(r"([+−]) (\d+)", row[2])
        assert sum((-1 if s == "−" else 1) * int(n) for s, n in terms) == value(row[-1])


def test_blocks_of_the_seen_graph_are_drawn(read, pages):
    assert "there are 2 blocks." in read["faulty"].text
    assert 'class="blocks"' in pages["faulty"]
    assert 'class="blocks"' not in pages["sums"]


def test_the_curve_is_that_of_the_predictions(read):
    found = audit_samples.sums().evidence[0].prediction
    table = next(t for c, t in read["sums"].tables.items() if c.startswith("Predictions at"))
    assert [row[0] for row in table[1:]] == [point.label for point in found.points]
    for row, point in zip(table[1:], found.points, strict=True):
        assert value(row[-2]) == pytest.approx(point.error, rel=5e-3, abs=1e-9)
        # Proposition 5.1: two anchors, so the slope is 2S.
        assert value(row[-1]) == pytest.approx(2 * point.position, abs=2e-3)


def test_dots_of_exact_predictions_lie_on_the_line():
    truth = np.random.default_rng(1).normal(size=50)
    made = str(charts.scatter(truth, truth, labels=("x", "y"), title="t", text="s"))
    line = re.search(r'd="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)" class="level"', made)
    dots = re.search(r'd="([^"]+)" class="dots few"', made)
    assert line
    assert dots
    a, b, c, d = map(float, line.groups())
    places = [tuple(map(float, each)) for each in re.findall(r"M([\d.]+) ([\d.]+)h0", dots[1])]
    assert len(places) == len(set(np.round(truth, 12)))
    for x, y in places:
        # Places are rounded to a tenth of a unit.
        assert y == pytest.approx(b + (x - a) / (c - a) * (d - b), abs=0.15)


def test_right_and_wrong_answers_lie_on_their_sides():
    values = np.array([-1.0, -0.5, 0.0, 0.0, 0.25, 2.0])
    made = str(charts.strips([("a", values)], label="m", title="t", text="s"))
    zero = re.search(r'd="M([\d.]+) [\d.]+V\d+" class="level"', made)
    assert zero
    for style, sign in (("wrong", -1), ("right", 1)):
        bars = re.search(rf'd="([^"]+)" class="bar {style}"', made)
        assert bars
        starts = re.findall(r"M([\d.]+) [\d.]+V[\d.]+H([\d.]+)", bars[1])
        assert len(starts) == 2
        for left, right in starts:
            middle = (float(left) + float(right)) / 2
            assert (middle - float(zero[1])) * sign > 0
    assert 'class="bar tie"' in made
    assert 'class="bar tie"' not in str(
        charts.strips([("a", values[:2])], label="m", title="t", text="s")
    )


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_inside_and_told_apart(low, share):
    span = share * max(1.0, abs(low))
    axis = charts.Axis(low, low + span, 0.0, 1.0)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert len({text for _, text in axis.marks(ticks)}) == len(ticks)
    assert all(low - 1e-6 * span <= t <= low + span + 1e-6 * span for t in ticks)


def test_groups_are_those_that_vary_together():
    rows = np.array([[0, 3, 1, 9], [0, 4, 1, 9], [2, 3, 0, 9], [2, 4, 0, 9]])
    assert groups_of(rows) == ((0, 2), (1,))
    assert states(np.zeros((1, 1), int), np.ones((1, 1), int)).tolist() == [[3]]


def test_many_splits_stay_small_and_are_all_named():
    report = audit_samples.scenes()
    one = report.evidence[0]
    made = to_html(replace(report, evidence=(one,) * 40))
    page = Reader(made)
    assert len(made) < 1_500_000
    assert "The JSON output contains the evidence for the other 30." in page.text
    assert len(page.tables["Summary of further test splits"]) == 31


def test_held_out_combinations_of_two_labels_are_right_in_half_of_their_rows():
    table = pd.DataFrame({
        "a": list("qqqqrrqprpqr"), "b": [2, 1, 1, 2, 1, 0, 2, 0, 1, 2, 2, 0],
        "c": list("vuuvvuvuvuvv"), "y": ["no", "yes"] + ["no"] * 10,
    })  # fmt: skip
    split = HoldOut("combinations", 0.2, 0)
    report = audit_split(table, ["a", "b", "c"], target="y", split=split, add=1)
    prediction = report.evidence[0].prediction
    assert prediction.ceiling == 0.5
    limit = "At most 50 % is possible: the other rows have labels that training lacks, or differ"
    assert limit in str(report.to_html())
