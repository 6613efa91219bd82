"""What learners answer to unseen combinations, beside what a theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._theories import (
    AnyFit,
    Fit,
    Theory,
    fit_of_limits,
    fit_of_readouts,
    noise_of,
    predicted_answers,
    theories_of,
)
from partwhole._types import Number, Positive, Real
from partwhole.limits.limit import Limit
from partwhole.measures.accuracy import count_labels
from partwhole.measures.additivity import additivity
from partwhole.measures.readouts import Readout
from partwhole.measures.runs import RunInterval, over_runs
from partwhole.measures.slope import slope
from partwhole.tasks import Task
from partwhole.tasks._labels import are_classes, are_labels, label_margins

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison", "compare"]

MACHINES = {
    "margin": "the largest margin",
    "equal": "interpolation",
    "tube": "a fit within a tube",
    "readout": "a readout of noisy trials",
}
OF_NOISE = {
    "ignored": "The largest margin is that of means without noise; of noisy trials pass "
    "measures.predict_readout(..., classifier=SVM()).",
    "ridge": "Noise counts as a ridge, as in far more neurons than training trials; of fewer pass "
    "measures.predict_readout(...), which knows the noise of each neuron.",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Readings of learners' answers, beside those of the theory.

    Parameters
    ----------
    task : Task
    fit : {"equal", "margin", "tube", "readout"}
        How the theory fits the training set.
    answers : float array, shape (runs, n) or (runs, n, k)
        The learners' answers; NaN for runs that did not learn.
    predictions : float array, shape (runs, n) or (runs, n, k)
        The theory's answers.
    measured, predicted : dict from str to RunInterval
        Readings of the answers and of the predictions, over the runs that learned, as `compare`
        defines them. For labels "accuracy", "margin" and "additivity"; for numbers "slope",
        "intercept", "error" and "additivity".
    gap : RunInterval
        Root mean square difference between answers and predictions over held-out rows and
        outputs, as a share of the root mean square deviation of all targets from their output's
        mean. With the fit "margin" both are first divided by their smallest training margin, and
        of the outputs of one-hot classes only the differences count.
    saliences : bool
        Whether the theory is the kernel machine of saliences.
    noise : {"none", "ignored", "ridge"}
        Of the trials from which saliences were measured: a margin knows nothing of it, and any
        other fit takes it as a ridge, as far more neurons than training trials do.
    """

    task: Task
    fit: AnyFit
    answers: Float[np.ndarray, "runs n *k"]
    predictions: Float[np.ndarray, "runs n *k"]
    measured: dict[str, RunInterval]
    predicted: dict[str, RunInterval]
    gap: RunInterval
    saliences: bool = True
    noise: Literal["none", "ignored", "ridge"] = "none"

    def __repr__(self) -> str:
        n = self.gap.n
        return (
            f"Comparison({n} run{'s' * (n != 1)} on {self.task.n_test} held-out combinations: "
            f"gap {_decimals(self.gap.mean)})"
        )

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        return card(self, self.describe())

    @door
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answers to held-out combinations, mean over runs, against the predictions.

        With the fit "margin" both are divided by their smallest training margin, as in `gap`.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            Where no run has learned.
        MissingExtraError
            Without matplotlib, of the extra "plot".

        Examples
        --------
        >>> from partwhole import solve, tasks
        >>> from partwhole.features import OverlapKernel
        >>> task = tasks.symbolic_addition(anchors=[0])
        >>> kernel = OverlapKernel.from_salience([0.3])
        >>> answers = solve(task, kernel, intercept="free").predictions
        >>> compare(task, answers[None], kernel).plot().get_xlabel()
        'predicted'
        """
        from partwhole.tasks.plotting import against

        learned = np.isfinite(self.answers).reshape(len(self.answers), -1).all(axis=1)
        require(
            bool(learned.any()),
            "a picture is of runs that have learned",
            f"{len(self.answers)} that have not",
            "read describe()",
        )
        predicted, measured = (
            np.mean([self._scaled(row) for row in rows[learned]], axis=0)
            for rows in (self.predictions, self.answers)
        )
        words = "measured" if learned.sum() == 1 else f"measured, mean of {learned.sum()} runs"
        return against(
            predicted, measured, self.task.is_train, ("predicted", words), ax, "Comparison.plot"
        )

    def _scaled(self, answers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "n *k"]:
        return _in_margins(self.task, answers) if self.fit == "margin" else answers

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each reading: measured mean with its interval, predicted mean, n."""
        import pandas as pd

        return pd.DataFrame([
            {
                "reading": name, "measured": interval.mean, "low": interval.low,
                "high": interval.high, "predicted": self.predicted[name].mean, "n": interval.n,
            }
            for name, interval in self.measured.items()
        ])  # fmt: skip

    def describe(self) -> str:
        """Return the measured readings beside the predicted ones, a line for each."""
        n_runs, unseen = self.gap.n, self.task.n_test
        dropped = f", {self.gap.n_dropped} left out" if self.gap.n_dropped else ""
        outputs = f", {self.answers.shape[2]} outputs" if self.answers.ndim == 3 else ""
        source = " at the given saliences" if self.saliences else ""
        lines = [
            f"{unseen} unseen combination{'s' * (unseen != 1)}{outputs}, {n_runs} "
            f"run{'s' * (n_runs != 1)}{dropped}; predicted: {MACHINES[self.fit]}{source}"
        ]
        for name, interval in self.measured.items():
            low, high = _decimals(interval.low), _decimals(interval.high)
            ends = "" if np.isnan(interval.low) else f" ({low} to {high})"
            predicted = _decimals(self.predicted[name].mean)
            lines.append(
                f"{name}: measured {_decimals(interval.mean)}{ends}, predicted {predicted}"
            )
        if self.noise != "none":
            lines.append(OF_NOISE[self.noise])
        return "\n".join(lines)


