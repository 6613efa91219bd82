"""Training of diffusion models: against plain steps, interrupted and resumed, and refused."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.flatten_util import ravel_pytree
from programs import looped
from vector_models import Unrolled, vector_model

from partwhole._checks import InputError
from partwhole.flows.gaussian_diffusion import gaussian_diffusion_loss
from partwhole.networks import Architecture
from partwhole.networks.diffusion import (
    DiffusionModel,
    Words,
    linear_schedule,
    sample,
)
from partwhole.networks.diffusion.noise_mlp import noise_mlp
from partwhole.networks.diffusion.schedule import ScheduleWarning
from partwhole.networks.diffusion.unet import unet
from partwhole.networks.images.layers import Pass
from partwhole.training import Prompt, Sampling, Training, train
from partwhole.training.diffusion import sampling as drawing
from partwhole.training.diffusion.bits import bits_per_dimension, terms
from partwhole.training.diffusion.problem import checked_diffusion_problem
from partwhole.training.outcome import Outcome

module = import_module("partwhole.training.diffusion.train")


# Slopes have a norm of over 100 at first: weights overflow in one step, at a tenth of the rate too.
DIVERGING, TENTH = 1e38, 1e37
UNLIMITED = {"clip": 100.0, "optimiser": "sgd"}


def points(n=60, seed=0):
    """Return points around three corners of a square, and what is said of them."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]])[rng.integers(0, 3, n)]
    return (centres + 0.1 * rng.normal(size=(n, 2))).astype(np.float32), centres.astype(np.float32)


def settings(**changes):
    """Return the settings of a small run, those of the papers but for these."""
    options = {"steps": 24, "batch": 16, "clip": 1.0, "drop_condition": 0.2, "average": 0.9}
    return Training.published("diffusion", **(options | {"seed": 3} | changes))


def sampling(**changes):
    """Return two prompts, whose samples are doubled and kept."""
    _, c = points()
    prompts = {
        "corner": Prompt(conditions=np.full((4, 2), [1.0, 2.0], np.float32)),
        "moved": Prompt(conditions=c[:4], toward=c[:2] + 1.0, away=c[:2], amount=0.5, guidance=2.0),
    }
    options = {"prompts": prompts, "decoder": double, "steps": 5, "keep": True}
    return Sampling(**(options | changes))


def double(samples):
    return samples * 2.0


def small(**changes):
    """Return the arguments of a small run."""
    model = vector_model(learned=True)
    training = settings(**({"record": [0, 6, 20]} | changes))
    return {"networks": model, "data": points(), "training": training, "read": sampling()}


def loop_of(networks, data, training, read=None):
    """Return the loop of one run, before its first step."""
    problem = checked_diffusion_problem(networks, data, training, read, None)
    return module.Loop(problem, 0, float(problem.rates[0]))


def leaves(*models):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(models, eqx.is_array))]


def same(one, other):
    """Return whether weights, samples, coordinates and losses of two runs are the same bits."""
    parts = [
        [
            *leaves(runs.networks, runs.diffusion.averaged),
            *runs.diffusion.samples.values(),
            *runs.diffusion.coordinates.values(),
            runs.diffusion.bits,
            runs.training_loss[:, 1:],
        ]
        for runs in (one, other)
    ]
    return all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))


@pytest.fixture(scope="module")
def whole():
    return train(**small())


def test_a_run_and_its_table(whole):
    arguments, records = small(), whole.diffusion
    assert whole.outcomes == (Outcome.RAN_ALL_STEPS,)
    assert whole.end_steps.tolist() == [24]
    # The last step is recorded too.
    assert whole.steps.tolist() == records.steps.tolist() == [0, 6, 20, 24]
    assert {name: found.shape for name, found in records.coordinates.items()} == {
        "corner": (1, 4, 4, 2),
        "moved": (1, 4, 4, 2),
    }
    for name, found in records.samples.items():
        # Samples are kept in half precision.
        np.testing.assert_allclose(2.0 * found, records.coordinates[name], rtol=2e-3, atol=2e-3)
    assert records.bits.shape == (1, 1, 3)
    assert records.bits_steps.tolist() == [24]
    assert np.isnan(whole.training_loss[0, 0])
    assert whole.training_loss[0, -1] == pytest.approx(records.bits.sum(), rel=1e-6)
    frame = records.to_frame()
    assert frame.columns.tolist() == ["run", "prompt", "step", "sample", "concept", "coordinate"]
    assert len(frame) == 2 * 4 * 4 * 2
    row = frame.query("prompt == 'moved' and step == 20 and sample == 1 and concept == 1")
    assert row.coordinate.item() == records.coordinates["moved"][0, 2, 1, 1]
    # The model that was given is as it was; samples are those of averaged weights.
    started = leaves(small()["networks"])
    for given in (arguments["networks"], *whole.start):
        assert all(np.array_equal(a, b) for a, b in zip(leaves(given), started, strict=True))
    averaged = records.averaged[0]
    apart = [
        np.max(np.abs(a - b))
        for a, b in zip(leaves(whole.network(0)), leaves(averaged), strict=True)
    ]
    assert max(apart) > 1e-4
    prompt = arguments["read"].prompts["moved"]
    drawn = np.random.SeedSequence([3, drawing.SAMPLING, 3, 1]).generate_state(1)[0]
    again = sample(averaged, prompt.embed(averaged), steps=5, guidance=2.0, seed=int(drawn))
    np.testing.assert_allclose(
        2.0 * again, records.coordinates["moved"][0, -1], rtol=1e-5, atol=1e-5
    )


