"""Leak of dense networks: claims on networks that were trained, and on answers that are made up."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, memorization_leak
from partwhole_studies.dense import _runs as runs
from partwhole_studies.dense import leak_dense as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


def verdicts(cells):
    return {c.statement: c.verdict.value for c in study.claims(study.gather(cells))}


def made_up(config, kernel):
    """Return what networks that do as a kernel machine does would leave in a cell."""
    task = runs.make_task(config["task"])
    answer = interpolate(task, kernel, intercept="none").predictions
    seeds, depth = len(config["seeds"]), config["depth"]
    spread = 0.001 * np.arange(seeds) / seeds
    predictions = answer * (1.0 + spread[:, None])
    salience = np.tile([*kernel.salience], (seeds, depth, 1))
    found = {
        "predictions": predictions,
        "loss": np.zeros(seeds),
        "learned": np.ones(seeds, dtype=bool),
        "salience_before": salience,
        "salience_after": salience,
    }
    if config["kernels"]:
        found |= {"regime": predictions[: config["kernels"]], "drift": np.zeros(config["kernels"])}
    return found


NNGP = OverlapKernel.random_network("relu", 2, 1)


def test_verdicts(cells):
    found = verdicts(cells)
    # The published slope of .778 did not come out again, whatever the scale, and the salience of
    # learned features says too much.
    fails = [statement for statement, verdict in found.items() if verdict != "holds"]
    assert len(found) == 13
    assert [statement.split(":")[0] for statement in fails] == [
        "The published slope from small weights comes out again",
        "The salience that the hidden layer has learned says the slope of networks trained from "
        "small weights",
        "The salience that the hidden layer has learned says the slope of networks trained from "
        "small weights",
    ]
    assert all("extrapolation" in fails[i] for i in (0, 1))


def test_theory_is_the_closed_form(cells):
    data = study.gather(cells)
    # Facts computed independently of this package.
    np.testing.assert_allclose(data.theory, (0.743443, 0.852845), atol=1e-6)


def test_every_lazy_network_does_what_its_own_kernel_says(cells):
    data = study.gather(cells).sel(scale=1.0)
    both = data.dropna("seed", subset=["regime"])
    assert both.sizes["seed"] == study.KERNELS
    for layout in data.layout.values:
        x, y = (both[name].sel(layout=layout).values for name in ("regime", "slope"))
        assert np.corrcoef(x, y)[0, 1] > 0.98


@pytest.mark.parametrize("preset", ["laptop", "paper"])
def test_kernel_machines_hold_all_that_is_claimed_of_lazy_networks(preset):
    cells = [(config, made_up(config, NNGP)) for config in study.PRESETS[preset]]
    data = study.gather(cells)
    assert data.attrs["networks"] == sum(len(config["seeds"]) for config, _ in cells)
    found = verdicts(cells)
    lazy = [v for s, v in found.items() if "as random features do" in s or "tangent kernel" in s]
    assert lazy == ["holds"] * 8
    salience = [v for s, v in found.items() if "hidden layer has learned" in s]
    assert salience == ["holds"] * 3
    rich = {s: v for s, v in found.items() if s.startswith("The published slope from small")}
    assert list(rich.values()) == ["does not hold"] * 3
    assert len(study.figure(data).axes) == 6


def test_another_kernel_is_noticed():
    step = OverlapKernel.random_network("step", 2, 1)
    cells = [(config, made_up(config, step)) for config in study.PRESETS["quick"]]
    found = verdicts(cells)
    assert [v for s, v in found.items() if "as random features do" in s] == ["does not hold"] * 2


def test_networks_that_did_not_learn_are_left_out_and_counted():
    cells = [(config, made_up(config, NNGP)) for config in study.PRESETS["quick"]]
    for _, found in cells:
        found["predictions"][0] = 1e6
        found["learned"][0] = False
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 4
    assert np.nanmax(data.slope) < 1.0
    assert np.isnan(data.slope.sel(seed=0)).all()
    for _, found in cells:
        found["learned"][: len(found["learned"]) // 2] = False
    assert study.claims(study.gather(cells))[0].verdict.value == "does not hold"


def test_networks_that_stopped_early_are_counted_as_they_are_left_out():
    cells = [(config, made_up(config, NNGP)) for config in study.PRESETS["quick"]]
    for _, found in cells:
        found["loss"][0] = 2 * study.KEPT
    data = study.gather(cells)
    assert data.attrs["not_learned"] == 4
    assert np.isnan(data.slope.sel(seed=0)).all()


@pytest.mark.parametrize(
    ("name", "share", "learned"),
    [("extrapolation", 0.2, True), ("extrapolation", 0.25, False), ("CD-1", None, True)],
)
def test_what_counts_as_learned(name, share, learned):
    task = runs.make_task(name)
    if share is None:
        assert runs.has_learned(task, 0.01 * task.targets)
        assert not runs.has_learned(task, np.where(np.arange(72) == 40, -1, 1) * task.targets)
        return
    # Errors of a share s of each target's deviation are s squared of the variance.
    mean = task.train_targets.mean()
    assert runs.has_learned(task, mean + (1 + share) * (task.targets - mean)) is learned


def test_a_salience_out_of_range_is_that_of_its_end():
    assert study._leak(0.51, 1) == memorization_leak(0.5, 1) == 1.0
    assert study._leak(-0.01, 2) == 0.0


def test_figure(cells):
    assert len(study.figure(study.gather(cells)).axes) == 4
