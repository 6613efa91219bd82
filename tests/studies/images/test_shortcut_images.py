"""Context dependence on composed images, beside the phase boundary."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from image_scores import scored
from study_cells import computed
from study_rules import require_whole

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.limits import shortcut_margin
from partwhole_studies.images import shortcut_images as study
from partwhole_studies.network_tasks import make_task

SHORTCUT, SOLVED = (0.28, 0.03), (0.05, 0.20)
BY_REGRESSION = (0.2, 0.1)  # solves CD-3, where the largest margin does not


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


@cache
def answers(name, saliences, loss):
    kernel, fit = OverlapKernel.from_salience(saliences), study.FITS[loss]
    return solve(make_task(name), kernel, fit=fit, intercept="free").predictions


def synthetic(preset, saliences=SHORTCUT):
    """Return cells of networks that decide as a kernel machine of these saliences does."""
    kernel = OverlapKernel.from_salience(saliences)
    measured = np.broadcast_to(kernel.salience, (2, len(study.PLACES), 3))
    cells = []
    for config in study.PRESETS[preset]:
        task = make_task(config["task"])
        answer = 3.0 * answers(config["task"], saliences, config["training"]["loss"])
        right = float(np.mean((answer * task.targets)[~task.is_train] > 0))
        cell = {"answered": answer, "salience": measured, **scored(1.0, 0.97, right)}
        cells.append((config, cell | {"learned": np.array(True)}))
    return cells


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_learn_and_are_below_chance(data):
    assert data.attrs["not_learned"] == "none of 1"
    assert np.all(data.unseen.sel(task="CD-3") < 0.5)


@pytest.mark.parametrize("saliences", [SHORTCUT, SOLVED])
def test_kernel_machines_lie_where_their_saliences_say(saliences):
    data = study.gather(synthetic("laptop", saliences))
    study.figure(data)
    numbers = study.numbers(data)
    assert numbers["before"].value == 1.0
    assert study.agreement(data, "after", "last")[0].value == 1.0
    assert numbers["right"].value == (0.0 if saliences is SHORTCUT else 1.0)
    assert (numbers["ratio"].value > 1) == (saliences is SHORTCUT)


def test_squared_loss_is_held_to_regression():
    data = study.gather(synthetic("laptop", BY_REGRESSION))
    numbers = study.numbers(data)
    assert (numbers["right"].value, numbers["squares"].value) == (0.0, 1.0)
    assert numbers["squares"].n == 5
    assert numbers["after_squares"] == ", and 100% after squared loss"
    # Each is on the side of chance that its own limit predicts.
    assert numbers["before"].value == study.agreement(data, "before", "late")[0].value == 1.0
    solved = study.numbers(study.gather(synthetic("laptop", SOLVED)))
    assert solved["squares"].value == 0.0
    assert study.numbers(study.gather(synthetic("quick")))["after_squares"] == ""


def test_saliences_of_the_wrong_side_are_noticed():
    cells = synthetic("quick")
    for (_, cell), (_, solved) in zip(cells, synthetic("quick", SOLVED), strict=True):
        cell["salience"] = solved["salience"]
    data = study.gather(cells)
    assert study.numbers(data)["before"].value == 0.0
    assert study.agreement(data, "after", "last")[0].value == 0.0


@pytest.mark.parametrize("order_1", [0.05, 0.1, 0.15])
def test_the_boundary_is_where_the_margin_is_0(order_1):
    # Computed independently of this package.
    expected = {0.05: 0.071636, 0.1: 0.068879, 0.15: 0.115872}[order_1]
    assert study.boundary(order_1) == pytest.approx(expected, abs=1e-5)


def test_the_boundary_ends_at_the_edge():
    # Computed independently of this package: it meets the edge at S(1;3) = .184351.
    assert np.isfinite(study.boundary(0.184))
    assert np.isnan(study.boundary(0.185))


def test_measured_saliences_at_the_edge_make_a_kernel():
    inside = study.margin("CD-3", 0.1, 0.05)
    assert inside == pytest.approx(float(shortcut_margin(0.1, 0.05, values_per_half=3)), abs=1e-6)
    for order_1, order_2 in ((0.33, 0.03), (0.31, -0.01), (-0.01, 0.2)):
        assert np.isfinite(study.margin("CD-3", order_1, order_2))
