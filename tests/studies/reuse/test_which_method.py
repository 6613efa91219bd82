"""The map of the best method, and the rule of thumb beside it."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import xarray as xr
from study_cells import computed

from partwhole_studies.reuse import _method_claims as weighed
from partwhole_studies.reuse import which_method as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def verdicts(data):
    return {claim.statement: claim.verdict.value for claim in study.claims(data)}


def test_verdicts(data):
    told = verdicts(data)
    wrong = {text for text, verdict in told.items() if verdict == "does not hold"}
    # Two seeds leave much open; what fails is what fails with more.
    assert wrong <= {
        "With 20 of 40 features shared and 128 samples finetuning is ahead: loss of finetuning "
        "(c = 1) over multi-task learning.",
    }
    assert list(told.values()).count("holds") >= 11
    assert len(study.ANSWER) < 240


def test_cells_are_plain_data():
    configs = study.PRESETS["quick"]
    for config in configs:
        assert {type(value) for value in config.values()} <= {str, int, bool, list}
    few = configs[-1] | {"seeds": [0], "max_steps": 300}
    for method in (*study.FIRST, "multi-task"):
        assert study.cell(few | {"n": 8, "method": method})["final"].shape == (1,)
    row = study.cell(configs[0] | {"seeds": [0], "sizes": [8], "multitask": False})
    assert np.isnan(row["losses"]).nonzero()[0].tolist() == [study.METHODS.index("multi-task")]


def test_linear_probing_by_linear_algebra(data):
    task = study.task({"map": "overlap", "active": 40, "overlap": 30})
    for seed in (0, 1):
        sample = task.sample(seed, 64)
        # Only features of the auxiliary task have readouts that move.
        weights = np.hypot(sample.auxiliary, 2e-6)
        start = 1e-3 * np.sign(sample.auxiliary) * np.sqrt(np.abs(sample.auxiliary))
        left = sample.targets - sample.inputs @ start
        gram = (sample.inputs * weights) @ sample.inputs.T
        beta = start + weights * (sample.inputs.T @ np.linalg.solve(gram, left))
        found = data.overlapping.sel(overlap=30, n=64, way="linear probing", seed=seed)
        # The start leaves out 1e-6 beside the square root of .158: one part in 1e5.
        assert float(found) == pytest.approx(((beta - sample.main) ** 2).sum(), rel=1e-3)


def test_best_and_its_margin():
    losses = xr.DataArray([0.3, np.nan, 0.1], dims="way", coords={"way": ["a", "b", "c"]})
    assert weighed.best(losses) == ("c", pytest.approx(3.0), 0.1)


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
    assert weighed.rule(*point)[0] == chosen


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
    assert weighed._regret(points) == pytest.approx((np.log(2) + np.log(8) / 2) / 2)
    assert weighed._regret(points, "multi-task") == pytest.approx(np.log(8) / 2)


def test_exchanged_methods_are_noticed(data):
    """With the losses of probing and single-task learning exchanged the claims fail."""
    order = list(weighed.METHODS)
    one, other = order.index("single-task"), order.index("linear probing")
    order[one], order[other] = order[other], order[one]
    changed = data.assign(
        {
            name: data[name].sel(way=order).assign_coords(way=list(weighed.METHODS))
            for name in ("overlapping", "subset")
        }
    )
    told = verdicts(changed)
    assert next(v for t, v in told.items() if "four published" in t) == "does not hold"
    assert [v for t, v in told.items() if "linear probing is best of" in t] == ["does not hold"]
    assert [v for t, v in told.items() if t.startswith("Trained networks end")] != ["holds"]


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
