"""Networks on structured identity tasks against closed forms, and what users may ask for."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import numpy as np
import optax
import pytest
import scipy.linalg
from identity_runs import trained

from partwhole._checks import InputError
from partwhole.limits import DiagonalWeights
from partwhole.networks import Architecture, outputs
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train
from partwhole.training.engines import side_by_side
from partwhole.training.outcome import Outcome

PUBLISHED = {"origin": True, "scales_are": "variances"}
LOW = StructuredIdentity([2, 4], [0.05, 0.05], **PUBLISHED)
SMALL = StructuredIdentity([1, 2], [0.3, 0.2], dimension=3, samples=50, origin=True, rotation=1)
SHORT = {"rate": 0.05, "epochs": 4, "batch": 32}
DEEP = Architecture(3, 4)
COMBINATIONS = SMALL.to_inputs(SMALL.combinations().points)


def largest_rise(losses: np.ndarray) -> np.ndarray:
    return (losses - np.minimum.accumulate(losses, axis=-1)).max(axis=-1)


def rises(runs, kept=slice(None)) -> np.ndarray:
    """Return the largest rise of each run in units of the plateau."""
    # Half the square of the weaker mean, 2.
    return largest_rise(runs.concepts.losses[:, kept, 0]) / 2


def closed_form(runs, run: int, seed: int, at: int) -> np.ndarray:
    """Return what one layer with a bias answers at the probe after a time of gradient flow."""
    task, sample = runs.concepts.task, runs.concepts.samples.sample(seed)
    d, second, mean = task.n_dimensions, sample.second_moment(), sample.mean()
    m = np.block([[second, mean[:, None]], [mean[None], np.ones((1, 1))]])
    weights, biases = runs.start.weights[0][run], runs.start.biases[0][run]
    r = task.rotation_matrix
    start = np.hstack([r @ np.asarray(weights) @ r.T, (np.asarray(biases) @ r.T)[:, None]])
    gone = scipy.linalg.expm(-m * 2 * runs.times[0, at])
    target = np.eye(d, d + 1)
    return (target + (start - target) @ gone) @ np.append(runs.concepts.probes[0], 1.0)


def test_one_layer_follows_the_published_population_run():
    task = StructuredIdentity([1, 2], [0.05, 0.05], dimension=64, rotation=0, **PUBLISHED)
    drawn, seeds = Architecture().networks(64, seeds=range(2)), [0, 1, 0, 1]
    training = Training.published("identity", learning_rate=0.1 / 64, seed=seeds, record=118)
    opposite = jax.tree.map(lambda w: np.concatenate([w, -w]), drawn)
    runs = train(opposite, task, training, progress=False)
    assert 2 * runs.times[0, -1] == pytest.approx(14.75, abs=1e-9)
    # Answers are linear in the initial weights: the mean from opposite ones is the answer from 0.
    answers = runs.concepts.outputs[:, :, 0, :2].mean(axis=0)
    np.testing.assert_allclose(answers[40], [0.9323, 1.9747], rtol=0.01)
    np.testing.assert_allclose(answers[10], [0.6252, 1.8621], rtol=0.03)
    # Each from its own start on its own sample: what is left is that of finite steps.
    for run, seed in enumerate(seeds):
        for at in (10, 40):
            answer = runs.concepts.outputs[run, at, 0]
            np.testing.assert_allclose(answer, closed_form(runs, run, seed, at), atol=0.01)


def test_deep_low_dimensional_networks_swing_and_others_do_not():
    """Compare with the statement that at least half of the deep networks swing and no others do.

    It is stated for the published initial law. Of 24 deep networks 19 rise by half a percent of
    the plateau or more. With one layer it does not hold: 5 of 24 rise, because two errors of the
    start may cancel at the unseen combination and fade at different rates; from small weights
    none does. At d = 64 it holds from epoch to epoch. Between epochs one of 8 rises by 3.5 %, and
    three more by 0.1 to 0.4 %.
    """
    deep = trained(LOW, Architecture(4, 4), 0.01, seeds=range(24))
    assert (rises(deep) >= 0.005).mean() >= 0.5
    assert Outcome.DIVERGED not in deep.outcomes
    np.testing.assert_allclose(deep.concepts.fractions[:, -1, 0], 1.0, atol=0.02)

    shallow = trained(LOW, Architecture(), 0.01, seeds=range(24))
    assert 0 < (rises(shallow) >= 0.005).mean() < (rises(deep) >= 0.005).mean() / 2
    small = Architecture(initial="normal", scale=0.01)
    assert rises(trained(LOW, small, 0.01, seeds=range(24))).max() < 5e-4

    wide = StructuredIdentity([2, 4], [0.05, 0.05], dimension=64, rotation=0, **PUBLISHED)
    # After 15 epochs their answers are within 3 % of the combination.
    steps = np.union1d(118 * np.arange(16), np.arange(0, 118 * 15, 16))
    runs = trained(wide, Architecture(4), epochs=15, seeds=range(3), record=steps)
    np.testing.assert_allclose(runs.concepts.fractions[:, -1, 0], 1.0, atol=0.03)
    assert (rises(runs, steps % 118 == 0) < 0.005).all()
    assert (rises(runs) >= 0.005).sum() == 1


def test_seeds_together_are_the_seeds_alone(monkeypatch):
    seeds = [3, 1, 7]
    many = trained(SMALL, DEEP, seeds=seeds, **SHORT)
    for place, seed in enumerate(seeds):
        alone = trained(SMALL, DEEP, seeds=[seed], **SHORT)
        np.testing.assert_allclose(many.answers[place], alone.answers[0], atol=1e-6)
        np.testing.assert_array_equal(
            many.concepts.second_moments[place], alone.concepts.second_moments[0]
        )
    monkeypatch.setattr(side_by_side, "AT_ONCE_RUNS", 2)
    pieces = trained(SMALL, DEEP, seeds=seeds, **SHORT)
    np.testing.assert_allclose(many.answers, pieces.answers, atol=1e-6)
    weights = (jax.tree.leaves(runs.networks) for runs in (many, pieces))
    for one, other in zip(*weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("nonlinearity", ["linear", "relu"])
@pytest.mark.parametrize("shuffle", ["once", "every epoch"])
def test_side_by_side_is_what_automatic_differentiation_is(nonlinearity, shuffle):
    networks = Architecture(2, 4, nonlinearity).networks(3, seeds=range(2))
    options = {"epochs": 4, "batch": 32, "shuffle": shuffle, "seed": [3, 8], "record": 7,
               "precision": "float64"}  # fmt: skip
    by_name = train(networks, SMALL, Training(learning_rate=0.02, **options), progress=False)
    by_rule = train(networks, SMALL, Training(optimiser=optax.sgd(0.02), **options), progress=False)
    np.testing.assert_allclose(by_name.answers, by_rule.answers, rtol=0, atol=1e-10)
    np.testing.assert_allclose(by_name.training_loss, by_rule.training_loss, rtol=0, atol=1e-10)


def test_in_all_samples_at_once_the_order_does_not_matter():
    networks = DEEP.networks(3, seeds=[0])
    options = {"steps": 9, "learning_rate": 0.02, "precision": "float64", "record": 3}
    full, one_batch = (
        train(networks, SMALL, Training(batch=batch, **options), progress=False)
        for batch in (None, 1000)
    )
    np.testing.assert_allclose(full.answers, one_batch.answers, rtol=0, atol=1e-12)


def test_a_run_that_diverges_is_trained_again_at_a_tenth():
    networks = Architecture(4, 4, "relu").networks(2, seeds=range(4))
    training = Training(epochs=2, batch=128, learning_rate=1.5, restarts=3)
    runs = train(networks, LOW, training, progress=False)
    assert Outcome.DIVERGED not in runs.outcomes
    again = np.flatnonzero(runs.learning_rates < 1.5)
    assert len(again) > 0
    rate = runs.learning_rates[again[0]]
    alone = train(networks, LOW, Training(epochs=2, batch=128, learning_rate=rate), progress=False)
    np.testing.assert_allclose(runs.answers[again[0]], alone.answers[again[0]], atol=1e-5)


def test_results_agree_with_the_networks_they_came_from():
    runs = trained(SMALL, DEEP, seeds=range(3), read=COMBINATIONS, **SHORT)
    concepts = runs.concepts
    np.testing.assert_allclose(concepts.probes, SMALL.combinations().points, atol=1e-12)
    for networks, at in ((runs.start, 0), (runs.networks, -1)):
        answers = outputs(networks, COMBINATIONS).astype(float)
        np.testing.assert_allclose(runs.answers[:, at], answers, atol=1e-6)
        np.testing.assert_allclose(concepts.outputs[:, at], SMALL.to_concepts(answers), atol=1e-6)
    gap = runs.answers[1, 5, 2] - COMBINATIONS[2]
    assert concepts.losses[1, 5, 2] == pytest.approx(0.5 * gap @ gap)
    np.testing.assert_allclose(concepts.fractions[..., 1], concepts.outputs[..., 1] / 2)
    np.testing.assert_array_equal(concepts.at_unseen, concepts.outputs[:, :, -1])
    sample = SMALL.sample(2)
    np.testing.assert_array_equal(concepts.second_moments[2], sample.second_moment())
    np.testing.assert_array_equal(concepts.means[2], sample.mean())
    rest = outputs(runs.network(2), sample.inputs) - sample.inputs
    assert runs.training_loss[2, -1] == pytest.approx((rest**2).sum(axis=1).mean(), rel=1e-4)


def test_a_sample_serves_all_runs():
    networks, training = DEEP.networks(3, seeds=range(3)), Training(steps=5, learning_rate=0.01)
    runs = train(networks, SMALL.sample(11), training, progress=False)
    for run in range(3):
        np.testing.assert_array_equal(runs.concepts.means[run], SMALL.sample(11).mean())
    assert np.ptp(runs.answers[:, 0, 0, 0]) > 0.01


def test_named_dimensions():
    runs = trained(SMALL, DEEP, seeds=[4, 2, 3], record=5, **SHORT)
    data = runs.concepts.to_dataset()
    assert data.outputs.dims == ("run", "record", "probe", "coordinate")
    assert data.seed.values.tolist() == [4, 2, 3]
    assert data.sizes["record"] == len(runs.steps) == 5
    assert data.loss.sel(run=1)[2].item() == runs.concepts.losses[1, 2, 0]


def test_a_run_that_diverges_is_reported():
    relu = Architecture(4, 4, "relu")
    runs = trained(LOW, relu, 0.01, epochs=2, seeds=range(4))
    assert Outcome.DIVERGED not in runs.outcomes
    fast = trained(LOW, relu, 3.0, epochs=2, seeds=range(4))
    assert Outcome.DIVERGED in fast.outcomes
    assert "take a smaller learning rate" in fast.messages[fast.outcomes.index(Outcome.DIVERGED)]
    assert fast.concepts.losses.shape == (4, len(fast.steps), 1)  # computed without a warning


@pytest.mark.parametrize("over", [0, 1])
def test_a_hundred_times_the_scale_of_the_targets_is_divergence(over):
    # Every sample is 1 and the network one weight, so that a step of 2.1 / 2 moves the error to
    # 1 - 2.1 of itself and the loss to 1.21. Networks that are not linear are not refused at that
    # rate, and of one layer they are linear.
    one = StructuredIdentity([1], [0], samples=8)
    network = Architecture(nonlinearity="relu", bias=False).network(1, seed=0)
    first = float((np.asarray(network.weights[0]).item() - 1) ** 2)
    steps = int(np.log(100 * max(first, 1) / first) / np.log(1.21)) + over
    runs = train(network, one, Training(steps=steps, learning_rate=1.05), progress=False)
    start, end = runs.training_loss[0, [0, -1]]
    assert end / start == pytest.approx(1.21**steps, rel=1e-3)  # single precision
    assert runs.outcomes[0] is (Outcome.DIVERGED if over else Outcome.RAN_ALL_STEPS)


def test_a_learning_rate_beyond_the_limit_is_refused_before_it_runs():
    # One layer with a bias: 1 over the largest eigenvalue, as the slope is twice the error.
    sample = SMALL.sample(0)
    second, mean = sample.second_moment(), sample.mean()
    m = np.block([[second, mean[:, None]], [mean[None], np.ones((1, 1))]])
    limit = 1 / np.linalg.eigvalsh(m)[-1]
    message = f"of 1 linear layer.s. on this sample lies below the stability limit {limit:.4g}"
    shallow = Architecture().networks(3, seeds=[0])
    with pytest.raises(InputError, match=message):
        train(shallow, SMALL, Training(steps=5, learning_rate=1.001 * limit))
    below = Training(steps=5, learning_rate=0.999 * limit)
    assert Outcome.DIVERGED not in train(shallow, SMALL, below, progress=False).outcomes
    with pytest.raises(InputError, match="of 4 linear layer"):
        trained(LOW, Architecture(4, 4), 0.2, seeds=[0])
    # Deep networks can centre their inputs, so that their covariance binds.
    rate = 1.2 / (3 * np.linalg.eigvalsh(second - np.outer(mean, mean))[-1])
    deep = DEEP.networks(3, seeds=[0])
    with pytest.raises(InputError, match="of 3 linear layer"):
        train(deep, SMALL, Training(steps=5, learning_rate=rate))
    train(deep, SMALL, Training(steps=5, learning_rate=rate / 1.5), progress=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"networks": Architecture().networks(2, seeds=[0])},
            r"has 3 inputs and as many outputs; got inputs of shape \(2,\) and 2 outputs; draw",
        ),
        (
            {"networks": Architecture().networks(3, seeds=[0], outputs=1)},
            r"as many outputs; got inputs of shape \(3,\) and 1 outputs; draw it by",
        ),
        (
            {"networks": DiagonalWeights.constant(3, 0.1)},
            r"as many outputs; got inputs of shape \(3,\) and 1 outputs; d",
        ),
        ({"training": Training(steps=2, loss="logistic")}, "its inputs, numbers .* 'logistic'"),
        ({"test": (np.zeros((2, 3)), np.zeros((2, 3)))}, "are read at points, by read=; got a t"),
        ({"teachers": np.zeros((1, 3))}, "are read at points, by read=; got teachers; leave it"),
        ({"checkpoint": "run.npz"}, "a checkpoint is of these or of a diffusion model; got a ch"),
        ({"read": np.zeros((2, 5))}, r"read has shape \(m, 3\) to go with the networks; got shape"),
        ({"training": Training(steps=2, seed=[1, 2])}, "takes a seed for each of 1 runs; got 2"),
        ({"training": Training(steps=2, late_factor=0.5)}, "trained are .* a late factor; leave"),
        ({"training": Training(steps=2, trained="readout")}, "trained are .* a readout alone; l"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"networks": DEEP.networks(3, seeds=[0]), "data": SMALL,
                 "training": Training(steps=2)} | change  # fmt: skip
    call: Callable = train  # as where types are not checked
    with pytest.raises(InputError, match=message):
        call(**arguments)


def test_answers_of_other_samples_have_no_concept_frame():
    x = np.eye(3)
    runs = train(DEEP.networks(3, seeds=[0]), (x, x), Training(steps=2), progress=False)
    with pytest.raises(InputError, match="networks on a structured identity task; got other samp"):
        _ = runs.concepts


def test_networks_that_were_read_elsewhere_have_no_answer_at_the_unseen_combination():
    runs = trained(SMALL, DEEP, seeds=[0], read=COMBINATIONS[:2], **SHORT)
    with pytest.raises(InputError, match="read at the unseen combination; got 2 other probes"):
        _ = runs.concepts.at_unseen


def test_results_beyond_memory_are_refused_at_once():
    wide = StructuredIdentity([2, 4], [0.05, 0.05], dimension=64, **PUBLISHED)
    networks = Architecture(bias=False).networks(64, seeds=[0])
    many = jax.tree.map(lambda w: np.broadcast_to(w, (20_000, *w.shape[1:])), networks)
    began = time.perf_counter()
    with pytest.raises(InputError, match="up to 8 GiB beside the samples; got about"):
        train(many, wide, Training(steps=2000, record=1))
    assert time.perf_counter() - began < 5
