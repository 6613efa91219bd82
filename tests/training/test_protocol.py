"""The clock, the grid of records and the order of batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.training import Protocol
from partwhole.training.protocol import batch_order


@pytest.mark.parametrize(
    ("dimension", "rate", "epoch", "total"),
    [(64, 0.1, 0.36875, 14.75), (2, 0.01, 1.18, 47.2), (3, 0.01, 0.7866667, 31.4666667)],
)
def test_published_clocks(dimension, rate, epoch, total):
    protocol = Protocol(rate)
    assert protocol.time(protocol.batches(15_000), dimension) == pytest.approx(epoch, abs=1e-6)
    assert protocol.time(protocol.steps(15_000), dimension) == pytest.approx(total, abs=1e-6)


def test_the_paper_loss_runs_half_a_dimension_faster():
    for d in (2, 64):
        assert Protocol(0.1, loss="paper").rate(d) == pytest.approx(d / 2 * Protocol(0.1).rate(d))


def test_batches_are_counted():
    assert Protocol().batches(15_000) == 118
    assert Protocol(last_batch="dropped").batches(15_000) == 117
    assert Protocol().batches(1280) == Protocol(last_batch="dropped").batches(1280) == 10


@pytest.mark.parametrize("epochs", [1, 3, 40])
def test_the_geometric_grid_begins_at_0_and_ends_at_the_end(epochs):
    steps = Protocol(epochs=epochs).recorded("geometric", 15_000)
    assert steps[0] == 0
    assert steps[-1] == 118 * epochs
    assert (np.diff(steps) > 0).all()
    assert len(steps) <= min(205, 118 * epochs + 1)
    if epochs == 40:
        assert len(steps) >= 195
        # Spaced geometrically once rounding is past.
        ratios = steps[101:] / steps[100:-1]
        assert ratios.max() / ratios.min() < 1.05


def test_once_repeats_and_every_epoch_does_not():
    once, _ = batch_order(Protocol(epochs=3, batch=4), 10, seed=0)
    assert once.shape == (3, 4)
    fresh, _ = batch_order(Protocol(epochs=3, batch=4, shuffle="every epoch"), 10, seed=0)
    assert fresh.shape == (9, 4)
    for epoch in np.split(fresh, 3):
        assert sorted(epoch.ravel()[:10]) == list(range(10))
    assert (fresh[:3] != fresh[3:6]).any()


def test_the_last_batch_has_a_mean_of_its_own():
    order, weights = batch_order(Protocol(batch=4), 10, seed=0)
    np.testing.assert_allclose(weights, [[0.25] * 4, [0.25] * 4, [0.5, 0.5, 0, 0]])
    dropped, even = batch_order(Protocol(batch=4, last_batch="dropped"), 10, seed=0)
    np.testing.assert_array_equal(dropped, order[:2])
    np.testing.assert_allclose(even, 0.25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": 0.0}, "a learning rate is a positive number; got 0.0; pass 0.1"),
        ({"learning_rate": "0.1"}, "learning_rate is a finite number; got '0.1'; pass one number"),
        ({"learning_rate": np.inf}, "learning_rate is a finite number; got inf"),
        ({"epochs": 0}, "epochs is a whole number of at least 1; got 0; pass one or more"),
        ({"epochs": 2.5}, "epochs is a whole number; got 2.5"),
        ({"batch": 0}, "batch is a whole number of at least 1; got 0"),
        ({"batch": 2.5}, "batch is a whole number; got 2.5"),
    ],
)
def test_bad_protocols_are_refused(options, message):
    build: Callable = Protocol.__init__  # as where types are not checked
    with pytest.raises(InputError, match=message):
        build(object.__new__(Protocol), **options)


def test_an_epoch_without_a_whole_batch_is_refused():
    message = "at least one batch; got 100 samples for batches of 128, the last one dropped; take"
    dropped = Protocol(last_batch="dropped")
    for ask in (dropped.batches, dropped.steps, lambda n: dropped.recorded("geometric", n)):
        with pytest.raises(InputError, match=message):
            ask(100)
    assert Protocol().batches(100) == dropped.batches(128) == 1


@pytest.mark.parametrize("record", [[], [0, 0], [3, 2], [-1, 2], [0, 119]])
def test_steps_that_do_not_exist_are_refused(record):
    with pytest.raises(InputError, match="steps to record are whole numbers that increase, from"):
        Protocol(epochs=1).recorded(record, 15_000)
