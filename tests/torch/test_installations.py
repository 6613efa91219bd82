"""The room without torch, of which it says that it lacks, and without JAX, which few need."""

from __future__ import annotations

import subprocess
import sys

import pytest

from partwhole import torch as adapter
from partwhole._extras import EXTRAS

JAX = sorted({*EXTRAS["train"]} - {"xarray"})
NAMES = [*adapter.__all__, "read_predictions", "to_state_dict"]


def run(code: str, *missing: str) -> str:
    """Run code as if some packages were not installed, and return what it prints."""
    without = f"import sys; sys.modules.update(dict.fromkeys({[*missing]}))\n"
    command = [sys.executable, "-c", without + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_without_torch_every_function_says_so_in_one_sentence():
    code = f"""
import numpy as np
from partwhole import tasks, torch as adapter
from partwhole.networks import image_network
task = tasks.symbolic_addition(range(-2, 3), [0])
calls = {{
    "compare": dict(task=task, logits=task.targets, theory=[0.4]),
    "dataset": dict(samples=tasks.circles().sample(1, side=8, seed=0)),
    "read_predictions": dict(
        predict=print, steps=[1], images={{"a": np.ones((1, 1))}}, target=[0], n_values=[2]
    ),
    "read_samples": dict(sample=print, steps=[1], prompts={{"a": 1}}, decoder=print),
    "tangent_kernel": dict(model=print, inputs=np.ones((2, 2))),
    "to_state_dict": dict(network=image_network("convnet-small", (8, 8, 1), seed=0)),
}}
for name in {NAMES}:
    try:
        places = (adapter, adapter.predictions, adapter.weights)
        next(getattr(p, name) for p in places if hasattr(p, name))(**calls[name])
    except ImportError as error:
        print(error)
try:
    adapter.weights.from_state_dict({{"a": np.ones(1)}})
except ValueError as error:
    print(error)
"""
    *said, read = run(code, "torch").splitlines()
    assert said == [
        f"partwhole.torch.{name} needs packages of the extra 'torch'; got an installation without "
        "torch; install them: pip install 'partwhole[torch]'"
        for name in NAMES
    ]
    # Weights are read without it.
    assert read.startswith("a state dict is one of torchvision's ResNet-18")


def test_importing_the_room_imports_neither_torch_nor_jax():
    """Nor does torch, once it is there, lose its name to the room within partwhole."""
    code = f"""
import sys, types, partwhole.torch
print({{"torch", "jax"}} & set(sys.modules))

def again(**modules):
    for name in [name for name in sys.modules if name.startswith("partwhole")]:
        del sys.modules[name]
    sys.modules.update(modules)

again(**dict.fromkeys({["torch", *JAX]}))
import partwhole.torch
real = types.ModuleType("torch")
again(torch=real)
import partwhole.torch.tangent, partwhole.recordings.activations
import torch
print(torch is real, partwhole.torch is not real)
"""
    assert run(code) == "set()\nTrue True\n"


@pytest.mark.torch
def test_all_but_weights_works_without_jax():
    code = """
import torch
from partwhole import tasks
from partwhole import torch as adapter
model = torch.nn.Linear(2, 1, bias=False)
print(adapter.tangent_kernel(model, [[1.0, 2.0]]).tolist())
task = tasks.symbolic_addition(range(-2, 3), [0])
print(adapter.compare(task, torch.tensor(task.targets), [0.4]).measured["slope"].mean)
print(len(adapter.dataset(tasks.circles().sample(1, side=8, seed=0))))
draw = lambda step, condition, n, seed: torch.zeros(n, 2)
print(adapter.read_samples(draw, [1], {"a": 0}, lambda x: x).coordinates["a"].shape)
answer = lambda step, images: images
images = {"a": torch.zeros(1, 2)}
readings = adapter.predictions.read_predictions(answer, [1], images, target=[0], n_values=[2])
print(readings.coordinates["a"].tolist())
try:
    adapter.weights.from_state_dict({})
except ImportError as error:
    print(error)
"""
    first, *rest = run(code, *JAX).splitlines()
    assert first == "[[5.0]]"
    assert float(rest[0]) == pytest.approx(1.0)
    assert rest[1:4] == ["4", "(1, 1, 64, 2)", "[[[[0.5]]]]"]
    assert rest[4].startswith("partwhole.networks needs packages of the extra 'train'; got")
