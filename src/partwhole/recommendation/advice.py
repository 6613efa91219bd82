"""Which way to learn the main task: single-task, multi-task, linear probing or finetuning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.special import stdtrit

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Positive, Real
from partwhole.recommendation.methods import METHODS, SINGLE, Method
from partwhole.recommendation.predicted import PredictedLosses, predict_losses
from partwhole.tasks import SparseTeachers
from partwhole.tasks.sparse_teachers import Scale

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Advice:
    """Predicted loss of every method, and the method to choose.

    Parameters
    ----------
    predicted : PredictedLosses
        For one sample size.
    """

    predicted: PredictedLosses

    @property
    def ranking(self) -> tuple[Method, ...]:
        """Return the methods from the least mean loss to the largest, unknown ones last.

        Losses below the resolution of the predictions count as equal; their methods stay in the
        order of the argument.
        """
        order = np.argsort(self._resolved, kind="stable")
        return tuple(self.predicted.methods[i] for i in order)

    @property
    def _mean(self) -> np.ndarray:
        """Return each method's mean loss; NaN where a seed has none."""
        mean = self.predicted.mean[:, 0]
        require(
            bool(np.isfinite(mean).any()),
            "a choice needs a method whose loss is known for every seed",
            "; ".join(self.predicted.notes) or "none",
            "follow the notes, or pass other methods",
        )
        return mean

    @property
    def _resolved(self) -> np.ndarray:
        """Return each method's mean loss, or the resolution where it is lower."""
        return np.maximum(self._mean, self.predicted.resolution)

    @property
    def learned(self) -> tuple[Method, ...]:
        """Return the methods that learn the task: mean loss below the predictions' resolution."""
        below = self.predicted.mean[:, 0] < self.predicted.resolution
        return tuple(m for m, low in zip(self.predicted.methods, below, strict=True) if low)

    @property
    def choice(self) -> Method:
        """Return the method with the least mean loss."""
        return self.ranking[0]

    @property
    def as_good(self) -> tuple[Method, ...]:
        """Return the methods whose losses do not differ significantly from that of the choice.

        The logarithms of the losses are compared in pairs by seed: a method is as good as the
        choice unless its mean is larger beyond a one-sided 97.5 % bound. If the choice has learned
        the task, every method that has learned it is as good. With a single seed all methods are.
        """
        losses = self.predicted.losses[:, 0]
        losses = np.where(np.isfinite(losses), losses, 1e300)
        losses = np.log(np.maximum(losses, self.predicted.resolution))
        methods, learned = self.predicted.methods, self.learned
        best, n = methods.index(self.choice), len(self.predicted.seeds)
        as_good = []
        for i, method in enumerate(methods):
            if i == best:
                continue
            if n == 1 or (method in learned and self.choice in learned):
                as_good.append(method)
                continue
            gap = losses[i] - losses[best]
            error = gap.std(ddof=1) / np.sqrt(n)
            if gap.mean() <= stdtrit(n - 1, 0.975) * error:
                as_good.append(method)
        return tuple(as_good)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each method, the best first: loss, standard error, transfer, learned.

        `transfer` is the loss divided by that of single-task learning, if that is among the
        methods: above 1 the auxiliary task does harm. It is NaN where either loss is below the
        resolution of the predictions; `learned` is True where the method's own loss is.
        """
        import pandas as pd

        predicted = self.predicted
        mean, error = predicted.mean[:, 0], predicted.standard_error[:, 0]
        alone = [i for i, method in enumerate(predicted.methods) if method.name == SINGLE]
        below = mean < predicted.resolution
        resolved = np.where(below, np.nan, mean)
        table = pd.DataFrame(
            {
                "method": [method.name for method in predicted.methods],
                "rescale": [method.rescale for method in predicted.methods],
                "loss": mean,
                "standard_error": error,
                "transfer": resolved / resolved[alone[0]] if alone else np.nan,
                "learned": below,
            }
        )
        return table.iloc[np.argsort(self._resolved, kind="stable")].reset_index(drop=True)

    def describe(self) -> str:
        """Return the choice and the numbers behind it, a line for each method."""
        predicted, table = self.predicted, self.to_frame()
        lines = [
            f"{predicted.task.describe()};",
            f"{predicted.sizes[0]} samples of the main task.",
            f"Choose {self.choice.label}.",
            *(_line(predicted.resolution, **row) for row in table.to_dict("records")),
        ]
        unknown = [
            f"{method.label} ({int(np.isnan(losses).sum())} of {losses.size} seeds)"
            for method, losses in zip(predicted.methods, predicted.losses[:, 0], strict=True)
            if np.isnan(losses).any()
        ]
        if unknown:
            lines.append(f"Not compared, without a solution: {', '.join(unknown)}.")
        if self.as_good:
            rivals = " and ".join(method.label for method in self.as_good)
            lines.append(f"With {len(predicted.seeds)} seeds, {rivals} can't be told from it.")
        return "\n".join([*lines, *predicted.notes])


def _line(
    resolution: float,
    *,
    method: str,
    rescale: float,
    loss: float,
    standard_error: float,
    transfer: float,
    learned: bool,
) -> str:
    label = Method(method, rescale).label
    if learned:
        return f"  {label}: learned (below {resolution:.2g})"
    beside = f", {transfer:.3g} times single-task" if np.isfinite(transfer) else ""
    return f"  {label}: test error {loss:.3g} ± {standard_error:.1g}{beside}"


@door
def recommend(
    *,
    overlap: int,
    n_main: int,
    active_main: int = 40,
    active_aux: int = 40,
    dimension: int = 1000,
    n_aux: Count = 1024,
    main_scale: Scale = "1/sqrt(a)",
    aux_scale: Scale = "1/sqrt(a)",
    methods: Iterable[str] = METHODS,
    rescalings: Sequence[Real] | Real = (1.0, 0.1, 0.01),
    init_scale: Positive = 1e-3,
    readout_scale: Positive = 1e-3,
    rescaled: Literal["all", "hidden"] = "all",
    seeds: Iterable[int] = range(6),
    max_gradients: Count = 100_000,
    progress: bool = True,
) -> Advice:
    """Recommend how to learn a main task beside an auxiliary one, from theory.

    Parameters
    ----------
    overlap : int, keyword-only
        Features active in both tasks.
    n_main : int, keyword-only
        Samples of the main task.
    active_main, active_aux : int, keyword-only, default 40
        Active features of either task.
    dimension : int, keyword-only, default 1000
        Number of features.
    n_aux : int, keyword-only, default 1024
        Samples of the auxiliary task.
    main_scale, aux_scale : {"1/sqrt(a)", "1/a"} or float, keyword-only, default "1/sqrt(a)"
        Size of the coefficients, as in `SparseTeachers`.
    methods, rescalings, init_scale, readout_scale, rescaled : keyword-only
        As in `predict_losses`.
    seeds, max_gradients, progress : keyword-only
        As in `predict_losses`.

    Returns
    -------
    Advice

    Raises
    ------
    InputError
        As `SparseTeachers` and `predict_losses`.

    Notes
    -----
    The prediction is for a diagonal linear network, the smallest in which features are reused
    (Lippl & Lindsey, NeurIPS 2024). Take its order of methods as a hypothesis for others.

    Examples
    --------
    >>> advice = recommend(overlap=0, n_main=48, active_main=4, active_aux=10, dimension=100,
    ...                    methods=["single-task", "finetuning"], rescalings=[1], seeds=range(4))
    >>> advice.choice.label
    'single-task'
    """
    task = SparseTeachers(
        dimension,
        active_aux,
        active_main,
        overlap,
        main_scale=main_scale,
        aux_scale=aux_scale,
    )
    predicted = predict_losses(
        task,
        [n_main],
        methods=methods,
        rescalings=rescalings,
        n_aux=n_aux,
        init_scale=init_scale,
        readout_scale=readout_scale,
        rescaled=rescaled,
        seeds=seeds,
        max_gradients=max_gradients,
        progress=progress,
    )
    return Advice(predicted)
