"""Masked conditions: trained models of points, and synthetic readings."""

from __future__ import annotations

import numpy as np
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, rising, synthetic

from partwhole_studies.diffusion import withheld_concept as study
from partwhole_studies.diffusion.concept_models import steps_of
from partwhole_studies.diffusion.training_sets import UNSEEN


def test_it_is_whole():
    data = study.gather(computed(study))
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 2


def cells(blue=lambda share: 1.0 - 0.6 * share, over=0.2, red=lambda share: share):
    """Return runs whose last class is so blue, and bluer by an exaggerated prompt."""
    arrays = []
    for config in of_five_seeds(study):
        ones, share = np.ones(len(steps_of(config))), config["masked"]
        plain = np.stack([blue(share) * rising(config, 100.0 * (1.0 + share)), ones], axis=1)
        paths = {
            UNSEEN: plain,
            study.EXAGGERATED: np.clip(plain + np.array([over, 0.0]), 0.0, 1.0),
            study.RED: np.stack([red(share) * ones, 0.0 * ones], axis=1),
        }
        arrays.append((config, synthetic(config, paths, spread=0.02)))
    return arrays


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_each_claim_holds_or_not_as_the_readings_are():
    assert set(verdict().values()) == {"holds"}
    bluer = verdict(blue=lambda share: 0.3 + 0.6 * share)
    assert bluer["loss"] == bluer["delay"] == "does not hold"
    assert verdict(over=-0.2)["elicited"] == "does not hold"
    assert verdict(red=lambda share: 0.1 * share)["red_gain"] == "does not hold"


def test_the_answer_says_redder_only_where_the_shown_numbers_are():
    redder = [
        study.numbers(study.gather(cells(blue=lambda share, fall=fall: 1.0 - fall * share)))[
            "redder"
        ]
        for fall in (0.3, 0.0)
    ]
    assert redder == ["redder", "no redder"]
