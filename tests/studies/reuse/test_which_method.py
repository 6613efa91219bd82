"""The map of the best method, and the rule of thumb beside it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from study_cells import computed
from study_rules import require_whole

from partwhole_studies.reuse import rule_of_thumb as thumb
from partwhole_studies.reuse import which_method as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_every_method_can_be_trained_and_predicted():
    few = {"trained_overlap": 20, "trained_n": 8, "seeds": [0], "max_steps": 300}
    for method in (*study.FIRST, thumb.MULTI):
        assert study.cell(few | {"trained_way": method})["final"].shape == (1,)
    row = study.cell({"overlap": 0, "sizes": [8], "seeds": [0], "multitask": False})
    assert np.isnan(row["overlapping"]).nonzero()[0].tolist() == [thumb.METHODS.index(thumb.MULTI)]


def test_linear_probing_by_linear_algebra(data):
    task = study.teachers(overlap=30)
    for seed in (0, 1):
        sample = task.sample(seed, 64)
        # Only features of the auxiliary task have readouts that move.
        weights = np.hypot(sample.auxiliary, 2e-6)
        start = 1e-3 * np.sign(sample.auxiliary) * np.sqrt(np.abs(sample.auxiliary))
        left = sample.targets - sample.inputs @ start
        gram = (sample.inputs * weights) @ sample.inputs.T
        beta = start + weights * (sample.inputs.T @ np.linalg.solve(gram, left))
        loss = data.overlapping.sel(overlap=30, n=64, way=thumb.PROBING, seed=seed)
        # The start leaves out 1e-6 beside the square root of .158: one part in 1e5.
        assert float(loss) == pytest.approx(((beta - sample.main) ** 2).sum(), rel=1e-3)


def test_best_and_its_margin():
    losses = xr.DataArray([0.3, np.nan, 0.1], dims="way", coords={"way": ["a", "b", "c"]})
    assert thumb.best(losses) == ("c", pytest.approx(3.0), 0.1)


@pytest.mark.parametrize(
    ("point", "chosen"),
    [
        ((0, 40, 64), "single-task"),
        ((20, 40, 64), "multi-task"),
        ((30, 40, 128), "finetuning, c = 1"),
        ((40, 40, 64), "linear probing"),
        ((5, 5, 32), "finetuning, c = 0.01"),
        ((20, 20, 32), "finetuning, c = 1"),
    ],
)
def test_the_rule_of_thumb(point, chosen):
    assert thumb.rule(*point)[0] == chosen


def test_the_price_of_a_choice():
    losses = [
        xr.DataArray(
            np.array([[a, a], [b, b]]),
            dims=("way", "seed"),
            coords={"way": ["single-task", "multi-task"]},
        )
        for a, b in ((1.0, 0.5), (0.1, 0.8))
    ]
    points = list(zip((("single-task",), ("single-task", "multi-task")), losses, strict=True))
    # A factor of 2, then the mean of none and of a factor of 8.
    assert thumb.regret(points) == pytest.approx((np.log(2) + np.log(8) / 2) / 2)
    assert thumb.regret(points, "multi-task") == pytest.approx(np.log(8) / 2)


def test_exchanged_methods_are_noticed(data):
    names = {thumb.SINGLE: thumb.PROBING, thumb.PROBING: thumb.SINGLE}
    ways = [names.get(way, way) for way in data.way.values]
    wrong, right = (study.numbers(each) for each in (data.assign_coords(way=ways), data))
    assert right["none"] == right["full"].replace(thumb.PROBING, thumb.SINGLE) == thumb.SINGLE
    assert wrong["none"] != thumb.SINGLE
    assert np.abs(wrong["networks"]).max() > 0.1
