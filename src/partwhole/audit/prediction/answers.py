"""Answers of the learners at each representation: interpolants and largest margins."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.prediction.graded import Grading, grading_of
from partwhole.audit.prediction.places import Place, by_preference, left_out
from partwhole.limits import Outcome
from partwhole.limits.order_sweep import OrderProblem

MARGIN_LIMIT = 2000


def interpolants(
    problem: OrderProblem,
    places: list[Place],
    ridge: Float[np.ndarray, " d"] | Real,
    deadline: float,
    grading: Grading | None,
    remarks: list[str],
) -> tuple[list[Float[np.ndarray, "h *k"] | None], tuple[str, ...]]:
    """Return each place's outputs, None without convergence, and the names of those places.

    The measured place has the ridge, and others the grading of ordered components. The reference
    point comes first, before time can run out.
    """
    arranged = by_preference(places)
    is_apart = grading is not None or isinstance(ridge, np.ndarray)
    is_measured = [is_apart and bool(np.isnan(places[i].position)) for i in arranged]
    outputs: list[np.ndarray | None] = [None] * len(places)
    # The measured point, where it is the reference, comes first.
    for measured in sorted(set(is_measured), reverse=True):
        group = [i for i, is_of in zip(arranged, is_measured, strict=True) if is_of == measured]
        graded = None if measured else grading
        kernels = [places[i].kernel for i in group]
        sweep = (problem if graded is None else graded.problem(problem)).sweep(
            kernels if graded is None else list(map(graded.kernel, kernels)),
            ridge=ridge if measured else 0.0,
            deadline=deadline,
        )
        for i, predicted, converged in zip(group, sweep.outputs, sweep.converged, strict=True):
            outputs[i] = predicted if converged else None
    unsolved = [place.label for place, out in zip(places, outputs, strict=True) if out is None]
    return outputs, left_out(unsolved, remarks)


def margins_of(
    case: Case, places: list[Place], deadline: float, remarks: list[str]
) -> tuple[list[Float[np.ndarray, "h *k"] | None], tuple[str, ...]]:
    """Return each place's largest-margin outputs, None if training is not separable there.

    Also the names of places that were not begun: after the reference another one is, only if there
    is time for the slowest so far. Outputs of more than two labels are in the unit of the targets
    -1 and +1, in which the right label leads by at least 2.
    """
    task, label = case.task, case.label
    labels = case.table.labels
    require(label is not None, "a margin separates labels", "numbers", "use fit='regression'")
    assert label is not None
    assert labels is not None
    n_others = len(labels) - 1
    require(
        task.n_train * n_others <= MARGIN_LIMIT,
        f"margins are computed for at most {MARGIN_LIMIT:,} training combinations, each times the "
        "number of labels less 1",
        f"{task.n_train:,} times {n_others}",
        "use fit='regression'",
    )
    divided = task.is_train & (label < 0)
    require(
        bool(np.any(task.is_train & ~divided)),
        "a margin needs a training combination with one label",
        "combinations whose rows are all evenly divided between the labels",
        "use fit='regression'",
    )
    if divided.any():
        remarks.append(
            f"{int(divided.sum())} training combinations whose rows are evenly divided between "
            "the labels are left out of the margin"
        )
    signs = np.where(label > 0, 1.0, -1.0) if n_others == 1 else np.eye(n_others + 1)[label]
    unlike = (np.abs(task.targets) != 1.0).reshape(len(label), -1).any(axis=1)
    if np.any(task.is_train & ~divided & unlike):
        remarks.append("where training rows differ, the margin uses the majority label")
    is_decided = ~divided
    decided = replace(
        task,
        components=task.components[is_decided],
        targets=signs[is_decided],
        is_train=task.is_train[is_decided],
    )
    problem, grading = OrderProblem.of(decided, case.order), grading_of(case)
    by_values = None if grading is None else grading.problem(problem)
    outputs: list[np.ndarray | None] = [None] * len(places)
    unsolved, unsure, longest = [], {}, 0.0
    for i in by_preference(places):
        place, start = places[i], process_time()
        if longest and start + longest > deadline:
            unsolved.append(place.label)
            continue
        if grading is None or by_values is None or np.isnan(place.position):
            limit, margins = problem.margin(place.kernel)
        else:
            limit, margins = by_values.margin(grading.kernel(place.kernel))
        longest = max(longest, process_time() - start)
        separated = limit.outcome is not Outcome.INFEASIBLE
        if not separated:
            unsure[i] = (
                f"{place.label} is left out: it can separate the training set only by memorizing it"
            )
        elif limit.outcome is not Outcome.SOLVED:
            unsure[i] = f"the margin at {place.label}: {limit.outcome.value}"
        if n_others > 1:
            margins = 2.0 * margins + (1.0 - n_others) / (1.0 + n_others)
        outputs[i] = margins if separated else None
    remarks += [unsure[i] for i in sorted(unsure)]
    return outputs, left_out(unsolved, remarks)
