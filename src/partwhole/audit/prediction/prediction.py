"""Predictions for held-out combinations over a range of representations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.case import LEFT_OUT, TRAIN, Case
from partwhole.audit.predicted import Point, Prediction
from partwhole.audit.prediction.answers import interpolants, margins_of
from partwhole.audit.prediction.graded import grading_in_words, grading_of
from partwhole.audit.prediction.measured_readout import MeasuredReadout, NoReadout
from partwhole.audit.prediction.places import Place, preference, range_of
from partwhole.audit.prediction.scoring import Scorer
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.order_sweep import OrderProblem


def predict(
    case: Case,
    *,
    fit: Literal["regression", "margin"] = "regression",
    measured: OrderKernel | None = None,
    noise: Real = 0.0,
    structure: Real = float("nan"),
    deadline: Real = float("inf"),
) -> Prediction | None:
    r"""Return the predicted outputs for held-out combinations over the range of representations.

    Two components: salience S(1; 2) from 0 to 1/2 in steps of 1/40. More: random ReLU networks
    of 1 to 20 hidden layers. The range has fewer steps, listed in a remark, if training has more
    than 1,500 conjunctions, or more than 400 combinations for a margin, or if combinations times
    labels exceed 4,194,304. Each kernel is cut off at the audit's order K (`OrderKernel`), so
    that conjunctions above it count as memory. "regression" is the minimum-norm interpolant of
    the training combinations (with mean targets if rows differ), "margin" the largest-margin
    classifier of their labels, for more than two by the lead of the right label's output over
    each other one (cross-entropy of a softmax); both have a free intercept.

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
    deadline : float, keyword-only, default infinity
        In seconds of `time.process_time`. The reference point is computed in any case; others are,
        while there is time.

    Returns
    -------
    Prediction or None
        Errors and accuracies weight each held-out combination by its rows' sample weights. Points
        whose computation did not converge are left out; None if none remains.

    Raises
    ------
    InputError
        If nothing is held out, the measured kernel has a different number of components or order,
        the noise is negative, or `fit` is "margin" for numbers, or for more than 2,000 training
        combinations times the number of labels less 1.

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
    (prediction,) = predict_splits(
        [case], fit=fit, measured=measured, noise=noise, structure=structure, deadline=deadline
    )
    return prediction


def predict_splits(
    cases: Sequence[Case],
    *,
    fit: Literal["regression", "margin"] = "regression",
    measured: OrderKernel | None = None,
    noise: Real = 0.0,
    structure: Real = float("nan"),
    saliences: Sequence[Real] | None = None,
    readouts: Sequence[MeasuredReadout | NoReadout | None] = (),
    deadline: Real = float("inf"),
) -> list[Prediction | None]:
    """Return predictions for several test splits of one table, with a single fit of training.

    Parameters
    ----------
    cases : sequence of Case
        Of one table and order, each with at least one held-out combination.
    fit, measured, noise, structure, deadline
        As in `predict`, for all splits together.
    saliences : sequence of float, length C, keyword-only, optional
        Of the components; then the range is that of random ReLU networks on one-hot components,
        each scaled by its salience.
    readouts : sequence of MeasuredReadout, NoReadout or None, keyword-only, default ()
        A readout of the features for each split, in place of the kernel at the measured point, as
        `measured_readout` returns it for this fit. Without one regression has the kernel with the
        noise as a ridge there, and a margin no measured point; a remark has the reason.

    Returns
    -------
    list of Prediction or None

    Raises
    ------
    InputError
        As `predict`.
    """
    for split in cases:
        require(
            split.task.n_test > 0,
            "a prediction needs held-out combinations",
            f"none in split {split.name!r}",
            "audit a split that holds some out",
        )
    case, among = _together(cases)
    task = case.task
    require(
        measured is None
        or (measured.n_components, measured.order) == (task.n_components, case.order),
        "a measured kernel has the table's number of components and the audit's order",
        f"{measured.n_components} components at order {measured.order} for {task.n_components} at "
        f"{case.order}"
        if measured
        else "none",
        "measure it on the same components, and truncate it at that order",
    )
    require(noise >= 0, "noise is a penalty of at least 0", noise, "use 0 to interpolate")
    order = min(case.order, task.n_components - 1)
    problem = OrderProblem.of(task, order)
    axis, places, remarks = range_of(problem, fit, saliences)
    remarks += [grading_in_words(case)] if case.table.positions else []
    direct = readouts or [None] * len(cases)
    placed = None if measured is None else Place("measured", float("nan"), measured)
    needs_kernel = any(
        readout is None or (fit == "regression" and isinstance(readout, NoReadout))
        for readout in direct
    )
    if placed is not None and needs_kernel:
        places.append(placed)
    ridge = _ridge(case, measured, noise) if fit == "regression" else 0.0
    if fit == "margin":
        outputs, unsolved = margins_of(case, places, float(deadline), remarks)
        if measured is not None and noise > 0 and needs_kernel:
            remarks.append("a margin has no ridge, so the noise in the features is ignored")
    else:
        outputs, unsolved = interpolants(
            problem, places, ridge, float(deadline), grading_of(case), remarks
        )
    unknown = measured is None
    predictions: list[Prediction | None] = []
    for split, rows, readout in zip(cases, among, direct, strict=True):
        scorer = Scorer(split)
        has_kernel = readout is None or (fit == "regression" and isinstance(readout, NoReadout))
        points = tuple(
            _point(scorer, place, out[rows], ridge if place is placed else 0.0)
            for place, out in zip(places, outputs, strict=True)
            if out is not None and (place is not placed or has_kernel)
        )
        answered = None if isinstance(readout, NoReadout) or placed is None else readout
        if answered is not None and placed is not None:
            points = (*points, _of_readout(scorer, placed, answered, ridge))
        why = [readout.remark] if readout is not None and readout.remark else []
        if not points:
            predictions.append(None)
            continue
        reference = max(range(len(points)), key=lambda i, of=points: preference(of[i].position))
        train, test = split.task.train_targets, split.task.test_targets
        predictions.append(
            Prediction(
                axis,
                points,
                reference,
                scorer.error(np.broadcast_to(train.mean(axis=0), test.shape)),
                scorer.chance,
                fit,
                scorer.worst(points[reference].outputs)
                if answered is None
                else scorer.worst(answered.outputs, answered.squares, answered.right),
                (*remarks, *scorer.remarks, *why),
                float("nan") if unknown else float(structure),
                float("nan") if unknown else float(noise),
                unsolved,
                scorer.ceiling,
                scorer.balanced_ceiling,
                scorer.commonest,
                scorer.ties(points[reference].outputs),
                float("nan") if answered is None else answered.difference,
                "" if answered is None else answered.origin,
                *_of_trained(scorer, answered),
            )
        )
    return predictions


