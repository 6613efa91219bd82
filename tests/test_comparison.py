"""Learners beside theory at their saliences: kernel machines agree, others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import partwhole as pw
from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.comparison import compare_with_kernel
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak, shortcut_margin
from partwhole.measures import contrasts, salience, slope

ADDITION = tasks.symbolic_addition(range(-4, 5), [-2, 2])
CONTEXT = tasks.context_dependence(3)


@pytest.mark.parametrize("order_1", [0.1, 0.3, 0.45])
def test_a_kernel_machine_is_what_its_saliences_say(order_1):
    kernel = OverlapKernel.from_salience([order_1])
    answers = solve(ADDITION, kernel, intercept="free").predictions
    found = compare_with_kernel(ADDITION, answers, kernel)
    assert found.gap.mean < 1e-9
    for readings in (found.found, found.foreseen):
        assert readings["slope"].mean == pytest.approx(memorization_leak(order_1, 2), abs=1e-9)
        assert readings["additivity"].mean == pytest.approx(1.0, abs=1e-9)


def test_saliences_measured_in_features_of_any_framework():
    # Features whose overlap kernel is known, and a ridge readout of them by plain NumPy.
    kernel = OverlapKernel.from_salience([0.35])
    size, basis = np.linalg.eigh(kernel.gram(ADDITION.components))
    features = basis * np.sqrt(np.maximum(size, 0.0))
    seen = ADDITION.is_train
    centre = features[seen].mean(axis=0)
    x = features - centre
    weights = np.linalg.lstsq(x[seen], ADDITION.train_targets, rcond=1e-10)[0]
    measured = salience(features, ADDITION.components, self_pairs=True)
    found = compare_with_kernel(ADDITION, x @ weights, measured)
    assert found.gap.mean < 1e-6


def test_components_of_unequal_salience_have_theories_of_their_own():
    # G-7: slopes of .705882 and .782609, which no mean salience has.
    kernel = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    size, basis = np.linalg.eigh(kernel.gram(ADDITION.components))
    features = basis * np.sqrt(np.maximum(size, 0.0))
    measured = salience(features, ADDITION.components, self_pairs=True)
    answers = solve(ADDITION, kernel, intercept="free").predictions
    found = compare_with_kernel(ADDITION, answers, measured)
    assert found.gap.mean < 1e-6
    slopes = contrasts(ADDITION, found.predicted[0]).slope
    assert list(slopes.values()) == pytest.approx([0.705882, 0.782609], abs=1e-6)
    # Without pairs that share the second component alone there are saliences by size.
    rows = np.array([[0, 0], [0, 1], [1, 2], [1, 3]])
    partly = salience(kernel.gram(rows), rows, self_pairs=True)
    assert np.isnan(partly.kappa).any()
    by_size = compare_with_kernel(ADDITION, answers, partly.count_kernel).predicted
    found = compare_with_kernel(ADDITION, answers, partly)
    np.testing.assert_allclose(found.predicted, by_size, atol=1e-12)


@pytest.mark.parametrize(
    "given", [[0.1, 0.05], [0.1, 0.05, 0.55], np.array([0.1, 0.05]),
              OverlapKernel.from_salience([0.1, 0.05])], ids=str
)  # fmt: skip
def test_labels_by_the_largest_margin_in_any_unit(given):
    kernel = OverlapKernel.from_salience([0.1, 0.05])
    answers = solve(CONTEXT, kernel, fit="margin", intercept="free").predictions
    found = compare_with_kernel(CONTEXT, np.stack([answers, 7.0 * answers]), given)
    assert found.fit == "margin"
    # To what two solvers of a margin agree to.
    assert found.gap.mean < 1e-5
    expected = shortcut_margin(0.1, 0.05, values_per_half=3, fit="margin")
    assert found.found["margin"].mean == pytest.approx(expected, abs=1e-5)
    assert found.found["accuracy"].mean == found.foreseen["accuracy"].mean == 0.0


def test_labels_by_regression():
    kernel = OverlapKernel.from_salience([0.15, 0.1])
    answers = solve(CONTEXT, kernel, intercept="free").predictions
    found = compare_with_kernel(CONTEXT, answers, kernel, fit="regression")
    expected = shortcut_margin(0.15, 0.1, values_per_half=3, fit="regression")
    assert found.found["margin"].mean == pytest.approx(expected, abs=1e-9)
    assert found.gap.mean < 1e-9


def test_runs_that_did_not_learn_do_not_count():
    answers = np.stack([k * ADDITION.targets for k in (0.6, 0.7, 5.0, 0.8)])
    answers[2, 3] = np.nan
    found = compare_with_kernel(ADDITION, answers, [0.4], has_learned=[True, True, False, True])
    assert found.found["slope"].n == 3
    assert found.found["slope"].n_dropped == 1
    assert found.found["slope"].mean == pytest.approx(0.7)
    assert found.describe().splitlines()[0] == (
        "49 unseen combinations, 3 runs, 1 left out; theory: interpolation at the measured "
        "saliences"
    )


def test_each_run_has_its_own_theory():
    both = [OverlapKernel.from_salience([each]) for each in (0.2, 0.4)]
    answers = np.stack([
        solve(ADDITION, each, intercept="free").predictions for each in both
    ])  # fmt: skip
    assert compare_with_kernel(ADDITION, answers, both).gap.mean < 1e-9
    swapped = compare_with_kernel(ADDITION, answers, both[::-1])
    assert swapped.gap.mean > 0.1
    rows = np.array([[0.2, 0.6], [0.4, 0.2]])
    assert compare_with_kernel(ADDITION, answers, rows).gap.mean < 1e-9


def test_saliences_below_0_and_beyond_1_are_those_of_the_edge():
    answers = 0.9 * ADDITION.targets
    edge = compare_with_kernel(ADDITION, answers, [0.5]).predicted
    beyond = compare_with_kernel(ADDITION, answers, [0.52]).predicted
    # A memory of a millionth is left, so that training sums can be fitted.
    np.testing.assert_allclose(edge, beyond, atol=1e-4)
    assert slope(ADDITION, edge[0]).value == pytest.approx(1.0, abs=1e-4)
    none = compare_with_kernel(ADDITION, answers, [-0.1]).predicted[0]
    assert slope(ADDITION, none).value == pytest.approx(0.0, abs=1e-9)


def test_the_table_and_the_public_name():
    found = pw.compare_with_kernel(ADDITION, 0.6 * ADDITION.targets, [0.3])
    frame = found.to_frame().set_index("reading")
    assert list(frame.index) == ["slope", "intercept", "error", "additivity"]
    assert frame.loc["slope", "found"] == pytest.approx(0.6)
    assert frame.loc["slope", "theory"] == pytest.approx(0.6)
    assert np.isnan(frame.loc["slope", "low"])
    assert "(" not in found.describe()
    one = pw.compare_with_kernel(tasks.partial_exposure(), np.array([-1.0, -1, 1, 1]), [0.3])
    assert one.describe().startswith("1 unseen combination, 1 run; theory: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"predictions": np.zeros((81, 1))},
            r"the task's 81 rows, of one run or several; got shape .81, 1.; pass shape .81,. or",
        ),
        ({"predictions": np.zeros((0, 81))}, r"of one run or several; got shape .0, 81."),
        (
            {"task": replace(ADDITION, targets=np.stack([ADDITION.targets] * 2, axis=1))},
            r"compared in one output; got targets of shape \(81, 2\); take one at a time, datac",
        ),
        (
            {"task": replace(ADDITION, is_train=np.ones(81, dtype=bool))},
            r"whose targets differ; got 0 held out, targets in -8..8; hold rows out by is_train",
        ),
        (
            {"task": replace(ADDITION, targets=np.ones(81))},
            r"whose targets differ; got 49 held out, targets in 1..1; hold",
        ),
        ({"salience": [0.1, 0.2, 0.3]}, r"S\(1;2\) to S\(2;2\); got \[0.1, 0.2, 0.3\]"),
        ({"salience": [np.nan]}, "salience is an array of finite numbers .* got 1 that is NaN"),
        ({"salience": OverlapKernel.from_salience([0.1, 0.1])}, "as the task; got 3 for 2"),
        ({"salience": [OverlapKernel.from_salience([0.1])] * 3}, "one for each; got 3 for 1 run"),
        ({"fit": "ridge"}, 'fit is "regression" or "margin"; got .ridge.'),
        ({"fit": "margin"}, "margins are of labels -1 and .1; got other targets"),
        ({"has_learned": [True, False]}, "one entry for each run; got 2 for 1"),
        ({"predictions": np.full(81, np.inf)}, "finite numbers; got 81 that are not"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(changes, message):
    given = {"task": ADDITION, "predictions": ADDITION.targets, "salience": [0.4]} | changes
    with pytest.raises(InputError, match=message):
        compare_with_kernel(**given)
