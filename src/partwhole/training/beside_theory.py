"""Trained networks compared with the prediction from each network's initial weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.flows import Deep, FlowOutcome, flow
from partwhole.measures import learning_times, swing
from partwhole.networks import MLP
from partwhole.tasks import StructuredIdentity
from partwhole.training.concepts import ConceptAnswers, in_concept_frame
from partwhole.training.outcome import Outcome
from partwhole.training.results import Runs

if TYPE_CHECKING:
    import pandas as pd

SWINGS = "swing-by"
RTOL = 1e-7  # far below the effect of the order of the batches


@dataclass(frozen=True, eq=False)
class BesideTheory:
    """Trained networks and, for each, the gradient flow from its initial weights.

    Parameters
    ----------
    runs : Runs
    times : float array, shape (T,)
        Of the flow, on half the squared error; twice `runs.times`.
    outputs : float array, shape (runs, T, d)
        Outputs of the flow at the unseen combination, in the concept frame.
    trained : float array, shape (runs, T, d)
        Outputs of the networks there.
    notes : tuple of str, default ()
        Caveats about the flows, such as one that ran out of steps.
    """

    runs: Runs
    times: Float[np.ndarray, " T"]
    outputs: Float[np.ndarray, "runs T d"]
    trained: Float[np.ndarray, "runs T d"]
    notes: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Return whether the flow is that of the networks themselves, true for linear ones.

        For others it is the flow of the linear network with the same weights.
        """
        return self.runs.start.nonlinearity == "linear"

    @property
    def losses(self) -> Float[np.ndarray, "runs T"]:
        """The error of the flow at the unseen combination; NaN where it has run out of steps."""
        return self._losses(self.outputs)

    @property
    def trained_losses(self) -> Float[np.ndarray, "runs T"]:
        """The error of the networks there."""
        return self._losses(self.trained)

    @property
    def _task(self) -> StructuredIdentity:
        return self.runs.concepts.task

    def _losses(self, outputs: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):  # of runs that diverged
            return 0.5 * ((outputs - self._task.probe) ** 2).sum(axis=-1)

    @door
    def to_frame(self, *, threshold: Real = 0.02) -> pd.DataFrame:
        """Return predicted and trained quantities, a row for each quantity of each network.

        Parameters
        ----------
        threshold : float, keyword-only, default 0.02
            Least rise of the error that counts as a swing-by, in units of its plateau: half the
            square of the mean of the concept with the weakest signal. The order of batches
            alone makes rises of about 0.01.

        Returns
        -------
        pandas.DataFrame
            With the columns run, quantity, predicted, trained. Times are those of the flow;
            infinite where a concept was not half learned by the end, NaN where the error does not
            rise. All trained quantities of a run that diverged are NaN, and all predicted ones of
            a flow that ran out of steps.
        """
        import pandas as pd

        means = np.array(self._task.means)
        signals = np.diagonal(_moments(self.runs.concepts)[0])[: len(means)]
        plateau = 0.5 * float(means[signals.argmin()]) ** 2
        rows = []
        for run, outcome in enumerate(self.runs.outcomes):
            predicted, trained = (
                _quantities(self.times, outputs[run], loss[run], means, plateau, threshold)
                for outputs, loss in (
                    (self.outputs, self.losses),
                    (self.trained, self.trained_losses),
                )
            )
            if outcome is Outcome.DIVERGED:
                trained = dict.fromkeys(trained, np.nan)
            rows += [(run, name, predicted[name], trained[name]) for name in predicted]
        return pd.DataFrame(rows, columns=["run", "quantity", "predicted", "trained"])

    @door
    def describe(self, *, threshold: Real = 0.02) -> str:
        """Return a comparison of prediction and training in a few lines, medians over the runs.

        Runs whose training diverged or whose flow ran out of steps are counted and left out.
        """
        table, start = self.to_frame(threshold=threshold), self.runs.start
        compared = "it" if self.exact else "the linear network"
        means = ", ".join(f"{mean:g}" for mean in self._task.means)
        lines = [
            f"{start.n_layers}-layer {start.nonlinearity} network, {len(self.trained)} runs,",
            f"beside gradient flow of {compared} on the population from the same weights.",
            f"Means {means}; times of the flow, medians over the runs that have them:",
        ]
        names = table["quantity"].to_numpy()
        values = table[["predicted", "trained"]].to_numpy()
        runs = table["run"].to_numpy()
        lost = runs[(names == SWINGS) & np.isnan(values).any(axis=1)]
        selected = ~np.isin(runs, lost)
        lines += [f"{'':<28}predicted  trained"] if selected.any() else []
        for name in dict.fromkeys(names[selected & (names != SWINGS)]):
            left, right = (_median(column) for column in values[selected & (names == name)].T)
            lines.append(f"{name:<28}{left:<11}{right}")
        first, trained = values[selected & (names == SWINGS)].T
        if len(first):
            lines.append(
                f"The error rises before it falls: {first.sum():.0f} of {len(first)} "
                f"predicted, {trained.sum():.0f} trained, {(first == trained).sum()} agree."
            )
        if count := self.runs.outcomes.count(Outcome.DIVERGED):
            outcome = Outcome.DIVERGED.value
            lines.append(f"Left out: {count} of {len(self.trained)} networks {outcome}.")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


