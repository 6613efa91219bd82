"""ReLU networks that reuse hidden units, or have none to reuse."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.features.dense_kernels import dense_kernel
from partwhole.networks import MLP
from partwhole.recommendation.methods import PROBING, SINGLE
from partwhole.tasks.relu_teachers import ReLUTeachers
from partwhole.training.relu_probing import RIDGES
from partwhole_studies.reuse import relu_features as study
from partwhole_studies.reuse import relu_networks as runs

SHORT = {"hidden": 60, "epochs": 1_500, "epochs_together": 150, "seeds": [0, 1]}


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_variance_is_that_of_the_targets():
    """The unit of all errors by sampling."""
    drawn = [ReLUTeachers().sample(seed, 4000).targets.var() for seed in range(40)]
    # Signs make the variance of one task differ from another's by about a tenth.
    spread = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    assert np.mean(drawn) == pytest.approx(runs.VARIANCE, abs=3 * spread)
    assert spread < 0.01


def test_regression_on_first_weights_nears_that_with_kernels_of_infinite_width(monkeypatch):
    """First weights have variance 2e-6 / 15, and readouts 2e-6 over the number of units."""
    width, d = 10_000, runs.DIMENSION
    monkeypatch.setattr(runs, "KERNEL_UNITS", width)
    config = {"seeds": list(range(4)), "correlations": [0.0] * 6, "magnitude": 1.0}
    samples = [runs.task(config).sample(seed, 64, 0, 500) for seed in config["seeds"]]
    errors = []
    for sample in samples:
        units, both = (
            [
                dense_kernel(x, 1, kind, other=sample.inputs, weight_variance=(2e-6, 1.0))
                for x in (sample.inputs, sample.test_inputs)
            ]
            for kind in ("nngp", "ntk")
        )
        tangent = [width * unit + d * (sums - unit) for unit, sums in zip(units, both, strict=True)]
        hidden = [width * unit for unit in units]
        errors.append([centred_regression(*kernels, sample) for kernels in (hidden, tangent)])
    for way, expected in zip(study.KERNELS, np.mean(errors, axis=0), strict=True):
        measured = runs._regress(config, way, samples).test_loss[:, 0].mean()
        assert measured == pytest.approx(expected, rel=0.05)  # entries have errors of some 2 %


def centred_regression(kernel, tested, sample):
    """Return the test error at the smallest penalty, with inputs and targets off their means."""
    n = len(kernel)
    off = np.eye(n) - 1 / n
    duals = np.linalg.solve(off @ kernel @ off + RIDGES[0] * np.eye(n), off @ sample.targets)
    fit = (tested - kernel.mean(axis=0)) @ off @ duals + sample.targets.mean()
    return ((fit - sample.test_targets) ** 2).mean()


def test_the_least_error_of_regression_is_below_that_of_the_chosen_penalty(data):
    least, final = data.least, data.final
    assert (least.notnull().any(["task", "n", "seed"]).sel(way=list(runs.REGRESSIONS))).all()
    assert least.sel(way=[SINGLE, study.TUNED]).isnull().all()
    assert (least.fillna(0) <= final.fillna(np.inf)).all()


def test_rounding_decides_no_error(monkeypatch):
    """Order units the other way round: sums are rounded as another processor may round them.

    In single precision probing ends up to 3 % apart, single-task learning 0.5 %.
    """
    config = study.PRESETS["quick"][0] | SHORT | {"n": 64, "ways": [SINGLE, PROBING]}
    usual, start = runs.learned(config), runs.start

    def reversed_units(hidden, seeds, outputs=1):
        first = start(hidden, seeds, outputs)
        return MLP((first.weights[0][:, ::-1], first.weights[1][..., ::-1]), None, "relu")

    monkeypatch.setattr(runs, "start", reversed_units)
    monkeypatch.setattr(runs, "_pretrain", runs._pretrain.__wrapped__)  # keeps other networks
    reordered = runs.learned(config)
    # A million times what rounding in double precision leaves.
    np.testing.assert_allclose(reordered["final"], usual["final"], rtol=1e-7)


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
    order = list(data.way.values)
    i, j = order.index(SINGLE), order.index(study.TUNED)
    order[i], order[j] = order[j], order[i]
    exchanged = data.sel(way=order).assign_coords(way=data.way.values)
    assert study.numbers(data)["all_gain"].value < 1 < study.numbers(exchanged)["all_gain"].value
    assert verdicts(study, exchanged)["all_gain"] != "holds"


def test_paper_is_as_published():
    assert {config["hidden"] for config in study.PRESETS["paper"]} == {runs.KERNEL_UNITS} == {1000}