@cache
def slopes():
    """Return the loss and its slopes on a batch, the first parameters, and what unravels them."""
    model = small()["networks"]
    kept, rest = eqx.partition(model, eqx.is_inexact_array)
    start, unravel = ravel_pytree(kept)

    @jax.jit
    @jax.value_and_grad
    def loss(row, x, c, step):
        noise, network, dropping = jax.random.split(jax.random.fold_in(jax.random.key(3), step), 3)
        dropped = jax.random.bernoulli(dropping, 0.2, (len(x), 1))
        c = jnp.where(dropped, model.nothing, c)
        parts = terms(eqx.combine(unravel(row), rest), x, c, noise, Pass(network))
        return sum(jnp.mean(part) for part in parts)

    return loss, start, unravel


def followed(training, moves, steps):
    """Return parameters, their average and losses with optax alone, in the loop's own order."""
    x, c = points()
    loop, losses = loop_of(small()["networks"], (x, c), training), []
    loss, row, unravel = slopes()
    average, state = row, moves.init(row)

    @jax.jit
    def stepped(row, average, slope, state):
        with jax.numpy_dtype_promotion("standard"):
            change, state = moves.update(slope, state, row)
        return row + change, 0.9 * average + 0.1 * (row + change), state

    for step in range(steps):
        which = np.asarray(loop._order(step // 3)).reshape(3, 16)[step % 3]
        value, slope = loss(row, x[which], c[which], step)
        row, average, state = stepped(row, average, slope, state)
        losses.append(float(value))
    return unravel(row), unravel(average), losses


def falling(length):
    """Return Adam with a rate that falls to 0 at a step."""
    return optax.adam(optax.cosine_decay_schedule(1e-3, length))


ADAM = falling(48)
CLIPPED = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.01))


@pytest.mark.parametrize(
    ("changes", "moves"),
    [
        ({}, CLIPPED),
        # Weight decay of lambda has slopes of twice lambda, which are not clipped.
        (
            {"clip": 0.05, "optimiser": "sgd", "momentum": 0.5, "weight_decay": 0.3},
            optax.chain(
                optax.clip_by_global_norm(0.05), optax.add_decayed_weights(0.6),
                optax.sgd(1e-3, momentum=0.5),
            ),
        ),
        ({"clip": None, "optimiser": ADAM}, ADAM),
    ],
    ids=["adamw", "sgd", "optax"],
)  # fmt: skip
def test_steps_are_those_of_the_optimiser_on_bits_per_dimension(changes, moves):
    """Followed step by step with optax alone, on batches in the loop's own order."""
    arguments = small(steps=5, record=[2], **changes) | {"read": None}
    runs = train(**arguments)
    kept, average, losses = followed(arguments["training"], moves, 5)
    ours, expected = leaves(runs.network(0), runs.diffusion.averaged[0]), leaves(kept, average)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)
    assert runs.diffusion.bits.sum() == pytest.approx(np.mean(losses), rel=1e-5)
    expected = [np.mean(losses[:2]), np.mean(losses)]
    np.testing.assert_allclose(runs.training_loss[0], expected, rtol=1e-5)
    assert runs.diffusion.coordinates == runs.diffusion.samples == {}
    assert runs.diffusion.averaged is not runs.networks
    assert same(runs, train(**arguments))


def test_the_recorded_loss_is_of_the_last_hundred_steps():
    arguments = small(steps=160, record=[100, 130]) | {"read": None}
    *_, losses = followed(arguments["training"], CLIPPED, 160)
    runs = train(**arguments)
    expected = [np.mean(losses[stop - 100 : stop]) for stop in (100, 130, 160)]
    np.testing.assert_allclose(runs.training_loss[0], expected, rtol=1e-4)
    assert abs(np.mean(losses[100:130]) / expected[1] - 1.0) > 1e-2
    counted = [np.mean(losses[:100]), np.mean(losses[100:])]
    np.testing.assert_allclose(runs.diffusion.bits[0].sum(axis=1), counted, rtol=1e-4)
    assert runs.diffusion.bits_steps.tolist() == [100, 160]


def test_several_models_are_trained_as_alone():
    """Run r has seed + r, as separate calls have, in epochs or the same number of steps."""
    first, second = (vector_model(seed, learned=True) for seed in (0, 1))
    arguments = {"data": points(), "read": sampling()}
    both = train([first, second], training=settings(steps=None, epochs=4), **arguments)
    assert both.end_steps.tolist() == [12, 12]
    for run, model in enumerate((first, second)):
        alone = train(model, training=settings(steps=12, seed=3 + run), **arguments)
        assert all(
            np.array_equal(a, b)
            for a, b in zip(leaves(both.network(run)), leaves(alone.networks), strict=True)
        )
        for name, coordinates in alone.diffusion.coordinates.items():
            np.testing.assert_array_equal(both.diffusion.coordinates[name][run], coordinates[0])
        np.testing.assert_array_equal(both.diffusion.bits[run], alone.diffusion.bits[0])


