"""The order ladder against ranks and counts over sets of tuples, and its headline."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole.audit import ladder as module
from partwhole.audit.evidence import Rung
from partwhole.audit.reading.redundant import dependent, redundant


def frame(rng, n_values, n, labels=False):
    rows = np.unique(np.stack([rng.integers(0, v, n) for v in n_values], axis=1), axis=0)
    data = pd.DataFrame(rows, columns=list("abcde"[: len(n_values)])).map(lambda v: f"v{v}")
    worth = rng.normal(size=(len(n_values), max(n_values)))
    y = sum(worth[c][rows[:, c]] for c in range(len(n_values)))
    y = y + (rows[:, 0] == rows[:, 1]) * rng.integers(0, 2)
    data["y"] = np.where(y > 0, "high", "low") if labels else y
    data["split"] = np.where(rng.random(len(rows)) < 0.25, "test", "train")
    data.loc[:1, "split"] = ["train", "test"]
    return data, rows


def indicators(rows, order):
    """Return a column for each conjunction of at most so many components in any row."""
    columns = [np.ones(len(rows))]
    for size in range(1, order + 1):
        for chosen in combinations(range(rows.shape[1]), size):
            for values in {tuple(row) for row in rows[:, chosen].tolist()}:
                columns.append(np.all(rows[:, chosen] == values, axis=1).astype(float))
    return np.array(columns).T


def test_the_fit_of_labels_counts_weights():
    """Counts of a contingency table: each combination has a row of each label."""
    shares = {("a", "c"): 8, ("a", "d"): 6, ("b", "c"): 4, ("b", "d"): 2, ("a", "e"): 9}
    rows = [(*key, label, n) for key, yes in shares.items() for label, n in
            (("yes", yes), ("no", 10 - yes))]  # fmt: skip
    data = pd.DataFrame(rows, columns=["first", "second", "y", "n"]).assign(split="train")
    data.loc[len(data)] = ["b", "e", "yes", 5, "test"]
    report = audit_split(data, ["first", "second"], "y", "split", weights="n", add=0)
    # The sum is exact here, so that it answers the commoner label of each combination.
    right = sum(max(yes, 10 - yes) for yes in shares.values()) / 50
    assert report.evidence[0].ladder[0].fitted == pytest.approx(right)


@pytest.mark.parametrize("seed", range(4))
def test_labels_with_equal_outputs_share_the_fit(seed):
    """Both labels are as frequent in every combination, whose rows differ in rounding alone."""
    rng = np.random.default_rng(seed)
    cells = [(a, b, c) for a in "pqr" for b in "xyz" for c in "kl" if (a, b, c) != ("p", "x", "k")]
    rows = [(*cell, label, "train") for cell in cells
            for label in ("yes", "no") * int(rng.integers(1, 7))]  # fmt: skip
    data = pd.DataFrame([*rows, ("p", "x", "k", "yes", "test")], columns=[*"abc", "y", "split"])
    report = audit_split(data, [*"abc"], "y", "split", require_order=1, add=0)
    for rung in report.evidence[0].ladder:
        assert rung.fitted == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_every_rung_is_as_by_rank(seed):
    rng = np.random.default_rng(seed)
    n_values = rng.integers(2, 4, int(rng.integers(3, 5))).tolist()
    data, rows = frame(rng, n_values, 60)
    components = list(data.columns[: len(n_values)])
    report = audit_split(data, components, "y", "split", add=0)
    # A component that others determine by chance is left out of the table.
    kept = [components.index(name) for name in report.table.names]
    rows, n_values = rows[:, kept], [n_values[c] for c in kept]
    (evidence,) = report.evidence
    n = len(evidence.ladder)
    assert [rung.order for rung in evidence.ladder] == list(range(1, n + 1))
    # It ends where nothing is determined.
    assert n == len(n_values) - 1 or evidence.ladder[-1].determined == 0
    assert all(rung.determined for rung in evidence.ladder[:-1])
    is_train = (data["split"] == "train").to_numpy()
    y = data["y"].to_numpy()
    for rung in evidence.ladder:
        phi = indicators(rows, rung.order)
        rank = np.linalg.matrix_rank(phi[is_train])
        determined = [
            np.linalg.matrix_rank(np.vstack([phi[is_train], phi[i]])) == rank
            for i in np.flatnonzero(~is_train)
        ]
        assert (rung.determined, rung.held_out) == (sum(determined), len(determined))
        assert rung.undecided == 0
        sets = [
            {(s, tuple(row[c] for c in s)) for row in part for s in which}
            for part in (rows[is_train].tolist(), rows[~is_train].tolist())
            for which in [list(combinations(range(len(n_values)), rung.order))]
        ]
        seen, tested = sets
        assert (rung.seen, rung.in_test, rung.unseen) == (
            len(seen), len(tested), len(tested - seen),
        )  # fmt: skip
        assert set(rung.lacking) <= tested - seen
        assert len(rung.lacking) == min(12, rung.unseen)
        # Sums of conjunctions that training has, on the held-out combinations.
        known = phi[~is_train][:, phi[is_train].any(axis=0)]
        left = y[~is_train] - known @ np.linalg.lstsq(known, y[~is_train], rcond=None)[0]
        solvable = bool(np.abs(left).max() < 1e-8)
        if rung.solvable is not None:
            assert rung.solvable is solvable
        fit = phi[is_train] @ np.linalg.lstsq(phi[is_train], y[is_train], rcond=None)[0]
        if any(determined):
            share = 1.0 - np.sum((y[is_train] - fit) ** 2) / (len(fit) * np.var(y[is_train]))
            assert rung.fitted == pytest.approx(share, abs=1e-9)
        supported = bool(solvable and all(determined))
        assert rung.is_supported() is supported


def grid_of_three(pairs_lacking=()):
    """Return all combinations of three parts, and a test split of those with certain pairs."""
    rows = [(a, b, c) for a in "pqr" for b in "xyz" for c in "kl"]
    data = pd.DataFrame(rows, columns=["shape", "colour", "size"])
    data["y"] = [ord(a) + 3 * ord(b) + 7 * ord(c) for a, b, c in rows]
    data["split"] = ["test" if (a, b) in pairs_lacking else "train" for a, b, _ in rows]
    return data


def test_the_headline_is_a_ladder():
    data = grid_of_three([("p", "x"), ("q", "y")])
    report = audit_split(data, ["shape", "colour", "size"], "y", "split")
    assert report.headline == (
        "Supported if parts add up (order 1). Not if pairs interact (order 2): training lacks "
        "(shape = p, colour = x) and 1 more"
    )
    assert report.verdict == "supported"
    strict = audit_split(data, ["shape", "colour", "size"], "y", "split", require_order=2)
    assert strict.verdict == "unsupported"
    assert strict.headline == (
        "Not supported if pairs interact (order 2): training lacks (shape = p, colour = x) and 1 "
        "more. Supported if parts add up (order 1)"
    )


@pytest.mark.parametrize(
    ("shape", "colour", "lacked"),
    [
        ("cube", "red", "(cube, red)"),
        ("26 to 28", "red", "(shape = 26 to 28, colour = red)"),
        ("cube", "C", "(shape = cube, colour = C)"),
        ("no", "red", "(shape = no, colour = red)"),
    ],
)
def test_words_need_no_names_of_their_columns(shape: str, colour: str, lacked: str):
    data = grid_of_three([("p", "x")]).replace({"shape": {"p": shape}, "colour": {"x": colour}})
    report = audit_split(data, ["shape", "colour", "size"], "y", "split")
    assert f"training lacks {lacked}" in report.headline


def test_pairs_may_be_needed_and_supported():
    rows = [(a, b, c) for a in "pqr" for b in "xyz" for c in "kl"]
    data = pd.DataFrame(rows, columns=["shape", "colour", "size"])
    data["y"] = [(a == "p") * (b == "x") + 2.0 * (c == "k") for a, b, c in rows]
    tested = [("p", "x", "l"), ("p", "y", "l"), ("q", "x", "l"), ("q", "y", "l")]
    data["split"] = ["test" if row in tested else "train" for row in rows]
    report = audit_split(data, ["shape", "colour", "size"], "y", "split")
    assert report.headline == (
        "Not supported if parts add up (order 1): they do not add up to the targets. Supported if "
        "pairs interact (order 2)"
    )


def test_a_label_that_training_lacks_is_missing_at_every_order():
    data = grid_of_three([("p", "x")])
    data["y"] = np.where(data["split"] == "test", "new", np.where(data["size"] == "k", "k", "l"))
    report = audit_split(data, ["shape", "colour", "size"], "y", "split")
    assert report.headline == (
        "Not supported if parts add up (order 1): training lacks the label 'new'"
    )


@pytest.mark.parametrize("require_order", [1, 2])
def test_a_column_that_others_determine_changes_no_verdict(require_order):
    for lacking in ([("p", "x")], [("p", "x"), ("p", "y"), ("p", "z")]):
        data = grid_of_three(lacking)
        names = ["shape", "colour", "size"]
        plain = audit_split(data, names, "y", "split", require_order=require_order)
        data["copy"] = data["colour"]
        data["code"] = data["shape"].map({"p": 1, "q": 1, "r": 2})
        data["pair"] = data["shape"] + data["colour"]
        data["number"] = np.arange(len(data))
        for extra in ("copy", "code", "pair", "number"):
            for named in ([extra, *names], [*names[::-1], extra]):
                again = audit_split(data, named, "y", "split", require_order=require_order)
                assert again.table.n_components == 3
                assert any("is left out: " in remark for remark in again.table.remarks)
                assert again.verdict == plain.verdict
                for rung, same in zip(
                    again.evidence[0].ladder, plain.evidence[0].ladder, strict=True
                ):
                    assert (rung.determined, rung.unseen, rung.solvable) == (
                        same.determined, same.unseen, same.solvable,
                    )  # fmt: skip


def test_every_order_says_what_it_cost():
    report = audit_split(
        grid_of_three([("p", "x")]), ["shape", "colour", "size"], "y", "split", require_order=2
    )
    (item,) = report.evidence
    rungs = {rung.order: rung.seconds for rung in item.ladder}
    assert set(rungs) == {1, 2}
    assert rungs[2] >= item.determination.seconds + item.solvability.seconds > 0.0


def test_orders_beyond_the_time_are_not_in_the_ladder(monkeypatch):
    data = grid_of_three([("p", "x")])
    ticks = iter(range(10**9))
    monkeypatch.setattr(module, "process_time", lambda: float(next(ticks)) * 1e6)
    report = audit_split(data, ["shape", "colour", "size"], "y", "split")
    assert [rung.order for rung in report.evidence[0].ladder] == [1]
    assert report.headline == "Supported if parts add up (order 1)"
    assert "1 order would take more time than is left" in report.to_html()
    assert "1 order would take more time than is left" in " ".join(report.to_text().split())


def one_held_out():
    """Return a table of all but one of the combinations of six binary components."""
    rows = np.array(list(product((0, 1), repeat=6)))
    data = pd.DataFrame(rows, columns=list("abcdef")).map(lambda v: f"v{v}")
    data["y"], data["split"] = rows.sum(axis=1).astype(float), "train"
    data.loc[5, "split"] = "test"
    return data, list("abcdef")


def test_an_order_that_would_take_too_long_is_not_begun(monkeypatch):
    data, names = one_held_out()
    asked = []
    plain = module.determined_in_time

    def slow(tasks, **options):
        asked.append(options["max_order"])
        verdicts = plain(tasks, **options)
        return [replace(verdict, seconds=100.0) for verdict in verdicts]

    monkeypatch.setattr(module, "determined_in_time", slow)
    report = audit_split(data, names, "y", "split", time_limit=50.0)
    # The second order is said to take 100 s, so that the third is not begun.
    assert asked == [2]
    assert [rung.order for rung in report.evidence[0].ladder] == [1, 2]
    assert "3 orders would take more time" in " ".join(report.to_text().split())


def test_an_order_that_is_not_decided_is_left_out_with_those_above(monkeypatch):
    data, names = one_held_out()
    plain, asked = module.determined_in_time, []

    def undecided(tasks, **options):
        asked.append(options["max_order"])
        verdicts = plain(tasks, **options)
        if options["max_order"] < 3:
            return verdicts
        unknown = np.ones(1, dtype=bool)
        return [replace(v, determined=~unknown, undecided=unknown) for v in verdicts]

    monkeypatch.setattr(module, "determined_in_time", undecided)
    report = audit_split(data, names, "y", "split")
    assert asked == [2, 3]
    assert [rung.order for rung in report.evidence[0].ladder] == [1, 2]
    assert "3 orders would take more time" in " ".join(report.to_text().split())


@pytest.mark.parametrize(("kind", "fitted"), [("numbers", [1]), ("labels", [1, 2, 3, 4, 5])])
def test_numbers_that_a_lower_order_fits_exactly_are_not_fitted_again(monkeypatch, kind, fitted):
    data, names = one_held_out()
    if kind == "labels":
        data["y"] = np.where(data["y"] > 3.0, "many", "few")
    plain, asked = module.fit_of_training, []

    def counted(case, deadline):
        asked.append(case.order)
        return plain(case, deadline)

    monkeypatch.setattr(module, "fit_of_training", counted)
    report = audit_split(data, names, "y", "split")
    assert asked == fitted
    shares = [rung.fitted for rung in report.evidence[0].ladder]
    # The number is a sum of the parts. Labels that such a sum tells apart are no exact sum, and
    # least squares of a higher order tell fewer of them apart.
    assert shares[0] == 1.0
    assert (min(shares) == 1.0) == (kind == "numbers")


def test_above_an_order_too_large_to_fit_no_fit_is_tried(monkeypatch):
    data, names = one_held_out()
    asked = []

    def fails(case, deadline):
        asked.append(case.order)
        return SimpleNamespace(share=float("nan") if case.order >= 2 else 0.5)

    monkeypatch.setattr(module, "fit_of_training", fails)
    report = audit_split(data, names, "y", "split")
    assert asked == [1, 2]
    fits = [rung.fitted for rung in report.evidence[0].ladder]
    assert fits[0] == 0.5
    assert np.isnan(fits[1:]).all()
    assert len(fits) == 5


def test_a_rung_is_open_until_it_is_decided():
    def rung(determined, undecided, solvable):
        return Rung(2, 4, 4, 0, (), 10, determined, undecided, solvable, 1.0, 0.0)

    assert rung(10, 0, True).is_supported() is True
    assert rung(9, 0, True).is_supported() is False
    assert rung(9, 0, True).is_supported(0.9) is True
    assert rung(9, 1, True).is_supported() is None
    assert rung(10, 0, None).is_supported() is None
    assert rung(10, 0, False).is_supported() is False
    assert rung(3, 1, None).is_supported() is False


def test_a_joint_code_is_left_out_wherever_it_is_named():
    rows = [(f"a{a}", f"b{b}", f"c{c}") for a in range(3) for b in range(3) for c in range(3)]
    data = pd.DataFrame(rows, columns=list("abc"))
    data["y"] = [int(a[1]) + 10 * int(b[1]) + 100 * int(c[1]) for a, b, c in rows]
    data["split"] = ["test" if (a, b) == ("a0", "b0") else "train" for a, b, _ in rows]
    data["code"] = data["a"] + data["b"]
    data["copy"] = data["code"].str.upper()
    remark = (
        "Component code is left out: a and b determine it in every row, and it determines them, "
        "so it adds nothing to a combination. If code is a single part, name it without them."
    )
    for named in [*permutations(["a", "b", "c", "code"])][::5]:
        report = audit_split(data, named, "y", "split", add=0)
        assert report.verdict == "supported", named
        assert set(report.table.names) == set("abc")
        assert any(line.replace("b and a", "a and b") == remark for line in report.table.remarks)
    for named in permutations(["a", "b", "c", "code", "copy"], 5):
        values = [pd.factorize(data[name])[0] for name in named]
        left_out = redundant(np.stack(values, axis=1), [int(v.max()) + 1 for v in values])
        assert {named[c] for c in left_out} == {"code", "copy"}
        assert all({named[c] for c in by} == {"a", "b"} for by in left_out.values())
    # Without the parts that it numbers the code is a part.
    assert audit_split(data, ["code", "c"], "y", "split", add=0).verdict == "unsupported"


def test_a_column_that_follows_from_two_others_is_a_part_and_said():
    rows = [(a, c) for a in range(4) for c in range(4)]
    data = pd.DataFrame(rows, columns=["a", "c"])
    data["y"] = data["a"] + 10.0 * data["c"]
    data["par"] = (data["a"] + data["c"]) % 2
    held_out = [(0, 2), (0, 3), (1, 0), (1, 2), (1, 3), (3, 1), (3, 2), (3, 3)]
    data["split"] = ["test" if row in held_out else "train" for row in rows]
    assert audit_split(data, ["a", "c"], "y", "split", add=0).verdict == "supported"
    for named in permutations(["a", "c", "par"]):
        report = audit_split(data, named, "y", "split", add=0)
        assert (report.verdict, report.table.n_components) == ("unsupported", 3)
        (said,) = [line for line in report.table.remarks if "follows from" in line]
        assert said.startswith("par follows from ")
    # In a grid, and in a random table, none does.
    rng = np.random.default_rng(0)
    assert dependent(np.array(list(product(range(3), repeat=3))), [3, 3, 3]) == {}
    assert dependent(rng.integers(0, 4, (60, 4)), [4] * 4) == {}


def test_where_no_order_helps_this_is_said():
    """A product of parts is no sum at order 1, and what the others need training lacks."""
    grid = [(a, b, c) for a in range(4) for b in range(4) for c in range(3)]
    frame = pd.DataFrame(grid, columns=["a", "b", "c"])
    frame["y"] = ((frame["a"] == 2) & (frame["b"] == 2)).astype(float)
    frame["split"] = np.where((frame["a"] > 1) & (frame["b"] > 1), "test", "train")
    report = audit_split(frame, ["a", "b", "c"], "y", "split", add=0)
    assert report.headline == (
        "Not supported if parts add up (order 1): they do not add up to the targets. Nor at a "
        "higher order: at order 2 training lacks (a = 2, b = 2) and 3 more"
    )
    (error,) = [item for item in report.errors if item.rule == "not-solvable"]
    assert "require a higher order" not in error.message
    # With one of these combinations at hand order 2 supports it.
    frame["split"] = np.where(frame["split"].eq("test") & (frame["c"] == 0), "test", "train")
    report = audit_split(frame, ["a", "b", "c"], "y", "split", add=0)
    assert "Nor at a higher order" not in report.headline
    (error,) = [item for item in report.errors if item.rule == "not-solvable"]
    assert "require a higher order" in error.message
