"""The evidence about one test split, before any rule judges it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.predicted import Point, Prediction, SalienceSweep
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9
WRITTEN = 64 * float(np.finfo(float).eps)  # relative error of a number after some sums


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
class Rung:
    """Support of a test split at one order: for learners in which so many components interact.

    Parameters
    ----------
    order : int
        K, the largest number of components in a conjunction of such learners.
    seen : int
        Distinct conjunctions of exactly K components in training.
    in_test : int
        Those in held-out combinations.
    unseen : int
        Those in held-out combinations that training lacks.
    lacking : tuple of (tuple of int, tuple of int)
        Components and values of up to 12 of these, those of the most held-out combinations first.
    held_out : int
        Held-out combinations.
    determined : int
        Of these, the ones whose answers training determines.
    undecided : int
        The ones for which the computation ended without a verdict.
    solvable : bool or None
        Whether such learners can answer all held-out combinations; None if it was not decided, or
        not computed because training leaves answers open.
    fitted : float
        Whether training itself is such a sum of conjunctions: the share of the variance of its
        numbers that the best sum explains, or of its combinations whose label has the highest
        output of the least-squares sum. NaN if not computed.
    seconds : float
        Processor time; 0 where the verdict follows from that of another order.
    """

    order: int
    seen: int
    in_test: int
    unseen: int
    lacking: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    held_out: int
    determined: int
    undecided: int
    solvable: bool | None
    fitted: float
    seconds: float

    @property
    def share(self) -> float:
        """Return the share of held-out combinations that training determines."""
        return self.determined / self.held_out

    @property
    def possible(self) -> int:
        """Return the number of held-out combinations that are determined or undecided."""
        return self.determined + self.undecided

    def is_supported(self, determined: Real = 1.0) -> bool | None:
        """Return whether learners of this order are supported; None if it was not decided.

        Parameters
        ----------
        determined : float, default 1
            Smallest share of held-out combinations that training must determine.
        """
        if self.possible / self.held_out < determined:
            return False
        if self.solvable is False:
            return False
        return True if self.solvable and self.share >= determined else None


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
    """Held-out values beside those of training.

    Parameters
    ----------
    unseen_values : tuple of UnseenValue
    values : tuple of ValueCoverage
        Every value of every component, in the table's order.
    n_graph_components : int
        Connected components of the graph whose vertices are the values seen in training and
        whose edges join values that occur together there.
    """

    unseen_values: tuple[UnseenValue, ...]
    values: tuple[ValueCoverage, ...]
    n_graph_components: int


@dataclass(frozen=True)
class ShiftedValue:
    """Value whose targets differ between training and test.

    Parameters
    ----------
    values : tuple of int
        The indices of the values, one for each component of the shortcut.
    label : int or None
        The label whose share differs most; None when targets are numbers.
    train, test : float
        The label's share among the rows with the value, or the mean target.
    """

    values: tuple[int, ...]
    label: int | None
    train: float
    test: float


@dataclass(frozen=True)
class RareGroup:
    """Rows with one value and one label, of which training has few.

    Parameters
    ----------
    value, label : int
    n_train, n_test : int
        Its rows.
    expected : float
        Rows that training would have if value and label were independent.
    """

    value: int
    label: int
    n_train: int
    expected: float
    n_test: int


@dataclass(frozen=True)
class Shortcut:
    """Component that alone predicts the target in training, or two or three that do together.

    Parameters
    ----------
    components : tuple of int
        The indices of its components.
    train : float
        Accuracy in training of the most probable label for each value, labels weighted to those
        of the test split, each row predicted from the others; for numbers the share of the
        variance that the mean of each value explains, likewise. See `at_values`.
    test : float
        Accuracy of the same labels in test; for numbers the slope of targets on predictions: 1 as
        in training, 0 or below if the association is gone or reversed.
    guess : float
        Accuracy of the test split's commonest label; 0 for numbers.
    misleads : bool
        Whether less than half of the advantage over guessing, or of the slope, is left in test.
    superfluous : bool
        Whether the other components predict training as well without it, judged on combinations
        that differ in it alone, by rows and with each combination counted once.
    examples : tuple of ShiftedValue
    rare : tuple of RareGroup
        Of a superfluous component.
    at_values : bool, default False
        Whether `train` is that of the training rows with the values of the test split: if they are
        predicted better than all; and, with labels in their shares of training, if the test split
        has one label, or its values predict labels that it lacks. For numbers `test` is then the
        difference from the mean of training where a difference of 1 is predicted: if predictions do
        not vary in test, or it has fewer than three rows.
    spurious : bool, default False
        Whether it is superfluous and predicts test too, in a test split that has the values, pairs
        and combinations of components as training has them.
    """

    components: tuple[int, ...]
    train: float
    test: float
    guess: float
    misleads: bool
    superfluous: bool
    examples: tuple[ShiftedValue, ...] = ()
    rare: tuple[RareGroup, ...] = ()
    at_values: bool = False
    spurious: bool = False


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
class Remainder:
    """Held-out combinations without those of values or labels that training lacks.

    Parameters
    ----------
    left_out : int array, shape (r,)
        Rows of the table that are left out.
    share : float
        Their share of the held-out rows.
    kept : bool array, shape (h,)
        The held-out combinations that remain.
    solvability : Solvability
        Of the remaining ones.
    """

    left_out: Int[np.ndarray, " r"]
    share: float
    kept: Bool[np.ndarray, " h"]
    solvability: Solvability


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
        Those that mislead in test first.
    prediction : Prediction or None
        None if nothing is held out, or nothing was computed in the allowed time.
    additions : Additions or None
        None if additions were not requested.
    seconds : float
    ladder : tuple of Rung
        The verdict at each order from 1 to C - 1, as far as the time allowed, that of the audit
        among them; empty when nothing is held out.
    remainder : Remainder or None
        None if training has all values and labels, or nothing remains.
    sweep : SalienceSweep or None
        None for numbers and for large tables.
    not_searched : tuple of int
        How many sets of components were not looked at for shortcuts in time, and of how many.
    """

    case: Case
    coverage: Coverage
    solvability: Solvability | None
    determination: Determination | None
    shortcuts: tuple[Shortcut, ...]
    prediction: Prediction | None
    additions: Additions | None
    seconds: float
    ladder: tuple[Rung, ...] = ()
    remainder: Remainder | None = None
    sweep: SalienceSweep | None = None
    not_searched: tuple[int, int] = (0, 0)

    @property
    def is_better_than_guesses(self) -> bool | None:
        """Return whether learners are predicted to do better than guessing.

        At the measured representation, if there is one; otherwise at some representation of the
        range. For labels, balanced accuracy is compared with guessing, or accuracy by rows where
        no better balanced accuracy is possible; for numbers, squared error is compared with that
        of the mean of training. None if no computed representation does
        better and others were not computed, or if that of the measured one did not finish.
        """
        prediction = self.prediction
        if not self.case.table.is_predicted:
            return True
        if prediction is None:
            return None
        if prediction.measured is not None:
            return not self._is_poor(prediction, prediction.measured)
        if "measured" in prediction.unsolved:
            return None
        if not all(self._is_poor(prediction, point) for point in prediction.points):
            return True
        return None if prediction.unsolved else False

    def _is_poor(self, prediction: Prediction, point: Point) -> bool:
        if self.case.has_labels:
            # Without held-out labels the score is NaN, which is not at or below chance.
            if not point.balanced_accuracy <= prediction.chance + ROUNDING:
                return False
            # Where right answers have no larger balanced accuracy, accuracy by rows counts.
            is_possible = not prediction.balanced_ceiling <= prediction.chance + ROUNDING
            return is_possible or point.accuracy <= prediction.chance + ROUNDING
        # If even the constant is exact, no prediction can be better. Exact is what is as near as
        # targets can be written down, wherever their zero lies.
        targets = self.case.task.targets
        rounding = 1e-12 * float(np.var(targets)) + (WRITTEN * float(np.abs(targets).max())) ** 2
        return point.error >= prediction.constant_error * (1.0 - ROUNDING) and (
            point.error > rounding
        )

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
            # Without a prediction, outputs are not numbers and none is the highest.
            columns["predicted label"] = [
                None if np.isnan(row).any() else labels[i]
                for i, row in zip(best, outputs, strict=True)
            ]
        columns["weight"] = case.weights[rows]
        if self.determination is not None:
            determination = self.determination
            determined = determination.determined.astype(object)
            determined[determination.undecided] = None
            columns["determined"] = (
                determined if determination.undecided.any() else determination.determined
            )
        return pd.DataFrame(columns)
