"""ReLU networks that reuse hidden units, or have none to reuse."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.networks import MLP
from partwhole.recommendation.methods import MULTI, PROBING, SINGLE
from partwhole.tasks import ReLUTeachers
from partwhole.training.relu_probing import RIDGES
from partwhole_studies.reuse import _relu_claims as weighed
from partwhole_studies.reuse import _relu_runs as runs
from partwhole_studies.reuse import relu_features as study
from partwhole_studies.reuse._relu_tables import ALL, BY_CORRELATIONS, HALF, NONE

SHORT = {"hidden": 60, "epochs": 1_500, "epochs_together": 150, "seeds": [0, 1]}


@pytest.fixture(scope="module")
def cells():
    configs = [config | SHORT for config in study.PRESETS["quick"]]
    return computed(study, configs)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def verdicts(data):
    return {claim.statement: claim.verdict.value for claim in study.claims(data)}


def test_nothing_fails(data):
    told = verdicts(data)
    # Two seeds leave much open.
    assert "does not hold" not in told.values()
    assert list(told.values()).count("holds") >= 6
    assert len(study.ANSWER) < 240


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int, float, list}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())
        # What regression is best at is no worse than what it chose; so it is along training.
        assert (arrays["best"] <= arrays["final"] * (1 + 1e-12)).all()


def test_variance_is_that_of_the_targets():
    """The unit of all errors by sampling."""
    drawn = [ReLUTeachers().sample(seed, 4000).targets.var() for seed in range(40)]
    # Signs make the variance of one task differ from another's by about a tenth.
    spread = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(runs.VARIANCE, abs=3 * spread)
    assert spread < 0.01


def test_published_errors_are_in_units_of_the_variance():
    every = runs.named(ALL, runs.ROOT)
    assert weighed.published(every, SINGLE)[32] == pytest.approx(0.1528 / 0.3355)
    assert weighed.published(every, runs.tuned(1.0))[64] == pytest.approx(0.006607 / 0.3355)
    six = runs.named(ALL, runs.UNIT)
    assert weighed.published(six, runs.tuned(0.1))[16] == pytest.approx(0.03332 * 6 / 0.3355)
    assert weighed.published(six, MULTI)[16] == pytest.approx(0.004649 * 6 / 0.3355)
    assert weighed.published(six, "another way") == {}


def test_where_all_is_shared_the_pretrained_units_answer(cells):
    """Probing by least squares on the auxiliary teacher's own units, which it knows."""
    config, found = next(
        (c, f) for c, f in cells if c["correlations"] == list(ALL) and c["entries"] == runs.ROOT
    )
    task = runs.task(config)
    for i, seed in enumerate(config["seeds"]):
        sample = task.sample(seed, config["n"])
        features = np.maximum(sample.inputs @ sample.auxiliary.hidden.T, 0)
        readout = np.linalg.lstsq(features, sample.targets, rcond=None)[0]
        exact = sample.main.test_error(sample.auxiliary.hidden, readout)
        assert exact < 1e-12
        probed = found["final"][config["ways"].index(PROBING), i]
        # What pretraining left of the auxiliary task is what probing can't do better than.
        assert probed < 300 * found["pretrained"][i] + 1e-3


def test_published_probing_had_an_intercept(cells):
    """What it gives where no unit is shared is out of reach without one."""
    config = next(c for c, _ in cells if c["correlations"] == list(NONE) and c["n"] == 32)
    networks, _ = runs._pretrained(config | runs.SMALL | {"seeds": list(range(6))})
    errors = []
    for seed, hidden in enumerate(np.asarray(networks.weights[0], dtype=float)):
        sample = runs.task(config).sample(seed, 32, 0, 1000)
        features = np.maximum(sample.inputs @ hidden.T, 0)
        tested = np.maximum(sample.test_inputs @ hidden.T, 0)
        row = []
        for shift in (0.0, 1.0):
            middle, level = shift * features.mean(axis=0), shift * sample.targets.mean()
            size, vectors = np.linalg.eigh((features - middle) @ (features - middle).T)
            duals = vectors.T @ (sample.targets - level)
            spread = (np.maximum(size, 0)[:, None] + RIDGES) ** -1 * duals[:, None]
            fit = (tested - middle) @ (features - middle).T @ (vectors @ spread) + level
            row.append(((fit - sample.test_targets[:, None]) ** 2).mean(axis=0).min())
        errors.append(row)
    without, with_one = np.mean(errors, axis=0)
    told = BY_CORRELATIONS[NONE, PROBING][1]
    # The standard error of either mean is about a tenth of it.
    assert with_one == pytest.approx(told, rel=0.15)
    assert without > 1.2 * told


