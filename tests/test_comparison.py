"""Learners beside theory at their saliences: kernel machines agree, others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from noisy_recordings import population

import partwhole as pw
from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.comparison import compare
from partwhole.features import OverlapKernel
from partwhole.limits import Tube, memorization_leak, shortcut_margin
from partwhole.measures import contrasts, predict_readout, salience, slope

ADDITION = tasks.symbolic_addition(range(-4, 5), [-2, 2])
CONTEXT = tasks.context_dependence(3)
LIMIT = solve(ADDITION, OverlapKernel.from_salience([0.3]), intercept="free")
KERNEL, TWICE = OverlapKernel.from_salience([0.3]), np.stack([ADDITION.targets] * 2)
OTHER = solve(CONTEXT, OverlapKernel.from_salience([0.1, 0.05]), intercept="free")
FAILED = solve(
    (ADDITION.one_hot(), ADDITION.targets**2), is_train=ADDITION.is_train, intercept="free"
)


@pytest.mark.parametrize("order_1", [0.1, 0.3, 0.45])
def test_a_kernel_machine_is_what_its_saliences_say(order_1):
    kernel = OverlapKernel.from_salience([order_1])
    answers = solve(ADDITION, kernel, intercept="free").predictions
    comparison = compare(ADDITION, answers, kernel)
    assert comparison.gap.mean < 1e-9
    for readings in (comparison.measured, comparison.predicted):
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
    comparison = compare(ADDITION, x @ weights, measured)
    assert comparison.gap.mean < 1e-6


def test_components_of_unequal_salience_have_theories_of_their_own():
    # G-7: slopes of .705882 and .782609, which no mean salience has.
    kernel = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    size, basis = np.linalg.eigh(kernel.gram(ADDITION.components))
    features = basis * np.sqrt(np.maximum(size, 0.0))
    measured = salience(features, ADDITION.components, self_pairs=True)
    answers = solve(ADDITION, kernel, intercept="free").predictions
    comparison = compare(ADDITION, answers, measured)
    assert comparison.gap.mean < 1e-6
    slopes = contrasts(ADDITION, comparison.predictions[0]).slope
    assert list(slopes.values()) == pytest.approx([0.705882, 0.782609], abs=1e-6)
    # Without pairs that share the second component alone there are saliences by size.
    rows = np.array([[0, 0], [0, 1], [1, 2], [1, 3]])
    partly = salience(kernel.gram(rows), rows, self_pairs=True)
    assert np.isnan(partly.kappa).any()
    by_size = compare(ADDITION, answers, partly.count_kernel).predictions
    comparison = compare(ADDITION, answers, partly)
    np.testing.assert_allclose(comparison.predictions, by_size, atol=1e-12)


def noisy_grid(n_features, m, seed, noise=1.0):
    """Return a task of sums on a 4 x 4 grid, whose corner is held out, means, trials and rows."""
    rng = np.random.default_rng(seed)
    grid, means = population(rng, neurons=n_features)
    named = {"names": ("first", "second"), "values": (tuple("abcd"), tuple("efgh"))}
    task = tasks.Task(grid, grid.sum(axis=1) - 3.0, (grid < 2).any(axis=1), **named)
    rows = np.repeat(np.arange(16), m)
    return task, means, means[rows] + noise * rng.normal(size=(len(rows), n_features)), rows


def by_rows(task, rows):
    arrays = ("components", "targets", "is_train")
    return replace(task, **{name: getattr(task, name)[rows] for name in arrays})


def trained(task, means, trials, rows, ridge):
    """Return a ridge readout's answers to the means, by linear algebra on single trials."""
    seen = task.is_train[rows]
    centre, level = trials[seen].mean(axis=0), task.targets[rows][seen].mean()
    x = trials[seen] - centre
    dual = np.linalg.solve(x @ x.T + ridge * np.eye(len(x)), task.targets[rows][seen] - level)
    return (means - centre) @ (x.T @ dual) + level


