"""Classes by distance, of made-up paths that follow the law of independent concepts."""

from __future__ import annotations

import numpy as np
from concept_cells import made_up, rising, steps_of
from study_cells import computed

from partwhole.measures.concepts import emergence_law
from partwhole_studies.diffusion import combination_distance as study
from partwhole_studies.diffusion._runs import classes


def cells(rate=0.003, same=False, jump=False, smooth=False):
    """Return runs in which each concept of a class is learned on its own."""
    found = []
    for config in study.PRESETS["laptop"]:
        steps = steps_of(config).astype(float)
        paths = {}
        for name, corner in classes(3).items():
            if sum(corner) < 2:
                continue
            each = emergence_law(steps, rate, 1, chance=0.5)
            if same and sum(corner) == 3:
                each = np.ones(len(steps))
            if smooth:
                each = rising(config, 800.0, 0.3)
            if jump:
                each = np.where(steps < 1000, 0.5, 1.0)
            # A concept that stays as in the first class has its own half way to go as well.
            paths[name] = np.stack([each if v else 1.0 - np.ones(len(steps)) for v in corner], 1)
        found.append((config, made_up(config, paths, spread=0.0)))
    return found


def verdicts(**how):
    return [claim.verdict.value for claim in study.claims(study.gather(cells(**how)))]


def test_accuracies_are_products_over_what_differs():
    data = study.gather(cells())
    steps = data.step.values.astype(float)
    found = study.accuracies(data)
    for n in (2, 3):
        expected = emergence_law(steps, 0.003, n, chance=0.5)
        np.testing.assert_allclose(found.sel(distance=n).mean("seed"), expected, atol=1e-12)
    np.testing.assert_allclose(found.sel(distance=[0, 1]), 1.0)


def test_what_is_claimed_holds_of_the_law_and_not_of_others():
    told, second, third, sharper, law, *_ = range(8)
    shown = verdicts()
    assert shown[told] == shown[third] == shown[law] == "holds"
    assert verdicts(same=True)[third] == "does not hold"
    assert verdicts(smooth=True)[sharper] == "holds"
    assert verdicts(jump=True)[sharper] == "does not hold"
    assert verdicts(same=True)[law] == "does not hold"
    assert shown[second] == "holds"


def test_only_concepts_that_set_a_class_apart_follow_the_law():
    data = study.gather(cells())
    steps = data.step.values.astype(float)
    found = study.differing(data).mean("seed")
    for n in (2, 3):
        expected = emergence_law(steps, 0.003, n, chance=0.5)
        np.testing.assert_allclose(found.sel(distance=n), expected, atol=1e-12)
    assert np.isnan(study._sharpness(0.0 * study.accuracies(data).sel(distance=3))).all()


def test_it_draws_what_was_run():
    data = study.gather(computed(study))
    assert study.claims(data)[0].verdict.value == "holds"
    assert len(study.figure(data).axes) == 2
