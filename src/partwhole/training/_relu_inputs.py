"""What training of ReLU networks asks of networks and tests, checked once at the door."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.networks import MLP
from partwhole.tasks.relu_teachers import ReLUTeacher
from partwhole.training._learning_inputs import Task
from partwhole.training._relu_steps import Weights


def layers(network: MLP, dimension: int, n_tasks: int, runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each run's hidden layer, shape (runs, h, d), and readout, shape (runs, k, h)."""
    require(
        network.n_layers == 2 and network.nonlinearity == "relu" and network.biases is None,
        "the network has two layers, ReLU between them and no biases",
        f"{network.n_layers} layers, {network.nonlinearity}, "
        + ("no biases" if network.biases is None else "biases"),
        'draw it by Architecture(layers=2, nonlinearity="relu", bias=False)',
    )
    hidden, readout = (np.asarray(each) for each in network.weights)
    require(
        bool(np.isfinite(hidden).all() and np.isfinite(readout).all()),
        "weights are finite numbers",
        "NaN or infinity",
        "leave out runs that diverged",
    )
    h = hidden.shape[-2]
    shapes = (h, dimension), (n_tasks, h)
    lead = [each.shape[: each.ndim - 2] for each in (hidden, readout)]
    fits = hidden.shape[-2:] == shapes[0] and readout.shape[-2:] == shapes[1]
    require(
        fits and all(each in ((), (runs,)) for each in lead),
        f"layers have shapes (h, {dimension}) and ({n_tasks}, h), or {runs} of them",
        f"shapes {hidden.shape} and {readout.shape}",
        f"draw them by Architecture(...).networks({dimension}, seeds=range({runs}), "
        f"outputs={n_tasks})",
    )
    return (
        np.broadcast_to(hidden, (runs, *shapes[0])),
        np.broadcast_to(readout, (runs, *shapes[1])),
    )


def checked_teachers(
    teachers: Sequence[Sequence[ReLUTeacher]] | None, tasks: Sequence[Task]
) -> tuple[tuple[ReLUTeacher, ...], ...] | None:
    """Return the teachers of each task, one for each run."""
    if teachers is None:
        return None
    runs, _, d = tasks[0].inputs.shape
    drawn = tuple(tuple(each) for each in teachers)
    good = len(drawn) == len(tasks) and all(
        len(each) == runs and all(one.hidden.shape[1] == d for one in each) for each in drawn
    )
    require(
        good,
        f"teachers are one ReLUTeacher in {d} dimensions for each of {runs} runs",
        "others",
        "collect sample.main of each run in a list",
    )
    return drawn


def measure_of(
    run: int,
    teachers: tuple[tuple[ReLUTeacher, ...], ...] | None,
    test: tuple[np.ndarray, np.ndarray] | None,
) -> Callable[[Weights], Float[np.ndarray, " k"]] | None:
    """Return what reads the test loss of each task off the weights of one run."""
    if teachers is not None:
        own = [each[run] for each in teachers]

        def exact(weights: Weights) -> np.ndarray:
            hidden, readout = (np.asarray(each, dtype=float) for each in weights)
            return np.array(
                [
                    expected_error(teacher, hidden.T, v)
                    for teacher, v in zip(own, readout, strict=True)
                ]
            )

        return exact
    if test is None:
        return None
    points, wanted = (each[min(run, len(each) - 1)] for each in test)

    def sampled(weights: Weights) -> np.ndarray:
        with np.errstate(all="ignore"):  # of runs that diverged
            answers = np.maximum(points.astype(weights.hidden.dtype) @ weights.hidden, 0)
            gap = (answers @ weights.readout.T).astype(float) - wanted[:, None]
            return (gap**2).mean(axis=0)

    return sampled


def expected_error(
    teacher: ReLUTeacher, hidden: Float[np.ndarray, "h d"], readout: Float[np.ndarray, " h"]
) -> float:
    """Return `ReLUTeacher.test_error`, in a sixth of its time where units are a thousand.

    In place, by the square root instead of the sine; NaN for weights that diverged.
    """
    units = np.concatenate([hidden, teacher.hidden])
    if not (np.isfinite(units).all() and np.isfinite(readout).all()):
        return float("nan")
    norms = np.linalg.norm(units, axis=1)
    units = units / np.where(norms > 0, norms, 1.0)[:, None]
    signed = np.concatenate([readout, -teacher.readout]) * norms
    cosine = units @ units.T
    np.clip(cosine, -1.0, 1.0, out=cosine)
    mean = np.arccos(cosine)
    np.subtract(pi, mean, out=mean)
    mean *= cosine
    np.multiply(cosine, cosine, out=cosine)
    np.subtract(1.0, cosine, out=cosine)
    mean += np.sqrt(cosine, out=cosine)
    with np.errstate(all="ignore"):  # of runs that diverged
        # A square: below 0 only by rounding.
        return float(np.maximum(0.0, signed @ mean @ signed / (2 * pi)))