def test_noise_of_saliences_is_a_ridge_for_many_features():
    task, means, trials, rows = noisy_grid(20_000, 4, seed=0, noise=3.0)
    measured = salience(trials, task.components[rows])
    answers = trained(task, means, trials, rows, 1e-3)
    with_noise = compare(task, answers, measured, samples=4)
    without = compare(task, answers, measured, samples=np.inf)
    # 1 / sqrt(20,000) of the length of noise is .007; random parts overlap as little.
    assert with_noise.gap.mean < 0.05
    assert without.gap.mean > 0.2
    assert with_noise.predicted["slope"].mean < without.predicted["slope"].mean
    # A row for each trial, every one of them with the whole noise.
    single = by_rows(task, rows)
    by_trial = compare(single, answers[rows], measured, samples=1)
    np.testing.assert_allclose(by_trial.predictions[0], with_noise.predictions[0][rows], atol=1e-8)


def test_a_readout_is_a_theory_where_noise_is_no_ridge():
    gaps = []
    for seed in range(5):
        task, means, trials, rows = noisy_grid(20, 20, seed)
        seen = task.is_train[rows]
        readout = predict_readout(trials, task.components[rows], task.targets[rows], seen)
        answers = trained(task, means, trials, rows, np.mean(np.var(trials, axis=0)))
        compared = compare(readout.task, answers, readout)
        np.testing.assert_array_equal(compared.task.is_train, task.is_train)
        assert "predicted: a readout of noisy trials\n" in compared.describe()
        measured = salience(trials, task.components[rows])
        gaps.append((compared.gap.mean, compare(task, answers, measured, samples=20).gap.mean))
    assert compared.fit == "readout"
    # Predicted to .1 by condition (the standard deviation of the targets is 1.6), from the noise
    # of 20 trials in the measured means; as a ridge, noise says 1.07 where readouts answer .07.
    assert (
        compare(task, answers, measured, samples=20)
        .describe()
        .endswith(
            "Noise counts as a ridge, as in far more neurons than training trials; of fewer pass "
            "measures.predict_readout(...), which knows the noise of each neuron."
        )
    )
    assert compare(task, answers, measured, samples=np.inf).noise == "none"
    assert np.mean(gaps, axis=0)[0] < 0.2
    assert np.mean(gaps, axis=0)[1] > 0.4


def test_a_margin_says_that_it_ignores_noise():
    task, _, trials, rows = noisy_grid(50, 5, seed=0)
    labels = replace(task, targets=np.where(task.targets > 0, 1.0, -1.0))
    measured = salience(trials, task.components[rows])
    compared = compare(labels, labels.targets, measured)
    assert compared.noise == "ignored"
    assert compared.describe().endswith("classifier=SVM()).")
    assert compare(labels, labels.targets, [0.3]).noise == "none"


def test_sentences_of_noise_and_readouts():
    task, _, trials, rows = noisy_grid(50, 5, seed=0)
    measured = salience(trials, task.components[rows])
    with pytest.raises(InputError, match=r"got noise .* and no samples; pass samples=m"):
        compare(task, task.targets, measured)
    seen = task.is_train[rows]
    readout = predict_readout(trials, task.components[rows], task.targets[rows], seen)
    with pytest.raises(InputError, match="readouts have a fit of their own; got 1 readouts of 1"):
        compare(task, task.targets, readout, fit="equal")
    with pytest.raises(InputError, match="got 1 readouts of 2 theories"):
        compare(task, np.stack([task.targets] * 2), [readout, measured])
    single = by_rows(task, rows)
    with pytest.raises(InputError, match="got 64 rows more"):
        compare(single, single.targets, readout)
    for options in ({"targets": -task.targets}, {"is_train": ~task.is_train}):
        changed = replace(task, **options)
        with pytest.raises(InputError, match="got other targets or other training rows"):
            compare(changed, changed.targets, readout)


