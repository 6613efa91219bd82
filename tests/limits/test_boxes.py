"""Boxes of combinations, against a search through the values of their corners."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from partwhole.limits.proofs.boxes import Corners

GROUPS = ((0,), (1, 3), (2,))


def corner_rows(rows, base, opposite):
    """Return the places of all corners of a box, None if one is not among the rows."""
    places = {tuple(row): i for i, row in enumerate(rows.tolist())}
    box = []
    for choice in product((0, 1), repeat=len(GROUPS)):
        corner = rows[base].copy()
        for group, flipped in zip(GROUPS, choice, strict=True):
            corner[list(group)] = rows[opposite if flipped else base][list(group)]
        box.append(places.get(tuple(corner.tolist())))
    return None if None in box else box


@pytest.fixture(params=range(3))
def rows(request):
    everything = np.array(list(product(range(2), range(3), range(3), range(2))))
    rng = np.random.default_rng(request.param)
    return everything[np.sort(rng.choice(36, 30, replace=False))]


def pairs(rows):
    """Return the pairs of rows that differ in every group."""
    return [
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if all(np.any(rows[i, list(g)] != rows[j, list(g)]) for g in GROUPS)
    ]


def test_the_boxes_of_all_pairs_are_found(rows):
    bases, opposites = np.array(pairs(rows)).T
    corners = Corners(rows)
    steps = corners.steps(bases, opposites, GROUPS)
    assert np.all(steps != 0)
    boxes, signs = corners.boxes(bases, opposites, GROUPS, steps)
    expected = [box for i, j in pairs(rows) if (box := corner_rows(rows, i, j))]
    assert expected
    assert len(expected) < len(bases)
    assert boxes.tolist() == expected
    assert signs.tolist() == [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, -1.0]


def test_boxes_with_a_label_at_even_corners_and_another_at_odd_ones(rows):
    bases, opposites = np.array(pairs(rows)).T
    labels = (rows[:, 0] + (rows[:, 1] > 0) + (rows[:, 2] > 0)) % 2
    corners = Corners(rows)
    steps = corners.steps(bases, opposites, GROUPS)
    boxes, signs = corners.boxes(bases, opposites, GROUPS, steps, labels)
    expected = []
    for i, j in pairs(rows):
        box = corner_rows(rows, i, j)
        if box:
            even, odd = labels[box][signs > 0], labels[box][signs < 0]
            if len({*even}) == len({*odd}) == 1 and even[0] != odd[0]:
                expected.append(box)
    assert expected
    assert boxes.tolist() == expected


def test_rows_behind_the_known_ones_are_no_other_corners(rows):
    base = len(rows) - 1
    opposites = np.array([i for i, j in pairs(rows) if j == base])
    corners = Corners(rows, base)
    steps = corners.steps(np.full(len(opposites), base), opposites, GROUPS)
    boxes, _ = corners.boxes(np.full(len(opposites), base), opposites, GROUPS, steps)
    assert np.all(boxes[:, 0] == base)
    assert np.all(boxes[:, 1:] < base)
