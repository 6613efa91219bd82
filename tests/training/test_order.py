"""The grid of recorded steps and the order of batches."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.networks import Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train
from partwhole.training.order import batch_order, geometric_steps


@pytest.mark.parametrize("last", [118, 354, 4720])
def test_the_geometric_grid_begins_at_0_and_ends_at_the_end(last):
    steps = geometric_steps(last)
    assert steps[0] == 0
    assert steps[-1] == last
    assert (np.diff(steps) > 0).all()
    assert len(steps) <= min(205, last + 1)
    if last == 4720:
        assert len(steps) >= 195
        # Spaced geometrically once rounding is past.
        ratios = steps[101:] / steps[100:-1]
        assert ratios.max() / ratios.min() < 1.05


def test_once_repeats_and_every_epoch_does_not():
    once, _ = batch_order(4, 0, 10, 3, "once")
    assert once.shape == (3, 4)
    fresh, _ = batch_order(4, 0, 10, 3)
    assert fresh.shape == (9, 4)
    np.testing.assert_array_equal(fresh[:3], once)
    for epoch in np.split(fresh, 3):
        assert sorted(epoch.ravel()[:10]) == list(range(10))
    assert (fresh[:3] != fresh[3:6]).any()


def test_the_last_batch_has_a_mean_of_its_own():
    _, weights = batch_order(4, 0, 10, 1)
    np.testing.assert_allclose(weights, [[0.25] * 4, [0.25] * 4, [0.5, 0.5, 0, 0]])


@pytest.mark.parametrize("record", [[], [0, 0], [3, 2], [-1, 2], [0, 119]])
def test_steps_that_do_not_exist_are_refused(record):
    task = StructuredIdentity([1, 2], [0.1, 0.1], samples=10)
    with pytest.raises(InputError, match="steps to record are whole numbers that increase, from"):
        train(Architecture().network(2, seed=0), task, Training(steps=118, record=record))