@pytest.mark.parametrize(
    "given", [[0.1, 0.05], [0.1, 0.05, 0.55], np.array([0.1, 0.05]),
              OverlapKernel.from_salience([0.1, 0.05])], ids=str
)  # fmt: skip
def test_labels_by_the_largest_margin_in_any_unit(given):
    kernel = OverlapKernel.from_salience([0.1, 0.05])
    answers = solve(CONTEXT, kernel, fit="margin", intercept="free").predictions
    comparison = compare(CONTEXT, np.stack([answers, 7.0 * answers]), given)
    assert comparison.fit == "margin"
    # To what two solvers of a margin agree to.
    assert comparison.gap.mean < 1e-5
    expected = shortcut_margin(0.1, 0.05, values_per_half=3, fit="margin")
    assert comparison.measured["margin"].mean == pytest.approx(expected, abs=1e-5)
    assert comparison.measured["accuracy"].mean == comparison.predicted["accuracy"].mean == 0.0


def test_labels_by_regression():
    kernel = OverlapKernel.from_salience([0.15, 0.1])
    answers = solve(CONTEXT, kernel, intercept="free").predictions
    comparison = compare(CONTEXT, answers, kernel, fit="equal")
    expected = shortcut_margin(0.15, 0.1, values_per_half=3, fit="regression")
    assert comparison.measured["margin"].mean == pytest.approx(expected, abs=1e-9)
    assert comparison.gap.mean < 1e-9


def copied(task, answers, k=3):
    return replace(task, targets=np.stack([task.targets] * k, axis=1)), np.stack([answers] * k, -1)


def means(readings):
    return {name: pytest.approx(interval.mean, abs=1e-9) for name, interval in readings.items()}


@pytest.mark.parametrize("task", [ADDITION, CONTEXT], ids=["numbers", "labels"])
def test_copies_of_an_output_read_as_the_one(task):
    rng = np.random.default_rng(0)
    saliences = [0.3] if task is ADDITION else [0.15, 0.1]
    runs = task.targets * rng.normal(0.8, 0.2, size=(3, len(task.targets)))
    single = compare(task, runs, saliences, fit="equal")
    threefold = compare(*copied(task, runs), saliences, fit="equal")
    for name in ("measured", "predicted"):
        readings = {n: i.mean for n, i in getattr(threefold, name).items()}
        assert readings == means(getattr(single, name))
    assert threefold.gap.mean == pytest.approx(single.gap.mean, abs=1e-9)
    assert threefold.predictions.shape == (*runs.shape, 3)
    assert ", 3 outputs, 3 runs; " in threefold.describe()


def test_the_order_of_outputs_does_not_matter():
    rng = np.random.default_rng(1)
    targets = ADDITION.targets[:, None] * [1.0, 2.0, 0.5] + rng.normal(size=(81, 3))
    answers, order = targets * 0.7 + rng.normal(size=(2, 81, 3)), [1, 2, 0]
    first = compare(replace(ADDITION, targets=targets), answers, [0.3])
    second = compare(replace(ADDITION, targets=targets[:, order]), answers[..., order], [0.3])
    for name in ("measured", "predicted"):
        assert {n: i.mean for n, i in getattr(second, name).items()} == means(getattr(first, name))
    assert second.gap.mean == pytest.approx(first.gap.mean)


def in_columns(sign, low):
    """Return a sign as two columns, of which that of its class has 1."""
    return low + (1.0 - low) * np.stack([1.0 + sign, 1.0 - sign], axis=-1) / 2.0


@pytest.mark.parametrize("fit", ["equal", "margin"])
@pytest.mark.parametrize("low", [0.0, -1.0], ids=["one-hot", "signs"])
def test_two_classes_agree_with_the_sign(low, fit):
    rng = np.random.default_rng(2)
    answers = CONTEXT.targets * rng.uniform(0.1, 1.0, size=(2, len(CONTEXT.targets)))
    answers *= np.where(CONTEXT.is_train, 1.0, rng.choice([-1.0, 1.0], size=answers.shape))
    task = replace(CONTEXT, targets=in_columns(CONTEXT.targets, low))
    classes = compare(task, in_columns(answers, low), [0.15, 0.1], fit=fit)
    signs = compare(CONTEXT, answers, [0.15, 0.1], fit=fit)
    assert classes.fit == fit
    assert list(classes.measured) == ["accuracy", "margin", "additivity"]
    exact = 1e-12 if fit == "equal" else 1e-6  # to what two solvers of a margin agree
    for name in ("measured", "predicted"):
        expected = means(getattr(signs, name))
        for reading, interval in getattr(classes, name).items():
            assert interval.mean == pytest.approx(expected[reading], abs=exact)
    assert classes.gap.mean == pytest.approx(signs.gap.mean, rel=10 * exact)
    assert compare(task, in_columns(answers, low), [0.15, 0.1]).fit == "margin"