def _together(cases: Sequence[Case]) -> tuple[Case, list[Int[np.ndarray, " h"]]]:
    """Return a case with the held-out combinations of all splits, and their indices in it."""
    if len(cases) == 1:
        return cases[0], [np.arange(cases[0].task.n_test)]
    table = cases[0].table
    split = np.where(np.isin(table.split, [case.split for case in cases]), 1, LEFT_OUT)
    split[table.split == TRAIN] = TRAIN
    names = (table.split_names[TRAIN], "all test splits")
    whole = replace(table, split=split, split_names=names).case(1, cases[0].order)
    among = []
    for case in cases:
        rows = case.rows_of(case.held_out)
        place = np.empty(len(case.weights), dtype=np.int64)
        # Combinations of training come first.
        place[case.row_combination[rows]] = whole.row_combination[rows] - whole.task.n_train
        among.append(place[case.held_out])
    return whole, among


def _point(
    scorer: Scorer,
    place: Place,
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


def _of_readout(
    scorer: Scorer,
    place: Place,
    readout: MeasuredReadout,
    ridge: Float[np.ndarray, " d"] | Real,
) -> Point:
    """Return the measured point with the answers of a readout of the features."""
    point = _point(scorer, place, readout.outputs, ridge)
    accuracy, balanced = point.accuracy, point.balanced_accuracy
    if readout.right is not None:
        accuracy, balanced = scorer.shares(readout.right)
    return replace(
        point,
        error=float(np.average(readout.squares, weights=scorer.weights)),
        accuracy=accuracy,
        balanced_accuracy=balanced,
    )


def _of_trained(scorer: Scorer, readout: MeasuredReadout | None) -> tuple[float, float]:
    """Return slope and accuracy of the readout that was trained beside a prediction, or NaN."""
    if readout is None or readout.trained is None:
        return float("nan"), float("nan")
    right = readout.trained_right
    accuracy = float("nan") if right is None else scorer.shares(right)[0]
    return scorer.slope(readout.trained), accuracy


def _ridge(case: Case, measured: OrderKernel | None, noise: Real) -> Float[np.ndarray, " d"] | Real:
    """Return the ridge of each training combination at the measured point, in its kernel's unit."""
    if measured is None or noise == 0:
        return 0.0
    rows = case.row_combination[case.table.split == TRAIN]
    counts = np.bincount(rows, minlength=len(case.weights))[case.task.is_train]
    return float(noise) / counts
