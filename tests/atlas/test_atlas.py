"""Verdicts counted by loops, their ranks, the pages that are written, and the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import published_files as files
import pytest
from scipy.stats import binom, norm, rankdata, spearmanr, t

from partwhole._checks import InputError
from partwhole.atlas import find_splits, write_atlas
from partwhole.atlas.folder import Atlas, stored_atlas
from partwhole.atlas.overview import _right, splits_needed
from partwhole.atlas.readers import BENCHMARKS
from partwhole.atlas.readers.grids import SHAPES3D_RULES, SHAPES3D_SIZES, by_rule
from partwhole.atlas.text import at_order
from partwhole.atlas.verdict import (
    Step,
    Verdict,
    fingerprint,
    ranked,
    read_verdicts,
    to_json,
    verdicts_of,
)
from partwhole.cli import main


def verdict_of(folder):
    (split,) = find_splits(folder)
    table = split.read()
    report = split.audit(table, add=0)
    return table, report, verdicts_of(split, table, report)


def test_items_are_judged_by_their_worst_row(tmp_path):
    files.cogs(tmp_path)
    table, report, verdicts = verdict_of(tmp_path)
    assert [v.test for v in verdicts] == ["pp_recursion", "subj_to_obj_common"]
    rows = report.rows_to_frame()
    for verdict in verdicts:
        mine = rows[rows["split"] == verdict.test]
        sentences = table.frame["item"].iloc[mine["row"]].to_numpy()
        status = dict.fromkeys(sentences, "seen")
        for sentence, word in zip(sentences, mine["status"], strict=True):
            if word == "not determined" or status[sentence] == "seen":
                status[sentence] = word
        counts = pd.Series(status).value_counts()
        assert verdict.items == len(status)
        assert verdict.open == counts.get("not determined", 0)
        assert verdict.seen == counts.get("seen", 0)
    deep, owl = verdicts
    assert (deep.open, deep.unseen, owl.open, owl.unseen) == (1, 1, 0, 0)
    assert owl.supported_at == 1


def test_rows_are_items_where_nothing_else_is(tmp_path):
    files.pair_images(tmp_path / "cgqa", "older")
    _, report, (test, val) = verdict_of(tmp_path)
    rows = report.rows_to_frame()
    for verdict in (test, val):
        mine = rows[rows["split"] == verdict.test]
        assert verdict.items == len(mine)
        assert verdict.open == (mine["status"] == "not determined").sum()
        assert verdict.seen == (mine["status"] == "seen").sum()
    assert (test.items, test.seen, test.open, test.unseen) == (6, 2, 2, 2)
    assert test.unit == "image"


def verdict(split, held_out, *steps, target=("y",), components=("a", "b", "c")):
    return Verdict(
        split, "test", split, "", "row", components, target, 1, held_out, 0, 0, 0, 0, held_out,
        tuple(Step(order, n, u, s) for order, n, u, s in steps), (), 0.0, "",
    )  # fmt: skip


def test_ranks_and_orders_of_support():
    verdicts = [
        verdict("pairs", 4, (1, 4, 0, False), (2, 4, 0, True)),
        verdict("nothing", 0),
        verdict("sums", 4, (1, 4, 0, True), (2, 1, 0, None)),
        verdict("half", 4, (1, 2, 0, None)),
        verdict("open", 4, (1, 0, 0, None)),
    ]
    order = ranked(verdicts)
    assert [v.split for v in order] == ["open", "half", "sums", "pairs", "nothing"]
    assert [v.supported_at for v in order] == [None, None, 1, 2, None]
    assert order[3].determined == (1.0, 1.0, 0.0)


def percent_of(share):
    return f"{100 * share:g} %"


@pytest.mark.parametrize(
    ("steps", "shown", "decided"),
    [
        ([(1, 0, 0, None)], ("0 %", "0 %"), (True, True)),
        ([(1, 0, 4, None)], ("not decided", "not decided"), (False, False)),
        ([(1, 3, 1, None)], ("at least 75 %", "not decided"), (False, False)),
        ([(1, 4, 0, True)], ("100 %", "not decided"), (True, False)),
        ([(1, 4, 0, True), (2, 2, 2, None)], ("100 %", "at least 50 %"), (True, False)),
        ([(1, 4, 0, True), (2, 0, 0, None)], ("100 %", "0 %"), (True, True)),
    ],
)
def test_what_is_not_decided_is_not_shown_as_zero(steps, shown, decided):
    entry = verdict("a", 4, *steps)
    assert tuple(at_order(entry, order, percent_of) for order in (1, 2)) == shown
    assert tuple(entry.is_decided(order) for order in (1, 2)) == decided
    frame = Atlas((entry,)).to_frame()
    for order, is_known in zip((1, 2), decided, strict=True):
        assert frame[f"determined {order}"].isna().item() != is_known


def test_two_components_that_interact_determine_nothing():
    entry = verdict("a", 4, (1, 4, 0, True), components=("a", "b"))
    assert at_order(entry, 2, percent_of) == "0 %"


@pytest.mark.parametrize(
    ("steps", "target", "words"),
    [
        ([(1, 4, 0, True), (2, 0, 0, None)], ("y",), "if parts add up"),
        ([(1, 4, 0, False), (2, 4, 0, True)], ("y",), "if pairs interact"),
        ([(1, 4, 0, False), (2, 4, 0, False), (3, 4, 0, True)], ("y",), "if 3 interact"),
        ([(1, 4, 0, False), (2, 1, 0, None)], ("y",), "at no order"),
        ([(1, 4, 0, False), (2, 1, 3, None)], ("y",), "not decided"),
        # Higher orders were not tried.
        ([(1, 4, 0, False), (2, 4, 0, False)], ("y",), "not decided"),
        ([(1, 4, 0, None)], ("y",), "not decided"),
        ([(1, 2, 0, True)], ("y",), "–"),
        ([(1, 4, 0, True)], ("a",), "–"),
        ([(1, 4, 0, True)], (), "–"),
    ],
)
def test_answers_are_right_only_where_this_is_known(steps, target, words):
    assert _right(verdict("a", 4, *steps, target=target)) == words


def test_a_fingerprint_depends_on_rows_alone():
    frame = pd.DataFrame({"a": list("xyzx"), "n": [1, 2, 3, 1], "split": ["train"] * 3 + ["test"]})
    shuffled = frame.sample(frac=1, random_state=0)
    categories = frame.assign(a=frame["a"].astype("category"), n=frame["n"].astype("int16"))
    assert fingerprint(frame) == fingerprint(shuffled) == fingerprint(categories)
    assert fingerprint(frame) != fingerprint(frame.assign(n=[1, 2, 3, 2]))
    assert fingerprint(frame) != fingerprint(frame.rename(columns={"a": "b"}))
    assert fingerprint(frame) == fingerprint(frame.assign(item=["1", "2", "3", "4"]))
    assert fingerprint(frame) != fingerprint(pd.concat([frame, frame]))
    lists = pd.DataFrame({"words": [["a", "b"], ["c"]], "split": ["train", "test"]})
    assert fingerprint(lists) == fingerprint(lists[::-1])


def test_a_folder_becomes_pages_and_an_overview(tmp_path):
    data, out = tmp_path / "data", tmp_path / "a" / "out"
    files.cogs(data / "cogs")
    files.pair_lists(data / "mit-states")
    files.pcfg(data / "systematicity")
    (data / "systematicity" / "test.src").write_text("copy echo , A\n")
    written = write_atlas(data, out, time_limit=1.0)
    assert [v.split for v in written.verdicts if v.split == "cogs"]
    ((refused, reason),) = written.refused
    assert refused == "pcfg/systematicity"
    assert reason.startswith("a line of PCFG SET")
    names = {path.name for path in out.iterdir()}
    assert names == {"index.html", "verdicts.json", "cogs.html", "mit-states.html"}
    assert read_verdicts(out / "verdicts.json") == written.verdicts
    page = (out / "index.html").read_text()
    assert 'href="cogs.html"' in page
    assert "a line of PCFG SET" in page
    assert "scan/length" in page  # of the stored ones
    frame = written.to_frame()
    assert len(frame) == len(written.verdicts) == 4
    assert set(frame["unit"]) == {"sentence", "pair"}


def test_only_the_named_splits_are_audited(tmp_path):
    files.cogs(tmp_path / "cogs")
    files.pair_lists(tmp_path / "mit-states")
    written = write_atlas(tmp_path, tmp_path / "out", only=["mit"])
    assert {v.split for v in written.verdicts} == {"mit-states"}
    with pytest.raises(InputError, match=r"the folder has cogs, mit-states; got only 'scan'"):
        write_atlas(tmp_path, tmp_path / "other", only=["mit", "scan"])
    assert not (tmp_path / "other").exists()


def test_a_split_that_fails_leaves_the_others_whole(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    files.cogs(data / "cogs")
    files.pcfg(data / "pcfg")
    (data / "pcfg" / "test.src").unlink()
    (data / "pcfg" / "test.src").symlink_to(data / "nowhere")
    written = write_atlas(data, out, time_limit=1.0)
    assert {v.split for v in written.verdicts} == {"cogs"}
    assert written.refused[0][1].startswith(
        "the files of pcfg/pcfg are as they were published; got"
    )
    assert (out / "index.html").is_file()
    # A refused split is ranked by its stored verdict, which is marked.
    files.scan(data, "length", ["walk", "run"], ["walk twice"])
    (data / "CLEVR_trainA_scenes.json").write_text("{}")
    (data / "CLEVR_valB_scenes.json").write_text('{"scenes": [{}]}')
    written = write_atlas(data, out, only=["scan", "cogent"])
    assert [name for name, _ in written.refused] == ["cogent"]
    ranking, rest = (out / "index.html").read_text().split('id="shortcuts"')
    mark = " (stored verdict; your files could not be read)"
    assert f"cogent, valB{mark}" in ranking
    shortcuts = re.sub("<[^>]+>", " ", rest.split('id="scores"')[0])
    assert f"cogent{mark} valB color alone gives" in " ".join(shortcuts.split())
    assert "Files that could not be read:" in rest
    assert ranking.count(mark) == len([v for v in stored_atlas().verdicts if v.split == "cogent"])


def test_where_no_split_can_be_read_nothing_is_written(tmp_path, capsys):
    files.cogs(tmp_path / "data")
    (tmp_path / "data" / "gen.tsv").write_text("A owl ran .\n")
    with pytest.raises(SystemExit) as stop:
        main(["atlas", str(tmp_path / "data"), "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines()[-1].startswith(
        "partwhole: an atlas has a split that can be read; got none of cogs (a line of COGS is a "
        "sentence, its logical form and its type, separated by tabs, got 'A owl ran .' in line 1 "
        "of gen.tsv"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["train", "gen"])
@pytest.mark.parametrize("text", ["", "A owl ran .\trun\n"])
def test_cogs_in_another_form_is_said_to_be_refused(tmp_path, name, text):
    files.cogs(tmp_path / "cogs")
    files.pair_lists(tmp_path / "mit-states")
    (tmp_path / "cogs" / f"{name}.tsv").write_text(text)
    written = write_atlas(tmp_path, tmp_path / "out", time_limit=1.0)
    ((refused, reason),) = written.refused
    assert refused == "cogs"
    assert reason.startswith("a line of COGS is a sentence")
    assert f"<li>cogs: {reason[:20]}" in (tmp_path / "out" / "index.html").read_text()


def test_earlier_sentences_are_shown_in_the_words_of_today(tmp_path):
    entry = verdict("a/b", 4, (1, 4, 0, True))
    earlier = (
        "verb1 alone explains 16 % of the variance of the targets in training; in test the targets "
        "change by -0.271 where it predicts a change by 1"
    )
    path = tmp_path / "verdicts.json"
    path.write_text(to_json([replace(entry, shortcuts=(earlier, "another sentence"))]))
    (read,) = read_verdicts(path)
    assert read.shortcuts == (
        "verb1 alone explains 16 % of the variance of y in training; in test, where it predicts "
        "that y rises by 1, it falls by 0.271",
        "another sentence",
    )
    assert not any("change by" in s for v in stored_atlas().verdicts for s in v.shortcuts)


def test_names_of_pages_need_no_quotes(tmp_path):
    files.gscan(
        tmp_path / "my data #1 50%?",
        {part: [files.gscan_example(c, "red", s, d) for c, s, d in rows] for part, rows in {
            "train": [("walk to a circle", "circle", "n"), ("push a square", "square", "s")],
            "test": [("push a circle", "circle", "s")]}.items()},
    )  # fmt: skip
    write_atlas(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "gscan-my-data-1-50.html").is_file()
    assert 'href="gscan-my-data-1-50.html"' in (tmp_path / "out" / "index.html").read_text()


def test_a_folder_without_benchmarks_is_refused(tmp_path):
    (tmp_path / "train.tsv").touch()
    with pytest.raises(InputError, match=r"the folder has a published benchmark \(SCAN, COGS"):
        write_atlas(tmp_path, tmp_path / "out")
    for out in (tmp_path / "train.tsv", tmp_path / "train.tsv" / "out"):
        with pytest.raises(
            InputError, match=r"an atlas is written to a folder; got the file .*tsv;"
        ):
            write_atlas(tmp_path, out)
    assert not (tmp_path / "out").exists()


def test_stored_verdicts_are_those_of_their_rules():
    """Recompute one from its rule; the others take longer, or files of their authors."""
    stored = {v.split: v for v in stored_atlas().verdicts}
    readers = by_rule("shapes3d", SHAPES3D_SIZES, SHAPES3D_RULES)
    table = readers["shapes3d/shape-to-object-hue"]()
    entry = stored["shapes3d/shape-to-object-hue"]
    assert entry.table == fingerprint(table.frame)
    # Shape and hue are all that the rule names: a sum of parts is determined by any row and
    # column of their table that training has, a pair that training lacks by nothing.
    assert entry.held_out == 10 * 10 * 5 * 8 * 15
    assert entry.determined == (1.0, 0.0, 0.0)
    assert stored["scan/length"].held_out == 3920
    assert stored["scan/simple"].held_out == 4182
    assert stored["scan/length"].steps[0].solvable is False
    # Counted from connected components by independent code.
    first = {v.split: v.steps[0] for v in stored_atlas().verdicts if v.steps and v.test == "test"}
    assert first["mit-states/other-division"].determined == 193
    assert first["c-gqa/other-division"].determined == 540


def test_stored_verdicts_have_their_provenance():
    stored = stored_atlas().verdicts
    titles = {benchmark.title for benchmark in BENCHMARKS}
    assert len(stored) >= 22
    for entry in stored:
        assert entry.title in titles
        assert entry.origin
        assert entry.date
        assert entry.version
        assert int(entry.table.split("-")[0]) >= entry.train_rows
        assert entry.items >= entry.open + entry.seen + entry.undecided


@pytest.mark.parametrize("correlation", [0.3, 0.5, 0.7])
def test_so_many_splits_show_a_correlation(correlation):
    """By simulation: 2,000 samples of a normal pair; their power has a standard error of .009."""
    n = splits_needed(correlation)
    rng = np.random.default_rng(0)
    # Pearson's correlation of a normal pair that has this rank correlation.
    r = 2 * np.sin(np.pi * correlation / 6)
    x, noise = rng.standard_normal((2, 2000, n))
    y = r * x + np.sqrt(1 - r**2) * noise
    ranks = [rankdata(values, axis=1) - 0.5 * (n + 1) for values in (x, y)]
    measured = np.sum(ranks[0] * ranks[1], axis=1) / np.sum(ranks[0] ** 2, axis=1)
    p = 2.0 * t.sf(np.abs(measured) * np.sqrt((n - 2) / (1.0 - measured**2)), n - 2)
    assert p[:5] == pytest.approx([spearmanr(x[i], y[i]).pvalue for i in range(5)])
    assert np.mean(p < 0.05) == pytest.approx(0.8, abs=0.05)


def test_a_hundred_items_of_each_kind_show_twenty_points():
    """Exact power of the comparison of two shares, .5 and .7, at 5 %."""
    n, low, high = 100, 0.5, 0.7
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    pooled = (a + b) / (2 * n)
    error = np.sqrt(np.maximum(pooled * (1 - pooled) * 2 / n, 1e-12))
    z = np.abs(a - b) / n / error
    weight = binom.pmf(a, n, low) * binom.pmf(b, n, high)
    assert weight[z > norm.ppf(0.975)].sum() == pytest.approx(0.8, abs=0.04)


def test_the_command_writes_and_prints(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files.pair_lists(tmp_path / "data" / "mit-states")
    main(["atlas", "data"])
    text = capsys.readouterr().out
    assert "mit-states, val" in text
    assert "1 pair" in text
    assert (tmp_path / "atlas" / "mit-states.html").is_file()
    assert json.loads((tmp_path / "atlas" / "verdicts.json").read_text())


def test_the_command_without_a_folder_lists_what_is_known(capsys):
    main(["atlas"])
    text = capsys.readouterr().out
    assert "scan/length" in text
    assert "tasks_train_NAME.txt" in text
    for benchmark in BENCHMARKS:
        assert f"{benchmark.title} (" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_command_says_what_it_could_not_read(tmp_path, capsys):
    files.cogs(tmp_path / "cogs")
    files.pcfg(tmp_path / "pcfg")
    (tmp_path / "pcfg" / "test.src").write_text("echo\n")
    with pytest.raises(SystemExit) as stop:
        main(["atlas", str(tmp_path), "--out", str(tmp_path / "out"), "--time-limit", "1"])
    assert stop.value.code == 2
    captured = capsys.readouterr()
    assert "pcfg/pcfg was not read. a line of PCFG SET" in captured.err
    assert "cogs" in captured.out
    assert (tmp_path / "out" / "index.html").is_file()


def test_a_folder_that_is_not_there_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["atlas", str(tmp_path / "absent")])
    assert stop.value.code == 2
    assert "an atlas is made of a folder with published benchmarks; got" in capsys.readouterr().err


def test_arguments_of_other_kinds_are_refused(tmp_path):
    with pytest.raises(InputError, match="folder is"):
        find_splits(3)
    with pytest.raises(InputError, match="time_limit is"):
        write_atlas(tmp_path, tmp_path / "out", time_limit=-1)
