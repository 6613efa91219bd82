"""Transitive equivalence: zero answers, rectangles, and what an accuracy of them means."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.tasks import associative_inference, transitive_equivalence
from partwhole_studies.overlap import transitive_equivalence as study

CONFIGS = [config | {"kernels": 6} for config in study.PRESETS["quick"]]


@pytest.fixture(scope="module")
def cells():
    return computed(study, CONFIGS)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_rectangles_have_two_pairs_alike_and_two_not():
    task = associative_inference()
    corners = study.contradictory(task)
    assert len(corners) == 1
    assert not task.is_train[corners].any()
    np.testing.assert_array_equal(task.targets[corners].sum(axis=1), 0)
    # Of 3 + 3 items, 2 + 1 of them anchors, the others' rectangles mix both classes on each side.
    mixed = transitive_equivalence([3, 3], [2, 1])
    corners = study.contradictory(mixed)
    assert len(corners) == 4
    np.testing.assert_array_equal(mixed.targets[corners].sum(axis=1), 0)


def test_no_kernel_is_right_on_a_whole_rectangle(data):
    assert float(data.worst.max(skipna=False)) <= 1e-8


@pytest.mark.parametrize(("size", "p", "q"), [(4, 3, 1), (5, 1, 4), (6, 2, 2)])
def test_closed_form_against_the_solved_task(size, p, q):
    task = transitive_equivalence([size, size], [p, q])
    limit = solve(task, OverlapKernel.from_salience([0.2]), intercept="free")
    margins = study.margins_in_closed_form(size, p, q, np.array([0.2])).to_numpy()[:, 0]
    first = task.test_components[:, 0]
    in_first, alike = first < size, task.test_targets > 0
    for expected, chosen in zip(
        margins, (alike & in_first, alike & ~in_first, ~alike), strict=True
    ):
        np.testing.assert_allclose(limit.test_margins[chosen], expected, atol=1e-10)


def test_unequal_anchors_are_noticed(cells, monkeypatch):
    monkeypatch.setattr(study, "build", lambda config: transitive_equivalence([3, 3], [2, 1]))
    (config, _) = cells[0]
    wrong = study.gather([(config, study.cell(config)), *cells[1:]])
    assert verdicts(study, wrong)["answer"] == "does not hold"


def test_swapped_anchors_are_noticed(data, monkeypatch):
    right = study.margins_in_closed_form
    monkeypatch.setattr(study, "margins_in_closed_form", lambda n, p, q, s: right(n, q, p, s))
    assert np.abs(np.asarray(study.numbers(data)["laws"])).max() > 0.1
