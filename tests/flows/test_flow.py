"""The verb of the room: which options each system has, and what a path says of itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

import partwhole as pw
from partwhole._checks import InputError
from partwhole.flows import Deep, Diagonal, FlowOutcome, OneLayer, Tied, descend, flow
from partwhole.flows.one_sided import OneSided
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits import DiagonalWeights

W0, A = 0.01 * np.array([[1.0, 0.5], [0.5, 1.0]]), np.diag([2.0, 0.5])
TIMES = np.array([0.0, 1.0, 4.0])
X, Y = np.array([[1.0, 2.0, 0.5]]), np.array([1.0])
SYSTEMS = {
    "Tied": Tied(W0, A),
    "OneSided": OneSided(W0, A),
    "OneLayer": OneLayer(W0, A),
    "Deep": Deep([W0, np.eye(2)], A),
    "Diagonal": Diagonal(DiagonalWeights.constant(3, 0.1), X, Y),
}


def test_the_verb_is_at_the_top():
    assert pw.flow is flow


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_path_describes_itself(name):
    path = flow(SYSTEMS[name], TIMES)
    assert path.system is SYSTEMS[name]
    assert path.outcome is FlowOutcome.REACHED
    assert path.ended_well
    assert path.losses.shape == (3,)
    assert (np.diff(path.losses) < 0).all()
    shape = str(path.states.shape)
    assert repr(path) == (
        f"Path(3 times to 4, states of shape {shape}, clock={path.clock!r}, outcome=REACHED)"
    )
    loss = f"{path.losses[-1]:.3g}"
    assert path.describe().startswith(
        f"At {path.clock} time 4, with a training loss of {loss}: reached the last time."
    )
    table = path.to_frame()
    assert table.columns[:3].tolist() == ["time", "loss", "w11"]
    np.testing.assert_array_equal(table["loss"], path.losses)


@pytest.mark.parametrize(
    ("name", "clock"),
    [("OneSided", "paper"), ("OneLayer", "gradient"), ("Deep", "gradient")],
)
def test_only_the_tied_network_has_two_clocks(name, clock):
    assert flow(SYSTEMS[name], TIMES, clock=clock).clock == clock
    other = "gradient" if clock == "paper" else "paper"
    text = f'the clock of {name} is "{clock}"; got "{other}"; leave it out, and rescale the times'
    with pytest.raises(InputError, match=re.escape(text)):
        flow(SYSTEMS[name], TIMES, clock=other)


@pytest.mark.parametrize(
    ("name", "options", "unknown"),
    [
        ("Tied", {"until": 1e-3, "rtol": 1e-6}, "until"),
        ("OneSided", {"rtol": 1e-6, "atol": 1e-6}, "rtol, atol"),
        ("OneLayer", {"max_steps": 10}, "max_steps"),
        ("Deep", {"max_time": 1.0, "max_gradients": 3}, "max_time, max_gradients"),
    ],
)
def test_options_of_other_systems_are_refused(name, options, unknown):
    text = (
        f"options of flow are those of its system, and {name} does not have all of them; "
        f"got {unknown}; leave them out"
    )
    with pytest.raises(InputError, match=re.escape(text)):
        flow(SYSTEMS[name], TIMES, **options)


def test_what_else_is_refused():
    with pytest.raises(InputError, match=r"flow of Tied is followed to times; got none; pass"):
        flow(SYSTEMS["Tied"])
    with pytest.raises(InputError, match=r"bounds the work for several tasks; got one task"):
        flow(SYSTEMS["Diagonal"], TIMES, max_gradients=10)
    with pytest.raises(InputError, match=r"the recurrence on=\"matrix\" is that of a tied network"):
        descend(SYSTEMS["Deep"], 10, 0.1, on="matrix")
    with pytest.raises(InputError, match=r"descends by itself; got initial matrices of shape \(1"):
        descend(Tied(W0[None], A), 10, 0.1)
    weights = DiagonalWeights.constant(3, 0.1)
    with pytest.raises(InputError, match=r"learns a sample, or tasks; got neither, or half"):
        Diagonal(weights, X)
    with pytest.raises(InputError, match=r"learns a sample, or tasks; got both; pass tasks="):
        Diagonal(weights, X, Y, tasks=[(X, Y)])
    with pytest.raises(InputError, match=r"with an axis of tasks; got readouts of shape \(3,\);"):
        Diagonal(weights, X, Y, shares=[0.5])
    path = flow(SYSTEMS["Diagonal"], TIMES)
    with pytest.raises(InputError, match=r"got probes without targets; pass targets"):
        path.probe_losses(X)
    np.testing.assert_allclose(path.probe_losses(X, Y[:, None])[:, 0], path.losses / 2, rtol=1e-12)
    with pytest.raises(InputError, match=r"a target of 1 number\(s\); got shape \(1, 3\)"):
        path.probe_losses(X, X)


def test_what_a_descent_records_is_a_part_of_it():
    whole = descend(SYSTEMS["Tied"], 40, 0.05)
    some = descend(SYSTEMS["Tied"], 40, 0.05, record=[0, 7, 40])
    np.testing.assert_array_equal(some.states, whole.states[[0, 7, 40]])
    np.testing.assert_array_equal(some.times, whole.times[[0, 7, 40]])


def test_one_task_of_a_population_is_followed_as_its_sample():
    weights = DiagonalWeights.constant(3, 0.1)
    beta = np.array([1.0, -0.5, 0.2])
    known = QuadraticLoss.from_population(beta)
    path = flow(Diagonal(weights, tasks=[known]), TIMES)
    # Three orthogonal samples with mean squares of 1.
    sample = Diagonal(weights, np.sqrt(3) * np.eye(3), np.sqrt(3) * beta)
    np.testing.assert_allclose(path.states, flow(sample, TIMES).states, rtol=0, atol=1e-7)
