"""Variants of the published recipe, of synthetic paths whose times are known."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, rising, synthetic

from partwhole_studies.diffusion import variants as study
from partwhole_studies.diffusion.training_sets import UNSEEN

_, SMALL, DECAYED = study.VARIANTS


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["models"] == 6


def cells(lags=(2.0, 2.0, 2.0), slower=(1.0, 1.0, 1.0), unlearned=()):
    """Return runs that learn the stronger concept first, the weaker one later by a factor."""
    arrays = []
    for config in of_five_seeds(study):
        variant = list(study.VARIANTS).index(config["variant"])
        stronger = 60.0 * slower[variant]
        weaker = stronger * lags[variant]
        times = (weaker, stronger) if config["colour"] == 0.247 else (stronger, weaker)
        paths = {UNSEEN: np.stack([rising(config, time) for time in times], axis=1)}
        if config["seed"] in unlearned:
            paths["red big"] = np.full_like(paths[UNSEEN], 0.5)
        arrays.append((config, synthetic(config, paths, spread=0.0)))
    return arrays


def numbers(**changes):
    return study.numbers(study.gather(cells(**changes)))


def test_ratios_are_those_of_the_times():
    ratios = numbers(lags=(2.0, 6.0, 2.0), slower=(1.0, 3.0, 1.5))
    # Between two checkpoints, some 30 % apart, paths are taken for straight lines.
    assert ratios["apart"].value == pytest.approx(3.0, rel=0.05)
    assert ratios["later"].value == pytest.approx(9.0, rel=0.05)
    assert ratios["decayed"].value == pytest.approx(1.5, rel=0.05)


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_each_claim_holds_or_not_as_the_times_are():
    assert verdict(lags=(2.0, 6.0, 2.0)) == dict.fromkeys(("order", "apart"), "holds")
    wrong = verdict(lags=(2.0, 0.5, 0.5))
    assert wrong == dict.fromkeys(("order", "apart"), "does not hold")


def test_models_that_did_not_learn_are_left_out():
    ratios = numbers(unlearned=(0, 3))
    assert (ratios["learned"], ratios["models"]) == (18, 30)
    assert ratios["apart"].n == 3
    assert ratios["order"].n == 12
