"""What an audit finds out about one test split, before any rule judges it."""

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
    """Name a value that the test split has and training lacks.

    Parameters
    ----------
    component, value : int
        Its place in the table.
    rows : int array, shape (r,)
        Rows of the table.
    """

    component: int
    value: int
    rows: Int[np.ndarray, " r"]


@dataclass(frozen=True)
class OrderCoverage:
    """Count the conjunctions of one order.

    Parameters
    ----------
    order : int
        Components in each conjunction.
    seen : int
        Distinct ones in training.
    in_test : int
        Distinct ones in held-out combinations.
    unseen : int
        Those of them that training lacks.
    """

    order: int
    seen: int
    in_test: int
    unseen: int


@dataclass(frozen=True)
class ValueCoverage:
    """Say how well training covers a value.

    Parameters
    ----------
    component, value : int
    n_train, n_test : int
        Distinct combinations with it, in training and held out.
    partners : int
        Other values it meets in training, over all other components.
    graph_component : int
        Which connected component of the co-occurrence graph it is in; -1 when unseen.
    """

    component: int
    value: int
    n_train: int
    n_test: int
    partners: int
    graph_component: int


@dataclass(frozen=True, eq=False)
class Coverage:
    """Say what is held out.

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
    """Name a value or conjunction whose targets differ between training and test.

    Parameters
    ----------
    components : tuple of int
        Which components.
    values : tuple of int
        Their values' indices.
    n_train, n_test : int
        Combinations with it.
    label : hashable or None
        The label whose share differs most; None when targets are numbers.
    train, test : float
        The label's share among them, or the mean target.
    effect : float
        Largest difference of a label's share (0..1), or of means in standard deviations of
        the target.
    p_value : float
        Of so large a difference when rows were assigned to splits at random, corrected for the
        number of conjunctions looked at.
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
    """Hold the predictions at one representation of the range.

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
        Share of right labels, and its mean over the labels of the test split; half of each
        tie; NaN for numbers.
    leak_slope : float
        Slope of predictions on targets, both about their means, over all outputs; 1 without
        leak. NaN when the targets do not vary.
    kernel : OrderKernel
    ridge : float array, shape (d,), or float
        Kernel-ridge penalty of each training combination, in the kernel's unit.

    Notes
    -----
    Each held-out combination counts by its rows' sample weights. `outputs` are those of
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
        """Name the point and how well it does."""
        return f"Point({self.label}: error {self.error:.4g}, accuracy {self.accuracy:.4g})"


@dataclass(frozen=True, eq=False)
class WorstItem:
    """Name a value at which held-out combinations are predicted worst.

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
    """Hold what learners of the range will do with the held-out combinations.

    Parameters
    ----------
    axis : str
        What the range varies: "salience S(1; 2)" or "hidden layers of a random ReLU network".
    points : tuple of Point
        Along the range; the measured point, where features were given, comes last.
    reference : int
        Index of the point that pictures and worst items are drawn at: the measured one if
        there is one, else one hidden ReLU layer (the nearest S for two components).
    constant_error : float
        Mean squared error of the best constant of training.
    chance : float
        Balanced accuracy of guessing: 1 / (labels of the test split), of all labels where it
        has one; NaN for numbers.
    fit : str
        "regression" or "margin".
    worst : tuple of WorstItem
    remarks : tuple of str
        Such as which depths were left out.
    structure : float
        Of measured features: the share of the variance of similarity that the overlap explains.
    noise : float
        Of measured features: the variance of single rows beside the lead of identical
        combinations over those that share nothing.
    unsolved : tuple of str
        Representations of the range that are left out, as their computation did not converge in
        the time and the steps allowed.
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
        """Name the range and the point of reference."""
        return f"Prediction({len(self.points)} points; {self.points[self.reference]!r})"


@dataclass(frozen=True)
class Addition:
    """Recommend a combination for training.

    Parameters
    ----------
    values : tuple of int
        Its value indices.
    determined : float
        Share of the test split's combinations that is determined (or seen) once it is added.
    eigenvalue : float
        The smallest eigenvalue that governs the leak once it is added; NaN if not computed.
    held_out : bool
        Whether it is one of the test split's own combinations, to be moved into training.
    """

    values: tuple[int, ...]
    determined: float
    eigenvalue: float
    held_out: bool = False


@dataclass(frozen=True, eq=False)
class Additions:
    """Hold which unseen combinations to add first, and what the search cost.

    Parameters
    ----------
    steps : tuple of Addition
        In order; each builds on those before.
    determined, eigenvalue : float
        As it stands, before any is added.
    candidates : int
        Combinations tried at each step.
    of : int
        Unseen combinations there were to choose from.
    evaluations : int
        Candidates evaluated in all.
    seconds : float
    remarks : tuple of str
        Such as why none is recommended.
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
    """Hold all that was found out about one test split.

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
        None when nothing is held out, or nothing was computed in the time allowed.
    additions : Additions or None
        None when not asked for.
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
        """Return whether solvability, what training determines or whether predictions are better
        than guesses is in part not known."""
        solved, found = self.solvability, self.determination
        return (
            (solved is not None and solved.solvable is None)
            or (found is not None and bool(found.undecided.any()))
            or (len(self.case.held_out) > 0 and self.is_better_than_guesses is None)
        )

    @property
    def is_better_than_guesses(self) -> bool | None:
        """Return whether some representation of the range is predicted to do better than guesses.

        Labels are compared with guessing in balanced accuracy, numbers with the mean of training
        in squared error. None where those that were computed do not, and others were not.
        """
        prediction = self.prediction
        if prediction is None:
            return None
        if self.case.has_labels:
            # What has no score, as no label is held out, is not below another.
            worse = all(
                point.balanced_accuracy <= prediction.chance + ROUNDING
                for point in prediction.points
            )
        else:
            most = prediction.constant_error * (1.0 - ROUNDING)
            # Where even the constant is right there is nothing to do better.
            least = 1e-12 * float(np.mean(self.case.task.targets**2))
            worse = all(point.error >= most and point.error > least for point in prediction.points)
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
        """Return the held-out combinations with what is true and what is predicted of them.

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
            found = self.determination
            known = found.determined.astype(object)
            known[found.undecided] = None
            columns["determined"] = known if found.undecided.any() else found.determined
        return pd.DataFrame(columns)
