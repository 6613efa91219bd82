"""Series are drawn as what they are, and one key explains them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from partwhole.study import key, mean, series
from partwhole.study.plots import panels

X = [0.0, 1.0, 2.0]


@pytest.fixture
def axes():
    figure, grid = panels(1, 2, 3)
    return figure, grid[0]


def measured(seeds: int) -> xr.DataArray:
    values = np.arange(3 * 2 * seeds, dtype=float).reshape(2, seeds, 3) ** 1.5
    coords = {"task": ["a", "b"], "seed": range(seeds), "x": X}
    array = xr.DataArray(values, coords, ("task", "seed", "x"), name="error")
    array.x.attrs["long_name"] = "samples"
    return array


def lines(ax) -> list:
    return [line for line in ax.lines if len(line.get_xdata())]


def test_theory_is_a_line_and_published_numbers_are_crosses(axes):
    values = measured(1).isel(seed=0, drop=True)
    series(axes[1][0], "x", by="task", theory=values, published=values + 1)
    drawn = lines(axes[1][0])
    assert [line.get_marker() for line in drawn] == ["None", "None", "x", "x"]
    np.testing.assert_array_equal(drawn[0].get_ydata(), values.sel(task="a"))
    np.testing.assert_array_equal(drawn[3].get_ydata(), values.sel(task="b") + 1)
    assert drawn[0].get_color() == drawn[2].get_color() != drawn[1].get_color()


def test_samples_are_drawn_with_the_interval_of_their_mean(axes):
    values = measured(6)
    series(axes[1][0], "x", by="task", measured=values)
    bars = axes[1][0].containers
    assert len(bars) == 2
    ends = np.array([segment[:, 1] for segment in bars[1].lines[2][0].get_segments()])
    expected = [mean(values.sel(task="b", x=x)).interval for x in X]
    np.testing.assert_allclose(ends, expected)


def test_few_samples_are_dots_without_an_interval(axes):
    series(axes[1][0], "x", by="task", measured=measured(3))
    dots = [line for line in lines(axes[1][0]) if line.get_marker() == "."]
    assert len(dots) == 2 * len(X)
    assert not any(
        np.isfinite(bar.lines[2][0].get_segments()).any() for bar in axes[1][0].containers
    )


def test_axes_are_named_by_the_data_unless_they_have_names(axes):
    axes[1][0].set_ylabel("mine")
    series(axes[1][0], "x", by="task", measured=measured(1))
    assert (axes[1][0].get_xlabel(), axes[1][0].get_ylabel()) == ("samples", "mine")
    series(axes[1][1], "x", by="task", measured=measured(1))
    assert axes[1][1].get_ylabel() == "error"


def test_the_key_names_each_group_and_kind_once(axes):
    figure, (left, right) = axes
    values = measured(1).isel(seed=0, drop=True)
    for ax in (left, right):
        series(ax, "x", by="task", theory=values, measured=values, names={"a": "task A"})
    assert key(figure) is figure
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["theory", "measured", "task A", "b"]
