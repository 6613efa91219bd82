"""Training of diffusion models: against plain steps, killed and resumed, and refused."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from killed import killed_beside
from programs import looped

from partwhole._checks import InputError
from partwhole.flows.gaussian_diffusion import gaussian_diffusion_loss
from partwhole.networks.diffusion import (
    DiffusionModel,
    Words,
    diffusion_model,
    linear_schedule,
    sample,
    unet,
)
from partwhole.networks.images.layers import Pass
from partwhole.training import (
    DiffusionRecipe,
    Outcome,
    Prompt,
    bits_per_dimension,
    train_diffusion,
)
from partwhole.training.diffusion.bits import terms

module = import_module("partwhole.training.diffusion.train")


def points(n=60, seed=0):
    """Return points around three corners of a square, and what is said of them."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]])[rng.integers(0, 3, n)]
    return (centres + 0.1 * rng.normal(size=(n, 2))).astype(np.float32), centres.astype(np.float32)


def small(**change):
    """Return what a small run is made of."""
    x, c = points()
    told = {"steps": 24, "batch": 16, "drop_condition": 0.2, "average": 0.9, "sampling_steps": 5}
    prompts = {
        "corner": Prompt(conditions=np.full((4, 2), [1.0, 2.0], np.float32)),
        "moved": Prompt(conditions=c[:4], toward=c[:2] + 1.0, away=c[:2], amount=0.5, guidance=2.0),
    }
    rest = {
        "at": [0, 6, 20, 24], "prompts": prompts, "read": lambda x: x * 2.0, "seed": 3,
        "keep_samples": True,
    }  # fmt: skip
    model = diffusion_model("vector", condition=2, schedule="learned", seed=0)
    return model, x, c, DiffusionRecipe(**(told | change)), rest


def leaves(*models):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(models, eqx.is_array))]


def same(one, other):
    """Return whether weights, samples, coordinates and losses of two runs are the same bits."""
    parts = [
        [
            *leaves(run.model, run.averaged),
            *run.samples.values(),
            *run.coordinates.values(),
            run.bits,
        ]
        for run in (one, other)
    ]
    bits = np.array_equal(one.bits, other.bits)
    return bits and all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))


@pytest.fixture(scope="module")
def whole():
    model, x, c, recipe, rest = small()
    return train_diffusion(model, x, c, recipe, **rest)


def test_a_run_and_its_table(whole):
    model, _, _, _, rest = small()
    assert whole.outcome is Outcome.RAN_ALL_STEPS
    assert whole.steps.tolist() == [0, 6, 20, 24]
    assert {name: found.shape for name, found in whole.coordinates.items()} == {
        "corner": (4, 4, 2),
        "moved": (4, 4, 2),
    }
    for name, found in whole.samples.items():
        # Samples are kept in half precision.
        np.testing.assert_allclose(2.0 * found, whole.coordinates[name], rtol=2e-3, atol=2e-3)
    assert whole.bits.shape == (1, 3)
    assert whole.bits_steps.tolist() == [24]
    frame = whole.to_frame()
    assert frame.columns.tolist() == ["prompt", "step", "sample", "concept", "coordinate"]
    assert len(frame) == 2 * 4 * 4 * 2
    row = frame.query("prompt == 'moved' and step == 20 and sample == 1 and concept == 1")
    assert row.coordinate.item() == whole.coordinates["moved"][2, 1, 1]
    # The model that was given is as it was; samples are those of averaged weights.
    assert all(np.array_equal(a, b) for a, b in zip(leaves(model), leaves(small()[0]), strict=True))
    apart = [
        np.max(np.abs(a - b))
        for a, b in zip(leaves(whole.model), leaves(whole.averaged), strict=True)
    ]
    assert max(apart) > 1e-4
    prompt = rest["prompts"]["moved"]
    drawn = np.random.SeedSequence([3, module.SAMPLING, 3, 1]).generate_state(1)[0]
    again = sample(
        whole.averaged, prompt.embed(whole.averaged), steps=5, guidance=2.0, seed=int(drawn)
    )
    np.testing.assert_allclose(2.0 * again, whole.coordinates["moved"][-1], rtol=1e-5, atol=1e-5)


