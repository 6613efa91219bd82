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
from partwhole.training.outcome import Outcome
from partwhole.training.runs import IdentityRuns

if TYPE_CHECKING:
    import pandas as pd

SWINGS = "swing-by"
RTOL = 1e-7  # far below the effect of the order of the batches


@dataclass(frozen=True, eq=False)
class BesideTheory:
    """Trained networks and, for each, the gradient flow from its initial weights.

    Parameters
    ----------
    runs : IdentityRuns
    outputs : float array, shape (settings, seeds, T, d)
        Outputs of the flow at the unseen combination, in the concept frame, at `runs.times`.
    trained : float array, shape (settings, seeds, T, d)
        Outputs of the networks there.
    exact : bool
        Whether the flow is that of the networks themselves, true for linear ones; for others it is
        the flow of the linear network with the same weights.
    notes : tuple of str, default ()
        Caveats about the flows, such as one that ran out of steps.
    """

    runs: IdentityRuns
    outputs: Float[np.ndarray, "settings seeds T d"]
    trained: Float[np.ndarray, "settings seeds T d"]
    exact: bool
    notes: tuple[str, ...] = ()

    @property
    def losses(self) -> Float[np.ndarray, "settings seeds T"]:
        """The error of the flow at the unseen combination; NaN where it has run out of steps."""
        return self._losses(self.outputs)

    @property
    def trained_losses(self) -> Float[np.ndarray, "settings seeds T"]:
        """The error of the networks there."""
        return self._losses(self.trained)

    def _losses(self, outputs: np.ndarray) -> np.ndarray:
        probes = np.stack([task.probe for task in self.runs.tasks])
        with np.errstate(all="ignore"):  # of runs that diverged
            return 0.5 * ((outputs - probes[:, None, None]) ** 2).sum(axis=-1)

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
            With the columns setting, seed, quantity, predicted, trained. Times are gradient
            times; infinite where a concept was not half learned by the end, NaN where the error
            does not rise. All trained quantities of a run that diverged are NaN, and all
            predicted ones of a flow that ran out of steps.
        """
        import pandas as pd

        rows = []
        for s, task in enumerate(self.runs.tasks):
            means, times = np.array(task.means), self.runs.times[s]
            signals = np.diagonal(_moments(self.runs, s)[0])[: task.n_concepts]
            plateau = 0.5 * float(means[signals.argmin()]) ** 2
            for k, seed in enumerate(self.runs.seeds):
                pair = [
                    _quantities(times, outputs[s, k], loss[s, k], means, plateau, threshold)
                    for outputs, loss in (
                        (self.outputs, self.losses),
                        (self.trained, self.trained_losses),
                    )
                ]
                if self.runs.diverged[s, k]:
                    pair[1] = dict.fromkeys(pair[1], np.nan)
                rows += [(s, seed, name, pair[0][name], pair[1][name]) for name in pair[0]]
        return pd.DataFrame(rows, columns=["setting", "seed", "quantity", "predicted", "trained"])

    @door
    def describe(self, *, threshold: Real = 0.02) -> str:
        """Return a comparison of prediction and training in a few lines, medians over the seeds.

        Seeds whose training diverged or whose flow ran out of steps are counted and left out.
        """
        table = self.to_frame(threshold=threshold)
        architecture = self.runs.architecture
        compared = "it" if self.exact else "the linear network"
        lines = [
            f"{architecture.layers}-layer {architecture.nonlinearity} network, "
            f"{len(self.runs.seeds)} seeds,",
            f"beside gradient flow of {compared} on the population from the same weights.",
        ]
        names = table["quantity"].to_numpy()
        values = table[["predicted", "trained"]].to_numpy()
        left_out = table.loc[(names == SWINGS) & np.isnan(values).any(axis=1), ["setting", "seed"]]
        for s, task in enumerate(self.runs.tasks):
            means = ", ".join(f"{mean:g}" for mean in task.means)
            out = left_out["seed"][left_out["setting"] == s]
            selected = (table["setting"].to_numpy() == s) & ~table["seed"].isin(out).to_numpy()
            lines.append(f"Means {means}; gradient time, medians over the seeds it applies to:")
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
            if count := int(self.runs.diverged[s].sum()):
                outcome = Outcome.DIVERGED.value
                lines.append(f"Left out: {count} of {len(self.runs.seeds)} networks {outcome}.")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


@door
def beside_theory(runs: IdentityRuns) -> BesideTheory:
    r"""Compare trained networks with the gradient flow from their initial weights.

    The flow is gradient flow on the population (`flow` of `Deep`): no samples, no batches and
    no steps. Differences are due to these; for ReLU networks also to their nonlinearity.

    Parameters
    ----------
    runs : IdentityRuns
        From `train_identity`, read at the unseen combination (which is its default).

    Returns
    -------
    BesideTheory

    Raises
    ------
    InputError
        For runs that were not read at the unseen combination.

    Notes
    -----
    Derived here. For a truncated task, whose population is known only from samples, the mean of
    the samples' moments is used.

    Examples
    --------
    >>> from partwhole.networks import Architecture
    >>> from partwhole.tasks import StructuredIdentity
    >>> from partwhole.training import Protocol, train_identity
    >>> task = StructuredIdentity([2, 4], [0.2, 0.2], origin=True)
    >>> runs = train_identity(
    ...     task, Architecture(layers=2, width=4), Protocol(0.01), seeds=range(2)
    ... )
    >>> found = beside_theory(runs)
    >>> gap = np.abs(found.outputs - found.trained).max()
    >>> bool(gap < 0.5)  # of targets 2 and 4
    True
    """
    architecture, predicted, trained = runs.architecture, [], []
    notes: list[str] = []
    for s, task in enumerate(runs.tasks):
        at = np.flatnonzero(np.abs(runs.probes[s] - task.probe).max(axis=1) < 1e-12)
        require(
            len(at) > 0,
            "theory is laid beside answers to the unseen combination",
            f"runs read at {len(runs.probes[s])} other probes",
            "train with probes=None or include task.probe",
        )
        trained.append(runs.outputs[s, :, :, at[0]])
        second, mean = _moments(runs, s)
        weights, biases = _in_concept_frame(runs, s)
        path = flow(
            Deep(weights, second, biases=biases, mean=None if biases is None else mean),
            runs.times[s],
            rtol=RTOL,
            atol=1e-9,
        )
        predicted.append(path.outputs(task.probe))
        flow_notes = list(path.notes)
        if path.outcome is not FlowOutcome.REACHED:
            flow_notes += ["flows end early; begin with smaller weights, or record fewer steps"]
        notes += [f"setting {s}: {note}" for note in flow_notes]
    exact = architecture.nonlinearity == "linear"
    return BesideTheory(runs, np.stack(predicted), np.stack(trained), exact, tuple(notes))


def _moments(runs: IdentityRuns, setting: int) -> tuple[np.ndarray, np.ndarray]:
    """Return second moment and mean of a setting's inputs, in the concept frame."""
    task = runs.tasks[setting]
    if task.truncation is None:
        return task.second_moment(), task.mean()
    return runs.second_moments[setting].mean(axis=0), runs.means[setting].mean(axis=0)


def _in_concept_frame(
    runs: IdentityRuns, setting: int
) -> tuple[list[np.ndarray], list[np.ndarray] | None]:
    """Return the initial weights as they act on coordinates of the concepts, in 64 bits."""
    turn = runs.tasks[setting].rotation_matrix  # row p: axis p in the learner's inputs
    weights = [np.asarray(weight, dtype=float) for weight in runs.initial.weights]
    weights[0] = weights[0] @ turn.T
    weights[-1] = turn @ weights[-1]
    if runs.initial.biases is None:
        return weights, None
    biases = [np.asarray(bias, dtype=float) for bias in runs.initial.biases]
    biases[-1] = biases[-1] @ turn.T
    return weights, biases


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
