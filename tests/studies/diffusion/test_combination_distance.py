"""Classes by distance: trained models of points, and paths of the law of independent concepts."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, rising, synthetic

from partwhole.measures.concepts.law import emergence_law
from partwhole_studies.diffusion import combination_distance as study
from partwhole_studies.diffusion.concept_models import steps_of
from partwhole_studies.diffusion.training_sets import classes


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 1


def cells(rate=0.0125, same=False, jump=False, smooth=False):
    """Return runs in which each concept of a class is learned on its own."""
    arrays = []
    for config in of_five_seeds(study):
        steps = np.array(steps_of(config), float)
        paths = {}
        for name, corner in classes(3).items():
            if sum(corner) < 2:
                continue
            path = emergence_law(steps, rate, 1, chance=0.5)
            if same and sum(corner) == 3:
                path = np.ones(len(steps))
            if smooth:
                path = rising(config, 190.0, 0.3)
            if jump:
                path = np.where(steps < 240, 0.5, 1.0)
            paths[name] = np.stack([path if v else 0.0 * path for v in corner], 1)
        arrays.append((config, synthetic(config, paths, spread=0.0)))
    return arrays


@pytest.fixture(scope="module")
def lawful():
    return study.gather(cells())


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


@pytest.mark.parametrize("accuracy", [study.products, study.differing])
def test_accuracies_are_products_over_what_differs(lawful, accuracy):
    data = lawful
    steps = data.step.values.astype(float)
    by_distance = accuracy(data).mean("seed")
    for n in (2, 3):
        expected = emergence_law(steps, 0.0125, n, chance=0.5)
        np.testing.assert_allclose(by_distance.sel(distance=n), expected, atol=1e-12)
    np.testing.assert_allclose(by_distance.sel(distance=[0, 1]), 1.0)


def test_each_claim_holds_or_not_as_the_paths_are(lawful):
    right = verdicts(study, lawful)
    assert right["third"] == right["explained"] == "holds"
    same = verdict(same=True)
    assert same["third"] == same["explained"] == "does not hold"
    numbers = study.numbers(study.gather(cells(rate=4e-4)))
    assert numbers["time_3"] == f"at least {lawful.step.values[-1]}"
    assert verdict(smooth=True)["sharper"] == "holds"
    assert verdict(jump=True)["sharper"] == "does not hold"


def test_models_without_a_rise_have_no_sharpness(lawful):
    assert np.isnan(study.sharpness(0.0 * study.products(lawful).sel(distance=3))).all()
