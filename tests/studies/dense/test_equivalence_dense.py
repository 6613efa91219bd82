"""Transitive equivalence in dense networks, and what is read from hidden units."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.dense import equivalence_dense as study
from partwhole_studies.dense.networks import recorded
from partwhole_studies.network_tasks import make_task


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_of_small_weights_solve_it_and_others_do_not(data):
    accuracy = data.accuracy.mean("seed")
    assert np.all(accuracy.sel(scale=study.RICH) > 0.9)
    assert np.all(accuracy.sel(scale=study.LAZY) < 0.8)


def test_units_of_small_weights_have_equal_weights_for_items_of_a_class(data):
    alike = data.alike.mean("seed")
    np.testing.assert_allclose(alike.sel(scale=study.RICH), 1.0, atol=0.05)
    assert np.all(alike.sel(scale=study.LAZY) < 0.5)


def test_accuracy_along_training_ends_where_networks_do(data):
    last = data.right.sel(side="unseen").isel(step=-1)
    xr.testing.assert_allclose(last.drop_vars(["step", "side"]), data.accuracy)
    assert (data.right.sel(side="seen").isel(step=-1).dropna("seed") == 1).all()
    lazy = data.right.sel(scale=study.LAZY, loss="squared", side="seen")
    assert float(lazy.sel(step=1).mean()) < 0.9


def units_by_class(readout, n=50, seeds=3, wrong=0):
    """Return units that weigh classes oppositely, in both places alike or not, by their readout."""
    rng = np.random.default_rng(0)
    by_class = rng.normal(size=(seeds, n, 1)) * np.array([1.0, 1.0, -1.0, -1.0])
    sign = np.where(np.arange(n) < wrong, -1.0, 1.0) * np.sign(readout)
    return np.concatenate([by_class, by_class * sign[..., None]], axis=-1)


def test_units_of_one_class_each():
    readout = np.random.default_rng(1).choice([-1.0, 1.0], (3, 50))
    units = study.read_units(units_by_class(readout), readout)
    np.testing.assert_allclose(units["sided"], 1.0)
    np.testing.assert_allclose(units["alike"], 1.0)
    np.testing.assert_allclose(units["unlike"], -1.0)
    x, y, out = units["units"].T
    assert np.all(np.sign(x * y) == np.sign(out))


def test_units_on_the_wrong_side_count_by_their_weight():
    readout = np.random.default_rng(1).choice([-1.0, 1.0], (3, 50))
    units = units_by_class(readout, wrong=20)
    mass = np.linalg.norm(units, axis=-1)
    expected = 1.0 - 2.0 * mass[:, :20].sum(axis=1) / mass.sum(axis=1)
    np.testing.assert_allclose(study.read_units(units, readout)["sided"], expected)


def test_random_units_have_no_side():
    rng = np.random.default_rng(2)
    units = study.read_units(rng.normal(size=(4, 20_000, 8)), rng.normal(size=(4, 20_000)))
    # 20,000 units: standard errors of .007; cosines of four items without their mean are -1/3.
    assert np.all(np.abs(units["sided"]) < 0.03)
    assert np.all(np.abs(units["alike"] + 1 / 3) < 0.03)
    assert np.all(np.abs(units["unlike"] + 1 / 3) < 0.03)


def synthetic(preset, right=4):
    """Return cells of networks that answer so many of the four unseen pairs right."""
    cells = []
    task = make_task("equivalence")
    for config in study.PRESETS[preset]:
        seeds = len(config["seeds"])
        answers = np.tile(task.targets, (seeds, 1))
        answers[:, np.flatnonzero(~task.is_train)[right:]] *= -1
        cell = {"predictions": answers, "learned": np.ones(seeds, dtype=bool)}
        cell["right"] = np.ones((seeds, len(recorded(config["steps"])), 2))
        similar = np.tile(np.array([[0.0], [0.4], [1.0]]), (seeds, 1, 5))
        cell |= {"similarity_before": similar, "similarity_after": similar}
        if config["depth"] == 1:
            readout = np.random.default_rng(0).choice([-1.0, 1.0], (seeds, 500))
            cell |= study.read_units(units_by_class(readout, 500, seeds), readout)
        cells.append((config, cell))
    return cells


@pytest.mark.parametrize("right", [2, 4])
def test_answers_decide(right):
    data = study.gather(synthetic("laptop", right))
    require_whole(study, data)
    assert float(data.accuracy.min()) == float(data.accuracy.max()) == right / 4
    verdict = verdicts(study, data)
    assert verdict["solved"] == ("holds" if right == 4 else "does not hold")
    assert verdict["lazy"] == ("does not hold" if right == 4 else "holds")


def test_networks_that_did_not_learn_are_left_out():
    cells = synthetic("quick")
    for _, arrays in cells:
        arrays["learned"][0] = False
    data = study.gather(cells)
    assert data.attrs["not_learned"] == "4 of 60"
    assert 0 not in data.seed
