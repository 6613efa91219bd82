"""ReLU networks of several labels: agreement beyond chance, and what a cell reads."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.tasks.images.digits import digit_images
from partwhole_studies.gated import several_labels as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_agreement_beyond_chance():
    labels = np.repeat([0, 1], 4)
    first = np.array([0, 0, 0, 1, 1, 1, 2, 1])
    assert study.agreement(first, first, labels) == 1.0
    second = np.array([0, 0, 2, 0, 1, 1, 1, 0])
    # Of label 0: 3/4 x 3/4; of label 1: 3/4 x 3/4. Different are four of eight.
    assert study.agreement(first, second, labels) == pytest.approx(1 - 0.5 / (1 - 9 / 16))
    assert np.isnan(study.agreement(first, np.full(8, -1), labels))


def test_answers_that_are_independent_given_the_label_agree_by_chance():
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=2000)
    confusion = rng.dirichlet(np.full(10, 0.3), size=(2, 10))

    def answers(of):
        return (rng.random((2000, 1)) > confusion[of, labels].cumsum(axis=1)).sum(axis=1)

    drawn = [study.agreement(answers(0), answers(1), labels) for _ in range(40)]
    error = np.std(drawn, ddof=1) / np.sqrt(40)
    assert abs(np.mean(drawn)) < 4 * error
    assert error < 0.005


def by_hand(config):
    """Train a network by NumPy alone; return hidden weights, readout, and the split of images."""
    images, classes = digit_images()
    every = np.column_stack([2.0 * images.reshape(len(images), -1) - 1.0, np.ones(len(images))])
    order = np.random.RandomState(config["seed"]).permutation(len(every))
    train, test = order[: config["n"]], order[config["n"] :]
    start = study.GatedClassifier.draw(
        65, [study.LearnedGates(config["units"]), 10], seed=config["seed"], initial="he"
    )
    hidden, readout = (np.asarray(layer, float)[:, 0] for layer in start.units.weights)
    x, one_hot = every[train], np.eye(10)[classes[train]]
    speeds = np.zeros_like(hidden), np.zeros_like(readout)
    for _ in range(config["steps"][0]):
        units = np.maximum(x @ hidden.T, 0.0)
        scores = units @ readout.T
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        pull = (shares / shares.sum(axis=1, keepdims=True) - one_hot) / len(x)
        slopes = ((pull @ readout) * (x @ hidden.T >= 0)).T @ x, pull.T @ units
        speeds = tuple(0.9 * v + g for v, g in zip(speeds, slopes, strict=True))
        hidden, readout = hidden - 0.04 * speeds[0], readout - 0.04 * speeds[1]
    return hidden, readout, every, classes, train, test


def test_a_cell_reads_the_network_and_the_limit_of_its_gates():
    config = study.PRESETS["quick"][0] | {"steps": [800]}
    arrays = study.cell(config)
    hidden, readout, every, classes, train, test = by_hand(config)
    answers = np.maximum(every @ hidden.T, 0.0) @ readout.T
    wrong = np.mean(answers[test].argmax(axis=1) != classes[test])
    # An image or two may lie on the boundary for rounding.
    assert arrays["error"][0, 0] == pytest.approx(wrong, abs=2 / len(test))
    seen = answers[train]
    right = seen[np.arange(len(train)), classes[train]]
    others = np.where(np.eye(10)[classes[train]] > 0, -np.inf, seen).max(axis=1)
    smallest = (right - others).min()
    norm = np.sum(hidden**2) + np.sum(readout**2)
    gates = study.ReLUGates(hidden)
    one_hot = np.eye(10)[classes[train]]
    limit = study.solve((every[train], one_hot), gates, fit="margin", intercept="none")
    assert arrays["share"][0] == pytest.approx(2 * limit.value * smallest / norm, rel=1e-3)
    learned = np.mean(limit.predict(every[test]).argmax(axis=1) != classes[test])
    assert arrays["error"][0, 1] == pytest.approx(learned, abs=3 / len(test))


def cells(learned=0.6, random=0.4, linear=0.5, late=0.1, share=0.4):
    rng = np.random.default_rng(0)
    runs = []
    for config in study.PRESETS["laptop"]:
        first = np.array([learned, random, linear]) + 0.02 * rng.normal(size=3)
        agreement = np.array([first, first + np.array([late, 0.0, 0.0])])
        error = np.tile([0.1, 0.12, 0.2, 0.14], (2, 1))
        arrays = {"agreement": agreement, "error": error, "share": np.array([share, 1.1 * share])}
        runs.append((config, arrays | {"missed": np.zeros(2)}))
    return runs


def test_each_claim_holds_or_not_as_agreements_are():
    data = study.gather(cells())
    require_whole(study, data)
    assert set(verdicts(study, data).values()) == {"holds"}
    other = study.gather(cells(learned=0.3, late=-0.1))
    assert set(verdicts(study, other).values()) == {"does not hold"}


def test_margins_above_the_limit_and_missing_limits_are_noticed():
    assert failed_checks(study, study.gather(cells(share=1.2))) == ["bound"]
    runs = cells()
    runs[0][1]["error"][0, 1] = np.nan
    assert failed_checks(study, study.gather(runs)) == ["missing"]
