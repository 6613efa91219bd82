"""Shared features: theory, networks and published errors side by side."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from scipy.optimize import minimize
from study_cells import computed

from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse import _tables as tables
from partwhole_studies.reuse import _weigh as weigh
from partwhole_studies.reuse import shared_features as study


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
    assert len(study.claims(data)) == 30
    found = others(data)
    starts = (
        ("Published errors of finetuning are those where training ended", "does not hold"),
        ("Published errors of linear probing are those where training ended", "does not hold"),
        ("The published error of probing without pretraining", "does not hold"),
        # Six seeds do not tell it from single-task learning.
        ("With half the features shared, finetuning is better", "inconclusive"),
        ("With half the features shared, finetuning is better", "does not hold"),
        ("Whether finetuning beats single-task learning", "does not hold"),
    )
    assert len(found) == len(starts)
    for (words, verdict), (start, expected) in zip(found.items(), starts, strict=True):
        assert words.startswith(start)
        assert verdict == expected


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())


def test_finetuning_ends_where_it_is_known_to(data):
    # Means of seeds 0 to 5 at 32, 64 and 128 samples, by a solver of its own.
    known = {
        40: (0.277167, 3.44317e-4, 1.29043e-7),
        30: (0.816656, 0.479522, 0.0480064),
        20: (1.25525, 0.855687, 0.443304),
        0: (2.14002, 1.66128, 1.18273),
    }
    for overlap, told in known.items():
        here = data.end.sel(overlap=overlap, learner=FINETUNING, n=[32, 64, 128]).mean("seed")
        np.testing.assert_allclose(here, told, rtol=1e-3)


@pytest.mark.slow
def test_an_end_is_the_least_cost_by_another_route(data):
    # The cost of single-task learning, minimised with its constraints by a general solver.
    sample = SparseTeachers().sample(0, 16)
    width = 4e-6
    free = np.linalg.svd(sample.inputs)[2][16:].T
    begin = np.linalg.lstsq(sample.inputs, sample.targets, rcond=None)[0]

    def cost(z):
        beta = begin + free @ z
        price = 0.5 * np.arcsinh(2 * beta / width)
        return np.sum(beta * price - 0.5 * np.hypot(beta, width / 2)), free.T @ price

    found = minimize(cost, np.zeros(984), jac=True, method="L-BFGS-B", options={"maxiter": 6000})
    expected = sample.test_error(begin + free @ found.x)
    here = float(data.end.sel(overlap=40, learner=SINGLE, n=16, seed=0))
    # A general solver comes this near: the cost is all but flat along some directions.
    assert here == pytest.approx(expected, rel=0.02)


def test_published_tables():
    published = tables.by_overlap()
    assert published.shape == (4, 5, 6)
    # Told apart from the tables: mean log10 ratios agree with the means where seeds are alike.
    for overlap in (30, 40):
        ratio = np.log10(published[tables.OVERLAPS.index(overlap), 2, 4:])
        ratio -= np.log10(published[tables.OVERLAPS.index(overlap), 1, 4:])
        np.testing.assert_allclose(ratio, tables.FINETUNING_OVER_MULTI[overlap][4:], atol=0.1)
    assert tables.BY_OVERLAP[40, MULTI][2] == 0.001351
    assert tables.BY_OVERLAP[40, PROBING][2] == 1.208e-6
    sparse = tables.by_sparsity((SINGLE, MULTI, FINETUNING, PROBING))
    # At 16 samples all but those with shared features are near the error of answering 0.
    null = 1 / np.array(tables.ACTIVE)[:, None]
    np.testing.assert_allclose(sparse[:, 0, :, 0], null * np.ones(4), rtol=0.05)
    assert (np.diff(sparse[:, 1], axis=-1) < 0.02 * null[..., None]).all()


def test_other_amplitudes_are_noticed(cells, monkeypatch):
    def large(**told):
        return SparseTeachers(**{name: v for name, v in told.items() if name != "main_scale"})

    monkeypatch.setattr(study, "SparseTeachers", large)
    changed = [
        (config, study.cell(config) if config["part"] == "sparse" else found)
        for config, found in cells
    ]
    wrong = others(study.gather(changed))
    assert wrong.keys() - others(study.gather(cells)).keys()


def test_a_wrong_start_is_noticed(cells, data, monkeypatch):
    def large(method, auxiliary):
        found = initial(method, auxiliary)
        return found._replace(readout_plus=100 * found.readout_plus)

    initial = paths.initial
    monkeypatch.setattr(paths, "initial", large)
    changed = [
        (config, study.cell(config) if config["part"] == "paths" and config["n"] == 32 else found)
        for config, found in cells
        if config.get("methods") != [MULTI]
    ]
    wrong = others(study.gather(changed))
    assert any(words.startswith("The errors of single-task networks end") for words in wrong)


def test_a_mean_of_six():
    errors = np.array([1.0, 1.0, 1.0, 100.0])
    centre, (low, high) = weigh.mean_of_six(errors)
    assert centre == pytest.approx(np.log10(25.75))
    # All six are 1 with probability .18; four or more of them are 100 with .04, five with .005.
    assert low == 0.0
    assert high == pytest.approx(np.log10((4 * 100 + 2) / 6))


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
