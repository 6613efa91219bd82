"""Theories as `compare` takes them: their fit, and their answers to the rows of a task."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Literal, cast

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features import OverlapKernel
from partwhole.limits.fits import Equal
from partwhole.limits.limit import Limit, Outcome
from partwhole.limits.many import Limits
from partwhole.limits.solve import solve
from partwhole.measures.readouts import Readout
from partwhole.measures.salience import Salience
from partwhole.tasks import Task

Fit = Literal["equal", "margin"]
AnyFit = Literal["equal", "margin", "tube", "readout"]
Theory = (
    Limit
    | Limits
    | OverlapKernel
    | Salience
    | Readout
    | Float[np.ndarray, "... orders"]
    | Sequence[Real]
    | Sequence[Limit | OverlapKernel | Salience | Readout]
)
# Least share of the full conjunction: without any, a kernel machine could not fit training rows
# that are no sum of their parts.
LEAST_MEMORY = 1e-6


def theories_of(theory: Theory, runs: int) -> list[object]:
    """Return a theory for each run."""
    is_table = isinstance(theory, np.ndarray) and theory.ndim == 2
    # An entry of `Limits` may be solved anew whenever it is looked at.
    is_list = isinstance(theory, Limits) or (
        isinstance(theory, (list, tuple))
        and any(isinstance(entry, (Limit, Salience, OverlapKernel, Readout)) for entry in theory)
    )
    entries: list[object] = list(theory) if is_table or is_list else [theory]  # type: ignore[arg-type]
    require(
        len(entries) in (1, runs),
        "a theory is one for all runs, or one for each",
        f"{len(entries)} for {runs} run{'s' * (runs != 1)}",
        "pass a sequence of as many",
    )
    return entries * runs if len(entries) == 1 else entries


def fit_of_limits(task: Task, theories: Sequence[object], fit: Fit | None) -> AnyFit:
    """Return the fit of limits, and require that they are limits of the task with one fit."""
    limits = [limit for limit in theories if isinstance(limit, Limit)]
    fits = {type(limit.problem.fit).__name__.lower() for limit in limits}
    require(
        len(limits) == len(theories) and len(fits) == 1 and fit is None,
        "limits have one fit, their own",
        f"{len(limits)} limits of {len(theories)} theories, fits {sorted(fits)}, fit={fit!r}",
        "pass limits alone, of one fit, and leave fit out",
    )
    for limit in limits:
        require(
            limit.predictions.shape == task.targets.shape,
            f"a limit predicts the rows of the task, shape {task.targets.shape}",
            limit.predictions.shape,
            "solve the task, or (inputs, task.targets) with is_train=task.is_train",
        )
        require(
            limit.outcome in (Outcome.SOLVED, Outcome.STATIONARY),
            "a limit is compared if it is solved",
            limit.outcome.name,
            "see its outcome for the remedy",
        )
    return cast(AnyFit, fits.pop())


def fit_of_readouts(theories: Sequence[object], fit: Fit | None) -> AnyFit:
    """Return the fit of readouts, and require that all theories are readouts."""
    count = sum(isinstance(theory, Readout) for theory in theories)
    require(
        count == len(theories) and fit is None,
        "readouts have a fit of their own",
        f"{count} readouts of {len(theories)} theories, fit={fit!r}",
        "pass readouts alone, and leave fit out",
    )
    return "readout"


def predicted_answers(
    task: Task, theory: object, fit: AnyFit, samples: Real | None
) -> Float[np.ndarray, "n *k"]:
    """Return a theory's answers to all rows of a task."""
    if isinstance(theory, Limit):
        return theory.predictions
    if isinstance(theory, Readout):
        return _of_readout(task, theory)
    noise = noise_of(theory)
    if fit == "margin" or noise == 0.0:
        return solve(task, _kernel(task, theory), fit=fit, intercept="free").predictions
    require(
        samples is not None,
        "noise of saliences counts less, the more training samples a row of the task stands for",
        f"noise {noise:.3g} and no samples",
        "pass samples=m for m of each combination, 1 if each has a row, or infinity to leave "
        "noise out",
    )
    assert samples is not None
    ridge = Equal(slack=noise / float(samples))
    return solve(task, _kernel(task, theory), fit=ridge, intercept="free").predictions


def noise_of(theory: object) -> float:
    """Return the noise with which saliences were measured, 0 if that is not known."""
    return float(np.fmax(theory.noise, 0.0)) if isinstance(theory, Salience) else 0.0


def _of_readout(task: Task, readout: Readout) -> Float[np.ndarray, "n *k"]:
    """Return a readout's mean answers to the conditions of a task."""
    rows = readout.rows_of(task.components)
    repeated = len(rows) - len(np.unique(rows))
    require(
        repeated == 0,
        "a readout's mean answers are compared on a task with a row for each of its conditions",
        f"{repeated} rows more",
        "pass readout.task and mean answers in the order of readout.conditions",
    )
    targets, predicted = readout.targets[rows], readout.predicted[rows]
    agrees = targets.shape == (len(rows), task.targets.size // len(rows)) and np.allclose(
        targets, task.targets.reshape(len(rows), -1)
    )
    require(
        agrees and bool(np.all(readout.held_out[rows] == ~task.is_train)),
        "a readout was trained on the training rows of the task, to their targets",
        "other targets or other training rows",
        "pass readout.task",
    )
    return predicted.reshape(task.targets.shape)


def _kernel(task: Task, salience: object) -> OverlapKernel:
    size = task.n_components
    if isinstance(salience, Salience):
        complete = not np.isnan(salience.kappa).any()
        kernel = salience.kernel if complete else salience.count_kernel
    elif isinstance(salience, OverlapKernel):
        kernel = salience
    else:
        kernel = _kernel_of_orders(np.asarray(salience, dtype=float), size)
    require(
        kernel.n_components == size,
        "saliences are of as many components as the task",
        f"{kernel.n_components} for {size}",
        "measure them on the task's own components",
    )
    sigma = np.maximum(kernel.sigma, 0.0)
    sigma[-1] = max(sigma[-1], LEAST_MEMORY * float(sigma[1:].sum()))
    return OverlapKernel(size, sigma)


def _kernel_of_orders(salience: np.ndarray, size: int) -> OverlapKernel:
    """Return the kernel with saliences S(1; C)..S(C; C) or S(1; C)..S(C - 1; C)."""
    require(
        salience.ndim == 1 and len(salience) in (size - 1, size),
        f"saliences of {size} components are S(1;{size}) to S({size};{size})",
        f"{salience.tolist()}",
        "pass them in this order; the last may be left out",
    )
    if len(salience) == size:
        total = sum(comb(size, k) * salience[k - 1] for k in range(1, size + 1))
        require(
            abs(total - 1.0) < 1e-6,
            "saliences of all orders, each times the number of its sets, add up to 1",
            f"{salience.tolist()}, which add up to {total:g}",
            "leave out the last; floats for several runs have a row for each",
        )
    orders = np.array([mask.bit_count() for mask in range(1 << size)])
    sigma = np.append(0.0, np.append(salience[: size - 1], 0.0))[orders]
    sigma[-1] = 1.0 - sigma.sum()
    return OverlapKernel(size, sigma)
