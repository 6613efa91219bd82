"""Transitive ordering: ranks, the distance effect, and what is within reach."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.limits.ordering import transitive_ranks
from partwhole_studies.overlap import transitive_ordering as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


# Computed independently of this package, to six digits.
def test_ranks(data):
    ranks = np.abs(data.ranks.sel(items=7, salience=0.4))
    expected = (0.976744, 0.465116, 0.186047, 0, 0.186047, 0.465116, 0.976744)
    np.testing.assert_allclose(ranks, expected, atol=1e-6)


def test_pairs_with_an_end_item_have_the_larger_margin(data):
    assert float(data.inner.sel(items=7, salience=0.4)) > 0


def test_best_share_of_variance():
    assert study.best_share(7) == pytest.approx(0.882494, abs=1e-6)
    # With three items only the two ends are unseen, and one difference of ranks is free.
    assert study.best_share(3) == pytest.approx(1.0)


def test_swapped_saliences_are_noticed(data, monkeypatch):
    def swapped(n_items, salience):
        ratio = (1 - 2 * salience) / salience
        return transitive_ranks(n_items, max(ratio / (2 * ratio + 1), 1e-6))

    monkeypatch.setattr(study, "transitive_ranks", swapped)
    numbers = study.numbers(data)
    assert np.abs(np.asarray(numbers["ranks_law"])).max() > 0.1
    assert np.abs(np.asarray(numbers["margins_law"])).max() > 0.1


def test_a_lost_distance_effect_is_noticed(data):
    reverse = data.assign(margin=-data.margin)
    assert verdicts(study, reverse)["gain"] == "does not hold"
