"""Leak of networks on composed images: claims on trained networks, and on answers made up."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate
from partwhole.tasks import compose_images, digit_images
from partwhole_studies.images import _runs as runs
from partwhole_studies.images import leak_images as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_no_claim_of_the_networks_themselves_fails(cells):
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 0
    found = [(c.statement, c.verdict.value) for c in study.claims(data)]
    assert len(found) == 3 + 8
    assert {verdict for _, verdict in found[:3]} <= {"holds", "inconclusive"}
    assert np.all(data.slope.sel(distance=8).values > data.slope.sel(distance=0).values)
    assert float(data.additivity.min()) > 0.9


def made_up(config, salience=0.4, noise=0.0):
    """Return a cell of a network that answers as a kernel machine of this salience does."""
    task = runs.make_task(config["task"])
    kernel = OverlapKernel.from_salience([salience])
    answer = interpolate(task, kernel, intercept="free").predictions
    rng = np.random.default_rng([config["seed"], config["distance"]])
    answer = answer + noise * rng.normal(size=len(answer))
    measured = np.broadcast_to(kernel.salience, (2, len(study.PLACES), 2))
    return {
        "answered": answer,
        "regime": answer,
        "quality": np.array([0.01, 0.1, 0.2]),
        "learned": np.array(True),
        "salience": measured,
    }


@pytest.fixture
def any_images(monkeypatch):
    rng = np.random.default_rng(0)
    source = rng.normal(size=(40, 32, 32, 1)).astype(np.float32), np.arange(40) % 10
    monkeypatch.setattr(runs, "pictures", lambda name: source)


@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_kernel_machines_do_as_their_salience_says(preset, any_images):
    configs = study.PRESETS[preset]
    saliences = {0: 0.3, 4: 0.4, 8: 0.45, 5: 0.33, 10: 0.36, 15: 0.42, 20: 0.44}
    cells = [(config, made_up(config, saliences[config["distance"]])) for config in configs]
    data = study.gather(cells)
    found = {c.statement: c for c in study.claims(data)}
    said = [c for s, c in found.items() if "are what the salience" in s]
    assert len(said) == 3
    # The slope relative to seen sums is the same, since seen sums are answered right.
    assert {c.verdict.value for c in said} == {"holds"}
    assert all(abs(c.found) < 1e-9 for c in said)
    assert all(c.found > 0.999999 for s, c in found.items() if "correlation" in s)
    assert all(c.verdict.value == "holds" for s, c in found.items() if "One salience" in s)
    assert all(c.verdict.value == "holds" for s, c in found.items() if "leak less" in s)
    published = [c for s, c in found.items() if "comes out again" in s]
    assert len(published) == (17 if preset == "paper" else 0)
    drawn = study.figure(data)
    assert len(drawn.axes) == data.sizes["distance"] + 4


def test_slopes_that_shrink_with_distance_are_noticed():
    cells = [
        (config, made_up(config, 0.45 - 0.02 * config["distance"]))
        for config in study.PRESETS["laptop"]
    ]
    claims = study.claims(study.gather(cells))
    found = [c.verdict.value for c in claims if "leak less" in c.statement]
    assert found == ["does not hold"] * 3


def test_answers_that_are_not_additive_are_noticed():
    cells = [(config, made_up(config, noise=2.0)) for config in study.PRESETS["laptop"]]
    claims = study.claims(study.gather(cells))
    found = [c.verdict.value for c in claims if "additively" in c.statement]
    assert found == ["does not hold"] * 3


def test_networks_that_did_not_learn_are_left_out_and_shown():
    cells = [(config, made_up(config)) for config in study.PRESETS["quick"]]
    cells[0][1].update(learned=np.array(False), answered=np.full(81, np.nan))
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 1
    assert data.learned.values.ravel().tolist() == [-1, 1]
    assert int(np.isnan(data.slope).sum()) == 1
    claim = study.claims(data)[0]
    assert claim.found == 0.5
    assert claim.verdict.value == "does not hold"
    for _, found in cells:
        found["learned"] = np.array(False)
    nothing = study.gather(cells)
    assert np.isnan(nothing.theory).all()
    assert study.claims(nothing)[0].found == 1.0
    assert len(study.figure(nothing).axes) == 6


def test_means_over_the_composites_of_a_tuple():
    task = runs.make_task("extrapolation")
    composed = compose_images(task, *digit_images(), distance=2, seed=0)
    samples = composed.compositional(3)
    found = runs._by_tuple(
        samples, samples.targets[:, None] + np.tile([0.0, 1.0, 2.0], 64)[:, None]
    )
    np.testing.assert_allclose(found[~task.is_train], task.test_targets + 1.0)
    assert np.isnan(found[task.is_train]).all()


def test_the_readout_s_fit_is_least_squares():
    from partwhole.networks import activations, image_network

    task = runs.make_task("extrapolation")
    composed = compose_images(task, *digit_images(), distance=0, seed=0)
    samples, unseen = composed.training(20), composed.compositional(2)
    network = image_network("convnet-small", samples.shape, outputs=1, seed=0)
    rows, at = (
        np.column_stack([activations(network, each, layers=["relu 5"])[0], np.ones(len(each))])
        for each in (samples, unseen)
    )
    # By the normal equations, with a ridge that is far below what is compared.
    gram = rows.T @ rows + 1e-9 * np.eye(65)
    fit = np.linalg.solve(gram, rows.T @ samples.targets)
    expected = (at @ fit).reshape(64, 2).mean(axis=1)
    found = runs._readout(network, samples, unseen)[~task.is_train]
    np.testing.assert_allclose(found, expected, atol=2e-3)


def test_figure(cells):
    assert len(study.figure(study.gather(cells)).axes) == 6
