"""Measures of a recording side by side, in one object."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from partwhole import _writing
from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Bounds, NonNegative, Real, Seed
from partwhole.measurement.abstraction import (
    Abstraction,
    generalization_of,
    shattering_of,
    together,
)
from partwhole.measurement.classifiers import classifier_of
from partwhole.measurement.geometry import by_means, dimensions_of
from partwhole.measurement.notes import (
    in_conditions,
    notes_on,
    notes_on_missing,
    notes_on_width,
    printed,
    varying,
)
from partwhole.measurement.separation import is_coarse, not_apart
from partwhole.measurement.time_course import TimeCourse, note_on_times, time_course_of
from partwhole.measures._offsets import without_offsets
from partwhole.measures._samples import Whiten
from partwhole.measures._side_by_side import one_thread_each, side_by_side
from partwhole.measures.graded_similarity import (
    GradedSimilarity,
)
from partwhole.measures.readouts import LDA, SVM, HeldOutReadouts, held_out_readouts
from partwhole.measures.readouts.sets import Sets, sets_of
from partwhole.measures.recorded_dimensions import RecordedDimensions
from partwhole.measures.salience import Salience, salience, saliences_over
from partwhole.measures.structure_interval import structure_interval
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# Two minutes, as every one is held out in turn.
MOST_CONDITIONS = 400
# Some ten seconds.
MANY_SETS = 1000
# Multiplications of a single fit, above which readouts are left out.
LARGEST = 4e11
KINDS = ("predicted", "low", "high", "measured", "chance")
# The beginning of one on the structure of similarity.
STRUCTURE = "structure is "
_COMBINED = (
    "neurons of several sessions: all but saliences are of pseudo-trials, which combine trials of "
    "one condition from different sessions"
)
_ALIGNED = "; groups are not kept in them, and what each group adds to all responses was subtracted"


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measures of a recording.

    Parameters
    ----------
    recording : Recording
        As it was passed, without components that have one value in all trials.
    source : str
        What it was read from, for people; may be empty.
    saliences : Salience
        Of these neurons: intervals over trials, or over groups.
    structure_interval : tuple of two floats
        Of `saliences.structure`, over trials or groups; NaN where there are too few.
    population : Salience
        Intervals over neurons, for statements on the population from which these were drawn.
    dimensions : RecordedDimensions or None
        Participation ratio of noise-free condition means; None where it could not be measured.
    gradings : tuple of GradedSimilarity
        How the values of each component with three or more differ: all alike, along a line, around
        a circle, or otherwise. Without those that could not be measured.
    abstraction : Abstraction or None
        Whether components are encoded alike in all contexts; None where nothing could be measured.
    held_out : HeldOutReadouts or None
        None if it was not asked for, or there are too many conditions.
    time_course : TimeCourse or None
        None for a recording without time.
    notes : tuple of str
        What was left out, what could not be measured, and why.
    settings : dict
        The arguments of `measure`: "held_out" ("masks" for masks), "classifier", "ridge", "whiten",
        "window", "bootstrap" and "seed".

    Examples
    --------
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2)
    >>> responses = rows + 0.1 * np.sin(np.arange(16)).reshape(8, 2)
    >>> measure(Recording(responses, rows, ("shape", "colour"), ((0, 1),) * 2), held_out="none")
    Measurement(8 trials of 2 neurons, 4 conditions: Parts by themselves make up 99 % of ...)
    """

    recording: Recording
    source: str
    saliences: Salience
    structure_interval: tuple[float, float]
    population: Salience
    dimensions: RecordedDimensions | None
    gradings: tuple[GradedSimilarity, ...]
    abstraction: Abstraction | None
    held_out: HeldOutReadouts | None
    time_course: TimeCourse | None
    notes: tuple[str, ...]
    settings: dict[str, Any]

    def __repr__(self) -> str:
        """Return the size, and how compositional the recording is."""
        from partwhole.measurement.verdicts import headline

        recording = self.recording
        n_neurons = recording.n_neurons
        size = f"{recording.n_trials:,} trials of {n_neurons:,} neuron{'s' * (n_neurons != 1)}"
        return f"Measurement({size}, {recording.n_conditions:,} conditions: {headline(self)})"

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        return card(self, "\n".join(self.notes), self.saliences_to_frame())

    def describe(self) -> str:
        """Return what was measured, in some lines of text."""
        from partwhole.measurement.text import text

        return text(self)

    @door
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of right trials of each held-out condition, measured against predicted.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.

        Raises
        ------
        InputError
            If held-out conditions were not asked for.
        """
        from partwhole.measurement.plotting import plot_measurement

        return plot_measurement(self, ax)

    @door
    def to_frame(self, columns: Literal["main", "all"] = "main") -> pd.DataFrame:
        """Return a row for each held-out condition.

        Parameters
        ----------
        columns : {"main", "all"}, default "main"
            "main": values of the components and trials; for each component the share of right
            trials, predicted with the ends between which 95 % lie, measured, and "chance", one over
            the number of values (a readout without any information is right less often, as the
            value of a held-out condition is rarer in training), and the verdict in words: "right",
            "wrong", "too few trials", "penalty too small" (where it would be right with a larger
            one), "maybe by group" (where values depend on the group, of which readouts could answer
            by what its trials share) or "not determined" (where training lacks the value, or leaves
            sums of parts open).
            With several conditions in a set, also its number.
            "all" adds the answers of each output, as `HeldOutReadouts.to_frame` has them, and
            whether saliences alone predict another answer for the right value than all condition
            means do, by more than the sampling error of an answer at 95 %.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        InputError
            If held-out conditions were not asked for.
        """
        from partwhole.measurement.readout_words import too_coarse, verdicts_of

        readouts = self.held_out
        require(
            readouts is not None,
            "the table has a row for each held-out condition",
            "a measurement without them",
            'pass held_out="each"',
        )
        assert readouts is not None
        frame = readouts.to_frame()
        main, verdicts = [*readouts.recording.names, "trials"], verdicts_of(readouts)
        coarse = too_coarse(readouts)
        for j, name in enumerate(readouts.labels):
            main += [f"accuracy of {name}, {kind}" for kind in KINDS]
            main.append(f"verdict on {name}")
            frame[main[-1]] = verdicts.of(j)
            if coarse is not None:
                frame[f"saliences alone predict another answer on {name}"] = coarse[:, j]
        if columns == "all" or readouts.held_out.sum(axis=1).max() > 1:
            main.insert(0, "set")
        others = [name for name in frame.columns if name not in main]
        return frame.loc[:, [*main, *others] if columns == "all" else main]

    def saliences_to_frame(self) -> pd.DataFrame:
        """Return a row for each set of components: salience and the ends of both intervals.

        NaN where these trials do not show that conditions differ.
        """
        import pandas as pd

        from partwhole.measurement.verdicts import shown_intervals, shown_saliences

        names, intervals = self.recording.names, shown_intervals(self)
        rows = []
        for members, value in shown_saliences(self).items():
            (low, high), (low_neurons, high_neurons) = intervals[members]
            rows.append(
                {
                    "components": " x ".join(names[c] for c in members),
                    "order": len(members),
                    "salience": value,
                    "low": low,
                    "high": high,
                    "low_population": low_neurons,
                    "high_population": high_neurons,
                }
            )
        return pd.DataFrame(rows)

    def to_json(self) -> str:
        """Return the measures as JSON; what could not be measured is null."""
        from partwhole.measurement.machine import to_json

        return to_json(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the page, and write it to a file if one is named.

        Parameters
        ----------
        path : str or Path, optional

        Raises
        ------
        WriteError
            If the file cannot be written.
        """
        from partwhole.measurement.page import page_of

        html = page_of(self)
        if path is not None:
            _writing.write_all({Path(path): html.encode("utf-8", "backslashreplace")})
        return html