def test_steps_of_models_of_one_kind_are_compiled_once():
    compiled = []
    for seed in (40, 41):  # of no other test, whose steps may be compiled already
        train(vector_model(seed, learned=True), points(), settings(steps=seed - 39, seed=seed))
        compiled.append(module.take_steps._cache_size())
    assert compiled[0] == compiled[1] > 0


def test_every_epoch_takes_every_sample_in_a_new_order():
    loop = loop_of(**small(batch=20))
    orders = [loop._order(epoch) for epoch in range(3)]
    for order in orders:
        assert sorted(order.ravel().tolist()) == list(range(60))
    assert len({tuple(order.ravel().tolist()) for order in orders}) == 3


def test_averaged_weights_follow_behind():
    # A step moves weights by some 1e-3, of which the average takes a tenth.
    model, x_c = small()["networks"], points()
    once, twice = (train(model, x_c, settings(steps=n, average=0.9)) for n in (1, 2))
    networks = model, once.network(0), twice.network(0), twice.diffusion.averaged[0]
    for a, b, c, found in zip(*map(leaves, networks), strict=True):
        np.testing.assert_allclose(found, 0.9 * (0.9 * a + 0.1 * b) + 0.1 * c, atol=1e-6)


def test_a_model_learns_what_it_is_shown():
    """And sampling says so: points lie where they are asked for, at the spread they have."""
    network = noise_mlp(2, 2, layers=3, width=32, seed=0)
    model = DiffusionModel(network, linear_schedule((-5.0, 5.0)), None, (2,), 2)
    asked = np.repeat([[0.0, 2.0], [1.0, 0.0]], 100, axis=0).astype(np.float32)
    optimiser = optax.adam(optax.cosine_decay_schedule(1e-2, 300))
    training = Training.published(
        "diffusion", steps=300, batch=64, optimiser=optimiser, clip=None, seed=0
    )
    read = Sampling({"seen": Prompt(conditions=asked)}, lambda samples: samples)
    records = train(model, points(600), training, read=read).diffusion
    # As cheap as with the best prediction for points around centres that are known, to a tenth for
    # what 300 steps leave and the noise of a hundred batches.
    best = gaussian_diffusion_loss(0.1, (-5.0, 5.0)) / np.log(2.0)
    assert records.bits[0, -1, 0] == pytest.approx(best, rel=0.1)
    assert records.bits[0, 0, 0] > 2.0 * best
    found = records.coordinates["seen"][0, 0]
    for part, centre in ((found[:100], [0.0, 2.0]), (found[100:], [1.0, 0.0])):
        np.testing.assert_allclose(part.mean(axis=0), centre, atol=0.12)
        assert np.all(part.std(axis=0) < 0.25)


