"""Names and numbers from a table in a form that can be printed: on one line, and not too long."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from partwhole.audit.case import Case
from partwhole.audit.evidence import Evidence, ShiftedValue, Shortcut
from partwhole.audit.outputs.lines import one_line
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

LONGEST = 60
# Words of `Solvability.explain`.
SUM = "sum of seen conjunctions"
SETS = "values and sets of values"
# What is done with a combination that is recommended for training.
MOVE, COLLECT = "held out: move it into training", "not in training or test: collect"
NOT_ALL = ", so that not all of these labels can be given"
# What `Solvability.explain` says where the held-out targets do not matter.
ANY_TARGETS = re.compile(
    "Such learners could give any targets at all on (.+?), so this says little of the targets; "
    "hold out more combinations."
)
# A share in percent with more digits than are read.
LONG_PERCENT = re.compile(r"(?<![\w.,])\d+\.\d{2,}(?= %)")
OPEN = (
    "Training leaves some of these answers open: these numbers are for learners with the smallest "
    "weights that fit training (those of gradient descent from 0); others that fit it equally well "
    "may answer differently."
)
ORDERS = (
    "Order says how many parts count together. Order 1: parts add up; order 2: pairs of parts "
    "count, too."
)
# Distance from 0 and 1 that is the rounding of a sum of weights.
EXACT = 1e-12


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


def listed(items: Sequence[str], limit: int = 8, last: str = " and ") -> str:
    """Return words as a list, with the number of those left out.

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    """
    if len(items) > limit:
        return f"{', '.join(items[:limit])} and {len(items) - limit:,} more"
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])}{last}{items[-1]}"


def alone(case: Case, shortcut: Shortcut) -> str:
    """Return the name of the component of a shortcut, or of its two or three.

    Parameters
    ----------
    case : Case
    shortcut : Shortcut

    Returns
    -------
    str
    """
    return listed([printable(case.table.names[c]) for c in shortcut.components])


def by_itself(case: Case, shortcut: Shortcut) -> str:
    """Return the subject of what a component predicts alone, or several together.

    Parameters
    ----------
    case : Case
    shortcut : Shortcut

    Returns
    -------
    str
    """
    word = "alone" if len(shortcut.components) == 1 else "together"
    return f"{alone(case, shortcut)} {word}"


def alone_predicts(case: Case, shortcut: Shortcut) -> str:
    """Return how well a component alone, or several, predict training and test, in words.

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
    name, test = by_itself(case, shortcut), printable(case.name)
    s, predicts = ("s", "it predicts") if len(shortcut.components) == 1 else ("", "they predict")
    if case.has_labels:
        of_rows = (
            f"of those with values of {test}"
            if shortcut.at_values
            else f"weighted so that each label is as frequent as in {test}"
        )
        return (
            f"{name} give{s} the right {target} in {percent(shortcut.train)} of training rows "
            f"({of_rows}) and in {percent(shortcut.test)} of {test}, where always answering the "
            f"commonest label is right in {percent(shortcut.guess)}"
        )
    if shortcut.at_values:
        verb = "differs" if len(names) == 1 else "differ"
        return (
            f"{name} explain{s} {percent(shortcut.train)} of how {target} {verb} from the mean of "
            f"training there (in rows with the values of {test}); in {test}, where {predicts} a "
            f"difference of 1, {target} {verb} from that mean by {number(shortcut.test)}"
        )
    return rising(name, percent(shortcut.train), test, names, shortcut.test)


