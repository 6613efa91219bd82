"""Additivity against the published numbers, brute force and the theorem."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest

from partwhole import features, measures, solve, tasks
from partwhole._checks import InputError
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.measures.additivity import Additivity, conjunction_coefficients


def distance(task):
    return np.abs(task.components[:, 0] - task.components[:, 1]).astype(float)


@pytest.mark.parametrize(
    ("anchors", "published"), [([0], 0.125373), ([-4, 4], 0.176471), ([-2, 2], 0.177594)]
)
def test_distance_between_items_is_hardly_additive(anchors, published):
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    found = measures.additivity(task, distance(task))
    assert found.value == pytest.approx(published, abs=1e-6)
    assert found.rectangles < 0.7


@pytest.mark.parametrize(
    ("anchors", "expected"), [([0], 0.0), ([-4], 0.086957), ([-4, 4], 0.0), ([-2, 2], 0.0)]
)
def test_best_additive_share_of_a_product(anchors, expected):
    task = tasks.symbolic_addition(range(-4, 5), anchors)
    product = (task.components - 4).prod(axis=1).astype(float)
    assert measures.additivity(task, product).value == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("anchors", [[0], [-2, 2], [-4, -1, 3]])
def test_rectangles_equal_the_sum_over_all_of_them(anchors):
    rng = np.random.default_rng(0)
    task = tasks.symbolic_addition([range(-4, 5), range(-4, 2)], [anchors, [0]])
    predictions = rng.normal(size=len(task.targets))
    cell = np.full(task.n_values, np.nan)
    cell[tuple(task.test_components.T)] = predictions[~task.is_train]
    contrasts = squares = count = 0
    for a, b in combinations(range(cell.shape[0]), 2):
        for c, d in combinations(range(cell.shape[1]), 2):
            four = cell[[a, a, b, b], [c, d, c, d]]
            if np.isnan(four).any():
                continue
            contrasts += (four @ [1, -1, -1, 1]) ** 2 / 4
            squares += ((four - four.mean()) ** 2).sum()
            count += 1
    found = measures.additivity(task, predictions)
    assert found.n_rectangles == count
    assert found.rectangles == pytest.approx(1 - contrasts / squares, rel=1e-10)


def test_every_overlap_kernel_is_additive_on_what_it_has_not_seen():
    rng = np.random.default_rng(1)
    task = tasks.context_dependence(2)
    noise = tasks.Task(task.components, rng.normal(size=72), task.is_train, task.names, task.values)
    kernel = features.OverlapKernel.from_salience([0.1, 0.15])
    limit = solve(noise, kernel, intercept="free")
    assert measures.additivity(noise, limit.predictions).value == pytest.approx(1.0, abs=1e-9)
    assert measures.additivity(noise, noise.targets).value < 0.9
    two = tasks.symbolic_addition(range(-4, 5), [-2, 2])
    odd = tasks.Task(two.components, rng.normal(size=81), two.is_train, two.names, two.values)
    limit = solve(odd, features.OverlapKernel.from_salience([0.3]), intercept="free")
    assert measures.additivity(odd, limit.predictions).rectangles == pytest.approx(1.0, abs=1e-9)


def test_a_large_task_takes_the_iterative_route_to_the_same_answer(monkeypatch):
    task = tasks.symbolic_addition(range(-4, 5), [-4, 4])
    monkeypatch.setattr(sys.modules[Additivity.__module__], "DENSE_LIMIT", 0)
    found = measures.additivity(task, distance(task))
    assert found.value == pytest.approx(0.176471, abs=1e-6)


def test_training_rows_do_not_matter():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    predictions = distance(task)
    changed = np.where(task.is_train, 1e3, predictions)
    assert measures.additivity(task, changed) == measures.additivity(task, predictions)


def test_undefined_cases_are_nan_with_a_note():
    task = tasks.symbolic_addition(range(-4, 5), [0])
    flat = measures.additivity(task, np.ones(81))
    assert np.isnan(flat.value)
    assert np.isnan(flat.rectangles)
    assert len(flat.notes) == 2
    one = measures.additivity(tasks.partial_exposure(), np.arange(4.0))
    assert np.isnan(one.value)
    assert one.notes == ("R² needs at least two held-out tuples", "no rectangle of held-out cells")


def published_kinds(task, predictions):
    """Return mean sizes of right, wrong, sensory, context and memorization coefficients."""
    frame = conjunction_coefficients(task, predictions).to_frame()
    frame["size"] = frame["coefficient"].abs()
    context, first, second = (frame[name] for name in task.names)
    pair = (context >= 0) & (frame["order"] == 2)
    right = pair & (((context == 0) & (first >= 0)) | ((context == 1) & (second >= 0)))
    kinds = [
        right, pair & ~right, context < 0, (context >= 0) & (frame["order"] == 1),
        frame["order"] == 3,
    ]  # fmt: skip
    assert sum(kind.sum() for kind in kinds) == len(frame)
    return [frame.loc[kind, "size"].mean() for kind in kinds]


def test_published_sizes_of_conjunctions():
    # G-21: representation 2 on CD-3; the published panel shows the fit to labels.
    task = tasks.context_dependence(3)
    kernel = features.OverlapKernel.from_salience([0.20350064, 0.09423825])
    predictions = solve(task, kernel, fit="margin", intercept="free").predictions
    from_labels = published_kinds(task, np.sign(predictions))
    assert from_labels == pytest.approx([0.0844, 0.3052, 0.1319, 0.5065, 0.6667], abs=2e-3)
    from_values = published_kinds(task, predictions)
    assert from_values == pytest.approx([0.378, 0.068, 0.198, 0.409, 0.089], abs=2e-3)


def test_coefficients_rebuild_the_predictions():
    rng = np.random.default_rng(2)
    task = tasks.symbolic_addition(range(-2, 3), [0])
    additive = rng.normal(size=5)[task.components].sum(axis=1)
    found = conjunction_coefficients(task, additive)
    rebuilt = np.full(len(additive), found.intercept)
    for chosen, values in found.values.items():
        for value, coefficient in zip(values, found.coefficients[chosen], strict=True):
            hit = (task.components[:, list(chosen)] == value).all(axis=1)
            rebuilt[hit] += coefficient
    np.testing.assert_allclose(rebuilt, additive, atol=1e-10)
    assert set(found.mean_size) == {(0,), (1,), (0, 1)}


def scattered(seed=0):
    """Return three components of 4 values with every fifth combination held out at random."""
    rng = np.random.default_rng(seed)
    full = tasks.symbolic_addition(range(4), [0], n_components=3)
    held_out = np.isin(np.arange(64), rng.permutation(64)[:12])
    return tasks.Task(full.components, full.targets, ~held_out, full.names, full.values)


def test_scattered_tuples_say_nothing_about_additivity():
    task = scattered()
    pairs = ConjunctionDesign.seen(task.train_components, conjunction_sets(3, 2), task.n_values)
    assert np.linalg.matrix_rank(pairs.at(task.test_components).toarray()) == 12
    found = measures.additivity(task, np.random.default_rng(1).normal(size=64))
    assert np.isnan(found.value)
    assert (found.rank, found.n_held_out) == (12, 12)
    assert found.notes == (
        "seen conjunctions fit any predictions on these 12 held-out tuples (rank 12): the number "
        "says nothing; hold out larger blocks of combinations, or lower max_order",
    )


def test_lower_orders_and_larger_blocks_say_something():
    task = scattered()
    noise = np.random.default_rng(1).normal(size=64)
    found = measures.additivity(task, noise, max_order=1)
    # A constant and 3 x 3 free values.
    assert (found.rank, found.n_held_out, found.notes) == (10, 12, ())
    held_out = ~task.is_train
    items = np.hstack([np.eye(4)[column] for column in task.components[held_out].T])
    fitted = items @ np.linalg.pinv(items) @ noise[held_out]
    expected = 1 - np.var(noise[held_out] - fitted) / np.var(noise[held_out])
    assert found.value == pytest.approx(expected, abs=1e-10)
    assert measures.additivity(task, task.targets, 1).value == pytest.approx(1.0)
    product = (task.components - 1.5).prod(axis=1)
    assert measures.additivity(task, product, 1).value < 0.9
    # 8 x 8 held-out cells: a constant and 7 + 7 free values.
    block = tasks.symbolic_addition(range(-4, 5), [0])
    assert measures.additivity(block, distance(block)).rank == 15
    assert measures.additivity(block, distance(block)).n_held_out == 64


def test_repeats_of_held_out_tuples_do_not_make_them_many():
    task = scattered()
    twice = tasks.Task(
        np.tile(task.components, (2, 1)), np.tile(task.targets, 2), np.tile(task.is_train, 2),
        task.names, task.values,
    )  # fmt: skip
    found = measures.additivity(twice, np.random.default_rng(1).normal(size=128))
    assert np.isnan(found.value)
    assert (found.rank, found.n_held_out) == (12, 12)


def test_the_iterative_route_knows_when_it_says_nothing(monkeypatch):
    monkeypatch.setattr(sys.modules[Additivity.__module__], "DENSE_LIMIT", 0)
    noise = np.random.default_rng(1).normal(size=64)
    found = measures.additivity(scattered(), noise)
    assert np.isnan(found.value)
    assert found.rank == 12
    found = measures.additivity(scattered(), noise, 1)
    assert 0.0 < found.value < 1.0
    assert found.rank is None


@pytest.mark.parametrize("verb", [measures.additivity, conjunction_coefficients])
def test_errors_say_rule_got_remedy(verb):
    task = tasks.partial_exposure()
    with pytest.raises(InputError) as caught:
        verb(task, np.ones(3))
    assert str(caught.value) == (
        "predictions have a row for each of the task's 4 rows; got shape (3,); pass shape (4,) or "
        "(4, k), such as limit.predictions"
    )
    with pytest.raises(InputError, match="got 1 that is NaN, at 0; drop or fill missing"):
        verb(task, np.array([np.nan, 1.0, 1.0, 1.0]))
    with pytest.raises(InputError, match=r"task's 4 rows; got shape \(4, 2, 1\); pass shape"):
        verb(task, np.ones((4, 2, 1)))


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_answers_of_low_precision_are_read_in_double(kind):
    # Distances are whole numbers, exact in any precision; a tenth is constant in each.
    task = tasks.symbolic_addition(range(-4, 5), [0])
    far = distance(task)
    assert measures.additivity(task, far.astype(kind)) == measures.additivity(task, far)
    found, exact = (conjunction_coefficients(task, answers) for answers in (far.astype(kind), far))
    assert found.mean_size == exact.mean_size
    constant = measures.additivity(task, np.full(len(far), 0.1, dtype=kind))
    assert np.isnan(constant.value)
    assert constant.notes[0].startswith("held-out predictions are constant")


@pytest.mark.parametrize("order", [0, 3])
def test_orders_out_of_range_are_refused(order):
    with pytest.raises(InputError) as caught:
        measures.additivity(tasks.partial_exposure(), np.ones(4), max_order=order)
    assert str(caught.value) == (
        f"max_order lies in 1..2, the number of components; got {order}; use 1 for single items"
    )
