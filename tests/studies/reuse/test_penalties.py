"""Penalties by closed form and by the other route, and what breaks the claims on them."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from scipy.integrate import quad
from study_cells import computed

from partwhole.limits.penalties import finetuning_penalty, hyperbolic_entropy
from partwhole_studies.reuse import _penalty_claims as told
from partwhole_studies.reuse import _penalty_routes as routes
from partwhole_studies.reuse import _penalty_tables as tables
from partwhole_studies.reuse import penalties as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    return {words: verdict for words, verdict in found.items() if verdict != "holds"}


def failing(data):
    return [words for words, verdict in others(data).items() if verdict == "does not hold"]


def test_verdicts(data):
    assert len(study.claims(data)) == 49
    assert list(others(data).values()) == [
        "does not hold",
        "does not hold",
        "inconclusive",
        "does not hold",
    ]
    width, drawn, saved, half = others(data)
    assert width.startswith("The width of a learned feature is that of the published penalty")
    assert drawn.startswith("The published penalty predicts")
    assert saved.startswith("The norms saved beside the published runs")
    assert half.endswith("published size, 20 of 40 shared.")


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


def test_sums_of_prices_are_integrals():
    for beta, width in ((0.3, 2.0), (5.0, 1e-3)):
        area, _ = quad(lambda x, k=width: 2 * np.arcsinh(2 * x / k), 0, beta, epsrel=1e-12)
        found = routes.finetuning(np.array(beta), np.array(width))
        # Tolerance of the integration.
        assert found == pytest.approx(area, rel=1e-10)


def test_least_of_a_parabola():
    found = routes.least(lambda x: np.asarray((x - 0.3) ** 2 + 2.0), np.array(-1.0), np.array(1.0))
    assert found == pytest.approx(2.0, abs=1e-15)


def test_decades_of_a_penalty_whose_order_is_known():
    # R = beta^2 / (b + beta) has order 1 + b/(b + beta): 1.1 at b = 1/9, 1.9 at b = 9.
    def penalty(beta, b):
        return np.asarray(beta**2 / (b + beta))

    # Fourth-order differences with steps of 0.01 leave 1e-9.
    assert routes.decades(penalty, 1.1, 1.9) == pytest.approx(np.log10(81.0), abs=1e-7)


def test_a_series_in_the_table():
    z = 0.01
    assert tables.ENTROPY[z] == pytest.approx(z**2 / 4 - z**4 / 192, rel=1e-8)


def test_an_entropy_off_by_a_factor_is_noticed(data, monkeypatch):
    monkeypatch.setattr(told, "hyperbolic_entropy", lambda z: hyperbolic_entropy(2 * z))
    assert any(words.startswith("The hyperbolic entropy") for words in failing(data))


def test_a_wrong_power_is_noticed(data, monkeypatch):
    def off(*arguments, **scales):
        found = finetuning_penalty(*arguments, **scales)
        return replace(found, order=found.order + 1e-4)

    monkeypatch.setattr(told, "finetuning_penalty", off)
    assert any(words.startswith("Orders of finetuning") for words in failing(data))


def test_another_closed_form_is_noticed(data):
    wrong = failing(data.assign(penalty=1.001 * data.penalty, relu=1.001 * data.relu))
    assert sum("published grid" in words for words in wrong) == 4


def test_powers_that_do_not_add_up_are_noticed(data):
    again = data.powers_again.copy()
    again[{"power": 1}] += 0.01
    wrong = failing(data.assign(powers_again=again))
    assert any(words.startswith("Order and feature dependence add up") for words in wrong)


def test_a_narrower_transition_is_noticed(data):
    assert sum("rises from" in words for words in failing(data.assign(width=0.9 * data.width))) == 6


def test_prices_of_another_network_are_noticed(data):
    wrong = failing(data.assign(price_again=data.price_again + 0.01))
    assert sum(words.startswith("Prices") for words in wrong) == 3


def test_a_formula_that_does_not_predict_is_noticed(data):
    away = data.distance.copy()
    away.loc[{"formula": "exact"}] = 1e-3
    assert any(
        words.startswith("The exact penalty") for words in failing(data.assign(distance=away))
    )


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
