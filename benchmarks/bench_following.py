"""Time of training that is followed, as a ratio to the same training without followers.

Dense networks report every hundred steps, image networks every epoch, diffusion models every
hundred steps. Trainings alternate in random order, and the median of each counts.
"""

from __future__ import annotations

import argparse
import random
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
from partwhole.training import Training, train
from partwhole.training.logs import CSVLog, JSONLines, TensorBoard


def trainings(steps: int) -> dict[str, tuple[Any, Any, Training]]:
    """Return networks, data and settings."""
    rng = np.random.default_rng(0)
    points, targets = rng.normal(size=(32, 10)), rng.normal(size=32)
    images, labels = rng.uniform(size=(256, 8, 8, 1)), rng.integers(0, 4, 256)
    clouds = rng.normal(size=(512, 2)).astype(np.float32)
    dense = {
        width: Architecture(2, width, "relu", bias=True, initial="he", scale=1.0).network(
            10, seed=0, outputs=1
        )
        for width in (64, 512)
    }
    every_hundred = Training(steps=steps, learning_rate=1e-3, record=100)
    small = convnet((8, 8, 1), outputs=4, channels=(4,), kernel=3, dense=(), seed=0)
    in_epochs = Training(loss="cross entropy", epochs=steps // 400, batch=4, learning_rate=0.01)
    return {
        **{
            f"dense, {width} hidden units": (network, (points, targets), every_hundred)
            for width, network in dense.items()
        },
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
        times: dict[str, list[float]] = {}
        for turn in range(options.rounds + 1):
            with tempfile.TemporaryDirectory() as folder:
                ways = list(followers(Path(folder)).items())
                random.shuffle(ways)
                for way, follow in ways:
                    start = time.perf_counter()
                    train(network, data, training, follow=follow(), progress=False)
                    if turn:  # the first round compiles
                        times.setdefault(way, []).append(time.perf_counter() - start)
        base = float(np.median(times.pop("nobody")))
        ratios = ", ".join(f"{way} {np.median(took) / base:.3f}" for way, took in times.items())
        print(f"{name}: {base:.2f} s without; {ratios}")


if __name__ == "__main__":
    main()
