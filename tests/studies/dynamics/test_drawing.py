"""The pictures of concept learning, read back from their axes."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from partwhole._checks import InputError
from partwhole.tasks import StructuredIdentity
from partwhole_studies.dynamics import drawing


@pytest.fixture
def ax():
    return Figure().subplots()


def test_markers_lie_at_equal_times(ax):
    t = np.linspace(0, 3, 301)
    outputs = np.stack([1 - np.exp(-t), 2 - 2 * np.exp(-3 * t)], axis=1)
    drawing.concept_space(ax, t, outputs, [1, 2], every=1, index=2)
    line, marks, means, probe = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), outputs)
    np.testing.assert_allclose(marks.get_xydata(), outputs[::100])
    np.testing.assert_array_equal(means.get_xydata(), [[1, 0], [0, 2]])
    np.testing.assert_array_equal(probe.get_xydata(), [[1, 2]])


def test_no_markers_unless_asked_and_everything_in_sight(ax):
    t = np.linspace(0, 1, 11)
    outputs = np.stack([3 * t, -t], axis=1)
    drawing.concept_space(ax, t, outputs, [1, 2])
    assert len(ax.lines) == 3
    assert ax.get_xlim()[1] > 3
    assert ax.get_ylim()[0] <= -1


@pytest.mark.parametrize(("s", "edges"), [(1, 1), (2, 4), (3, 12), (4, 32)])
def test_cube_has_its_edges_and_corners(ax, s, edges):
    binary = StructuredIdentity(np.arange(1.0, s + 1).tolist(), [0.1] * s).combinations().binary
    drawing.cube(ax, binary, binary.sum(axis=1).astype(float))
    assert len(ax.lines) == edges
    assert all(line.get_linestyle() == "-" for line in ax.lines)
    assert {text.get_text() for text in ax.texts} >= {"".join(map(str, row)) for row in binary}


def test_cube_marks_what_is_against_the_order(ax):
    binary = np.array([[1, 1], [0, 1], [1, 0], [0, 0]])
    colours = drawing.cube(ax, binary, np.array([0.1, 0.3, 0.05, 0.0]), limits=(0, 1))
    assert [line.get_linestyle() for line in ax.lines].count("--") == 1
    assert colours.get_clim() == (0, 1)


@pytest.mark.parametrize(
    "binary",
    [np.zeros((2, 1), dtype=int), np.array([[0, 0], [0, 1], [1, 0]]), np.zeros((1, 0), dtype=int)],
)
def test_cube_wants_all_combinations(ax, binary):
    with pytest.raises(InputError, match="a cube shows all 2\\^s combinations of 1 to 4 concepts"):
        drawing.cube(ax, binary, np.zeros(len(binary)))


def test_concepts_of_negative_means_are_in_view(ax):
    t = np.linspace(0, 3, 40)
    answers = np.stack([3 - 3 * np.exp(-t), -1 + np.exp(-t)], axis=1)
    drawing.concept_space(ax, t, answers, [3, -1], every=1.0)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert left < 0 < 3 < right
    assert low < -1 < 0 < high
