"""The range of representations at which held-out combinations are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from partwhole._types import Real
from partwhole.audit.prediction.salience_sweep import network_kernel
from partwhole.audit.wording import SETS
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.order_sweep import OrderProblem
from partwhole.limits.solvers.sparse_primal import COARSE_COLUMNS

SALIENCES = tuple(step / 40 for step in range(21))
DEPTHS = tuple(range(1, 21))
FEWER_DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 20)
# With more outputs than this over all combinations, only the fewest steps are computed.
MANY_OUTPUTS = 1 << 22
FEWEST_DEPTHS = (1, 4, 20)
FEWEST_SALIENCES = (0.0, 0.425, 0.5)
FEWER_SALIENCES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.425, 0.5)
REFERENCE_SALIENCE = 0.425
REFERENCE_DEPTH = 1
# Margins of more training combinations than this take about a second each.
MARGIN_MANY = 400


@dataclass(frozen=True)
class Place:
    """One representation of the range."""

    label: str
    position: float
    kernel: OrderKernel


def range_of(
    problem: OrderProblem,
    fit: Literal["regression", "margin"],
    saliences: Sequence[Real] | None,
) -> tuple[str, list[Place], list[str]]:
    """Return axis, representations, and remarks on omissions."""
    task, remarks = problem.task, []
    is_large = problem.n_columns > COARSE_COLUMNS
    many = f"training has {problem.n_columns:,} {SETS} (more than {COARSE_COLUMNS:,})"
    reason = many
    fewer = is_large
    if fit == "margin":
        n_others = 1 if task.targets.ndim == 1 else task.targets.shape[1] - 1
        size, fewer = task.n_train * n_others, task.n_train * n_others > MARGIN_MANY
        noun = "combinations" if n_others == 1 else "comparisons of two labels"
        reason = f"training has {size:,} {noun} (more than {MARGIN_MANY:,} for margins)"
    outputs = task.targets.size
    fewest = outputs > MANY_OUTPUTS
    if fewest:
        reason = f"combinations times outputs are {outputs:,} (more than {MANY_OUTPUTS:,})"
    if task.n_components == 2 and saliences is None:
        saliences = FEWER_SALIENCES if fewer and fit == "margin" else SALIENCES
        saliences = FEWEST_SALIENCES if fewest else saliences
        places = [Place(f"S = {S:g}", S, OrderKernel.from_salience(S)) for S in saliences]
        if is_large and fit == "regression":
            remarks.append(
                f"{many}, so at S = 0.5 the whole combination has a share of 1e-9 instead of 0"
            )
        if len(saliences) < len(SALIENCES):
            remarks.append(f"{reason}, so only S = {_listed(saliences)} were computed")
        return "salience S(1; 2)", places, remarks
    depths = FEWEST_DEPTHS if fewest else FEWER_DEPTHS if fewer else DEPTHS
    if depths is not DEPTHS:
        remarks.append(f"{reason}, so only depths {_listed(depths)} were computed")
    places = []
    for depth in depths:
        if saliences is None:
            kernel = OrderKernel.random_network(task.n_components, problem.order, depth)
        else:
            kernel = network_kernel(saliences, problem.order, depth)
        places.append(Place(f"depth {depth}", float(depth), kernel))
    return "hidden layers of a random ReLU network", places, remarks


def preference(position: float) -> int:
    """Return a point's rank as reference: measured, one hidden layer, any other."""
    if np.isnan(position):
        return 2
    return int(position in (REFERENCE_SALIENCE, REFERENCE_DEPTH))


def by_preference(places: Sequence[Place]) -> list[int]:
    """Return the places' indices, the reference first, before time can run out."""
    first = max(range(len(places)), key=lambda i: preference(places[i].position))
    return [first, *(i for i in range(len(places)) if i != first)]


def left_out(unsolved: Sequence[str], remarks: list[str]) -> tuple[str, ...]:
    """Return the places for which there was no time, after a remark that names them."""
    if unsolved:
        remarks.append(
            f"{_joined(unsolved)} {'is' if len(unsolved) == 1 else 'are'} left out: the "
            "computation did not finish within the allowed time and steps"
        )
    return tuple(unsolved)


def _listed(numbers: tuple[Real, ...]) -> str:
    return _joined([f"{number:g}" for number in numbers])


def _joined(names: Sequence[str]) -> str:
    *initial, last = names
    return f"{', '.join(initial)} and {last}" if initial else last