def _decimals(number: Number) -> str:
    """Write three decimals, and no minus before a 0."""
    return f"{round(float(number), 3) + 0.0:.3f}"


@door(missing=("answers",), infinite=("samples",))
def compare(
    task: Task,
    answers: Float[np.ndarray, "..."],
    theory: Theory,
    *,
    fit: Fit | None = None,
    samples: Positive | None = None,
    has_learned: Bool[np.ndarray, " _"] | Sequence[bool] | None = None,
) -> Comparison:
    r"""Compare learners' answers with the predictions of a theory.

    The learner may be a network of this library, a network of another framework, or a person.
    The theory is a limit of any features, kernel and cost, or the learner's saliences: these
    predict what the kernel machine with a free intercept answers whose kernel
    :math:`\kappa(O)` has them, with saliences below 0 set to 0. Noise of measured saliences is a
    ridge, which is right for far more features than training samples; for others the theory is a
    `Readout`. Answers and predictions are read on held-out rows:

    * *slope, intercept* of the answers against the targets, as in `measures.slope`: outputs share
      the slope, and the intercept is the mean of theirs;
    * *error*, the mean square difference from the targets, as a share of the variance of all
      targets: both are means over outputs;
    * *accuracy*, as in `measures.accuracy`: the share of right signs over all outputs, or the
      share of rows whose largest answer is that of the right class; a tie counts as half;
    * *margin*, the mean of label times answer over all outputs, or of the answer for the right
      class less the largest other, divided by the same difference of the targets. With the fit
      "margin" it is in units of the smallest margin of a training row;
    * *additivity*, as in `measures.additivity`: one share of variance over all outputs.

    Parameters
    ----------
    task : Task
        With targets of shape (n,) or (n, k). Labels are -1 and +1, or classes: k columns of
        which each row has 1 in that of its class, and 0 (or -1) in all others. All other targets
        are numbers.
    answers : float array, shape of the targets, or (runs, n) or (runs, n, k)
        For every row of the task: a learner's mean answers, or those of several runs.
    theory : Limit, Readout, OverlapKernel, Salience or floats; or Limits or a sequence, one a run
        A limit of the task: of the learner's tangent kernel or of a gated network, say. Or what
        `measures.predict_readout` says of the learner's features; the task then has a row for each
        of its conditions, as `Readout.task` has. Or the
        learner's overlap kernel, or its saliences as `measures.salience` and
        `networks.layer_salience.layer_saliences` measure them. A Salience is used for every set of
        components; where no two tuples have some overlap, for every number of shared components.
        Floats are S(1; C) to S(C; C), the last of which follows from the others and may be left
        out; for several runs, shape (runs, C) or (runs, C - 1).
    fit : {"equal", "margin"}, keyword-only, default None
        Where training ends: at the interpolating solution (squared loss), or at the largest
        margin (logistic loss; for one-hot classes of 0 and 1, cross-entropy). None is that of a
        limit or readout, else "margin" for labels and "equal" for numbers.
    samples : float, keyword-only, default None
        How many training samples a row of the task stands for: m if the learner was trained on m
        images or trials of each combination, 1 if each sample has a row, infinity to predict
        without noise. Needed with interpolation at a Salience that was measured with noise.
    has_learned : sequence of bool, keyword-only, default None
        Which runs have learned their training set; only these are read. None for all. With the
        fit "margin" a run with a wrong training label is never read, since it has no margin.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For answers, saliences, limits or runs whose sizes do not agree with the task or with one
        another, a limit that is not solved, a margin of numbers, noise without `samples`, and for
        tasks without held-out rows, or with constant targets.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), propositions 4.1 and 5.1 and theorem 4.2, for learners whose
    representation does not change in training. A difference from the prediction is evidence of
    learned features, or of inputs that differ within one combination.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> runs = np.stack([0.64 * task.targets, 0.68 * task.targets])
    >>> print(compare(task, runs, [0.4]).describe())
    64 unseen combinations, 2 runs; predicted: interpolation at the given saliences
    slope: measured 0.660 (0.406 to 0.914), predicted 0.667
    intercept: measured 0.000 (0.000 to 0.000), predicted 0.000
    error: measured 0.130 (-0.064 to 0.325), predicted 0.125
    additivity: measured 1.000 (1.000 to 1.000), predicted 1.000
    """
    require(
        task.n_test > 0 and bool(np.any(np.ptp(task.targets, axis=0) > 0)),
        "learners are compared on held-out rows of a task whose targets differ",
        f"{task.n_test} held out, targets in {task.targets.min():g}..{task.targets.max():g}",
        "hold rows out by is_train, and take targets that differ",
    )
    shape = task.targets.shape
    require(
        answers.shape[-len(shape) :] == shape and answers.ndim <= len(shape) + 1 and answers.size,
        f"answers have the shape of the task's targets, {shape}, for each of the runs",
        f"shape {answers.shape}",
        f"pass shape {shape} or (runs, {', '.join(map(str, shape))}), a learner's mean answers to "
        "the inputs of each row",
    )
    answers = answers.reshape(-1, *shape)
    theories = theories_of(theory, len(answers))
    has_fit = isinstance(theories[0], (Limit, Readout))
    labels = are_labels(task.targets)
    chosen: AnyFit | None = fit
    if isinstance(theories[0], Limit):
        chosen = fit_of_limits(task, theories, fit)
    elif isinstance(theories[0], Readout):
        chosen = fit_of_readouts(theories, fit)
    chosen = chosen or ("margin" if labels else "equal")
    require(
        chosen != "margin" or labels,
        "margins are those of labels -1 and +1, or of classes",
        "numbers as targets",
        'pass fit="equal"',
    )
    has_margins = chosen == "margin"
    learned = _learned(task, answers, has_learned, has_margins)
    # Runs that share a theory share its solution.
    distinct = {id(entry): entry for entry in theories}
    predicted = {
        key: predicted_answers(task, entry, chosen, samples) for key, entry in distinct.items()
    }
    predictions = np.stack([predicted[id(entry)] for entry in theories])
    answers = answers.copy()
    answers[~learned] = np.nan
    return Comparison(
        task=task,
        fit=chosen,
        answers=answers,
        predictions=predictions,
        measured=_readings(task, answers, learned, has_margins),
        predicted=_readings(task, predictions, learned, has_margins),
        gap=over_runs(_gaps(task, answers, predictions, has_margins)),
        saliences=not has_fit,
        noise=_noise_in(theories, has_margins, samples),
    )


