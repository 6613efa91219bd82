"""The end of multi-task learning: by gradient flow, by steps, with weight decay, and by theory."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from partwhole import solve
from partwhole._types import Real
from partwhole.features.multitask import multitask_design
from partwhole.flows import Diagonal, flow
from partwhole.flows.conserved import drift
from partwhole.limits import DiagonalWeights, Equal, GroupNorm, HyperbolicEntropy
from partwhole.tasks import SparseTeachers
from partwhole.tasks.sparse_teachers import TeacherSample
from partwhole.training import Training, train

DIMENSION, N_AUX, N_MAIN, ACTIVE = 30, 60, 10, 8
FITTED = 1e-12  # training loss at which flows and steps end


def samples(overlap: int, seeds: list[int]) -> TeacherSample:
    """Draw both tasks for several seeds; the auxiliary one has twice as many rows as features."""
    return SparseTeachers(DIMENSION, ACTIVE, ACTIVE, overlap).samples(seeds, N_MAIN, N_AUX)


def task_pair(
    drawn: TeacherSample, run: int
) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Return a seed's inputs and targets, auxiliary task first, and the auxiliary teacher."""
    inputs = [drawn.aux_inputs[run], drawn.inputs[run]]
    return inputs, [drawn.aux_targets[run], drawn.targets[run]], drawn.auxiliary[run]


def least_group_norm(
    inputs: Float[np.ndarray, "n d"], targets: Float[np.ndarray, " n"], auxiliary: np.ndarray
) -> Float[np.ndarray, " d"]:
    """Return the main coefficients of least group norm beside known auxiliary ones."""
    design = multitask_design([np.eye(len(auxiliary)), inputs])
    both = np.concatenate([auxiliary, targets])
    limit = solve((design, both), cost=GroupNorm(), intercept="none")
    return limit.coefficients.reshape(-1, 2)[:, 1]


def least_decay(
    inputs: list[np.ndarray], targets: list[np.ndarray], decay: Real
) -> tuple[float, Float[np.ndarray, "2 d"]]:
    r"""Return the least :math:`\frac12 MSE + \lambda \sum_d |\beta_d|_2`, and where it is."""
    both = np.concatenate(targets)
    slack = float(decay) * len(both)
    design = multitask_design(inputs)
    limit = solve((design, both), cost=GroupNorm(), fit=Equal(slack=slack), intercept="none")
    return float(decay) * limit.value, limit.coefficients.reshape(-1, 2).T


@cache
def least_of(overlap: int, seed: int) -> Float[np.ndarray, " d"]:
    """Return the same for one of `samples`; no size of weights and no decay enters."""
    inputs, targets, auxiliary = task_pair(samples(overlap, [seed]), 0)
    return least_group_norm(inputs[1], targets[1], auxiliary)


def group_norm(main: np.ndarray, auxiliary: np.ndarray) -> float:
    return float(np.hypot(main, auxiliary).sum())


def distance(found: np.ndarray, reference: np.ndarray) -> float:
    """Return a distance relative to the reference."""
    return float(np.linalg.norm(found - reference) / np.linalg.norm(reference))


def flow_ends(
    overlap: int, seeds: list[int], scale: Real, rtol: Real = 1e-4
) -> dict[str, np.ndarray]:
    """Follow gradient flow from weights of one size, for each seed, and lay the ends beside."""
    drawn = samples(overlap, seeds)
    found: dict[str, list] = {
        name: [] for name in ("ends", "tuned", "least", "excess", "loss", "drift")
    }
    for run, seed in enumerate(seeds):
        inputs, targets, auxiliary = task_pair(drawn, run)
        path = flow(
            Diagonal(
                DiagonalWeights.constant(DIMENSION, scale, n_tasks=2),
                tasks=list(zip(inputs, targets, strict=True)),
            ),
            until=FITTED,
            rtol=rtol,
            atol=0.1 * rtol * float(scale),
        )
        tuned = HyperbolicEntropy.after_finetuning(auxiliary, readout_scale=scale, init_scale=scale)
        limit = solve((inputs[1], targets[1]), cost=tuned, intercept="none")
        end = path.states[-1, 1]
        least = least_of(overlap, seed)
        found["ends"].append(end)
        found["tuned"].append(limit.coefficients)
        found["least"].append(least)
        found["excess"].append(group_norm(end, auxiliary) / group_norm(least, auxiliary) - 1.0)
        found["loss"].append(path.losses[-1])
        found["drift"].append(drift(path))
    return {name: np.array(values) for name, values in found.items()}


def steps_end(
    drawn: TeacherSample, scale: Real, steps: int, decay: Real = 0.0
) -> tuple[Float[np.ndarray, "runs 2 d"], Float[np.ndarray, " runs"]]:
    """Train by gradient descent; return coefficients and what was minimised."""
    training = Training(
        steps=steps,
        learning_rate=0.1,
        threshold=FITTED if decay == 0 else 0.0,
        weight_decay=decay,
        record=[steps],
        precision="float64",
    )
    runs = train(
        DiagonalWeights.constant(DIMENSION, scale, n_tasks=2),
        [(drawn.aux_inputs, drawn.aux_targets), (drawn.inputs, drawn.targets)],
        training,
        progress=False,
    )
    squares = sum((layer**2).reshape(len(layer), -1).sum(axis=1) for layer in runs.networks)
    return runs.networks.coefficients, 0.5 * runs.training_loss[:, -1] + 0.5 * float(
        decay
    ) * squares


def least_weights(
    inputs: list[np.ndarray], targets: list[np.ndarray], decay: Real, seed: int
) -> tuple[float, Float[np.ndarray, "2 d"]]:
    r"""Minimise :math:`\frac12 MSE + \frac12 \lambda |\theta|^2` over weights, from random ones.

    No norm of coefficients enters: the weights alone decide. The optimiser sees the objective in
    units of the decay: it stops at a change of 1e-16 where values are below 1, which for small
    decays is far from the least, at a place that rounding decides.
    """
    rows = sum(map(len, targets))
    (aux, main), (aux_targets, main_targets) = inputs, targets
    weight = 1.0 / (rows * float(decay))  # of an error, beside half the squared weights

    def unpacked(theta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return both pathways, their hidden layer a row and their readouts two."""
        plus, minus = theta.reshape(2, 3, DIMENSION)
        return plus[:1], plus[1:], minus[:1], minus[1:]

    def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
        w, v, x, y = unpacked(theta)
        beta = w * v - x * y
        missed, also = aux @ beta[0] - aux_targets, main @ beta[1] - main_targets
        pull = np.empty_like(beta)
        pull[0], pull[1] = missed @ aux, also @ main
        pull *= weight
        slope = theta.copy()
        into = unpacked(slope)
        into[0][0] += pull[0] * v[0] + pull[1] * v[1]
        into[1][...] += pull * w
        into[2][0] -= pull[0] * y[0] + pull[1] * y[1]
        into[3][...] -= pull * x
        error = 0.5 * weight * (float(missed @ missed) + float(also @ also))
        return error + 0.5 * float(theta @ theta), slope

    found = minimize(
        objective,
        0.3 * np.random.default_rng(seed).normal(size=6 * DIMENSION),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 50},
    )
    w, v, x, y = unpacked(found.x)
    return float(decay) * float(found.fun), w * v - x * y
