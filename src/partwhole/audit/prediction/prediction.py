"""What learners of a range of representations will do with the held-out combinations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import Point, Prediction
from partwhole.audit.prediction.scoring import Scorer
from partwhole.features import OrderKernel
from partwhole.limits import Outcome
from partwhole.limits.order_sweep import OrderProblem, OrderSweep
from partwhole.limits.solvers.sparse_primal import COARSE_COLUMNS

SALIENCES = tuple(step / 40 for step in range(21))
DEPTHS = tuple(range(1, 21))
FEWER_DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 20)
# Where all outputs of all combinations are more numbers than this, only so many are computed.
MANY_OUTPUTS = 1 << 22
FEWEST_DEPTHS = (1, 4, 20)
FEWEST_SALIENCES = (0.0, 0.425, 0.5)
FEWER_SALIENCES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.425, 0.5)
REFERENCE_SALIENCE = 0.425
REFERENCE_DEPTH = 1
MARGIN_LIMIT = 2000
# Margins of more training combinations than this take about a second each.
MARGIN_MANY = 400


@dataclass(frozen=True)
class _Place:
    """Name one representation of the range."""

    label: str
    position: float
    kernel: OrderKernel


def predict(
    case: Case,
    *,
    fit: Literal["regression", "margin"] = "regression",
    measured: OrderKernel | None = None,
    noise: Real = 0.0,
    structure: Real = float("nan"),
) -> Prediction:
    r"""Predict the outputs for held-out combinations over the range of representations.

    Two components: salience S(1; 2) from 0 to 1/2 in steps of 1/40. More: random ReLU networks
    of 1 to 20 hidden layers. Where training has more than 1,500 conjunctions, or a margin more
    than 400 combinations, or combinations times labels are over 4,194,304, there are fewer
    steps, and a remark names them. Each kernel is cut
    off at the audit's order K (`OrderKernel`), so that what lies above it is memory.
    "regression" interpolates the training combinations with least norm (mean targets where
    rows disagree), "margin" separates their labels with the largest margin; both have a free
    intercept.

    Parameters
    ----------
    case : Case
        With at least one held-out combination.
    fit : {"regression", "margin"}, keyword-only, default "regression"
    measured : OrderKernel, keyword-only, optional
        The kernel measured on features, cut off at the case's order; its point comes last and
        is the reference.
    noise : float, keyword-only, default 0
        Kernel-ridge penalty for each row of the table at the measured point, in the kernel's
        unit; regression only.
    structure : float, keyword-only, default NaN
        Share of the variance of the features' similarity that overlap explains; passed on.

    Returns
    -------
    Prediction
        Errors and accuracies weigh each held-out combination by its rows' sample weights.

    Raises
    ------
    InputError
        When nothing is held out, the measured kernel has other components, the noise is
        negative, or a margin is asked for numbers, for more than two labels, or for more than
        2,000 training combinations.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), theorem 4.2 and proposition 4.1; the cut at an order is
    derived here. It holds for learners with a fixed representation.

    Examples
    --------
    >>> from partwhole.audit.case import AuditTable
    >>> grid = np.array([[i, j] for i in range(3) for j in range(3)])
    >>> sums = (grid - 1.0).sum(axis=1, keepdims=True)
    >>> seen = np.any(grid == 1, axis=1)
    >>> table = AuditTable(
    ...     grid, sums, None, np.where(seen, 0, 1), np.ones(9), ("first", "second"),
    ...     ((-1, 0, 1), (-1, 0, 1)), ("sum",), None, ("train", "test"))
    >>> found = predict(table.case(1, 1))
    >>> point = found.points[found.reference]
    >>> point.label, round(point.leak_slope, 6), round(found.points[16].leak_slope, 6)
    ('S = 0.425', 0.73913, 0.666667)
    """
    task = case.task
    require(
        task.n_test > 0,
        "a prediction needs held-out combinations",
        f"none in split {case.name!r}",
        "audit a split that holds some out",
    )
    require(
        measured is None
        or (measured.n_components, measured.order) == (task.n_components, case.order),
        "a measured kernel has the table's number of components and the audit's order",
        f"{measured.n_components} components at order {measured.order} for {task.n_components} at "
        f"{case.order}"
        if measured
        else "none",
        "measure it on the same components, and cut it off there",
    )
    require(noise >= 0, "noise is a penalty of at least 0", noise, "use 0 to interpolate")
    order = min(case.order, task.n_components - 1)
    problem = OrderProblem.of(task, order)
    axis, places, remarks = _range(problem, fit)
    if measured is not None:
        places.append(_Place("measured", float("nan"), measured))
    ridge = _ridge(case, measured, noise) if fit == "regression" else 0.0
    if fit == "margin":
        outputs = _margins(case, places, remarks)
        if measured is not None and noise > 0:
            remarks.append("a margin has no ridge, so noise in the features is left out")
    else:
        outputs = _interpolants(problem, places, ridge, remarks)
    scorer = Scorer(case)
    kept = [(place, out) for place, out in zip(places, outputs, strict=True) if out is not None]
    points = tuple(
        _point(scorer, place, out, ridge if np.isnan(place.position) else 0.0)
        for place, out in kept
    )
    reference = max(range(len(points)), key=lambda i: _preference(points[i]))
    constant = np.broadcast_to(task.train_targets.mean(axis=0), task.test_targets.shape)
    return Prediction(
        axis,
        points,
        reference,
        scorer.error(constant),
        scorer.chance,
        fit,
        scorer.worst(points[reference].outputs),
        (*remarks, *scorer.remarks),
        float(structure) if measured is not None else float("nan"),
        float(noise) if measured is not None else float("nan"),
    )


def _preference(point: Point) -> int:
    """Prefer the measured point to one hidden layer, and that to any other."""
    if np.isnan(point.position):
        return 2
    return int(point.position in (REFERENCE_SALIENCE, REFERENCE_DEPTH))


def _point(
    scorer: Scorer,
    place: _Place,
    outputs: Float[np.ndarray, "h *k"],
    ridge: Float[np.ndarray, " d"] | Real,
) -> Point:
    accuracy, balanced = scorer.accuracies(outputs)
    return Point(
        place.label,
        place.position,
        place.kernel.salience,
        float(place.kernel.memory),
        outputs,
        scorer.error(outputs),
        accuracy,
        balanced,
        scorer.slope(outputs),
        place.kernel,
        ridge,
    )


def _range(
    problem: OrderProblem, fit: Literal["regression", "margin"]
) -> tuple[str, list[_Place], list[str]]:
    """List the representations, and say which are left out."""
    task, remarks = problem.task, []
    many = problem.n_columns > COARSE_COLUMNS
    why = f"training has {problem.n_columns:,} conjunctions (more than {COARSE_COLUMNS:,})"
    fewer = many
    if fit == "margin":
        fewer = task.n_train > MARGIN_MANY
        why = f"training has {task.n_train:,} combinations (more than {MARGIN_MANY:,} for margins)"
    outputs = task.targets.size
    fewest = outputs > MANY_OUTPUTS
    if fewest:
        why = f"combinations times outputs are {outputs:,} (more than {MANY_OUTPUTS:,})"
    if task.n_components == 2:
        saliences = FEWER_SALIENCES if fewer and fit == "margin" else SALIENCES
        saliences = FEWEST_SALIENCES if fewest else saliences
        places = [_Place(f"S = {S:g}", S, OrderKernel.from_salience(S)) for S in saliences]
        if many and fit == "regression":
            remarks.append(
                f"training has {problem.n_columns:,} conjunctions (more than {COARSE_COLUMNS:,}), "
                "so S = 0.5 was computed with a memory of 1e-9, not none"
            )
        if len(saliences) < len(SALIENCES):
            remarks.append(f"{why}, so only S = {_listed(saliences)} were computed")
        return "salience S(1; 2)", places, remarks
    depths = FEWEST_DEPTHS if fewest else FEWER_DEPTHS if fewer else DEPTHS
    if depths is not DEPTHS:
        remarks.append(f"{why}, so only depths {_listed(depths)} were computed")
    places = []
    for depth in depths:
        kernel = OrderKernel.random_network(task.n_components, problem.order, depth)
        places.append(_Place(f"depth {depth}", float(depth), kernel))
    return "hidden layers of a random ReLU network", places, remarks


def _listed(numbers: tuple[Real, ...]) -> str:
    *others, last = (f"{number:g}" for number in numbers)
    return f"{', '.join(others)} and {last}"


def _ridge(case: Case, measured: OrderKernel | None, noise: Real) -> Float[np.ndarray, " d"] | Real:
    """Return the ridge of each training combination at the measured point, in its kernel's unit."""
    if measured is None or noise == 0:
        return 0.0
    rows = case.row_combination[case.table.split == TRAIN]
    counts = np.bincount(rows, minlength=len(case.weights))[case.task.is_train]
    return float(noise) / counts


