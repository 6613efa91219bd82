"""Where multi-task learning ends: independent solvers, and what breaks the claims."""

from __future__ import annotations

from io import BytesIO

import cvxpy as cp
import numpy as np
import pytest
from study_cells import computed

from partwhole_studies.reuse import _bias_runs as bias
from partwhole_studies.reuse import multitask_bias as study


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
    assert len(study.claims(data)) == 16
    (wrong,) = failing(data)
    assert wrong.startswith("Multi-task learning by gradient flow from small weights ends at")
    # From three decays of weights the power is read with too wide an interval.
    (left,) = (words for words, verdict in others(data).items() if verdict == "inconclusive")
    assert left.startswith("The distance falls in proportion to weight decay")


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, float, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


def test_least_group_norm_is_clarabels(data):
    inputs, targets, auxiliary = bias.one(bias.samples(4, [0]), 0)
    beta = cp.Variable(bias.DIMENSION)
    cost = cp.sum(cp.norm(cp.vstack([auxiliary, beta]), axis=0))
    cp.Problem(cp.Minimize(cost), [inputs[1] @ beta == targets[1]]).solve(solver=cp.CLARABEL)
    ours = data.least.sel(overlap=4, scale=1e-2, seed=0).values
    # Both are interior-point methods, with gaps of 1e-8: its root.
    np.testing.assert_allclose(ours, np.asarray(beta.value), atol=1e-4)


def test_least_decay_is_clarabels():
    inputs, targets, _ = bias.one(bias.samples(4, [1]), 0)
    beta = cp.Variable((2, bias.DIMENSION))
    rows = sum(map(len, targets))
    missed = [
        cp.sum_squares(x @ beta[t] - y)
        for t, (x, y) in enumerate(zip(inputs, targets, strict=True))
    ]
    objective = sum(missed) / (2 * rows) + 1e-2 * cp.sum(cp.norm(beta, axis=0))
    expected = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    value, found = bias.least_decay(inputs, targets, 1e-2)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(found, np.asarray(beta.value), atol=1e-4)


@pytest.mark.slow
def test_the_flow_is_good_enough():
    rough, fine = (bias.flow_ends(4, [0, 2], 1e-3, rtol) for rtol in (1e-4, 1e-6))
    away = [bias.apart(*ends) for ends in zip(rough["ends"], fine["ends"], strict=True)]
    # As the note of the claim says.
    assert max(away) < 1e-3
    assert max(rough["loss"]) < 1.01 * bias.FITTED


def test_an_end_at_the_least_group_norm_would_be_noticed(data):
    changed = data.assign(ends=data.least)
    assert not any(words.startswith("Multi-task learning by") for words in others(changed))
    assert any(words.startswith("Gradient descent with steps of 0.1") for words in failing(changed))


def test_finetuning_in_its_place_is_noticed(data):
    wrong = failing(data.assign(ends=data.tuned))
    assert any(words.startswith("Nor does multi-task learning end") for words in wrong)


def test_weight_decay_that_goes_elsewhere_is_noticed(data):
    wrong = failing(data.assign(decayed_weights=1.02 * data.decayed_weights))
    assert any(words.startswith("With weight decay it does end") for words in wrong)
    assert any(words.startswith("The distance falls in proportion") for words in wrong)
    wrong = failing(data.assign(decayed_stepped=1.1 * data.decayed_stepped))
    assert any(words.startswith("Gradient descent with weight decay") for words in wrong)


def test_another_objective_is_noticed(data):
    changed = data.decayed_weights_excess + 1e-4
    wrong = failing(data.assign(decayed_weights_excess=changed))
    assert any(words.startswith("Least half mean square error") for words in wrong)


def test_a_flow_that_drifts_is_noticed(data):
    wrong = failing(data.assign(drift=data.drift + 0.01))
    assert any(words.startswith("What gradient flow conserves") for words in wrong)


def test_training_that_reaches_the_threshold_is_noticed(data):
    wrong = failing(data.assign(published_training_loss=0.01 * data.published_training_loss))
    assert any(words.startswith("At the published size a million steps") for words in wrong)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
