"""Classes by distance: trained models of points, and paths of the law of independent concepts."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, rising, synthetic

from partwhole.measures.concepts.law import emergence_law, emergence_time
from partwhole_studies.diffusion import combination_distance as study
from partwhole_studies.diffusion.concept_models import steps_of
from partwhole_studies.diffusion.training_sets import classes, concepts

RATE = 0.0125


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 2


def cells(rate=RATE, same=False, jump=False, smooth=False, slower=1.0, unlearned=()):
    """Return runs in which each concept of a class is learned on its own."""
    arrays = []
    for config in of_five_seeds(study):
        steps = np.array(steps_of(config), float)
        paths = {}
        for name, corner in classes(len(concepts(config))).items():
            new = sum(corner)
            path = emergence_law(steps / (slower if new > 1 else 1.0), rate, 1, chance=0.5)
            if same and new > 2:
                path = np.ones(len(steps))
            if smooth and new > 1:
                path = rising(config, 190.0, 0.3)
            if jump and new > 1:
                path = np.where(steps < 240, 0.5, 1.0)
            if config["seed"] in unlearned:
                path = 0.5 * path
            paths[name] = np.stack([path if v else 0.0 * path for v in corner], 1)
        arrays.append((config, synthetic(config, paths, spread=0.0)))
    return arrays


@pytest.fixture(scope="module")
def lawful():
    return study.gather(cells())


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


@pytest.mark.parametrize("n", [3, 6])
def test_accuracies_are_products_over_what_differs(lawful, n):
    steps = lawful.step.values.astype(float)
    one = emergence_law(steps, RATE, 1, chance=0.5)
    for distance in range(n + 1):
        for measure, expected in {
            "product": one**distance,
            "changed": one**distance,
            "mean": 1.0 - distance / n * (1.0 - one),
        }.items():
            by_distance = study.of(lawful, n, measure).mean("seed").sel(distance=distance)
            np.testing.assert_allclose(by_distance, expected, atol=1e-12)
    assert (lawful.accuracy.sel(concepts=n).notnull().any("step").sum("distance") == n + 1).all()


def test_times_are_those_of_the_law(lawful):
    numbers = study.numbers(lawful)
    # Between two checkpoints, some 30 % apart, paths are taken for straight lines.
    for n in (2, 6):
        time = emergence_time(RATE, n, 0.5, chance=0.5)
        assert numbers[f"time_{n}"] == pytest.approx(time, rel=0.05)
    assert numbers["independent"].value == pytest.approx(1.0, abs=1e-9)


def test_each_claim_holds_or_not_as_the_paths_are(lawful):
    right = verdicts(study, lawful)
    assert right["third"] == right["independent"] == "holds"
    same = verdict(same=True)
    assert same["third"] == same["independent"] == "does not hold"
    assert verdict(slower=1.3)["independent"] == "does not hold"
    numbers = study.numbers(study.gather(cells(slower=20.0)))
    assert numbers["time_6"] == f"at least {lawful.step.values[-1]}"
    assert verdict(smooth=True)["sharper"] == "holds"
    assert verdict(jump=True)["sharper"] == "does not hold"


def test_models_that_did_not_learn_are_left_out():
    numbers = study.numbers(study.gather(cells(unlearned=(1, 3))))
    assert (numbers["learned"], numbers["models"]) == (6, 10)
    assert numbers["third"].n == numbers["independent"].n == 3


def test_nothing_is_said_of_models_that_all_failed():
    numbers = study.numbers(study.gather(cells(unlearned=range(5))))
    assert numbers["learned"] == numbers["third"].n == 0


def test_models_without_a_rise_have_no_sharpness(lawful):
    assert np.isnan(study.sharpness(0.0 * study.of(lawful, 3).sel(distance=3))).all()
