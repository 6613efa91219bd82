"""Models at checkpoints: read as training reads its own, and as probabilities by hand."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.measures.concepts import RAW, capability, concept_path, decode_shapes
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.diffusion import sample as sample_ours
from partwhole.torch import read_samples
from partwhole.torch.predictions import read_predictions
from partwhole.training import Prompt, Sampling, Training, train

pytestmark = pytest.mark.torch
SPACE = tasks.circles(0.8)


def squashed(points):
    return 1.0 / (1.0 + np.exp(-points))


def test_samples_are_read_as_training_reads_its_own():
    """The seeds and the decoder are the same, so that the coordinates are, bit by bit."""
    import torch

    points = np.random.default_rng(0).normal(size=(100, 2))
    training = Training.published("diffusion", steps=30, record=[0, 10, 30], seed=5)
    model = diffusion_model("vector", condition=2, seed=0)
    runs = train(model, (points, points), training, progress=False)
    far = np.full((4, 2), 3.0)
    ours = runs.read(Sampling({"far": Prompt(conditions=far)}, squashed, steps=5), progress=False)

    def sample(step, condition, n, seed):
        at = runs.at(step)
        drawn = sample_ours(at, at.embed(condition), steps=5, seed=seed, progress=False)
        assert len(drawn) == n
        return torch.tensor(np.asarray(drawn), requires_grad=True)

    readings = read_samples(sample, [0, 10, 30], {"far": far}, squashed, n=4, seed=5, keep=True)
    np.testing.assert_array_equal(readings.steps, ours.steps)
    np.testing.assert_array_equal(readings.coordinates["far"], ours.coordinates["far"])
    assert readings.samples["far"].shape == (1, 3, 4, 2)
    assert readings.to_frame().equals(ours.to_frame())


def test_images_of_shapes_are_decoded_and_followed():
    """A "model" that first draws the right colour, then the right size: its path has a corner."""
    import torch

    classes = {0: "red big", 100: "red big", 200: "blue big", 300: "blue small", 400: "blue small"}
    asked = []

    def sample(step, condition, n, seed):
        asked.append((step, condition, seed))
        wanted = SPACE.index(condition if step > 200 else classes[step])
        counts = np.where(np.arange(4) == wanted, n, 0)
        pictures = SPACE.sample(counts, side=32, seed=seed, noise=0.05, jitter=False)
        return torch.tensor(pictures.images.transpose(0, 3, 1, 2)).bfloat16()

    prompts = {"naive": "blue small", "other": "blue small"}
    readings = read_samples(
        sample, [*classes], prompts, lambda images: decode_shapes(images).coordinates(SPACE.ends()),
        n=8, seed=1,
    )  # fmt: skip
    assert [step for step, *_ in asked] == [step for step in classes for _ in prompts]
    assert len({seed for *_, seed in asked}) == 10
    path = concept_path(readings.steps, readings.coordinates["naive"], smoothing=RAW)
    # Noise of 0.05 and the 8 bits of bfloat16 are far below the distance between two values.
    expected = [[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]]
    np.testing.assert_allclose(path.mean, expected, atol=0.05)
    both = capability(readings.steps, readings.coordinates, consecutive=2, seed=0)
    assert both.prompts == ("naive", "other")
    assert both.emergence.step == both.naive_emergence.step == 300.0


def test_channels_stand_where_they_are_said_to():
    images = np.random.default_rng(0).uniform(size=(3, 4, 5, 2))
    shapes = []

    def decoder(samples):
        shapes.append((samples.shape, samples.dtype, samples.flags["C_CONTIGUOUS"]))
        return samples.reshape(3, -1)[:, :2]

    for channels, given in (("last", images), ("first", images.transpose(0, 3, 1, 2))):
        readings = read_samples(
            lambda *_, given=given: given, [1], {"a": 0}, decoder, n=3, channels=channels, keep=True
        )
        np.testing.assert_array_equal(readings.samples["a"][0, 0], images.astype(np.float16))
    assert shapes == [((3, 4, 5, 2), np.dtype(np.float32), True)] * 2


def test_random_numbers_of_torch_are_seeded_and_restored():
    import torch

    def sample(step, condition, n, seed):
        assert not torch.is_grad_enabled()
        return torch.randn(n, 2) + 0.0 * step

    def coordinates(samplers, seed):
        readings = read_samples(samplers, [1, 2], {"a": 0, "b": 1}, squashed, n=3, seed=seed)
        return readings.coordinates

    torch.manual_seed(7)
    expected = torch.randn(3)
    torch.manual_seed(7)
    first, again, next_seed = (coordinates(sample, seed) for seed in (0, 0, 1))
    assert torch.equal(torch.randn(3), expected)
    runs = coordinates([sample, sample], 0)
    for name in ("a", "b"):
        np.testing.assert_array_equal(first[name], again[name])
        np.testing.assert_array_equal(runs[name], [first[name][0], next_seed[name][0]])
    drawn = [*first["a"][0], *first["b"][0], *next_seed["a"][0]]
    assert len(np.unique(np.round(drawn, 12), axis=0)) == 6


def test_samples_that_are_not_finite_have_no_coordinates():
    import torch

    def sample(step, condition, n, seed):
        drawn = torch.zeros(n, 2)
        drawn[: {0: 0, 1: 1, 2: n}[step]] = torch.inf
        return drawn

    readings = read_samples(sample, [0, 1, 2], {"a": 0}, squashed, n=3)
    missing = np.isnan(readings.coordinates["a"][0]).all(axis=2)
    np.testing.assert_array_equal(missing, [[0, 0, 0], [1, 0, 0], [1, 1, 1]])


@pytest.mark.parametrize("batch", [1, 4, 256])
def test_predictions_are_probabilities_of_the_target(batch):
    import torch

    rng = np.random.default_rng(0)
    images = torch.tensor(rng.normal(size=(6, 5)))
    maps = {step: torch.tensor(rng.normal(size=(5, 6))) for step in (1, 2)}
    sizes = []

    def predict(step, rows):
        assert not torch.is_grad_enabled()
        sizes.append(len(rows))
        return (rows @ maps[step]).requires_grad_()

    target = {"target": [1, 2], "n_values": [2, 3]}
    logits = {step: (images @ maps[step]).numpy() for step in maps}
    readings = read_predictions(
        predict,
        [1, 2],
        {"all": images, "some": images[:2]},
        logits="classes",
        batch=batch,
        **target,
    )
    assert max(sizes) == min(batch, 6)
    for turn, step in enumerate((1, 2)):
        joint = np.exp(logits[step]) / np.exp(logits[step]).sum(axis=1, keepdims=True)
        joint = joint.reshape(6, 2, 3)
        expected = np.stack([joint[:, 1].sum(axis=1), joint[:, :, 2].sum(axis=1)], axis=1)
        np.testing.assert_allclose(readings.coordinates["all"][0, turn], expected, rtol=1e-6)
        np.testing.assert_allclose(readings.coordinates["some"][0, turn], expected[:2], rtol=1e-6)

    def five(step, rows):
        return predict(step, rows)[:, :5].bfloat16()

    readings = read_predictions([five, five], [1, 2], {"all": images}, batch=batch, **target)
    for turn, step in enumerate((1, 2)):
        values = np.exp(torch.tensor(logits[step][:, :5]).bfloat16().double().numpy())
        expected = np.stack(
            [values[:, 1] / values[:, :2].sum(1), values[:, 4] / values[:, 2:].sum(1)], axis=1
        )
        for run in range(2):
            coordinates = readings.coordinates["all"][run, turn]
            np.testing.assert_allclose(coordinates, expected, rtol=1e-6)


def test_large_logits_and_those_that_are_not_finite():
    logits = np.array([[1e4, 0.0], [0.0, 1e4], [np.nan, 0.0], [np.inf, 0.0]])
    readings = read_predictions(
        lambda step, rows: logits, [1], {"a": np.zeros((4, 1))}, target=[0], n_values=[2]
    )
    np.testing.assert_array_equal(readings.coordinates["a"][0, 0, :, 0], [1.0, 0.0, np.nan, np.nan])


def refusal(function, *given, **named):
    with pytest.raises(InputError) as caught:
        function(*given, **named)
    return str(caught.value)


def of_samples(answer=lambda *_: np.zeros((64, 2)), steps=(1,), prompts=None, decoder=squashed):
    return refusal(read_samples, answer, steps, {"a": 0} if prompts is None else prompts, decoder)


def test_sentences_of_samples():
    rule = "a call of sample returns 64 samples, shape (64, ...)"
    numbers = "samples are a tensor or an array of numbers"
    steps = "steps are those of checkpoints, increasing"
    for message, sentence in (
        (
            of_samples([]),
            "a model at its checkpoints is a callable sample(step, condition, n, seed), or one for "
            "each run; got none; pass one or more",
        ),
        (of_samples(prompts={}), "samples are drawn for prompts; got none; pass one or more"),
        (of_samples(steps=()), f"{steps}; got none; pass each once, in order"),
        (of_samples(steps=(2, 2)), f"{steps}; got 2, 2; pass each once, in order"),
        (
            of_samples(lambda *_: np.zeros((3, 2))),
            f"{rule}; got shape (3, 2); return as many as it is asked for",
        ),
        (
            of_samples(lambda *_: np.zeros(64)),
            f"{rule}; got shape (64,); return as many as it is asked for",
        ),
        (
            of_samples(lambda *_: {"images": 3}),
            f"{numbers}; got one of type dict; return the tensor alone",
        ),
        (
            of_samples(decoder=lambda x: x[1:]),
            "what the decoder returns has a row of coordinates for each sample; got shape (63, 2) "
            "for 64 samples; return an array of shape (n, concepts)",
        ),
        (
            of_samples(
                lambda step, *_: np.zeros((64, step)), steps=(1, 2)
            ),
            "coordinates have as many concepts at all checkpoints; got 1 and 2; "
            "read all samples by one decoder",
        ),
    ):  # fmt: skip
        assert message == sentence
    assert "what the decoder returns is an array of numbers of shape (n, concepts)" in of_samples(
        decoder=lambda x: x[:, 0]
    )
    assert "steps" in of_samples(steps=(-1,))
    assert "sample is a function or" in of_samples(3)


def test_sentences_of_predictions():
    images = {"a": np.zeros((3, 2))}
    options = {"target": [1, 1], "n_values": [2, 3]}

    def of_predictions(
        answer=lambda step, rows: np.zeros((len(rows), 5)), images=images, **changes
    ):
        return refusal(read_predictions, answer, [1], images, **(options | changes))

    target = "target has a value of each concept, from 0 to its number of values less 1"
    remedy = "pass a row of space.classes, and space.n_values"
    assert of_predictions(target=[1]) == f"{target}; got [1] for [2, 3] values; {remedy}"
    assert of_predictions(target=[2, 1]) == f"{target}; got [2, 1] for [2, 3] values; {remedy}"
    assert of_predictions(images={}) == (
        "predictions are of images; got none; pass a set of them or more"
    )
    for empty in (np.zeros((0, 2)), 3):
        assert of_predictions(images={"a": empty}) == (
            "sets of images are tensors or arrays of shape (n, ...); got 'a' without any; "
            "pass one image or more"
        )
    assert of_predictions(logits="classes") == (
        "logits of classes, of 2 and 3 values, have shape (n, 6); got (3, 5) for 3 images; "
        'choose logits="concepts" or "classes" by what they are of'
    )
    assert of_predictions(lambda step, rows: "text") == (
        "logits are a tensor or an array of numbers; got one of type str; return the tensor alone"
    )
    assert of_predictions([]).startswith(
        "a model at its checkpoints is a callable predict(step, images)"
    )
