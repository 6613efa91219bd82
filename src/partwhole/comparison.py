"""What a learner did with unseen combinations, beside what its saliences say it would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, Real
from partwhole.features import OverlapKernel
from partwhole.limits import solve
from partwhole.measures import RunInterval, Salience, accuracy, additivity, over_runs, slope
from partwhole.tasks import Task

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "compare_with_kernel"]

Fit = Literal["regression", "margin"]
Saliences = (
    Salience
    | OverlapKernel
    | Float[np.ndarray, "... orders"]
    | Sequence[Real]
    | Sequence[Salience | OverlapKernel]
)
# A full conjunction of no salience at all leaves nothing to memorize by.
LEAST_MEMORY = 1e-6


@dataclass(frozen=True, eq=False)
class Comparison:
    """Hold readings of what learners answered, and of what kernel machines answer.

    Parameters
    ----------
    task : Task
    fit : {"regression", "margin"}
    answered : float array, shape (runs, n)
        What the learners answered; NaN for runs that did not learn.
    predicted : float array, shape (runs, n)
        What kernel machines of their saliences answer.
    found, foreseen : dict from str to RunInterval
        Readings of either, over the runs that count: of labels "accuracy" and "margin" (mean of
        held-out rows; with the fit "margin" in units of the least margin of a training row), of
        numbers "slope", "intercept" and "error" (mean square on held-out rows, as a share of the
        variance of all targets); and "additivity".
    gap : RunInterval
        Root mean square difference of answered and predicted on held-out rows, as a share of the
        standard deviation of all targets; with the fit "margin" both are in such units before.
    """

    task: Task
    fit: Fit
    answered: Float[np.ndarray, "runs n"]
    predicted: Float[np.ndarray, "runs n"]
    found: dict[str, RunInterval]
    foreseen: dict[str, RunInterval]
    gap: RunInterval

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each reading: what was found with its interval, and what theory says."""
        import pandas as pd

        return pd.DataFrame([
            {
                "reading": name, "found": each.mean, "low": each.low, "high": each.high,
                "theory": self.foreseen[name].mean, "n": each.n,
            }
            for name, each in self.found.items()
        ])  # fmt: skip

    def describe(self) -> str:
        """Say in a few lines what was found beside what theory says."""
        counted, unseen = self.gap.n, self.task.n_test
        dropped = f", {self.gap.n_dropped} left out" if self.gap.n_dropped else ""
        machine = "the largest margin" if self.fit == "margin" else "interpolation"
        lines = [
            f"{unseen} unseen combination{'s' * (unseen != 1)}, {counted} run{'s' * (counted != 1)}"
            f"{dropped}; theory: {machine} at the measured saliences"
        ]
        for name, each in self.found.items():
            ends = "" if np.isnan(each.low) else f" ({_shown(each.low)} to {_shown(each.high)})"
            theory = _shown(self.foreseen[name].mean)
            lines.append(f"{name}: {_shown(each.mean)}{ends}, theory {theory}")
        return "\n".join(lines)


def _shown(number: Number) -> str:
    """Write three decimals, and no minus before a 0."""
    return f"{round(float(number), 3) + 0.0:.3f}"


