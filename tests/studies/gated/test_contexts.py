"""A gated unit with more and more contexts, by other routes, and what breaks its claims."""

from __future__ import annotations

from io import BytesIO

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from study_cells import computed

from partwhole.features import HalfspaceGates, JointGates
from partwhole.limits import Quadratic, gated_limit
from partwhole.networks import GatedNetwork
from partwhole_studies.gated import _as_published as published
from partwhole_studies.gated import contexts as study
from partwhole_studies.gated._digits import answers, digits, gates_of


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    return {words: verdict for words, verdict in found.items() if verdict != "holds"}


def test_verdicts(data):
    found = others(data)
    assert "does not hold" not in found.values()
    certain = ("The limit of a gated unit is", "The limit answers 0", "A network saved")
    assert not [words for words in found if words.startswith(certain)]


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


@pytest.mark.parametrize("seed", range(3))
def test_what_a_hyperplane_separates_is_what_a_linear_program_finds(data, seed):
    split = digits(seed, 200, study.SELECTION)
    signed = -split.labels[:, None] * split.inputs
    found = linprog(np.zeros(signed.shape[1]), signed, -np.ones(200), bounds=(None, None))
    told = float(data.separable.sel(n=200, thresholds="median", hyperplanes=0, seed=seed))
    assert told == (found.status == 0)


def test_no_error_where_nothing_separates(data):
    lost = data.separable.values == 0
    assert lost.any()
    assert np.isnan(data.limit.values[lost]).all()


def test_a_limit_is_that_of_another_solver_in_each_context(data):
    split = digits(0, 200, study.SELECTION)
    gates = gates_of(split, 1, 2)
    own, there = gates.contexts(split.inputs)[:, 0], gates.contexts(split.test_inputs)[:, 0]
    total, outputs = 0.0, np.zeros(len(there))
    for context in np.unique(own):
        weights = cp.Variable(split.inputs.shape[1])
        rows = own == context
        fits = cp.multiply(split.labels[rows], split.inputs[rows] @ weights) >= 1
        problem = cp.Problem(cp.Minimize(cp.sum_squares(weights)), [fits])
        total += problem.solve(solver="CLARABEL")
        outputs[there == context] = split.test_inputs[there == context] @ weights.value
    limit = gated_limit(JointGates.of(gates, split.inputs), split.inputs, split.labels, Quadratic())
    assert 2 * limit.limit.value == pytest.approx(total, rel=1e-6)
    told = float(data.limit.sel(n=200, thresholds="median", hyperplanes=2, seed=0))
    # An image in 1,197 may lie within the other solver's tolerance of the boundary.
    assert told == pytest.approx(np.mean(outputs * split.test_labels <= 0), abs=1.1 / 1197)


def test_ties_counted_wrong_cost_half_of_them_more(data):
    more = (data.limit_strict - data.limit).values
    use = np.isfinite(more)
    np.testing.assert_allclose(more[use], 0.5 * data.unseen.values[use], atol=1e-12)
    assert more[use].max() > 0.1


def test_half_of_the_images_are_above_a_median_and_stay_there_in_any_order():
    split = digits(0)
    gates = gates_of(split, 10, 1)
    every = gates.contexts(split.every)
    assert (every.sum(axis=0) == 898).all()  # the median itself, of 1,797, is not
    alone = np.concatenate([gates.contexts(row[None]) for row in split.every])
    assert (alone == every).all()


def test_hyperplanes_that_no_image_is_beyond_change_nothing():
    split = digits(0, 200, study.SELECTION)
    gates = gates_of(split, 1, 3)
    wide = study._padded(gates, 6)
    assert wide.n_contexts == 64
    assert (wide.contexts(split.every) == gates.contexts(split.every)).all()


def test_answers_are_those_of_the_network():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    for layers in (
        [HalfspaceGates.random(4, n_units=3, n_hyperplanes=2), 1],
        [HalfspaceGates.random(4, n_units=1, n_hyperplanes=3)],
    ):
        network = GatedNetwork.draw(4, layers, seed=1)
        # Single precision against double.
        np.testing.assert_allclose(answers(network, x), network.predict(x), atol=1e-5)


def test_reading_back_keeps_everything_but_the_thresholds():
    gates = HalfspaceGates(np.array([[[0.0, 0.0], [1.0, 2.0]]]), np.array([[1.0, 3.0]]))
    network = GatedNetwork.draw(2, [gates], seed=0)
    other = published.reloaded(network, 5)
    read = other.gates[0]
    assert (read.normals == gates.normals).all()
    assert (np.asarray(other.weights[0]) == np.asarray(network.weights[0])).all()
    assert read.thresholds[0, 0] == 1.0  # of a hyperplane that is none
    assert abs(read.thresholds[0, 1]) < 1.5  # six standard deviations of a quarter


def test_a_choice_on_the_images_reported_may_flatter_too_much(data):
    """Let the other images choose what is worst on those reported on."""
    swapped = data.assign(limit_selection=-data.limit)
    found = {claim.statement: claim for claim in study.claims(swapped)}
    (claim,) = (each for words, each in found.items() if words.startswith("Choosing k"))
    rows = data.limit.sel(n=200, thresholds="median").values
    assert claim.found == pytest.approx(np.mean(np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)))
    assert claim.verdict.value == "does not hold"


def test_what_breaks_the_claims_is_noticed(cells):
    def changed(name, change):
        return study.gather(
            [(config, found | {name: change(found[name])}) for config, found in cells]
        )

    wrong = others(changed("tied", lambda values: 0.5 * values))
    assert wrong[next(w for w in wrong if w.startswith("The limit answers 0"))] == "does not hold"
    wrong = others(changed("separate", lambda values: values + 1e-3))
    assert any(words.startswith("The limit of a gated unit") for words in wrong)
    wrong = others(changed("apart_loaded", lambda values: values + 1.0))
    assert any(words.startswith("A network saved") for words in wrong)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
