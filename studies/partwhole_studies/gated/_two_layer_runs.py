"""One split of the digits: two-layer gated networks, their limits, and the published programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole.features import HalfspaceGates
from partwhole.limits import (
    FunctionSpaceL2,
    GatedLimit,
    GroupNorm,
    Margin,
    Outcome,
    Quadratic,
    gated_limit,
    least_cost,
)
from partwhole.measures import inconsistency
from partwhole.networks import GatedNetwork
from partwhole.training import normalised_flow, train_gated
from partwhole_studies.gated._as_published import reloaded, scrambled_group_limit, whitened_limit
from partwhole_studies.gated._digits import Digits, answers, digits, gates_of, linear_baseline

SELECTION = 400
# Learners; those after "linear" are the published programs and the published reading of networks.
NETWORK, LONGER, GROUP, UNITS, FUNCTION, LINEAR = (
    "network", "longer", "group", "units", "function", "linear",
)  # fmt: skip
SCRAMBLED, CODED, CODED_GROUPS, CODED_SIZE, RELOADED = (
    "scrambled groups", "function, as published", "function, scrambled", "function, 1/(HC)",
    "network, reloaded",
)  # fmt: skip
LEARNERS = (
    NETWORK, LONGER, GROUP, UNITS, FUNCTION, LINEAR, SCRAMBLED, CODED, CODED_GROUPS, CODED_SIZE,
    RELOADED,
)  # fmt: skip
NUMBERS = {
    "group_value": "least group norm",
    "units_value": "least Euclidean norm of the weights",
    "function_value": "least sum of squares of whitened weights, by the kernel",
    "whitened_value": "the same, by the whitened weights themselves",
    "coded_value": "least of the published objective",
    "coded_groups_value": "least with scrambled groups only",
    "coded_size_value": "least with the published coefficient only",
    "scrambled_value": "least group norm of scrambled groups",
    "scrambled_true": "group norm of those weights, groups as they are",
    "largest_pull": "largest pull at a unit in the group norm's limit",
    "separable": "1 where a hyperplane separates the training set",
    "share": "share of the largest margin after training",
    "share_longer": "the same after more steps of the flow",
    "training": "error on the training set after training",
    "apart_reloaded": "inconsistency of the network read back as published with its limit",
}


class Split(NamedTuple):
    """Hold the outputs of each learner, report images before those for selection."""

    labels: Float[np.ndarray, " m"]
    outputs: Float[np.ndarray, "l m"]
    numbers: dict[str, float]
    reported: int


def run(seed: int, n_train: int, n_units: int, k: int, steps: int, more: int, coded: bool) -> Split:
    """Split the digits, draw gates, and compare what learns with them."""
    data = digits(seed, n_train, SELECTION)
    return compare(data, gates_of(data, n_units, k), seed, steps, more, coded)


def compare(
    data: Digits, gates: HalfspaceGates, seed: int, steps: int, more: int, coded: bool
) -> Split:
    """Solve for the limits; train if there are steps; solve the published programs if asked.

    What has no solution, as where no weights separate the training set, is NaN.
    """
    tests = np.concatenate([data.test_inputs, data.selection_inputs])
    labels = np.concatenate([data.test_labels, data.selection_labels])
    told: dict[str, np.ndarray] = {}
    numbers = dict.fromkeys(NUMBERS, np.nan)
    group = _limits(data, gates, tests, told, numbers)
    told[LINEAR] = tests @ linear_baseline(data).coefficients
    hard = least_cost(data.inputs, data.labels, Quadratic(), Margin(), intercept="none")
    numbers["separable"] = float(hard.outcome is Outcome.SOLVED)
    if coded:
        _programs(data, gates, tests, told, numbers)
    if steps:
        _networks(data, gates, group, tests, told, numbers, seed, steps, more)
    nothing = np.full(len(tests), np.nan)
    outputs = np.stack([told.get(each, nothing) for each in LEARNERS])
    return Split(labels, outputs, numbers, len(data.test_labels))


def _limits(
    data: Digits,
    gates: HalfspaceGates,
    tests: Float[np.ndarray, "m d"],
    told: dict[str, np.ndarray],
    numbers: dict[str, float],
) -> GatedLimit:
    costs = {GROUP: GroupNorm(), UNITS: Quadratic(), FUNCTION: FunctionSpaceL2()}
    found = {name: gated_limit(gates, data.inputs, data.labels, c) for name, c in costs.items()}
    for name, each in found.items():
        solved = each.outcome is Outcome.SOLVED
        told[name] = each.predict(tests) if solved else np.full(len(tests), np.nan)
    scale = 2.0 * float(gates.n_contexts) ** (3 - gates.n_units)
    numbers |= {
        "group_value": found[GROUP].limit.value,
        "units_value": float(np.sqrt(2.0 * found[UNITS].limit.value)),
        "function_value": scale * found[FUNCTION].limit.value,
    }
    if np.isfinite(told[GROUP]).all():
        numbers["largest_pull"] = float(found[GROUP].pulls.max())
    return found[GROUP]


def _programs(
    data: Digits,
    gates: HalfspaceGates,
    tests: Float[np.ndarray, "m d"],
    told: dict[str, np.ndarray],
    numbers: dict[str, float],
) -> None:
    design, units = gates.design(tests), gates.n_units
    limit, weights, true = scrambled_group_limit(gates, data.inputs, data.labels)
    told[SCRAMBLED] = design @ weights
    numbers |= {"scrambled_value": limit.value, "scrambled_true": true}
    right, short = units**-0.5, 1.0 / (units * gates.n_contexts)
    cases = {
        CODED: ("coded_value", short, True),
        CODED_GROUPS: ("coded_groups_value", right, True),
        CODED_SIZE: ("coded_size_value", short, False),
        "": ("whitened_value", right, False),
    }
    for learner, (name, coefficient, scrambled) in cases.items():
        weights, numbers[name] = whitened_limit(
            gates, data.inputs, data.labels, coefficient=coefficient, scrambled=scrambled
        )
        if learner:
            told[learner] = design @ weights


def _networks(
    data: Digits,
    gates: HalfspaceGates,
    group: GatedLimit,
    tests: Float[np.ndarray, "m d"],
    told: dict[str, np.ndarray],
    numbers: dict[str, float],
    seed: int,
    steps: int,
    more: int,
) -> None:
    start = GatedNetwork.draw(data.inputs.shape[1], [gates, 1], seed=seed)
    runs = train_gated(
        [start], data.inputs, data.labels, max_steps=steps, record=[steps], seeds=[seed],
        progress=False,
    )  # fmt: skip
    told[NETWORK] = answers(runs.networks[0], tests)
    told[RELOADED] = answers(reloaded(runs.networks[0], seed), tests)
    solved = bool(np.isfinite(told[GROUP]).all())
    if solved:
        numbers["apart_reloaded"] = inconsistency(told[RELOADED], told[GROUP])
        numbers["share"] = float(runs.fraction_of(group)[0, -1])
    numbers["training"] = float(runs.training_error[0, -1])
    if more and solved:
        on = normalised_flow(
            runs.networks, data.inputs, data.labels, max_steps=more, record=[more], progress=False
        )
        told[LONGER] = answers(on.networks[0], tests)
        numbers["share_longer"] = float(on.fraction_of(group)[0, -1])
