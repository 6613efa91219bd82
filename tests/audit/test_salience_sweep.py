"""Saliences of components: kernels, dense linear algebra and trained networks agree."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neural_network import MLPClassifier

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit import Settings
from partwhole.audit.prediction.salience_sweep import (
    FACTORS,
    gaussian_kernel,
    network_kernel,
    salience_sweep,
)
from partwhole.features.order_kernel import OrderKernel

COMPONENTS = ["shape", "colour", "size"]


def exchanged():
    """Return the rule of CLEVR-CoGenT: cubes and cylinders exchange their colours in test."""
    rows = [(s, c, z) for s in range(3) for c in range(8) for z in range(2)]
    frame = pd.DataFrame(rows, columns=COMPONENTS).map(lambda v: f"v{v}")
    frame["name"] = [("cube", "cylinder", "sphere")[row[0]] for row in rows]
    held_out = [(row[0] == 0 and row[1] >= 4) or (row[0] == 1 and row[1] < 4) for row in rows]
    frame["split"] = np.where(held_out, "test", "train")
    return frame


@cache
def audited():
    """Return its audit, which most tests start from."""
    return audit_split(exchanged(), COMPONENTS, "name", "split", add=0)


def one_hot(frame, saliences):
    return np.hstack(
        [s * pd.get_dummies(frame[name]).to_numpy(float)
         for name, s in zip(COMPONENTS, saliences, strict=True)]
    )  # fmt: skip


def gram(kernel, a, b):
    """Return an order kernel's values, the full conjunction as memory."""
    shared = a[:, None] == b[None]
    values = kernel.memory * shared.all(axis=2)
    for subset, weight in kernel.weights.items():
        values = values + weight * shared[:, :, list(subset)].all(axis=2)
    return values


