"""Small initial weights and weight decay: batch moments in place of samples, and the flow."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from study_cells import computed
from study_rules import failed_checks, require_whole, verdicts

from partwhole.training import Training, train
from partwhole_studies.dynamics import batch_training
from partwhole_studies.dynamics import variants as study
from partwhole_studies.dynamics.small_networks import LOW

NAMES = list(study.VARIANTS)


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


@pytest.mark.parametrize("name", NAMES[:3])
def test_batch_moments_train_networks_as_samples_do(name):
    scale, decay = study.VARIANTS[name]
    # Rates and decay of torch, whose error is the mean over the two outputs.
    training = Training.published(
        "identity", epochs=1, learning_rate=0.005, weight_decay=decay, record=40, seed=[3, 4]
    )
    networks = jax.tree.map(lambda w: scale * w, LOW.architecture.networks(2, seeds=[3, 4]))
    runs = train(networks, LOW.task(), training, progress=False)
    layers, penalty = study.initial([3, 4])
    moments = np.tile(batch_training.batch_moments(LOW.task(), [3, 4]), (4, 1, 1, 1))
    maps = batch_training.descend(layers, moments, runs.steps, study.STEP, penalty)
    paths = maps @ np.append(LOW.task().probe, 1.0)
    first = 2 * NAMES.index(name)
    expected = np.moveaxis(runs.concepts.outputs[:, :, 0, :2], 0, 1)
    np.testing.assert_allclose(paths[:, first : first + 2], expected, atol=2e-5)
    others = np.delete(paths[-1], [first, first + 1], axis=0).reshape(-1, 2, 2)
    assert all(np.abs(other - expected[-1]).max() > 1e-3 for other in others)


def test_the_velocity_is_the_slope_of_the_penalised_error():
    rng = np.random.default_rng(0)
    layers = [rng.normal(size=(1, *shape)) for shape in ((4, 3), (4, 5), (2, 5))]
    root = rng.normal(size=(3, 3))
    moment, penalty = root @ root.T, 0.3

    def loss(change, k):
        moved = [layer + change if i == k else layer for i, layer in enumerate(layers)]
        whole = moved[0][0]
        for layer in moved[1:]:
            whole = layer[0, :, :-1] @ whole
            whole[:, -1] += layer[0, :, -1]
        gap = whole - np.eye(2, 3)
        squares = sum((layer**2).sum() for layer in moved)
        return 0.5 * np.trace(gap @ moment @ gap.T) + 0.5 * penalty * squares

    for k, slopes in enumerate(
        batch_training.velocity(layers, moment, np.full((1, 1, 1), penalty))
    ):
        change = rng.normal(size=slopes.shape)
        slope = (loss(1e-5 * change, k) - loss(-1e-5 * change, k)) / 2e-5
        assert -(slopes * change).sum() == pytest.approx(slope, rel=1e-6)


def test_the_order_is_that_of_the_networks(data):
    assert verdicts(study, data)["order"] == "holds"
    wrong = data.assign(trained=data.trained.copy(data=data.trained.values[..., ::-1]))
    wrong["trained"] = wrong.trained * np.array([0.5, 2.0])
    assert verdicts(study, wrong)["order"] == "does not hold"


def test_another_flow_is_noticed(data):
    theory = data.theory.sel(variant=NAMES[0])
    assert failed_checks(study, data.assign(theory=data.theory * 0 + theory)) == ["apart"]
