"""Sentences about predictions: at which representation, for which learners, while how salient."""

from __future__ import annotations

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.predicted import Point, Prediction, SalienceSweep
from partwhole.audit.wording import number, percent, printable, terms

# Salience of one hidden ReLU layer on two components.
ONE_LAYER = 0.425
# Explained share of the variance of similarity below which the overlap describes features poorly.
LEAST_STRUCTURE = 0.95
NUMERALS = {2: "two", 3: "three", 4: "four"}
SALIENCE = "salience: how strongly a change of a component changes the inputs or features"
NO_SWEEP = (
    "How salient components may be (how strongly a change of one may change the inputs or "
    "features) was not tried: that is for at most 10 components and 600 seen "
    "values and sets of values (2,600 of two components and two labels), and within the time "
    "limit."
)
LEFT_OUT = (
    "The predicted error omits what the overlap does not explain: measured errors of readouts "
    "trained on such features were several times larger. The slope and the order of the outputs "
    "are more reliable."
)
ON_ROWS = "Errors and accuracies are those of answers to single rows, with their noise."
READOUTS = {"regression": "ridge readout", "margin": "linear support vector machine"}
AS_RIDGE = (
    "It counts as a ridge, which holds for far more features than rows; with fewer, trained "
    "readouts answer less than is predicted."
)


def representation_name(point: Point) -> str:
    """Return the name of a representation of the range.

    Parameters
    ----------
    point : Point

    Returns
    -------
    str
        Such as ``one hidden ReLU layer (depth 1)`` or, on the axis of a salience, ``S = 0.25`` or
        ``about one hidden ReLU layer (S = 0.425)``.
    """
    if np.isnan(point.position):
        return "the measured representation"
    if point.label.startswith("S = "):
        salience = f"S = {point.position:g}"
        is_near = point.position == ONE_LAYER
        return f"about one hidden ReLU layer ({salience})" if is_near else salience
    if point.position == 1:
        return "one hidden ReLU layer (depth 1)"
    return f"{point.position:g} hidden ReLU layers (depth {point.position:g})"


def too_salient(case: Case, sweep: SalienceSweep) -> str:
    """Return which learners are wrong without a change of saliences, in a sentence; or ""."""
    wrong = [
        f"{fit} {_on(kernel)} ({percent(float(score))} right)"
        for (fit, kernel), score in zip(sweep.learners, sweep.unchanged, strict=True)
        if score < sweep.ceiling - 1e-9
    ]
    if not wrong:
        return ""
    given = "equal saliences" if sweep.are_equal else "the saliences that are given"
    return (
        f"With {given} rows of {printable(case.name)} are already predicted wrong by "
        f"{', '.join(wrong)}, where {percent(sweep.ceiling)} can be right."
    )


def _on(kernel: str) -> str:
    return "with a Gaussian kernel" if kernel == "Gaussian" else f"on {kernel}"


def salience_range(name: str, since: float, until: float) -> str:
    """Return between which saliences of a component all is right, in words.

    Parameters
    ----------
    name : str
    since, until : float
        Relative to the other components; 0 and infinite where there is no limit among those tried.

    Returns
    -------
    str

    Examples
    --------
    >>> salience_range("colour", 0.0, 1.56)
    'while colour is at most 1.56 times as salient as each other component'
    >>> salience_range("shape", 0.35, float("inf"))
    'while shape is at least 0.35 times as salient as each other component'
    >>> salience_range("size", 1.001, float("inf"))
    'while size is at least as salient as each other component'
    """
    as_others = "as salient as each other component"
    if since == 0.0 and until == float("inf"):
        return f"at all saliences of {name} that were tried"
    if since == 0.0 or until == float("inf"):
        end, bound = ("at most", until) if since == 0.0 else ("at least", since)
        times = "" if number(bound) == "1" else f"{number(bound)} times "
        return f"while {name} is {end} {times}{as_others}"
    return f"while {name} is {number(since)} to {number(until)} times {as_others}"


