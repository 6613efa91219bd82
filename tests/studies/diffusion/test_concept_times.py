"""Learning times over the signal, of made-up paths whose times are given."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from concept_cells import made_up, rising
from study_cells import computed

from partwhole_studies.diffusion import _reading as reading
from partwhole_studies.diffusion import concept_times as study
from partwhole_studies.diffusion._runs import UNSEEN

WEAKEST = min(config["colour"] for config in study.PRESETS["laptop"])


def cells(power=-2.0, later=2.0, size=0.2, never=(), first=400.0):
    """Return runs that learn colour at a power of the signal, and later where it is not shown."""
    found = []
    for config in study.PRESETS["laptop"]:
        strength = config["colour"] / WEAKEST
        seen = first * strength**power
        unseen = np.stack([rising(config, seen * later), rising(config, seen * size)], axis=1)
        if config["colour"] in never:
            unseen[:, 0] = 0.2
        shown = np.stack([rising(config, seen), np.zeros(config["checkpoints"])], axis=1)
        found.append((config, made_up(config, {UNSEEN: unseen, "blue big": shown}, spread=0.01)))
    return found


def verdicts(**how):
    return [claim.verdict.value for claim in study.claims(study.gather(cells(**how)))]


def test_times_are_those_of_the_paths():
    found = study.times(study.gather(cells(power=-1.0, later=1.5)))
    expected = 600.0 / (found.colour / WEAKEST)
    # Between two checkpoints, some 40 % apart, paths are taken for straight lines.
    np.testing.assert_allclose(found.sel(kind="unseen"), np.tile(expected, (3, 1)).T, rtol=0.1)


def test_what_is_claimed_holds_and_other_paths_do_not():
    told, falls, square, later, size, *_ = range(8)
    assert verdicts(power=-1.0)[falls] == "holds"
    assert verdicts(power=1.0, first=120.0)[falls] == "does not hold"
    assert verdicts(power=-2.0)[square] == "holds"
    assert verdicts(power=-0.7, first=200.0)[square] == "does not hold"
    assert verdicts(power=-1.0)[told] == "holds"
    assert verdicts(power=-1.0)[later] == "holds"
    assert verdicts(power=-1.0, later=0.7)[later] == "does not hold"
    assert verdicts(power=-1.0)[size] == "holds"
    assert verdicts(power=-1.0, size=2.9)[size] == "does not hold"


def test_concepts_that_are_never_learned_count_as_last():
    data = study.gather(cells(power=-1.0, never=(WEAKEST,)))
    found = study.times(data).sel(kind="unseen")
    assert np.isinf(found.sel(colour=WEAKEST)).all()
    assert study.falls(found).values.tolist() == [-1.0] * 3
    assert "3 of 9 models never learn it" in study.claims(data)[1].note
    assert len(study.figure(data).axes) == 1


def test_models_that_did_not_learn_are_left_out():
    made = cells(power=-1.0)
    for k in (0, 3):  # two of the three at the weakest signal
        made[k][1]["classified"] = made[k][1]["classified"].copy()
        made[k][1]["classified"][:, 0] = 0.5
    data = study.gather(made)
    told, falls, _, _, weakest, *_ = study.claims(data)
    assert told.found == pytest.approx(2 / 9)
    assert np.isfinite(falls.found)
    # At the weakest signal one model is left, which decides nothing.
    assert weakest.verdict.value == "inconclusive"
    assert weakest.note.startswith("1 seed. ")
    assert np.isnan(study.times(reading.trained(data, of=study.SHOWN)[0])).sum() == 6
    assert len(study.figure(data).axes) == 1


def test_times_are_those_of_the_last_crossing():
    data = xr.DataArray(
        [[0, 0.6, 0.9, 0.1, 0.3, 0.7], [0.6, 0.7, 0.7, 0.8, 0.6, 0.9], [0, 0, 0.9, 0.9, 0.9, 0.4]],
        dims=("run", "step"), coords={"step": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
    )  # fmt: skip
    assert reading.settled(data).values.tolist() == [5.5, 1.0, np.inf]


def test_what_is_never_learned_counts_as_learned_at_the_end():
    data = xr.Dataset(coords={"step": [1.0, 10.0]})
    one = xr.DataArray([np.inf, 2.0, np.nan, np.inf], dims="seed")
    other = xr.DataArray([5.0, np.inf, 1.0, np.inf], dims="seed")
    expected = [np.log(2.0), np.log(0.2), np.nan, 0.0]
    np.testing.assert_allclose(reading.later(one, other, data), expected)


def test_it_draws_what_was_run():
    data = study.gather(computed(study))
    assert study.claims(data)[0].verdict.value == "holds"
    assert len(study.figure(data).axes) == 1
