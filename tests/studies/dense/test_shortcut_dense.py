"""Context dependence in dense networks, beside regression and largest margins."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole_studies import conjunctions
from partwhole_studies.dense import shortcut_dense as study
from partwhole_studies.dense.networks import recorded
from partwhole_studies.network_tasks import make_task

NNGP = OverlapKernel.random_network("relu", 3, 1)


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


@cache
def answers(name, loss):
    fit = study.LOSSES[loss]
    return solve(make_task(name), NNGP, fit=fit, intercept="free").predictions


def kernel_machines(config, loss):
    """Return the cell of networks that do as a kernel machine does after a loss."""
    answer = answers(config["task"], loss)
    seeds = len(config["seeds"])
    # After the logistic loss answers have any size.
    size = 5.0 if config["loss"] == "logistic" else 1.0
    predictions = size * answer * (1.0 + 0.001 * np.arange(seeds)[:, None])
    cell = {"predictions": predictions, "learned": np.ones(seeds, dtype=bool)}
    cell["right"] = np.ones((seeds, len(recorded(config["steps"])), 2))
    similar = np.tile(np.array([[0.0], [0.3], [0.6], [1.0]]), (seeds, 1, 5))
    cell |= {"similarity_before": similar, "similarity_after": similar}
    return cell | ({"regime": predictions[: config["kernels"]]} if config["kernels"] else {})


def synthetic(preset):
    return [(config, kernel_machines(config, config["loss"])) for config in study.PRESETS[preset]]


def test_it_is_whole(data):
    require_whole(study, data)


def test_theory_is_that_of_random_features(data):
    # Computed independently of this package.
    assert float(data.theory.sel(task="CD-3", loss="logistic")) == pytest.approx(-0.5589, abs=1e-3)


def test_the_loss_decides(data):
    right = data.accuracy.sel(task="CD-3").mean("seed")
    assert np.all(right.sel(loss="squared") >= 0.9)
    assert np.all(right.sel(loss="logistic") <= 0.1)


def test_accuracy_along_training_ends_where_networks_do(data):
    last = data.right.sel(side="unseen").isel(step=-1)
    np.testing.assert_allclose(last.transpose(*data.accuracy.dims), data.accuracy)
    assert (data.right.sel(side="seen").isel(step=-1) == 1).all()


def test_kernel_machines_are_lazy_networks_on_all_tasks():
    data = study.gather(synthetic("laptop"))
    require_whole(study, data)
    np.testing.assert_allclose(
        data.margin.sel(scale=1.0).mean("seed"),
        data.theory.transpose("task", "loss"),
        rtol=0.01,
        atol=0.01,
    )


def test_the_wrong_loss_is_noticed():
    wrong = {"squared": "logistic", "logistic": "squared"}
    cells = [(c, kernel_machines(c, wrong[c["loss"]])) for c in study.PRESETS["quick"]]
    data = study.gather(cells)
    verdict = verdicts(study, data)
    assert verdict["lazy_squared"] == verdict["lazy_logistic"] == "does not hold"
    assert str(study.numbers(data)["predicted"]).startswith("unlike")


def test_sizes_of_kinds_of_terms():
    task = make_task("CD-1")
    context = np.where(task.components[:, 0] == 0, -1.0, 1.0)
    size = dict(zip(conjunctions.KINDS, conjunctions.sizes(task, context), strict=True))
    assert size["context"] > 3 * max(v for kind, v in size.items() if kind != "context")
    relevant = np.where(
        task.components[:, 0] == 0, task.components[:, 1] - 2.5, task.components[:, 2] - 2.5
    )
    size = dict(zip(conjunctions.KINDS, conjunctions.sizes(task, relevant), strict=True))
    assert max(size, key=size.__getitem__) == "right pair"


def test_networks_that_did_not_learn_are_left_out():
    cells = synthetic("quick")
    for _, arrays in cells:
        arrays["learned"][0] = False
        arrays["predictions"][0] = np.nan
    data = study.gather(cells)
    assert data.attrs["not_learned"] == "4 of 20"
    assert 0 not in data.seed
    assert np.isfinite(data.margin).all()
