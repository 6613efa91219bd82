"""Tangent kernels of torch beside Jacobians by reverse differentiation, and beside our networks."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole import networks
from partwhole._checks import InputError
from partwhole.torch import tangent_kernel

pytestmark = pytest.mark.torch
X = np.random.default_rng(0).normal(size=(9, 4))
OTHER = np.random.default_rng(1).normal(size=(5, 4))
# Sums of single precision round by some 1e-6 of the largest entry, of double by 1e-15.
SHARE = {"float32": 1e-5, "float64": 1e-12}


def dense(bias=True, dtype="float64"):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 6, bias=bias), torch.nn.ReLU(inplace=True), torch.nn.Linear(6, 3, bias)
    )
    return model.to(getattr(torch, dtype))


def convolutional():
    """Return a model with statistics, dropout and a pool, in training mode."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.BatchNorm2d(3), torch.nn.ReLU(inplace=True),
        torch.nn.Dropout(0.5), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(12, 2),
    ).double()  # fmt: skip
    model(torch.randn(8, 2, 4, 4).double())
    return model


def attending():
    """Return a model of tokens that ties its readout to its embedding."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(7, 4)
            self.block = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
            self.readout = torch.nn.Linear(4, 7, bias=False)
            self.readout.weight = self.embedding.weight

        def forward(self, tokens, shift=None):
            hidden = self.block(self.embedding(tokens)).mean(dim=1)
            hidden = hidden if shift is None else hidden + shift
            return {"text": "not a tensor", "logits": self.readout(hidden)}

    torch.manual_seed(0)
    return Model().double()


def recurrent():
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = torch.nn.GRU(4, 3, batch_first=True), torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.head(self.cell(x[:, None])[0][:, -1])[:, 0]

    torch.manual_seed(0)
    return Model().double()


def tensor(values):
    import torch

    return torch.from_numpy(np.array(values))


def jacobian(model, *arguments):
    """Return slopes of all outputs, for one input and output at a time."""
    import torch

    model.eval()
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = []
    for i in range(len(arguments[0])):
        answer = model(*(values[i : i + 1] for values in arguments))
        answer = (answer["logits"] if isinstance(answer, dict) else answer).reshape(-1)
        for value in answer:
            slopes = torch.autograd.grad(value, parameters, retain_graph=True)
            rows.append(torch.cat([slope.reshape(-1) for slope in slopes]).numpy())
    model.train()
    return np.array(rows).reshape(len(arguments[0]), -1, len(rows[0]))


def assert_close(kernel, expected, share=1e-12):
    np.testing.assert_allclose(kernel, expected, rtol=0, atol=share * np.abs(expected).max())


def models():
    pixels, tokens = np.random.default_rng(0).normal(size=(5, 2, 4, 4)), np.arange(15).reshape(5, 3)
    return {
        "dense": (dense, X),
        "convolutional": (convolutional, pixels),
        "attending": (attending, tokens % 7),
        "recurrent": (recurrent, X[:3]),
    }


@pytest.mark.parametrize("name", models())
@pytest.mark.parametrize("batch", [1, 2, 32])
def test_the_kernel_is_that_of_the_jacobian(name, batch):
    if name == "recurrent" and batch > 1:
        batch = 1  # vmap has no rule for it and goes row by row, of which torch warns
    build, inputs = models()[name]
    slopes = jacobian(build(), tensor(inputs))
    model = build()
    expected = np.einsum("nkp,mlp->nmkl", slopes, slopes)
    assert_close(tangent_kernel(model, inputs, output="all", batch=batch), expected)
    trace = np.einsum("nmkk->nm", expected)
    assert_close(tangent_kernel(model, inputs, output="trace", batch=batch), trace)
    for output in range(slopes.shape[1]):
        kernel = tangent_kernel(model, inputs, output=output, batch=batch)
        assert kernel.dtype == np.float64
        assert_close(kernel, expected[:, :, output, output])
        np.testing.assert_array_equal(kernel, kernel.T)


@pytest.mark.parametrize("dtype", SHARE)
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_the_kernel_of_the_same_network_of_partwhole(dtype, bias):
    with jax.enable_x64(dtype == "float64"):
        drawn = networks.Architecture(3, 9, "relu", bias=bias, initial="framework")
        ours = drawn.network(4, seed=0, outputs=2)
        ours = jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), ours)
    import torch

    layers = []
    for place, weight in enumerate(ours.weights):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias)
        values = {"weight": weight} | ({"bias": ours.biases[place]} if bias else {})
        layer.to(getattr(torch, dtype))
        layer.load_state_dict({name: tensor(array) for name, array in values.items()})
        layers += [layer, torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    for output in (0, 1):
        for other in (None, OTHER):
            expected = networks.tangent_kernel(ours, X, other, output=output)
            assert_close(tangent_kernel(model, X, other, output=output), expected, SHARE[dtype])


@pytest.mark.parametrize("memory", [2.0, 4e-6, 3e-6, 2.2e-6])
@pytest.mark.parametrize("output", [1, "trace"])
def test_blocks_of_any_size_have_one_answer(memory, output):
    model, joined = dense(), np.concatenate([X, OTHER])
    whole = tangent_kernel(model, joined, output=output)
    assert_close(tangent_kernel(model, X, output=output, memory_gib=memory), whole[:9, :9])
    across = tangent_kernel(model, X, OTHER, output=output, memory_gib=memory, batch=2)
    assert_close(across, whole[:9, 9:])


def test_blocks_of_all_outputs():
    model = dense()
    whole = tangent_kernel(model, X, output="all")
    blocks = tangent_kernel(model, X, output="all", memory_gib=1.2e-5)
    assert_close(blocks, whole)
    np.testing.assert_array_equal(blocks, blocks.transpose(1, 0, 3, 2))


def test_frozen_parameters_do_not_count():
    """Of a readout alone the kernel is that of the features and of 1 for the bias."""
    import torch

    model = dense()
    model[0].requires_grad_(False)
    with torch.no_grad():
        features = torch.relu(model[0](tensor(X))).numpy()
    assert_close(tangent_kernel(model, X), features @ features.T + 1.0)


def test_forms_of_inputs():
    model, tokens, shift = attending(), np.arange(15).reshape(5, 3) % 7, X[:5]
    slopes = jacobian(attending(), tensor(tokens), tensor(shift))[:, 0]
    given = {"tokens": tokens, "shift": tensor(shift).float().requires_grad_()}
    # The shift is rounded to single precision: 1e-7 of it.
    assert_close(tangent_kernel(model, given), slopes @ slopes.T, 1e-5)
    assert_close(tangent_kernel(model, {"tokens": tokens, "shift": shift}), slopes @ slopes.T)


def ordered(array):
    """Return an array and tensors of the same numbers in other orders in memory."""
    import torch

    last = np.ascontiguousarray(np.moveaxis(array, 1, -1))
    forms = [array, np.asfortranarray(array), np.moveaxis(last, -1, 1), array[::-1].copy()[::-1]]
    return forms + [torch.from_numpy(form.copy("K")) for form in forms]


def test_the_order_in_memory_changes_no_bit():
    import torch

    rng = np.random.default_rng(0)
    for model, inputs in (
        (torch.nn.Sequential(torch.nn.Linear(17, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)),
         rng.normal(size=(64, 17))),
        (torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                             torch.nn.Linear(288, 2)),
         rng.normal(size=(20, 3, 8, 8))),
    ):  # fmt: skip
        kernel = tangent_kernel(model, inputs, inputs[:9], batch=16)
        for form in ordered(inputs):
            np.testing.assert_array_equal(tangent_kernel(model, form, form[:9], batch=16), kernel)


@pytest.mark.parametrize("batch", [1, 2, 32])
@pytest.mark.parametrize("form", [np.array, tensor])
def test_models_may_write_to_their_inputs(form, batch):
    """Slopes of an output in its row of weights are the halved inputs, and 1 in its bias."""
    import torch

    class Halved(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)

        def forward(self, x):
            x /= 2.0
            return self.linear(x)

    model, inputs = Halved().double(), form(X)
    expected = X @ X.T / 4.0 + 1.0
    every = expected[..., None, None] * np.eye(3)
    assert_close(tangent_kernel(model, inputs, output="all", batch=batch), every)
    assert_close(tangent_kernel(model, inputs, output="trace", batch=batch), 3.0 * expected)
    assert_close(tangent_kernel(model, inputs, output=2, batch=batch), expected)
    across = tangent_kernel(model, inputs, inputs[:2], batch=batch, memory_gib=4e-6)
    assert_close(across, expected[:, :2])
    np.testing.assert_array_equal(np.asarray(inputs), X)


def test_sixteen_bits_are_summed_in_thirty_two():
    """Slopes round by 2**-8 of themselves, some hundred of them at random: 2 % is wide."""
    kernel = tangent_kernel(dense(dtype="bfloat16"), X)
    expected = tangent_kernel(dense(), X)
    assert_close(kernel, expected, 0.02)
    with pytest.raises(AssertionError):
        assert_close(kernel, expected, 1e-5)


def test_many_parameters_round_as_few():
    """A running sum of 4 million squares in single precision would be wrong by 1e-4 of itself."""
    import torch

    rows = np.random.default_rng(0).normal(size=(2, 2**22)).astype(np.float32)
    exact = rows.astype(float) @ rows.astype(float).T
    model = torch.nn.Linear(2**22, 1, bias=False)
    assert_close(tangent_kernel(model, rows), exact, 1e-6)


def test_the_model_is_left_as_it_was():
    import torch

    model = convolutional()
    model[1].eval()
    model[6].bias.requires_grad_(False)
    model(tensor(np.ones((2, 2, 4, 4)))).sum().backward()
    before = {name: values.clone() for name, values in model.state_dict().items()}
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    modes = [module.training for module in model.modules()]
    pixels = np.ones((3, 2, 4, 4))
    with torch.no_grad():
        tangent_kernel(model, pixels)
    with pytest.raises(RuntimeError):
        tangent_kernel(model, np.ones((3, 5, 4, 4)))
    assert [module.training for module in model.modules()] == modes
    assert [p.requires_grad for p in model.parameters()] == [True] * 5 + [False]
    for name, values in model.state_dict().items():
        assert torch.equal(values, before[name])
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        assert gradient is None or torch.equal(parameter.grad, gradient)


def test_memory_is_bounded():
    """Of 128 MiB of slopes, 24 MiB may be held at once; torch itself takes some more."""
    code = """
