"""Leak of networks on composed images: networks that were trained, and kernel machines."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from image_scores import scored
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.networks import activations, image_network
from partwhole.tasks import compose_images
from partwhole.tasks.images.digits import digit_images
from partwhole_studies.images import leak_images as study
from partwhole_studies.images import networks
from partwhole_studies.network_tasks import make_task

SALIENCES = {0: 0.3, 4: 0.4, 8: 0.45}


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


@cache
def answers(name, salience):
    kernel = OverlapKernel.from_salience([salience])
    return solve(make_task(name), kernel, intercept="free").predictions


def synthetic(preset, noise=0.0, salience=SALIENCES.__getitem__):
    """Return cells of networks that answer as kernel machines of these saliences do."""
    cells = []
    for config in study.PRESETS[preset]:
        kernel = OverlapKernel.from_salience([salience(config["distance"])])
        answer = answers(config["task"], salience(config["distance"]))
        rng = np.random.default_rng([config["seed"], config["distance"]])
        answer = answer + noise * rng.normal(size=len(answer))
        measured = np.broadcast_to(kernel.salience, (2, len(study.PLACES), 2))
        cell = {"answered": answer, "regime": answer, "predicted": answer, "salience": measured}
        cell |= scored(0.0, 0.1, 0.4)
        cells.append((config, cell | {"learned": np.array(True)}))
    return cells


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_learn_and_leak_less_far_apart(data):
    assert data.attrs["not_learned"] == "none of 2"
    near, far = (data.slope.isel(distance=end) for end in (0, -1))
    assert np.all(far > near)


def test_kernel_machines_leak_as_their_saliences_predict():
    data = study.gather(synthetic("laptop"))
    require_whole(study, data)
    np.testing.assert_allclose(study.differences(data).to_series().dropna(), 0.0, atol=1e-9)
    slopes = data.slope.sel(network="convnet-small", task="extrapolation").mean("seed")
    # S / (1 - S), as the closed form has it for one anchor.
    np.testing.assert_allclose(slopes, [0.3 / 0.7, 0.4 / 0.6, 0.45 / 0.55])


@pytest.mark.parametrize(("number", "noise", "salience"), [
    ("gain", 0.0, lambda distance: 0.45 - 0.02 * distance),
    ("additivity", 2.0, SALIENCES.__getitem__),
])  # fmt: skip
def test_slopes_that_shrink_and_answers_that_are_not_additive_are_noticed(number, noise, salience):
    data = study.gather(synthetic("laptop", noise, salience))
    assert verdicts(study, data)[number] == "does not hold"


def test_readouts_that_are_not_predicted_are_noticed():
    cells = synthetic("laptop")
    for _, arrays in cells:
        arrays["predicted"] = 0.9 * arrays["regime"]
    assert verdicts(study, study.gather(cells))["readout"] == "does not hold"


def test_networks_that_did_not_learn_are_left_out():
    cells = synthetic("quick")
    cells[0][1].update(learned=np.array(False), answered=np.full(81, np.nan))
    data = study.gather(cells)
    assert data.attrs["not_learned"] == "1 of 2"
    assert data.slope.isnull().values.ravel().tolist() == [True, False]
    cells[1][1]["learned"] = np.array(False)
    nothing = study.gather(cells)
    assert np.isnan(nothing.theory).all()
    study.figure(nothing)


def test_means_over_the_composites_of_a_tuple():
    task = make_task("extrapolation")
    composed = compose_images(task, *digit_images(), distance=2, seed=0)
    samples = composed.compositional(3)
    outputs = samples.targets[:, None] + np.tile([0.0, 1.0, 2.0], 64)[:, None]
    means = networks.by_tuple(samples, outputs)
    np.testing.assert_allclose(means[~task.is_train], task.test_targets + 1.0)
    assert np.isnan(means[task.is_train]).all()


def slopes_of_a_readout(seed):
    """Return the slope of a readout as predicted and as fitted; the fit is least squares."""
    task = make_task("extrapolation")
    composed = compose_images(task, *digit_images(), distance=0, seed=seed)
    samples, unseen = composed.training(20), composed.compositional(2)
    network = image_network("convnet-small", samples.shape, outputs=1, seed=0)
    rows, at = (
        np.column_stack([activations(network, shown, layers=["relu 5"])[0], np.ones(len(shown))])
        for shown in (samples, unseen)
    )
    # By the normal equations, with a ridge that is far below what is compared.
    gram = rows.T @ rows + 1e-9 * np.eye(65)
    fit = np.linalg.solve(gram, rows.T @ samples.targets)
    expected = (at @ fit).reshape(64, 2).mean(axis=1)
    layers = rows[:, :-1].astype(float), samples, at[:, :-1].astype(float), unseen
    answers = networks.readout_alone(*layers)[~task.is_train]
    np.testing.assert_allclose(answers, expected, atol=2e-3)
    predicted = networks.readout_predicted(*layers)[~task.is_train]
    return [np.polyfit(task.test_targets, y, 1)[0] for y in (predicted, answers)]


def test_the_readout_s_fit_is_least_squares_and_its_slope_as_predicted():
    # Of two composites a tuple, single answers vary; the mean slope is what the study weighs.
    predicted, fitted = np.mean([slopes_of_a_readout(seed) for seed in range(4)], axis=0)
    assert abs(predicted - fitted) < 0.05