def test_outputs_of_classes_are_read_by_their_differences():
    classes = replace(CONTEXT, targets=in_columns(CONTEXT.targets, 0.0))
    limit = solve(classes, OverlapKernel.from_salience([0.1, 0.05]), fit="margin", intercept="free")
    shifted = limit.predictions + np.linspace(-5.0, 5.0, len(limit.predictions))[:, None]
    comparison = compare(classes, np.stack([limit.predictions, shifted]), limit)
    assert comparison.gap.mean < 1e-9
    margins = comparison.measured["margin"]
    assert margins.mean == pytest.approx(comparison.predicted["margin"].mean, abs=1e-9)


def test_a_limit_of_any_kernel_is_a_theory():
    kernels = [OverlapKernel.from_salience([share]) for share in (0.2, 0.4)]
    grams = np.stack([kernel.gram(ADDITION.components) for kernel in kernels])
    limits = solve(ADDITION, grams, intercept="free")
    by_limits = compare(ADDITION, limits.predictions, limits)
    assert by_limits.gap.mean < 1e-9
    by_kernels = compare(ADDITION, limits.predictions, kernels)
    np.testing.assert_allclose(by_limits.predictions, by_kernels.predictions, atol=1e-6)
    assert by_limits.describe().splitlines()[0].endswith("predicted: interpolation")
    tube = solve(ADDITION, grams[0], fit=Tube(0.1), intercept="free")
    assert compare(ADDITION, tube.predictions, tube).fit == "tube"


def test_a_limit_of_a_kernel_on_inputs_is_a_theory():
    data = (CONTEXT.one_hot(), CONTEXT.targets)

    def cubic(a, b):
        return (1.0 + a @ b.T) ** 3

    limit = solve(data, cubic, is_train=CONTEXT.is_train, fit="margin", intercept="free")
    comparison = compare(CONTEXT, 3.0 * limit.predictions, limit)
    assert comparison.fit == "margin"
    assert comparison.gap.mean < 1e-9


def test_three_classes_of_a_sum():
    # The class of a sum is no sum of parts: kernel machines err, and a learner may be right.
    task = tasks.symbolic_addition(range(3), [1])
    classes = np.eye(5)[task.targets.astype(int)]
    several = replace(task, targets=classes)
    right = compare(several, classes, [0.4])
    assert right.measured["accuracy"].mean == right.measured["margin"].mean == 1.0
    assert right.predicted["accuracy"].mean < 1.0
    predicted = right.predictions[0][~task.is_train].argmax(axis=1)
    assert right.predicted["accuracy"].mean <= np.mean(predicted == task.test_targets)


def test_answers_are_left_as_they_were():
    answers = np.stack([ADDITION.targets, ADDITION.targets])
    compare(ADDITION, answers, [0.4], has_learned=[True, False])
    assert np.isfinite(answers).all()


def test_runs_that_did_not_learn_do_not_count():
    answers = np.stack([k * ADDITION.targets for k in (0.6, 0.7, 5.0, 0.8)])
    answers[2, 3] = np.nan
    comparison = compare(ADDITION, answers, [0.4], has_learned=[True, True, False, True])
    assert comparison.measured["slope"].n == 3
    assert comparison.measured["slope"].n_dropped == 1
    assert comparison.measured["slope"].mean == pytest.approx(0.7)
    assert comparison.describe().splitlines()[0] == (
        "49 unseen combinations, 3 runs, 1 left out; predicted: interpolation at the "
        "given saliences"
    )


def test_each_run_has_its_own_theory():
    both = [OverlapKernel.from_salience([each]) for each in (0.2, 0.4)]
    answers = np.stack([
        solve(ADDITION, each, intercept="free").predictions for each in both
    ])  # fmt: skip
    assert compare(ADDITION, answers, both).gap.mean < 1e-9
    swapped = compare(ADDITION, answers, both[::-1])
    assert swapped.gap.mean > 0.1
    rows = np.array([[0.2, 0.6], [0.4, 0.2]])
    assert compare(ADDITION, answers, rows).gap.mean < 1e-9


