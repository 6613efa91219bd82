"""Limits of several runs, and which of them coincide."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from partwhole._door import door
from partwhole._types import Positive, Real
from partwhole.networks import GatedNetwork
from partwhole.training.margin_ascent import ascend_margin
from partwhole.training.outcome import Outcome
from partwhole.training.results import Runs
from partwhole.training.stationarity import Stationarity, stationarity


@dataclass(frozen=True, eq=False)
class ReachedLimit:
    """One of the limits to which runs converge.

    Parameters
    ----------
    runs : int array, shape (k,)
        Those that converge to it.
    network : GatedNetwork
        That of the run with the largest margin, scaled to margin 1.
    outputs : float array, shape (n,)
        Its outputs on the training set.
    told : Stationarity
        Its distance from a stationary point, and its margin.
    """

    runs: Int[np.ndarray, " k"]
    network: GatedNetwork
    outputs: Float[np.ndarray, " n"]
    told: Stationarity

    @property
    def margin(self) -> float:
        """Return the normalised margin."""
        return self.told.margin


@door
def distinct_limits(
    runs: Runs,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    ascend: bool = True,
    tolerance: Positive = 1e-3,
) -> tuple[ReachedLimit, ...]:
    """Return the distinct limits to which runs converge.

    Parameters
    ----------
    runs : Runs
        Of gated networks, followed by the normalised flow or trained until all training samples
        are classified correctly.
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
        Their training set.
    ascend : bool, keyword-only, default True
        Whether to follow every run to its stationary point by `ascend_margin`. Otherwise runs are
        compared as they are: one at 98 % of its margin may differ from its limit by a tenth.
    tolerance : float, keyword-only, default 1e-3
        Largest relative difference of outputs on the training set, at margin 1, within one
        limit.

    Returns
    -------
    tuple of ReachedLimit
        From the largest margin down; runs that err on the training set are left out.

    Raises
    ------
    InputError
        For a tolerance that is not above 0, and as `ascend_margin`.

    Notes
    -----
    With a convex cost all have one margin. Several functions may share it, where units respond
    equally to the inputs at the margin: runs then converge to different functions, which are
    returned as distinct limits.

    Examples
    --------
    >>> from partwhole.features import HalfspaceGates
    >>> from partwhole.training import Training, train
    >>> rng = np.random.default_rng(0)
    >>> x = np.column_stack([rng.normal(size=(20, 5)), np.ones(20)])
    >>> y, gates = np.sign(x[:, 0] * x[:, 1]), HalfspaceGates.random(6, n_units=6)
    >>> starts = [GatedNetwork.draw(6, [gates, 1], seed=seed) for seed in range(2)]
    >>> training = Training(steps=500, loss="exponential", optimiser="normalised flow")
    >>> found = distinct_limits(train(starts, (x, y), training), x, y)
    >>> len(found), found[0].runs.tolist()  # a convex cost has one
    (1, [0, 1])
    """
    reached: list[ReachedLimit] = []
    for run, network in enumerate(runs.networks):
        if runs.outcomes[run] in (Outcome.DIVERGED, Outcome.NOT_SEPARATED):
            continue
        if ascend:
            network = ascend_margin(network, inputs, labels)
        outputs = network.predict(inputs)
        outputs = outputs / (labels * outputs).min()
        certificate = stationarity(network, inputs, labels)
        reached.append(ReachedLimit(np.array([run]), network, outputs, certificate))
    reached.sort(key=lambda candidate: -candidate.margin)
    limits: list[ReachedLimit] = []
    for candidate in reached:
        match = next(
            (i for i, limit in enumerate(limits) if _same_function(candidate, limit, tolerance)),
            None,
        )
        if match is None:
            limits.append(candidate)
            continue
        together = np.sort(np.concatenate([limits[match].runs, candidate.runs]))
        limits[match] = replace(limits[match], runs=together)
    return tuple(limits)


def _same_function(a: ReachedLimit, b: ReachedLimit, tolerance: Real) -> bool:
    size = float(np.linalg.norm(b.outputs))
    return float(np.linalg.norm(a.outputs - b.outputs)) <= tolerance * size
