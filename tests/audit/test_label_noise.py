"""Noise in labels: its rate, which labels are certain, and what then is solvable."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit.label_noise import LabelNoise
from partwhole.audit.reading.table import read_tables

NAMES = ["a", "b"]


def table(rng, n, rate, k=2, is_sum=True, repeats=9):
    """Return labels of an n x n grid, of which a share of rows is another one, each alike."""
    worth = rng.normal(size=(2, n, k))
    rows = []
    for i, j in product(range(n), repeat=2):
        scores = worth[0, i] + worth[1, j]
        right = int(scores.argmax()) if is_sum else (i + j) % k
        held_out = i >= 3 and j >= 3
        for _ in range(repeats):
            label = right
            if rng.random() < rate:
                label = int((right + rng.integers(1, k)) % k)
            rows.append((f"a{i}", f"b{j}", f"l{label}", "test" if held_out else "train", right))
    return pd.DataFrame(rows, columns=[*NAMES, "y", "split", "right"])


def case_of(frame):
    (audited,) = read_tables(frame, NAMES, "y", "split")
    return audited.case(1, 1)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_the_rate_is_that_of_wrong_labels(k, rate):
    frame = table(np.random.default_rng(0), 14, rate, k)
    noise = LabelNoise.of(case_of(frame))
    actual = np.mean(frame["y"] != "l" + frame["right"].astype(str))
    # 1,764 rows: two standard errors of a share of .3 are .022.
    assert noise.rate == pytest.approx(actual, abs=0.025)


def test_the_doubt_is_that_of_bayes_rule():
    """Two labels, 6 rows of one and 2 of the other: odds r**4."""
    rows = [("x", "u", "l0", "train")] * 5 + [("x", "v", "l1", "train")] * 5
    rows += [("y", "u", "l1", "train")] * 5
    for counts in ((6, 2), (9, 0), (4, 4)):
        frame = pd.DataFrame(
            [
                *rows,
                *[("y", "v", "l0", "test")] * counts[0],
                *[("y", "v", "l1", "test")] * counts[1],
            ],
            columns=[*NAMES, "y", "split"],
        )
        for rate in (0.05, 0.2, 0.4):
            likely = [
                (1 - rate) ** counts[i] * rate ** counts[1 - i] for i in (0, 1)
            ]  # of the right label, either being the first
            doubt = min(likely) / sum(likely)
            noise = LabelNoise.of(case_of(frame), rate)
            assert noise.certain.tolist() == [doubt <= 0.001]


def test_weights_are_rows():
    frame = table(np.random.default_rng(1), 5, 0.2)
    counted = frame.groupby([*NAMES, "y", "split"], as_index=False).size()
    long = case_of(frame)
    (short,) = read_tables(counted, NAMES, "y", "split", weights="size")
    plain, weighted = LabelNoise.of(long), LabelNoise.of(short.case(1, 1))
    assert weighted.rate == pytest.approx(plain.rate, rel=1e-12)
    assert weighted.certain.sum() == plain.certain.sum()


@pytest.mark.parametrize("k", [2, 3])
def test_sums_with_wrong_labels_are_solvable_and_others_are_not(k):
    remarks = []
    for seed in range(4):
        for is_sum in (True, False):
            frame = table(np.random.default_rng(seed), 9, 0.25, k, is_sum, repeats=14)
            report = audit_split(frame, NAMES, "y", "split", add=0)
            assert report.solvable is is_sum
            remarks += report.evidence[0].solvability.remarks
    assert sum("less certain than 99.9 %, and need not be answered" in r for r in remarks) >= 2


def test_wrong_labels_of_a_few_rows_prove_nothing():
    """Sums whose combinations have three rows: by majority 6 % of their labels are wrong."""
    verdicts = []
    for seed in range(8):
        frame = table(np.random.default_rng(seed), 9, 0.15, repeats=3)
        report = audit_split(frame, NAMES, "y", "split", add=0)
        right = frame.groupby(NAMES)["y"].agg(lambda of: of.mode()[0]).reset_index()
        verdicts.append(report.solvable)
        one_row = right.merge(frame.drop(columns="y").drop_duplicates(NAMES), on=NAMES)
        assert audit_split(one_row, NAMES, "y", "split", add=0).solvable is not None
    assert False not in verdicts
    assert None in verdicts


def test_single_rows_of_noisy_labels_decide_nothing():
    frame = table(np.random.default_rng(0), 9, 0.3, is_sum=False, repeats=2)
    report = audit_split(frame, NAMES, "y", "split", add=0)
    assert report.solvable is None
    assert report.verdict == "undecided"
    message = next(item.message for item in report.findings if item.rule == "not-decided")
    assert "so that noise may be all there is. Add rows of each combination." in message


def test_a_rate_that_is_given_and_one_that_is_estimated():
    frame = table(np.random.default_rng(0), 9, 0.0, is_sum=False, repeats=1)
    assert audit_split(frame, NAMES, "y", "split", add=0).solvable is False
    assert audit_split(frame, NAMES, "y", "split", add=0, noise=1e-4).solvable is False
    assert audit_split(frame, NAMES, "y", "split", add=0, noise=0.05).solvable is None
    # Sums of parts label about half of these rows right.
    assert audit_split(frame, NAMES, "y", "split", add=0, noise="estimate").solvable is None
    sentence = "share of rows with a wrong one, below 0.5 of 2 labels; got 0.5; pass such as 0.05"
    for is_sum in (True, False):
        frame = table(np.random.default_rng(0), 9, 0.0, is_sum=is_sum, repeats=1)
        with pytest.raises(InputError, match=sentence):
            audit_split(frame, NAMES, "y", "split", add=0, noise=0.5)
