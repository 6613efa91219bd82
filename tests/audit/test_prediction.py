"""Predictions over the range, against explicit kernel machines, convex programs and plain loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from audit_tables import table_of
from oracles import conic_margin
from sklearn.svm import SVC

from partwhole import solve
from partwhole._checks import InputError
from partwhole.audit.case import AuditTable
from partwhole.audit.prediction import answers, places
from partwhole.audit.prediction.prediction import predict
from partwhole.features import OverlapKernel
from partwhole.features.order_kernel import OrderKernel

TOLERANCE = 1e-8


def explicit(task, weights, memory, ridge=0.0):
    """Solve the kernel machine row by row, the kernel written out."""
    train, test = task.train_components, task.test_components

    def similarity(a, b):
        return sum(w for s, w in weights.items() if all(a[c] == b[c] for c in s))

    gram = np.array([[similarity(a, b) for b in train] for a in train])
    gram += np.diag(np.full(len(train), memory) + ridge)
    across = np.array([[similarity(a, b) for b in train] for a in test])
    ones = np.ones((len(train), 1))
    system = np.block([[gram, ones], [ones.T, np.zeros((1, 1))]])
    y = task.train_targets
    solved = np.linalg.solve(system, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    return across @ solved[:-1] + solved[-1]


def test_two_components_go_from_memory_to_addition():
    case = table_of(np.random.default_rng(0), (5, 4), 30).case(1, 1)
    found = predict(case)
    assert found.axis == "salience S(1; 2)"
    assert [point.position for point in found.points] == [step / 40 for step in range(21)]
    assert found.points[10].label == "S = 0.25"
    assert found.points[found.reference].position == 0.425
    assert found.fit == "regression"
    for point in found.points[:-1]:
        share = point.position
        assert point.salience == (share,)
        assert abs(point.memory - (1.0 - 2.0 * share)) < 1e-12
        weights = {(0,): share, (1,): share}
        expected = explicit(case.task, weights, 1.0 - 2.0 * share)
        np.testing.assert_allclose(point.outputs, expected, rtol=0, atol=TOLERANCE)
    # The limit: memory of 1e-7 changes outputs by about as much.
    near = explicit(case.task, {(0,): 0.5, (1,): 0.5}, 1e-7)
    np.testing.assert_allclose(found.points[-1].outputs, near, rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.points[0].outputs, case.task.train_targets.mean())
    assert abs(found.constant_error - found.points[0].error) < 1e-12


def test_more_components_go_through_depth():
    case = table_of(np.random.default_rng(1), (3, 4, 3), 40).case(1, 2)
    found = predict(case)
    assert found.axis == "hidden layers of a random ReLU network"
    assert [point.label for point in found.points] == [f"depth {d}" for d in range(1, 21)]
    assert found.reference == 0
    for depth in (1, 7, 20):
        kernel = OverlapKernel.random_network("relu", 3, depth)
        point = found.points[depth - 1]
        np.testing.assert_allclose(point.salience, kernel.salience[:2], rtol=0, atol=1e-12)
        expected = solve(case.task, kernel, intercept="free").test_predictions
        np.testing.assert_allclose(point.outputs, expected, rtol=0, atol=TOLERANCE)


def test_orders_above_the_audits_are_memory():
    case = table_of(np.random.default_rng(2), (3, 3, 2, 3), 40).case(1, 2)
    kernel = OverlapKernel.random_network("relu", 4, 3)
    low = {s: w for s, w in kernel.saliences.items() if len(s) <= 2}
    expected = explicit(case.task, low, 1.0 - sum(low.values()))
    np.testing.assert_allclose(predict(case).points[2].outputs, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("noise", [0.0, 0.7])
@pytest.mark.parametrize("order", [1, 2])
def test_the_measured_point(order, noise):
    rng = np.random.default_rng(3)
    table = table_of(rng, (3, 4, 3), 60)
    # One test row repeats a training combination: it must not count as an observation.
    split = table.split.copy()
    split[np.flatnonzero(split == 0)[0]] = 1
    case = replace(table, split=split).case(1, order)
    sigma = rng.uniform(0.2, 1.0, 8)
    sigma[2] = -0.1
    whole = OverlapKernel(3, sigma)
    # In the kernel's unit: identical inputs lead those that share nothing by 1.
    told = {"noise": noise / whole.nonnegative().range, "structure": 0.8}
    found = predict(case, measured=OrderKernel.truncate(whole, order), **told)
    assert found.structure == 0.8
    point = found.points[-1]
    assert (point.label, found.reference) == ("measured", len(found.points) - 1)
    assert np.isnan(point.position)
    kept = np.maximum(sigma, 0.0)
    weights = {
        s: kept[sum(1 << c for c in s)]
        for k in range(1, order + 1)
        for s in combinations(range(3), k)
    }
    memory = kept[1:].sum() - sum(weights.values())
    train_rows = table.components[split == 0]
    counts = [np.sum(np.all(train_rows == z, axis=1)) for z in case.task.train_components]
    expected = explicit(case.task, weights, memory, noise / np.array(counts))
    np.testing.assert_allclose(point.outputs, expected, rtol=0, atol=TOLERANCE)
    plain = predict(case)
    np.testing.assert_array_equal(found.points[0].outputs, plain.points[0].outputs)


def test_many_conjunctions_thin_the_depths(monkeypatch):
    case = table_of(np.random.default_rng(4), (5, 4, 3), 50, labels=3).case(1, 2)
    whole = predict(case)
    for module in ("audit.prediction.places", "limits.order_sweep"):
        monkeypatch.setattr(f"partwhole.{module}.COARSE_COLUMNS", 10)
    monkeypatch.setattr("partwhole.limits.order_sweep.DIRECT_COLUMNS", 10)
    found = predict(case)
    depths = [point.position for point in found.points]
    assert depths == [1, 2, 3, 4, 6, 8, 12, 16, 20]
    columns = sum(
        len(np.unique(case.task.train_components[:, list(s)], axis=0))
        for k in (1, 2)
        for s in combinations(range(3), k)
    )
    assert found.remarks[0] == (
        f"training has {columns} values and sets of values (more than 10), so only depths 1, 2, 3, "
        "4, 6, 8, 12, 16 and 20 were computed"
    )
    for point in found.points:
        other = whole.points[int(point.position) - 1].outputs
        np.testing.assert_allclose(point.outputs, other, rtol=0, atol=TOLERANCE)


def test_many_values_of_two_components_keep_every_salience(monkeypatch):
    case = table_of(np.random.default_rng(16), (6, 5), 40).case(1, 1)
    whole = predict(case)
    for module in ("audit.prediction.places", "limits.order_sweep"):
        monkeypatch.setattr(f"partwhole.{module}.COARSE_COLUMNS", 10)
    monkeypatch.setattr("partwhole.limits.order_sweep.DIRECT_COLUMNS", 10)
    found = predict(case)
    assert found.remarks[0] == (
        "training has 11 values and sets of values (more than 10), so at S = 0.5 the whole "
        "combination has a share of 1e-9 instead of 0"
    )
    for point, other in zip(found.points, whole.points, strict=True):
        # Eigenvalues are above .01 here, so that memory changes outputs by less than 1e-6.
        tolerance = TOLERANCE if point.memory else 1e-6
        np.testing.assert_allclose(point.outputs, other.outputs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n_values", [(4, 5), (3, 3, 3)])
def test_margins_equal_a_convex_program(n_values):
    """The program's solver stops at a relative gap of 1e-11, so outputs have about 6 digits."""
    table = table_of(np.random.default_rng(5), n_values, 25, labels=2)
    table = replace(table, targets=np.where(table.components.sum(1) % 2, 1.0, -1.0)[:, None])
    table = replace(table, label=(table.targets[:, 0] > 0).astype(int))
    case = table.case(1, len(n_values) - 1)
    found = predict(case, fit="margin")
    assert found.fit == "margin"
    task = case.task
    for point in (found.points[1], found.points[found.reference]):
        sets = [s for k in range(1, len(n_values)) for s in combinations(range(len(n_values)), k)]
        blocks = [
            point.salience[len(s) - 1] ** 0.5
            * np.all(task.components[:, None, list(s)] == task.components[None][:, :, list(s)], 2)
            for s in sets
        ]
        # Equal conjunctions must share a column, so keep one column of each.
        keep = [np.unique(task.components[:, list(s)], axis=0, return_index=True)[1] for s in sets]
        matrix = np.concatenate([b[:, k] for b, k in zip(blocks, keep, strict=True)], axis=1)
        seen = task.is_train
        _, c, b = conic_margin(matrix[seen], task.train_targets, "free", point.memory)
        np.testing.assert_allclose(point.outputs, matrix[~seen] @ c + b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_values", [(4, 5), (3, 3, 3)])
def test_margins_of_three_labels_equal_those_of_the_whole_kernel(n_values):
    """Outputs have the unit of the targets: the right label leads by at least 2."""
    table = table_of(np.random.default_rng(5), n_values, 25, labels=3)
    classes = table.components.sum(axis=1) % 3
    table = replace(table, targets=2.0 * np.eye(3)[classes] - 1.0, label=classes)
    case = table.case(1, len(n_values) - 1)
    prediction = predict(case, fit="margin")
    task = replace(case.task, targets=np.eye(3)[case.label])
    for point in (prediction.points[1], prediction.points[prediction.reference]):
        saliences = point.salience[: len(n_values) - 1]
        limit = solve(task, OverlapKernel.from_salience(saliences), fit="margin", intercept="free")
        expected = 2.0 * limit.test_predictions - 1.0 / 3.0
        np.testing.assert_allclose(point.outputs, expected, rtol=0, atol=1e-6)
        assert 0.0 <= point.accuracy <= 1.0


def test_many_margins_of_three_labels_thin_the_range(monkeypatch):
    case = labels(3)
    monkeypatch.setattr(places, "MARGIN_MANY", 5)
    size = 2 * case.task.n_train
    start = f"training has {size} comparisons of two labels (more than 5 for margins), so only S ="
    assert any(remark.startswith(start) for remark in predict(case, fit="margin").remarks)


@pytest.mark.parametrize(
    ("n_values", "sentence"),
    [
        ((4, 5), "so only S = 0, 0.1, 0.2, 0.3, 0.4, 0.425 and 0.5 were computed"),
        ((3, 3, 3), "so only depths 1, 2, 3, 4, 6, 8, 12, 16 and 20 were computed"),
    ],
)
def test_many_margins_thin_the_range(monkeypatch, n_values, sentence):
    case = table_of(np.random.default_rng(17), n_values, 25, labels=2).case(1, len(n_values) - 1)
    whole = {point.label: point for point in predict(case, fit="margin").points}
    monkeypatch.setattr(places, "MARGIN_MANY", 5)
    found = predict(case, fit="margin")
    count = case.task.n_train
    told = f"training has {count} combinations (more than 5 for margins), {sentence}"
    assert told == found.remarks[0]
    assert found.points[found.reference].label in ("S = 0.425", "depth 1")
    for point in found.points:
        np.testing.assert_array_equal(point.outputs, whole[point.label].outputs)


@pytest.mark.parametrize(
    ("n_values", "sentence"),
    [
        ((4, 5), "so only S = 0, 0.425 and 0.5 were computed"),
        ((3, 3, 3), "so only depths 1, 4 and 20 were computed"),
    ],
)
def test_many_outputs_thin_the_range(monkeypatch, n_values, sentence):
    case = table_of(np.random.default_rng(17), n_values, 25, labels=4).case(1, 1)
    whole = {point.label: point for point in predict(case).points}
    many = case.task.targets.size
    assert case.task.targets.shape[1] == 4
    monkeypatch.setattr(places, "MANY_OUTPUTS", many - 1)
    found = predict(case)
    assert len(found.points) == 3
    told = f"combinations times outputs are {many} (more than {many - 1}), {sentence}"
    assert told == found.remarks[0]
    assert found.points[found.reference].label in ("S = 0.425", "depth 1")
    for point in found.points:
        np.testing.assert_allclose(point.outputs, whole[point.label].outputs, rtol=0, atol=1e-7)
    monkeypatch.setattr(places, "MANY_OUTPUTS", many)
    assert len(predict(case).points) == len(whole)


def test_margins_of_more_components_than_sets_can_be_listed():
    table = table_of(np.random.default_rng(12), (2,) * 17, 40, labels=2)
    case = table.case(1, 1)
    found = predict(case, fit="margin")
    point = found.points[found.reference]
    kernel, n = point.kernel, case.task.n_train
    rows = case.task.components
    shared = (rows[:, None, :] == rows[None, :n, :]).sum(axis=2)
    gram = next(iter(kernel.weights.values())) * shared + kernel.memory * np.eye(len(rows), n)
    y = case.task.train_targets
    machine = SVC(kernel="precomputed", C=1e10, tol=1e-10).fit(gram[:n], y)
    # The machine's own tolerance, on margins of order 1.
    np.testing.assert_allclose(
        point.outputs, machine.decision_function(gram[n:]), rtol=0, atol=1e-6
    )


def test_margins_without_memory_may_not_exist():
    grid = np.array([[i, j] for i in range(3) for j in range(3)])
    equal = np.where(grid[:, 0] == grid[:, 1], 1.0, -1.0)
    split = np.zeros(9, dtype=int)
    split[8] = 1
    table = AuditTable(
        grid,
        equal[:, None],
        (equal > 0).astype(int),
        split,
        np.ones(9),
        ("a", "b"),
        ((0, 1, 2), (0, 1, 2)),
        ("y",),
        ("no", "yes"),
        ("train", "test"),
    )
    found = predict(table.case(1, 1), fit="margin")
    assert [point.position for point in found.points] == [step / 40 for step in range(20)]
    assert found.remarks == (
        "S = 0.5 is left out: it can separate the training set only by memorizing it",
    )
    kernel = OrderKernel.from_salience(0.5)
    measured = predict(table.case(1, 1), fit="margin", measured=kernel, noise=0.1)
    assert measured.points[measured.reference].position == 0.425
    assert len(measured.points) == 20
    assert measured.remarks[1:] == (
        "measured is left out: it can separate the training set only by memorizing it",
        "a margin has no ridge, so the noise in the features is ignored",
    )


def test_margins_where_rows_disagree():
    rng = np.random.default_rng(6)
    table = table_of(rng, (4, 4), 60, labels=2)
    case = table.case(1, 1)
    found = predict(case, fit="margin")
    divided = np.sum(case.task.is_train & (case.label < 0))
    assert divided > 0
    assert f"{divided} training combinations whose rows are evenly divided" in found.remarks[-3]
    assert found.remarks[-2] == ("where training rows differ, the margin uses the majority label")
    outputs = found.points[found.reference].outputs
    assert outputs.shape == (len(case.held_out),)


def test_what_is_left_out_is_said():
    components = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    label = np.array([0, 1, 1, 0, 1])
    table = AuditTable(
        components,
        2.0 * label[:, None] - 1.0,
        label,
        np.array([0, 0, 0, 1, 1]),
        np.ones(5),
        ("a", "b"),
        ((0, 1), (0, 1)),
        ("y",),
        ("no", "yes"),
        ("train", "test"),
    )
    clean = replace(table, split=np.array([0, 0, 0, 1, -1])).case(1, 1)
    assert predict(clean).remarks == ()
    found = predict(table.case(1, 1))
    assert found.remarks == (
        "where rows of a held-out combination differ, errors refer to their mean target, and "
        "accuracies to each row",
    )
    assert found.points[0].accuracy == found.ceiling == 0.5
    assert found.chance == 0.5


def test_a_single_component_and_values_never_seen():
    table = table_of(np.random.default_rng(10), (6,), 12, share=0.5)
    found = predict(table.case(1, 0))
    mean = table.case(1, 0).task.train_targets.mean()
    for point in found.points:
        assert (point.salience, point.memory) == ((), 1.0)
        np.testing.assert_allclose(point.outputs, mean, rtol=0, atol=1e-12)


def test_a_search_that_stops_early_is_told(monkeypatch):
    case = table_of(np.random.default_rng(11), (5, 4, 3), 50).case(1, 2)
    real = answers.OrderProblem.sweep

    def unfinished(self, kernels, **options):
        forecast = real(self, kernels, **options)
        done = np.arange(len(kernels)) != 1
        return replace(forecast, converged=done, error=np.full(len(kernels), 0.01))

    monkeypatch.setattr(answers.OrderProblem, "sweep", unfinished)
    forecast = predict(case)
    assert forecast.unsolved == ("depth 2",)
    assert forecast.remarks[0] == (
        "depth 2 is left out: the computation did not finish within the allowed time and steps"
    )
    assert [point.position for point in forecast.points] == [1, *range(3, 21)]


def numbers():
    return table_of(np.random.default_rng(12), (3, 3), 20).case(1, 1)


def labels(count, n_values=(3, 3), n_rows=20, order=1):
    return table_of(np.random.default_rng(13), n_values, n_rows, labels=count).case(1, order)


def nothing_held_out():
    table = table_of(np.random.default_rng(14), (2, 2), 20, share=1.0)
    return replace(table, split_names=("train", "later")).case(1, 1)


def all_divided():
    table = table_of(np.random.default_rng(15), (1, 2), 4, labels=2)
    return replace(
        table,
        components=np.array([[0, 0], [0, 0], [0, 1], [0, 1]]),
        targets=np.array([[1.0], [-1.0], [1.0], [1.0]]),
        split=np.array([0, 0, 1, 1]),
    ).case(1, 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: predict(nothing_held_out()),
            "a prediction needs held-out combinations; got none in split 'later'; audit a split "
            "that holds some out",
        ),
        (
            lambda: predict(numbers(), measured=OrderKernel.from_similarity([0, 1, 2, 3], 1)),
            "a measured kernel has the table's number of components and the audit's order; got 3 "
            "components at order 1 for 2 at 1; measure it on the same components, and truncate it "
            "at that order",
        ),
        (
            lambda: predict(numbers(), noise=-1.0),
            "noise is a penalty of at least 0; got -1.0; use 0 to interpolate",
        ),
        (
            lambda: predict(numbers(), fit="margin"),
            "a margin separates labels; got numbers; use fit='regression'",
        ),
        (
            lambda: predict(labels(2, (90, 90), 5000), fit="margin"),
            "margins are computed for at most 2,000 training combinations, each times the number "
            "of labels less 1; got {n} times 1; use fit='regression'",
        ),
        (
            lambda: predict(all_divided(), fit="margin"),
            "a margin needs a training combination with one label; got combinations whose rows are "
            "all evenly divided between the labels; use fit='regression'",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    if "{n}" in sentence:
        sentence = sentence.format(n=f"{labels(2, (90, 90), 5000).task.n_train:,}")
    assert str(caught.value) == sentence


def test_the_reference_kernel_is_one_hidden_layer():
    one_layer = OverlapKernel.random_network("relu", 2, 1).salience[0]
    grid = [step / 40 for step in range(21)]
    assert min(grid, key=lambda S: abs(S - one_layer)) == places.REFERENCE_SALIENCE
    assert OrderKernel.from_salience(places.REFERENCE_SALIENCE).memory == pytest.approx(0.15)


@pytest.mark.parametrize("fit", ["regression", "margin"])
def test_when_time_is_over_the_reference_is_left(fit):
    """However small the table: nothing but the reference is begun after the deadline."""
    case = labels(2)
    whole, late = predict(case, fit=fit), predict(case, fit=fit, deadline=0.0)
    assert [point.position for point in late.points] == [places.REFERENCE_SALIENCE]
    same = whole.points[whole.reference]
    np.testing.assert_allclose(late.points[0].outputs, same.outputs, rtol=0, atol=1e-9)
    assert len(late.unsolved) == 20
    assert late.unsolved[0] == "S = 0"
    assert any(
        remark.startswith("S = 0, ") and remark.endswith("within the allowed time and steps")
        for remark in late.remarks
    )
