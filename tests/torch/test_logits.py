"""Logits of torch beside theory: as arrays are, and as a trained readout follows its kernel."""

from __future__ import annotations

import numpy as np
import pytest

import partwhole as pw
from partwhole import tasks
from partwhole._checks import InputError
from partwhole.torch import compare, tangent_kernel

pytestmark = pytest.mark.torch
TASK = tasks.symbolic_addition(range(-4, 5), [0])
CLASSES = tasks.Task(
    np.array([[a, b] for a in range(3) for b in range(3)]),
    np.eye(3)[[(a + b) % 3 for a in range(3) for b in range(3)]],
    np.array([True] * 7 + [False] * 2),
    ("a", "b"),
    (tuple(range(3)), tuple(range(3))),
)
RUNS = np.random.default_rng(0).normal(size=(2, 9, 3)) * 0.1 + CLASSES.targets


def readings(comparison):
    return comparison.to_frame().to_numpy(dtype=object).tolist(), comparison.gap


def same(comparison, expected):
    assert repr(readings(comparison)) == repr(readings(expected))


def test_tensors_are_compared_as_arrays_are():
    import torch

    answers = 0.64 * TASK.targets
    expected = pw.compare(TASK, answers, [0.4])
    exact = torch.tensor(answers, requires_grad=True)
    for logits in (exact, exact[:, None], exact[None], exact[None, :, None], answers, [exact]):
        same(compare(TASK, logits, [0.4]), expected)
    expected = pw.compare(CLASSES, RUNS, [0.4], fit="equal")
    tensors = torch.tensor(RUNS, requires_grad=True)
    for logits in (tensors, [*tensors], RUNS, RUNS.tolist()):
        same(compare(CLASSES, logits, [0.4], fit="equal"), expected)
    single = pw.compare(CLASSES, RUNS[:1], [0.4], fit="equal", has_learned=[True])
    same(compare(CLASSES, tensors[0], [0.4], fit="equal", has_learned=[True]), single)


def test_logits_of_sixteen_bits_are_those_that_they_hold():
    import torch

    logits = torch.tensor(RUNS).bfloat16().requires_grad_()
    held = logits.detach().float().numpy()
    same(compare(CLASSES, logits, [0.4]), pw.compare(CLASSES, held, [0.4]))
    assert np.abs(held - RUNS).max() > 1e-4


@pytest.mark.parametrize("task", [TASK, CLASSES])
@pytest.mark.parametrize("runs", [False, True])
def test_logits_of_several_images_of_a_row_are_averaged(task, runs):
    import torch

    rng = np.random.default_rng(0)
    n = len(task.targets)
    rows = rng.permutation(np.concatenate([np.arange(n), rng.integers(n, size=3 * n)]))
    logits = np.stack([task.targets[rows] * share for share in (0.5, 0.9)])
    logits += 0.1 * rng.normal(size=logits.shape)
    means = np.stack([[run[rows == row].mean(axis=0) for row in range(n)] for run in logits])
    logits, means = (logits, means) if runs else (logits[0], means[0])
    expected = pw.compare(task, means, [0.4], fit="equal")
    for given in (rows, torch.tensor(rows), rows.tolist()):
        comparison = compare(task, torch.tensor(logits), [0.4], rows=given, fit="equal")
        np.testing.assert_allclose(comparison.answers, expected.answers, rtol=1e-12)
        assert comparison.describe() == expected.describe()


def test_a_trained_readout_follows_the_kernel_of_its_model():
    """Of fixed features, gradient descent from 0 ends at the interpolating solution of the kernel.

    With momentum the steps stay within the span of the slopes, and 2,000 of them leave a training
    error below 1e-6.
    """
    import torch

    torch.manual_seed(0)
    task = tasks.symbolic_addition(range(-2, 3), [0])
    inputs, seen = torch.tensor(task.one_hot()), torch.tensor(task.is_train)
    targets = torch.tensor(task.targets)
    model = torch.nn.Sequential(
        torch.nn.Linear(inputs.shape[1], 200), torch.nn.ReLU(), torch.nn.Linear(200, 1, bias=False)
    ).double()
    model[0].requires_grad_(False)
    with torch.no_grad():
        model[2].weight.zero_()
    kernel = tangent_kernel(model, inputs)
    limit = pw.solve(task, kernel, intercept="none")
    largest = np.linalg.eigvalsh(kernel[np.ix_(task.is_train, task.is_train)])[-1]
    descent = torch.optim.SGD(model.parameters(), lr=1.0 / largest, momentum=0.95)
    for _ in range(2000):
        descent.zero_grad()
        (0.5 * (model(inputs[seen])[:, 0] - targets[seen]).square().sum()).backward()
        descent.step()
    logits = model(inputs)
    assert (logits[seen, 0] - targets[seen]).abs().max() < 1e-6
    comparison = compare(task, logits, limit)
    assert comparison.gap.mean < 1e-5
    for name, interval in comparison.measured.items():
        np.testing.assert_allclose(interval.mean, comparison.predicted[name].mean, atol=1e-5)


def refusal(*given, **named):
    with pytest.raises(InputError) as caught:
        compare(*given, **named)
    return str(caught.value)


def test_sentences():
    import torch

    logits = torch.tensor(TASK.targets)
    rows = np.arange(81)
    assert refusal(TASK, logits, [0.4], rows=rows + 1) == (
        "rows are those of the task, 0..80; got 1..81; pass composites.rows, say"
    )
    assert refusal(TASK, logits, [0.4], rows=torch.tensor(rows / 2)).startswith(
        "rows is an array of whole numbers of shape (n,); got 40 that are not whole"
    )
    assert refusal(TASK, logits, [0.4], rows=rows[:-1]) == (
        "logits have an entry for each of rows; got shape (81,) for 80; "
        "pass the logits of all images, in the order of rows"
    )
    assert refusal(TASK, logits[:-1], [0.4], rows=np.r_[rows[:40], rows[:40]]) == (
        "every row of the task has an image or more; got none for 41 of 81; "
        "answer images of held-out rows too"
    )
    assert "got rows of different lengths" in refusal(TASK, [logits, logits[1:]], [0.4])
    assert "logits is an array of numbers; got 'logits'" in refusal(TASK, "logits", [0.4])
    assert "answers have the shape of the task's targets, (81,)" in refusal(
        TASK, logits[:-1], [0.4]
    )