@door
def measure(
    recording: Recording,
    *,
    held_out: Sets | Literal["none"] = "each",
    classifier: Literal["ridge", "lda", "svm"] = "ridge",
    ridge: NonNegative | None = None,
    whiten: Whiten = "none",
    window: tuple[Real, Real] | None = None,
    bootstrap: Annotated[int, Bounds(at_least=20)] = 500,
    seed: Seed = 0,
    progress: bool = True,
    source: str = "",
) -> Measurement:
    """Measure how compositional a recording is, and what readouts answer to held-out conditions.

    Parameters
    ----------
    recording : Recording
        From `partwhole.recordings.from_trials` or `partwhole.recordings.read`. Components with one
        value in all trials, as `Recording.select` can leave them, are left out, and noted.
    held_out : {"each", "pairs", "none"} or bool array, keyword-only, default "each"
        Hold out every condition by itself, every two of them together, or none; or the conditions
        whose trials are marked, shape (n,), or (F, n) for several sets.
    classifier : {"ridge", "lda", "svm"}, keyword-only, default "ridge"
        The readouts: ridge regression on labels; linear discriminant analysis with a shrinkage of
        .1; or a linear support vector machine with a C of one over the mean variance of a neuron,
        for components of two values. The last two are trained anew for each set that is held out.
        Others are those of `measures.held_out_readouts`.
    ridge : float, keyword-only, default None
        Penalty of ridge readouts on squared weights, in squared units of responses; None is the
        mean variance of a neuron.
    whiten : {"none", "diagonal", "full"}, keyword-only, default "none"
        For saliences: divide responses by the standard deviation of their noise, or decorrelate it.
    window : (float, float), keyword-only, default None
        Times, from and to, over which all but the course over time is averaged; None for all.
    bootstrap : int, keyword-only, default 500
        Resamples for intervals.
    seed : int, keyword-only, default 0
    progress : bool, keyword-only, default True
        Whether to show bars on the error stream once a stage takes over two seconds.
    source : str, keyword-only, default ""
        What the recording was read from, for people.

    Returns
    -------
    Measurement

    Raises
    ------
    InputError
        If no condition has two trials, for windows without a time, for masks and classifiers that
        `measures.held_out_readouts` refuses, and for "svm" where scikit-learn is not installed.

    Notes
    -----
    For sources see `measures.salience`, `measures.abstraction`, `measures.readouts` and others.

    Examples
    --------
    >>> import partwhole as pw
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 20, axis=0)
    >>> parts = np.eye(3)[rows].reshape(len(rows), -1) @ rng.normal(size=(6, 50))
    >>> responses = parts + 2.0 * rng.normal(size=parts.shape)
    >>> print(pw.measure(pw.recordings.from_trials(responses, rows)).describe().splitlines()[2])
    Parts by themselves make up 100 % of what separates conditions (98 % to 100 %).
    """
    require(
        window is None or recording.responses.ndim == 3,
        "a window is of responses over time",
        f"responses of shape {recording.responses.shape}",
        "leave window out",
    )
    recording, left_out = varying(recording)
    averaged = recording if window is None else recording.averaged(*window)
    static = averaged.averaged()
    require(
        static.n_conditions < static.n_trials,
        "a recording is measured by conditions with two trials or more",
        f"one trial of each of {static.n_conditions:,} conditions of {' x '.join(static.names)}",
        "add trials, or leave columns that number runs or trials out of components; of responses "
        "without noise, in Python measures.salience with self_pairs=True has the saliences",
    )

    if not isinstance(held_out, str):
        sets_of(held_out, static, static.conditions)
    elif held_out == "pairs" and 3 < static.n_conditions <= MOST_CONDITIONS:
        # Before all that takes time.
        sets_of("pairs", static, static.conditions)
    readout = None
    if classifier != "ridge":
        # Of fewer and more conditions readouts are left out.
        are_read = 3 <= static.n_conditions <= MOST_CONDITIONS
        readout = classifier_of(classifier, static, held_out if are_read else "none", ridge, seed)

    # Runs cannot be kept in trials that combine sessions; what they add to all responses can go.
    kept = static.groups is None or len(static.blocks) == 1
    rest = static if kept else without_offsets(static)
    # The longest first, so that threads end together.
    stages: list[Callable[[], Any]] = [
        lambda: shattering_of(rest, seed),
        lambda: generalization_of(rest, seed),
        lambda: saliences_over(static, [None, "neurons"], whiten, bootstrap, seed),
        lambda: by_means(rest, seed),
        lambda: structure_interval(static, whiten=whiten),
        lambda: dimensions_of(rest, seed),
        lambda: notes_on(static, whiten),
    ]
    try:
        with (
            one_thread_each() as threads,
            bar("saliences and abstraction", len(stages), shown=progress) as advance,
        ):

            def in_turn(stage: Callable[[], Any]) -> Any:
                result = stage()
                advance(1)
                return result

            (
                shattered, general, (of_neurons, population), (parallel, gradings, ungraded),
                of_structure, (dimensions, reasons), oversights,
            ) = side_by_side(in_turn, stages, threads)  # fmt: skip
    except InputError as error:
        raise in_conditions(error) from None
    abstraction, more = together(parallel, general, shattered)
    of_saliences = [*of_neurons.notes, *population.notes]
    if not_apart(of_neurons) or not is_coarse(of_structure):
        # Shares of nothing have no structure to speak of, and few trials do not say it is low.
        of_saliences = [note for note in of_saliences if not note.startswith(STRUCTURE)]
    notes = [*recording.notes, *left_out, *note_on_times(recording, window), *of_saliences]
    if not not_apart(of_neurons):
        notes += notes_on_missing(static, of_neurons, gradings)
        notes += notes_on_width(of_neurons.saliences_interval.values(), of_neurons.resampled)
        notes += notes_on_width(population.saliences_interval.values(), "neurons")
    if len(static.blocks) > 1:
        notes.append(_COMBINED + _ALIGNED * (not kept))
    notes += [*oversights, *reasons, *ungraded, *more]
    readouts = None
    if not isinstance(held_out, str) or held_out != "none":
        # Whitened saliences are of responses in other units than those that are read out.
        known = of_neurons if whiten == "none" else salience(static)
        readouts, reason = _readouts(static, known, held_out, readout, ridge, seed, progress)
        notes += reason
    return Measurement(
        recording,
        source,
        of_neurons,
        of_structure,
        population,
        dimensions,
        gradings,
        abstraction,
        readouts,
        time_course_of(recording, whiten, bootstrap, seed, progress),
        printed(notes),
        {
            "held_out": held_out if isinstance(held_out, str) else "masks",
            "classifier": classifier, "ridge": ridge, "whiten": whiten, "window": window,
            "bootstrap": bootstrap, "seed": seed,
        },
    )  # fmt: skip


