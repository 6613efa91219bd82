"""Four layers in two and in 64 dimensions, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.dynamics import dimension as study

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


def test_verdicts(data):
    found = verdicts(data)
    assert found[:4] == [HOLDS, FAILS] * 2
    # Sizes in two settings, and the pause in the one that is learned in so few epochs.
    assert found[4:11] == [HOLDS] * 7
    # With smaller means an epoch is a shorter part of learning, and hides less.
    assert found[11:15] == [HOLDS] * 2 + [FAILS] * 2
    assert found[15:21] == [HOLDS] * 6
    # One seed against 60: too few to call it an outlier.
    assert found[21:] == [OPEN, HOLDS, HOLDS, HOLDS, OPEN, OPEN]


def test_quick_leaves_out_no_setting_of_the_figure():
    assert all(config["settings"] == list(study.DRAWN) for config in study.PRESETS["quick"])
    whole = study.cell({"network": "d = 2", "seeds": [0, 1], "epochs": 1})
    assert len(whole["loss"]) == len(study.SETTINGS)
    few = study.cell(
        {"network": "d = 2", "seeds": [0, 1], "epochs": 1, "settings": ["as captioned"]}
    )
    np.testing.assert_allclose(few["loss"][0], whole["loss"][2], rtol=1e-5)  # single precision


def test_settings_are_what_they_say():
    spread = {}
    for setting, (means, _, words) in study.SETTINGS.items():
        task = study._network("d = 2", setting).task()
        assert f"means {means[0]:g} and {means[1]:g}" in words
        np.testing.assert_array_equal(task.means, means)
        origin = task.to_concepts(task.sample(0).inputs)[-task.samples :, :2]
        spread[setting] = origin.std()
    # The last cluster is the origin. Of its 10,000 numbers the deviation is known within 2 %, at
    # over two standard errors.
    assert spread["as run"] == pytest.approx(0.05**0.5, rel=0.02)
    assert spread["means as captioned"] == pytest.approx(0.05**0.5, rel=0.02)
    assert spread["as captioned"] == pytest.approx(0.05, rel=0.02)


def test_halvings_of_one_exponential_take_equally_long():
    steps = np.arange(2000)
    loss = 5.0 * np.exp(-0.01 * steps)
    np.testing.assert_allclose(study.halvings(steps, loss[None], 2.0), 1.0, atol=0.02)


def test_a_pause_is_seen():
    steps = np.arange(8000)
    weak = 1 / (1 + np.exp(0.004 * (steps - 3000)))  # stays, then falls for good
    ratio = study.halvings(steps, 2.0 * weak[None] ** 2 + np.exp(-0.01 * steps)[None], 1.9)
    assert ratio[0] > 1.5


def test_monotone_errors_are_noticed(cells):
    flat = [
        (config, arrays | {"loss": np.minimum.accumulate(arrays["loss"], axis=-1)})
        for config, arrays in cells
    ]
    found = verdicts(study.gather(flat[:1] + cells[1:]))
    assert found[0:3:2] == [FAILS] * 2
    for setting in range(2):
        assert HOLDS not in found[4 + 3 * setting : 6 + 3 * setting]


def test_other_initial_weights_are_noticed(cells):
    config, arrays = cells[1]
    others = (arrays["top"] + 1) % len(config["seeds"])
    other = np.stack([loss[seed] for loss, seed in zip(arrays["loss"], others, strict=True)])
    broken = study.gather([cells[0], (config, arrays | {"theory_loss": other})])
    found = verdicts(broken)[15:21]
    assert found[1::3] == [FAILS] * 2
    assert found[2] == FAILS


def test_figure(data):
    axes = study.figure(data).axes
    assert len(axes) == 8
    # The unseen combination, at the means as run and as captioned.
    lines = [line for ax in axes for line in ax.lines if line.get_marker() == "*"]
    stars = [np.ravel(line.get_xydata()).tolist() for line in lines]
    assert stars == [[2.0, 4.0], [2.0, 4.0], [1.0, 2.0], [1.0, 2.0]]
