"""What a path tells: answers, losses and tables, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.flows import FlowOutcome, Path
from partwhole.flows.conserved import drift
from partwhole.flows.tied import identity_losses

TIMES = np.array([0.0, 1.0, 2.0])
RNG = np.random.default_rng(0)
STATES = RNG.normal(size=(3, 2, 2))
OFFSETS = RNG.normal(size=(3, 2))
PLAIN = Path(TIMES, STATES, "paper")
BIASED = Path(TIMES, STATES, "gradient", offsets=OFFSETS)
PROBES = RNG.normal(size=(4, 2))


@pytest.mark.parametrize("path", [PLAIN, BIASED])
def test_answers_are_the_affine_map_of_each_probe(path):
    found = path.outputs(PROBES)
    assert found.shape == (3, 4, 2)
    for t in range(3):
        for k, probe in enumerate(PROBES):
            answer = STATES[t] @ probe + (0 if path.offsets is None else OFFSETS[t])
            np.testing.assert_allclose(found[t, k], answer, rtol=1e-12)
            np.testing.assert_allclose(path.outputs(probe)[t], answer, rtol=1e-12)
            half = 0.5 * np.sum((answer - probe) ** 2)
            assert path.probe_losses(PROBES)[t, k] == pytest.approx(half, rel=1e-12)
            assert path.probe_losses(probe)[t] == pytest.approx(half, rel=1e-12)


def test_many_paths_at_once_answer_each_for_itself():
    states, offsets = np.stack([STATES, 2 * STATES]), np.stack([OFFSETS, -OFFSETS])
    both = Path(TIMES, states, "gradient", offsets=offsets)
    for i in range(2):
        alone = Path(TIMES, states[i], "gradient", offsets=offsets[i])
        np.testing.assert_allclose(both.outputs(PROBES)[i], alone.outputs(PROBES), rtol=1e-12)
        np.testing.assert_allclose(
            both.probe_losses(PROBES[0])[i], alone.probe_losses(PROBES[0]), rtol=1e-12
        )


def test_the_training_loss_is_the_mean_over_inputs():
    inputs = RNG.normal(size=(50, 2))
    a = inputs.T @ inputs / 50
    mean = PLAIN.probe_losses(inputs).mean(axis=1)
    np.testing.assert_allclose(identity_losses(PLAIN.states, a), mean, rtol=1e-12)
    stacked = identity_losses(np.stack([STATES, STATES]), a)
    np.testing.assert_allclose(stacked, np.stack([mean, mean]), rtol=1e-12)


def test_the_table_names_the_entries():
    table = PLAIN.to_frame()
    assert table.columns.tolist() == ["time", "w11", "w12", "w21", "w22"]
    np.testing.assert_array_equal(table["w21"], STATES[:, 1, 0])
    large = Path(np.zeros(1), np.zeros((1, 11, 11)), "paper").to_frame()
    assert large.columns[-1] == "w11,11"
    assert large.columns.is_unique


def test_refusals():
    with pytest.raises(InputError, match=r"points in the path's 2 dimensions; got shape \(3,\)"):
        PLAIN.outputs(np.zeros(3))
    with pytest.raises(
        InputError, match=r"are those of its system; got a path without a system; follow"
    ):
        _ = BIASED.losses
    with pytest.raises(
        InputError, match=r"states and second_moment have equal length along d; got 2 and 3"
    ):
        identity_losses(PLAIN.states, np.eye(3))
    with pytest.raises(
        InputError, match=r"points in the path's 2 dimensions; got shape \(1, 1, 2\); pass"
    ):
        PLAIN.outputs(np.zeros((1, 1, 2)))
    with pytest.raises(InputError, match=r"a table holds one path; got states of shape \(1, 3, 2"):
        Path(TIMES, STATES[None], "paper").to_frame()


def test_lists_do_as_well_as_arrays():
    rows, square = PROBES.tolist(), [[2.0, 0.5], [0.5, 1.0]]
    for path in (PLAIN, BIASED):
        np.testing.assert_array_equal(Path.outputs(path, rows), path.outputs(PROBES))
        np.testing.assert_array_equal(Path.probe_losses(path, rows), path.probe_losses(PROBES))
    losses = identity_losses(STATES.tolist(), square)
    np.testing.assert_array_equal(losses, identity_losses(STATES, np.array(square)))


def test_every_failure_names_a_remedy():
    assert PLAIN.outcome is FlowOutcome.REACHED
    for outcome in set(FlowOutcome) - {FlowOutcome.REACHED, FlowOutcome.FITTED}:
        assert ";" in outcome.value


def test_a_path_without_a_system_still_describes_itself():
    assert PLAIN.describe() == "At paper time 2: reached the last time."
    noted = Path(TIMES, STATES, "steps", FlowOutcome.DIVERGED, notes=("short",))
    assert noted.describe().splitlines()[1] == "Note: short."
    assert not noted.ended_well
    assert Path(TIMES[:0], STATES[:0], "paper").describe() == "A path without times."
    assert repr(PLAIN) == (
        "Path(3 times to 2, states of shape (3, 2, 2), clock='paper', outcome=REACHED)"
    )


def test_the_table_holds_offsets_too():
    table = BIASED.to_frame()
    assert table.columns.tolist() == ["time", "w11", "w12", "w21", "w22", "b1", "b2"]
    np.testing.assert_array_equal(table["b2"], OFFSETS[:, 1])


def test_targets_of_probes_may_be_given():
    targets = RNG.normal(size=(4, 2))
    expected = 0.5 * ((PLAIN.outputs(PROBES) - targets) ** 2).sum(axis=-1)
    np.testing.assert_allclose(PLAIN.probe_losses(PROBES, targets), expected, rtol=1e-12)
    wide = Path(TIMES, RNG.normal(size=(3, 1, 2)), "paper")
    assert wide.outputs(PROBES).shape == (3, 4, 1)
    with pytest.raises(InputError, match=r"a target of 1 number\(s\); got shape \(4, 2\); pass"):
        wide.probe_losses(PROBES)


def test_weights_are_those_of_a_diagonal_network():
    with pytest.raises(InputError, match=r"of a diagonal network; got a path without weights; rea"):
        _ = PLAIN.end
    with pytest.raises(InputError, match=r"of a diagonal network; got a path without weights; fol"):
        drift(PLAIN)