@door
def beside_theory(runs: Runs) -> BesideTheory:
    r"""Compare trained networks with the gradient flow from their initial weights.

    The flow is gradient flow on the population (`flow` of `Deep`): no samples, no batches and
    no steps. Differences are due to these; for ReLU networks also to their nonlinearity.

    Parameters
    ----------
    runs : Runs
        Dense networks that `train` has trained on a structured identity task by "sgd", all at one
        learning rate, read at the unseen combination (which is the default).

    Returns
    -------
    BesideTheory

    Raises
    ------
    InputError
        For other runs.

    Notes
    -----
    Derived here. For a truncated task, whose population is known only from samples, the mean of
    the samples' moments is used.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.tasks import StructuredIdentity
    >>> from partwhole.training import Training, train
    >>> task = StructuredIdentity([2, 4], [0.2, 0.2], origin=True)
    >>> networks = Architecture(layers=2, width=4).networks(2, seeds=range(2))
    >>> runs = train(networks, task, Training(epochs=40, batch=128, learning_rate=0.005))
    >>> comparison = beside_theory(runs)
    >>> gap = np.abs(comparison.outputs - comparison.trained).max()
    >>> bool(gap < 0.5)  # of targets 2 and 4
    True
    """
    concepts, initial = runs.concepts, runs.start
    rates = runs.learning_rates
    require(
        isinstance(initial, MLP) and runs.times is not None,
        "theory is that of dense networks trained by the optimiser 'sgd'",
        f"{type(initial).__name__} and {runs.training.optimiser!r}",
        "draw them by Architecture(...).networks(d, seeds=...)",
    )
    assert runs.times is not None
    assert rates is not None
    require(
        bool(np.all(rates == rates[0])),
        "networks are trained at one learning rate",
        f"rates from {rates.min():g} to {rates.max():g}",
        "train those of each rate in a call of their own",
    )
    trained = concepts.at_unseen
    second, mean = _moments(concepts)
    weights, biases = in_concept_frame(initial, concepts.task)
    # Runs that end early repeat their last time.
    times = 2.0 * rates[0] * runs.steps / (1.0 - float(runs.training.momentum))
    path = flow(
        Deep(weights, second, biases=biases, mean=None if biases is None else mean),
        times,
        rtol=RTOL,
        atol=1e-9,
    )
    notes = list(path.notes)
    if path.outcome is not FlowOutcome.REACHED:
        notes += ["flows end early; begin with smaller weights, or record fewer steps"]
    outputs = path.outputs(concepts.task.probe)
    return BesideTheory(runs, times, outputs, trained, tuple(notes))


def _moments(concepts: ConceptAnswers) -> tuple[np.ndarray, np.ndarray]:
    """Return second moment and mean of the inputs, in the concept frame."""
    task = concepts.task
    if task.truncation is None:
        return task.second_moment(), task.mean()
    return concepts.second_moments.mean(axis=0), concepts.means.mean(axis=0)


def _quantities(
    times: np.ndarray,
    outputs: np.ndarray,
    loss: np.ndarray,
    means: np.ndarray,
    plateau: float,
    threshold: Real,
) -> dict[str, float]:
    s = len(means)
    names = [f"concept {k + 1} half learned at" for k in range(s)]
    turns = [
        (f"error has its {turn} at", f"error at its {turn}") for turn in ("minimum", "maximum")
    ]
    if not (np.isfinite(outputs).all() and np.isfinite(loss).all()):
        return dict.fromkeys([*names, *turns[0], *turns[1], SWINGS], np.nan)
    nonzero = means != 0
    half = np.full(s, np.nan)
    half[nonzero] = learning_times(times, outputs[:, :s][:, nonzero] / means[nonzero])
    rise = swing(times, loss, plateau=plateau, threshold=threshold * plateau)
    # NaN where the error does not rise.
    extrema = (rise.minimum_time, rise.minimum, rise.maximum_time, rise.maximum)
    quantities = dict(zip([*turns[0], *turns[1]], extrema, strict=True))
    return {
        **dict(zip(names, half.tolist(), strict=True)),
        **quantities,
        SWINGS: float(rise.occurs),
    }


def _median(values: np.ndarray) -> str:
    finite = values[~np.isnan(values)]
    if not len(finite):
        return "none"
    middle = float(np.median(finite))
    return "later" if np.isinf(middle) else f"{middle:.3g}"
