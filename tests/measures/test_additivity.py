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
    one = measures.additivity(tasks.toys.partial_exposure(), np.arange(4.0))
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
    task = tasks.toys.partial_exposure()
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
        measures.additivity(tasks.toys.partial_exposure(), np.ones(4), max_order=order)
    assert str(caught.value) == (
        f"max_order lies in 1..2, the number of components; got {order}; use 1 for single items"
    )


def trials(seed=0, counts=5, n_outputs=None):
    """Return a task whose held-out tuples are repeated, and noisy predictions of its rows."""
    rng = np.random.default_rng(seed)
    full = tasks.symbolic_addition(range(-2, 3), [0])
    rows = np.repeat(np.arange(25), np.broadcast_to(counts, 25))
    task = tasks.Task(
        full.components[rows], full.targets[rows], full.is_train[rows], full.names, full.values
    )
    shape = (25,) if n_outputs is None else (25, n_outputs)
    means = rng.normal(size=shape)
    return task, means, means[rows] + 0.5 * rng.normal(size=(len(rows), *shape[1:]))


def different_rows(task, predictions):
    """Return held-out tuples, their counts, and mean products of predictions of different rows."""
    held_out = ~task.is_train
    rows, index, counts = np.unique(
        task.components[held_out], axis=0, return_inverse=True, return_counts=True
    )
    f = predictions[held_out]
    products = np.array([
        [
            np.mean([f[i] * f[j] for i in np.flatnonzero(index.ravel() == t)
                     for j in np.flatnonzero(index.ravel() == u) if i != j])
            for u in range(len(rows))
        ]
        for t in range(len(rows))
    ])  # fmt: skip
    return rows, counts, products


@pytest.mark.parametrize("counts", [3, np.arange(25) % 3 + 2])
def test_noise_of_repeats_is_left_out_of_all_products(counts):
    task, _, predictions = trials(counts=counts)
    rows, n, products = different_rows(task, predictions)
    root = np.sqrt(n)
    items = np.hstack([np.ones((len(rows), 1)), *(np.eye(5)[column] for column in rows.T)])
    fit = root[:, None] * items
    projection = fit @ np.linalg.pinv(fit)
    weighted = root[:, None] * products * root
    constant = np.outer(root, root) / n.sum()
    missed = np.sum((np.eye(len(rows)) - projection) * weighted)
    total = np.sum((np.eye(len(rows)) - constant) * weighted)
    result = measures.additivity(task, predictions, repeats="noise")
    assert result.value == pytest.approx(1 - missed / total, rel=1e-9)
    place = {tuple(row): t for t, row in enumerate(rows.tolist())}
    contrasts = squares = 0.0
    for a, b in combinations((0, 1, 3, 4), 2):
        for c, d in combinations((0, 1, 3, 4), 2):
            cells = [place[cell] for cell in ((a, c), (a, d), (b, c), (b, d))]
            block, signs = products[np.ix_(cells, cells)], np.array([1, -1, -1, 1])
            contrasts += signs @ block @ signs / 4
            squares += np.trace(block) - block.sum() / 4
    assert result.rectangles == pytest.approx(1 - contrasts / squares, rel=1e-9)
    assert result.notes == (
        "predictions differ between rows of a combination: what their noise adds to squares is "
        "taken away, as if independent between rows",
    )
    assert result.rank == measures.additivity(task, predictions).rank


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_noisy_trials_have_the_additivity_of_their_means(n_outputs):
    full = tasks.symbolic_addition(range(-2, 3), [0])
    task, means, _ = trials(n_outputs=n_outputs)
    index = np.repeat(np.arange(25), 5)
    rng = np.random.default_rng(1)
    true = measures.additivity(full, means)
    values = []
    for _ in range(200):
        noisy = means[index] + 0.5 * rng.normal(size=(125, *means.shape[1:]))
        result = measures.additivity(task, noisy, repeats="noise")
        values.append((result.value, result.rectangles))
    error = np.std(values, axis=0) / np.sqrt(200)
    # A ratio of sums without bias: its own is about its squared relative error, below .01.
    difference = np.mean(values, axis=0) - [true.value, true.rectangles]
    np.testing.assert_array_less(np.abs(difference), 4 * error + 0.01)
    counted = measures.additivity(task, noisy)
    assert counted.value < true.value - 0.05
    assert counted.notes == (
        "predictions differ between rows of a combination, which counts as part of them that no "
        'sum explains; pass repeats="noise" if the rows are noisy trials',
    )


def test_repeats_without_noise_are_as_ever():
    task, means, _ = trials()
    predictions = np.repeat(means, 5)
    for noisy in (predictions, predictions + 1e-7 * (np.arange(125) % 2)):
        result = measures.additivity(task, noisy, repeats="noise")
        assert result == measures.additivity(task, noisy)
        assert result.notes == ()
    full = tasks.symbolic_addition(range(-2, 3), [0])
    assert result.value == pytest.approx(measures.additivity(full, means).value, abs=1e-6)


def test_single_rows_have_the_noise_of_the_others():
    counts = np.where(np.arange(25) % 2, 1, 4)
    task, _, predictions = trials(counts=counts)
    result = measures.additivity(task, predictions, repeats="noise")
    held_out = ~task.is_train
    _, index, n = np.unique(
        task.components[held_out], axis=0, return_inverse=True, return_counts=True
    )
    f = predictions[held_out]
    residual = f - (np.bincount(index.ravel(), f) / n)[index.ravel()]
    pooled = residual @ residual / (len(f) - len(n))
    # Noise added to the mean of many rows: the first of a combination, and one of its variance.
    assert f"; {int(np.sum(n == 1))} combinations with one row have the noise" in result.notes[0]
    root = np.sqrt(n)
    means = np.bincount(index.ravel(), f) / n
    variances = np.array([f[index.ravel() == t].var(ddof=1) if n[t] > 1 else pooled
                          for t in range(len(n))])  # fmt: skip
    spread = np.sum(n * (means - f.mean()) ** 2) - np.sum((1 - n / n.sum()) * variances)
    rows = np.unique(task.components[held_out], axis=0)
    fit = root[:, None] * np.hstack([np.ones((len(n), 1)), *(np.eye(5)[c] for c in rows.T)])
    rest = np.eye(len(n)) - fit @ np.linalg.pinv(fit)
    missed = np.sum((rest @ (root * means)) ** 2) - np.diagonal(rest) @ variances
    assert result.value == pytest.approx(1 - missed / spread, rel=1e-9)


def test_noise_beyond_which_nothing_differs():
    task, _, _ = trials()
    rng = np.random.default_rng(3)
    results = [measures.additivity(task, rng.normal(size=125), repeats="noise") for _ in range(20)]
    unknown = [result for result in results if np.isnan(result.value)]
    assert unknown
    assert (
        unknown[0].notes[1] == "predictions of different held-out tuples do not differ beyond noise"
    )


def test_a_fit_too_large_to_correct_says_so(monkeypatch):
    task, _, predictions = trials()
    monkeypatch.setattr(sys.modules[Additivity.__module__], "DENSE_LIMIT", 0)
    result = measures.additivity(task, predictions, repeats="noise")
    assert np.isnan(result.value)
    assert result.notes[1] == "R² is NaN: the fit is too large to take noise away; lower max_order"
