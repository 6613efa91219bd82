"""Pictures of results: what they show, on axes of one's own or new ones, and cards in notebooks."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from partwhole import Training, audit_split, compare, flow, measure, solve, tasks, train
from partwhole._checks import InputError
from partwhole._notebook import card
from partwhole.features import OverlapKernel
from partwhole.flows import Tied
from partwhole.measures import salience
from partwhole.networks import mlp
from partwhole.recordings import from_trials

TASK = tasks.symbolic_addition(range(-2, 3), [0])
KERNEL = OverlapKernel.from_salience([0.3])


def limit(task=TASK, **options):
    return solve(task, KERNEL, intercept="free", **options)


def offsets(ax, number):
    return ax.collections[number].get_offsets()


def test_a_grid_has_every_prediction_in_its_cell_and_a_dot_where_it_is_held_out():
    of = limit()
    ax = of.plot()
    picture = ax.images[0].get_array()
    np.testing.assert_array_equal(picture[tuple(TASK.components.T)], of.predictions)
    np.testing.assert_array_equal(offsets(ax, 0)[:, ::-1], TASK.test_components)
    assert (ax.get_ylabel(), ax.get_xlabel()) == TASK.names
    assert [t.get_text() for t in ax.get_xticklabels()] == ["-2", "-1", "0", "1", "2"]
    # Zero is white.
    assert -ax.images[0].norm.vmin == ax.images[0].norm.vmax == np.abs(of.predictions).max()


def test_a_task_shows_its_targets_and_only_a_grid_of_numbers_has_a_picture():
    picture = TASK.plot().images[0].get_array()
    np.testing.assert_array_equal(picture[tuple(TASK.components.T)], TASK.targets)
    grid = np.stack(np.unravel_index(np.arange(8), (2, 2, 2)), axis=1)
    cube = tasks.Task(grid, np.ones(8), grid[:, 0] < 1, tuple("abc"), ((0, 1),) * 3)
    with pytest.raises(InputError, match="a picture has two components of at most 60 values"):
        cube.plot()
    several = replace(TASK, targets=np.stack([TASK.targets] * 2, axis=1))
    with pytest.raises(InputError, match=r"and one output; got Task\(symbolic addition"):
        several.plot()


def test_long_names_are_cut_and_many_are_thinned():
    names = tuple(f"a rather long name {i}" for i in range(40))
    grid = np.stack(np.unravel_index(np.arange(1600), (40, 40)), axis=1)
    task = tasks.Task(grid, grid.sum(axis=1) / 1.0, grid[:, 0] < 30, ("a", "b"), (names, names))
    ax = task.plot()
    ticks = [t.get_text() for t in ax.get_xticklabels()]
    assert len(ticks) == 14
    assert set(ticks) == {"a rather lo\u2026"}


@pytest.mark.parametrize("task", [TASK, (np.arange(8.0).reshape(4, 2), np.arange(4.0))])
def test_predictions_against_targets(task):
    of = limit() if task is TASK else solve(task, intercept="free")
    ax = of.plot(kind="scatter") if task is TASK else of.plot()
    is_train = TASK.is_train if task is TASK else np.ones(4, bool)
    targets = TASK.targets if task is TASK else task[1]
    for number, chosen in enumerate([is_train, ~is_train][: 2 if task is TASK else 1]):
        expected = np.stack([targets[chosen], of.predictions[chosen]], axis=1)
        np.testing.assert_array_equal(offsets(ax, number), expected)
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names == (["training", "held out"] if task is TASK else ["training"])


def test_margins_are_drawn_by_combination():
    task = tasks.context_dependence(left_out=3)
    of = solve(task, OverlapKernel.from_salience([0.1, 0.05], n_components=3), fit="margin",
               intercept="free")  # fmt: skip
    ax = of.plot()
    assert "0 of 18 held-out labels right" in repr(of)
    (points,) = ax.lines[1:]
    np.testing.assert_array_equal(points.get_xdata(), of.test_margins)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["wrong"]
    first = ", ".join(str(v[i]) for v, i in zip(task.values, task.test_components[0], strict=True))
    assert ax.get_yticklabels()[0].get_text() == first
    with pytest.raises(InputError, match="margins by combination are of a task with one output"):
        solve((np.eye(2), np.array([1.0, -1.0])), fit="margin", intercept="free").plot(
            kind="margins"
        )


def test_a_limit_without_a_picture_says_so():
    data = np.zeros((2, 1)), np.array([1.0, -1.0])
    with pytest.raises(InputError, match="of a function that fits; got a limit that is infeas"):
        solve(data, intercept="none").plot()
    with pytest.raises(InputError, match="a grid is of two components"):
        solve((np.eye(2), np.ones(2)), intercept="free").plot(kind="grid")


def test_axes_go_in_and_come_out():
    _, axes = plt.subplots(1, 2)
    assert limit().plot(axes[0]) is axes[0]
    path = flow(Tied(0.1 * np.eye(2), np.eye(2)), np.linspace(0.0, 5.0, 20))
    assert path.plot(axes[1]) is axes[1]
    assert len(plt.get_fignums()) == 1
    with pytest.raises(InputError, match="ax is an Axes or None; got 'axes'"):
        limit().plot("axes")


@pytest.mark.parametrize("d", [2, 4])
def test_a_path_has_a_line_for_each_entry(d):
    path = flow(Tied(0.1 * np.eye(d) + 0.02, np.eye(d)), np.linspace(0.0, 5.0, 20))
    ax = path.plot()
    for line, values in zip(ax.lines, path.states.reshape(20, -1).T, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), path.times)
        np.testing.assert_array_equal(line.get_ydata(), values)
    names = ["w11", "w12", "w21", "w22"]
    legend = ax.get_legend()
    assert (legend is None) == (d == 4)
    assert legend is None or [t.get_text() for t in legend.get_texts()] == names
    solid = [line.get_linestyle() == "-" for line in ax.lines]
    assert solid == np.eye(d, dtype=bool).ravel().tolist()
    with pytest.raises(InputError, match="a picture is of one path"):
        replace(path, states=path.states[None]).plot()


def measured(bootstrap=0):
    rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 4, axis=0)
    clean = np.hstack([np.eye(3)[rows[:, 0]], 2.0 * np.eye(3)[rows[:, 1]]])
    noisy = clean + np.random.default_rng(0).normal(0, 0.2, clean.shape)
    return salience(noisy, rows, bootstrap=bootstrap)


@pytest.mark.parametrize("bootstrap", [0, 20])
def test_saliences_are_points_with_intervals_the_single_components_first(bootstrap):
    of = measured(bootstrap)
    ax = of.plot(names=["shape", "colour"])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["shape", "colour", "shape x colour"]
    points = np.hstack([line.get_xdata() for line in ax.lines[1:]])
    sets = [(0,), (1,), (0, 1)]
    np.testing.assert_array_equal(points, [of.saliences[members] for members in sets])
    intervals = np.vstack([of.get_segments() for of in ax.collections]) if bootstrap else []
    for segment, members in zip(intervals, sets if bootstrap else [], strict=True):
        assert tuple(segment[:, 0]) == of.saliences_interval[members]
    assert ("95 % intervals" in ax.get_xlabel()) == (bootstrap > 0)
    with pytest.raises(InputError, match="names are one for each of 2 components; got 3 names"):
        of.plot(names=["a", "b", "c"])


def test_a_comparison_is_drawn_in_the_units_of_its_gap():
    labels = replace(TASK, targets=np.where(TASK.targets > 0, 1.0, -1.0))
    machine = limit(labels, fit="margin")
    answers = np.stack([4.0 * machine.predictions, np.full(25, np.nan)])
    of = compare(labels, answers, KERNEL, has_learned=[True, False])
    ax = of.plot()
    # Predicted and measured agree, whatever the scale of the answers.
    both = np.vstack([offsets(ax, 0), offsets(ax, 1)])
    np.testing.assert_allclose(both[:, 0], both[:, 1], atol=1e-6)
    assert np.abs(offsets(ax, 0)).min() == pytest.approx(1.0)
    assert repr(of) == f"Comparison(1 run on {labels.n_test} held-out combinations: gap 0.000)"
    with pytest.raises(InputError, match="of runs that have learned; got 2 that have not"):
        compare(labels, -answers, KERNEL, has_learned=[False, False]).plot()


def test_learning_curves_on_axes_of_ones_own():
    runs = train(mlp(3, 2, 8, seed=0), (np.eye(3), np.eye(3)), Training(steps=20))
    _, axes = plt.subplots(1, 2)
    assert runs.plot([axes[1]]) == (axes[1],)
    assert [t.get_text() for t in axes[1].get_legend().get_texts()] == ["training"]
    with pytest.raises(InputError, match=r"Runs\.plot draws on 1 Axes of matplotlib"):
        runs.plot(axes)
    assert runs.describe() == "\n".join(runs.messages)
    assert repr(runs).startswith("Runs(1 run: 1 ran all steps; 20 steps, training loss 0.")


def test_notebooks_show_a_line_a_text_and_the_first_rows():
    text = card("a < b", "one\ntwo", tasks.symbolic_addition(range(-4, 5), [0]).to_frame())
    assert "&#x27;a &lt; b&#x27;" in text
    assert "one<br>two<br>" in text
    assert text.count("<tr>") == 9
    assert "73 more rows" in text
    rows = TASK.to_frame().iloc[:2]
    assert "more" not in card("x", "", rows)
    names = ["a", "b"]
    data = TASK.to_frame().set_axis([*names, "y", "split"], axis=1)
    report = audit_split(data, names, "y", "split")
    path = flow(Tied(0.1 * np.eye(2), np.eye(2)), np.linspace(0.0, 5.0, 20))
    runs = train(mlp(3, 2, 8, seed=0), (np.eye(3), np.eye(3)), Training(steps=20))
    comparison = compare(TASK, limit().predictions, KERNEL)
    results = (TASK, limit(), path, measured(), runs, comparison, report)
    for result, words in zip(
        results,
        ("target", "prediction", "w11", "salience", "training_loss", "slope", report.headline),
        strict=True,
    ):
        shown = result._repr_html_()
        assert words in shown
        assert type(result).__name__ in shown
        assert len(repr(result)) < 200
    assert "w11" not in replace(path, states=path.states[None], system=None)._repr_html_()


def test_a_measurement_shows_each_held_out_condition_measured_against_predicted():
    conditions = np.tile(np.stack(np.unravel_index(np.arange(9), (3, 3)), axis=1), (8, 1))
    parts, rng = np.eye(3)[conditions].reshape(72, 6), np.random.default_rng(0)
    responses = parts @ rng.normal(size=(6, 30)) + rng.normal(size=(72, 30))
    recording = from_trials(responses, {"a": conditions[:, 0], "b": conditions[:, 1]})
    measured = measure(recording, bootstrap=20)
    table, ax = measured.to_frame(), measured.plot()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    for name, points in zip("ab", ax.containers, strict=True):
        kinds = ("predicted", "measured")
        shares = [table[f"accuracy of {name}, {kind}"] for kind in kinds]
        np.testing.assert_array_equal(points.lines[0].get_xydata(), np.stack(shares, axis=1))
    _, mine = plt.subplots()
    assert measured.plot(mine) is mine
    without = measure(recording, held_out="none", bootstrap=20)
    with pytest.raises(InputError, match="a picture has a point for each held-out condition"):
        without.plot()
