"""Few or many units, reused or new, finetuned after rescaling."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.recommendation.methods import MULTI, SINGLE
from partwhole.study import published
from partwhole_studies.reuse import relu_features
from partwhole_studies.reuse import relu_rescaling as study
from partwhole_studies.reuse.relu_networks import tuned


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def paper():
    return published(study.__file__, ["task", "way", "n"]).error


def test_published_readouts_are_one_over_the_number_of_units():
    """The same task of six units, learned alone, in two published tables."""
    others = published(relu_features.__file__, ["task", "way", "n"]).error.sel(way=SINGLE)
    # Both are over the variance that these readouts give; over their root it would be 6 times.
    ratio = others.sel(task=relu_features.ALL) / paper().sel(task="6 reused", way=SINGLE)
    np.testing.assert_allclose(np.exp(np.log(ratio.sel(n=slice(16, 128))).mean()), 1, rtol=0.2)


def test_published_errors_agree_with_the_claims():
    """The claims are of the published table too, by a reading of it without the study."""
    errors = paper().sel(n=64)
    more = errors.sel(task="6 reused") / errors.sel(task="1 reused")
    assert more.sel(way=tuned(0.1)) > 1
    assert more.sel(way=tuned(1.0)) > more.sel(way=MULTI)
    gain = errors.sel(task="1 new") / errors.sel(task="1 reused")
    assert 1 < gain.sel(way=tuned(0.1)) < gain.sel(way=tuned(1.0)) < gain.sel(way=tuned(10.0))


@pytest.mark.parametrize(
    ("number", "dim", "exchanged"),
    [
        ("units_small", "task", ("1 reused", "6 reused")),
        ("nested", "way", (MULTI, tuned(1.0))),
        ("reuse", "way", (tuned(0.1), tuned(1.0))),
    ],
)
def test_exchanged_runs_are_noticed(data, number, dim, exchanged):
    order = data[dim].values.tolist()
    i, j = map(order.index, exchanged)
    order[i], order[j] = order[j], order[i]
    changed = data.sel({dim: order}).assign_coords({dim: data[dim].values})
    before, after = (study.numbers(errors)[number].value for errors in (data, changed))
    assert after == pytest.approx(1 / before)
    assert verdicts(study, changed)[number] != "holds"


def test_paper_is_as_published():
    configs = study.PRESETS["paper"]
    assert {config["hidden"] for config in configs} == {1000}
    assert {config["rate"] for config in configs} == {0.1}
