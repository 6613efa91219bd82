"""Transitive equivalence in dense networks, and what is read from hidden units."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense import equivalence_dense as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_all_claims_hold(cells):
    claims = study.claims(study.gather(cells))
    assert len(claims) == 13
    assert {claim.verdict.value for claim in claims} == {"holds"}


def perfect(readout, n=50, seeds=3, wrong=0):
    """Return units that weigh classes oppositely, in both places alike or not, by their readout."""
    rng = np.random.default_rng(0)
    by_class = rng.normal(size=(seeds, n, 1)) * np.array([1.0, 1.0, -1.0, -1.0])
    sign = np.where(np.arange(n) < wrong, -1.0, 1.0) * np.sign(readout)
    return np.concatenate([by_class, by_class * sign[..., None]], axis=-1)


def test_units_of_one_class_each_are_told():
    readout = np.random.default_rng(1).choice([-1.0, 1.0], (3, 50))
    found = study._units(perfect(readout), readout)
    np.testing.assert_allclose(found["sided"], 1.0)
    np.testing.assert_allclose(found["alike"], 1.0)
    np.testing.assert_allclose(found["unlike"], -1.0)
    assert found["units"].shape == (50, 3)
    x, y, out = found["units"].T
    assert np.all(np.sign(x * y) == np.sign(out))


def test_units_on_the_wrong_side_count_by_their_weight():
    readout = np.random.default_rng(1).choice([-1.0, 1.0], (3, 50))
    units = perfect(readout, wrong=20)
    mass = np.linalg.norm(units, axis=-1)
    expected = 1.0 - 2.0 * mass[:, :20].sum(axis=1) / mass.sum(axis=1)
    np.testing.assert_allclose(study._units(units, readout)["sided"], expected)


def test_units_at_random_tell_nothing():
    rng = np.random.default_rng(2)
    found = study._units(rng.normal(size=(4, 20_000, 8)), rng.normal(size=(4, 20_000)))
    # 20,000 units: standard errors of .007; cosines of four items without their mean are -1/3.
    assert np.all(np.abs(found["sided"]) < 0.03)
    assert np.all(np.abs(found["alike"] + 1 / 3) < 0.03)
    assert np.all(np.abs(found["unlike"] + 1 / 3) < 0.03)


def made_up(config, right):
    """Return a cell of networks that answer so many of the four unseen pairs right."""
    task = runs.make_task(runs.EQUIVALENCE)
    seeds = len(config["seeds"])
    answers = np.tile(task.targets, (seeds, 1))
    unseen = np.flatnonzero(~task.is_train)
    answers[:, unseen[right:]] *= -1
    found = {"predictions": answers, "learned": np.ones(seeds, dtype=bool)}
    if config["depth"] == 1:
        readout = np.random.default_rng(0).choice([-1.0, 1.0], (seeds, 500))
        found |= study._units(perfect(readout, 500, seeds), readout)
    return found


@pytest.mark.parametrize("right", [2, 4])
def test_answers_decide(right):
    cells = [(config, made_up(config, right)) for config in study.PRESETS["laptop"]]
    data = study.gather(cells)
    assert float(data.accuracy.min()) == float(data.accuracy.max()) == right / 4
    found = {c.statement: c.verdict.value for c in study.claims(data)}
    solved = [v for s, v in found.items() if "get every unseen pair right" in s]
    assert solved == ["holds" if right == 4 else "does not hold"] * (2 + 4)
    lazy = [v for s, v in found.items() if "networks don't" in s]
    assert lazy == ["does not hold" if right == 4 else "holds"] * 2


def test_networks_that_did_not_learn_are_left_out(cells):
    changed = [(config, dict(found)) for config, found in cells]
    for _, found in changed:
        found["learned"] = np.zeros_like(found["learned"])
    data = study.gather(changed)
    assert np.isnan(data.accuracy).all()
    assert study.claims(data)[0].verdict.value == "does not hold"


def test_figure(cells):
    assert len(study.figure(study.gather(cells)).axes) == 3
