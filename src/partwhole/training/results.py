"""Results of training any network: losses, outputs, networks and outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Index
from partwhole.limits import DiagonalWeights, Limit
from partwhole.networks.diffusion import DiffusionModel
from partwhole.training.concepts import ConceptAnswers
from partwhole.training.diffusion.records import DiffusionRecords, DiffusionTrace
from partwhole.training.diffusion.sampling import Sampling
from partwhole.training.margins import margin_of
from partwhole.training.outcome import Outcome
from partwhole.training.training import Training
from partwhole.training.usage import PeakMemory

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ACCURATE, EXPLAINED = 0.99, 0.05


class ImageRecords(NamedTuple):
    """Records of one run of an image network: by epochs, and by sets of samples."""

    epoch_losses: Float[np.ndarray, "k epochs"]
    scores: Mapping[str, Mapping[str, Any]]  # by the fields of Scores, along T
    outputs: Mapping[str, Float[np.ndarray, "_ k"]]  # final
    has_reached: bool  # the threshold


class Trace(NamedTuple):
    """One run, as returned by an engine: records, and the final network and step.

    Records after the end of the run repeat its end.
    """

    losses: Float[np.ndarray, "T k"]
    network: Any
    step: int
    diverged: bool
    tested: Float[np.ndarray, "T k"] | None = None
    answers: Float[np.ndarray, "T m e"] | None = None
    times: Float[np.ndarray, " T"] | None = None
    labels: Float[np.ndarray, "T 3"] | None = None  # log loss, margin and error
    of_images: ImageRecords | None = None
    of_diffusion: DiffusionTrace | None = None


class Scores(NamedTuple):
    """Scores of networks on a set of samples at the recorded steps, in inference mode.

    Parameters
    ----------
    loss : float array, shape (runs, T)
        The training loss function, on these samples.
    accuracy : float array, shape (runs, T), or None
        Share of correct labels or classes; an output of exactly 0 counts as half correct. None for
        numbers.
    error : float array, shape (runs, T), or None
        Mean square error as a share of the variance of the targets; None for labels and classes.
    task_accuracy : float array, shape (runs, T), or None
        In transfer: share of samples whose class has the largest output of their own task's, where
        `accuracy` compares those of both tasks.
    """

    loss: Float[np.ndarray, "runs T"]
    accuracy: Float[np.ndarray, "runs T"] | None
    error: Float[np.ndarray, "runs T"] | None
    task_accuracy: Float[np.ndarray, "runs T"] | None = None

    def have_learned(self) -> Bool[np.ndarray, " runs"]:
        """Return which networks have learned the samples at the end, see `Runs.has_learned`."""
        if self.accuracy is not None:
            return self.accuracy[:, -1] >= ACCURATE
        assert self.error is not None
        return self.error[:, -1] <= EXPLAINED


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    r"""Trained networks, one for each run, with records of their training.

    Where several tasks were learned, arrays that say so have an axis of the k tasks; after
    training on one they lack it. Records after the end of a run repeat its end.

    Parameters
    ----------
    training : Training
    start : Network, tuple of Network or DiffusionModel, or DiagonalWeights
        The networks before training.
    networks : Network, tuple of Network or DiffusionModel, or DiagonalWeights
        The networks after training. An MLP or DiagonalWeights contain all runs along a leading
        axis; other networks are one for each run.
    steps : int array, shape (T,)
        The steps that were recorded.
    times : float array, shape (runs, T), or None
        The same in the time of gradient flow, the sum of the lengths of steps; None for "adam",
        "adamw", transformations of optax and clipped gradients. Flows descend half the squared
        error: their time is twice this.
    training_loss : float array, shape (runs, T)
        Mean loss over the samples of all tasks, without weight decay; of ReLU networks on
        structured identity tasks, over 2,048 samples spread evenly over the clusters; of diffusion
        models over the batches of the last hundred steps, or fewer if there were no more, and NaN
        before the first.
    task_loss : float array, shape (runs, [k,] T)
        The same for the samples of each task.
    test_loss : float array, shape (runs, [k,] T), or None
        With teachers, the expected squared error; with test samples, the mean loss on them; of
        image networks that of the set named "test", as a single one is.
    answers : float array, shape (runs, T, m, e), or None
        Outputs of each network for the inputs `read`.
    log_loss, margins, training_error : float arrays, shape (runs, T), or None
        Of gated networks on labels. The logarithm of the mean loss, which itself soon
        underflows; the normalised margin :math:`\min_i y_i f(x_i) / (\|\theta\|^2 / L)^{L/2}`, NaN
        for networks with a bias, which are not homogeneous; wrong decisions, ties half.
    epoch_loss : float array, shape (runs, [k,] epochs), or None
        Of image networks: mean loss of each epoch, of batches in training, before each step and
        not weighted, up to the last epoch of the longest run; NaN after the end of a run.
    scores : mapping of str to Scores, or None
        Of image networks: for "training" and every set of `test`; in transfer for those of "main",
        "test" and "auxiliary" that the mode scores.
    outputs : mapping of str to float array, shapes (runs, n, k), or None
        Of image networks: final outputs for each sample of these sets, in inference mode.
    trained_on : tuple of str, or None
        Of image networks: the sets that were trained on, one for each task.
    concept_answers : ConceptAnswers or None
        Of structured identity tasks: the answers in the concept frame, see `concepts`.
    diffusion : DiffusionRecords, or None
        Of diffusion models: `coordinates` and `samples` at the recorded steps, the `averaged`
        models from which they are drawn, and `bits`, the terms of the loss. `at` returns the models
        on the way, `read` draws further samples from them.
    end_steps : int array, shape (runs,)
        Number of steps of each run.
    learning_rates : float array, shape (runs,), or None
        Those of the final attempt, after restarts; None if steps choose their own length.
    outcomes : tuple of Outcome
        How each run ended.
    seeds : tuple of int
        The seed of each run, for batches, noise and samples; see `Training.seed`.
    seconds : float
        Wall time of training all runs, with compilation, and that before an interruption as far as
        the checkpoint knows it.
    peak_memory : PeakMemory or None
        Most memory in use until training ended, in bytes: `process`, resident, of all that this
        process did; and `device`, where there is one that tells it.
    """

    training: Training
    start: Any
    networks: Any
    steps: Int[np.ndarray, " T"]
    times: Float[np.ndarray, "runs T"] | None
    training_loss: Float[np.ndarray, "runs T"]
    task_loss: Float[np.ndarray, "runs *k T"]
    test_loss: Float[np.ndarray, "runs *k T"] | None
    answers: Float[np.ndarray, "runs T m e"] | None
    log_loss: Float[np.ndarray, "runs T"] | None
    margins: Float[np.ndarray, "runs T"] | None
    training_error: Float[np.ndarray, "runs T"] | None
    end_steps: Int[np.ndarray, " runs"]
    learning_rates: Float[np.ndarray, " runs"] | None
    outcomes: tuple[Outcome, ...]
    epoch_loss: Float[np.ndarray, "runs *k epochs"] | None = None
    scores: Mapping[str, Scores] | None = None
    outputs: Mapping[str, Float[np.ndarray, "runs _ k"]] | None = None
    trained_on: tuple[str, ...] | None = None
    concept_answers: ConceptAnswers | None = None
    diffusion: DiffusionRecords | None = None
    seeds: tuple[int, ...] = ()
    seconds: float = np.nan
    peak_memory: PeakMemory | None = None

    @property
    def concepts(self) -> ConceptAnswers:
        """Return the answers of networks on a structured identity task, in the concept frame.

        Raises
        ------
        InputError
            For networks that were trained on other samples.
        """
        require(
            self.concept_answers is not None,
            "answers in the concept frame are of networks on a structured identity task",
            "other samples",
            "pass the task as data to train, or read answers",
        )
        assert self.concept_answers is not None
        return self.concept_answers

    @door
    def network(self, run: int) -> Any:
        """Return the network of one run, counted from 0.

        Raises
        ------
        InputError
            For a run that does not exist.
        """
        last = len(self.outcomes) - 1
        require(0 <= run <= last, f"runs are counted from 0 to {last}", run, "pass one of them")
        if hasattr(self.networks, "lead") or isinstance(self.networks, DiagonalWeights):
            return jax.tree.map(lambda leaf: leaf[run], self.networks)
        return self.networks[run]

    @door
    def at(self, step: Index, *, run: Index = 0) -> DiffusionModel:
        """Return a diffusion model as it was at a recorded step.

        Parameters
        ----------
        step : int
            One of `steps`.
        run : int, keyword-only, default 0

        Returns
        -------
        DiffusionModel
            With the weights from which samples are drawn: averaged ones with `Training.average`.
            It can be sampled, saved (`save_network`) and trained further.

        Raises
        ------
        InputError
            For a step that was not recorded or at which the run had diverged, a run that does not
            exist, other networks, and weights that were not kept (`Training.keep_weights`).
        """
        return self._diffused().at(step, run=run)

    @door
    def read(
        self, sampling: Sampling, *, steps: Sequence[Index] | None = None, progress: bool = True
    ) -> DiffusionRecords:
        """Draw samples for other prompts after training, as if it had drawn them on the way.

        They equal those of `train` with this `read`, bit by bit, without training again.

        Parameters
        ----------
        sampling : Sampling
            Prompts, and what becomes of their samples.
        steps : sequence of int, keyword-only, default None
            Some of the recorded steps; None for all.
        progress : bool, keyword-only, default True
            Whether to show a bar once this takes over two seconds.

        Returns
        -------
        DiffusionRecords
            With these samples and coordinates in place of those of training; NaN once a run has
            diverged.

        Raises
        ------
        InputError
            For prompts that don't fit the models, and in the cases of `at`.

        Examples
        --------
        >>> from partwhole.networks.diffusion import diffusion_model
        >>> from partwhole.training import Prompt, Sampling, train
        >>> points = np.random.default_rng(0).normal(size=(100, 2))
        >>> training = Training.published("diffusion", steps=20, record=[0, 20])
        >>> model = diffusion_model("vector", condition=2, seed=0)
        >>> runs = train(model, (points, points), training)
        >>> far = Sampling({"far": Prompt(conditions=np.full((4, 2), 3.0))}, lambda x: x, steps=5)
        >>> runs.read(far, steps=[20]).coordinates["far"].shape
        (1, 1, 4, 2)
        """
        return self._diffused().read(sampling, steps=steps, progress=progress)

    def _diffused(self) -> DiffusionRecords:
        require(
            self.diffusion is not None,
            "weights on the way are kept of diffusion models",
            "other networks",
            "take network(run), that of the end",
        )
        assert self.diffusion is not None
        return self.diffusion

    @door
    def plot(self, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
        """Draw the learning curves: losses, and scores where there are any.

        Losses are those of every epoch of image networks, and the terms of every hundred steps of
        diffusion models. Below them are accuracies or errors of image networks, margins of gated
        ones. More than eight runs are their median and a band from their 10 % to their 90 %
        quantile. Axes are logarithmic where losses vary by ten or more, or records grow apart.

        Parameters
        ----------
        axes : sequence of Axes, optional
            Of matplotlib, one for each panel; by default of a new figure.

        Returns
        -------
        tuple of Axes

        Raises
        ------
        InputError
            For another number of axes.
        MissingExtraError
            Without matplotlib, of the extra "plot".
        """
        return import_module("partwhole.training.curves").learning_curves(self, axes)

    def __repr__(self) -> str:
        names = [outcome.name.lower().replace("_", " ") for outcome in self.outcomes]
        ends = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
        n, steps, losses = len(names), int(np.max(self.end_steps)), self._deciding_losses()
        low, high = f"{np.min(losses):.3g}", f"{np.max(losses):.3g}"
        span = low if low == high else f"{low} to {high}"
        return f"Runs({n} run{'s' * (n != 1)}: {ends}; {steps:,} steps, training loss {span})"

    def describe(self) -> str:
        """Return a line for each run: its outcome, its loss and the remedy."""
        return "\n".join(self.messages)

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        return card(self, self.describe(), self.to_frame())

    @door
    def fraction_of(self, limit: Limit) -> Float[np.ndarray, "runs T"]:
        """Return margins as shares of a limit's.

        Parameters
        ----------
        limit : Limit
            Of the networks' own gates, training set and cost.

        Returns
        -------
        float array, shape (runs, T)
            At most 1 if the limit is the global one; in gradient descent the shortfall decreases
            as one over the logarithm of the steps.

        Raises
        ------
        InputError
            For a limit without a margin, of inputs that are not separable or of a cost other than
            the networks' own, and for runs whose margins were not recorded.
        """
        rule = "margins are recorded of gated networks on labels"
        require(self.margins is not None, rule, "none", "train GatedNetwork on -1 and +1")
        assert self.margins is not None
        return self.margins / margin_of(limit)

    @property
    def final_loss(self) -> Float[np.ndarray, "runs *k"]:
        """Return the test loss at the end of each run."""
        return self._tested()[..., -1]

    @property
    def best_loss(self) -> Float[np.ndarray, "runs *k"]:
        """Return the lowest recorded test loss, an oracle: the test set selects the step.

        The published losses are of this kind. Where transfer harms, the best step is an early
        one, and this hides it: read `final_loss` too.
        """
        return self._nan_as_infinite().min(axis=-1)

    @property
    def best_step(self) -> Int[np.ndarray, "runs *k"]:
        """Return the step of the oracle's `best_loss`."""
        best = self.steps[self._nan_as_infinite().argmin(axis=-1)]
        ends = self.end_steps.reshape(-1, *[1] * (best.ndim - 1))
        return np.minimum(best, ends)

    @property
    def messages(self) -> tuple[str, ...]:
        """Return a sentence on each run: its outcome, its loss and the remedy."""
        return tuple(
            f"run {run} {outcome.value} (step {step}, training loss {loss:.3g}, "
            f"threshold {self.training.threshold:.3g})"
            for run, (outcome, step, loss) in enumerate(
                zip(self.outcomes, self.end_steps, self._deciding_losses(), strict=True)
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run, and for each task where there are several.

        Returns
        -------
        pandas.DataFrame
            With the columns run, task (where there are several), learning_rate, steps, outcome
            and training_loss (of the task). With a test also final_loss, oracle_best_loss and
            oracle_best_step.
        """
        import pandas as pd

        has_tasks = self.task_loss.ndim == 3
        tasks = self.task_loss.shape[1] if has_tasks else 1
        columns = {"run": np.repeat(np.arange(len(self.end_steps)), tasks)}
        if has_tasks:
            columns["task"] = np.tile(np.arange(tasks), len(self.end_steps))
        columns |= {
            "learning_rate": np.repeat(
                np.full(len(self.end_steps), np.nan)
                if self.learning_rates is None
                else self.learning_rates,
                tasks,
            ),
            "steps": np.repeat(self.end_steps, tasks),
            "outcome": np.repeat([outcome.name.lower() for outcome in self.outcomes], tasks),
            "training_loss": self.task_loss[..., -1].reshape(-1),
        }
        if self.test_loss is not None:
            columns |= {
                "final_loss": self.final_loss.reshape(-1),
                "oracle_best_loss": self.best_loss.reshape(-1),
                "oracle_best_step": self.best_step.reshape(-1),
            }
        return pd.DataFrame(columns)

    def scores_to_frame(self) -> pd.DataFrame:
        """Return the scores of image networks, a row for each run, set and recorded step.

        Returns
        -------
        pandas.DataFrame
            With the columns run, samples, step, loss, and accuracy or error; in transfer also
            task_accuracy.

        Raises
        ------
        InputError
            For other networks.
        """
        import pandas as pd

        scores = self._scored()
        tables = []
        for name, scores_of in scores.items():
            measured = {k: v.reshape(-1) for k, v in scores_of._asdict().items() if v is not None}
            index = pd.MultiIndex.from_product(
                [range(len(self.end_steps)), [name], self.steps], names=["run", "samples", "step"]
            )
            tables.append(pd.DataFrame(measured, index=index).reset_index())
        return pd.concat(tables, ignore_index=True)

    @property
    def has_learned(self) -> Bool[np.ndarray, " runs"]:
        """Return which image networks have learned their training samples, of every task.

        At least 99 % of the labels or classes are right, or the mean square error is at most 5 % of
        the variance of the targets. Published multi-task learning mostly does not learn its
        auxiliary task.
        """
        scores = self._scored()
        assert self.trained_on is not None
        return np.all([scores[name].have_learned() for name in self.trained_on], axis=0)

    def _scored(self) -> Mapping[str, Scores]:
        require(
            self.scores is not None,
            "scores are recorded of image networks",
            "others",
            "read training_loss, or outcomes",
        )
        assert self.scores is not None
        return self.scores

    def _deciding_losses(self) -> Float[np.ndarray, " runs"]:
        """Return the losses that are compared with the threshold at the end of each run."""
        if self.epoch_loss is None:
            return self.training_loss[:, -1]
        of_tasks = self.epoch_loss.reshape(len(self.outcomes), -1, self.epoch_loss.shape[-1])
        ends = np.sum(~np.isnan(of_tasks[:, 0]), axis=1) - 1
        return of_tasks[np.arange(len(ends)), :, ends].max(axis=1)

    def _tested(self) -> np.ndarray:
        require(
            self.test_loss is not None,
            "a test loss needs something to test on",
            "neither teachers nor test samples" if self.scores is None else "sets of other names",
            "pass teachers= or test= in training" if self.scores is None else "read scores by name",
        )
        assert self.test_loss is not None
        return self.test_loss

    def _nan_as_infinite(self) -> np.ndarray:
        losses = self._tested()
        return np.where(np.isnan(losses), np.inf, losses)
