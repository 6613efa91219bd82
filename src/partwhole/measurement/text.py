"""A measurement as lines of text."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from partwhole.measurement.classifiers import readouts_in_words
from partwhole.measurement.readout_words import (
    budget_in_words,
    readout_in_words,
    sets_in_words,
    verdicts_of,
)
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

if TYPE_CHECKING:
    from partwhole.measurement.measurement import Measurement

WIDTH = 96


def text(measurement: Measurement) -> str:
    """Return what was measured, in some lines of text."""
    recording = measurement.recording
    title = repr(recording).removeprefix("Recording(").removesuffix(")")
    lines = [title, f"{trials_in_words(recording)}."]
    lines += _folded(headline(measurement))
    lines.append("")
    if recording.n_components > 1:
        lines += _saliences(measurement)
    lines += _folded(structure_in_words(measurement))
    for grading in measurement.gradings:
        lines += _folded(f"  {grading_in_words(grading)}")
    if dimensions := dimensions_in_words(measurement):
        lines += _folded(f"{dimensions}.")
    if measurement.abstraction is not None:
        lines += ["", "Abstraction, how alike components are encoded in all contexts:"]
        for sentence in abstraction_in_words(measurement.abstraction):
            lines += _folded(f"  {sentence}")
    readouts = measurement.held_out
    if readouts is not None:
        sets, verdicts = sets_in_words(readouts), verdicts_of(readouts)
        kind = readouts_in_words(readouts)
        lines += ["", *_folded(f"{kind} of {sets} held out, trained on all others:")]
        for label in range(len(readouts.labels)):
            lines += _folded(f"  {readout_in_words(readouts, verdicts, label)}")
        if not verdicts.lacking.all():
            lines += _folded(f"  {budget_in_words(readouts)}")
    if measurement.time_course is not None:
        lines += ["", *_peaks(measurement)]
    if measurement.notes:
        lines += ["", "Notes:"]
        for note in measurement.notes:
            lines += _folded(f"- {note}", "  ")
    return "\n".join(lines)


def _saliences(measurement: Measurement) -> list[str]:
    """Return a table of saliences with both intervals."""
    names = measurement.recording.names
    over = measurement.saliences.resampled
    intervals = shown_intervals(measurement)
    rows = [("salience of", "", f"over {over}", "over neurons")]
    for members, value in shown_saliences(measurement).items():
        number = "–" if np.isnan(value) else f"{round(value, 3) + 0.0:.3f}".replace("-", "−")
        over_trials, over_neurons = (interval_in_words(*ends) for ends in intervals[members])
        rows.append((set_in_words(names, members), number, over_trials, over_neurons))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return lines + _folded(missing_in_words(measurement))


def _peaks(measurement: Measurement) -> list[str]:
    title = f"Parts of the squared distance between conditions over time ({TOGETHER}):"
    return [*_folded(title), *(f"  {line}" for line in peaks_in_words(measurement))]


def _folded(sentence: str, indent: str = "") -> list[str]:
    start = sentence[: len(sentence) - len(sentence.lstrip())]
    # Numbers stay with their unit, and with what they are of.
    bound = re.sub(r" (?=%)|(?<=\bp) (?=[≤=] )|(?<=\bp [≤=]) ", "\N{NO-BREAK SPACE}", sentence)
    lines = wrap(bound, WIDTH, subsequent_indent=start + (indent or "  " * bool(start)))
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]
