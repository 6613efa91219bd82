"""What is not told, of made-up models."""

from __future__ import annotations

import numpy as np
from concept_cells import made_up, rising, steps_of
from study_cells import computed

from partwhole_studies.diffusion import untold_concept as study
from partwhole_studies.diffusion._runs import UNSEEN


def cells(blue=lambda share: 1.0 - 0.6 * share, over=0.2, red=lambda share: share):
    """Return runs whose last class is so blue, and bluer by an overstated prompt."""
    found = []
    for config in study.PRESETS["laptop"]:
        ones, share = np.ones(len(steps_of(config))), config["masked"]
        plain = np.stack([blue(share) * rising(config, 100.0 * (1.0 + share)), ones], axis=1)
        more = np.clip(plain + np.array([over, 0.0]), 0.0, 1.0)
        paths = {UNSEEN: plain, study.OVERSTATED: more}
        paths[study.RED] = np.stack([red(share) * ones, 0.0 * ones], axis=1)
        found.append((config, made_up(config, paths, spread=0.02)))
    return found


def verdicts(**how):
    return [claim.verdict.value for claim in study.claims(study.gather(cells(**how)))]


def test_what_is_claimed_holds_and_others_do_not():
    told, redder, slower, able, means, *_ = range(8)
    assert verdicts() == ["holds"] * 8
    assert verdicts(blue=lambda share: 0.3 + 0.6 * share)[redder] == "does not hold"
    assert verdicts(blue=lambda share: 0.3 + 0.6 * share)[slower] == "does not hold"
    assert verdicts(over=-0.2)[able] == "does not hold"
    assert verdicts(red=lambda share: 0.1 * share)[means] == "does not hold"
    assert verdicts(over=-0.2)[told] == "holds"


def test_it_draws_what_was_run():
    data = study.gather(computed(study))
    assert study.claims(data)[0].verdict.value == "holds"
    assert len(study.figure(data).axes) == 1
