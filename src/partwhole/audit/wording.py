"""Names and numbers from a table in a form that can be printed: on one line, and not too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence, ShiftedValue, Shortcut
from partwhole.audit.predicted import Point, Prediction, SalienceSweep
from partwhole.limits.proofs.solvability import Solvability

LONGEST = 60
# A share in percent with more digits than are read.
LONG_PERCENT = re.compile(r"(?<![\w.,])\d+\.\d{2,}(?= %)")
# Salience of one hidden ReLU layer on two components.
ONE_LAYER = 0.425
OPEN = (
    "Training leaves some of these answers open: these numbers are for least-norm learners; other "
    "learners that fit the training set equally well may answer differently."
)
# Explained share of the variance of similarity below which the overlap describes features poorly.
LEAST_STRUCTURE = 0.95
NO_SWEEP = (
    "How salient components may be was not tried: that is for at most 10 components and 600 seen "
    "conjunctions, and within the time limit."
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


def printable(value: Hashable, longest: int = LONGEST) -> str:
    r"""Return a name or value on one line, unprintable characters escaped and long text shortened.

    Parameters
    ----------
    value : hashable
    longest : int, default 60

    Returns
    -------
    str

    Examples
    --------
    >>> printable("dark\nred"), printable(""), printable("abcdefghij", 7)
    ('dark\\nred', "''", 'abc…hij')
    """
    text = one_line(str(value))
    if text != text.strip() or not text:
        text = repr(text)
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return text


def one_line(text: str) -> str:
    r"""Return the text with unprintable characters escaped, such as line ends and terminal codes.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> one_line("a\tb")
    'a\\tb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def combination(case: Case, index: int) -> str:
    """Return a combination as its values, such as ``(circle, red)``.

    Parameters
    ----------
    case : Case
    index : int
        Row of the case's task.

    Returns
    -------
    str
    """
    return tuple_of(case, case.task.components[index])


def tuple_of(case: Case, values: Iterable[int | np.integer]) -> str:
    """Return the combination of value indices, one for each component, in words.

    Parameters
    ----------
    case : Case
    values : iterable of int, length C

    Returns
    -------
    str
    """
    return f"({', '.join(values_in_words(case.table.names, case.table.values, values))})"


def values_in_words(
    names: Sequence[str],
    values: Sequence[Sequence[Hashable]],
    combination: Iterable[int | np.integer],
    longest: int = LONGEST,
) -> list[str]:
    """Return the values of a combination; those of a spread column only where they occur.

    Examples
    --------
    >>> names = ("shape", "marks: dot", "marks: bar")
    >>> values = (("disc", "star"), ("no dot", "dot"), ("no bar", "bar"))
    >>> values_in_words(names, values, (1, 1, 0)), values_in_words(names, values, (0, 0, 0))
    (['star', 'dot'], ['disc'])
    """
    words, absent = [], 0
    for name, of, i in zip(names, values, combination, strict=True):
        value = of[int(i)]
        if str(value).startswith("no ") and _is_of_spread(name, value):
            absent += 1
        else:
            words.append(printable(value, longest))
    return words or [f"none of {absent:,} values"]


def value_in_words(name: str, value: Hashable, longest: int = LONGEST) -> str:
    """Return a value with its component, such as ``shape = circle``.

    Examples
    --------
    >>> value_in_words("shape", "circle"), value_in_words("marks: dot", "no dot")
    ('shape = circle', 'marks: no dot')
    """
    if _is_of_spread(name, value):
        column = name.rpartition(": ")[0]
        return f"{printable(column, longest)}: {printable(value, longest)}"
    return f"{printable(name, longest)} = {printable(value, longest)}"


def _is_of_spread(name: str, value: Hashable) -> bool:
    """Return whether a component is a value of a column with several values (see `spread`)."""
    _, sign, text = name.rpartition(": ")
    word = str(value)
    return bool(sign) and (word in (text, f"no {text}") or word.partition(" x ")[2] == text)


def conjunction(case: Case, components: Iterable[int], values: Iterable[int]) -> str:
    """Return values of some components in words, such as ``shape = circle, colour = red``.

    Parameters
    ----------
    case : Case
    components, values : iterables of int

    Returns
    -------
    str
    """
    table = case.table
    return ", ".join(
        value_in_words(table.names[c], table.values[c][v])
        for c, v in zip(components, values, strict=True)
    )


