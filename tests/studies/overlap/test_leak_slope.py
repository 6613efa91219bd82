"""The leak's closed forms beside the solved task, and what the study says of them."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.features import OverlapKernel
from partwhole_studies.overlap import leak_slope as study

CONFIG = study.PRESETS["quick"][0]


def verdicts(data):
    return [claim.verdict.value for claim in study.claims(data)]


@pytest.fixture(scope="module")
def data():
    return study.gather([(CONFIG, study.cell(CONFIG))])


def test_verdicts(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    others = [statement for statement, verdict in found.items() if verdict != "holds"]
    assert len(others) == 1
    assert others[0].startswith("Unseen sums are proportional to the truth")
    assert found[others[0]] == "outside its assumptions"


# Facts computed independently of this package, to six digits.
def test_slopes_off_the_closed_form(data):
    table = [
        (0.111111, 0.428571, 0.666667, 0.818182, 1.0),
        (0.2, 0.6, 0.8, 0.9, 1.0),
        (0.272727, 0.692308, 0.857143, 0.931034, 1.0),
        (0.333333, 0.75, 0.888889, 0.947368, 1.0),
        (0.384615, 0.789474, 0.909091, 0.957447, 1.0),
    ]
    for column in ("first", "second"):
        found = data.line.sel(salience=[0.1, 0.3, 0.4, 0.45, 0.5], column=column)
        np.testing.assert_allclose(found, table, atol=1e-6)


def test_variants_and_anchors_off_centre(data):
    variants = (0.6, 0.428571, 0.705882, 0.782609, 0.809160, 0.961644)
    np.testing.assert_allclose(data.variants, variants, atol=1e-6)
    found = data.off_centre.sel(column=["first", "offset", "error"])
    facts = [(0.666667, -1.980952, 6.522585), (0.666667, -0.860215, 2.591224)]
    np.testing.assert_allclose(found, facts, atol=1e-6)


def test_swapped_saliences_are_noticed(monkeypatch):
    def swapped(salience, n_anchors, *, memorization=None):
        top = 1 - 2 * salience if memorization is None else memorization
        return n_anchors * top / (n_anchors * top + salience)

    monkeypatch.setattr(study, "memorization_leak", swapped)
    found = verdicts(study.gather([(CONFIG, study.cell(CONFIG))]))
    assert found.count("does not hold") >= 9


def test_a_swapped_kernel_is_noticed(monkeypatch):
    build = OverlapKernel.from_salience

    def swapped(salience, *rest, **options):
        kernel = build(salience, *rest, **options)
        sigma = kernel.sigma.copy()
        sigma[1], sigma[-1] = sigma[-1], sigma[1]
        return OverlapKernel(kernel.n_components, sigma)

    with monkeypatch.context() as broken:
        broken.setattr(study.OverlapKernel, "from_salience", swapped)
        cell = study.cell({"saliences": [0.05, 0.1, 0.3, 0.4]})
    found = verdicts(study.gather([({"saliences": [0.05, 0.1, 0.3, 0.4]}, cell)]))
    assert found.count("does not hold") >= 9


def test_figure(data):
    assert len(study.figure(data).axes) == 3
