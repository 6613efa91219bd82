"""Limits of two-layer gated networks, the published programs by other routes, and their claims."""

from __future__ import annotations

from io import BytesIO

import cvxpy as cp
import gated_data
import numpy as np
import pytest
import xarray as xr
from study_cells import computed

from partwhole.limits import FunctionSpaceL2, GroupNorm, Quadratic, gated_limit
from partwhole_studies.gated import _as_published as published
from partwhole_studies.gated import _two_layer_claims as told
from partwhole_studies.gated import _two_layer_runs as runs
from partwhole_studies.gated import two_layers as study


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
    failing = [words for words, verdict in others(data).items() if verdict == "does not hold"]
    assert len(failing) == 1
    assert failing[0].startswith("The published gap")
    open_ones = [
        words for words in others(data) if words.startswith(("Error of the limit", "Least"))
    ]
    assert not open_ones


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


@pytest.mark.parametrize(("units", "contexts"), [(10, 2), (6, 2), (4, 4), (3, 2)])
def test_scrambled_groups_are_those_of_a_column_by_column_reading(units, contexts):
    own = published.groups(units, contexts, scrambled=True)
    rows = np.arange(units * contexts).reshape(units, contexts, order="F")
    for group, members in enumerate(rows):
        assert set(members) == set(np.flatnonzero(own == group))
    right = published.groups(units, contexts, scrambled=False)
    assert (right.reshape(units, contexts) == np.arange(units)[:, None]).all()


def test_groups_and_coefficient_on_a_random_array_are_told_from_those_published():
    """Recorded of both groupings and of both coefficients on one random stream."""
    stream = np.random.RandomState(1)
    columns = stream.randn(785, 3, 4).reshape(785, 12)
    for scrambled, recorded in ((False, 168.40712), (True, 168.40240)):
        own = published.groups(3, 4, scrambled=scrambled)
        total = sum(np.linalg.norm(columns[:, own == group]) for group in range(3))
        assert total == pytest.approx(recorded, abs=1e-5)
    weights = stream.randn(3, 2, 4).reshape(6, 4)
    for coefficient, recorded in ((3**-0.5, 52.1328), (1 / 6, 27.5335)):
        matrix = published.whitening(3, 2, coefficient=coefficient, scrambled=False)
        assert np.sum((matrix @ weights) ** 2) == pytest.approx(recorded, abs=1e-4)


def test_scrambled_groups_cost_what_was_recorded():
    inputs, labels, gates = gated_data.d1()
    limit, weights, true = published.scrambled_group_limit(gates, inputs, labels)
    # Recorded of another implementation, to seven digits.
    assert limit.value == pytest.approx(3.323620, rel=1e-5)
    assert true == pytest.approx(3.502096, rel=1e-4)
    assert true == pytest.approx(GroupNorm().value(gates.design(inputs), weights))
    assert true > gated_limit(gates, inputs, labels).limit.value


def test_the_published_coefficient_costs_what_was_recorded():
    inputs, labels, gates = gated_data.d1()
    design, cost = gates.design(inputs), FunctionSpaceL2()
    short = 1.0 / (gates.n_units * gates.n_contexts)
    for coefficient, recorded in ((gates.n_units**-0.5, 85.17336), (short, 173.28)):
        weights, value = published.whitened_limit(
            gates, inputs, labels, coefficient=coefficient, scrambled=False
        )
        assert 2 * cost.value(design, weights) == pytest.approx(recorded, rel=1e-4)
        assert (labels * (design @ weights)).min() == pytest.approx(1.0, abs=1e-6)
        if coefficient != short:
            assert value == pytest.approx(2.0 ** (3 - 6) * recorded, rel=1e-5)


@pytest.mark.parametrize("scrambled", [False, True])
def test_the_published_objective_has_the_least_value_of_another_solver(scrambled):
    inputs, labels, gates = gated_data.d1()
    short = 1.0 / (gates.n_units * gates.n_contexts)
    _, value = published.whitened_limit(
        gates, inputs, labels, coefficient=short, scrambled=scrambled
    )
    own = published.groups(6, 2, scrambled=scrambled)
    weights = cp.Variable((12, 7))
    terms = []
    for place in range(12):
        mates = [weights[other] for other in np.flatnonzero(own == own[place])]
        terms.append(short * cp.sum(weights, axis=0) + 2 * weights[place] - sum(mates))
    outputs = gates.design(inputs).dense().matrix @ cp.reshape(weights, (84,), order="C")
    problem = cp.Problem(
        cp.Minimize(sum(cp.sum_squares(each) for each in terms)),
        [cp.multiply(labels, outputs) >= 1],
    )
    # Free directions keep a share of 1e-9; the solver stops at 1e-8.
    assert value == pytest.approx(problem.solve(solver="CLARABEL"), rel=1e-5, abs=1e-7)


