"""Hidden capability: trained models of points, and synthetic prompts that work from given steps."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import rising, synthetic

from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion import hidden_capability as study
from partwhole_studies.diffusion.training_sets import UNSEEN

# Published steps and five seeds, with readings alone.
CONFIGS = [config | {"model": "vector", "classifier": False} for config in study.PRESETS["paper"]]


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 1
    assert study.prompts_of(data) == [
        UNSEEN, "over 0.05", "over 0.15", "over 0.25", "over 0.35", "direction 1", "direction 2",
        "direction 3", "guidance 0", "guidance 0.5", "guidance 1.5", "guidance 2", "guidance 3",
        "guidance 5", "guidance 7",
    ]  # fmt: skip


def cells(best=4000.0, plain=(9e3, 11e3, 13e3, 12e3, 10e3), spread=0.05, power=0.0, guided=1.0):
    """Return runs in which one prompt works before the plain one.

    Their steps change with a power of the separation of colours, and guidance of 5 takes a share of
    those of the plain one.
    """
    arrays = []
    for config in CONFIGS:
        size = rising(config, 1200.0)
        later = (config["colour"] / study.COLOUR) ** power
        asked = later * plain[config["seed"]]
        paths = {
            UNSEEN: np.stack([rising(config, asked), size], axis=1),
            "over 0.25": np.stack([rising(config, later * best), size], axis=1),
            "guidance 5": np.stack([rising(config, guided * asked), size], axis=1),
        }
        arrays.append((config, synthetic(config, paths, spread=spread)))
    return arrays


@pytest.fixture(scope="module")
def hidden():
    return study.gather(cells())


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_a_hidden_capability_is_noticed_and_one_that_shows_is_not(hidden):
    assert verdicts(study, hidden)["delay"] == "holds"
    assert verdict(plain=(4e3,) * 5)["delay"] == "does not hold"
    never = study.numbers(study.gather(cells(plain=(9e4,) * 5)))
    assert (never["order"], never["at_least"]) == ("sooner than", "at least ")


def test_a_capability_that_comes_later_with_a_stronger_signal_is_noticed():
    assert verdict(power=-1.0)["signal"] == "holds"
    assert verdict(power=1.0)["signal"] == "does not hold"


def test_a_weight_of_guidance_that_works_sooner_is_seen():
    steps = study.by_guidance(study.gather(cells(guided=0.5))).mean("seed")
    assert steps.weight.values.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    # Half of the way is covered in half of the steps; checkpoints are up to a tenth apart.
    ratio = steps / steps.sel(weight=1.0)
    assert ratio.sel(weight=5.0) == pytest.approx(0.5, rel=0.1)
    assert (ratio.drop_sel(weight=5.0) > 0.9).all()


def test_the_turn_is_compared_with_the_capability():
    # Size is half there at 1,200 steps, blue by plain prompts at 9,000 to 13,000, a tenth of it at
    # 7,200 to 10,400: smoothed as published, paths turn between the two.
    turns = [verdict(best=step, spread=1e-4)["turn"] for step in (1500.0, 3500.0, 9000.0)]
    assert turns[0] != "holds"
    assert turns[1:] == ["holds", "does not hold"]


def test_deviations_of_steps_are_compared_with_their_error(hidden):
    rng = np.random.default_rng(0)
    logs = np.array([[0.2], [0.3]]) * rng.normal(size=(2, 1000))
    values = study.jackknifed(logs)
    # A normal sample's deviation s has the variance s²/(2n); that of the estimate from 1,000
    # values is a few percent.
    error = values.std(ddof=1) / np.sqrt(1000)
    assert error == pytest.approx(np.sqrt((0.2**2 + 0.3**2) / 2000), rel=0.1)
    assert values.mean() == pytest.approx(-0.1, abs=4 * error)
    np.testing.assert_allclose(study.jackknifed(logs[::-1]), -values, atol=1e-9)
    assert np.isnan(study.jackknifed(logs[:, :2])).all()
    spread = study.numbers(hidden)["spread"]
    assert spread.n == 5
    assert spread.low < spread.value < spread.high


def test_steps_are_those_of_the_paths(hidden):
    runs = readings.learned(hidden).sel(colour=study.COLOUR)
    ability = study.elicited(runs)
    assert ability is not None
    # .8 of both is reached a tenth of a log step after one half, and then a checkpoint comes.
    assert (ability.emergence.by_run >= 4000.0).all()
    assert (ability.emergence.by_run <= 5500.0).all()
    assert np.argsort(ability.naive_emergence.by_run).tolist() == [0, 4, 1, 3, 2]


def test_models_that_did_not_learn_are_left_out():
    unlearned = cells()
    for config, cell in unlearned:
        if config["seed"] < 2:
            cell["coordinates"][:, 2] = 0.5
    numbers = study.numbers(study.gather(unlearned))
    assert numbers["learned"] == numbers["delay"].n == 3
    for _, cell in unlearned:
        cell["coordinates"][:, 2] = 0.5
    numbers = study.numbers(study.gather(unlearned))
    assert numbers["learned"] == numbers["turn"].n == 0
