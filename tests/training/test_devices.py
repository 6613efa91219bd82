"""Several devices: a run on each, with the results of one device."""

import os
import subprocess
import sys

PROGRAM = """
import jax
import numpy as np
from partwhole.networks import image_network
from partwhole.networks.diffusion import diffusion_model
from partwhole.training import Prompt, Sampling, Training, train

rng, devices = np.random.default_rng(0), set()
images, targets = rng.random((24, 8, 12, 2)), rng.integers(2, size=24) * 2.0 - 1.0
points = rng.normal(size=(30, 2))
networks = [image_network("convnet-small", (8, 12, 2), seed=seed) for seed in range(2)]
models = [diffusion_model("vector", condition=2, seed=seed) for seed in range(2)]
of_images = Training(epochs=1, batch=8, optimiser="adam", learning_rate=1e-3, seed=0)
of_models = Training.published("diffusion", steps=12, record=[12])
read = Sampling({"far": Prompt(conditions=points[:4])}, lambda x: x, steps=5)


def follow(record):
    devices.add(jax.config.jax_default_device)


def trained():
    devices.clear()
    runs = train(networks, (images, targets), of_images, follow=follow, progress=False)
    noisy = train(models, (points, points), of_models, read=read, follow=follow, progress=False)
    parts = (runs.networks, runs.training_loss, noisy.networks, noisy.diffusion.averaged,
             noisy.diffusion.coordinates["far"], noisy.diffusion.bits)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(parts)], devices - {None}


several, used = trained()
assert used == set(jax.local_devices()) and len(used) == 2
jax.local_device_count = lambda: 1
single, used = trained()
assert not used
for ours, others in zip(several, single, strict=True):
    np.testing.assert_array_equal(ours, others)
"""


def test_runs_on_two_devices_are_those_on_one():
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
