"""Accuracies over the number of samples, of made-up models."""

from __future__ import annotations

import numpy as np
from concept_cells import made_up, steps_of
from study_cells import computed

from partwhole_studies.diffusion import rare_concept as study
from partwhole_studies.diffusion._runs import UNSEEN


def cells(seen=lambda share: 1.0, unseen=lambda share: share):
    """Return runs whose colours are right in shares that depend on the count's rank, 0 to 1."""
    counts = sorted({config["rare"] for config in study.PRESETS["laptop"]})
    found = []
    for config in study.PRESETS["laptop"]:
        share, ones = (
            counts.index(config["rare"]) / (len(counts) - 1),
            np.ones(len(steps_of(config))),
        )
        paths = {
            UNSEEN: np.stack([unseen(share) * ones, ones], axis=1),
            "blue big": np.stack([seen(share) * ones, 0.0 * ones], axis=1),
        }
        found.append((config, made_up(config, paths, spread=0.02)))
    return found


def verdicts(**how):
    return [claim.verdict.value for claim in study.claims(study.gather(cells(**how)))]


def test_what_is_claimed_holds_and_others_do_not():
    told, more, memorised, needs, longer, *_ = range(8)
    assert verdicts() == ["holds"] * 8
    assert verdicts(unseen=lambda share: 0.5)[more] == "does not hold"
    assert verdicts(unseen=lambda share: 1.0 - share)[longer] == "does not hold"
    assert verdicts(seen=lambda share: 0.3 + 0.7 * share)[memorised] == "does not hold"
    assert verdicts(seen=lambda share: share)[told] == "holds"
    assert verdicts(unseen=lambda share: 1.0 - 0.5 * share)[needs] == "does not hold"


def test_late_accuracies_are_those_of_the_paths():
    found = study.late(study.gather(cells()), UNSEEN)
    np.testing.assert_allclose(found.mean("seed"), [0.0, 0.5, 1.0], atol=0.03)


def test_it_draws_what_was_run():
    data = study.gather(computed(study))
    assert study.claims(data)[0].verdict.value == "holds"
    assert len(study.figure(data).axes) == 1