def test_steps_are_those_of_adamw_on_bits_per_dimension():
    """Followed step by step with optax alone, clipped, on batches in the loop's own order."""
    model, x, c, recipe, _ = small(average=None, drop_condition=0.0, steps=5, clip=0.05)
    run = train_diffusion(model, x, c, recipe, seed=3)
    loop = module._Loop(model, x, c, recipe, 3, [], {}, None, False)
    moves = optax.chain(optax.clip_by_global_norm(0.05), optax.adamw(1e-3, weight_decay=0.01))
    kept, rest = eqx.partition(model, eqx.is_inexact_array)
    state, found = moves.init(kept), []

    @jax.jit
    @jax.value_and_grad
    def loss(kept, x, c, noise, network):
        each = terms(eqx.combine(kept, rest), x, c, noise, Pass(network))
        return sum(jnp.mean(part) for part in each)

    for step in range(5):
        which = np.asarray(loop._order(step // 3)).reshape(3, 16)[step % 3]
        noise, network, _ = jax.random.split(jax.random.fold_in(jax.random.key(3), step), 3)
        value, slopes = loss(kept, jnp.asarray(x[which]), jnp.asarray(c[which]), noise, network)
        with jax.numpy_dtype_promotion("standard"):
            change, state = moves.update(slopes, state, kept)
        kept = eqx.apply_updates(kept, change)
        found.append(float(value))
    for a, b in zip(leaves(run.model), leaves(kept), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)
    assert run.bits.sum() == pytest.approx(np.mean(found), rel=1e-5)


def test_every_epoch_takes_every_sample_in_a_new_order():
    model, x, c, recipe, _ = small(batch=20)
    loop = module._Loop(model, x, c, recipe, 3, [], {}, None, False)
    orders = [np.asarray(loop._order(epoch)) for epoch in range(3)]
    for order in orders:
        assert sorted(order.tolist()) == list(range(60))
    assert len({tuple(order.tolist()) for order in orders}) == 3


def test_averaged_weights_follow_behind():
    model, x, c, recipe, _ = small(steps=2, average=0.75)
    once = train_diffusion(model, x, c, replace(recipe, steps=1), seed=0)
    twice = train_diffusion(model, x, c, recipe, seed=0)
    start, first, second = leaves(model), leaves(once.model), leaves(twice.model)
    for a, b, s, found in zip(start, first, second, leaves(twice.averaged), strict=True):
        np.testing.assert_allclose(found, 0.75 * (0.75 * a + 0.25 * b) + 0.25 * s, atol=1e-6)


def test_a_model_learns_what_it_is_shown():
    """And sampling says so: points lie where they are asked for, at the spread they have."""
    x, c = points(600)
    model = diffusion_model("vector", condition=2, seed=0)
    asked = np.repeat([[0.0, 2.0], [1.0, 0.0]], 200, axis=0).astype(np.float32)
    recipe = DiffusionRecipe(steps=1500, batch=128, learning_rate=3e-3, sampling_steps=50)
    run = train_diffusion(
        model, x, c, recipe, seed=0, at=[1500], prompts={"seen": Prompt(conditions=asked)},
        read=lambda each: each,
    )  # fmt: skip
    # As cheap as with the best prediction for points around centres that are known, to a tenth for
    # what 1,500 steps leave and the noise of a hundred batches.
    best = gaussian_diffusion_loss(0.1, (-5.0, 5.0)) / np.log(2.0)
    assert run.bits[-1, 0] == pytest.approx(best, rel=0.1)
    assert run.bits[0, 0] > 2.0 * best
    found = run.coordinates["seen"][0]
    for part, centre in ((found[:200], [0.0, 2.0]), (found[200:], [1.0, 0.0])):
        np.testing.assert_allclose(part.mean(axis=0), centre, atol=0.12)
        assert np.all(part.std(axis=0) < 0.25)


def interrupt(monkeypatch, steps, file, model, x, c, recipe, rest):
    """Train for so many steps, each of which leaves a checkpoint, and break off."""
    step, taken = module.take_step, []

    def broken(*given, **named):
        if len(taken) == steps:
            raise KeyboardInterrupt
        taken.append(1)
        return step(*given, **named)

    monkeypatch.setattr(module, "SAVED_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_step", broken)
        with pytest.raises(KeyboardInterrupt):
            train_diffusion(model, x, c, recipe, checkpoint=file, **rest)


@pytest.mark.parametrize("steps", [1, 5, 6, 7, 19, 20, 23])
def test_a_run_that_stops_at_any_step_resumes_bit_by_bit(steps, whole, tmp_path, monkeypatch):
    model, x, c, recipe, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, steps, file, model, x, c, recipe, rest)
    assert file.exists()
    found = train_diffusion(model, x, c, recipe, checkpoint=file, **rest)
    assert same(found, whole)
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
sys.path[:0] = [{folder!r}, {fixtures!r}]
import time
from importlib import import_module
module = import_module("partwhole.training.diffusion.train")
module.SAVED_EVERY = 0.0
from test_train_diffusion import small
step = module.take_step
def slowly(*given, **named):
    time.sleep(0.05)
    return step(*given, **named)
module.take_step = slowly
model, x, c, recipe, rest = small()
module.train_diffusion(model, x, c, recipe, checkpoint={file!r}, **rest)
"""


def test_a_killed_process_resumes_bit_by_bit(whole, tmp_path):
    file, here = tmp_path / "run.npz", os.path.dirname(__file__)
    text = KILLED.format(
        folder=here, fixtures=os.path.join(here, "..", "..", "fixtures"), file=str(file)
    )
    killed_beside(text, file)
    model, x, c, recipe, rest = small()
    assert same(train_diffusion(model, x, c, recipe, checkpoint=file, **rest), whole)


@pytest.mark.parametrize("kind", ["truncated", "text", "seed", "recipe", "data", "prompts", "at"])
def test_checkpoints_of_something_else_are_refused(kind, tmp_path, monkeypatch):
    model, x, c, recipe, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, 1, file, model, x, c, recipe, rest)
    rule = "a checkpoint is a whole file that training wrote; got "
    if kind == "truncated":
        file.write_bytes(file.read_bytes()[:-2000])
    elif kind == "text":
        file.write_text("nothing")
    else:
        rule = (
            "a run resumes from a checkpoint of the same network, settings, seed and samples; got "
        )
        if kind == "recipe":
            recipe = replace(recipe, learning_rate=0.5)
        elif kind == "data":
            x = x[::-1].copy()
        elif kind == "prompts":
            moved = replace(rest["prompts"]["moved"], amount=0.7)
            rest = rest | {"prompts": rest["prompts"] | {"moved": moved}}
        else:
            rest = rest | {kind: 9 if kind == "seed" else [0, 7, 20, 24]}
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train_diffusion(model, x, c, recipe, checkpoint=file, **rest)
    assert str(caught.value).startswith(rule + str(file))
    assert str(caught.value).endswith("; remove it to begin anew, or name another file")
    assert file.read_bytes() == kept


def test_coordinates_of_two_readers_are_not_mixed(tmp_path, monkeypatch):
    model, x, c, recipe, rest = small()
    file = tmp_path / "run.npz"
    interrupt(monkeypatch, 7, file, model, x, c, recipe, rest)
    kept = file.read_bytes()
    with pytest.raises(InputError) as caught:
        train_diffusion(model, x, c, recipe, checkpoint=file, **rest | {"read": lambda x: x * 3.0})
    assert str(caught.value) == (
        "coordinates that were kept go on with the `read` that they began with; got "
        f"{file}, where another one reads the training samples otherwise; pass the same `read`, "
        "remove the file to begin anew, or name another file"
    )
    assert file.read_bytes() == kept


def test_samples_that_are_no_numbers_have_no_coordinates(monkeypatch):
    """A model that has just diverged draws some; a reader that refuses them doesn't see them."""
    model, x, c, recipe, rest = small()
    drawn = module.sample

    def spoiled(*given, **named):
        samples = drawn(*given, **named)
        samples[1] = np.nan
        return samples

    def reader(samples):
        assert np.isfinite(samples).all()
        return samples * 2.0

    monkeypatch.setattr(module, "sample", spoiled)
    found = train_diffusion(model, x, c, recipe, **rest | {"read": reader})
    for each in found.coordinates.values():
        np.testing.assert_array_equal(
            np.isnan(each).all(axis=(0, 2)), np.arange(each.shape[1]) == 1
        )


def test_divergence_is_told_and_ends_training():
    model, x, c, recipe, rest = small(learning_rate=1e18, clip=None, steps=450, weight_decay=0.0)
    run = train_diffusion(model, x, c, recipe, **(rest | {"at": [0, 400]}))
    assert run.outcome is Outcome.DIVERGED
    assert np.isfinite(run.coordinates["corner"][0]).all()
    assert np.isnan(run.coordinates["corner"][1]).all()
    assert len(run.bits) < 5


def test_images_are_asked_for_in_words_and_shown(tmp_path):
    rng = np.random.default_rng(0)
    images, tokens = rng.random((20, 8, 8, 3)).astype(np.float32), rng.integers(1, 5, (20, 3))
    network = unet((8, 8, 3), 4, channels=(8,), blocks=1, groups=4, heads=2, seed=0)
    words = Words(jnp.asarray(rng.normal(size=(5, 4)), jnp.float32))
    model = DiffusionModel(network, linear_schedule(), words, (8, 8, 3), 4)
    run = train_diffusion(
        model, images, tokens, DiffusionRecipe(steps=2, batch=4, sampling_steps=2), seed=0,
        at=[0, 2], prompts={"seen": Prompt(conditions=tokens[:3])}, pictures=tmp_path / "grids",
    )  # fmt: skip
    assert run.coordinates == {}
    assert sorted(file.name for file in (tmp_path / "grids").iterdir()) == [
        "step_000000.png",
        "step_000002.png",
    ]


def test_no_convolution_runs_inside_a_loop():
    """On a CPU it is some 25 times slower there."""
    model = diffusion_model("small16", condition=4, seed=0)
    x, c = np.zeros((4, 16, 16, 3), np.float32), np.zeros((4, 4), np.float32)
    loop = module._Loop(model, x, c, DiffusionRecipe(steps=1, batch=2), 0, [], {}, None, False)

    def step(state):
        return module.take_step(
            state, loop.rest, loop.samples, loop.conditions, loop.nothing, loop.key,
            recipe=loop.recipe, layout=loop.layout,
        )  # fmt: skip

    assert not looped(step, loop.state)


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"at": [5, 5]}, "samples are asked for at growing steps from 0 to 24; got [5, 5]"),
        ({"at": [25]}, "samples are asked for at growing steps from 0 to 24; got [25]"),
        ({"at": []}, "samples are asked for at steps, by prompts; got 0 steps and 2 prompts"),
        (
            {"read": lambda x: x[:, 0]},
            "what read returns is an array of numbers of shape (n, concepts); got shape (1,)",
        ),
        ({"prompts": {"p": Prompt(conditions=np.zeros((2, 3)))}}, "rows of 2 numbers; got"),
        (
            {"prompts": {"p": np.zeros((2, 2))}},
            "prompts['p'] is a Prompt; got an array of shape (2, 2); pass a Prompt",
        ),
        ({"read": None, "keep_samples": False}, "read, kept or drawn; got none of read, keep_sam"),
        ({"pictures": "somewhere"}, "pictures are of images; got samples of (2,)"),
        ({"samples": np.zeros((3, 5), np.float32)}, "samples of this model have shape (n, 2); got"),
        (
            {"samples": np.full((60, 2), np.nan, np.float32)},
            "samples is an array of finite numbers of shape (n, ...); got 120",
        ),
        ({"conditions": np.zeros((3, 2), np.float32)}, "a condition for each sample; got 3 for 60"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_does_not_fit_is_refused(told, rule):
    model, x, c, recipe, rest = small()
    given = {"samples": x, "conditions": c} | rest | told
    with pytest.raises(InputError) as caught:
        train_diffusion(model, given.pop("samples"), given.pop("conditions"), recipe, **given)
    assert rule in str(caught.value)


def test_prompts_that_are_none_are_refused():
    rows = np.zeros((2, 2))
    with pytest.raises(InputError, match="a direction has two ends; got one of toward and away"):
        Prompt(conditions=rows, toward=rows)
    with pytest.raises(InputError, match="guidance is a finite number; got nan"):
        Prompt(conditions=rows, guidance=float("nan"))


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ({"steps": 0}, "steps"),
        ({"learning_rate": 0.0}, "learning_rate is a positive number; got 0.0"),
        ({"clip": -1.0}, "clip is a positive number; got -1.0"),
        ({"weight_decay": -0.1}, "weight_decay is at least 0; got -0.1"),
        ({"drop_condition": 1.0}, "drop_condition is a share from 0 to below 1; got 1.0"),
        ({"average": 2.0}, "average is a share from 0 to below 1; got 2.0"),
    ],
)
def test_recipes_that_are_none_are_refused(told, rule):
    with pytest.raises(InputError, match=rule):
        DiffusionRecipe(**({"steps": 10} | told))


def test_published_recipes():
    code, paper = DiffusionRecipe.published(), DiffusionRecipe.as_written(steps=10)
    assert (code.steps, code.batch, code.clip, code.sampling_steps) == (20_000, 64, 0.01, 50)
    assert (paper.steps, paper.batch, paper.clip, paper.sampling_steps) == (10, 128, None, 100)
    assert code.average is paper.average is None
    assert code.weight_decay == paper.weight_decay == 0.01


def test_bits_of_a_model_that_was_not_given():
    with pytest.raises(InputError, match="draws"):
        bits_per_dimension(*small()[:3], draws=1, seed=0)
