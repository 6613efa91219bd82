"""Gradient descent: the systems of `flow`, in steps of one size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Real
from partwhole.flows._inputs import recorded_steps
from partwhole.flows._path import Path
from partwhole.flows.deep import Deep, descend_deep
from partwhole.flows.one_layer import OneLayer
from partwhole.flows.stability import stability_limit
from partwhole.flows.tied import Tied, descend_tied


@door
def descend(
    system: Tied | OneLayer | Deep,
    steps: Count,
    step_size: Real,
    *,
    record: Sequence[int] | Int[np.ndarray, " T"] | None = None,
    on: Literal["factor", "matrix"] = "factor",
) -> Path:
    r"""Train a linear network by gradient descent on the whole population.

    For a tied network a step is :math:`U \leftarrow U - \tfrac{\eta}{2} \nabla_U L`, of size
    :math:`\eta` in paper time; for the others every weight takes
    :math:`\theta \leftarrow \theta - \eta \nabla_\theta L`.

    Parameters
    ----------
    system : Tied, OneLayer or Deep
    steps : int
    step_size : float
        :math:`\eta`, below `stability_limit(system)`.
    record : sequence of int, keyword-only, default all
        The steps to keep, increasing, from 0 (the start) to `steps`.
    on : {"factor", "matrix"}, keyword-only, default "factor"
        For a tied network alone: "matrix" takes the published recurrence
        :math:`W \leftarrow W + \eta V(W)`, which no network follows. Each of its steps takes
        :math:`\eta^2 X W X` too much away, so that W can lose its positive semidefiniteness and
        then diverge. It is here to reproduce published figures.

    Returns
    -------
    Path
        Step k at k times `step_size`, in paper time for `Tied` and in gradient time for the
        others. Its outcome is `DIVERGED` where the numbers are no longer finite, and
        `NOT_POSITIVE` where the recurrence left what networks can do.

    Raises
    ------
    InputError
        For a step size at or beyond the stability limit, steps to record that don't increase or
        don't exist, and a recurrence on the matrix of a network that is not tied.

    Warns
    -----
    PositivityWarning
        When W lost its positive semidefiniteness, with the step at which it did.

    Notes
    -----
    On linear networks a batch enters its gradient through its moments alone, so that this is
    training on the whole population; derived here. Yang et al. (ICLR 2025), appendix D, for the
    recurrence.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = descend(Tied(w0, np.diag([4.5, 0.5])), 400, 0.01)
    >>> len(path.times), path.states[-1][0, 0].round(4)
    (401, np.float64(1.0))
    >>> w = 0.3 * np.array([[1, 0.5], [0.5, 1]])
    >>> system = Deep([w, w, w], np.diag([0.5, 2.0]))
    >>> path = descend(system, 4000, 0.01, record=[0, 400, 4000])
    >>> path.times.tolist(), path.probe_losses(np.array([1.0, 2.0])).round(4)
    ([0.0, 4.0, 40.0], array([2.1069, 0.4027, 0.    ]))
    """
    limit = stability_limit(system)
    require(
        0 < step_size < limit,
        f"a step size lies between 0 and the stability limit {limit:.4g} of this system",
        f"{step_size:g}",
        "take a smaller step",
    )
    rows = recorded_steps(np.arange(steps + 1) if record is None else record, steps)
    if isinstance(system, Tied):
        require(
            system.w0.ndim == 2,
            "a tied network descends by itself",
            f"initial matrices of shape {system.w0.shape}",
            "call it once for each of them",
        )
        return descend_tied(system, steps, float(step_size), rows, on=on)
    require(
        on == "factor",
        'the recurrence on="matrix" is that of a tied network',
        f"a {type(system).__name__}",
        "leave it out",
    )
    if isinstance(system, OneLayer):
        system = _as_deep(system)
    return descend_deep(system, float(step_size), rows)


def _as_deep(system: OneLayer) -> Deep:
    biases = None
    if system.mean is not None:
        biases = [np.zeros(len(system.w0)) if system.bias is None else system.bias]
    return Deep(
        [system.w0],
        system.second_moment,
        system.cross_covariance,
        biases=biases,
        mean=system.mean,
        target_mean=system.target_mean,
    )
