"""Transitive ordering: ranks, the distance effect, and what is within reach."""

from __future__ import annotations

from io import BytesIO

import pytest
from study_cells import computed

from partwhole.limits import transitive_ranks
from partwhole_studies.overlap import transitive_ordering as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_verdicts(data):
    assert {claim.verdict.value for claim in study.claims(data)} == {"holds"}


def test_best_share_of_variance():
    assert study.best_share(7) == pytest.approx(0.882494, abs=1e-6)
    # With three items only the two ends are unseen, and one difference of ranks is free.
    assert study.best_share(3) == pytest.approx(1.0)


def test_swapped_saliences_are_noticed(data, monkeypatch):
    def swapped(n_items, salience):
        ratio = (1 - 2 * salience) / salience
        return transitive_ranks(n_items, max(ratio / (2 * ratio + 1), 1e-6))

    monkeypatch.setattr(study, "transitive_ranks", swapped)
    failing = [claim for claim in study.claims(data) if claim.verdict.value == "does not hold"]
    assert len([claim for claim in failing if "closed form" in claim.statement]) == 4


def test_a_lost_distance_effect_is_noticed(data):
    flat = data.assign(margin=data.margin.mean("distance") * (data.margin / data.margin))
    failing = [claim for claim in study.claims(flat) if claim.verdict.value == "does not hold"]
    assert any("Margin at distance" in claim.statement for claim in failing)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
