"""Trained networks against closed forms, and what users may ask for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import jax
import numpy as np
import pytest
import scipy.linalg

from partwhole import _progress
from partwhole._checks import InputError
from partwhole.networks import Architecture, outputs
from partwhole.tasks import StructuredIdentity
from partwhole.training import Outcome, Protocol, _engines, train_identity

PUBLISHED = {"origin": True, "scales_are": "variances"}
LOW = StructuredIdentity([2, 4], [0.05, 0.05], **PUBLISHED)
SMALL = StructuredIdentity([1, 2], [0.3, 0.2], dimension=3, samples=50, origin=True, rotation=1)
SHORT = Protocol(0.05, epochs=4, batch=32)
DEEP = Architecture(3, 4)


def largest_rise(losses: np.ndarray) -> np.ndarray:
    return (losses - np.minimum.accumulate(losses, axis=-1)).max(axis=-1)


def rises(runs, kept=slice(None)) -> np.ndarray:
    """Return the largest rise of each run in units of the plateau."""
    # Half the square of the weaker mean, 2.
    return largest_rise(runs.losses[0][:, kept, 0]) / 2


def closed_form(runs, seed: int, at: int = -1) -> np.ndarray:
    """Return what one layer with a bias answers at the probe after a time of gradient flow."""
    d = runs.means.shape[-1]
    second, mean = runs.second_moments[0, seed], runs.means[0, seed]
    m = np.block([[second, mean[:, None]], [mean[None], np.ones((1, 1))]])
    weights, biases = runs.initial.weights[0][seed], runs.initial.biases[0][seed]
    r = runs.tasks[0].rotation_matrix
    start = np.hstack([r @ np.asarray(weights) @ r.T, (np.asarray(biases) @ r.T)[:, None]])
    gone = scipy.linalg.expm(-m * runs.times[0, at])
    target = np.eye(d, d + 1)
    return (target + (start - target) @ gone) @ np.append(runs.probes[0, 0], 1.0)


def test_one_layer_follows_the_published_population_run():
    task = StructuredIdentity([1, 2], [0.05, 0.05], dimension=64, rotation=0, **PUBLISHED)
    runs = train_identity(task, Architecture(), seeds=range(8), record="epochs")
    assert runs.times[0, -1] == pytest.approx(14.75, abs=1e-9)
    # Answers are linear in the initial weights, whose mean is 0: their mean is the answer from 0.
    found = runs.outputs[0, :, :, 0, :2].mean(axis=0)
    np.testing.assert_allclose(found[40], [0.9323, 1.9747], rtol=0.01)
    np.testing.assert_allclose(found[10], [0.6252, 1.8621], rtol=0.03)
    # Each from its own start on its own sample: what is left is that of finite steps.
    for seed in range(8):
        for at in (10, 40):
            answer = runs.outputs[0, seed, at, 0]
            np.testing.assert_allclose(answer, closed_form(runs, seed, at), atol=0.01)


def test_deep_low_dimensional_networks_swing_and_others_do_not():
    """Compare with the statement that at least half of the deep networks swing and no others do.

    It is stated for the published initial law. Of 24 deep networks 19 rise by half a percent of
    the plateau or more. With one layer it does not hold: 5 of 24 rise, because two errors of the
    start may cancel at the unseen combination and fade at different rates; from small weights
    none does. At d = 64 it holds from epoch to epoch. Between epochs one of 8 rises by 3.5 %, and
    three more by 0.1 to 0.4 %.
    """
    deep = train_identity(LOW, Architecture(4, 4), Protocol(0.01), seeds=range(24))
    assert (rises(deep) >= 0.005).mean() >= 0.5
    assert not deep.diverged.any()
    np.testing.assert_allclose(deep.fractions[0, :, -1, 0], 1.0, atol=0.02)

    shallow = train_identity(LOW, Architecture(), Protocol(0.01), seeds=range(24))
    assert 0 < (rises(shallow) >= 0.005).mean() < (rises(deep) >= 0.005).mean() / 2
    small = Architecture(initial="normal", scale=0.01)
    assert rises(train_identity(LOW, small, Protocol(0.01), seeds=range(24))).max() < 5e-4

    wide = StructuredIdentity([2, 4], [0.05, 0.05], dimension=64, rotation=0, **PUBLISHED)
    steps = np.union1d(118 * np.arange(41), np.arange(0, 4720, 16))
    runs = train_identity(wide, Architecture(4), seeds=range(3), record=steps)
    assert (rises(runs, steps % 118 == 0) < 0.005).all()
    assert (rises(runs) >= 0.005).sum() == 1


def test_seeds_together_are_the_seeds_alone(monkeypatch):
    many = train_identity(SMALL, DEEP, SHORT, seeds=[3, 1, 7])
    for place, seed in enumerate(many.seeds):
        alone = train_identity(SMALL, DEEP, SHORT, seeds=[seed])
        np.testing.assert_allclose(many.outputs[:, place], alone.outputs[:, 0], atol=1e-6)
        np.testing.assert_array_equal(many.second_moments[:, place], alone.second_moments[:, 0])
    monkeypatch.setattr(_engines, "AT_ONCE_RUNS", 2)
    pieces = train_identity(SMALL, DEEP, SHORT, seeds=[3, 1, 7])
    np.testing.assert_allclose(many.outputs, pieces.outputs, atol=1e-6)
    for one, other in zip(jax.tree.leaves(many.final), jax.tree.leaves(pieces.final), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("nonlinearity", ["linear", "relu"])
def test_losses_differ_by_half_a_dimension_in_learning_rate(nonlinearity):
    built = Architecture(2, 4, nonlinearity)
    published = train_identity(SMALL, built, SHORT, seeds=range(2))
    rate = SHORT.learning_rate / (3 / 2)
    paper = train_identity(
        SMALL, built, Protocol(rate, epochs=4, batch=32, loss="paper"), seeds=range(2)
    )
    np.testing.assert_allclose(published.outputs, paper.outputs, atol=1e-6)
    np.testing.assert_allclose(published.times, paper.times, rtol=1e-12)


def test_settings_are_what_each_is_alone():
    other = StructuredIdentity([2, 1], [0.1, 0.4], dimension=3, samples=50, origin=True)
    protocols = [SHORT, Protocol(0.02, epochs=4, batch=32)]
    both = train_identity([SMALL, other], DEEP, protocols, seeds=range(3), probes="combinations")
    assert both.outputs.shape[:2] == (2, 3)
    assert both.outputs.shape[3:] == (4, 3)
    for place, (task, protocol) in enumerate(zip([SMALL, other], protocols, strict=True)):
        alone = train_identity(task, DEEP, protocol, seeds=range(3), probes="combinations")
        np.testing.assert_allclose(both.outputs[place], alone.outputs[0], atol=1e-6)
        np.testing.assert_allclose(both.times[place], alone.times[0])
        np.testing.assert_array_equal(both.probes[place], task.combinations().points)


def test_results_agree_with_the_networks_they_came_from():
    runs = train_identity(SMALL, DEEP, SHORT, seeds=range(3), probes="combinations")
    seen = SMALL.to_inputs(runs.probes[0])
    for networks, at in ((runs.initial, 0), (jax.tree.map(lambda w: w[0], runs.final), -1)):
        answers = SMALL.to_concepts(outputs(networks, seen).astype(float))
        np.testing.assert_allclose(runs.outputs[0, :, at], answers, atol=1e-6)
    gap = runs.outputs[0, 1, 5, 2] - runs.probes[0, 2]
    assert runs.losses[0, 1, 5, 2] == pytest.approx(0.5 * gap @ gap)
    np.testing.assert_allclose(runs.fractions[..., 1], runs.outputs[..., 1] / 2)
    sample = SMALL.sample(2)
    np.testing.assert_array_equal(runs.second_moments[0, 2], sample.second_moment())
    rest = outputs(jax.tree.map(lambda w: w[0, 2], runs.final), sample.inputs) - sample.inputs
    assert runs.training_loss[0, 2, -1] == pytest.approx(
        0.5 * (rest**2).sum(axis=1).mean(), rel=1e-4
    )


def test_data_seed_fixes_the_sample_and_nothing_else():
    runs = train_identity(SMALL, DEEP, SHORT, seeds=range(3), data_seed=11)
    np.testing.assert_array_equal(runs.means[0, 0], runs.means[0, 2])
    np.testing.assert_array_equal(runs.means[0, 0], SMALL.sample(11).mean())
    assert np.ptp(runs.outputs[0, :, 0, 0, 0]) > 0.01


def test_named_dimensions():
    runs = train_identity(SMALL, DEEP, SHORT, seeds=[4, 2], record="epochs")
    data = runs.to_dataset()
    assert data.outputs.dims == ("setting", "seed", "step", "probe", "coordinate")
    assert data.sizes["step"] == 5
    chosen = data.loss.sel(seed=2, step=10).item()
    assert chosen == runs.losses[0, 1, 2, 0]
    assert data.time.sel(step=20).item() == pytest.approx(20 * 0.05 * 2 / 3)


def test_a_run_that_diverges_is_told():
    runs = train_identity(
        [LOW, LOW],
        Architecture(4, 4, "relu"),
        [Protocol(0.01, epochs=2), Protocol(3.0, epochs=2)],
        seeds=range(4),
    )
    assert not runs.diverged[0].any()
    assert runs.diverged[1].any()
    told = runs.outcomes[1][int(np.argmax(runs.diverged[1]))]
    assert told is Outcome.DIVERGED
    assert "take a smaller learning rate" in told.value
    assert runs.losses.shape == (2, 4, len(runs.steps), 1)  # computed without a warning


@pytest.mark.parametrize(("steps", "told"), [(3, "RAN_ALL_STEPS"), (4, "DIVERGED")])
def test_twice_the_loss_at_the_start_is_divergence(steps, told):
    # Every sample is 1 and the network one weight, so that a step of 2.1 moves the error to
    # 1 - 2.1 of itself and the loss to 1.21: to 1.77 in three steps, to 2.14 in four. Networks
    # that are not linear are not refused at that rate, and of one layer they are linear.
    one = StructuredIdentity([1], [0], samples=8)
    runs = train_identity(
        one,
        Architecture(nonlinearity="relu", bias=False),
        Protocol(2.1, batch=8, loss="paper"),
        seeds=[0],
        record=[0, steps],
    )
    start, end = runs.training_loss[0, 0]
    assert end / start == pytest.approx(1.21**steps, rel=1e-4)  # single precision
    assert runs.outcomes[0][0] is Outcome[told]


def test_a_learning_rate_beyond_the_limit_is_refused_before_it_runs():
    # One layer with a bias: 2/(rate of a unit of learning rate) over the largest eigenvalue.
    sample = SMALL.sample(0)
    second, mean = sample.second_moment(), sample.mean()
    m = np.block([[second, mean[:, None]], [mean[None], np.ones((1, 1))]])
    limit = 2 / np.linalg.eigvalsh(m)[-1] / (2 / 3)
    message = f"of 1 linear layer.s. on this sample lies below the stability limit {limit:.4g}"
    with pytest.raises(InputError, match=message):
        train_identity(SMALL, Architecture(), Protocol(1.001 * limit), seeds=[0])
    at_limit = Protocol(0.999 * limit, epochs=1, batch=150)
    assert not train_identity(SMALL, Architecture(), at_limit, seeds=[0]).diverged.any()
    with pytest.raises(InputError, match="of 4 linear layer"):
        train_identity(LOW, Architecture(4, 4), Protocol(0.2), seeds=[0])
    # Deep networks can centre their inputs, so that their covariance binds.
    rate = 1.2 * 2 / (3 * np.linalg.eigvalsh(second - np.outer(mean, mean))[-1])
    with pytest.raises(InputError, match="of 3 linear layer"):
        train_identity(SMALL, DEEP, Protocol(rate, loss="paper"), seeds=[0])
    train_identity(SMALL, DEEP, Protocol(rate, epochs=4, batch=32), seeds=[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": []}, "seeds are different whole numbers of at least 0"),
        ({"seeds": [1, 1]}, r"seeds are different whole numbers of at least 0; got \(1, 1\)"),
        ({"seeds": 3}, "seeds is a sequence, each item a whole number or an array .* got 3; pass"),
        ({"seeds": [0.5]}, r"seeds\[0\] is a whole number; got 0.5; pass one whole number"),
        ({"data_seed": 0.5}, "data_seed is a whole number; got 0.5; pass one whole number"),
        ({"tasks": []}, "there is at least one task; got none; pass one"),
        (
            {"tasks": 3},
            "tasks is a StructuredIdentity or a sequence, each item a Struct.* got 3; pass one",
        ),
        (
            {"protocol": 0.1},
            "protocol is a Protocol or a sequence, each item a Protocol or None; got 0.1; pass",
        ),
        ({"architecture": 4}, "architecture is an Architecture; got 4; pass an Architecture"),
        ({"tasks": [SMALL, LOW]}, "agree in dimension, number of concepts and number of samples"),
        ({"protocol": [SHORT, SHORT]}, "one protocol for all tasks, or one for each; got 2 for 1"),
        ({"probes": np.zeros((2, 5))}, r"probes are points in the tasks' 3 dimensions"),
        (
            {"probes": np.full((2, 3), np.nan)},
            r"probes is an array of finite numbers of shape \(k, d\); got 6 that are NaN",
        ),
        ({"probes": [[1, 2]]}, r"3 dimensions, one in each row; got shape \(1, 2\)"),
        (
            {"probes": [[1, 2, 3], [1]]},
            r"shape \(k, d\); got rows of different lengths, or numbers too large; pass",
        ),
        ({"probes": 2.0}, r"\"combinations\" or an array of finite .* or None; got 2.0; pass"),
        ({"record": [3, 99_999]}, "steps to record are whole numbers that increase, from 0 to 20"),
    ],
)
def test_bad_input_is_refused(change, message):
    given = {"tasks": SMALL, "architecture": DEEP, "protocol": SHORT, "seeds": [0], **change}
    train: Callable = train_identity  # as where types are not checked
    with pytest.raises(InputError, match=message):
        train(**given)


def test_probes_may_be_a_list_of_numbers():
    short: Callable = train_identity
    runs = short(SMALL, DEEP, SHORT, seeds=[0], probes=[[1, 2, 0]])
    np.testing.assert_array_equal(runs.probes, [[[1.0, 2.0, 0.0]]])
    assert runs.probes.dtype == float


def test_settings_of_other_forms_are_refused():
    with pytest.raises(InputError, match="protocols of one call agree in epochs, batches"):
        train_identity([SMALL, SMALL], DEEP, [SHORT, Protocol(0.05, epochs=3)], seeds=[0])


def test_results_beyond_memory_are_refused_at_once():
    wide = StructuredIdentity([2, 4], [0.05, 0.05], dimension=64, **PUBLISHED)
    began = time.perf_counter()
    with pytest.raises(InputError, match="what is recorded may take 8 GiB; got about"):
        train_identity(wide, Architecture(), seeds=range(20_000), record=range(2000))
    assert time.perf_counter() - began < 2


def test_a_bar_is_shown_only_on_a_terminal_and_only_if_asked(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress.bar("training 2 networks", 2, shown=True) as advance:
        time.sleep(0.3)
        advance(2)
    assert "training 2 networks" in capsys.readouterr().err
    with _progress.bar("training 2 networks", 2, shown=False) as advance:
        advance(2)
    assert capsys.readouterr().err == ""