def test_several_steps_in_one_program_are_those_one_by_one(whole, tmp_path, monkeypatch):
    """Up to rounding, as parts of a program are computed in another order."""
    monkeypatch.setattr(module, "AT_ONCE", 4)
    for where in ("train", "problem"):
        monkeypatch.setattr(f"partwhole.training.diffusion.{where}.has_accelerator", lambda: True)
    taken, steps = [], module.take_steps

    def counted(state, rest, batches, *given, **named):
        taken.append(len(batches[0]))
        return steps(state, rest, batches, *given, **named)

    monkeypatch.setattr(module, "take_steps", counted)
    runs = train(**small())
    assert sum(taken) == 24
    assert set(taken) == {1, 4}
    for ours, others in zip(leaves(runs.networks), leaves(whole.networks), strict=True):
        np.testing.assert_allclose(ours, others, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(runs.diffusion.bits, whole.diffusion.bits, rtol=1e-4)
    interrupt(monkeypatch, 3, tmp_path / "run.npz", small())
    assert same(train(**small(), checkpoint=tmp_path / "run.npz"), runs)


def interrupt(monkeypatch, steps, file, arguments):
    """Train for so many steps, each of which leaves a checkpoint, and break off."""
    step, taken = module.take_steps, []

    def broken(*given, **named):
        if len(taken) == steps:
            raise KeyboardInterrupt
        taken.append(1)
        return step(*given, **named)

    monkeypatch.setattr(module, "SAVED_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_steps", broken)
        with pytest.raises(KeyboardInterrupt):
            train(**arguments, checkpoint=file)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """Return the checkpoints of a run as they are after each step, of 0 to 23."""
    file, kept = tmp_path_factory.mktemp("stopped") / "run.npz", []
    step = module.take_steps

    def copied(*given, **named):
        kept.append(file.read_bytes() if file.exists() else b"")
        return step(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAVED_EVERY", 0.0)
        patch.setattr(module, "take_steps", copied)
        train(**small(), checkpoint=file)
    return kept


@pytest.mark.parametrize("steps", [1, 5, 6, 7, 20, 23])
def test_a_run_that_stops_at_any_step_resumes_bit_by_bit(
    steps, whole, stopped, tmp_path, monkeypatch
):
    file, step, taken = tmp_path / "run.npz", module.take_steps, []
    file.write_bytes(stopped[steps])

    def counted(*given, **named):
        taken.append(1)
        return step(*given, **named)

    monkeypatch.setattr(module, "take_steps", counted)
    assert same(train(**small(), checkpoint=file), whole)
    assert len(taken) == 24 - steps
    assert list(tmp_path.iterdir()) == [file]


@pytest.fixture(scope="module")
def end(whole, tmp_path_factory):
    """Return the checkpoint of a run that has ended."""
    file = tmp_path_factory.mktemp("end") / "run.npz"
    assert same(train(**small(), checkpoint=file), whole)
    return file.read_bytes()


@pytest.fixture
def ended(end, tmp_path):
    """Return a file with the checkpoint of a run that takes no step any more."""
    file = tmp_path / "run.npz"
    file.write_bytes(end)
    return file


def test_a_run_that_has_ended_takes_no_more_steps(ended, whole, monkeypatch):
    before = ended.read_bytes()
    monkeypatch.setattr(module, "take_steps", None)
    again = train(**small(), checkpoint=ended)
    assert same(again, whole)
    assert (again.outcomes, again.end_steps.tolist()) == (whole.outcomes, [24])
    assert ended.read_bytes() == before


LONGER = {
    # Their last one is recorded too, in the shorter run alone; and in both.
    "few": lambda **length: small(record=[0, 6, 20], **length),
    "regular": lambda **length: small(record=8, **length),
    "none": lambda **length: small(record=None, **length) | {"read": None},
    # The mean loss of a hundred steps that the shorter run has not whole.
    "hundreds": lambda **length: small(record=[3], **({k: 5 * n // 2 for k, n in length.items()})),
    "optax": lambda **length: small(optimiser=ADAM, clip=None, **length),
}


@pytest.mark.parametrize("kind", LONGER)
def test_a_run_that_has_ended_goes_on_bit_by_bit(kind, tmp_path):
    """Of 24 steps, and then of 48, as of 48 at once; in epochs too."""
    file, run = tmp_path / "run.npz", LONGER[kind]
    first = train(**run(steps=24), checkpoint=file)
    on = run(steps=48) if kind == "hundreds" else run(steps=None, epochs=16)
    if kind == "optax":  # as another process has it
        on["training"] = replace(on["training"], optimiser=falling(48))
    longer, at_once = train(**on, checkpoint=file), train(**run(steps=48))
    assert same(longer, at_once)
    assert longer.steps.tolist() == at_once.steps.tolist()
    assert longer.end_steps.tolist() == at_once.end_steps.tolist() == [first.end_steps[0] * 2]


def test_a_run_goes_on_from_wherever_it_was_interrupted(tmp_path, monkeypatch):
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, 7, file, small())
    assert same(train(**small(steps=30), checkpoint=file), train(**small(steps=30)))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"steps": 20},
            "a run goes on to as many steps as its checkpoint has, or more; got 24 in {file} for "
            "20; train for more steps, or name another file",
        ),
        (
            {"steps": 48, "record": [0, 7, 20]},
            "a run that goes on records the steps that its checkpoint has recorded; got "
            "[0, 6, 20, 24] in {file} for [0, 7, 20]; pass these to record, and any after 24, or "
            "name another file",
        ),
    ],
)
def test_runs_that_cannot_go_on_are_refused(change, sentence, ended):
    before = ended.read_bytes()
    with pytest.raises(InputError) as caught:
        train(**small(**change), checkpoint=ended)
    assert str(caught.value) == sentence.format(file=ended)
    assert ended.read_bytes() == before


def test_a_rate_that_depends_on_the_length_does_not_go_on(tmp_path):
    """Both begin with the same step, so that only later ones tell them apart."""
    file = tmp_path / "run.npz"
    train(**small(optimiser=ADAM, clip=None, steps=48), checkpoint=file)
    before, longer = file.read_bytes(), small(optimiser=falling(96), clip=None, steps=96)
    with pytest.raises(InputError) as caught:
        train(**longer, checkpoint=file)
    assert str(caught.value) == (
        "a run goes on by an optimiser that takes the same steps, which a schedule of the learning "
        f"rate over the length of the run doesn't once the length is another; got {file} by "
        "another transformation of optax; pass the same one, whose schedule doesn't depend on the "
        "number of steps, or name another file"
    )
    assert file.read_bytes() == before


def test_a_run_that_diverged_stays_diverged(tmp_path):
    file = tmp_path / "run.npz"
    arguments = small(learning_rate=DIVERGING, steps=250, record=[0], **UNLIMITED)
    first = train(**arguments, checkpoint=file)
    again = train(**arguments, checkpoint=file)
    assert first.outcomes == again.outcomes == (Outcome.DIVERGED,)
    assert first.end_steps.tolist() == again.end_steps.tolist() == [100]
    np.testing.assert_array_equal(first.diffusion.bits, again.diffusion.bits)


def test_models_on_the_way_are_those_of_shorter_runs(whole):
    """Their averages, from which samples are drawn; and training goes on with none of them."""
    for step in (6, 20):
        shorter = train(**small(steps=step, record=None)).diffusion.averaged[0]
        for a, b in zip(leaves(whole.at(step)), leaves(shorter), strict=True):
            np.testing.assert_array_equal(a, b)
    started = leaves(small()["networks"])
    assert all(np.array_equal(*pair) for pair in zip(leaves(whole.at(0)), started, strict=True))
    ended = leaves(whole.diffusion.averaged[0])
    assert all(np.array_equal(*pair) for pair in zip(leaves(whole.at(24)), ended, strict=True))


