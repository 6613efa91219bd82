"""One ReLU network, and what each kind of limit makes of its training set."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.features import ReLUGates
from partwhole.limits import GatedLimit, Limit, Margin, Outcome, Quadratic, gated_limit, least_cost
from partwhole.measures import accuracy, decision_agreement, inconsistency
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.study import Arrays
from partwhole.training import normalised_flow, train_gated
from partwhole_studies.gated._digits import Digits, linear_baseline

NETWORK, HIDDEN, LEARNED = "network", "hidden layer", "learned gates"
RANDOM, GATES, LINEAR = "random gates", "gates alone", "linear"
KINDS = (NETWORK, HIDDEN, LEARNED, RANDOM, GATES, LINEAR)
PARTS = ("selection", "report")
ENDS = ("descent", "frozen flow")
STEPS = 3200
RESAMPLES = 400
UNSOLVED = (Outcome.INFEASIBLE, Outcome.INACCURATE, Outcome.MAX_STEPS)


def weigh(data: Digits, n_units: int, momentum: float, seed: int, flow_steps: int = 0) -> Arrays:
    """Train a network as published, solve for the limits, and compare decisions.

    With flow steps, training goes on from there with its gates frozen. Limits that no function
    reaches are NaN. Training is in double precision: it leaves images within 1e-5 of units'
    boundaries, where single precision lets the processor choose the gate, and a few gates of
    4,000 change the agreement with their limit by a tenth.
    """
    start = GatedNetwork.draw(
        data.inputs.shape[1], [LearnedGates(n_units), 1], seed=seed, initial="he"
    )
    runs = train_gated(
        [start], data.inputs, data.labels, max_steps=STEPS, momentum=momentum, seeds=[seed],
        record=[STEPS], precision="float64", progress=False,
    )  # fmt: skip
    network = runs.networks[0]
    frozen = network.with_frozen_gates()
    own: ReLUGates = frozen.gates[0]
    drawn = ReLUGates.random(
        data.inputs.shape[1], n_units=n_units, thresholds="median", inputs=data.every,
        always_on=True, seed=seed,
    )  # fmt: skip
    learned = gated_limit(own, data.inputs, data.labels)
    other = gated_limit(drawn, data.inputs, data.labels)
    hidden = _readout(_active(own, data.inputs), data.labels)
    gates = _readout(_open(own, data.inputs), data.labels)
    linear = linear_baseline(data)

    x = np.concatenate([data.test_inputs, data.selection_inputs])
    active, on = _active(own, x), _open(own, x)
    answers = {
        NETWORK: network.predict(x),
        HIDDEN: hidden.predict(active),
        LEARNED: learned.predict(x),
        RANDOM: other.predict(x),
        GATES: gates.predict(on),
        LINEAR: linear.predict(x),
    }
    reported = len(data.test_inputs)
    told = {kind: each[:reported] for kind, each in answers.items()}
    chosen = {kind: each[reported:] for kind, each in answers.items()}
    shares, apart = np.full(2, np.nan), np.full(2, np.nan)
    if learned.outcome not in UNSOLVED:
        shares[0] = runs.fraction_of(learned)[0, -1]
        apart[0] = inconsistency(told[NETWORK], told[LEARNED])
        if flow_steps and runs.training_error[0, -1] == 0.0:
            onward = normalised_flow(
                [frozen], data.inputs, data.labels, max_steps=flow_steps, record=[flow_steps],
                progress=False,
            )  # fmt: skip
            shares[1] = onward.fraction_of(learned)[0, -1]
            late = onward.networks[0].predict(data.test_inputs)
            apart[1] = inconsistency(late, told[LEARNED])
    return {
        "error": np.stack(
            [
                [_error(labels, found[kind]) for kind in KINDS]
                for labels, found in (
                    (data.selection_labels, chosen),
                    (data.test_labels, told),
                )
            ]
        ),
        **_agreement(told, data.test_labels, seed),
        "solved": np.array([bool(np.isfinite(told[kind]).all()) for kind in KINDS]),
        "share": shares,
        "apart": apart,
        "flipped": np.asarray(runs.flipped()[0, 0]),
        "training_error": np.asarray(runs.training_error[0, -1]),
        "gap": np.array([_gap(learned), _gap(other)]),
        "doubled": np.asarray(_doubled(network, x, answers[NETWORK])),
        "hard": np.asarray(_separates(linear, data)),
        "mark": np.asarray(data.every.mean()),
    }


def _active(gates: ReLUGates, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n H"]:
    return np.maximum(inputs @ gates.normals.T, 0.0)


def _open(gates: ReLUGates, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n H"]:
    return (gates.contexts(inputs) >= 0).astype(float)


def _readout(features: Float[np.ndarray, "n H"], labels: Float[np.ndarray, " n"]) -> Limit:
    return least_cost(features, labels, Quadratic(), Margin(), intercept="none")


def _separates(linear: Limit, data: Digits) -> bool:
    return bool((data.labels * linear.predict(data.inputs)).min() > 1.0 - 1e-6)


def _error(labels: Float[np.ndarray, " m"], outputs: Float[np.ndarray, " m"]) -> float:
    return 1.0 - accuracy(labels, outputs).value if np.isfinite(outputs).all() else float("nan")


def _gap(limit: GatedLimit) -> float:
    found = limit.limit
    return found.gap / found.value if limit.outcome not in UNSOLVED else float("nan")


def _agreement(told: dict[str, np.ndarray], labels: Float[np.ndarray, " m"], seed: int) -> Arrays:
    """Return how each limit agrees with the network, with intervals; NaN where there is none."""
    names = ("apart_from_network", "agreement", "low", "high")
    found = {name: np.full(len(KINDS), np.nan) for name in names}
    for place, kind in enumerate(KINDS):
        if kind == NETWORK or not np.isfinite(told[kind]).all():
            continue
        each = decision_agreement(
            told[NETWORK], told[kind], labels, linear=told[LINEAR], resamples=RESAMPLES, seed=seed
        )
        numbers = (each.inconsistency, each.agreement, *each.agreement_interval)
        for name, number in zip(names, numbers, strict=True):
            found[name][place] = number
    return found


def _doubled(
    network: GatedNetwork, inputs: Float[np.ndarray, "m d"], outputs: Float[np.ndarray, " m"]
) -> float:
    """Return the factor by which doubled weights change outputs: 4 without biases."""
    first, last = (2.0 * np.asarray(each, dtype=float)[:, 0] for each in network.weights)
    doubled = np.maximum(inputs @ first.T, 0.0) @ last[0]
    return float(doubled @ outputs / (outputs @ outputs))
