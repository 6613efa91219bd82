"""The evidence about one test split, before any rule judges it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class UnseenValue:
    """Value that occurs in the test split and not in training.

    Parameters
    ----------
    component, value : int
        The indices of the component and of its value.
    rows : int array, shape (r,)
        Rows of the table.
    """

    component: int
    value: int
    rows: Int[np.ndarray, " r"]


@dataclass(frozen=True)
class OrderCoverage:
    """Numbers of conjunctions of one order.

    Parameters
    ----------
    order : int
        Components in each conjunction.
    seen : int
        Distinct conjunctions in training.
    in_test : int
        Distinct conjunctions in held-out combinations.
    unseen : int
        Conjunctions in held-out combinations that training lacks.
    """

    order: int
    seen: int
    in_test: int
    unseen: int


@dataclass(frozen=True)
class ValueCoverage:
    """Training's coverage of one value.

    Parameters
    ----------
    component, value : int
    n_train, n_test : int
        Distinct combinations with it, in training and held out.
    partners : int
        Number of values of other components that it occurs with in training.
    graph_component : int
        The index of its connected component in the co-occurrence graph; -1 if unseen.
    """

    component: int
    value: int
    n_train: int
    n_test: int
    partners: int
    graph_component: int


@dataclass(frozen=True, eq=False)
class Coverage:
    """Held-out values and conjunctions beside those of training.

    Parameters
    ----------
    unseen_values : tuple of UnseenValue
    orders : tuple of OrderCoverage
        Orders 1..K, then C.
    values : tuple of ValueCoverage
        Every value of every component, in the table's order.
    n_graph_components : int
        Connected components of the graph whose vertices are the values seen in training and
        whose edges join values that occur together there.
    """

    unseen_values: tuple[UnseenValue, ...]
    orders: tuple[OrderCoverage, ...]
    values: tuple[ValueCoverage, ...]
    n_graph_components: int


@dataclass(frozen=True)
class Shortcut:
    """Value or conjunction whose targets differ between training and test.

    Parameters
    ----------
    components : tuple of int
        The indices of its components.
    values : tuple of int
        The indices of their values.
    n_train, n_test : int
        Numbers of combinations with it.
    label : hashable or None
        The label whose share differs most; None when targets are numbers.
    train, test : float
        The label's share among them, or the mean target.
    effect : float
        Largest difference of a label's share (0..1), or of means in standard deviations of
        the target.
    p_value : float
        Probability of a difference at least as large if rows were assigned to splits at random,
        corrected for the number of conjunctions tested.
    """

    components: tuple[int, ...]
    values: tuple[int, ...]
    n_train: int
    n_test: int
    label: Hashable | None
    train: float
    test: float
    effect: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Point:
    """Predictions at one representation of the range.

    Parameters
    ----------
    label : str
        In words, such as "S = 0.25", "depth 3" or "measured".
    position : float
        Salience or depth; NaN at the measured point.
    salience : tuple of float
        S(1; C) .. S(K; C), means over sets of that size.
    memory : float
        Share of the full conjunction (and of all orders above K).
    outputs : float array, shape (h,) or (h, k)
        Predictions for the held-out combinations.
    error : float
        Weighted mean squared error over held-out rows.
    accuracy, balanced_accuracy : float
        Share of correct labels, and its mean over the labels of the test split; a tie counts by
        half; NaN for numbers.
    leak_slope : float
        Slope of predictions on targets, both centred, over all outputs; 1 without a leak, NaN if
        the targets do not vary.
    kernel : OrderKernel
    ridge : float array, shape (d,), or float
        Kernel-ridge penalty of each training combination, in the kernel's unit.

    Notes
    -----
    Each held-out combination is weighted by its rows' sample weights. `outputs` are those of
    ``solve(case.task, kernel, fit=Equal(ridge), intercept="free")``, or of the largest margin.
    """

    label: str
    position: float
    salience: tuple[float, ...]
    memory: float
    outputs: Float[np.ndarray, "h *k"]
    error: float
    accuracy: float
    balanced_accuracy: float
    leak_slope: float
    kernel: OrderKernel
    ridge: Float[np.ndarray, " d"] | Real = 0.0

    def __repr__(self) -> str:
        """Return the label, the error and the accuracy of the point."""
        return f"Point({self.label}: error {self.error:.4g}, accuracy {self.accuracy:.4g})"


@dataclass(frozen=True, eq=False)
class WorstItem:
    """Value whose held-out combinations are predicted worst.

    Parameters
    ----------
    component, value : int
    n_test : int
        Held-out combinations with it.
    n_train : int
        Training combinations with it.
    error : float
        Mean squared error over them at the reference point.
    accuracy : float
        NaN for numbers.
    """

    component: int
    value: int
    n_test: int
    n_train: int
    error: float
    accuracy: float


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions for the held-out combinations over a range of representations.

    Parameters
    ----------
    axis : str
        The variable of the range: "salience S(1; 2)" or "hidden layers of a random ReLU network".
    points : tuple of Point
        Along the range; the measured point, if features were passed, comes last.
    reference : int
        Index of the point used for pictures and worst items: the measured point if it exists,
        otherwise one hidden ReLU layer (the nearest S for two components).
    constant_error : float
        Mean squared error of the best constant prediction, the mean of training.
    chance : float
        Balanced accuracy of guessing: 1 / (number of labels in the test split), or of all labels
        if the test split has only one; NaN for numbers.
    fit : str
        "regression" or "margin".
    worst : tuple of WorstItem
    remarks : tuple of str
        Such as the depths that were left out.
    structure : float
        For measured features: the share of the variance of similarity that the overlap explains.
    noise : float
        For measured features: the variance of single rows, divided by the difference in
        similarity between identical combinations and those that share no value.
    unsolved : tuple of str
        Representations of the range that are left out because their computation did not converge
        within the allowed time and steps.
    """

    axis: str
    points: tuple[Point, ...]
    reference: int
    constant_error: float
    chance: float
    fit: str
    worst: tuple[WorstItem, ...]
    remarks: tuple[str, ...] = ()
    structure: float = float("nan")
    noise: float = float("nan")
    unsolved: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the number of points and the reference point."""
        return f"Prediction({len(self.points)} points; {self.points[self.reference]!r})"


@dataclass(frozen=True)
class Addition:
    """Combination recommended for training.

    Parameters
    ----------
    values : tuple of int
        Its value indices.
    determined : float
        Share of the test split's combinations that are determined, or seen, after the addition.
    eigenvalue : float
        The smallest eigenvalue that governs the leak after the addition; NaN if not computed.
    held_out : bool
        Whether it is a combination of the test split, to be moved into training.
    """

    values: tuple[int, ...]
    determined: float
    eigenvalue: float
    held_out: bool = False


@dataclass(frozen=True, eq=False)
class Additions:
    """Unseen combinations to add first, and the cost of the search.

    Parameters
    ----------
    steps : tuple of Addition
        In order; each assumes the previous ones.
    determined, eigenvalue : float
        Before any addition.
    candidates : int
        Combinations tried at each step.
    of : int
        Number of unseen combinations to choose from.
    evaluations : int
        Candidates evaluated in all.
    seconds : float
    remarks : tuple of str
        Such as the reason why none is recommended.
    """

    steps: tuple[Addition, ...]
    determined: float
    eigenvalue: float
    candidates: int
    of: int
    evaluations: int
    seconds: float
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence about one test split.

    Parameters
    ----------
    case : Case
    coverage : Coverage
    solvability : Solvability or None
        None when nothing is held out.
    determination : Determination or None
        None when nothing is held out.
    shortcuts : tuple of Shortcut
        Candidates, strongest first.
    prediction : Prediction or None
        None if nothing is held out, or nothing was computed in the allowed time.
    additions : Additions or None
        None if additions were not requested.
    seconds : float
    """

    case: Case
    coverage: Coverage
    solvability: Solvability | None
    determination: Determination | None
    shortcuts: tuple[Shortcut, ...]
    prediction: Prediction | None
    additions: Additions | None
    seconds: float

    @property
    def undecided(self) -> bool:
        """Return whether solvability, determination or comparison with guesses is incomplete."""
        solved, determination = self.solvability, self.determination
        return (
            (solved is not None and solved.solvable is None)
            or (determination is not None and bool(determination.undecided.any()))
            or (len(self.case.held_out) > 0 and self.is_better_than_guesses is None)
        )

    @property
    def is_better_than_guesses(self) -> bool | None:
        """Return whether learners at some representation are predicted to do better than guessing.

        For labels, balanced accuracy is compared with guessing; for numbers, squared error is
        compared with that of the mean of training. None if no computed representation does
        better and others were not computed.
        """
        prediction = self.prediction
        if prediction is None:
            return None
        if self.case.has_labels:
            # Without held-out labels the score is NaN, which is not at or below chance.
            worse = all(
                point.balanced_accuracy <= prediction.chance + ROUNDING
                for point in prediction.points
            )
        else:
            constant_error = prediction.constant_error * (1.0 - ROUNDING)
            # If even the constant is exact, no prediction can be better.
            rounding = 1e-12 * float(np.mean(self.case.task.targets**2))
            worse = all(
                point.error >= constant_error and point.error > rounding
                for point in prediction.points
            )
        if not worse:
            return True
        return None if prediction.unsolved else False

    def __repr__(self) -> str:
        """Return the main facts."""
        solved = None if self.solvability is None else self.solvability.solvable
        share = float("nan") if self.determination is None else self.determination.share
        return (
            f"Evidence({self.case.name}: {len(self.case.held_out)} held out, solvable {solved}, "
            f"determined {share:.4g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the held-out combinations with their true and predicted targets.

        Returns
        -------
        pandas.DataFrame
            A row for each held-out combination: its values, ``target`` (or a column for each
            output), ``prediction`` (likewise) at the reference point, ``label`` and
            ``predicted label`` for labels, ``weight`` and ``determined``.
        """
        import pandas as pd

        case = self.case
        rows = case.held_out
        columns: dict[str, object] = {
            name: [values[i] for i in column]
            for name, values, column in zip(
                case.task.names, case.task.values, case.task.components[rows].T, strict=True
            )
        }
        targets = case.task.targets.reshape(len(case.weights), -1)[rows]
        outputs = np.full(targets.shape, np.nan)
        if self.prediction is not None:
            point = self.prediction.points[self.prediction.reference]
            outputs = point.outputs.reshape(targets.shape)
        k = targets.shape[1]
        for name, array in (("target", targets), ("prediction", outputs)):
            columns |= {name if k == 1 else f"{name} {j}": array[:, j] for j in range(k)}
        labels, label = case.table.labels, case.label
        if labels is not None and label is not None:
            best = outputs.argmax(axis=1) if k > 1 else (outputs[:, 0] > 0).astype(int)
            columns["label"] = [None if i < 0 else labels[i] for i in label[rows]]
            columns["predicted label"] = [labels[i] for i in best]
        columns["weight"] = case.weights[rows]
        if self.determination is not None:
            determination = self.determination
            determined = determination.determined.astype(object)
            determined[determination.undecided] = None
            columns["determined"] = (
                determined if determination.undecided.any() else determination.determined
            )
        return pd.DataFrame(columns)