def test_free_directions_change_the_function_only_where_groups_are_scrambled():
    inputs, _, gates = gated_data.d1()
    rng = np.random.default_rng(0)
    shifts = rng.normal(size=(6, 7))
    shifts -= shifts.mean(axis=0)
    design = gates.design(inputs)
    for scrambled in (False, True):
        matrix = published.whitening(6, 2, coefficient=6**-0.5, scrambled=scrambled)
        weights = shifts[published.groups(6, 2, scrambled=scrambled)]
        assert np.abs(matrix @ weights).max() < 1e-12
        moved = np.abs(design @ weights.ravel()).max()
        assert (moved > 0.1) if scrambled else (moved < 1e-12)


def test_selection_takes_the_setting_that_is_best_elsewhere():
    report = np.array([[0.10, 0.20], [0.30, 0.25]])
    chosen = np.array([[0.50, 0.40], [0.20, 0.60]])
    errors = np.full((3, 1, 2, 1, 3), np.nan)
    errors[:2, 0, :, 0, 0] = 0.0
    errors[:2, 0, :, 0, 1], errors[:2, 0, :, 0, 2] = report.T, chosen.T
    data = xr.Dataset(
        {"errors": (("n_units", "hyperplanes", "seed", "learner", "part"), errors)},
        coords={
            "n_units": [10, 20, 50],
            "hyperplanes": [1],
            "seed": [0, 1],
            "learner": ["network"],
            "part": ["all", "report", "selection"],
        },
    )
    found, least = told.by_selection(data, "network")
    assert found.tolist() == [0.20, 0.30]
    assert least.tolist() == [0.10, 0.25]


def test_margins_and_decisions_approach_the_limit(data):
    one = data.sel(n_units=10, hyperplanes=1)
    assert (one.share < one.share_longer).all()
    assert (one.share_longer <= 1 + 1e-9).all()  # no network has a larger margin
    near = one.apart.sel(learner="group")
    assert (near.sel(end="longer") < near.sel(end="network")).all()
    p = one.errors.sel(learner="network", part="all")
    assert (near.sel(end="network") < 2 * p * (1 - p)).all()


def test_another_norm_in_the_place_of_the_function_space_norm_is_noticed(cells, monkeypatch):
    monkeypatch.setattr(runs, "FunctionSpaceL2", Quadratic)
    config = {**cells[1][0], "seeds": [0, 1, 2]}
    wrong = others(study.gather([cells[0], (config, study.cell(config))]))
    for words in ("The function-space norm is one of whitened", "Error of the limit by the func"):
        assert any(each.startswith(words) for each in wrong)


def test_groups_as_published_are_noticed(cells):
    config, found = cells[0]
    errors = found["errors"].copy()
    place = runs.LEARNERS.index(runs.CODED)
    errors[:, runs.LEARNERS.index(runs.FUNCTION)] = errors[:, place]
    wrong = others(study.gather([(config, found | {"errors": errors}), cells[1]]))
    assert any(each.startswith("Error of the limit by the function-space l2") for each in wrong)


def test_a_choice_on_the_images_reported_may_flatter_too_much(cells):
    """Give every width another split that it is best on, by a tenth."""
    errors = [found["errors"].copy() for _, found in cells]
    report = study.PARTS.index("report")
    for place, each in enumerate(errors):
        each[:, runs.LEARNERS.index(runs.GROUP), report] = 0.1 + 0.1 * place
        each[:, runs.LEARNERS.index(runs.GROUP), study.PARTS.index("selection")] = -0.1 * place
    changed = [(config, found | {"errors": each})
               for (config, found), each in zip(cells, errors, strict=True)]  # fmt: skip
    wrong = others(study.gather(changed))
    (verdict,) = (each for words, each in wrong.items() if words.startswith("Choosing width"))
    assert verdict == "does not hold"


def test_mixed_groups_that_cost_nothing_are_noticed(cells):
    changed = [
        (config, found | {"scrambled_true": found["group_value"]}) for config, found in cells
    ]
    wrong = others(study.gather(changed))
    assert any(words.startswith("Weights of the least published group norm") for words in wrong)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
