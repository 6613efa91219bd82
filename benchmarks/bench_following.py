"""CPU time of training that is followed, as a ratio to the same training without followers.

Dense networks report every hundred steps, image networks every epoch, diffusion models every
hundred steps. Trainings alternate, and the least time of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.networks import Architecture
from partwhole.networks.diffusion import diffusion_model
from partwhole.networks.images.convnet import convnet
from partwhole.training import CSVLog, JSONLines, TensorBoard, Training, train


def trainings(steps: int) -> dict[str, tuple[Any, Any, Training]]:
    """Return networks, data and settings."""
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(32, 10)), rng.normal(size=32)
    images, labels = rng.uniform(size=(256, 8, 8, 1)), rng.integers(0, 4, 256)
    clouds = rng.normal(size=(512, 2)).astype(np.float32)
    dense = Architecture(2, 64, "relu", bias=True, initial="he", scale=1.0)
    small = convnet((8, 8, 1), outputs=4, channels=(4,), kernel=3, dense=(), seed=0)
    in_epochs = Training(loss="cross entropy", epochs=steps // 400, batch=4, learning_rate=0.01)
    return {
        "dense, 64 hidden units": (
            dense.network(10, seed=0, outputs=1), (points, targets),
            Training(steps=steps, learning_rate=0.001, record=100),
        ),
        "images, one convolution": (small, (images, labels), in_epochs),
        "diffusion of points": (
            diffusion_model("vector", condition=2, seed=0), (clouds, clouds),
            Training.published("diffusion", steps=steps // 10),
        ),
    }  # fmt: skip


def followers(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return what follows, each made anew for every training."""
    ways: dict[str, Callable[[], Any]] = {
        "nobody": lambda: (),
        "a function": lambda: lambda record: None,
        "CSVLog": lambda: CSVLog(folder / "run.csv"),
        "JSONLines": lambda: JSONLines(folder / "run.jsonl"),
    }
    if find_spec("tensorboard") is not None:
        ways["TensorBoard"] = lambda: TensorBoard(folder / "events")
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for name, (network, data, training) in trainings(options.steps).items():
        least: dict[str, float] = {}
        for turn in range(options.rounds + 1):
            with tempfile.TemporaryDirectory() as folder:
                for way, follow in followers(Path(folder)).items():
                    start = time.process_time()
                    train(network, data, training, follow=follow(), progress=False)
                    if turn:  # the first round compiles
                        took = time.process_time() - start
                        least[way] = min(least.get(way, np.inf), took)
        base = least.pop("nobody")
        ratios = ", ".join(f"{way} {took / base:.3f}" for way, took in least.items())
        print(f"{name}: {base:.2f} s without; {ratios}")


if __name__ == "__main__":
    main()
