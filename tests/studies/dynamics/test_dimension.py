"""Four layers in two and in 64 dimensions, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.studies.dynamics import dimension as study

HOLDS, FAILS, OPEN = "holds", "does not hold", "inconclusive"


@pytest.fixture(scope="module")
def cells():
    return [(config, study.cell(config)) for config in study.PRESETS["quick"]]


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


def test_verdicts(data):
    found = verdicts(data)
    assert found[:4] == [HOLDS, FAILS, HOLDS, FAILS]
    assert found[4:8] == [HOLDS] * 4
    # One seed against 120: too few to call it an outlier.
    assert found[8:14] == [OPEN, HOLDS, HOLDS, HOLDS, OPEN, OPEN]
    assert found[14:] == [HOLDS] * 5


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
    assert found[0] == found[2] == FAILS
    assert HOLDS not in found[4:6]


def test_other_initial_weights_are_noticed(cells):
    config, arrays = cells[1]
    top = int(arrays["top"])
    other = arrays["loss"][0, (top + 1) % len(config["seeds"])]
    broken = study.gather([cells[0], (config, arrays | {"theory_loss": other})])
    assert verdicts(broken)[-2:] == [FAILS, FAILS]


def test_figure(data):
    assert len(study.figure(data).axes) == 4
