"""Memory of trainings, estimated without computing, against compiled steps; and refused."""

from __future__ import annotations

from importlib import import_module

import jax
import numpy as np
import pytest
from vector_models import vector_model

from partwhole._checks import InputError
from partwhole.networks import image_network
from partwhole.networks.diffusion import unet
from partwhole.networks.diffusion.model import DiffusionModel
from partwhole.networks.diffusion.schedule import linear_schedule
from partwhole.training import Prompt, Sampling, Training, memory, train
from partwhole.training.diffusion.problem import checked_diffusion_problem
from partwhole.training.images.problem import checked_image_problem

images, diffusion = (import_module(f"partwhole.training.{room}.train") for room in (
    "images", "diffusion"
))  # fmt: skip


def measured(step, state, *given, **named):
    """Return the bytes of a compiled step: its state and what it takes beside that."""
    analysis = step.lower(state, *given, **named).compile().memory_analysis()
    return memory.size_of(state) + analysis.temp_size_in_bytes


@pytest.mark.parametrize(
    ("name", "batch", "optimiser"),
    [
        ("convnet-small", 16, "sgd"), ("convnet-small", 64, "adam"), ("resnet-small", 64, "adam"),
        ("vit-small", 32, "adam"),
    ],
)  # fmt: skip
def test_estimates_of_image_networks_are_within_a_factor_of_two(name, batch, optimiser):
    network = image_network(name, (16, 16, 2), outputs=3, seed=0)
    x, y = np.zeros((batch, 16, 16, 2), np.float32), np.zeros(batch, int)
    training = Training(epochs=1, loss="cross entropy", optimiser=optimiser, batch=batch)
    problem = checked_image_problem(network, (x, y), training, None, None, None)
    loop = images.Loop(network, problem.sets["training"], training, 0.1, 0)
    found = measured(
        images.take_step, loop.state, loop.samples, loop.goal, loop._order(0), loop.key,
        kind=loop.kind, layout=loop.layout, batch=batch,
    )  # fmt: skip
    assert 0.5 < found / images.memory_of(problem) < 2.0


def of_images(batch):
    """Return a small U-Net with its samples and conditions."""
    network = unet((8, 8, 3), 4, channels=(16,), blocks=1, groups=4, heads=2, clock=64, seed=0)
    model = DiffusionModel(network, linear_schedule(), None, (8, 8, 3), 4)
    return model, (np.zeros((batch, 8, 8, 3), np.float32), np.zeros((batch, 4), np.float32))


def of_vectors(batch):
    """Return a model that is trained in a moment, with its samples and conditions."""
    return vector_model(), (np.zeros((batch, 2), np.float32), np.zeros((batch, 2), np.float32))


# Most memory is that of parameters, or of what the backward pass reads.
@pytest.mark.parametrize(("kind", "batch"), [(of_vectors, 8), (of_images, 64)])
def test_estimates_of_diffusion_models_are_within_a_factor_of_two(kind, batch):
    model, data = kind(batch)
    training = Training.published("diffusion", steps=1, batch=batch, average=0.9)
    problem = checked_diffusion_problem(model, data, training, None, None)
    loop = diffusion.Loop(problem, 0, 1e-3)
    found = measured(
        diffusion.take_steps, loop.state, loop.rest, diffusion.of_rows(data, loop._order(0)),
        loop.nothing, loop.key,
        rule=loop.rule, layout=loop.layout,
    )  # fmt: skip
    assert 0.5 < found / diffusion.memory_of(problem) < 2.0


def test_an_estimate_grows_with_the_batch_and_is_traced_once_for_a_kind(monkeypatch):
    def estimate(batch):
        model, data = of_vectors(batch)
        training = Training.published("diffusion", steps=1, batch=batch)
        return diffusion.memory_of(checked_diffusion_problem(model, data, training, None, None))

    one, two, four = map(estimate, (10, 20, 40))
    assert one < two
    assert four - two == pytest.approx(2 * (two - one), rel=0.01)
    monkeypatch.setattr(jax, "vjp", None)
    assert estimate(20) == two


def test_trainings_that_do_not_fit_are_refused_before_they_start(monkeypatch):
    model, data = of_vectors(8)
    training = Training.published("diffusion", steps=4, batch=8, record=[0, 1])
    problem = checked_diffusion_problem(model, data, training, None, None)
    needed = diffusion.memory_of(problem)
    kept = problem.weights_size
    monkeypatch.setattr(diffusion, "take_steps", None)
    monkeypatch.setattr(memory, "free_memory", lambda: needed // 2 + kept - 1)
    monkeypatch.setattr(memory, "GIB", 2**20)
    with pytest.raises(InputError) as caught:
        train(model, data, training)
    assert str(caught.value) == (
        f"a training fits into the memory that is free; got an estimate of "
        f"{(needed + kept) / 2**20:.1f} GiB, of which at least {(needed / 2 + kept) / 2**20:.1f} "
        f"are certain, for {(needed // 2 + kept - 1) / 2**20:.1f}; take a smaller batch or model, "
        "or keep fewer samples and weights"
    )
    monkeypatch.undo()
    monkeypatch.setattr(memory, "free_memory", lambda: needed // 2 + kept + 1)
    assert train(model, data, training).end_steps.tolist() == [4]
    monkeypatch.setattr(memory, "free_memory", lambda: None)  # it is not known
    assert train(model, data, training).end_steps.tolist() == [4]
    network = image_network("convnet-small", (8, 8, 1), outputs=2, seed=0)
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    pictures = np.zeros((4, 8, 8, 1)), np.zeros(4, int)
    with pytest.raises(InputError, match=r"got an estimate of .*; take a smaller batch or network"):
        train(network, pictures, Training(epochs=1, loss="cross entropy"))


def test_samples_that_are_kept_count():
    model, data = of_vectors(8)
    training = Training.published("diffusion", steps=4, batch=8, record=[0, 1])
    prompts = {"one": Prompt(conditions=data[1][:3]), "other": Prompt(conditions=data[1][:2])}
    problem = checked_diffusion_problem(model, data, training, Sampling(prompts, keep=True), None)
    kept = train(model, data, training, read=Sampling(prompts, keep=True, steps=1)).diffusion
    assert problem.samples_size == sum(samples.nbytes for samples in kept.samples.values())
    assert problem.weights_size == sum(part.rows.nbytes for part in kept.weights)


def test_free_memory_is_that_of_the_machine_or_its_group(tmp_path, monkeypatch):
    free = memory.free_memory()
    assert free is not None
    assert 2**20 < free < 2**50
    monkeypatch.setattr(memory, "_of_group", lambda: 12345)
    assert memory.free_memory() == 12345
