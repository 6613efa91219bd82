"""How many seeds swing back, and what the study says of it."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics import swing_fractions as study

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
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    fails = [statement for statement, verdict in found.items() if verdict == FAILS]
    assert [each.split(" no seed")[0] for each in fails] == [
        "With 1 layer, d = 3",
        "With 1 layer, d = 2",
        "With 4 layers, d = 64",
    ]
    deeper, back = [statement for statement, verdict in found.items() if verdict == OPEN]
    assert "mean rise with 2 layers, d = 3 less that with 1 layer, d = 3" in deeper
    assert "retreats" in back
    assert "d = 64" in back


def test_shares_agree_with_runs_counted_independently(data):
    # Of 24 seeds 5, 9 and 18 under the published protocol: within their 95 % intervals.
    for name, hits in study.COUNTED.items():
        low, high = small.wilson(hits, 24)
        assert low < data[study.variable("rises_samples", name)].mean() < high


def test_a_share_far_from_the_counted_one_is_noticed(cells):
    name = "4 layers, d = 2"
    swapped = [
        (config, arrays | {"rises_samples": np.zeros_like(arrays["rises_samples"])})
        if config.get("network") == name
        else (config, arrays)
        for config, arrays in cells
    ]
    found = {c.statement: c.verdict.value for c in study.claims(study.gather(swapped))}
    named = [verdict for statement, verdict in found.items() if statement.startswith("With 4 la")]
    assert named.count(FAILS) >= 3


def test_another_seed_s_population_is_noticed(cells):
    name = "4 layers, d = 2"
    keys = ("rises_population", "amplitude_population", "weak_time_population")
    shifted = [
        (config, arrays | {key: np.roll(arrays[key], 1) for key in keys})
        if config.get("network") == name
        else (config, arrays)
        for config, arrays in cells
    ]
    claims = study.claims(study.gather(shifted))
    found = [claim.verdict.value for claim in claims if "population tells" in claim.statement]
    assert found == [HOLDS, HOLDS, FAILS, FAILS]


def test_initial_weights_of_another_law_are_noticed(cells):
    swapped = []
    for config, arrays in cells:
        if config["part"] == "law":
            arrays = arrays | {"rises_uniform": arrays["rises_normal"]}
        swapped.append((config, arrays))
    claims = study.claims(study.gather(swapped))
    found = [
        claim.verdict.value for claim in claims if "nearly always swing back" in claim.statement
    ]
    assert found == [FAILS] * 3


def test_gradient_flow_beside_steps():
    config = study.PRESETS["laptop"][4]
    assert config["network"] == "4 layers, d = 2"
    assert config["also"] == ["population", "flow"]
    found = study.cell(config | {"seeds": list(range(5)), "epochs": 3})
    flow, steps = (found[f"amplitude_{route}"] for route in ("flow", "population"))
    # A step of .01 is .2 of the fastest time scale, 1 / (4 layers x signal 5.4).
    np.testing.assert_allclose(flow, steps, atol=0.02)
    assert found["apart_flow"].max() < 0.1


def test_which_errors_swing_back():
    fall, rise = np.linspace(2.0, 1.0, 50), np.linspace(1.0, 1.2, 50)
    curves = np.stack(
        [
            np.concatenate([fall, rise, 0.5 * fall]),
            np.concatenate([rise, fall, 0.5 * fall]),  # rises only before it ever fell
            np.concatenate([fall, 0.5 * fall, 0.25 * fall]),
        ]
    )
    assert small.swings_back(curves).tolist() == [True, False, False]
    np.testing.assert_allclose(small.rise(curves, 2.0)[0], 0.1)


def test_intervals_of_shares():
    # Newcombe's worked example: 56 of 70 against 48 of 80.
    one, other = np.arange(70) < 56, np.arange(80) < 48
    difference, interval = small.excess(one, other)
    np.testing.assert_allclose([difference, *interval], [0.2, 0.0524, 0.3339], atol=1e-4)
    assert small.tail(np.arange(10.0), 8.5)[0] == 0.1


def test_figure(data):
    assert len(study.figure(data).axes) == 2