def test_samples_drawn_afterwards_are_those_drawn_on_the_way(whole):
    """Bit by bit, of several models too, at all recorded steps or at some."""
    models = [vector_model(seed, learned=True) for seed in (0, 1)]
    arguments = {"networks": models, "data": points(), "training": settings(record=[0, 6, 20])}
    on_the_way = train(**arguments, read=sampling()).diffusion
    afterwards = train(**arguments).read(sampling())
    assert afterwards.steps.tolist() == [0, 6, 20, 24]
    for field in ("coordinates", "samples"):
        found, expected = getattr(afterwards, field), getattr(on_the_way, field)
        assert list(found) == list(expected) == ["corner", "moved"]
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)
    some = whole.read(sampling(keep=False), steps=[20, 6])
    assert (some.steps.tolist(), some.samples) == ([6, 20], {})
    expected = whole.diffusion.coordinates["moved"][:, 1:3]
    np.testing.assert_array_equal(some.coordinates["moved"], expected)
    again = some.read(sampling(keep=False, steps=5), steps=[20])
    assert again.coordinates["moved"].shape == (1, 1, 4, 2)


def test_weights_are_kept_where_they_are_few(monkeypatch, tmp_path):
    problem = checked_diffusion_problem(*small().values(), None)
    numbers = sum(leaf.size for leaf in leaves(problem.network(0)))
    assert problem.weights_size == 4 * 4 * numbers
    limit = import_module("partwhole.training.diffusion.problem")
    monkeypatch.setattr(limit, "KEPT_UNASKED", problem.weights_size - 1)
    file = tmp_path / "run.npz"
    runs = train(**small(), checkpoint=file)
    assert runs.diffusion.weights is None
    assert leaves(runs.at(24))[0].tolist() == leaves(runs.diffusion.averaged[0])[0].tolist()
    with pytest.raises(InputError) as caught:
        runs.at(6)
    assert str(caught.value) == (
        "weights on the way are kept by Training(keep_weights=True), or where they are few; got "
        "none of them; train with it, or take those of the end, step 24"
    )
    # A run that goes on keeps what it kept before: nothing.
    with pytest.raises(InputError) as caught:
        train(**small(keep_weights=True, steps=30), checkpoint=file)
    assert str(caught.value) == (
        f"a run keeps its weights from its beginning; got {file} of one that did not; leave "
        "keep_weights out, or name another file"
    )
    monkeypatch.undo()
    assert train(**small(steps=30), checkpoint=file).diffusion.weights is None
    assert train(**small(keep_weights=False)).diffusion.weights is None
    assert len(train(**small(keep_weights=True)).diffusion.weights[0].rows) == 4


def test_weights_that_were_kept_go_on_with_the_run(whole, tmp_path):
    file = tmp_path / "run.npz"
    train(**small(), checkpoint=file)
    longer = train(**small(steps=30), checkpoint=file)
    at_once = train(**small(steps=30))
    for step in (0, 6, 20, 30):
        pair = zip(leaves(longer.at(step)), leaves(at_once.at(step)), strict=True)
        assert all(np.array_equal(a, b) for a, b in pair)
    with pytest.raises(InputError, match="step 24, where 0, 6, 20, 30 are recorded"):
        longer.at(24)


def test_the_schedule_of_the_run_is_recorded(whole):
    """Its endpoints as training has moved them, of the models from which samples are drawn."""
    records = whole.diffusion
    for place, step in enumerate(records.steps.tolist()):
        schedule = whole.at(step).schedule
        ends = [float(schedule(jnp.float32(time))) for time in (0.0, 1.0)]
        np.testing.assert_allclose(records.schedules[0, place], ends, rtol=1e-6)
    first, last = records.schedules[0].T.astype(float)
    assert first[-1] != first[0]
    np.testing.assert_allclose(records.noise_left[0], (1.0 + np.exp(-first)) ** -0.5, rtol=1e-12)
    np.testing.assert_allclose(records.signal_left[0], (1.0 + np.exp(last)) ** -0.5, rtol=1e-12)
    schedule = whole.at(24).schedule
    assert schedule.noise_left == pytest.approx(records.noise_left[0, -1], rel=1e-5)
    assert schedule.signal_left == pytest.approx(records.signal_left[0, -1], rel=1e-4)
    assert records.messages == ()


def test_a_signal_where_sampling_starts_is_warned_of_once():
    """Of alpha = 1 / sqrt(1 + e^2.62) = .26, which a learned schedule came to."""
    model = eqx.tree_at(
        lambda model: model.schedule.learned.slope, small()["networks"], jnp.float32(7.62)
    )
    words = (
        "a schedule leaves at most 0.1 of a sample at time 1, where sampling starts from noise "
        "alone; got 0.26, so that samples are not those that the model learned; train with "
        "schedule='fixed', or read the samples with this in mind"
    )
    with pytest.warns(ScheduleWarning) as caught:
        runs = train(model, points(), settings(record=[0, 6, 20]), read=sampling())
    assert [str(warning.message) for warning in caught] == [f"run 0: {words}"]
    assert runs.diffusion.messages == (f"run 0: {words}",)
    with pytest.warns(ScheduleWarning) as caught:
        sample(model, points()[1][:4], steps=2, seed=0)
    assert [str(warning.message) for warning in caught] == [words]


