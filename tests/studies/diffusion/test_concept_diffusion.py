"""Paths through concept space: trained models of points, and synthetic readings of images."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts
from synthetic_readings import of_five_seeds, synthetic

from partwhole_studies.diffusion import concept_diffusion as study
from partwhole_studies.diffusion.concept_models import steps_of
from partwhole_studies.diffusion.training_sets import UNSEEN


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)
    assert study.numbers(data)["learned"] == 2


def cells(*, blue=lambda colour: colour, bump=0.3, still=(), accuracy=0.99):
    """Return runs that pass near red and small."""
    arrays = []
    for config in of_five_seeds(study):
        part = np.linspace(0.0, 1.0, len(steps_of(config)))
        dip = bump * np.exp(-(((part - 0.4) / 0.1) ** 2))
        there = np.clip(blue(config["colour"]) * (0.4 + part) - dip, 0, 1)
        path = np.stack([there, 1.0 - np.exp(-12.0 * part)], axis=1)
        paths = {UNSEEN: path}
        if config["seed"] in still:
            paths["blue big"] = np.full((len(part), 2), 0.5)
        cell = synthetic(config, paths)
        cell["scores"][-1, 0] = accuracy
        arrays.append((config, cell))
    return arrays


@pytest.fixture(scope="module")
def lawful():
    return study.gather(cells())


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_the_published_path_holds_what_is_claimed(lawful):
    require_whole(study, lawful)
    assert set(verdicts(study, lawful).values()) == {"holds"}
    assert lawful.to_netcdf(engine="scipy")  # which has fewer types of numbers


def test_other_paths_are_noticed():
    assert verdict(blue=lambda _: 1.6, bump=-0.5)["lead"] == "does not hold"
    assert verdict(bump=0.0)["bumps"] == "does not hold"
    assert verdict(blue=lambda _: 1.6, bump=0.0)["memorised"] == "does not hold"


def test_a_class_counts_as_memorised_if_it_is_reached_first():
    config = of_five_seeds(study)[0]
    steps, (out, back) = steps_of(config), np.array([[0.1, 0.9], [0.9, 0.9]])
    ends = {"first": (out, back), "later": (back, out), "never": (back, back), "stays": (out, out)}
    cells = []
    for seed, (early, late) in enumerate(ends.values()):
        path = np.where(np.arange(len(steps))[:, None] < 4, early, late)
        cells.append((config | {"seed": seed}, synthetic(config, {UNSEEN: path}, spread=0.0)))
    runs = study.readings.learned(study.gather(cells)).isel(colour=0)
    assert dict(zip(ends, study.memorised(runs), strict=True)) == {
        "first": True, "later": False, "never": False, "stays": True,
    }  # fmt: skip


def test_readers_that_misread_are_noticed():
    misread = study.numbers(study.gather(cells(accuracy=0.85)))["misread"]
    assert misread.max() == pytest.approx(0.15)


def test_models_that_did_not_learn_are_left_out():
    numbers = study.numbers(study.gather(cells(still=(1,))))
    assert numbers["learned"] == 8
    assert numbers["bumps"].n == numbers["lead"].n == 4
    nothing = study.numbers(study.gather(cells(still=range(5))))
    assert nothing["learned"] == nothing["lead"].n == nothing["bumps"].n == 0


def test_a_signal_where_sampling_starts_is_said(lawful):
    runs = cells()
    for _, cell in runs:
        cell["signal_left"][-1] = 0.26
    sentence = study.numbers(study.gather(runs))["unreadable"]
    assert sentence.endswith(
        "The learned schedule leaves up to 0.26 of an image where sampling starts from noise alone."
    )
    assert "noise alone" not in study.numbers(lawful)["unreadable"]