def test_saliences_below_0_and_beyond_1_are_those_of_the_edge():
    answers = 0.9 * ADDITION.targets
    edge = compare(ADDITION, answers, [0.5]).predictions
    beyond = compare(ADDITION, answers, [0.52]).predictions
    # A memory of a millionth is left, so that training sums can be fitted.
    np.testing.assert_allclose(edge, beyond, atol=1e-4)
    assert slope(ADDITION, edge[0]).value == pytest.approx(1.0, abs=1e-4)
    none = compare(ADDITION, answers, [-0.1]).predictions[0]
    assert slope(ADDITION, none).value == pytest.approx(0.0, abs=1e-9)


def test_the_table_and_the_public_name():
    comparison = pw.compare(ADDITION, 0.6 * ADDITION.targets, [0.3])
    frame = comparison.to_frame().set_index("reading")
    assert list(frame.index) == ["slope", "intercept", "error", "additivity"]
    assert frame.loc["slope", "measured"] == pytest.approx(0.6)
    assert frame.loc["slope", "predicted"] == pytest.approx(0.6)
    assert np.isnan(frame.loc["slope", "low"])
    assert "(" not in comparison.describe()
    one = pw.compare(tasks.toys.partial_exposure(), np.array([-1.0, -1, 1, 1]), [0.3])
    assert one.describe().startswith("1 unseen combination, 1 run; predicted: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"answers": np.zeros((81, 1))},
            r"task's targets, .81,., for each of the runs; got shape .81, 1.; pass shape .81,. or",
        ),
        ({"answers": np.zeros((0, 81))}, r"for each of the runs; got shape .0, 81."),
        (
            {"task": replace(ADDITION, targets=np.stack([ADDITION.targets] * 2, axis=1))},
            r"targets, .81, 2., for each of the runs; got shape .81,.; pass shape .81, 2. or",
        ),
        (
            {"task": replace(ADDITION, is_train=np.ones(81, dtype=bool))},
            r"whose targets differ; got 0 held out, targets in -8..8; hold rows out by is_train",
        ),
        (
            {"task": replace(ADDITION, targets=np.ones(81))},
            r"whose targets differ; got 49 held out, targets in 1..1; hold",
        ),
        ({"theory": [0.1, 0.2, 0.3]}, r"S\(1;2\) to S\(2;2\); got \[0.1, 0.2, 0.3\]"),
        ({"theory": [np.nan]}, "theory is an array of finite numbers .* got 1 that is NaN"),
        ({"theory": OverlapKernel.from_salience([0.1, 0.1])}, "as the task; got 3 for 2"),
        ({"theory": [OverlapKernel.from_salience([0.1])] * 3}, "one for each; got 3 for 1 run"),
        ({"fit": "ridge"}, 'fit is "equal" or "margin"; got .ridge.'),
        ({"fit": "margin"}, "margins are those of labels -1 and .1, or of classes; got numbers"),
        ({"theory": LIMIT, "fit": "equal"}, "limits have one fit, .* fits .'equal'., fit='equal';"),
        (
            {"theory": [LIMIT, KERNEL], "answers": TWICE},
            "limits have one fit, their own; got 1 limits",
        ),
        ({"theory": OTHER}, r"predicts the rows of the task, shape .81,.; got .72,.; solve the"),
        ({"theory": FAILED}, "a limit is compared if it is solved; got INFEASIBLE; see its"),
        ({"has_learned": [True, False]}, "one entry for each run; got 2 for 1"),
        (
            {"answers": np.full(81, np.inf)},
            "finite numbers; got 81 that are not; give one for every row, those of training too",
        ),
        (
            {"answers": np.stack([np.zeros(81), np.full(81, np.nan)])},
            "finite numbers; got 81 that are not; pass has_learned to leave those runs out",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(changes, message):
    given = {"task": ADDITION, "answers": ADDITION.targets, "theory": [0.4]} | changes
    with pytest.raises(InputError, match=message):
        compare(**given)