def test_models_that_there_are_not_are_refused(whole):
    cases = [
        (
            lambda: whole.at(7),
            "models are those of recorded steps; got step 7, where 0, 6, 20, 24 are recorded; pass "
            "one of these, or name it in the record of a Training",
        ),
        (lambda: whole.at(6, run=1), "runs are counted from 0 to 0; got 1; pass one of them"),
        (
            lambda: whole.read(sampling(), steps=[]),
            "some recorded steps are read; got none; leave steps out for all",
        ),
        (
            lambda: whole.read(sampling(pictures="somewhere")),
            "pictures are of images; got samples of (2,); leave them out",
        ),
    ]
    diverging = small(learning_rate=DIVERGING, steps=150, record=[0, 120], **UNLIMITED)
    diverged = train(**diverging)
    cases.append((
        lambda: diverged.at(120),
        "weights are kept until a run diverges; got step 120 of run 0, which had diverged by then; "
        "pass an earlier step",
    ))  # fmt: skip
    coordinates = diverged.read(sampling()).coordinates["corner"][0]
    assert np.isfinite(coordinates[0]).all()
    assert np.isnan(coordinates[1:]).all()
    network = Architecture(2, 3, "relu").networks(2, seeds=[0], outputs=2)
    dense = train(network, points(), Training(steps=1))
    cases.append((
        lambda: dense.at(1),
        "weights on the way are kept of diffusion models; got other networks; take network(run), "
        "that of the end",
    ))  # fmt: skip
    for call, sentence in cases:
        with pytest.raises(InputError) as caught:
            call()
        assert str(caught.value) == sentence


def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(tmp_path, monkeypatch):
    """As it would be written after a minute only."""
    monkeypatch.setattr(module, "take_steps", None)
    with pytest.raises(InputError) as caught:
        train(**small(), checkpoint=tmp_path)
    assert str(caught.value) == (
        f"a checkpoint is a file in a folder that may be written to; got the folder {tmp_path}; "
        f"add a name, {tmp_path / 'run.npz'} say"
    )
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(InputError) as caught:
        train(**small(), checkpoint=tmp_path / "run.npz")
    assert str(caught.value) == (
        f"a checkpoint is a file in a folder that may be written to; got {tmp_path}, which may "
        "not be written to; name another folder"
    )


def moved(amount):
    """Return the prompts of a small run, one of which is moved so far."""
    prompts = dict(sampling().prompts)
    return prompts | {"moved": replace(prompts["moved"], amount=amount)}


OTHERS = {
    "seed": lambda: small(seed=9),
    "rate": lambda: small(learning_rate=0.5),
    "clip": lambda: small(clip=0.5),
    "optax": lambda: small(optimiser=optax.adamw(1e-3)),
    "data": lambda: small() | {"data": tuple(rows[::-1].copy() for rows in points())},
    "prompts": lambda: small() | {"read": sampling(prompts=moved(0.7))},
    "sampling": lambda: small() | {"read": sampling(steps=6)},
}


