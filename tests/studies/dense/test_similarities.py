"""Similarities of hidden layers by shared components, beside what they must be."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from partwhole.features import OverlapKernel
from partwhole_studies.dense import similarities
from partwhole_studies.network_tasks import make_task


def test_one_hot_inputs_are_as_similar_as_they_share_components():
    for name, expected in (("both", (0.0, 0.5, 1.0)), ("CD-1", (0.0, 1 / 3, 2 / 3, 1.0))):
        task = make_task(name)
        rows = similarities.quantiles(task.one_hot(), task.components)
        np.testing.assert_allclose(rows, np.tile(np.array(expected)[:, None], 5), atol=1e-12)


def test_a_wide_random_layer_has_the_similarities_of_its_kernel():
    """Without biases; the published histograms have their peak of overlapping pairs at .43."""
    task, rng = make_task("both"), np.random.default_rng(0)
    weights = rng.normal(size=(18, 20_000))
    rows = similarities.quantiles(np.maximum(task.one_hot() @ weights, 0.0), task.components)
    kernel = OverlapKernel.random_network("relu", 2, 1)
    assert rows[1, 2] == pytest.approx(kernel.salience[0], abs=0.01)
    assert rows[1, 2] == pytest.approx(0.43, abs=0.015)  # published, read to .01
    assert rows[0, 2] == pytest.approx(0, abs=0.01)
    assert rows[2, 2] == pytest.approx(1, abs=0.02)


def test_what_sets_inputs_apart_widens_the_spread():
    task, rng = make_task("both"), np.random.default_rng(1)
    inputs = np.column_stack([task.one_hot(), 0.3 * rng.normal(size=(81, 40))])
    rows = [similarities.quantiles(x, task.components) for x in (task.one_hot(), inputs)]
    data = xr.DataArray(
        rows, dims=["seed", "shared", "quantile"],
        coords={"shared": range(3), "quantile": list(similarities.QUANTILES)},
    )  # fmt: skip
    spans = similarities.span(data).values.ravel()
    assert spans[0] < 1e-12
    assert spans[1] > 0.2