def _noise_in(
    theories: Sequence[object], has_margins: bool, samples: Real | None
) -> Literal["none", "ignored", "ridge"]:
    """Return what becomes of the noise with which saliences were measured."""
    if not any(noise_of(entry) > 0.0 for entry in theories) or samples == np.inf:
        return "none"
    return "ignored" if has_margins else "ridge"


def _learned(
    task: Task,
    answers: Float[np.ndarray, "runs n *k"],
    has_learned: Bool[np.ndarray, " _"] | Sequence[bool] | None,
    has_margins: bool,
) -> Bool[np.ndarray, " runs"]:
    """Return which runs are read, and require that their answers are finite."""
    runs = len(answers)
    learned = np.ones(runs, dtype=bool) if has_learned is None else np.asarray(has_learned)
    require(
        learned.shape == (runs,),
        "has_learned has one entry for each run",
        f"{learned.size} for {runs}",
        "leave it out if all have",
    )
    broken = ~np.isfinite(answers[learned]).all(axis=tuple(range(1, answers.ndim)))
    require(
        not broken.any(),
        "answers of runs that have learned are finite numbers",
        f"{int(np.sum(~np.isfinite(answers[learned])))} that are not",
        "give one for every row, those of training too"
        if broken.all()
        else "pass has_learned to leave those runs out",
    )
    if not has_margins:
        return learned
    with np.errstate(invalid="ignore"):
        separated = [bool((_train_margins(task, answer) > 0).all()) for answer in answers]
    return learned & separated


