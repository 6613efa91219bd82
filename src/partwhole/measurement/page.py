"""The page of a measurement: one file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from partwhole import __version__
from partwhole.audit.page.words import number, share
from partwhole.audit.wording import printable
from partwhole.measurement import charts
from partwhole.measurement.classifiers import readouts_in_words
from partwhole.measurement.notes import labels_in_words
from partwhole.measurement.readout_words import (
    NO_CHANCE,
    budget_in_words,
    from_saliences,
    named_in_words,
    readout_in_words,
    sets_in_words,
    too_coarse,
    verdicts_of,
)
from partwhole.measurement.separation import not_apart
from partwhole.measurement.verdicts import (
    TOGETHER,
    abstraction_in_words,
    dimensions_in_words,
    grading_in_words,
    headline,
    interval_in_words,
    missing_in_words,
    peaks_in_words,
    set_in_words,
    shown_intervals,
    shown_saliences,
    structure_in_words,
    trials_in_words,
)
from partwhole.page import Html, join, page, section, table, tag

if TYPE_CHECKING:
    from partwhole.measurement.measurement import Measurement
    from partwhole.recordings import Recording

MOST_ROWS, MOST_VALUES = 200, 12
OVER = {"groups": "groups of trials", "trials": "trials"}
ALONE = (
    "By saliences: the mean answer for the right value, predicted from saliences alone (of ridge "
    "readouts 1 at best); below it the same from all condition means. ≠: the two predictions "
    "differ by more than the sampling error of an answer, at 95 %."
)
SMALL_PENALTIES = "The penalty is too small where it would be right with a larger one. "
BY_GROUP = (
    "Where values depend on the group (the run, the block), readouts may answer by what its trials "
    "share. "
)
SIGNS = {
    "right": ("holds", "✓"), "wrong": ("fails", "✗"), "too few trials": ("open", "○"),
    "penalty too small": ("open", "○"), "maybe by group": ("open", "○"),
    "not determined": ("outside", "?"),
}  # fmt: skip


def page_of(measurement: Measurement) -> str:
    """Return the page."""
    sections = [
        ("saliences", "What separates conditions", _saliences(measurement)),
        ("time", "Over time", _over_time(measurement)),
        ("abstraction", "The same in all contexts?", _abstraction(measurement)),
        ("held-out", "Conditions that are held out", _held_out(measurement)),
        ("design", "Conditions and trials", _design(measurement)),
        ("notes", "Notes", _notes(measurement)),
    ]
    present = [entry for entry in sections if entry[2] is not None]
    nav = tag("ul", [tag("li", tag("a", title, href=f"#{name}")) for name, title, _ in present])
    return page(
        f"Measured: {measurement.source or 'a recording'}",
        header=_opening(measurement),
        nav=nav,
        main=[section(*entry) for entry in present],
        footer=tag(
            "p",
            f"Made by partwhole {__version__}. Saliences: Lippl and Stachenfeld (ICLR 2025), from "
            "distances of different trials. Parallelism and decoding in unseen contexts: "
            "Bernardi and others (Cell 2020). Predicted readouts: the deterministic equivalent of "
            "ridge regression (Hachem, Loubaton and Najim, 2007), and what follows from it.",
        ),
        style=Path(__file__).with_name("measure.css").read_text("utf-8"),
    )


def _opening(measurement: Measurement) -> Html:
    recording = measurement.recording
    facts = [
        (f"{recording.n_trials:,}", "trials"),
        (f"{recording.n_neurons:,}", "neurons, voxels or units"),
        (
            f"{recording.n_conditions:,}",
            f"conditions, {trials_in_words(recording, of='each')}",
        ),
    ]
    structure, explained = structure_in_words(measurement), measurement.saliences.structure
    if structure and np.isfinite(explained):
        ends = interval_in_words(*(round(end, 2) for end in measurement.structure_interval))
        words = f"structure: share of similarity that shared parts explain ({ends})"
        facts.append((number(round(explained, 2)), words))
    readouts = measurement.held_out
    lines, kind = [], ""
    if readouts is not None:
        verdicts, kind = verdicts_of(readouts), readouts_in_words(readouts)
        said = [readout_in_words(readouts, verdicts, j) for j in range(len(readouts.labels))]
        lines = [_unbroken(f"{printable(line, 400)}.") for line in said]
    source = f" · {printable(measurement.source)}" if measurement.source else ""
    return join(
        tag("p", f"partwhole measure{source}", class_="name"),
        tag("h1", _unbroken(headline(measurement))),
        tag("p", _unbroken(structure), class_="lead") if structure else None,
        tag("p", f"{kind} of conditions that were held out, trained on all others:")
        if lines
        else None,
        tag("ul", [tag("li", line) for line in lines]) if lines else None,
        tag("ul", [tag("li", tag("strong", value), words) for value, words in facts],
            class_="tiles"),
    )  # fmt: skip


def _saliences(measurement: Measurement) -> Html:
    names = measurement.recording.names
    if len(names) == 1:
        return _geometry(measurement)
    of_neurons, intervals = measurement.saliences, shown_intervals(measurement)
    members = list(of_neurons.saliences)
    whole = [set_in_words(names, entry) for entry in members]
    labels = [printable(words, 40) for words in whole]
    narrow, broad = np.array([intervals[entry] for entry in members]).transpose(1, 0, 2)
    values = np.array(list(shown_saliences(measurement).values()))
    over = OVER[of_neurons.resampled]
    grouped = measurement.recording.groups is not None
    different = "trials of different groups" if grouped else "different trials"
    rows = [
        [printable(words, 200), number(round(float(value), 3)), *map(_ends, both)]
        for words, value, *both in zip(whole, values, narrow.tolist(), broad.tolist(), strict=True)
    ]
    confidence = share(of_neurons.confidence)
    picture = None
    if len(labels) <= 31 and not not_apart(of_neurons):
        axis = "salience: share of what separates conditions"
        picture = charts.dots(labels, values, narrow, broad, title="Saliences", caption=axis)
    return join(
        tag(
            "p",
            "The salience of a component is the share of the squared distance between conditions "
            "that goes back to its values; that of a combination, the share that is specific to "
            "values together. If parts have all of it, the representation is additive, and a "
            "linear readout can generalise to combinations it has not seen.",
        ),
        tag(
            "figure",
            charts.keys([
                ("narrow", f"{confidence} interval over {over}, for these neurons"),
                ("broad", f"{confidence} interval over neurons, for their population"),
            ]),
            picture,
            tag("figcaption", f"Noise is taken out: only products of {different} count."),
        )
        if picture
        else None,
        _geometry(measurement),
        table(
            ["set of components", "salience", f"over {over}", "over neurons"],
            rows,
            caption=f"Saliences with {confidence} intervals",
            numbers=[1],
        ),
        tag("p", missing, class_="quiet") if (missing := missing_in_words(measurement)) else None,
    )  # fmt: skip


def _ends(interval: list[float]) -> str:
    return interval_in_words(*interval)


def _geometry(measurement: Measurement) -> Html:
    """Return how values differ and how many dimensions there are, beyond saliences."""
    lines = [grading_in_words(grading) for grading in measurement.gradings]
    lines += filter(None, [dimensions_in_words(measurement)])
    return tag("ul", [tag("li", _unbroken(f"{printable(line, 400)}.")) for line in lines])


def _abstraction(measurement: Measurement) -> Html | None:
    measured = measurement.abstraction
    if measured is None:
        return None
    figures = []
    parallel, general = measured.parallelism, measured.generalization
    if parallel is not None and measured.has_parallelism.any():
        scores = np.where(measured.has_parallelism, parallel.score, np.nan)
        figures.append(_beside_null(
            parallel.names, scores, parallel.interval, parallel.null,
            title="Parallelism", caption="parallelism across contexts",
        ))  # fmt: skip
    if general is not None:
        scores = np.array([general.by_component[name] for name in general.names])
        none = np.full((len(scores), 2), np.nan)
        figures.append(_beside_null(
            general.names, scores, none, general.null_by_component,
            title="Decoding in unseen contexts",
            caption="right trials of unseen contexts",
        ))  # fmt: skip
    return join(
        tag(
            "p",
            "A component is abstract if its values differ in the same way whatever the others "
            "are: along parallel directions, so that a decoder of two values, trained in all "
            "contexts but one (values of the other components), is right in that one.",
        )
        if parallel is not None or general is not None
        else None,
        tag("div", figures, class_="charts") if figures else None,
        tag("ul", [tag("li", _unbroken(f"{printable(sentence, 400)}."))
                   for sentence in abstraction_in_words(measured)]),
    )  # fmt: skip


def _beside_null(
    names: Sequence[str],
    scores: np.ndarray,
    intervals: np.ndarray,
    null: np.ndarray,
    *,
    title: str,
    caption: str,
) -> Html:
    """Return a score of each component with its interval, and that of shuffled condition means."""
    labels = [printable(name, 24) for name in names]
    present = np.isfinite(scores)
    broad = np.full((len(scores), 2), np.nan)
    # Without structure, too, squared lengths can be no larger than noise.
    broad[present] = np.nanquantile(null[:, present], [0.025, 0.975], axis=0).T
    key = [("broad", "95 % with means shuffled")]
    if np.isfinite(intervals).any():
        key.insert(0, ("narrow", "its 95 % interval"))
    return tag("figure", charts.keys(key),
               charts.dots(labels, scores, intervals, broad, title=title, caption=caption,
                           width=400))  # fmt: skip


def _over_time(measurement: Measurement) -> Html | None:
    course = measurement.time_course
    if course is None:
        return None
    names = measurement.recording.names
    members = list(measurement.saliences.saliences)
    order = sorted(range(len(members)), key=lambda j: len(members[j]))[: len(charts.STYLES)]
    labels = [printable(set_in_words(names, members[j]), 40) for j in order]
    picture = charts.over_time(
        labels,
        course.times,
        *(part[:, order] for part in (course.parts, course.low, course.high)),
    )
    peaks = [tag("li", printable(line, 120)) for line in peaks_in_words(measurement)]
    figure = tag(
        "figure",
        charts.keys([(charts.style(i), label) for i, label in enumerate(labels)]),
        picture,
        tag("figcaption", "Parts of half the mean squared distance between conditions that share "
            "nothing, at each time by itself, in squared units of responses, with intervals over "
            f"{OVER[measurement.saliences.resampled]}. Over their sum they are saliences; where "
            "conditions are not yet separated they are 0."),
    )  # fmt: skip
    return join(figure, tag("p", f"The largest parts ({TOGETHER}):"), tag("ul", peaks))


def _held_out(measurement: Measurement) -> Html | None:
    readouts = measurement.held_out
    if readouts is None:
        return None
    recording, verdicts = readouts.recording, verdicts_of(readouts)
    if verdicts.lacking.all():
        return tag("ul", [tag("li", f"{printable(readout_in_words(readouts, verdicts, j), 400)}.")
                          for j in range(len(readouts.labels))])  # fmt: skip
    headings = ["condition", "trials"]
    alone = from_saliences(readouts)
    for name in readouts.labels:
        headings += [f"{printable(name, 24)}: predicted", "measured", "verdict"]
    coarse = too_coarse(readouts)
    of_saliences: list[list[object]] = []
    counts = np.bincount(recording.condition_of_trial)
    sizes, sets = readouts.held_out.sum(axis=1), sets_in_words(readouts)
    rows = []
    for row, condition in enumerate(readouts.condition.tolist()):
        label = _label(recording, condition)
        number_of_set = int(readouts.set_of_row[row])
        if len(sizes) > 1 and sizes.max() > 2:
            label = join(label, tag("small", f"set {number_of_set}"))
        elif sizes[number_of_set] == 2:
            others = readouts.held_out[number_of_set].copy()
            others[condition] = False
            together = _label(recording, int(np.argmax(others)))
            label = join(label, tag("small", f"with {together}"))
        cells: list[object] = [label, str(counts[condition])]
        for j in range(len(readouts.labels)):
            verdict = verdicts.words[row][j]
            kind, sign = SIGNS[verdict]
            low, high = (share(round(float(end), 2)) for end in readouts.accuracy_interval[row, j])
            shares = [
                join(share(round(float(readouts.accuracy[row, j]), 3)),
                     tag("small", f"{low.removesuffix(' %')} to {high}")),
                share(round(float(readouts.measured_accuracy[row, j]), 3)),
            ]  # fmt: skip
            cells += ["–"] * len(shares) if verdicts.lacking[row, j] else shares
            words = join(tag("span", sign, aria_hidden="true"), f"\N{NO-BREAK SPACE}{verdict}")
            cells.append(tag("span", words, class_=f"verdict {kind}"))
        if alone is not None and coarse is not None:
            of_saliences.append([label, *(
                "–" if lacking else join(
                    f"≠ {number(round(by_saliences, 2))}" if differs else
                    number(round(by_saliences, 2)),
                    tag("small", number(round(by_means, 2))),
                )
                for by_saliences, by_means, lacking, differs in zip(
                    alone[0][row].tolist(), alone[1][row].tolist(), verdicts.lacking[row],
                    coarse[row], strict=True,
                )
            )])  # fmt: skip
        rows.append(cells)
    left_out = len(rows) - MOST_ROWS
    numbers = [i for i, heading in enumerate(headings) if i and heading != "verdict"]
    bars = "" if readouts.classifier is None else ", and hold fewer (see notes)"
    chosen = "; ".join(printable(named_in_words(readouts, j)) for j in range(len(readouts.labels)))
    return join(
        tag(
            "p",
            f"{readouts_in_words(readouts)}, one for each component, are trained with {sets} held "
            "out. The prediction needs no readout: it follows from condition means and the "
            "covariance of noise; small numbers are the ends between which 95 % of shares are "
            "predicted to lie in other recordings of as many trials. The verdict is on the mean "
            "answer to as many trials as there are: right or wrong with a probability of at least "
            f"97.5 %, or too few trials to say. {SMALL_PENALTIES * (readouts.classifier is None)}"
            f"{BY_GROUP * bool(readouts.confounded)}Not determined are "
            "values that training lacks, and sums of parts that it leaves open.",
        ),
        tag(
            "div",
            tag("figure",
                charts.keys([(charts.style(j), printable(name))
                             for j, name in enumerate(readouts.labels)]),
                charts.accuracies(readouts, verdicts),
                tag("figcaption", "Share of right trials of each held-out condition: "
                    f"{chosen}. {NO_CHANCE} Open circles are not determined by the other "
                    "conditions.")),
            tag("figure",
                charts.keys([("first", "outputs of the right value"), ("second", "of another")]),
                charts.answers(readouts),
                tag("figcaption", "Mean answers; bars are to hold 95 % of those in other "
                    f"recordings of as many trials{bars}. {budget_in_words(readouts)}.")),
            class_="charts",
        ),
        table(headings, rows[:MOST_ROWS], numbers=numbers,
              caption="Held-out conditions, share of right trials predicted and measured"),
        tag("details", [
            tag("summary", "What saliences alone predict"),
            table(
                ["condition", *(f"{printable(name, 24)} by saliences" for name in readouts.labels)],
                of_saliences[:MOST_ROWS], numbers=range(1, 1 + len(readouts.labels)),
                caption="Mean answers for the right value",
            ),
            tag("p", ALONE, class_="quiet"),
        ]) if of_saliences else None,
        tag("p", f"{left_out:,} more rows are in the table of to_frame(), --output.",
            class_="quiet") if left_out > 0 else None,
    )  # fmt: skip


def _label(recording: Recording, condition: int) -> str:
    """Return the values of a condition in words."""
    index = recording.conditions[condition].tolist()
    words = zip(map(labels_in_words, recording.values), index, strict=True)
    return printable(", ".join(labels[i] for labels, i in words), 60)


def _design(measurement: Measurement) -> Html:
    recording = measurement.recording
    listed_values = list(map(labels_in_words, recording.values))
    parts = [f"{printable(name)}: {', '.join(printable(v, 30) for v in values[:MOST_VALUES])}"
             + (f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else "")
             for name, values in zip(recording.names, listed_values, strict=True)]  # fmt: skip
    listed = [tag("li", part) for part in parts]
    listed.append(tag("li", _settings(measurement)))
    for word, index in (("groups", recording.groups), ("sessions", recording.sessions)):
        if index is not None:
            counts = np.unique(index, return_counts=True)[1]
            low, high = int(counts.min()), int(counts.max())
            size = f"{low}" if low == high else f"{low} to {high}"
            listed.append(tag("li", f"{len(counts)} {word} of {size} trials"))
    figures = []
    for a, b in combinations(range(recording.n_components), 2):
        sizes = (len(recording.values[a]), len(recording.values[b]))
        if max(sizes) > MOST_VALUES or len(figures) == 4:
            continue
        counts = np.zeros(sizes, dtype=int)
        np.add.at(counts, (recording.components[:, a], recording.components[:, b]), 1)
        names = [printable(recording.names[c], 24) for c in (a, b)]
        # Beside rows there is room, above columns there is little.
        rows, columns = listed_values[a], listed_values[b]
        values = [[printable(v, 20) for v in rows], [printable(v, 6) for v in columns]]
        figures.append(tag("figure", charts.trial_grid(counts, names, values)))
    return join(tag("ul", listed), tag("div", figures, class_="charts") if figures else None)


def _settings(measurement: Measurement) -> str:
    """Return how it was measured, to measure it again."""
    chosen = measurement.settings
    whitened = {"none": "as they are", "diagonal": "in units of each neuron's noise",
                "full": "whitened by the covariance of noise"}[chosen["whiten"]]  # fmt: skip
    window = chosen["window"]
    times = "" if window is None else f", averaged from {window[0]:g} to {window[1]:g}"
    readouts, ridge = measurement.held_out, ""
    if readouts is not None and readouts.classifier is None:
        ridge = f"; ridge {readouts.ridge:.3g}"
    return (
        f"responses {whitened}{times}; {chosen['bootstrap']} resamplings, seed "
        f"{chosen['seed']}{ridge}"
    )


def _notes(measurement: Measurement) -> Html | None:
    if not measurement.notes:
        return None
    return tag("ul", [tag("li", _unbroken(printable(note, 400))) for note in measurement.notes],
               class_="notes")  # fmt: skip


def _unbroken(sentence: str) -> str:
    """Return a sentence in which numbers stay with their unit, and p with its number."""
    for text in (" %", "p = ", "p ≤ "):
        sentence = sentence.replace(text, text.replace(" ", "\N{NO-BREAK SPACE}"))
    return sentence