def _readouts(
    recording: Recording,
    saliences: Salience,
    held_out: Sets,
    classifier: LDA | SVM | None,
    ridge: Real | None,
    seed: Seed,
    progress: bool,
) -> tuple[HeldOutReadouts | None, list[str]]:
    """Return readouts of held-out conditions, and notes or the reason why there are none."""
    from partwhole.measurement.readout_words import off_in_words, penalty_in_words

    n_conditions = recording.n_conditions
    n, p = recording.responses.shape
    size = float(n) * p * min(n, p)
    pairs = isinstance(held_out, str) and held_out == "pairs"
    reason = ""
    if n_conditions > MOST_CONDITIONS:
        reason = (
            f"{n_conditions:,} conditions, more than {MOST_CONDITIONS:,}; for sets of them, call "
            "measures.held_out_readouts in Python"
        )
    elif size > LARGEST:
        reason = f"{n:,} trials of {p:,} neurons are too many for it"
    elif n_conditions < 3 + pairs:
        reason = f"there are {n_conditions} conditions"
    if reason:
        return None, [f"readouts of held-out conditions are left out: {reason}"]
    n_sets = len(held_out) if np.ndim(held_out) == 2 else n_conditions
    n_sets = n_conditions * (n_conditions - 1) // 2 if pairs else n_sets
    if progress and n_sets >= MANY_SETS:
        what = "pairs" if pairs else "sets"
        text = f"{n_sets:,} {what} of conditions are held out, one at a time: this can take minutes"
        print(text, file=sys.stderr, flush=True)
    kappa = saliences.centred
    known = saliences if not np.isnan(kappa).any() and kappa[-1] > kappa[0] else None
    readouts = held_out_readouts(
        recording, held_out=held_out, ridge=ridge, classifier=classifier, saliences=known,
        over_neurons=classifier is None, seed=seed, progress=progress,
    )  # fmt: skip
    notes = list(readouts.notes)
    notes += off_in_words(readouts)
    if penalty := penalty_in_words(readouts):
        notes.append(penalty)
    return readouts, notes