def rising(name: str, share: str, test: str, targets: Sequence[str], slope: float) -> str:
    """Return how much of the targets a component explains, and what is left of it in test.

    Parameters
    ----------
    name : str
        Of the component "alone", or of several "together".
    share : str
        Of the variance in training, in words.
    test : str
        Of the test split.
    targets : sequence of str
    slope : float
        By which targets rise where it predicts that they rise by 1.

    Examples
    --------
    >>> rising("verb alone", "16 %", "test", ["length"], -0.25)
    'verb alone explains 16 % of the variance of length in training; in test, where it predicts that
    length rises by 1, it falls by 0.25'
    """
    is_one = len(targets) == 1
    target = printable(targets[0]) if is_one else "the targets"
    rises, it = ("rises", "it") if is_one else ("rise", "they")
    does = ("falls" if is_one else "fall") if slope < -1e-9 else rises
    s, predicts = ("", "they predict") if name.endswith(" together") else ("s", "it predicts")
    return (
        f"{name} explain{s} {share} of the variance of {target} in training; in {test}, where "
        f"{predicts} that {target} {rises} by 1, {it} {does} by {number(round(abs(slope), 9))}"
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


def further_orders(evidence: Evidence) -> str:
    """Return what is known of orders that are not in the ladder; empty if all are."""
    left = evidence.case.task.n_components - 1 - len(evidence.ladder)
    if not left:
        return ""
    if evidence.ladder and not evidence.ladder[-1].possible:
        return "At higher orders training determines nothing either."
    return f"{count(left, 'order')} would take more time than is left; raise the time limit."


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


def terms_of(order: int) -> str:
    """Return for what learners of an order have a number each.

    Examples
    --------
    >>> terms_of(1), terms_of(2)
    ('value', 'value and each pair of values')
    """
    return {1: "value", 2: "value and each pair of values"}.get(
        order, f"value and each set of at most {order} values"
    )


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
    """Return a share in percent; only 1 is written as 100 % and only 0 as 0 %, up to rounding.

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
    if 0.995 <= share < 1.0 - EXACT:
        return ">99 %"
    if EXACT < share < 0.005:
        return "<1 %"
    return f"{100.0 * share:.0f} %"


def determined_share(
    share: float, undecided: int, held_out: int, write: Callable[[float], str] = percent
) -> str:
    """Return the share that is determined in percent, or between which shares it lies.

    Shares below 1 % and above 99 % are counts.

    Examples
    --------
    >>> determined_share(0.5, 0, 4), determined_share(0.5, 1, 4)
    ('50 %', '50 % to 75 %')
    >>> determined_share(13 / 4182, 0, 4182)
    '13 of 4,182'
    """
    if not undecided:
        is_bound = 0.0 < share < 0.01 or 0.99 < share < 1.0
        return f"{round(share * held_out):,} of {held_out:,}" if is_bound else write(share)
    return f"{write(share)} to {write(share + undecided / held_out)}"


def determined_changes(
    shares: Sequence[float], held_out: int, write: Callable[[float], str] = percent
) -> list[tuple[str, str]]:
    """Return shares that are determined one after another, each with the next one, in words.

    These are counts where percentages of two shares read alike, or are only bounds.

    Examples
    --------
    >>> determined_changes([0.0, 0.5, 1.0], 8)
    [('0 %', '50 %'), ('50 %', '100 %')]
    >>> determined_changes([0.0, 12 / 7706, 19 / 7706], 7706)
    [('0', '12 of 7,706'), ('12', '19 of 7,706')]
    """
    texts = [write(share) for share in shares]
    is_bound = any(0.0 < share < 0.005 or 0.995 <= share < 1.0 for share in shares)
    if not is_bound and len(set(texts)) == len(set(shares)):
        return list(pairwise(texts))
    counts = [f"{round(share * held_out):,}" for share in shares]
    return [(before, f"{after} of {held_out:,}") for before, after in pairwise(counts)]


def share_of(determination: Determination, write: Callable[[float], str] = percent) -> str:
    """Return the share of held-out combinations that is determined, as `determined_share`."""
    undecided, held_out = int(determination.undecided.sum()), len(determination.determined)
    return determined_share(determination.share, undecided, held_out, write)


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
    if solvability.solvable is None and solvability.remarks:
        return f"Not decided: {solvability.remarks[-1]}"
    text = solvability.explain(case.table.label_names)
    learner = f"learner of order {case.order}"
    if f"every {SUM}, with f" not in text:
        text = text.replace(f"every {SUM}", f"every {SUM} with outputs f")
    # The reader is told of learners, not of sums of conjunctions.
    text = text.replace(f"some {SUM} equals", f"a {learner} can give")
    text = text.replace(f"some {SUM} separates the", f"a {learner} can give all")
    text = text.replace(f"no {SUM} separates the", f"no {learner} can give all")
    text = text.replace("Such sums could", "Such learners could")
    text = ANY_TARGETS.sub(
        r"That says nothing of the targets here, as the test is small: training apart, such "
        r"learners could give any on \1; hold out more combinations.",
        text,
    )
    text = text.replace(
        "; so these weighted margins add up to 0 and can't all be positive", NOT_ALL
    )
    text = text.replace(SUM, learner)
    return LONG_PERCENT.sub(lambda number: percent_of_three_digits(float(number[0])), text)


def percent_of_three_digits(value: float) -> str:
    """Return a share in percent to three digits, which are 100 only if it is.

    Examples
    --------
    >>> percent_of_three_digits(11.2382), percent_of_three_digits(99.98)
    ('11.2', '99.98')
    """
    return f"{value:.3g}" if value >= 100.0 or float(f"{value:.3g}") < 100.0 else f"{value:.6g}"