@pytest.mark.parametrize("kind", ["truncated", "text", *OTHERS])
def test_checkpoints_of_something_else_are_refused(kind, stopped, tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(stopped[1])
    rule = "a checkpoint is a whole file that training wrote; got "
    if kind == "truncated":
        file.write_bytes(file.read_bytes()[:-2000])
    elif kind == "text":
        file.write_text("nothing")
    else:
        rule = (
            "a run resumes from a checkpoint of the same network, settings, seed and samples; got "
        )
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train(**OTHERS.get(kind, small)(), checkpoint=file)
    assert str(caught.value).startswith(rule + str(file))
    assert str(caught.value).endswith("; remove it to begin anew, or name another file")
    assert file.read_bytes() == kept


def test_coordinates_of_two_decoders_are_not_mixed(stopped, tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(stopped[7])
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train(**small() | {"read": sampling(decoder=lambda x: x * 3.0)}, checkpoint=file)
    assert str(caught.value) == (
        "coordinates that were kept go on with the decoder that they began with; got "
        f"{file}, where another one reads the training samples otherwise; pass the same decoder, "
        "remove the file to begin anew, or name another file"
    )
    assert file.read_bytes() == kept


def test_samples_that_are_no_numbers_have_no_coordinates(monkeypatch):
    """A model that has just diverged draws some; a decoder that refuses them doesn't see them."""
    draw = drawing.sample

    def spoiled(*given, **named):
        samples = draw(*given, **named)
        samples[1] = np.nan
        return samples

    def reader(samples):
        assert np.isfinite(samples).all()
        return samples * 2.0

    monkeypatch.setattr(drawing, "sample", spoiled)
    found = train(**small() | {"read": sampling(decoder=reader)}).diffusion
    for coordinates in found.coordinates.values():
        np.testing.assert_array_equal(
            np.isnan(coordinates).all(axis=(0, 1, 3)), np.arange(coordinates.shape[2]) == 1
        )


def test_divergence_ends_training():
    model, read = small()["networks"], sampling()
    options = {"steps": 250, "record": [0, 200], **UNLIMITED}
    training = settings(learning_rate=DIVERGING, **options)
    runs = train(model, points(), training, read=read)
    assert runs.outcomes == (Outcome.DIVERGED,)
    assert runs.end_steps[0] < 200
    assert np.isfinite(runs.diffusion.coordinates["corner"][0, 0]).all()
    assert np.isnan(runs.diffusion.coordinates["corner"][0, 1:]).all()
    assert len(runs.diffusion.bits[0]) == -(-runs.end_steps[0] // 100)
    assert not np.isfinite(runs.training_loss[0, -1])
    # A second attempt at a tenth of the rate starts from the same model.
    tried = settings(learning_rate=np.array([DIVERGING]), restarts=1, **options)
    slower = train(model, points(), settings(learning_rate=TENTH, **options), read=read)
    again = train(model, points(), tried, read=read)
    assert again.learning_rates.tolist() == slower.learning_rates.tolist() == [TENTH]
    np.testing.assert_array_equal(again.diffusion.bits, slower.diffusion.bits)


def test_a_last_step_that_diverged_is_divergence():
    """Its loss was measured before it."""
    training = settings(steps=1, learning_rate=DIVERGING, **UNLIMITED)
    with pytest.warns(ScheduleWarning):  # of endpoints that diverged
        runs = train(vector_model(learned=True), points(), training)
    assert np.isfinite(runs.training_loss).all()
    assert runs.outcomes == (Outcome.DIVERGED,)


def words_of_images():
    """Return a small model of images and words, and some of both.

    It takes the road of U-Nets, which take seconds to compile; their steps are compiled for the
    estimates of memory.
    """
    rng = np.random.default_rng(0)
    images, tokens = rng.random((20, 8, 8, 3)).astype(np.float32), rng.integers(1, 5, (20, 3))
    network = Unrolled(noise_mlp(192, 4, layers=2, width=8, seed=0))
    words = Words(jnp.asarray(rng.normal(size=(5, 4)), jnp.float32))
    return DiffusionModel(network, linear_schedule(), words, (8, 8, 3), 4), images, tokens


def test_images_are_asked_for_in_words_and_shown(tmp_path):
    model, images, tokens = words_of_images()
    training = settings(steps=2, batch=4, record=[0])
    read = Sampling({"seen": Prompt(conditions=tokens[:3])}, steps=2, pictures=tmp_path / "grids")
    names = ["step_000000.png", "step_000002.png"]
    runs = train(model, (images, tokens), training, read=read)
    assert runs.diffusion.coordinates == {}
    assert sorted(file.name for file in (tmp_path / "grids").iterdir()) == names
    train([model, model], (images, tokens), training, read=replace(read, pictures=tmp_path))
    for run in range(2):
        assert sorted(file.name for file in (tmp_path / f"run_{run}").iterdir()) == names


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    network = unet((4, 4, 3), 4, channels=(8,), blocks=1, heads=1, dropout=0.0, clock=8, seed=0)
    model = DiffusionModel(network, linear_schedule(), None, (4, 4, 3), 4)
    x, c = np.zeros((4, 4, 4, 3), np.float32), np.zeros((4, 4), np.float32)
    loop = loop_of(model, (x, c), settings(steps=1, batch=2))

    def step(state):
        return module.take_steps(
            state, loop.rest, module.of_rows((x, c), loop._rows(0, 1)), loop.nothing, loop.key,
            rule=loop.rule, layout=loop.layout,
        )  # fmt: skip

    assert not looped(step, loop.state)


NOTHING_READ = "samples that are drawn are decoded, kept or saved as pictures; got none of decoder,"
LAST = "diffusion models train to the last step, all parameters, in single precision; got "
OPTION = "is an option of diffusion models, by the loss 'bits'; got it for the loss 'squared'"


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            lambda: {"read": sampling(decoder=lambda x: x[:, 0])},
            "what the decoder returns is an array of numbers of shape (n, concepts); got shape (1",
        ),
        (
            lambda: {"read": sampling(prompts={"p": Prompt(conditions=np.zeros((2, 3)))})},
            "rows of 2 numbers; got",
        ),
        (
            lambda: {"read": sampling(prompts={"p": np.zeros((2, 2))})},
            "prompts['p'] is a Prompt; got an array of shape (2, 2); pass a Prompt",
        ),
        (lambda: {"read": sampling(prompts={})}, "samples are drawn for prompts; got none; pass o"),
        (lambda: {"read": sampling(decoder=None, keep=False)}, NOTHING_READ),
        (lambda: {"read": sampling(steps=0)}, "steps is a whole number of at least 1; got 0"),
        (
            lambda: {"read": sampling(pictures="somewhere")},
            "pictures are of images; got samples of (2,)",
        ),
        (
            lambda: {"read": np.zeros((2, 2))},
            "what is read of diffusion models is samples; got an array of shape (2, 2); pass Samp",
        ),
        (
            lambda: {"data": (np.zeros((3, 5), np.float32), points()[1])},
            "samples of this model have shape (n, 2); got",
        ),
        (
            lambda: {"data": (np.full((60, 2), np.nan, np.float32), points()[1])},
            "data[0] is an array of finite numbers; got 120 that are NaN, the first at (0, 0)",
        ),
        (
            lambda: {"data": (points()[0], np.zeros((3, 2), np.float32))},
            "a condition for each sample; got 3 for 60",
        ),
        (
            lambda: {"data": [points()] * 3},
            "data of diffusion models is a pair of samples and conditions; got a list of 3",
        ),
        (
            lambda: {"data": (points()[0], points()[0][:, 0])},
            "conditions of diffusion models are rows, one for each sample; got shape (60,)",
        ),
        (
            lambda: {"networks": [words_of_images()[0], small()["networks"]]},
            "samples of one shape and conditions of one kind; got 2 kinds of them",
        ),
        (
            lambda: {"networks": [small()["networks"]] * 2, "checkpoint": "run.npz"},
            "a checkpoint is that of one network; got 2 networks",
        ),
        (
            lambda: {"checkpoint": "nowhere/run.npz"},
            "a checkpoint is written in a folder that is there; got nowhere",
        ),
        (
            lambda: {"checkpoint": "run.npz"} | {"training": settings(restarts=1)},
            "a checkpoint is that of a training without restarts; got 1 restarts",
        ),
        (lambda: {"test": points()}, "diffusion models are tested by bits_per_dimension; got a t"),
        (lambda: {"teachers": np.zeros((1, 2))}, "tested by bits_per_dimension; got teachers"),
        (
            lambda: {"training": Training(steps=2)},
            "diffusion models are trained by the loss 'bits', and no other networks are; got "
            "'squared' for DiffusionModel; pass loss='bits'",
        ),
        (
            lambda: {"training": settings(record=[25])},
            "steps to record are whole numbers that increase, from 0 to 24; got",
        ),
        (
            lambda: {"training": settings(optimiser="sgd", clip=None)},
            "a learned schedule is trained by an optimiser that rescales slopes, or with clip; got "
            "'sgd' for one whose first endpoint has a slope of 4860; take optimiser='adamw', "
            "clip=1.0, or a model with schedule='fixed'",
        ),
        (lambda: {"training": settings(threshold=1.0)}, LAST + "a threshold; leave it out"),
        (lambda: {"training": settings(flip=True)}, LAST + "crop or flip"),
        (lambda: {"training": settings(precision="float64")}, LAST + "double precision"),
        (lambda: {"training": settings(trained="readout")}, LAST + "a readout alone"),
        (
            lambda: {"training": settings(parametrisation="ntk", clip=None)},
            LAST + "the parametrisation 'ntk'",
        ),
        (
            lambda: {"training": settings(optimiser="sgd", late_factor=0.5)},
            LAST + "a late factor",
        ),
        (
            lambda: {"training": Training(steps=2, loss="bits", optimiser="normalised flow")},
            LAST + "the optimiser 'normalised flow'",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, rule):
    with pytest.raises(InputError) as caught:
        train(**(small() | changes()))
    assert rule in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"training": Training(steps=1, loss="bits")}, "are; got 'bits' for MLP; take the loss 's"),
        (
            {"read": sampling()},
            "samples are drawn from diffusion models; got Sampling for MLP; pass inputs to read",
        ),
    ],
)
def test_what_is_of_diffusion_models_is_of_no_others(arguments, rule):
    network = Architecture(2, 3, "relu").networks(2, seeds=[0], outputs=2)
    with pytest.raises(InputError) as caught:
        train(
            **({"networks": network, "data": points(), "training": Training(steps=1)} | arguments)
        )
    assert rule in str(caught.value)


