"""Context dependence on composed images, beside the phase boundary."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import max_margin, shortcut_margin
from partwhole_studies.images import _runs as runs
from partwhole_studies.images import shortcut_images as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_networks_learn_and_take_the_shortcut(cells):
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 0
    found = {c.statement: c.verdict.value for c in study.claims(data)}
    assert "does not hold" not in found.values()
    assert np.all(data.unseen.sel(task="CD-3").values < 0.5)


SHORTCUT, SOLVED = (0.28, 0.03), (0.05, 0.20)


def made_up(config, saliences):
    """Return a cell of a network that decides as a kernel machine of these saliences does."""
    task = runs.make_task(config["task"])
    kernel = OverlapKernel.from_salience(saliences)
    answer = 3.0 * max_margin(task, kernel, intercept="free").predictions
    right = float(np.mean((answer * task.targets)[~task.is_train] > 0))
    return {
        "answered": answer,
        "quality": np.array([1.0, 0.97, right]),
        "learned": np.array(True),
        "salience": np.broadcast_to(kernel.salience, (2, len(study.PLACES), 3)),
    }


@pytest.mark.parametrize("saliences", [SHORTCUT, SOLVED])
def test_kernel_machines_lie_where_their_saliences_say(saliences):
    cells = [(config, made_up(config, saliences)) for config in study.PRESETS["laptop"]]
    data = study.gather(cells)
    found = {c.statement: c.verdict.value for c in study.claims(data)}
    said = [v for s, v in found.items() if s.startswith("Saliences of the")]
    assert said == ["holds"] * 2
    below = [v for s, v in found.items() if "at or below chance on CD-3" in s]
    assert below == ["holds" if saliences is SHORTCUT else "does not hold"] * 3
    leans = [v for s, v in found.items() if "lean more on the context" in s]
    assert set(leans) == {"holds" if saliences is SHORTCUT else "does not hold"}
    assert len(study.figure(data).axes) == data.sizes["distance"] + 3 + 2


def test_saliences_of_the_wrong_side_are_noticed():
    cells = [(config, made_up(config, SHORTCUT)) for config in study.PRESETS["quick"]]
    for _, found in cells:
        found["salience"] = made_up(study.PRESETS["quick"][0], SOLVED)["salience"]
    claims = study.claims(study.gather(cells))
    said = [c.verdict.value for c in claims if c.statement.startswith("Saliences of the")]
    assert said == ["does not hold"] * 2


@pytest.mark.parametrize("order_1", [0.05, 0.1, 0.15])
def test_the_boundary_is_where_the_margin_is_0(order_1):
    order_2 = study._boundary(order_1)
    # Facts computed independently of this package.
    expected = {0.05: 0.071636, 0.1: 0.068879, 0.15: 0.115872}[order_1]
    assert order_2 == pytest.approx(expected, abs=1e-5)
    assert np.isnan(study._boundary(0.2))


def test_measured_saliences_at_the_edge_make_a_kernel():
    inside = study._margin("CD-3", 0.1, 0.05)
    assert inside == pytest.approx(float(shortcut_margin(0.1, 0.05, values_per_half=3)), abs=1e-6)
    for order_1, order_2 in ((0.33, 0.03), (0.31, -0.01), (-0.01, 0.2)):
        assert np.isfinite(study._margin("CD-3", order_1, order_2))


def test_figure(cells):
    data = study.gather(cells)
    assert len(study.figure(data).axes) == data.sizes["distance"] + 1 + 2