import resource, sys, torch
from partwhole.torch import tangent_kernel
model = torch.nn.Sequential(torch.nn.Linear(1024, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
rows = torch.randn(64, 1024)
unit = 2**20 if sys.platform == "darwin" else 2**10
tangent_kernel(model, rows[:2], progress=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
for memory in (24 / 1024, 2.0):
    tangent_kernel(model, rows, memory_gib=memory, batch=4, progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit - before)
"""
    # A process counts the memory of the one that it was forked from, so a small one goes between.
    command = ["sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    bounded, free = map(float, done.stdout.split())
    assert bounded < 64 < 128 < free


def refusal(*given, **named):
    with pytest.raises(InputError) as caught:
        tangent_kernel(*given, **named)
    return str(caught.value)


def test_sentences():
    import torch

    model = dense()
    assert refusal(networks.mlp(4, seed=0), X) == (
        "model is a module of torch; got MLP; use networks.tangent_kernel for networks of partwhole"
    )
    assert refusal(model, X, output=3) == (
        'output is one of the model\'s 3, from 0; got 3; pass 0, or "trace" for the sum over all'
    )
    assert refusal(model, X, output="mean") == (
        'output is "trace" or "all"; got \'mean\'; choose one of them'
    )
    assert refusal(model, X, {"x": X}) == (
        "inputs and other have the same arguments; got no name and x; "
        "pass both as arrays, or both as mappings with the same names"
    )
    assert refusal(model, X, memory_gib=1e-6) == (
        "the tangent kernel of 9 and 9 inputs and 3 rows of slopes fit into memory_gib; got 1e-06, "
        "but they take 1.8e-06; pass fewer inputs, or more memory_gib if the machine has it"
    )
    frozen = dense().requires_grad_(False)
    assert refusal(frozen, X) == (
        "a tangent kernel is that of parameters which require gradients; got 4 parameters, none of "
        "which does; pass the model before it is frozen, or model.requires_grad_()"
    )

    class Mean(torch.nn.Module):
        def __init__(self, answer):
            super().__init__()
            self.layer, self.answer = torch.nn.Linear(4, 2), answer

        def forward(self, x):
            return self.answer(self.layer(x))

    remedy = "wrap it in a module that answers with shape (n, k)"
    for answer, got in ((lambda x: x.mean(), "shape () for 1 input"), (lambda x: 3, "no tensor")):
        assert refusal(Mean(answer), X) == (
            f"the answer of a model has a row for each input; got {got}; {remedy}"
        )
    assert refusal(model, X * np.nan) == (
        "the slopes of the model are finite; got 81 of 81 entries of the kernel that are not; "
        "pass finite inputs of the size that the model takes, or train it without divergence"
    )
    assert refusal(model, X[:0]) == (
        "inputs have a row for each, as many in all arguments; got (0, 4); "
        "pass arrays of shape (n, ...)"
    )
