"""Activations by hooks beside layers that are called by hand, and what is restored afterwards.

The tests run on a stand-in that behaves as torch does, and by `make test-torch` on torch itself.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch_stand_in
from hypothesis import given
from hypothesis import strategies as st

from partwhole import networks
from partwhole._checks import InputError
from partwhole.recordings import activations, from_trials
from partwhole.tasks import compose_images, transitive_ordering

X = np.random.default_rng(0).normal(size=(10, 3))
# One rounding of single precision, of sums of a few products of size 1.
SINGLE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(params=["stand-in", pytest.param("torch", marks=pytest.mark.torch)])
def torch(request, monkeypatch):
    if request.param == "torch":
        return importlib.import_module("torch")
    return torch_stand_in.install(monkeypatch)


def network(torch):
    """Return a model that calls a module twice and another never, and answers with a mapping."""

    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)
            self.relu = torch.nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(self.linear(self.relu(x + 0.0)))

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 4)
            self.rectifier = torch.nn.ReLU(inplace=True)
            self.part = Part()
            self.drop = torch.nn.Dropout()
            self.head = torch.nn.Linear(4, 2)
            self.unused = torch.nn.Linear(2, 2)
            self.pair = torch.nn.Identity()
            self.alias = self.head

        def forward(self, x, shift=None):
            x = self.part(self.rectifier(self.first(x)))
            x = x if shift is None else x + shift
            self.pair((x, x))
            return {"logits": self.head(self.drop(x)), "hidden": x}

    return Model()


def by_hand(model, inputs):
    """Return the layers of the model from its weights, in double precision."""
    weights = {
        name: (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for name, layer in (("first", model.first), ("part", model.part.linear),
                            ("head", model.head))
    }  # fmt: skip

    def linear(name, x):
        weight, bias = weights[name]
        return x @ weight.T + bias

    first = linear("first", inputs)
    rectified = np.maximum(first, 0)
    inner = linear("part", rectified)
    part = np.maximum(inner, 0)
    return {
        "first": first, "rectifier": rectified, "part.relu": rectified, "part.linear": inner,
        "part.relu (call 2)": part, "pair": part, "drop": part, "head": linear("head", part),
    }  # fmt: skip


def state(torch, model):
    modes = [module.training for module in model.modules()]
    hooks = sum(len(module._forward_hooks) for module in model.modules())
    return modes, hooks, torch.is_grad_enabled()


def refusal(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        activations(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize("batch", [1, 3, 10, 256])
def test_all_leaves_that_are_called_answer_as_by_hand(torch, batch):
    model = network(torch)
    model.train()
    model.part.eval()
    before = state(torch, model)
    layers = activations(model, X, batch=batch)
    expected = by_hand(model, X)
    assert list(layers) == list(expected)
    for name, rows in expected.items():
        np.testing.assert_allclose(layers[name], rows, **SINGLE)
        assert layers[name].dtype == np.float32
    assert state(torch, model) == before
    assert len(set(before[0])) == 2


def test_layers_by_name_come_in_the_order_of_the_names(torch):
    model = network(torch)
    expected = by_hand(model, X)
    layers = activations(model, X, ["output", "part", "alias", "first"])
    assert list(layers) == ["output", "part", "alias", "first"]
    np.testing.assert_allclose(layers["output"], expected["head"], **SINGLE)
    np.testing.assert_allclose(layers["alias"], expected["head"], **SINGLE)
    np.testing.assert_allclose(layers["part"], expected["pair"], **SINGLE)
    np.testing.assert_allclose(layers["first"], expected["first"], **SINGLE)


def test_a_layer_of_a_shared_module_has_an_entry_for_every_call(torch):
    layers = activations(network(torch), X, ["part.relu"])
    assert list(layers) == ["part.relu", "part.relu (call 2)"]


def test_a_model_that_is_a_single_layer_is_its_output(torch):
    layer = torch.nn.Linear(3, 2)
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    (only,) = activations(layer, X).items()
    assert only[0] == "output"
    np.testing.assert_allclose(only[1], X @ weight.T + bias, **SINGLE)


def test_a_child_of_the_name_output_is_meant_by_it(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.output = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.output(x) * 2.0

    model = Model()
    alone = activations(model.output, X)["output"]
    np.testing.assert_array_equal(activations(model, X, ["output"])["output"], alone)


@pytest.mark.parametrize(
    "form",
    [
        lambda torch: X,
        lambda torch: X.tolist(),
        lambda torch: X.astype(">f8"),
        lambda torch: np.asfortranarray(X),
        lambda torch: np.repeat(X, 2, axis=0)[::2],
        lambda torch: torch.tensor(X),
        lambda torch: torch.tensor(X, requires_grad=True),
        lambda torch: torch.from_numpy(np.asfortranarray(X)),
        lambda torch: {"x": X},
        lambda torch: {"x": torch.tensor(X), "shift": np.zeros((10, 4))},
    ],
)
def test_inputs_of_any_form_have_one_answer(torch, form):
    model = network(torch)
    expected = activations(model, X, ["output"])["output"]
    np.testing.assert_array_equal(activations(model, form(torch), ["output"])["output"], expected)


def test_the_order_in_memory_does_not_reach_the_model(torch):
    """Products of the same numbers in another order round otherwise on some processors."""

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.orders = []

        def forward(self, x):
            self.orders.append(x.is_contiguous())
            return self.linear(x)

    model, other = Model(), np.asfortranarray(X)
    for inputs in (X, other, torch.from_numpy(other), {"x": torch.from_numpy(X)}):
        activations(model, inputs, batch=5)
    assert model.orders == [True] * 8


def test_inputs_are_not_modified_and_may_be_read_only(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = torch.nn.ReLU(inplace=True)

        def forward(self, x):
            return self.relu(x)

    inputs = X.astype(np.float32)
    tensor = torch.from_numpy(inputs.copy())
    inputs.flags.writeable = False
    for form in (inputs, tensor, {"x": tensor}):
        relu = activations(Model(), form)["relu"]
        np.testing.assert_array_equal(relu, np.maximum(inputs, 0))
    np.testing.assert_array_equal(inputs, X.astype(np.float32))
    np.testing.assert_array_equal(tensor.numpy(), inputs)


@pytest.mark.parametrize(
    ("name", "digits", "dtype"),
    [("float64", 1e-12, np.float64), ("bfloat16", 0.1, np.float32), ("float16", 0.02, np.float32)],
)
def test_a_model_of_any_precision_takes_inputs_of_any(torch, name, digits, dtype):
    """Of 8 and 11 digits of base 2, after two layers whose sums are below 10."""
    model = network(torch)
    expected = by_hand(model.double(), X)["head"]
    head = activations(model.to(getattr(torch, name)), X, ["head"])["head"]
    assert head.dtype == dtype
    np.testing.assert_allclose(head, expected, rtol=digits, atol=digits)


def test_tokens_stay_whole_numbers(torch):
    layer = torch.nn.Embedding(5, 2)
    table = layer.weight.detach().numpy()
    tokens = np.array([[0, 1, 4], [2, 2, 3]], dtype=np.uint8)
    rows = activations(layer, tokens)["output"]
    np.testing.assert_array_equal(rows, table[tokens].reshape(2, -1))


def test_images_are_flattened_and_make_a_recording(torch):
    layer = torch.nn.Linear(3, 2)
    layers = activations(layer, np.ones((6, 4, 5, 3)))
    assert layers["output"].shape == (6, 40)
    images = X.reshape(5, 2, 3)
    recording = from_trials(activations(layer, images)["output"], list("ababa"))
    assert recording.responses.shape == (5, 4)


def test_inputs_go_to_the_device_of_the_parameters(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.devices = []

        def forward(self, x):
            self.devices.append((x.device, self.linear.weight.device))
            return self.linear(x)

    model = Model()
    # The only second device that needs no hardware is that of the stand-in.
    model.to("cpu" if hasattr(torch, "__version__") else "gpu")
    assert activations(model, X, batch=5)["linear"].shape == (10, 2)
    assert len(model.devices) == 2
    assert all(inputs == weights for inputs, weights in model.devices)


def test_an_error_of_the_model_passes_and_all_is_restored(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 2)
            self.passes = 0

        def forward(self, x):
            self.passes += 1
            if self.passes == 2:
                raise KeyError("of the model")
            return self.first(x)

    model = Model()
    before = state(torch, model)
    with pytest.raises(KeyError, match="of the model"):
        activations(model, X, batch=5)
    assert state(torch, model) == before
    assert "is called when" in refusal(network(torch), X, ["unused"])
    model = network(torch)
    before = state(torch, model)
    refusal(model, X, ["unused"])
    assert state(torch, model) == before


def test_hooks_of_the_user_stay(torch):
    model, calls = network(torch), []
    model.first.register_forward_hook(lambda *given: calls.append(1))
    activations(model, X)
    activations(model, X)
    assert len(calls) == 2


def test_no_gradient_is_computed(torch):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 2)

        def forward(self, x):
            answer = self.first(x)
            assert not answer.requires_grad
            assert not self.training
            return answer

    activations(Model(), X)


class Odd:
    """Answers of modules that have no row for each input."""

    @staticmethod
    def model(torch, answer):
        class Inner(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.calls = 0

            def forward(self, x):
                self.calls += 1
                return answer(self, x)

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.odd = Inner()
                self.head = torch.nn.Linear(3, 2)

            def forward(self, x):
                self.odd(x)
                return self.head(x)

        return Model()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda module, x: x.sum(0),
            "the answer of a layer has a row for each input; got shape (3,) for 5 inputs of 'odd'; "
            "choose a layer before or after it",
        ),
        (
            lambda module, x: "no tensor",
            "the answer of a layer has a row for each input; got no tensor for 5 inputs of 'odd'; "
            "choose a layer before or after it",
        ),
        (
            lambda module, x: x[:, : module.calls],
            "a layer answers alike in all passes; got 2 answers of 1 or 2 units in 2 passes of "
            "'odd'; raise batch to the number of inputs",
        ),
    ],
)
def test_layers_without_a_row_for_each_input_are_left_out_or_refused(torch, answer, sentence):
    assert list(activations(Odd.model(torch, answer), X, batch=5)) == ["head"]
    assert refusal(Odd.model(torch, answer), X, ["odd"], batch=5) == sentence


def test_sentences_of_layers(torch):
    model = network(torch)
    assert refusal(model, X, ["haed"]) == (
        "a layer is named as a module of the model; got 'haed'; choose from head"
    )
    assert refusal(model, X, ["zzzz"]) == (
        "a layer is named as a module of the model; got 'zzzz'; choose from output, first, "
        "rectifier, part, part.linear, part.relu, drop, head, unused, pair, alias"
    )
    assert refusal(model, X, []) == (
        "a layer is named as a module of the model; got no name; choose from output, first, "
        "rectifier, part, part.linear, part.relu, drop, head, unused, pair, alias"
    )
    assert refusal(model, X, ["unused"]) == (
        "a layer is called when the model answers; got 'unused', which is not; "
        "choose the layer that calls it"
    )
    assert refusal(model, X, "head") == (
        "layers is a sequence, each item text or None; got 'head'; pass one of these"
    )
    blind = Odd.model(torch, lambda module, x: "no tensor").odd
    assert refusal(blind, X) == (
        "a module of the model answers with a row for each input; got none that does; name a layer"
    )


@pytest.mark.parametrize(
    ("inputs", "got"),
    [
        ("words", "text; convert them to an array, such as the tokens of text"),
        ([["a"], ["b"]], "text; convert them to an array, such as the tokens of text"),
        ([[1.0], [1.0, 2.0]], "objects; convert them to an array, such as the tokens of text"),
        (X + 0j, "complex numbers; convert them to an array, such as the tokens of text"),
        (
            X.astype("m8[s]"),
            "entries of type timedelta64[s]; convert them to an array, such as the tokens of text",
        ),
        (
            np.ma.MaskedArray(X, X[0, 0] == X),
            "1 masked; drop or fill masked entries first",
        ),
    ],
)
def test_sentences_of_inputs(torch, inputs, got):
    assert refusal(network(torch), inputs) == f"inputs are numbers; got {got}"


@pytest.mark.parametrize(
    ("inputs", "got"),
    [
        (3.0, "()"),
        (X[:0], "(0, 3)"),
        ({}, "none"),
        ({"x": X, "shift": X[:2]}, "(10, 3) and (2, 3)"),
    ],
)
def test_sentences_of_lengths(torch, inputs, got):
    assert refusal(network(torch), inputs) == (
        "inputs have a row for each, as many in all arguments; "
        f"got {got}; pass arrays of shape (n, ...)"
    )


@pytest.mark.parametrize("model", [3, None, np.linalg.norm, SimpleNamespace(layers=2)])
def test_other_models_are_refused(torch, model):
    assert refusal(model, X) == (
        "model is a module of torch or a network of partwhole.networks; "
        f"got one of type {type(model).__name__}; "
        "compute its activations yourself, and pass them to from_trials"
    )


def test_tensors_are_recorded_as_arrays(torch):
    numbers = np.arange(12.0).reshape(4, 3) ** 2
    labels = list("abab")
    forms = [
        torch.tensor(numbers),
        torch.tensor(numbers, requires_grad=True),
        torch.tensor(numbers).float(),
        torch.tensor(numbers, dtype=torch.bfloat16, requires_grad=True),
        torch.tensor(numbers).to_sparse(),
        list(torch.tensor(numbers, requires_grad=True)),
    ]
    # All are whole numbers below 256, which 8 digits of base 2 hold.
    for form in forms:
        np.testing.assert_array_equal(from_trials(form, labels).responses, numbers)
    tensor = torch.tensor(np.arange(4) % 2)
    assert from_trials(numbers, tensor).values == ((0, 1),)
    assert from_trials(numbers, {"shape": tensor}, groups=tensor).n_conditions == 2


@pytest.mark.torch
def test_tensors_without_numbers_are_refused():
    import torch

    sentence = (
        "a tensor holds numbers; got one of the device 'meta', which has a shape alone; "
        "move the model and its inputs to a device with memory, 'cpu' say"
    )
    empty = torch.empty((4, 3), device="meta")
    for pair in ((empty, list("abab")), (np.eye(4), empty[:, 0])):
        with pytest.raises(InputError) as caught:
            from_trials(*pair)
        assert str(caught.value) == sentence
    with pytest.raises(InputError) as caught:
        activations(torch.nn.Linear(3, 2, device="meta"), X)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("batch", [1, 4, 256])
def test_networks_of_the_package_answer_as_their_reader(batch):
    model = networks.mlp(3, layers=3, width=4, seed=0)
    for name, expected in zip(model.names, networks.activations(model, X), strict=True):
        rows = activations(model, X, batch=batch)[name]
        # Compiled for batches of another size, sums run in another order.
        np.testing.assert_allclose(rows, expected, **SINGLE)
    assert list(activations(model, X, ["output", "layer 1"])) == ["output", "layer 1"]


def test_images_of_the_package_are_flattened():
    small = {"channels": (2,), "kernel": 3, "padding": "SAME", "dense": (2,)}
    images = np.random.default_rng(0).uniform(size=(40, 4, 4, 1))
    composed = compose_images(
        transitive_ordering(4), images, np.arange(40) % 4, distance=1, combine="channels", seed=0
    ).draw(2)
    from partwhole.networks.images.convnet import convnet

    model = convnet(composed.shape, outputs=2, seed=0, **small)
    layers = activations(model, composed, batch=5)
    whole = networks.activations(model, composed[:])
    assert list(layers) == list(model.names)
    for rows, expected in zip(layers.values(), whole, strict=True):
        np.testing.assert_allclose(rows, expected.reshape(len(composed), -1), **SINGLE)


def test_several_networks_are_refused():
    models = networks.Architecture(2).networks(3, seeds=[0, 1])
    assert refusal(models, X) == (
        "activations are those of one network; got networks along a leading axis; take one of them"
    )
    assert "a layer of this network is one of" in refusal(
        networks.mlp(3, layers=2, width=4, seed=0), X, ["layer 9"]
    )


@given(st.integers(1, 20), st.integers(1, 25))
def test_a_hidden_layer_in_any_batches_is_that_of_its_weights(n, batch):
    model = networks.mlp(3, layers=2, width=4, seed=0, nonlinearity="relu", bias=False)
    rows = np.resize(X, (n, 3))
    layers = activations(model, rows, ["layer 1"], batch=batch)
    expected = np.maximum(rows @ np.asarray(model.weights[0]).T, 0)
    np.testing.assert_allclose(layers["layer 1"], expected, **SINGLE)


def test_torch_is_not_imported():
    code = """
import sys
from partwhole.recordings import activations
try:
    activations(3, [[1.0]])
except ValueError:
    pass
print({"torch", "jax"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
