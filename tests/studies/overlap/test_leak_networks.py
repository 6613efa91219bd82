"""ReLU networks beside the leak's closed form, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.overlap import leak_networks as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


def test_verdicts(data):
    holds, fails = "holds", "does not hold"
    assert verdicts(data) == [holds] * 5 + [fails, holds, fails]


def test_claims_on_trained_networks_say_that_none_was_trained(data):
    trained = study.claims(data)[2:]
    assert all("No network was trained here" in claim.note for claim in trained)


# Facts computed independently of this package, to six digits.
def test_theory(data):
    np.testing.assert_allclose(data.salience, (0.426422, 0.371068), atol=1e-6)
    table = [(0.743443, 0.852845), (0.589997, 0.742136)]
    np.testing.assert_allclose(data.network, table, atol=1e-5)


def test_saliences_read_back(data):
    table = [
        (0.356, 0.377, 0.408, 0.428, 0.437),
        (0.327, 0.345, 0.382, 0.405, 0.418),
        (0.329, 0.350, 0.387, 0.411, 0.418),
    ]
    np.testing.assert_allclose(data.read_back, table, atol=1e-3)


def test_a_wrong_closed_form_is_noticed(data, monkeypatch):
    right = study.memorization_leak
    monkeypatch.setattr(
        study, "memorization_leak", lambda s, p: right(1 - 2 * s, p) if s < 0.5 else 1
    )
    assert verdicts(data)[:2] == ["does not hold"] * 2


def test_a_wrong_kernel_is_noticed(cells, monkeypatch):
    build = study.OverlapKernel.random_network
    monkeypatch.setattr(
        study.OverlapKernel,
        "random_network",
        lambda nonlinearity, size, depth, kind: build("step", size, depth),
    )
    theory = [(config, study.cell(config)) for config, _ in cells if config["part"] == "theory"]
    found = verdicts(study.gather(theory + cells[1:]))
    assert found[:5] == ["does not hold"] * 5


def test_swapped_layouts_are_noticed(cells, monkeypatch):
    right = study.effective_salience
    monkeypatch.setattr(study, "effective_salience", lambda slope, p: right(slope, 3 - p))
    assert verdicts(study.gather(cells))[6] == "does not hold"


def test_figure(data):
    assert len(study.figure(data).axes) == 2
