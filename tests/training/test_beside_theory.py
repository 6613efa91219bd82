"""What theory foresees from a network's own weights, by other routes and in the limit."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.flows import one_layer_flow
from partwhole.networks import Architecture
from partwhole.tasks import StructuredIdentity
from partwhole.training import Protocol, beside_theory, train_identity

ROTATED = StructuredIdentity([2, 4], [0.2, 0.2], dimension=3, origin=True, rotation=5, samples=200)
STEPS = [0, 5, 20, 60, 160]


def test_one_layer_follows_the_closed_form():
    runs = train_identity(ROTATED, Architecture(), Protocol(0.05), seeds=[0, 1], record=STEPS)
    found = beside_theory(runs)
    turn = ROTATED.rotation_matrix
    w, b = (np.asarray(each, dtype=float) for each in runs.initial.end_to_end())
    for k in range(2):
        path = one_layer_flow(
            turn @ w[k] @ turn.T,
            ROTATED.second_moment(),
            runs.times[0],
            mean=ROTATED.mean(),
            bias=turn @ b[k],
        )
        # The integrator's tolerance.
        np.testing.assert_allclose(found.outputs[0, k], path.outputs(ROTATED.probe), atol=1e-6)


def test_it_starts_where_the_networks_start():
    runs = train_identity(ROTATED, Architecture(3, 5), Protocol(0.01), seeds=range(3), record=STEPS)
    found = beside_theory(runs)
    # Weights are single precision, and so is what the networks answered.
    np.testing.assert_allclose(found.outputs[:, :, 0], found.trained[:, :, 0], atol=1e-5)


def test_all_samples_and_small_steps_are_the_flow():
    # Without variance every sample has the moments of the population; one batch holds them all.
    task = StructuredIdentity([2, 4], [0.0, 0.0], origin=True, rotation=3, samples=20)
    gaps = []
    for rate, steps in ((0.01, 800), (0.005, 1600)):
        runs = train_identity(
            task,
            Architecture(4, 4),
            Protocol(rate, epochs=1600, batch=60),
            seeds=range(3),
            record=np.arange(0, steps + 1, steps // 40),
        )
        found = beside_theory(runs)
        gaps.append(np.abs(found.outputs - found.trained).max())
    # Steps err in proportion to their size, with a remainder in proportion to its square.
    assert gaps[0] / gaps[1] == pytest.approx(2, abs=0.3)


def test_the_table_says_what_the_arrays_say():
    runs = train_identity(
        StructuredIdentity([2, 4], [0.05, 0.05], origin=True, scales_are="variances"),
        Architecture(4, 4),
        Protocol(0.01),
        seeds=range(12),
    )
    found = beside_theory(runs)
    table = found.to_frame().pivot(index="seed", columns="quantity", values="trained")
    for k, seed in enumerate(runs.seeds):
        loss = found.trained_losses[0, k]
        np.testing.assert_array_equal(loss, runs.losses[0, k, :, 0])
        rise = (loss - np.minimum.accumulate(loss)).max()
        row = table.loc[seed]
        assert row["swing-by"] == (rise > 0.02 * 2)
        if row["swing-by"]:
            gain = row["error at its maximum"] - row["error at its minimum"]
            assert gain == pytest.approx(rise)
        passed = found.trained[0, k, :, 1] >= 2
        after = runs.times[0][passed.argmax()]
        before = runs.times[0][passed.argmax() - 1]
        assert before <= row["concept 2 half learned at"] <= after
    lines = found.describe().splitlines()
    assert lines[0] == "4-layer linear network, 12 seeds,"
    assert f"{int(table['swing-by'].sum())} trained" in lines[-1]


def test_a_truncated_task_takes_the_samples_moments():
    task = StructuredIdentity([2, 4], [0.5, 0.5], origin=True, truncation=1.0, samples=300)
    runs = train_identity(task, Architecture(2, 3), Protocol(0.01), seeds=[0], record=STEPS)
    np.testing.assert_allclose(
        runs.second_moments[0, 0], task.sample(0).second_moment(), rtol=1e-12
    )
    assert np.isfinite(beside_theory(runs).outputs).all()


def test_relu_networks_stand_beside_the_linear_one_and_say_so():
    made = Architecture(2, 4, "relu")
    runs = train_identity(ROTATED, made, Protocol(0.01), seeds=[0], record=STEPS)
    found = beside_theory(runs)
    assert not found.exact
    assert "gradient flow of the linear network" in found.describe()


def test_other_probes_are_refused():
    probes = np.array([[1.0, 0.0, 0.0]])
    runs = train_identity(
        ROTATED, Architecture(), Protocol(0.05), seeds=[0], record=STEPS, probes=probes
    )
    with pytest.raises(InputError, match="answers to the unseen combination; got runs read at 1"):
        beside_theory(runs)
