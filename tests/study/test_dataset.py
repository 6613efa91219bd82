"""Cells and published numbers are laid out by what they are named, wherever they come from."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.study import layout, published

CELLS = [
    ({"task": task, "seed": seed}, {"loss": np.array([seed, 10.0 * seed]), "steps": np.array(seed)})
    for task in ("b", "a")
    for seed in (3, 1)
]


def test_dimensions_come_from_configurations_in_the_order_of_the_cells():
    data = layout(CELLS, {"loss": "time", "steps": ""}, over=["task", "seed"])
    assert data.loss.dims == ("task", "seed", "time")
    assert data.task.values.tolist() == ["b", "a"]
    assert data.seed.values.tolist() == [3, 1]
    assert data.loss.sel(task="a", seed=3).values.tolist() == [3.0, 30.0]
    assert data.steps.dtype == int


def test_what_has_no_cell_is_unknown():
    data = layout(CELLS[:-1], {"loss": "time", "steps": ""}, over=["task", "seed"])
    assert np.isnan(data.loss.sel(task="a", seed=1)).all()
    assert np.isfinite(data.loss.sel(task="b", seed=1)).all()


def test_an_array_has_the_dimensions_that_its_cells_have():
    cells = [({}, {"theory": np.arange(2.0)}), *CELLS]
    variables = {"theory": "time", "loss": "time", "steps": ""}
    data = layout(cells, variables, over=["task", "seed"], coords={"time": [0, 5]})
    assert data.theory.dims == ("time",)
    assert data.loss.sel(task="b", seed=3, time=5).item() == 30


def test_no_array_is_cut_to_the_places_of_another():
    cells = [({"task": "a"}, {"loss": np.array(1.0)}), ({"task": "b"}, {"error": np.array(2.0)})]
    cells.append(({"task": "c"}, {"loss": np.array(3.0), "error": np.array(4.0)}))
    data = layout(cells, {"loss": "", "error": ""}, over=["task"])
    assert data.task.values.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(data.loss, [1, np.nan, 3])
    np.testing.assert_array_equal(data.error, [np.nan, 2, 4])


def test_labels_go_to_variables_and_coordinates():
    labels = {"loss": "squared error", "time": "time (steps)"}
    data = layout(
        CELLS, {"loss": "time", "steps": ""}, over=["task", "seed"], coords={"time": [0, 5]},
        labels=labels,
    )  # fmt: skip
    assert {name: data[name].attrs["long_name"] for name in labels} == labels


@pytest.mark.parametrize(
    ("variables", "over", "sentence"),
    [
        (
            {"loss": "time"},
            ["task", "seed"],
            "has its dimensions in `variables`; got none for steps",
        ),
        ({"loss": "time", "steps": "", "x": ""}, ["task", "seed"], "is an array of a cell; got x;"),
        (
            {"loss": "time", "steps": ""},
            ["task"],
            "cells of loss differ in .* got two that agree in task",
        ),
    ],
)
def test_what_cannot_be_laid_out(variables, over, sentence):
    with pytest.raises(InputError, match=sentence):
        layout(CELLS, variables, over=over)


TABLE = """# Read off Figure 1, to .01.
network, layout, distance, slope
lazy, b, , 0.7
conv, b, 10, 0.5
conv, b, 0, 0.4
conv, a, 10, 0.6
"""


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.csv").write_text(TABLE)
    return tmp_path / "study.py"


def test_published_numbers_keep_their_order_and_leave_gaps(study):
    slopes = published(study, ["layout", "distance"], network="conv").slope
    assert slopes.layout.values.tolist() == ["b", "a"]
    assert slopes.distance.values.tolist() == [10, 0]
    assert slopes.sel(layout="b").values.tolist() == [0.5, 0.4]
    assert np.isnan(slopes.sel(layout="a", distance=0))
    lazy = published(study, ["layout"], network="lazy")
    assert list(lazy) == ["slope"]


@pytest.mark.parametrize(
    ("over", "rows", "sentence"),
    [
        (
            ["depth"],
            {},
            "have the columns that the study reads; got .*study.csv without depth; add",
        ),
        (
            ["layout"],
            {"network": "x"},
            r"have the rows that the study reads; got .* without \{'network'",
        ),
        (
            ["layout"],
            {"network": "conv"},
            r"one row for each combination of coordinates; got .* with \['b'\] twice; remove",
        ),
    ],
)
def test_published_numbers_that_are_not_there(study, over, rows, sentence):
    with pytest.raises(InputError, match=sentence):
        published(study, over, **rows)
    with pytest.raises(InputError, match=r"beside the study; got no .*other.csv; write it"):
        published(study.with_name("other.py"), over)