def alone(case: Case, shortcut: Shortcut) -> str:
    """Return the name of the component of a shortcut, or of its pair.

    Parameters
    ----------
    case : Case
    shortcut : Shortcut

    Returns
    -------
    str
    """
    return " with ".join(printable(case.table.names[c]) for c in shortcut.components)


def alone_predicts(case: Case, shortcut: Shortcut) -> str:
    """Return how well a component alone predicts training and test, in words.

    Parameters
    ----------
    case : Case
    shortcut : Shortcut

    Returns
    -------
    str
    """
    names = case.table.target
    target = printable(names[0]) if len(names) == 1 else "the targets"
    name, test = alone(case, shortcut), printable(case.name)
    if case.has_labels:
        of_rows = (
            f"those with the values of {test}"
            if shortcut.at_values
            else f"those with labels of {test}, in the shares that they have there"
        )
        return (
            f"{name} alone gives the right {target} in {percent(shortcut.train)} of training rows "
            f"({of_rows}) and in {percent(shortcut.test)} of {test}, where the commonest label has "
            f"{percent(shortcut.guess)}"
        )
    if shortcut.at_values:
        verb = "differs" if len(names) == 1 else "differ"
        return (
            f"{name} alone explains {percent(shortcut.train)} of how {target} {verb} from the mean "
            f"of training there (in rows with the values of {test}); in {test} {target} {verb} "
            f"from that mean by {number(shortcut.test)} where it predicts a difference of 1"
        )
    verb = "changes" if len(names) == 1 else "change"
    return (
        f"{name} alone explains {percent(shortcut.train)} of the variance of {target} in training; "
        f"in {test} {target} {verb} by {number(shortcut.test)} where it predicts a change by 1"
    )


def shifted(case: Case, shortcut: Shortcut, value: ShiftedValue) -> str:
    """Return how the targets of a value differ between training and test, in words.

    Parameters
    ----------
    case : Case
    shortcut : Shortcut
    value : ShiftedValue

    Returns
    -------
    str
    """
    words = conjunction(case, shortcut.components, value.values)
    if value.label is None or case.table.labels is None:
        return f"{words} (mean {number(value.train)} in training, {number(value.test)} in test)"
    label = printable(case.table.labels[value.label])
    return (
        f"{words} ('{label}' in {percent(value.train)} of its training rows, "
        f"{percent(value.test)} of its test rows)"
    )


def representation_name(point: Point) -> str:
    """Return the name of a representation of the range.

    Parameters
    ----------
    point : Point

    Returns
    -------
    str
        Such as ``one hidden ReLU layer (depth 1)`` or, on the axis of a
        salience, ``S(1; 2) = 0.425, about one hidden ReLU layer``.
    """
    if np.isnan(point.position):
        return "the measured representation"
    if point.label.startswith("S = "):
        about = ", about one hidden ReLU layer" if point.position == ONE_LAYER else ""
        return f"S(1; 2) = {point.position:g}{about}"
    if point.position == 1:
        return "one hidden ReLU layer (depth 1)"
    return f"{point.position:g} hidden ReLU layers (depth {point.position:g})"


def further_orders(evidence: Evidence) -> str:
    """Return what is known of orders that are not in the ladder; empty if all are."""
    left = evidence.case.task.n_components - 1 - len(evidence.ladder)
    if not left:
        return ""
    if evidence.ladder and not evidence.ladder[-1].possible:
        return "At higher orders training determines nothing either."
    return f"{count(left, 'order')} took more time than was left; raise the time limit."


