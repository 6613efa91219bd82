"""Accuracy, Brier score and reliability against plain counting."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from partwhole._checks import InputError
from partwhole.measures.concepts import calibration


def test_it_agrees_with_plain_counting():
    rng = np.random.default_rng(0)
    told = rng.uniform(size=(300, 2))
    told[rng.uniform(size=told.shape) < 0.1] = np.nan
    told[:5, 0] = [0.0, 0.5, 1.0, 0.2, 0.4]  # ends, a tie, and edges of bins
    truth = rng.integers(2, size=(300, 2))
    found = calibration(told, truth, bins=5)
    for c in range(2):
        known = [(p, y) for p, y in zip(told[:, c], truth[:, c], strict=True) if p == p]
        right = sum(0.5 if p == 0.5 else (p > 0.5) == (y == 1) for p, y in known)
        assert found.accuracy[c] == pytest.approx(right / len(known), rel=1e-12)
        p, y = np.array(known).T
        assert found.brier[c] == pytest.approx(brier_score_loss(y, p), rel=1e-12)
        assert found.abstained[c] == pytest.approx(1 - len(known) / 300, rel=1e-12)
        error = 0.0
        for b in range(5):
            inside = (p >= b / 5) & (p < (b + 1) / 5 if b < 4 else p <= 1)
            assert found.counts[c, b] == inside.sum()
            assert found.shares[c, b] == pytest.approx(y[inside].mean(), rel=1e-12)
            assert found.coordinates[c, b] == pytest.approx(p[inside].mean(), rel=1e-12)
            error += inside.mean() * abs(p[inside].mean() - y[inside].mean())
        assert found.error[c] == pytest.approx(error, rel=1e-12)
    assert found.to_frame().shape == (10, 6)


def test_a_calibrated_classifier_is_told_from_an_overconfident_one():
    rng = np.random.default_rng(1)
    chance = rng.uniform(size=(4000, 1))
    truth = (rng.uniform(size=chance.shape) < chance).astype(int)
    good = calibration(chance, truth)
    bold = calibration(np.round(chance), truth)
    # Ten bins of 400: each share is known to .025, so the mean distance is near .02.
    assert good.error[0] < 0.03
    assert bold.error[0] > 0.2
    assert good.accuracy == bold.accuracy
    # The expected squares, from integrals over a uniform chance: 1/6 and 1/4.
    assert good.brier[0] == pytest.approx(1 / 6, abs=0.01)
    assert bold.brier[0] == pytest.approx(1 / 4, abs=0.025)


def test_a_concept_without_decisions_has_no_scores():
    found = calibration(np.full((4, 1), np.nan), np.ones((4, 1)), concepts=("hue",))
    assert found.abstained.tolist() == [1.0]
    assert np.isnan([found.accuracy, found.brier, found.error]).all()
    assert found.counts.sum() == 0
    assert found.describe().startswith("hue: accuracy nan")


def test_refusals_say_rule_got_and_remedy():
    one, bare = np.ones((2, 1)), unwrap(calibration)
    cases = [
        (lambda: bare(one, np.ones((3, 1))), r"a row for each image .*; got shapes \(2, 1\) and"),
        (lambda: calibration(2 * one, one), "in 0..1, or NaN .*; got 2..2; pass probabilities"),
        (lambda: calibration(one, 0.5 * one), r"truth is 0 or 1; got \[0.5\]; pass the concepts"),
        (lambda: calibration(one, one, bins=0), "bins is a whole number of at least 1; got 0; p"),
        (lambda: calibration(one, one, concepts=("a", "b")), "name for each concept; got 2 for 1"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