def strictest(case: Case, sweep: SalienceSweep) -> str:
    """Return between which saliences all learners that were tried answer rightly, in a sentence.

    Parameters
    ----------
    case : Case
    sweep : SalienceSweep
        Of this case, in which all learners are right at the saliences that are given.

    Returns
    -------
    str
        A bound is that of the learner that fails first.
    """
    names, n = case.table.names, len(sweep.learners)
    which = f"strictest of {NUMERALS.get(n, str(n))} kernel learners" if n > 1 else "kernel learner"
    answers = "can be answered" if sweep.ceiling < 1.0 - 1e-9 else "are held out"
    limited = []
    for c, (since, until) in enumerate(zip(*sweep.range_of_all, strict=True)):
        others = [printable(name) for i, name in enumerate(names) if i != c]
        other = others[0] if len(others) == 1 else "each other component"
        if since > 0.0 or until < float("inf"):
            limited.append(f"{printable(names[c])} counts {_times(since, until)} as {other}")
    while_ = f"only while {'; and '.join(limited)}" if limited else "at every salience tried"
    return (
        f"The {which} gives the right label to all rows that {answers} {while_} ({SALIENCE}). "
        "Networks may fail earlier: measure yours (--features)."
    )


def _times(since: float, until: float) -> str:
    """Return between which multiples something lies, before "as"."""
    if since == 0.0 or until == float("inf"):
        end, bound = ("at most", until) if since == 0.0 else ("at least", since)
        return f"{end} as much" if number(bound) == "1" else f"{end} {number(bound)} times as much"
    return f"{number(since)} to {number(until)} times as much"


def learners(case: Case, prediction: Prediction) -> str:
    """Return what the range of representations covers, to follow its ends.

    Parameters
    ----------
    case : Case
    prediction : Prediction

    Returns
    -------
    str
        Such as " of a random ReLU network that generalises by single parts alone (order 1) and
        memorizes whatever depends on more".
    """
    if prediction.axis.startswith("salience"):
        return (
            " (S: the share of each component in how similar two inputs are; the whole combination "
            "has the rest)"
        )
    name = " of a random ReLU network"
    if case.order >= case.task.n_components - 1:
        return name
    return f"{name} that generalises by {terms(case.order)} and memorizes whatever depends on more"


def measured(prediction: Prediction) -> str:
    """Return how well the overlap describes measured features; empty without a measured point.

    Parameters
    ----------
    prediction : Prediction

    Returns
    -------
    str
    """
    if np.isnan(prediction.structure) or not any(
        np.isnan(point.position) for point in prediction.points
    ):
        return ""
    explained = (
        f"The overlap explains {percent(prediction.structure)} of the variance of similarity."
    )
    learner = READOUTS.get(prediction.fit, prediction.fit)
    if prediction.readout == "trained":
        return (
            f"what a {learner} of the features, trained on the training rows, answers to the "
            f"held-out rows. {ON_ROWS} {explained}"
        )
    if prediction.readout:
        return (
            f"what a {learner} of the features answers, with the noise of their rows. The "
            f"readout that was trained on the training rows {_of_trained(prediction)}answers to "
            f"held-out combinations differently by {number(prediction.from_readout)} (root mean "
            f"square). {ON_ROWS} {explained}"
        )
    noise = "the noise of single rows is set to 0"
    if prediction.noise > 0:
        noise = (
            f"the noise of single rows is {prediction.noise:.2g} of the similarity gained by "
            "sharing all components"
        )
    line = (
        f"the overlap explains {percent(prediction.structure)} of the variance of similarity; "
        f"{noise}."
    )
    if prediction.noise > 0 and prediction.fit == "regression":
        line += f" {AS_RIDGE}"
    return f"{line} {LEFT_OUT}" if prediction.structure < LEAST_STRUCTURE else line


def _of_trained(prediction: Prediction) -> str:
    """Say how well the readout does that was trained beside a prediction."""
    if prediction.trained_accuracy == prediction.trained_accuracy:
        return f"is right in {percent(prediction.trained_accuracy)} of held-out rows, and "
    if prediction.trained_slope == prediction.trained_slope:
        slope = number(prediction.trained_slope)
        return f"changes by {slope} where held-out targets change by 1, and "
    return ""
