"""The examples do what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_is_found_where_nothing_is_wrong(capsys):
    report = example("audit_clean_table").main()
    assert report.verdict == "supported"
    assert report.findings == ()
    assert capsys.readouterr().out.startswith("Supported")


def test_every_planted_fault_is_named_in_its_split(capsys):
    module = example("audit_planted_faults")
    report = module.main()
    assert report.verdict == "unsupported"
    found = {(finding.split, finding.rule) for finding in report.findings}
    assert set(module.PLANTED.items()) <= found
    assert "MISSED" not in capsys.readouterr().out
    # And no fault is named where it was not planted, but for what follows from one.
    consequences = {
        ("unseen", "not-determined"),
        ("unseen", "thin-coverage"),
        ("shortcut", "at-chance"),
        ("unsolvable", "at-chance"),
        ("apart", "at-chance"),
        ("apart", "thin-coverage"),
        ("apart", "shortcut"),
        ("unsolvable", "strong-leak"),
        ("apart", "strong-leak"),
    }
    assert found <= set(module.PLANTED.items()) | consequences


def test_the_audit_foresees_what_the_readout_of_one_hand_does():
    module = example("audit_digits")
    found = np.array([module.main(seed=seed, told=False) for seed in range(4)])
    predicted, trained = found[:, 2], found[:, 3]
    # Digits resemble one another unequally, which the measured saliences average over: over ten
    # hands the slopes differed by .03 on average, by .12 at most.
    assert np.mean(np.abs(predicted - trained)) < 0.1
    assert found[:, 4].min() > 0.9
    # Both far from what a learner without leak would do.
    assert max(predicted.max(), trained.max()) < 0.9


def test_with_many_hands_the_audit_foresees_the_error(capsys):
    # A quarter of the example's width is enough to see it.
    found = example("audit_digits").main(hands=20, width=500)
    # Combinations have been seen in twenty images each, from which their means are estimated.
    assert found.predicted_error == pytest.approx(found.trained_error, rel=0.15)
    assert found.predicted_slope == pytest.approx(found.trained_slope, abs=0.1)
    assert f"{found.predicted_error:.3f}" in capsys.readouterr().out


def test_a_network_on_composed_digits_leaks_more_than_its_saliences_say(capsys):
    # Sixteen epochs of fewer images are enough to see it; the example trains for thirty.
    by_saliences, by_readout = example("composed_digits").main(epochs=16, images=24)
    slopes = by_saliences.measured["slope"].mean, by_saliences.predicted["slope"].mean
    assert slopes[0] < slopes[1] - 0.1
    # The prediction of the readout, which knows how images differ, is nearer in four seeds of four.
    assert slopes[0] < by_readout.predicted["slope"].mean < slopes[1]
    assert by_saliences.measured["additivity"].mean > 0.9
    assert f"slope: measured {slopes[0]:.3f}, predicted" in capsys.readouterr().out


def test_the_gate_fails_with_the_findings(tmp_path, monkeypatch):
    module = example("test_split")
    table = pd.DataFrame([(s, c, s + c) for s in range(4) for c in range(4)])
    table.columns = ["shape", "colour", "label"]
    held_out = (table["shape"] == table["colour"]).to_numpy()
    table["split"] = np.where(held_out, "test", "train")
    path = tmp_path / "combinations.csv"
    monkeypatch.setattr(module, "TABLE", path)
    table.to_csv(path, index=False)
    module.test_the_split_supports_its_test()
    table["split"] = np.where((table["shape"] < 2) == (table["colour"] < 2), "train", "test")
    table.to_csv(path, index=False)
    with pytest.raises(Exception, match="not-determined"):
        module.test_the_split_supports_its_test()
