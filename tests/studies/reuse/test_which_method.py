"""The map of the best method over overlap, sparsity and samples."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from study_cells import computed
from study_rules import require_whole

from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole_studies.reuse import diagonal_runs as runs
from partwhole_studies.reuse import which_method as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_every_method_can_be_trained_and_predicted():
    few = {"trained_overlap": 20, "trained_n": 8, "seeds": [0], "max_steps": 300}
    for method in (SINGLE, MULTI, PROBING, *study.TUNED):
        assert study.cell(few | {"trained_way": method})["final"].shape == (1,)
    row = study.cell({"overlap": 0, "sizes": [8], "seeds": [0], "multitask": 0})
    assert np.isnan(row["overlapping"]).nonzero()[0].tolist() == [study.METHODS.index(MULTI)]


def test_linear_probing_by_linear_algebra(data):
    task = study.teachers(overlap=20)
    for seed in (0, 1):
        sample = task.sample(seed, 64)
        # Only features of the auxiliary task have readouts that move.
        weights = np.hypot(sample.auxiliary, 2e-6)
        start = 1e-3 * np.sign(sample.auxiliary) * np.sqrt(np.abs(sample.auxiliary))
        left = sample.targets - sample.inputs @ start
        gram = (sample.inputs * weights) @ sample.inputs.T
        beta = start + weights * (sample.inputs.T @ np.linalg.solve(gram, left))
        loss = data.overlapping.sel(overlap=20, n=64, way=PROBING, seed=seed)
        # The start leaves out 1e-6 beside the square root of .158: one part in 1e5.
        assert float(loss) == pytest.approx(((beta - sample.main) ** 2).sum(), rel=1e-3)


def test_best_and_its_margin():
    losses = xr.DataArray([0.3, np.nan, 0.1], dims="way", coords={"way": ["a", "b", "c"]})
    assert study.best(losses) == ("c", pytest.approx(3.0), 0.1)


def test_exchanged_methods_are_noticed(data):
    names = {SINGLE: PROBING, PROBING: SINGLE}
    ways = [names.get(way, way) for way in data.way.values]
    right, exchanged = study.numbers(data), study.numbers(data.assign_coords(way=ways))
    single, probing = (study.STYLES[method][0] for method in (SINGLE, PROBING))
    assert (right["none"], right["full"]) == (single, probing)
    assert exchanged["none"] != single
    assert np.abs(exchanged["networks"]).max() > 0.1


@pytest.mark.parametrize("method", [FINETUNING, MULTI])
def test_the_least_error_along_learning_is_the_last(method):
    """With 128 samples; published least errors can be compared with ours at the end."""
    learning = runs.learn(method, study.teachers(overlap=20).sample(0, 128))
    assert learning.best == pytest.approx(learning.last, rel=0.02)
