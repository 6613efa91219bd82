"""Findings about learners: what they can answer, what training determines, what is predicted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from partwhole.audit.case import TRAIN, Case
from partwhole.audit.evidence import ROUNDING, Evidence
from partwhole.audit.judging.finding import finding_of
from partwhole.audit.outputs.lines import one_line
from partwhole.audit.predicted import Point, Prediction, SalienceSweep
from partwhole.audit.predictions_in_words import (
    learners,
    representation_name,
    salience_range,
    too_salient,
)
from partwhole.audit.rules import Finding
from partwhole.audit.settings import Settings
from partwhole.audit.wording import (
    combination,
    conjunction,
    count,
    determined_changes,
    explained,
    number,
    percent,
    percent_of_three_digits,
    printable,
    tuple_of,
)
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

# Values that are named in a finding.
MOST_NAMED = 5


def _learners(case: Case) -> str:
    return f"learners of order {case.order}"


def not_solvable(evidence: Evidence) -> Iterator[Finding]:
    """Report held-out targets that no sum of seen conjunctions has, or that were not decided."""
    case, solvability = evidence.case, evidence.solvability
    if solvability is None or solvability.solvable:
        return
    name = printable(case.name)
    if solvability.solvable is None:
        asked = f"Whether {_learners(case)} can answer the held-out combinations of {name} at all"
        why = f"was not decided in {solvability.seconds:.1f} s. Raise the time limit."
        if solvability.remarks:
            why = f"cannot be decided: {' '.join(solvability.remarks)}"
        yield finding_of("not-decided", case, f"{asked} {why}", case.rows_of(case.held_out))
        return
    proof = solvability.certificate
    above = [rung for rung in evidence.ladder if rung.order > case.order]
    may_help = not above or any(rung.is_supported() is not False for rung in above)
    higher = ""
    if case.order < case.table.n_components - 1 and may_help:
        higher = "require a higher order that the table supports, "
    # Values and labels that training lacks are other findings.
    asked, has = case.held_out, ""
    if evidence.remainder is not None:
        asked, has = asked[evidence.remainder.kept], " whose values and labels training has"
    yield finding_of(
        "not-solvable",
        case,
        f"No learner of order {case.order} can answer all "
        f"{count(len(asked), 'held-out combination')} of {name}{has}. "
        f"{_proof(case, solvability)} {_unexplained(case, solvability)}Choose "
        f"targets that such learners can give, {higher}or train a network that learns its features "
        "and check its predictions.",
        case.rows_of(asked if proof is None else proof.rows),
    )


def _proof(case: Case, solvability: Solvability) -> str:
    """Return why not, without the words that repeat that it is not solvable."""
    words = one_line(explained(case, solvability)).removeprefix("Not solvable: ")
    is_sum = words.startswith(("f(", "f[")) or not words[:1].isalpha()
    return f"Proof: {words}" if is_sum else f"{words[:1].upper()}{words[1:]}"


def _unexplained(case: Case, solvability: Solvability) -> str:
    """Say how much of the variance of numbers the best sum leaves unexplained, and the limit."""
    is_number = solvability.kind == "regression" and case.table.hashed is None
    if not is_number or np.isnan(solvability.r_squared):
        return ""
    if solvability.remarks:
        # Of the noise, which the share exceeds.
        return f"{solvability.remarks[-1]} "
    tolerated = solvability.tolerated
    allowed = f"up to {percent_of_three_digits(100.0 * tolerated)} %" if tolerated > 0 else "none"
    sentence = f"The threshold 'unexplained' allows {allowed}"
    # Without a certificate the explanation has named the share.
    if solvability.certificate is not None:
        # With none allowed the search may end before the best sum.
        best = "best such learner" if tolerated > 0 else "best such learner found"
        sentence = (
            f"The {best} leaves {100.0 * solvability.unexplained:.3g} % of the variance of "
            f"their targets unexplained; the threshold 'unexplained' allows {allowed}"
        )
    noise = (
        "If the remainder is noise, pass its standard deviation as noise (--noise), or 'estimate'."
    )
    return f"{sentence}. {noise} "


def not_determined(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    """Report held-out combinations whose answers training leaves open, or that were undecided."""
    determination = evidence.determination
    if determination is None:
        return
    # An undecided combination may be determined, so it is no reason for an error.
    if float((determination.determined | determination.undecided).mean()) < settings.determined:
        yield _open_answers(evidence, determination, settings)
    if determination.undecided.any():
        case = evidence.case
        rows = case.held_out[determination.undecided]
        yield finding_of(
            "not-decided",
            case,
            f"Whether training determines {len(rows):,} of "
            f"{count(len(case.held_out), 'held-out combination')} of {printable(case.name)} for "
            f"{_learners(case)}, such as {combination(case, int(rows[0]))}, was not decided in "
            f"{determination.seconds:.1f} s. Raise the time limit, choose a smaller order, or "
            "audit fewer rows.",
            case.rows_of(rows),
        )


def _open_answers(evidence: Evidence, determination: Determination, settings: Settings) -> Finding:
    case = evidence.case
    is_open = ~determination.determined & ~determination.undecided
    unseen = is_open & determination.unseen
    plain = np.flatnonzero(is_open & ~determination.unseen)
    example = int(plain[0]) if len(plain) else int(np.flatnonzero(is_open)[0])
    total, n_open = len(is_open), int(is_open.sum())
    single = n_open == 1
    message = (
        f"Training does not determine the answers of {_learners(case)} to {n_open:,} of "
        f"{count(total, 'held-out combination')} of {printable(case.name)} "
        f"({percent(n_open / total)}), such as {combination(case, int(case.held_out[example]))}: "
        "two that fit training equally well may differ there. "
    )
    part = "a value"
    if case.order > 1:
        part += f" or a set of at most {case.order} values"
    reason = "their answers follow from no weighted sum of training answers"
    if single:
        reason = "its answer follows from no weighted sum of training answers"
    if not len(plain):
        message += f"{'It' if single else 'Each'} has {part} that training lacks."
    elif unseen.any():
        n_unseen = int(unseen.sum())
        has = "has" if n_unseen == 1 else "have"
        message += f"{n_unseen:,} {has} {part} that training lacks; for the others, {reason}."
    else:
        parts = "values"
        if case.order > 1:
            parts = f"sets of at most {case.order} values"
        message += f"All {'its' if single else 'their'} {parts} occur in training, but {reason}."
    if settings.determined < 1:
        message += f" The threshold 'determined' is {percent(float(settings.determined))}."
    steps = evidence.additions.steps if evidence.additions else ()
    if steps and steps[0].determined > determination.share:
        first = tuple_of(case, steps[0].values)
        change = (
            f"Moving {first} from the test split into training"
            if steps[0].held_out
            else f"Adding {first} to training"
        )
        shares = [float(determination.share), steps[0].determined]
        ((_, after),) = determined_changes(shares, total)
        what = "the share" if after.endswith("%") else "the determined ones"
        message += f" {change} would raise {what} to {after}."
    else:
        message += " Add more combinations to training."
    if case.determined_by_counts is not None:
        n_more = int(case.determined_by_counts[is_open].sum())
        if n_more:
            message += (
                " If your learner adds up one embedding for each value, so that twice is two times "
                f"once, training determines {n_more:,} of these {n_open:,} as well."
            )
    return finding_of("not-determined", case, message, case.rows_of(case.held_out[is_open]))


def poor_predictions(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    """Report predictions no better than guesses, not computed, or with a strong leak."""
    prediction, case = evidence.prediction, evidence.case
    name, rows = printable(case.name), case.rows_of(case.held_out)
    if len(case.held_out) and evidence.is_better_than_guesses is None:
        base = "guessing among the labels" if case.has_labels else "the mean of training"
        over = "" if prediction is None else f" over {_range(case, prediction)}"
        yield finding_of(
            "not-decided",
            case,
            f"Whether {_learners(case)} do better on {name} than {base} is not known, because the "
            f"predictions{over} did not finish in time. Raise the time limit.",
            severity="warning",
        )
    if prediction is None:
        return
    if evidence.is_better_than_guesses is False and prediction.measured is not None:
        yield _poor_at_the_measured(case, prediction, prediction.measured)
    elif evidence.is_better_than_guesses is False and case.has_labels:
        best = max(point.balanced_accuracy for point in prediction.points)
        places = _range(case, prediction)
        scores = (
            f"reach a balanced accuracy (mean over labels) of at most {percent(best)} on {name}, "
            f"over {places}; guessing among the labels reaches {percent(prediction.chance)}"
        )
        if len(case.held_out) == 1 and best <= ROUNDING:
            scores = f"answer the only held-out combination of {name} wrong, over {places}"
        yield finding_of(
            "at-chance",
            case,
            f"{_learners(case).capitalize()} are predicted to {scores}. {_single(case)}Add "
            "training combinations in which the same values have other labels, or hold out "
            f"{'more' if len(case.held_out) == 1 else 'other ones'}.",
            rows,
        )
    elif evidence.is_better_than_guesses is False:
        lowest = min(point.error for point in prediction.points)
        yield finding_of(
            "no-better-than-constant",
            case,
            f"{_learners(case).capitalize()} are predicted to have a squared error of at least "
            f"{number(lowest)} on {name} over {_range(case, prediction)}; the mean of training has "
            f"{number(prediction.constant_error)}. {_single(case)}Add training combinations with "
            "the same values, or hold out "
            f"{'more' if len(case.held_out) == 1 else 'other combinations'}.",
            rows,
        )
    point = prediction.points[prediction.reference]
    # Labels need the sign alone: a leak that leaves all of them correct costs nothing.
    is_harmful = not case.has_labels or point.accuracy < prediction.ceiling - ROUNDING
    if _carried_over(case, prediction) < settings.leak_slope and is_harmful:
        yield _strong_leak(case, prediction, settings)


def _single(case: Case) -> str:
    """Return what can be said of a single held-out combination."""
    if len(case.held_out) > 1:
        return ""
    only = combination(case, int(case.held_out[0]))
    return f"{only} alone is held out, and a single combination says nothing of others. "


def _poor_at_the_measured(case: Case, prediction: Prediction, point: Point) -> Finding:
    """Report that learners do no better than guesses at the representation that was measured."""
    name = f"{'single rows of ' if prediction.readout else ''}{printable(case.name)}"
    if case.has_labels:
        rule = "at-chance"
        scores = (
            f"a balanced accuracy of {percent(point.balanced_accuracy)} is predicted for {name}"
            f"; guessing among the labels reaches {percent(prediction.chance)}"
        )
    else:
        rule = "no-better-than-constant"
        scores = (
            f"a squared error of {number(point.error)} is predicted for {name}; the mean "
            f"of training has {number(prediction.constant_error)}"
        )
    if prediction.readout == "trained":
        scores = scores.replace("is predicted", "was measured")
    remedy = "train on more rows of each combination, " if prediction.readout else ""
    return finding_of(
        rule,
        case,
        f"At {representation_name(point)}, {scores}. {_single(case)}Add training combinations with "
        f"the same values, {remedy}or use another representation.",
        case.rows_of(case.held_out),
    )


def failed_values(evidence: Evidence) -> Iterator[Finding]:
    """Report values of training whose held-out combinations are all predicted wrong."""
    case, prediction = evidence.case, evidence.prediction
    # Where all is guessed, another rule says so.
    if prediction is None or not case.has_labels or evidence.is_better_than_guesses is False:
        return
    known = set(case.table.label[case.table.split == TRAIN].tolist())  # pyright: ignore
    failed = [
        item
        for item in prediction.worst
        if item.accuracy_of_means <= ROUNDING
        and item.n_train > 0
        and _has_known_label(case, item.component, item.value, known)
    ]
    if not failed:
        return
    names = [conjunction(case, [item.component], [item.value]) for item in failed[:MOST_NAMED]]
    if len(failed) > MOST_NAMED:
        least = "at least " if len(failed) == len(prediction.worst) else ""
        names.append(f"{least}{len(failed) - MOST_NAMED} more")
    has = np.zeros(len(case.held_out), dtype=bool)
    for item in failed:
        has |= case.task.components[case.held_out, item.component] == item.value
    point = prediction.points[prediction.reference]
    wrong = (
        f"all held-out rows of {printable(case.name)} with {', '.join(names)} are predicted wrong"
    )
    if prediction.readout:
        most = max(item.accuracy for item in failed)
        wrong = (
            f"mean answers to all held-out combinations of {printable(case.name)} with "
            f"{', '.join(names)} are wrong (of single rows at most {percent(most)} are right)"
        )
    yield finding_of(
        "failed-value",
        case,
        f"At {representation_name(point)}, {wrong}. Add training combinations in which the "
        "same values have other labels.",
        case.rows_of(case.held_out[has]),
        names[0],
    )


def _has_known_label(case: Case, component: int, value: int, known: set[int]) -> bool:
    """Return whether a held-out row with the value has a label of training."""
    table, rows = case.table, case.rows_of(case.held_out)
    assert table.label is not None
    rows = rows[table.components[rows, component] == value]
    return bool(np.isin(table.label[rows], list(known)).any())


def salience_limits(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    """Report components whose salience decides whether labels are predicted right."""
    case, sweep = evidence.case, evidence.sweep
    if sweep is None:
        return
    if not sweep.is_right:
        # Equal saliences are nobody's choice, and other findings are of them.
        if not sweep.are_equal and (words := too_salient(case, sweep)):
            remedy = "Add training rows in which values of salient components have other labels."
            rows = case.rows_of(case.held_out)
            yield finding_of("salience-limit", case, f"{words} {remedy}", rows)
        return
    for component, (since, until) in enumerate(zip(*sweep.range_of_all, strict=True)):
        base = sweep.base[component]
        if until >= settings.salience * base and since <= base / settings.salience:
            continue
        name = printable(case.table.names[component])
        yield finding_of(
            "salience-limit",
            case,
            f"Labels of {printable(case.name)} are predicted right only "
            f"{salience_range(name, since, until)} (salience: how strongly a change of a component "
            "changes the inputs or features of a learner). As nobody sets the saliences of a "
            f"network, a split should leave a factor of {settings.salience:g} either way. "
            f"{_standing(sweep, component)}A network that learns its features may fail sooner. "
            f"Add training rows in which values of {name} have other "
            f"labels{_or_features(sweep)}.",
            case.rows_of(case.held_out),
            name,
        )


def _standing(sweep: SalienceSweep, component: int) -> str:
    """Say where measured features stand, if there are any."""
    if sweep.measured is None:
        return ""
    at = float(sweep.measured[component])
    since, until = (float(end[component]) for end in sweep.range_of_all)
    place = "within" if since <= at <= until else "beyond"
    return f"In the measured features it is {number(at)} times as salient, {place} that range. "


def _or_features(sweep: SalienceSweep) -> str:
    if sweep.measured is not None:
        return ""
    return ", or pass features of your network (--features) to see how salient it is there"


def _carried_over(case: Case, prediction: Prediction) -> float:
    """Return the leak slope, or for labels of noisy rows the share of the gain over guessing.

    Outputs of such a readout have no scale of their own.
    """
    point = prediction.points[prediction.reference]
    possible = prediction.ceiling - prediction.chance
    if not case.has_labels or not prediction.readout or not possible > 0:
        return point.leak_slope
    return (point.balanced_accuracy - prediction.chance) / possible


def _strong_leak(case: Case, prediction: Prediction, settings: Settings) -> Finding:
    point = prediction.points[prediction.reference]
    slope = _carried_over(case, prediction)
    slope = slope if abs(slope) > ROUNDING else 0.0
    reason = (
        "the rest is memorised for single training combinations and does not carry over to others"
    )
    if slope <= 0:
        reason = "what carries over from training does not follow the targets"
    elif prediction.readout:
        reason = (
            "the rest is memorised for single training combinations, or lost to the noise of "
            "single rows"
        )
    return finding_of(
        "strong-leak",
        case,
        f"At {representation_name(point)}, {_slope(case, prediction, slope)} (the threshold, "
        f"leak_slope, is {settings.leak_slope:g}): {reason}. Show the values in more training "
        "combinations, or use a representation in which inputs with common parts are more alike.",
        case.rows_of(case.held_out),
    )


def _slope(case: Case, prediction: Prediction, slope: float) -> str:
    """Return what is below the threshold in words, up to its name in brackets."""
    name = printable(case.name)
    if not case.has_labels:
        return f"predictions for {name} change by {number(slope)} where the targets change by 1"
    if prediction.readout:
        point = prediction.points[prediction.reference]
        return (
            f"single rows of {name} are answered with a balanced accuracy of "
            f"{percent(point.balanced_accuracy)}, where guessing has {percent(prediction.chance)}: "
            f"{number(slope)} of the possible gain"
        )
    if slope < 0:
        return (
            f"outputs for {name} are higher for wrong labels than for correct ones, by "
            f"{number(-slope)} of how far apart these are in training"
        )
    return (
        f"outputs for correct and wrong labels of {name} lie {number(slope)} times as far apart "
        "as in training"
    )


def _range(case: Case, prediction: Prediction) -> str:
    points = [point for point in prediction.points if not np.isnan(point.position)]
    if not points:
        return representation_name(prediction.points[0])
    words = f"{points[0].label} to {points[-1].label}" if len(points) > 1 else points[0].label
    words += learners(case, prediction)
    has_measured = len(points) < len(prediction.points)
    return words + (" and the measured representation" if has_measured else "")
