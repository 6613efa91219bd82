"""Datasets of torch: the pixels and labels of the samples, in any loader."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from partwhole import tasks
from partwhole._checks import InputError
from partwhole.tasks.shapes.splits import leave_out
from partwhole.torch import dataset

pytestmark = pytest.mark.torch
SPACE = tasks.circles(0.8)
TASK = tasks.transitive_ordering(4)


def composed():
    images = np.random.default_rng(0).uniform(size=(40, 4, 5, 2)).astype(np.float32)
    return tasks.compose_images(TASK, images, np.arange(40) % 4, distance=2, seed=0)


def shapes(seed=0):
    is_train = leave_out(SPACE, "blue small")
    return SPACE.sample(12, side=8, is_train=is_train, seed=seed)


SAMPLES = {"composites": lambda: composed().draw(2), "shapes": shapes}


def pixels(samples):
    return samples[:] if hasattr(samples, "rows") else samples.images


@pytest.mark.parametrize("name", SAMPLES)
def test_entries_are_images_with_channels_first(name):
    import torch

    samples = SAMPLES[name]()
    entries = dataset(samples)
    assert isinstance(entries, torch.utils.data.Dataset)
    assert len(entries) == len(samples) > 8
    expected = pixels(samples)
    for index in (0, 3, -1, np.int64(2), torch.tensor(1)):
        image, _ = entries[index]
        assert (image.dtype, image.is_contiguous()) == (torch.float32, True)
        np.testing.assert_array_equal(image.permute(1, 2, 0), expected[int(index)])
    with pytest.raises(IndexError):
        entries[len(samples)]
    assert len([*entries]) == len(samples)


def test_labels():
    import torch

    drawn, pictures = composed().draw(2), shapes()
    rng = np.random.default_rng(0)
    for samples, labels, expected in (
        (drawn, None, torch.tensor(drawn.targets).float()),
        (drawn, drawn.components, torch.tensor(drawn.components)),
        (pictures, None, torch.tensor(pictures.classes)),
        (pictures, pictures.tokens(), torch.tensor(pictures.tokens())),
        (pictures, pictures.conditions(), torch.tensor(pictures.conditions()).float()),
        (pictures, torch.tensor(pictures.has("red")), torch.tensor(pictures.has("red"))),
        (pictures, torch.tensor(pictures.classes).bfloat16().requires_grad_(),
         torch.tensor(pictures.classes).float()),
        (pictures, rng.integers(9, size=len(pictures)).astype(np.uint8), None),
        (pictures, pictures.classes.tolist(), torch.tensor(pictures.classes)),
    ):  # fmt: skip
        entries = dataset(samples, labels)
        stacked = torch.stack([label for _, label in entries])
        expected = torch.from_numpy(labels.astype(int)) if expected is None else expected
        assert torch.equal(stacked, expected)
        assert stacked.dtype == expected.dtype


@pytest.mark.parametrize("name", SAMPLES)
def test_a_seed_fixes_all_entries(name):
    import torch

    first, again = dataset(SAMPLES[name]()), dataset(SAMPLES[name]())
    for (image, label), (image_again, label_again) in zip(first, again, strict=True):
        assert torch.equal(image, image_again)
        assert torch.equal(label, label_again)
    assert not torch.equal(dataset(shapes(1))[0][0], dataset(shapes(0))[0][0])


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_workers_load_the_same(name, start):
    import torch

    entries = dataset(SAMPLES[name]())

    def batches(**options):
        draw = torch.Generator().manual_seed(3)
        loader = torch.utils.data.DataLoader(
            entries, batch_size=5, shuffle=True, generator=draw, **options
        )
        return [part for batch in loader for part in batch]

    alone = batches()
    several = batches(num_workers=2, multiprocessing_context=start)
    assert len(alone) == 2 * -(-len(entries) // 5)
    for part, part_again in zip(alone, several, strict=True):
        assert torch.equal(part, part_again)


def test_workers_that_are_forked_load_the_same_where_jax_is_not_imported():
    code = """
import sys, numpy as np, torch
from partwhole import tasks
from partwhole.torch import dataset
entries = dataset(tasks.circles(0.8).sample(8, side=8, seed=0))
loaders = [torch.utils.data.DataLoader(entries, 4, num_workers=n, multiprocessing_context=start)
           for n, start in ((0, None), (2, "fork"))]
for alone, several in zip(*loaders, strict=True):
    assert all(map(torch.equal, alone, several))
print("jax" in sys.modules, len(loaders[0]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False 8\n"


def test_batches_are_assembled_at_once(monkeypatch):
    import torch

    from partwhole.tasks.images.composites import Composites

    calls, take = [], Composites.__getitem__
    monkeypatch.setattr(
        Composites, "__getitem__", lambda self, rows: calls.append(rows) or take(self, rows)
    )
    loader = torch.utils.data.DataLoader(dataset(composed().draw(2)), batch_size=6)
    assert len([*loader]) == len(calls)


def refusal(*given):
    with pytest.raises(InputError) as caught:
        dataset(*given)
    return str(caught.value)


def test_sentences():
    rule = "samples are drawn Composites or LabelledShapes; got one of type"
    assert refusal(composed()) == (
        f"{rule} ComposedImages; draw some: images.training(50), or images.draw(5)"
    )
    assert refusal(SPACE) == f"{rule} ConceptSpace; draw some: space.sample(64, seed=0)"
    assert refusal(np.ones((3, 4, 4, 1))) == (
        f"{rule} ndarray; use torch.utils.data.TensorDataset for arrays"
    )
    pictures = shapes()
    assert refusal(pictures, pictures.classes[1:]) == (
        "labels have one entry or row for each sample; got 35 for 36 samples; "
        "pass the labels of these samples"
    )
    assert "got text; convert the text to numbers first" in refusal(pictures, ["red"] * 36)
