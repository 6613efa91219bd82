"""Learning times over the signal, of synthetic paths whose times are known."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, rising, synthetic

from partwhole_studies.diffusion import concept_times as study
from partwhole_studies.diffusion.training_sets import UNSEEN

WEAKEST = min(config["colour"] for config in study.PRESETS["laptop"])


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 6


def cells(power=-1.0, later=2.0, never=(), first=120.0, unlearned=(), across=0.5):
    """Return runs that learn colour at a power of the signal, and later in new combinations.

    There, the time is also a power of the signal of size.
    """
    arrays = []
    for config in of_five_seeds(study):
        time = first * (config["colour"] / WEAKEST) ** power
        delayed = later * (config["size"] / study.SIZE) ** across
        unseen = np.stack([rising(config, time * delayed), rising(config, 40.0)], axis=1)
        if config["colour"] in never:
            unseen[:, 0] = 0.2
        trained = np.stack([rising(config, time), np.zeros(config["checkpoints"])], axis=1)
        paths = {UNSEEN: unseen, "blue big": trained}
        if config["seed"] in unlearned:
            paths["red big"] = np.full_like(trained, 0.5)
        arrays.append((config, synthetic(config, paths, spread=0.01)))
    return arrays


def test_times_are_those_of_the_paths():
    times = study.sweep(study.times(study.gather(cells(later=1.5)))).sel(kind="unseen")
    expected = np.tile(180.0 / (times.colour / WEAKEST), (5, 1)).T
    # Between two checkpoints, some 40 % apart, paths are taken for straight lines.
    np.testing.assert_allclose(times.transpose("colour", "seed"), expected, rtol=0.1)


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_each_claim_holds_or_not_as_the_times_are():
    assert verdict()["correlation"] == verdict()["delay"] == "holds"
    assert verdict(power=1.0, first=30.0)["correlation"] == "does not hold"
    assert verdict(power=-2.0)["slope"] == "holds"
    assert verdict(power=-0.7, first=100.0)["slope"] == "does not hold"
    assert verdict(later=0.7)["delay"] == "does not hold"
    assert verdict()["delayed"] == "holds"
    assert verdict(across=-0.5)["delayed"] == "does not hold"


def test_a_stronger_size_delays_colour_by_the_ratio_of_the_times():
    numbers = study.numbers(study.gather(cells(across=0.5)))
    assert numbers["delayed"].value == pytest.approx(2.0**0.5, rel=0.1)  # as above
    alone = [cell for cell in cells() if cell[0]["size"] == study.SIZE]
    assert np.isnan(study.numbers(study.gather(alone))["delayed"].value)


def test_the_published_grid_is_computed_beside_the_sweep():
    pairs = {(c["colour"], c["size"]) for c in study.PRESETS["paper"] if c["seed"] == 4}
    assert len(study.PRESETS["paper"]) == 5 * len(pairs)
    assert len(pairs) == 20 + 49 - 1  # colours .8 and sizes .4 apart are in both
    assert {size for c, size in pairs if c == 0.2} == {0.2, 0.233, 0.266, 0.3, 0.333, 0.366, 0.4}


def test_what_is_never_learned_counts_as_last():
    data = study.gather(cells(never=(WEAKEST,)))
    numbers = study.numbers(data)
    assert numbers["first"] == f"at least {data.step.values[-1]}"
    assert numbers["correlation"].value == pytest.approx(-1.0)


def test_models_that_did_not_learn_are_left_out():
    numbers = study.numbers(study.gather(cells(unlearned=(0, 3))))
    assert (numbers["learned"], numbers["models"]) == (84, 140)  # of seven colours, four sizes
    assert numbers["slope"].n == numbers["delay"].n == 3