def test_the_gaussian_kernel_is_that_of_scaled_inputs():
    frame, saliences = exchanged(), [1.0, 1.7, 0.4]
    codes = frame[COMPONENTS].apply(lambda column: pd.factorize(column)[0]).to_numpy()
    ours = gram(gaussian_kernel(saliences, 2), codes, codes)
    theirs = rbf_kernel(one_hot(frame, saliences), gamma=0.5)
    # Constants and units of a kernel do not matter with a free intercept.
    low, high = np.exp(-np.sum(np.square(saliences))), 1.0
    np.testing.assert_allclose(ours, (theirs - low) / (high - low), atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_equal_saliences_are_the_usual_network(depth):
    ours = network_kernel([2.0, 2.0, 2.0], 2, depth)
    usual = OrderKernel.random_network(3, 2, depth)
    assert ours.memory == pytest.approx(usual.memory, abs=1e-12)
    for subset, weight in usual.weights.items():
        assert ours.weights[subset] == pytest.approx(weight, abs=1e-12)


def least_squares_accuracy(frame, saliences):
    """Interpolate with scikit-learn's Gaussian kernel and a free intercept."""
    inputs, train = one_hot(frame, saliences), (frame["split"] == "train").to_numpy()
    labels = pd.get_dummies(frame["name"]).to_numpy(float)
    kernel = rbf_kernel(inputs, gamma=0.5)
    n = int(train.sum())
    bordered = np.block(
        [[kernel[np.ix_(train, train)], np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    solution = np.linalg.solve(bordered, np.vstack([labels[train], np.zeros((1, 3))]))
    outputs = kernel[np.ix_(~train, train)] @ solution[:n] + solution[n]
    return np.mean(outputs.argmax(axis=1) == labels[~train].argmax(axis=1))


def test_the_limit_of_least_squares_is_that_of_dense_algebra():
    frame = exchanged()
    sweep = audited().evidence[0].sweep
    assert sweep.order == 2
    place = sweep.learners.index(("least squares", "Gaussian"))
    until = sweep.until[place, 1]
    # Halved four times, within an octave.
    step = 2.0 ** (1 / 16)
    assert least_squares_accuracy(frame, [1.0, until, 1.0]) == 1.0
    assert least_squares_accuracy(frame, [1.0, until * step**1.01, 1.0]) < 1.0
    for factor, accuracy in zip(sweep.factors, sweep.accuracy[place, 1], strict=True):
        assert accuracy == least_squares_accuracy(frame, [1.0, factor, 1.0])
    # Margins and one hidden layer bear no less than the Gaussian kernel does.
    assert (sweep.until[:, 1] >= until / step**2).all()


def test_trained_networks_are_right_before_the_limit_and_wrong_beyond_it():
    frame = exchanged()
    train = (frame["split"] == "train").to_numpy()
    accuracy = {}
    for colour in (1.0, 2.5):
        inputs, scores = one_hot(frame, [1.0, colour, 1.0]), []
        for seed in range(2):
            network = MLPClassifier((64,), alpha=0.0, max_iter=400, random_state=seed,
                                    learning_rate_init=0.003)  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                network.fit(inputs[train], frame["name"][train])
            scores.append(network.score(inputs[~train], frame["name"][~train]))
        accuracy[colour] = np.mean(scores)
    (evidence,) = audited().evidence
    assert 1.0 < evidence.sweep.until[:, 1].min() < 2.5
    assert accuracy[1.0] == 1.0
    assert accuracy[2.5] < 0.2


def test_saliences_of_the_user_move_the_predictions_and_the_limit():
    frame = exchanged()
    doubled = audit_split(
        frame, COMPONENTS, "name", "split", add=0, require_order=2, salience={"colour": 2.0}
    )
    before, after = (report.evidence[0] for report in (audited(), doubled))
    place = before.sweep.learners.index(("least squares", "one hidden ReLU layer"))
    factors = np.array(FACTORS)
    np.testing.assert_allclose(
        after.sweep.accuracy[place, 1][:-1], before.sweep.accuracy[place, 1][1:], atol=1e-12
    )
    assert factors[1] / factors[0] == 2.0
    kernel = network_kernel([1.0, 2.0, 1.0], 2)
    assert after.prediction.points[0].kernel.weights == kernel.weights
    # Already wrong with the Gaussian kernel, so there is no limit to report.
    assert not after.sweep.is_right
    words = (
        "With the saliences that are given rows of test are already predicted wrong by least "
        "squares with a Gaussian kernel ("
    )
    (finding,) = [one for one in doubled.findings if one.rule == "salience-limit"]
    assert finding.message.startswith(words)
    for text in (doubled.to_html(), " ".join(doubled.to_text().split())):
        assert words in text
    tripled = audit_split(frame, COMPONENTS, "name", "split", add=0, salience={"colour": 3.0})
    worst = f"{100 * tripled.evidence[0].sweep.unchanged.min():.0f} % of rows are predicted right"
    assert f", but with the saliences that are given as little as {worst}" in tripled.headline
    tile = f"<strong>{worst.split()[0]} %</strong><span>predicted accuracy by rows</span>"
    assert f"{tile}<small>at the given saliences, of the worst learner tried" in tripled.to_html()
    # A limit is that of the salience, not of its change.
    more = audit_split(frame, COMPONENTS, "name", "split", add=0, salience={"colour": 1.5})
    (ours,), (theirs,) = (
        [one for one in report.findings if (one.rule, one.subject) == ("salience-limit", "colour")]
        for report in (more, audited())
    )
    limits = [float(finding.message.split("at most ")[1].split()[0]) for finding in (ours, theirs)]
    # Halvings leave 4.4 % between factors.
    np.testing.assert_allclose(*limits, rtol=0.045)


def test_a_limit_within_the_threshold_is_a_finding():
    frame, report = exchanged(), audited()
    (finding,) = [one for one in report.findings if one.rule == "salience-limit"]
    assert finding.subject == "colour"
    until = report.evidence[0].sweep.until[:, 1].min()
    assert f"while colour is at most {until:.3g} times as salient as each other component" in (
        finding.message
    )
    loose = audit_split(frame, COMPONENTS, "name", "split", add=0, settings=Settings(salience=1.2))
    assert "salience-limit" not in {one.rule for one in loose.findings}


def test_measured_features_are_placed_by_their_saliences():
    frame = exchanged()
    features = one_hot(frame, [1.0, 3.0, 1.0])
    report = audit_split(frame, COMPONENTS, "name", "split", add=0, features=features)
    sweep = report.evidence[0].sweep
    # Nine against a mean of one, and one against a mean of five.
    expected = [np.sqrt(1 / 5), 3.0, np.sqrt(1 / 5)]
    np.testing.assert_allclose(sweep.measured, expected, rtol=1e-9)
    assert "measured features" in report.to_html()
    (finding,) = [
        one for one in report.findings if (one.rule, one.subject) == ("salience-limit", "colour")
    ]
    assert (
        "In the measured features it is 3 times as salient, beyond that range." in finding.message
    )
    assert "--features" not in finding.message
    until = sweep.range_of_all[1][1]
    assert (
        ", but in the measured features colour is 3 times as salient as each other component, and "
        f"learners other than a linear readout are right only while it is at most {until:.3g} "
        "times as salient. Not if pairs"
    ) in report.headline
    within = audit_split(
        frame, COMPONENTS, "name", "split", add=0, features=one_hot(frame, np.ones(3))
    )
    assert "measured features" not in within.headline


def test_two_components_have_a_range_of_networks_if_they_are_unlike():
    rows = [(a, b, a + b > 3, "test" if a > 1 and b > 1 else "train")
            for a in range(4) for b in range(4)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["a", "b", "y", "split"])
    report = audit_split(frame, ["a", "b"], "y", "split", add=0, salience={"a": 3})
    prediction = report.evidence[0].prediction
    assert prediction.axis == "hidden layers of a random ReLU network"
    weights = prediction.points[0].kernel.weights
    assert weights[0,] > 2 * weights[1,]
    assert "(S = 0.425)" not in report.to_text()


def test_numbers_and_large_tables_have_no_sweep(monkeypatch):
    frame = exchanged()
    frame["y"] = np.arange(48.0)
    numbers = audit_split(frame, COMPONENTS, "y", "split", add=0)
    assert numbers.evidence[0].sweep is None
    assert "not tried" not in numbers.to_text()
    assert "not tried" not in numbers.to_html()
    for name, most in (("MOST_COLUMNS", 5), ("MOST_SECONDS", 0.0)):
        monkeypatch.setattr(f"partwhole.audit.prediction.salience_sweep.{name}", most)
    large = audit_split(frame, COMPONENTS, "name", "split", add=0)
    assert large.evidence[0].sweep is None
    words = "features) was not tried: that is for at most 10 components"
    assert words in " ".join(large.to_text().split())
    assert words in large.to_html()
    (evidence,) = audited().evidence
    assert salience_sweep(evidence.case, deadline=-1.0) is None


def test_components_of_many_values_have_a_sweep():
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 320, (1300, 2)), axis=0)
    effects = rng.normal(size=(2, 320))
    label = effects[0][rows[:, 0]] + effects[1][rows[:, 1]] > 0
    train = rng.random(len(rows)) < 0.9
    known = [np.isin(rows[:, c], rows[train, c]) for c in range(2)]
    used = train | (known[0] & known[1])
    rows, label, train = rows[used], label[used], train[used]
    frame = pd.DataFrame(rows, columns=["a", "b"]).map(lambda v: f"v{v}")
    frame = frame.assign(y=np.where(label, "yes", "no"), split=np.where(train, "train", "test"))
    sweep = audit_split(frame, ["a", "b"], "y", "split", add=0).evidence[0].sweep
    assert sweep is not None
    assert sum(frame.loc[train, name].nunique() for name in "ab") > 600
    place, unchanged = sweep.learners.index(("least squares", "Gaussian")), FACTORS.index(1.0)
    # The kernel's values for pairs that share a part, and a constant, by dense algebra.
    kernel = gaussian_kernel([1.0, 1.0], 1)
    of_parts = sum(kernel.weights[(c,)] * (rows[:, None, c] == rows[None, :, c]) for c in range(2))
    full = of_parts + kernel.memory * np.eye(len(rows))
    n = int(train.sum())
    bordered = np.block([[full[np.ix_(train, train)], np.ones((n, 1))], [np.ones((1, n)), 0.0]])
    signs = np.where(label, 1.0, -1.0)
    solved = np.linalg.solve(bordered, np.append(signs[train], 0.0))
    outputs = full[np.ix_(~train, train)] @ solved[:-1] + solved[-1]
    right = np.mean(np.sign(outputs) == signs[~train])
    assert sweep.accuracy[place][:, unchanged] == pytest.approx(right)


@pytest.mark.parametrize(
    ("salience", "sentence"),
    [
        (
            {"color": 2.0},
            "saliences are of components; got 'color', components are 'shape', 'colour', "
            "'size'; did you mean 'colour'?",
        ),
        (
            {"colour": 0.0},
            "a salience is a number from 0.001 to 1,000; got 0.0 for 'colour'; pass 1 for one that "
            "is as salient as others",
        ),
        ({"colour": "2"}, "salience['colour'] is a finite number; got '2'; pass one number"),
    ],
)
def test_saliences_are_refused_in_one_sentence(salience, sentence):
    with pytest.raises(InputError) as error:
        audit_split(exchanged(), COMPONENTS, "name", "split", salience=salience)
    assert str(error.value) == sentence


@pytest.mark.parametrize("has_sizes", [True, False])
def test_the_strictest_learner_is_that_of_the_narrowest_limits(has_sizes):
    rows = [(a, b, c) for a in range(5) for b in range(5) for c in range(3 if has_sizes else 1)]
    frame = pd.DataFrame(rows, columns=["shape", "colour", "size"])
    weights, bound = ([1, 1, 1], 4) if has_sizes else ([1, 2, 0], 6)
    frame["y"] = np.where(frame @ weights > bound, "yes", "no")
    frame["split"] = ["test" if min(a, b) > 2 or a == b == 0 else "train" for a, b, _ in rows]
    names = ["shape", "colour", "size"][: 3 if has_sizes else 2]
    report = audit_split(frame, names, "y", "split", add=0)
    (one,) = report.evidence
    since, until = one.sweep.range_of_all
    assert one.sweep.is_right
    assert np.isfinite(until).any()
    bounds = zip(names, since, until, strict=True)
    limited = [
        f"{name} counts at most {high:.3g} times as much as "
        + ("each other component" if has_sizes else {"shape": "colour", "colour": "shape"}[name])
        for name, low, high in bounds
        if low == 0.0 and np.isfinite(high)
    ]
    sentence = (
        "The strictest of four kernel learners gives the right label to all rows that are held out "
        f"only while {'; and '.join(limited)} (salience: how strongly a change of a component "
        "changes the inputs or features). Networks may fail earlier: measure yours (--features)."
    )
    assert len(one.sweep.learners) == 4
    assert sentence in " ".join(report.to_text().split())
    assert sentence in report.to_html()
