"""Gates of ReLU networks on the way of training: the limits that they give, and freezing them.

Full-batch gradient descent separates the training set at some step and goes on. The theory of
frozen gates predicts the decisions of the final network from gates on the way, by the largest
margin for the sum of units' norms. As an experiment, networks are trained on from there with their
gates frozen. Agreement of decisions is counted beyond chance: 0 for independent errors, 1 for the
same decisions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole import solve
from partwhole.limits import Outcome
from partwhole.measures import accuracy
from partwhole.measures.agreement import inconsistency
from partwhole.networks import GatedNetwork
from partwhole.networks.gated import flipped_gates
from partwhole.study import Arrays
from partwhole_studies.gated.descent import trained
from partwhole_studies.gated.digits import digits
from partwhole_studies.gated.point_sets import square_rule

MOST = 25_600  # steps within which a network has to separate its training set
TESTS, GAP = 1400, 0.02  # test points of the synthetic sets, and of the square around its edges
READINGS = ("differ", "limit", "final_limit", "frozen", "error", "exists")


class Sample(NamedTuple):
    """Training and test inputs with a constant, and their labels -1 and +1."""

    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    test_inputs: Float[np.ndarray, "m d"]
    test_labels: Float[np.ndarray, " m"]


def sample(data: str, n: int, seed: int) -> Sample:
    """Draw digits, points of the square, or normal inputs labelled by the product of two."""
    if data == "digits":
        split = digits(seed, n)
        return Sample(split.inputs, split.labels, split.test_inputs, split.test_labels)
    if data == "square":
        points, labels = square_rule(seed, n + TESTS, GAP)
    else:
        drawn = np.random.default_rng(seed).normal(size=(n + TESTS, 6))
        points, labels = np.column_stack([drawn, np.ones(n + TESTS)]), np.sign(drawn[:, :2].prod(1))
    return Sample(points[:n], labels[:n], points[n:], labels[n:])


def separation(errors: Float[np.ndarray, " T"], steps: np.ndarray) -> float:
    """Return the first step from which on no training input is wrong; NaN if the last has some."""
    wrong = np.flatnonzero(errors > 0)
    after = wrong[-1] + 1 if len(wrong) else 0
    return float(steps[after]) if after < len(steps) else np.nan


def agreement(
    first: Float[np.ndarray, " m"], second: Float[np.ndarray, " m"], labels: Float[np.ndarray, " m"]
) -> float:
    """Return agreement beyond chance; NaN for a limit that does not exist, or without errors."""
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.nan
    p, q = (1.0 - accuracy(labels, outputs).value for outputs in (first, second))
    chance = p * (1.0 - q) + q * (1.0 - p)
    return 1.0 - inconsistency(first, second) / chance if chance > 0 else np.nan


def along_training(
    start: GatedNetwork, drawn: Sample, ratios: Float[np.ndarray, " r"], momentum: float
) -> Arrays:
    """Read gates at multiples of the step of separation; the last is the end of training.

    Training is deterministic, so that a network on the way is one that was trained for less long.
    A network whose gates are frozen goes on from its weights, but from rest.

    Returns
    -------
    dict of float arrays
        "separated", the step of separation, and at each multiple: "differ", the share of gates
        that the end has changed; "limit", agreement of the final network with the limit of these
        gates; "final_limit", that of the limit of the final gates; "frozen", that of the final
        network with one trained on with these gates; "error", on the training set; "exists", 1 for
        a certified limit, 0 for a training set that these gates don't separate, NaN if neither was
        certified. All NaN without separation.
    """
    inputs, labels, tests, answers = drawn
    descend = partial(
        trained, inputs=inputs, labels=labels, momentum=momentum, batch=None, late_factor=1.0,
        precision="float64",
    )  # fmt: skip
    separated, last = np.nan, 400
    while np.isnan(separated) and last <= MOST:
        runs = descend([start], steps=last, record="geometric")
        separated = separation(np.asarray(runs.training_error, float)[0], runs.steps)
        last *= 4
    if np.isnan(separated):
        nothing = dict.fromkeys(READINGS, np.full(len(ratios), np.nan))
        return nothing | {"separated": np.array(np.nan)}

    def after(network: GatedNetwork, steps: int) -> GatedNetwork:
        return descend([network], steps=steps, record=[steps]).networks[0] if steps else network

    steps = np.round(ratios * separated).astype(int).tolist()
    networks = [after(start, step) for step in steps]
    frozen = [network.with_frozen_gates() for network in networks]
    limits = [
        solve((inputs, labels), network.gates[0], fit="margin", intercept="none")
        for network in frozen
    ]
    solved = [limit.outcome is Outcome.SOLVED for limit in limits]
    predicted = [
        limit.predict(tests) if certified else np.full(len(tests), np.nan)
        for limit, certified in zip(limits, solved, strict=True)
    ]
    ended = [
        after(network, steps[-1] - step).predict(tests)
        for network, step in zip(frozen, steps, strict=True)
    ]
    final = networks[-1].predict(tests)

    def wrong(network: GatedNetwork) -> float:
        return 1.0 - accuracy(labels, network.predict(inputs)).value

    def exists(outcome: Outcome) -> float:
        decided = outcome in (Outcome.SOLVED, Outcome.INFEASIBLE)
        return float(outcome is Outcome.SOLVED) if decided else np.nan

    readings = {
        "differ": [flipped_gates(network, networks[-1], inputs)[0] for network in networks],
        "limit": [agreement(final, outputs, answers) for outputs in predicted],
        "final_limit": [agreement(predicted[-1], outputs, answers) for outputs in predicted],
        "frozen": [agreement(final, outputs, answers) for outputs in ended],
        "error": [wrong(network) for network in networks],
        "exists": [exists(limit.outcome) for limit in limits],
    }
    arrays = {name: np.array(values, float) for name, values in readings.items()}
    return arrays | {"separated": np.array(separated)}