def _readings(
    task: Task, answers: Float[np.ndarray, "runs n *k"], learned: np.ndarray, has_margins: bool
) -> dict[str, RunInterval]:
    """Return each reading over the runs that learned."""
    by_run = [_read(task, row, has_margins) for row in answers[learned]]
    readings: dict[str, RunInterval] = {}
    for name in _names(task):
        values = np.full(len(answers), np.nan)
        values[learned] = [reading[name] for reading in by_run]
        readings[name] = over_runs(values)
    return readings


def _names(task: Task) -> tuple[str, ...]:
    if are_labels(task.targets):
        return ("accuracy", "margin", "additivity")
    return ("slope", "intercept", "error", "additivity")


def _read(task: Task, answers: Float[np.ndarray, "n *k"], has_margins: bool) -> dict[str, float]:
    """Return the readings of one run."""
    held_out = ~task.is_train
    additive = additivity(task, answers).value
    if are_labels(task.targets):
        accuracy = count_labels(label_margins(task.targets, answers)[held_out]).value
        scaled = _in_margins(task, answers) if has_margins else answers
        margin = float(np.mean(label_margins(task.targets, scaled)[held_out]))
        return {"accuracy": accuracy, "margin": margin, "additivity": additive}
    line = slope(task, answers)
    error = float(np.mean((answers - task.targets)[held_out] ** 2) / _variance(task))
    return {
        "slope": line.value, "intercept": line.intercept, "error": error, "additivity": additive
    }  # fmt: skip


def _in_margins(task: Task, answers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "n *k"]:
    """Return answers in units of the smallest margin of a training row."""
    return answers / float(np.min(_train_margins(task, answers)))


def _train_margins(task: Task, answers: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "..."]:
    return label_margins(task.targets, answers)[task.is_train]


def _variance(task: Task) -> float:
    """Return the variance of all targets about their output's mean, mean over outputs."""
    return float(np.mean(np.var(task.targets, axis=0)))


def _gaps(
    task: Task,
    answers: Float[np.ndarray, "runs n *k"],
    predictions: Float[np.ndarray, "runs n *k"],
    has_margins: bool,
) -> Float[np.ndarray, " runs"]:
    """Return each run's root mean square difference from its prediction on held-out rows."""
    spread = float(np.sqrt(_variance(task)))
    gaps = np.full(len(answers), np.nan)
    for run, (answer, prediction) in enumerate(zip(answers, predictions, strict=True)):
        if not np.isfinite(answer).all():
            continue
        if has_margins:
            answer, prediction = _in_margins(task, answer), _in_margins(task, prediction)
        difference = (answer - prediction)[~task.is_train]
        if has_margins and are_classes(task.targets) and task.targets.min() == 0.0:
            # A number added to all outputs of a row changes no probability of a class.
            difference = difference - difference.mean(axis=1, keepdims=True)
        gaps[run] = np.sqrt(np.mean(difference**2)) / spread
    return gaps