def test_prompts_that_are_none_are_refused():
    rows = np.zeros((2, 2))
    with pytest.raises(InputError, match="a direction has two ends; got one of toward and away"):
        Prompt(conditions=rows, toward=rows)
    with pytest.raises(InputError, match="guidance is a finite number; got nan"):
        Prompt(conditions=rows, guidance=float("nan"))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"clip": -1.0}, "clip is a finite number of above 0|clip is a finite number above 0"),
        (
            {"drop_condition": 1.0, "loss": "bits"},
            "drop_condition .* at least 0 and below 1; got 1",
        ),
        ({"average": 2.0, "loss": "bits"}, "average .* at least 0 and below 1.*; got 2.0"),
        ({"drop_condition": 0.1}, "drop_condition " + OPTION),
        ({"average": 0.9}, "average " + OPTION),
        (
            {"clip": 1.0, "parametrisation": "ntk"},
            "clip limits the gradient in the parametrisation 'standard'; got 1.0 for 'ntk'; leave",
        ),
    ],
)
def test_settings_that_are_none_are_refused(options, rule):
    with pytest.raises(InputError, match=rule):
        Training(steps=10, **options)


def test_published_settings():
    code = Training.published("diffusion")
    paper = Training.published("diffusion as written", steps=10)
    assert (code.steps, code.batch, code.clip) == (20_000, 64, 0.01)
    assert (paper.steps, paper.batch, paper.clip) == (10, 128, None)
    for published in (code, paper):
        assert (published.loss, published.optimiser, published.learning_rate) == (
            "bits", "adamw", 1e-3
        )  # fmt: skip
        assert (published.weight_decay, published.average) == (0.01, None)
    unclipped = Training.published("diffusion unclipped")
    assert replace(unclipped, clip=0.01).__dict__ == code.__dict__
    in_epochs = Training.published("diffusion", epochs=3, optimiser="adam")
    # The decay of AdamW is no part of the objective.
    assert (in_epochs.steps, in_epochs.weight_decay) == (None, 0.0)


def test_bits_of_a_model_that_was_not_given():
    with pytest.raises(InputError, match="draws"):
        bits_per_dimension(small()["networks"], *points(), draws=1, seed=0)