def test_finetuning_small_features_is_learning_alone(cells):
    """Rescaled to the size of first weights, pretrained features are worth no more than these."""
    config = next(
        c for c, _ in cells if c["n"] == 64 and study._task(c) == runs.named(ALL, runs.UNIT)
    )
    ways = [SINGLE, runs.tuned(1.0), runs.tuned(1e-3)]
    alone, reused, forgotten = runs.learned(config | {"ways": ways, "epochs": 4000})["final"]
    assert (forgotten > 2 * reused).all()
    # In the same basin or in another: of one order.
    assert np.abs(np.log10(forgotten / alone)).max() < 1.0


def test_rounding_decides_no_error(monkeypatch):
    """Order units the other way round: sums are rounded as another processor may round them.

    In single precision probing ends up to 3 % apart, single-task learning 0.5 %.
    """
    config = study.PRESETS["quick"][0] | SHORT | {"n": 64, "ways": [SINGLE, PROBING]}
    one, start = runs.learned(config), runs.start

    def reversed_units(hidden, seeds, outputs=1):
        first = start(hidden, seeds, outputs)
        return MLP((first.weights[0][:, ::-1], first.weights[1][..., ::-1]), None, "relu")

    monkeypatch.setattr(runs, "start", reversed_units)
    monkeypatch.setattr(runs, "_pretrain", runs._pretrain.__wrapped__)  # keeps other networks
    other = runs.learned(config)
    # A million times what rounding in double precision leaves.
    np.testing.assert_allclose(other["final"], one["final"], rtol=1e-7)
    np.testing.assert_allclose(other["pretrained"], one["pretrained"], rtol=1e-7)


def test_smaller_targets_are_learned_alike():
    """A main task times m, weights times its root, with steps over m: the same path."""
    base = runs.SMALL | SHORT
    base |= {"correlations": [0.0] * 6, "n": 32, "ways": [SINGLE], "threshold": 1e-12}
    errors = [
        runs.learned(base | {"magnitude": m, "rate_single": 0.1 / m, "epochs": 4000})["final"]
        for m in (1.0, 0.01)
    ]
    # First weights are not scaled: they are 1e-3 of a root of 1, and 1e-2 of that of .01.
    assert np.abs(np.log(errors[1] / errors[0])).max() < np.log(1.5)


def test_exchanged_ways_are_noticed(data):
    """With finetuning and single-task learning exchanged, claims on full overlap fail."""
    order = list(data.way.values)
    one, other = order.index(SINGLE), order.index(study.ONE)
    order[one], order[other] = order[other], order[one]
    changed = data.sel(way=order).assign_coords(way=data.way.values)
    told = verdicts(changed)
    asked = [v for t, v in told.items() if t.startswith("Where all units are shared finetuning")]
    assert asked
    assert "holds" not in asked


def test_paper_is_the_published_grid():
    configs = study.PRESETS["paper"]
    assert {config["hidden"] for config in configs} == {1000}
    mixes = {tuple(c["correlations"]) for c in configs if c["entries"] == runs.ROOT}
    assert {NONE, HALF, ALL} <= mixes
    assert len(mixes) == 8
    by_units = [c for c in configs if c["entries"] == runs.UNIT]
    assert {len(c["correlations"]) for c in by_units} == set(range(1, 7))
    assert {c["rate"] for c in by_units} == {0.1}


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
