"""Transitive equivalence: zero answers, rectangles, and what an accuracy of them means."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate
from partwhole.tasks import associative_inference, transitive_equivalence
from partwhole_studies.overlap import transitive_equivalence as study

CONFIGS = [config | {"kernels": 6} for config in study.PRESETS["quick"]]


@pytest.fixture(scope="module")
def cells():
    return computed(study, CONFIGS)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_verdicts(data):
    others = [claim for claim in study.claims(data) if claim.verdict.value != "holds"]
    assert [claim.verdict.value for claim in others] == ["does not hold"]
    assert others[0].statement.startswith("Accuracy on unseen pairs")
    assert (others[0].reference, others[0].found) == (0.417, 0.5)


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


def test_answers_that_are_not_0_are_noticed(data):
    answered = data.assign(ties=data.ties * 0.5)
    statement = "An accuracy by strict signs"
    (claim,) = [c for c in study.claims(answered) if c.statement.startswith(statement)]
    assert claim.verdict.value == "does not hold"


@pytest.mark.parametrize(("size", "p", "q"), [(4, 3, 1), (5, 1, 4), (6, 2, 2)])
def test_closed_form_against_the_solved_task(size, p, q):
    task = transitive_equivalence([size, size], [p, q])
    limit = interpolate(task, OverlapKernel.from_salience([0.2]), intercept="free")
    margins = study.margins_in_closed_form(size, p, q, np.array([0.2]))[:, 0]
    first = task.test_components[:, 0]
    in_first, alike = first < size, task.test_targets > 0
    for expected, chosen in zip(
        margins, (alike & in_first, alike & ~in_first, ~alike), strict=True
    ):
        np.testing.assert_allclose(limit.test_margins[chosen], expected, atol=1e-10)


def test_unequal_anchors_are_noticed(monkeypatch):
    def unequal(config):
        return transitive_equivalence([3, 3], [2, 1])

    monkeypatch.setattr(study, "build", unequal)
    data = study.gather([(config, study.cell(config)) for config in CONFIGS])
    failing = [
        claim.statement
        for claim in study.claims(data)
        if claim.verdict.value == "does not hold" and "answered 0" in claim.statement
    ]
    assert len(failing) == 15


def test_a_wrong_sign_is_noticed(data, monkeypatch):
    right = study.margins_in_closed_form
    monkeypatch.setattr(study, "margins_in_closed_form", lambda n, p, q, s: right(n, q, p, s))
    failing = [claim for claim in study.claims(data) if claim.verdict.value == "does not hold"]
    assert len([claim for claim in failing if "closed form" in claim.statement]) == 3


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
