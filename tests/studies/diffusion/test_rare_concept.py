"""Accuracies over the number of samples: trained models of points, and synthetic readings."""

from __future__ import annotations

import numpy as np
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, synthetic

from partwhole_studies.diffusion import rare_concept as study
from partwhole_studies.diffusion.concept_models import steps_of
from partwhole_studies.diffusion.training_sets import UNSEEN


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 3


def cells(unseen=lambda rank: rank):
    """Return runs whose unseen colour is right in a share that depends on the count's rank."""
    counts = sorted({config["rare"] for config in study.PRESETS["laptop"]})
    arrays = []
    for config in of_five_seeds(study):
        ones = np.ones(len(steps_of(config)))
        rank = counts.index(config["rare"]) / (len(counts) - 1)
        paths = {
            UNSEEN: np.stack([unseen(rank) * ones, ones], axis=1),
            "blue big": np.stack([ones, 0.0 * ones], axis=1),
        }
        arrays.append((config, synthetic(config, paths, spread=0.02)))
    return arrays


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_each_claim_holds_or_not_as_the_accuracies_are():
    assert set(verdict().values()) == {"holds"}
    assert set(verdict(unseen=lambda rank: 1.0 - rank).values()) == {"does not hold"}
    assert verdict(unseen=lambda rank: 0.4)["gain"] == "does not hold"


def test_a_colour_that_is_never_learned_bounds_the_ratio():
    assert study.numbers(study.gather(cells()))["at_least"] == "at least "
    learned = study.gather(cells(unseen=lambda rank: 0.8))
    assert study.numbers(learned)["at_least"] == ""


def test_late_accuracies_are_those_of_the_paths():
    late = study.late(study.gather(cells()), UNSEEN)
    np.testing.assert_allclose(late.mean("seed"), [0.0, 0.5, 1.0], atol=0.03)