@door(missing=("predictions",))
def compare_with_kernel(
    task: Task,
    predictions: Float[np.ndarray, "*runs n"],
    salience: Saliences,
    *,
    fit: Fit | None = None,
    has_learned: Bool[np.ndarray, " _"] | Sequence[bool] | None = None,
) -> Comparison:
    r"""Lay what learners answer beside what theory says from the saliences measured in them.

    Any learner will do: a network of this library, another framework's, a person. For each the
    kernel machine is solved whose kernel :math:`\kappa(O)` has the measured saliences, those
    below 0 taken as 0; its intercept is free.

    Parameters
    ----------
    task : Task
        With targets of shape (n,).
    predictions : float array, shape (n,) or (runs, n)
        For every row of the task: a learner's mean answers, or those of several runs.
    salience : Salience, OverlapKernel or floats; or a sequence with one for each run
        As `measures.salience` or `networks.layer_saliences` find it, with a salience for every set
        of components; where no two tuples have some overlap, with one for every size of sets.
        Floats are S(1; C) to S(C; C), the last of which follows from the others and may be left
        out; of several runs, shape (runs, C) or (runs, C - 1).
    fit : {"regression", "margin"}, keyword-only, default None
        What training comes to: interpolation (squared loss) or the largest margin (logistic
        loss). None is "margin" for labels -1 and +1 and "regression" for numbers.
    has_learned : sequence of bool, keyword-only, default None
        Which runs have learned their training set, so that they count. None for all; with the fit
        "margin" those with a training label wrong never do, since they have no margin.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        For predictions, saliences and runs that do not fit the task or one another, and tasks of
        several outputs, without held-out rows or with one target for all.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), propositions 4.1 and 5.1 and theorem 4.2, of learners whose
    representation does not move. What differs from theory tells of learned features, or of inputs
    of one tuple that differ among themselves.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> runs = np.stack([0.64 * task.targets, 0.68 * task.targets])
    >>> print(compare_with_kernel(task, runs, [0.4]).describe())
    64 unseen combinations, 2 runs; theory: interpolation at the measured saliences
    slope: 0.660 (0.406 to 0.914), theory 0.667
    intercept: 0.000 (0.000 to 0.000), theory 0.000
    error: 0.130 (-0.064 to 0.325), theory 0.125
    additivity: 1.000 (1.000 to 1.000), theory 1.000
    """
    answered = np.atleast_2d(predictions)
    n = len(task.components)
    require(
        task.targets.ndim == 1,
        "learners are compared in one output",
        f"targets of shape {task.targets.shape}",
        "take one at a time, dataclasses.replace(task, targets=task.targets[:, 0])",
    )
    require(
        task.n_test > 0 and np.ptp(task.targets) > 0,
        "learners are compared on held-out rows of a task whose targets differ",
        f"{task.n_test} held out, targets in {task.targets.min():g}..{task.targets.max():g}",
        "hold rows out by is_train, and take targets that differ",
    )
    require(
        answered.ndim == 2 and answered.shape[1] == n and len(answered) > 0,
        f"predictions are one for each of the task's {n} rows, of one run or several",
        f"shape {np.shape(predictions)}",
        f"pass shape ({n},) or (runs, {n}), the mean of a learner's answers to what shows one row",
    )
    require(
        fit != "margin" or task.is_classification,
        "margins are of labels -1 and +1",
        "other targets",
        'take fit="regression"',
    )
    runs = len(answered)
    counts = np.ones(runs, dtype=bool) if has_learned is None else np.asarray(has_learned)
    require(
        counts.shape == (runs,),
        "has_learned has one entry for each run",
        f"{counts.size} for {runs}",
        "leave it out if all have",
    )
    broken = int(np.sum(~np.isfinite(answered[counts])))
    require(
        broken == 0,
        "predictions of runs that have learned are finite numbers",
        f"{broken} that are not",
        "pass has_learned to leave those runs out",
    )
    chosen: Fit = fit or ("margin" if task.is_classification else "regression")
    if chosen == "margin":
        with np.errstate(invalid="ignore"):
            counts = counts & np.all((answered * task.targets)[:, task.is_train] > 0, axis=1)
    fitted = "margin" if chosen == "margin" else "equal"
    kernels = _kernels(task, salience, runs)
    # A salience for all runs is solved for once.
    answers = {id(kernel): kernel for kernel in kernels}
    solutions = {
        key: solve(task, kernel, fit=fitted, intercept="free").predictions
        for key, kernel in answers.items()
    }
    predicted = np.stack([solutions[id(kernel)] for kernel in kernels])
    answered = np.where(counts[:, None], answered, np.nan)
    both = [_readings(task, chosen, rows, counts) for rows in (answered, predicted)]
    return Comparison(
        task, chosen, answered, predicted, both[0], both[1],
        over_runs(_gaps(task, chosen, answered, predicted)),
    )  # fmt: skip


