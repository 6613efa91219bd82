"""Similarities by shared components, and accuracy along training, beside what they must be."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from partwhole.features import OverlapKernel
from partwhole_studies import along
from partwhole_studies.dense import networks, similarities
from partwhole_studies.network_tasks import make_task

SMALL = {
    "task": "equivalence", "depth": 1, "width": 30, "scale": 1.0, "seeds": [0, 1, 2],
    "loss": "squared", "optimizer": "sgd", "rate": 0.1, "stop": 1e-6, "kernels": 0,
}  # fmt: skip


def test_one_hot_inputs_are_as_similar_as_they_share_components():
    for name, expected in (("both", (0.0, 0.5, 1.0)), ("CD-1", (0.0, 1 / 3, 2 / 3, 1.0))):
        task = make_task(name)
        rows = similarities.quantiles(similarities.by_shared(task.one_hot(), task.components))
        np.testing.assert_allclose(rows, np.tile(np.array(expected)[:, None], 5), atol=1e-12)


def test_a_wide_random_layer_has_the_similarities_of_its_kernel():
    """Without biases; the published histograms have their peak of overlapping pairs at .43."""
    task, rng = make_task("both"), np.random.default_rng(0)
    weights = rng.normal(size=(18, 20_000))
    pairs = similarities.by_shared(np.maximum(task.one_hot() @ weights, 0.0), task.components)
    rows, heights = similarities.quantiles(pairs), similarities.shares(pairs)
    kernel = OverlapKernel.random_network("relu", 2, 1)
    assert rows[1, 2] == pytest.approx(kernel.salience[0], abs=0.01)
    assert rows[1, 2] == pytest.approx(0.43, abs=0.015)  # published, read to .01
    assert rows[0, 2] == pytest.approx(0, abs=0.01)
    assert rows[2, 2] == pytest.approx(1, abs=0.02)
    middles = (similarities.EDGES[:-1] + similarities.EDGES[1:]) / 2
    np.testing.assert_allclose(heights.sum(axis=1), 1.0)
    np.testing.assert_allclose(heights @ middles, [p.mean() for p in pairs], atol=0.025)


def test_what_lies_beyond_a_histogram_is_in_its_last_bins():
    heights = similarities.shares([np.array([-5.0, 0.51, 0.52, 7.0])])
    assert heights[0, [0, -1]].tolist() == [0.25, 0.25]
    assert heights[0].max() == 0.5


def test_what_sets_inputs_apart_widens_the_spread():
    task, rng = make_task("both"), np.random.default_rng(1)
    inputs = np.column_stack([task.one_hot(), 0.3 * rng.normal(size=(81, 40))])
    pairs = [similarities.by_shared(x, task.components) for x in (task.one_hot(), inputs)]
    rows = [similarities.quantiles(similar) for similar in pairs]
    data = xr.DataArray(
        rows, dims=["seed", "shared", "quantile"],
        coords={"shared": range(3), "quantile": list(similarities.QUANTILES)},
    )  # fmt: skip
    spans = similarities.span(data).values.ravel()
    assert spans[0] < 1e-12
    assert spans[1] > 0.2


def test_networks_are_read_as_if_they_had_been_trained_for_less_long():
    arrays = networks.train(SMALL | {"steps": 200}).arrays
    steps = networks.recorded(200)
    assert steps[0] == 0
    assert steps[-1] == 200
    assert arrays["right"].shape == (3, len(steps), 2)
    task = make_task("equivalence")
    for at in (10, len(steps) // 2, -1):
        answers = networks.train(SMALL | {"steps": int(steps[at])}).arrays["predictions"]
        right = np.sign(answers) == task.targets
        expected = [right[:, side].mean(axis=1) for side in (~task.is_train, task.is_train)]
        np.testing.assert_allclose(arrays["right"][:, at].T, expected)


def test_all_are_right_from_the_step_after_the_last_error():
    rows = [[0.5, 1, 0.5, 1, 1], [1, 1, 1, 1, 1], [0.5, 1, 1, 1, 0.75]]
    right = xr.DataArray(rows, dims=["seed", "step"], coords={"step": [0, 1, 10, 100, 1000]})
    np.testing.assert_array_equal(along.settled(right), [100, 0, np.nan])
    np.testing.assert_array_equal(along.settled(right.transpose("step", "seed")), [100, 0, np.nan])