def too_salient(case: Case, sweep: SalienceSweep) -> str:
    """Return which learners are wrong without a change of saliences, in a sentence; or ""."""
    wrong = [
        f"{fit} with the kernel {kernel} ({percent(float(score))} right)"
        for (fit, kernel), score in zip(sweep.learners, sweep.unchanged, strict=True)
        if score < sweep.ceiling - 1e-9
    ]
    if not wrong:
        return ""
    given = "Components of equal salience are" if sweep.are_equal else "The saliences given are"
    return (
        f"{given} already too much for {', '.join(wrong)}, where {percent(sweep.ceiling)} of the "
        f"rows of {printable(case.name)} can be right."
    )


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
    'until colour counts 1.56 times as much as each other component'
    >>> salience_range("shape", 0.35, float("inf"))
    'while shape counts at least 0.35 times as much as each other component'
    """
    others = "times as much as each other component"
    if since == 0.0 and until == float("inf"):
        return f"at all saliences of {name} that were tried"
    if since == 0.0:
        return f"until {name} counts {number(until)} {others}"
    if until == float("inf"):
        return f"while {name} counts at least {number(since)} {others}"
    return f"while {name} counts {number(since)} to {number(until)} {others}"


def learners(case: Case, prediction: Prediction) -> str:
    """Return the name of the learners whose representations the range covers.

    Parameters
    ----------
    case : Case
    prediction : Prediction

    Returns
    -------
    str
        Such as "a random ReLU network that generalises by single parts alone (order 1) and
        memorizes whatever depends on more".
    """
    if prediction.axis.startswith("salience"):
        return "a kernel with salience S(1; 2)"
    name = "a random ReLU network"
    if case.order >= case.task.n_components - 1:
        return name
    return f"{name} that generalises by {terms(case.order)} and memorizes whatever depends on more"


def terms(order: int) -> str:
    """Return in words of what learners of an order are the sums.

    Examples
    --------
    >>> terms(1), terms(2), terms(3)
    ('single parts alone (order 1)', 'parts and pairs (order 2)', 'sets of up to 3 parts (order 3)')
    """
    words = {1: "single parts alone", 2: "parts and pairs"}.get(
        order, f"sets of up to {order} parts"
    )
    return f"{words} (order {order})"


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun.

    Parameters
    ----------
    n : int
    singular : str
    plural : str, optional
        The singular with an s by default.

    Returns
    -------
    str

    Examples
    --------
    >>> count(1, "error"), count(1200, "row")
    ('1 error', '1,200 rows')
    """
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def percent(share: float) -> str:
    """Return a share in percent; only 1 is written as 100 % and only 0 as 0 %.

    Parameters
    ----------
    share : float

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.5), percent(0.9999), percent(1.0), percent(0.0001), percent(float("nan"))
    ('50 %', '>99 %', '100 %', '<1 %', 'not known')
    """
    if share != share:
        return "not known"
    if 0.995 <= share < 1.0:
        return ">99 %"
    if 0.0 < share < 0.005:
        return "<1 %"
    return f"{100.0 * share:.0f} %"


def determined_share(
    share: float, undecided: int, held_out: int, write: Callable[[float], str] = percent
) -> str:
    """Return the share that is determined in percent, or between which shares it lies.

    Examples
    --------
    >>> determined_share(0.5, 0, 4), determined_share(0.5, 1, 4)
    ('50 %', '50 % to 75 %')
    """
    if not undecided:
        return write(share)
    return f"{write(share)} to {write(share + undecided / held_out)}"


def number(value: float) -> str:
    """Return a number to three digits.

    Parameters
    ----------
    value : float

    Returns
    -------
    str

    Examples
    --------
    >>> number(0.12345), number(1234.5), number(float("nan"))
    ('0.123', '1.23e+03', 'not known')
    """
    return "not known" if value != value else f"{value:.3g}"


def explained(case: Case, solvability: Solvability) -> str:
    """Return why held-out targets are solvable or not, with shares of at most three digits.

    Parameters
    ----------
    case : Case
    solvability : Solvability

    Returns
    -------
    str
    """
    text = solvability.explain(case.table.labels)
    return LONG_PERCENT.sub(lambda found: percent_of_three_digits(float(found[0])), text)


def percent_of_three_digits(value: float) -> str:
    """Return a share in percent to three digits, which are 100 only if it is.

    Examples
    --------
    >>> percent_of_three_digits(11.2382), percent_of_three_digits(99.98)
    ('11.2', '99.98')
    """
    return f"{value:.3g}" if value >= 100.0 or float(f"{value:.3g}") < 100.0 else f"{value:.6g}"


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
        return f"has a leak slope of {number(prediction.trained_slope)}, and "
    return ""