def _interpolants(
    problem: OrderProblem,
    places: list[_Place],
    ridge: Float[np.ndarray, " d"] | Real,
    remarks: list[str],
) -> list[Float[np.ndarray, "h *k"] | None]:
    """Return each place's outputs, the last with the ridge; say which are not exact."""
    kernels = [place.kernel for place in places]
    if isinstance(ridge, np.ndarray):
        sweeps = [problem.sweep(kernels[:-1]), problem.sweep(kernels[-1:], ridge=ridge)]
    else:
        sweeps = [problem.sweep(kernels)]
    found = OrderSweep(
        *(
            np.concatenate([getattr(sweep, name) for sweep in sweeps])
            for name in ("outputs", "converged", "error")
        )
    )
    remarks.extend(
        f"the search at {place.label} stopped early; outputs may be off by {error:.1g}"
        for place, done, error in zip(places, found.converged, found.error, strict=True)
        if not done
    )
    return list(found.outputs)


def _margins(
    case: Case, places: list[_Place], remarks: list[str]
) -> list[Float[np.ndarray, " h"] | None]:
    """Return each place's outputs of the largest margin; None where nothing is separated."""
    task, label = case.task, case.label
    labels = case.table.labels
    require(
        label is not None and labels is not None and len(labels) == 2,
        "a margin separates two labels",
        "numbers" if labels is None else f"{len(labels)} labels",
        "use fit='regression'",
    )
    require(
        task.n_train <= MARGIN_LIMIT,
        f"margins are computed for at most {MARGIN_LIMIT:,} training combinations",
        task.n_train,
        "use fit='regression'",
    )
    assert label is not None
    divided = task.is_train & (label < 0)
    require(
        bool(np.any(task.is_train & ~divided)),
        "a margin needs a training combination with one label",
        "rows evenly divided in every one",
        "use fit='regression'",
    )
    if divided.any():
        remarks.append(
            f"{int(divided.sum())} training combinations whose rows are evenly divided between "
            "the labels are left out of the margin"
        )
    signs = np.where(label > 0, 1.0, -1.0)
    if np.any(task.is_train & ~divided & (np.abs(task.targets) != 1.0)):
        remarks.append("where training rows disagree, the margin takes the majority's label")
    kept = ~divided
    decided = replace(
        task,
        components=task.components[kept],
        targets=signs[kept],
        is_train=task.is_train[kept],
    )
    problem = OrderProblem.of(decided, case.order)
    outputs: list[np.ndarray | None] = []
    for place in places:
        limit, margins = problem.margin(place.kernel)
        separated = limit.outcome is not Outcome.INFEASIBLE
        if not separated:
            remarks.append(
                f"{place.label} is left out: without memory it cannot separate the training set"
            )
        elif limit.outcome is not Outcome.SOLVED:
            remarks.append(f"the margin at {place.label}: {limit.outcome.value}")
        outputs.append(margins if separated else None)
    return outputs
