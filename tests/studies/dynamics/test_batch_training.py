"""Networks trained by the second moments of their batches: as on samples, and along the flow."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.training import Training, train
from partwhole_studies.dynamics import batch_training
from partwhole_studies.dynamics.small_networks import LOW


def test_batch_moments_train_networks_as_samples_do():
    # The rate of torch, whose error is the mean over the two outputs.
    training = Training.published("identity", epochs=1, learning_rate=0.005, record=40, seed=[3, 4])
    networks, task = LOW.architecture.networks(2, seeds=[3, 4]), LOW.task()
    runs = train(networks, task, training, progress=False)
    moments = batch_training.batch_moments(task, [3, 4])
    layers = batch_training.layers_of(networks, task)
    maps = batch_training.descend(layers, moments, runs.steps, 0.01)
    expected = np.moveaxis(runs.concepts.outputs[:, :, 0, :2], 0, 1)
    np.testing.assert_allclose(maps @ np.append(task.probe, 1.0), expected, atol=2e-5)


def test_the_velocity_is_the_slope_of_the_error():
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(1, *shape)) for shape in ((4, 3), (4, 5), (2, 5))]
    root = rng.normal(size=(3, 3))
    moment = root @ root.T

    def loss(change, k):
        moved = [layer + change if i == k else layer for i, layer in enumerate(layers)]
        whole = moved[0][0]
        for layer in moved[1:]:
            whole = layer[0, :, :-1] @ whole
            whole[:, -1] += layer[0, :, -1]
        gap = whole - np.eye(2, 3)
        return 0.5 * np.trace(gap @ moment @ gap.T)

    for k, slopes in enumerate(batch_training.velocity(layers, moment)):
        change = rng.normal(size=slopes.shape)
        slope = (loss(1e-5 * change, k) - loss(-1e-5 * change, k)) / 2e-5
        assert -(slopes * change).sum() == pytest.approx(slope, rel=1e-6)
