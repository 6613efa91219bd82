"""The verb of the room: follow a system of training from its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive, ProperFraction, Real
from partwhole.flows._path import Path
from partwhole.flows.deep import Deep, follow_deep
from partwhole.flows.diagonal import Diagonal, follow_diagonal
from partwhole.flows.one_layer import OneLayer, follow_one_layer
from partwhole.flows.one_sided import OneSided, follow_one_sided
from partwhole.flows.tied import Tied, follow_tied

# How each system is followed: a closed form where there is one, else an integrator.
FOLLOWED: Mapping[type, Callable[..., Path]] = {
    Tied: follow_tied,  # explicit steps of order 5 on the factor
    OneSided: follow_one_sided,  # closed form
    OneLayer: follow_one_layer,  # closed form
    Deep: follow_deep,  # explicit steps of order 5 on all layers
    Diagonal: follow_diagonal,  # implicit for one task, stabilised explicit for several
}
CLOCKS = {OneSided: "paper", OneLayer: "gradient", Deep: "gradient", Diagonal: "gradient"}


@door(infinite=("max_time",))
def flow(
    system: Tied | OneSided | OneLayer | Deep | Diagonal,
    times: Float[np.ndarray, " T"] | None = None,
    *,
    clock: Literal["paper", "gradient"] | None = None,
    until: Real | None = None,
    max_time: Positive | None = None,
    rtol: ProperFraction | None = None,
    atol: Positive | None = None,
    max_steps: Count | None = None,
    max_gradients: Count | None = None,
) -> Path:
    r"""Follow the training of a network from its initial weights, by gradient flow.

    Parameters
    ----------
    system : Tied, OneSided, OneLayer, Deep or Diagonal
        The network, its initial weights, and what it learns.
    times : float array, shape (T,), default None
        When to record, increasing, from 0 or later, in units of `clock`. Stages of learning are
        spaced logarithmically: a geometric grid shows them best. `Diagonal` may leave it out for
        `until`, and then records the start and the end.
    clock : {"paper", "gradient"}, keyword-only, default None
        Unit of time; see `Path`. None takes "paper" for `Tied` and `OneSided`, "gradient" for the
        others; only `Tied` has a choice.
    until : float, keyword-only, default None
        `Diagonal` alone: a training loss at which to stop; with `times`, if it is reached before
        their last.
    max_time : float, keyword-only, default None
        `Diagonal` alone: when to stop where `until` is not reached. None is 1e12 for one task and
        1e9 for several.
    rtol, atol : float, keyword-only, default None
        Tolerances of the integrators, of `Tied`, `Deep` and `Diagonal`. None takes

        - 1e-9 and 1e-12 on the factor U of `Tied` and the weights of `Deep`, `atol` less in
          proportion for starts (of a layer) whose largest entry is below 1e-3;
        - 1e-8 and 1e-10 on the accumulated gradients of `Diagonal` with one task, that is, on the
          logarithms of weights, `rtol` below 1;
        - 1e-7 and 1e-10 on its weights with several tasks, for each step; `rtol` below 1, and
          `atol` less in proportion for initial weights all below 1e-3: errors of small weights
          grow with them.
    max_steps : int, keyword-only, default None
        Of the integrators; None is 65,536, for `Diagonal` 20,000 with one task and 10,000 with
        several.
    max_gradients : int, keyword-only, default None
        `Diagonal` with several tasks alone: evaluations of the gradient, some hundred to a step
        where the flow is stiff; the flow stops at the first step that ends beyond. None is
        1,000,000.

    Returns
    -------
    Path
        Of the input-output map W. Its `outcome` says whether the last time was reached, and its
        notes which directions are never learned or which of many networks ran out of steps.

    Raises
    ------
    InputError
        For times that don't increase from 0 or, unless `until` is given, are left out; tolerances
        out of range; a loss that can't be reached; and options that the system does not have.

    Notes
    -----
    Each system names its equation and source. `Tied` and `Deep` are integrated by an adaptive
    explicit method of order 5, `Diagonal` as it says; `OneSided` and `OneLayer` are exact.

    Examples
    --------
    >>> w0 = 0.01 * np.array([[1, 0.5], [0.5, 1]])
    >>> path = flow(Tied(w0, np.diag([4.5025, 0.5025])), np.array([0.5, 5.0]))
    >>> path
    Path(2 times to 5, states of shape (2, 2, 2), clock='paper', outcome=REACHED)
    >>> path.losses.round(4)
    array([0.8683, 0.0538])
    """
    follow = FOLLOWED[type(system)]
    options: dict[str, Any] = {
        "clock": clock,
        "until": until,
        "max_time": max_time,
        "rtol": rtol,
        "atol": atol,
        "max_steps": max_steps,
        "max_gradients": max_gradients,
    }
    options = {name: value for name, value in options.items() if value is not None}
    name = type(system).__name__
    fixed = CLOCKS.get(type(system))
    if fixed is not None:
        unit = options.pop("clock", fixed)
        require(
            unit == fixed,
            f'the clock of {name} is "{fixed}"',
            f'"{unit}"',
            "leave it out, and rescale the times",
        )
    unknown = [option for option in options if option not in signature(follow).parameters]
    require(
        not unknown,
        f"options of flow are those of its system, and {name} does not have all of them",
        ", ".join(unknown),
        "leave them out",
    )
    if not isinstance(system, Diagonal):
        require(
            times is not None,
            f"the flow of {name} is followed to times",
            "none",
            "pass times=np.geomspace(0.01, 10, 100), say",
        )
    return follow(system, times, **options)
