"""Hidden capability, of made-up ways of asking that emerge at given steps."""

from __future__ import annotations

import numpy as np
from concept_cells import made_up, rising
from study_cells import computed

from partwhole_studies.diffusion import hidden_capability as study
from partwhole_studies.diffusion._runs import UNSEEN


def cells(best=4000.0, plain=(9e3, 11e3, 13e3, 12e3, 10e3), seeds_apart=1.0, spread=0.05):
    """Return runs in which one way of asking emerges before the plain one."""
    found = []
    for config in study.PRESETS["paper"]:
        at = plain[config["seed"]]
        able = best * seeds_apart ** config["seed"]
        size = rising(config, 1200.0)
        paths = {UNSEEN: np.stack([rising(config, at), size], axis=1)}
        paths["over 0.25"] = np.stack([rising(config, able), size], axis=1)
        found.append((config, made_up(config, paths, spread=spread)))
    return found


def claims(**how):
    return study.claims(study.gather(cells(**how)))


def verdicts(**how):
    return [claim.verdict.value for claim in claims(**how)]


def test_what_is_hidden_is_found_and_what_is_not_is_not():
    told, more, sooner, alike, *_ = range(8)
    shown = verdicts()
    assert [shown[k] for k in (told, more, sooner, alike)] == ["holds"] * 4
    assert verdicts(plain=(4e3,) * 5)[sooner] == "does not hold"
    bare = verdicts(best=30e3)
    assert bare[more] != "holds"
    assert verdicts(plain=(4e3,) * 5)[more] != "holds"
    assert verdicts(best=1e3, seeds_apart=1.7)[alike] == ("does not hold")


def test_the_turn_is_compared_with_the_capability():
    # Size is half there at 1,200 steps, blue by plain prompts at 9,000 to 13,000, a tenth of it at
    # 7,200 to 10,400: smoothed as published, paths turn between the two.
    turn = 4
    assert [verdicts(best=at, spread=1e-4)[turn] for at in (1500.0, 3500.0, 9000.0)] == [
        "does not hold", "holds", "does not hold"
    ]  # fmt: skip


def test_steps_are_those_of_the_paths():
    found = study.elicited(study.gather(cells()))
    assert found is not None
    # .8 of both is reached a tenth of a log step after one half, and then a checkpoint comes.
    assert (found.emergence.by_run >= 4000.0).all()
    assert (found.emergence.by_run <= 5500.0).all()
    assert np.argsort(found.naive_emergence.by_run).tolist() == [0, 4, 1, 3, 2]
    assert found.prompts[0] == UNSEEN
    assert found.prompts[2] == "over 0.25"


def test_models_that_did_not_learn_are_left_out():
    made = cells()
    for _, cell in made:
        cell["coordinates"][:, 2] = 0.5
    data = study.gather(made)
    (only,) = study.claims(data)
    assert only.verdict.value == "does not hold"
    assert study.elicited(data) is None
    assert len(study.figure(data).axes) == 2


def test_it_draws_what_was_run():
    data = study.gather(computed(study))
    assert study.claims(data)[0].verdict.value == "holds"
    assert len(study.figure(data).axes) == 2
    assert study.ways(data) == [
        UNSEEN, "over 0.1", "over 0.25", "over 0.4", "direction 1", "direction 2", "direction 3",
        "guidance 2", "guidance 4",
    ]  # fmt: skip
