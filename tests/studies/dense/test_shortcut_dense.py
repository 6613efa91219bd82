"""Context dependence in dense networks beside regression and largest margins."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, max_margin, shortcut_margin
from partwhole_studies import _conjunctions as conjunctions
from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense import shortcut_dense as study

NNGP = OverlapKernel.random_network("relu", 3, 1)


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def test_no_claim_fails(cells):
    claims = study.claims(study.gather(cells))
    assert len(claims) == 9
    found = [claim.verdict.value for claim in claims]
    assert "does not hold" not in found
    assert found.count("holds") >= 8  # one interval of six networks may reach beyond its bound


def test_theory_is_the_closed_form(cells):
    data = study.gather(cells).sel(task="CD-3")
    # Saliences of a ReLU layer are facts computed independently of this package.
    for loss, fit in (("squared", "regression"), ("logistic", "margin")):
        expected = shortcut_margin(0.270680, 0.055877, values_per_half=3, fit=fit)
        assert float(data.theory.sel(loss=loss)) == pytest.approx(expected, abs=1e-4)
    assert float(data.theory.sel(loss="logistic")) == pytest.approx(-0.5589, abs=1e-3)


def made_up(config, swapped=False):
    task = runs.make_task(config["task"])
    squared = (config["loss"] == "squared") != swapped
    answer = (interpolate if squared else max_margin)(task, NNGP, intercept="free").predictions
    seeds = len(config["seeds"])
    # After the logistic loss answers have any size.
    size = 5.0 if config["loss"] == "logistic" else 1.0
    predictions = size * answer * (1.0 + 0.001 * np.arange(seeds)[:, None])
    found = {"predictions": predictions, "learned": np.ones(seeds, dtype=bool)}
    if config["kernels"]:
        found |= {"regime": predictions[: config["kernels"]], "drift": np.zeros(config["kernels"])}
    return found


def test_kernel_machines_hold_all_that_is_claimed_of_lazy_networks():
    cells = [(config, made_up(config)) for config in study.PRESETS["laptop"]]
    data = study.gather(cells)
    claims = study.claims(data)
    assert {c.verdict.value for c in claims[:20]} == {"holds"}
    assert len(study.figure(data).axes) == 4


def test_the_other_loss_is_noticed():
    cells = [(config, made_up(config, swapped=True)) for config in study.PRESETS["quick"]]
    found = {c.statement: c.verdict.value for c in study.claims(study.gather(cells))}
    decided = [v for s, v in found.items() if "CD-3 as random features do" in s]
    assert decided == ["does not hold"] * 2


def test_sizes_of_kinds_by_hand():
    task = runs.make_task("CD-1")
    context = np.where(task.components[:, 0] == 0, -1.0, 1.0)
    size = dict(zip(conjunctions.KINDS, conjunctions.sizes(task, context), strict=True))
    assert size["context"] > 3 * max(v for k, v in size.items() if k != "context")
    relevant = np.where(
        task.components[:, 0] == 0, task.components[:, 1] - 2.5, task.components[:, 2] - 2.5
    )
    size = dict(zip(conjunctions.KINDS, conjunctions.sizes(task, relevant), strict=True))
    assert max(size, key=size.__getitem__) == "right pair"


def test_networks_that_did_not_learn_are_left_out():
    cells = [(config, made_up(config)) for config in study.PRESETS["quick"]]
    for _, found in cells:
        found["learned"][0] = False
        found["predictions"][0] = np.nan
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 4
    assert np.isnan(data.margin.sel(seed=0)).all()
    assert np.isfinite(data.margin.sel(seed=1)).all()


def test_figure(cells):
    assert len(study.figure(study.gather(cells)).axes) == 2