def _kernels(task: Task, salience: Saliences, runs: int) -> list[OverlapKernel]:
    """Return a kernel for each run, of saliences that are at least 0."""
    several = isinstance(salience, (list, tuple)) and any(
        isinstance(each, (Salience, OverlapKernel)) for each in salience
    )
    given = list(salience) if several else [salience]  # type: ignore[arg-type]
    if isinstance(salience, np.ndarray) and salience.ndim == 2:
        given = list(salience)
    require(
        len(given) in (1, runs),
        "salience is one for all runs, or one for each",
        f"{len(given)} for {runs} run{'s' * (runs != 1)}",
        "pass a sequence of as many",
    )
    found = [_kernel(task, each) for each in given]
    return found * runs if len(found) == 1 else found


def _kernel(task: Task, salience: object) -> OverlapKernel:
    size = task.n_components
    if isinstance(salience, Salience):
        met = not np.isnan(salience.kappa).any()
        kernel = salience.kernel if met else salience.count_kernel
    elif isinstance(salience, OverlapKernel):
        kernel = salience
    else:
        numbers = np.asarray(salience, dtype=float)
        require(
            numbers.ndim == 1 and len(numbers) in (size - 1, size),
            f"saliences of {size} components are S(1;{size}) to S({size};{size})",
            f"{numbers.tolist()}",
            "pass them in this order; the last may be left out",
        )
        if len(numbers) == size:
            total = sum(comb(size, k) * numbers[k - 1] for k in range(1, size + 1))
            require(
                abs(total - 1.0) < 1e-6,
                "saliences of all orders, each times the number of its sets, add up to 1",
                f"{numbers.tolist()}, which add up to {total:g}",
                "leave out the last; floats for several runs have a row for each",
            )
        orders = np.array([mask.bit_count() for mask in range(1 << size)])
        sigma = np.append(0.0, np.append(numbers[: size - 1], 0.0))[orders]
        sigma[-1] = 1.0 - sigma.sum()
        kernel = OverlapKernel(size, sigma)
    require(
        kernel.n_components == size,
        "saliences are of as many components as the task",
        f"{kernel.n_components} for {size}",
        "measure them on the task's own components",
    )
    sigma = np.maximum(kernel.sigma, 0.0)
    sigma[-1] = max(sigma[-1], LEAST_MEMORY * float(sigma[1:].sum()))
    return OverlapKernel(size, sigma)


def _readings(
    task: Task, fit: Fit, rows: Float[np.ndarray, "runs n"], counts: np.ndarray
) -> dict[str, RunInterval]:
    """Read every run that counts; NaN for the others."""
    read = [_read(task, fit, row) for row in rows[counts]]
    found: dict[str, RunInterval] = {}
    for name in _names(task):
        values = np.full(len(rows), np.nan)
        values[counts] = [each[name] for each in read]
        found[name] = over_runs(values)
    return found


def _names(task: Task) -> tuple[str, ...]:
    if task.is_classification:
        return ("accuracy", "margin", "additivity")
    return ("slope", "intercept", "error", "additivity")


def _read(task: Task, fit: Fit, row: Float[np.ndarray, " n"]) -> dict[str, float]:
    held_out = ~task.is_train
    additive = additivity(task, row).value
    if task.is_classification:
        right = accuracy(task.test_targets, row[held_out], tie=1e-9).value
        scaled = _in_margins(task, fit, row)
        margin = float(np.mean(task.test_targets * scaled[held_out]))
        return {"accuracy": right, "margin": margin, "additivity": additive}
    line = slope(task, row)
    error = float(np.mean((row - task.targets)[held_out] ** 2) / np.var(task.targets))
    return {
        "slope": line.value, "intercept": line.intercept, "error": error, "additivity": additive
    }  # fmt: skip


def _in_margins(task: Task, fit: Fit, row: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return answers in units of the least margin of a training row, where all are right."""
    if fit == "regression":
        return row
    return row / float(np.min((row * task.targets)[task.is_train]))


def _gaps(
    task: Task, fit: Fit, answered: Float[np.ndarray, "runs n"], predicted: np.ndarray
) -> Float[np.ndarray, " runs"]:
    held_out, spread = ~task.is_train, float(np.std(task.targets))
    found = np.full(len(answered), np.nan)
    for run, (one, other) in enumerate(zip(answered, predicted, strict=True)):
        if np.isfinite(one).all():
            difference = _in_margins(task, fit, one) - _in_margins(task, fit, other)
            found[run] = np.sqrt(np.mean(difference[held_out] ** 2)) / spread
    return found
