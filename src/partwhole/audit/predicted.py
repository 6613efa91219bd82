"""Predictions for one test split: over a range of representations, and of saliences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._types import Real
from partwhole.features.order_kernel import OrderKernel


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
        Share of held-out rows with a correct label, and its mean over the labels of the test
        split; ties count in equal parts; NaN for numbers.
    leak_slope : float
        Slope of predictions on targets, both centred, over all outputs; 1 without a leak, NaN if
        the targets do not vary.
    kernel : OrderKernel
    ridge : float array, shape (d,), or float
        Kernel-ridge penalty of each training combination, in the kernel's unit.

    Notes
    -----
    Each held-out combination is weighted by its rows' sample weights. `outputs` are those of
    ``solve(case.task, kernel, fit=Equal(ridge), intercept="free")``, or of the largest margin; if
    components are ordered, of task and kernel with their bits (`Grading`). At
    the measured point, if combinations are repeated, they are the mean answers of a readout
    (`measured_readout`), and error and accuracies are those of its answers to single rows.
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
    accuracy_of_means : float
        The same if each row is answered as its combination is on average; NaN for numbers.
    """

    component: int
    value: int
    n_test: int
    n_train: int
    error: float
    accuracy: float
    accuracy_of_means: float = float("nan")


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
        Without values of which as many rows are right as labels of training allow, if not all.
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
    ceiling : float
        Largest possible accuracy, since training lacks some labels, or rows of a combination
        differ; NaN for numbers.
    balanced_ceiling : float
        Balanced accuracy of the answers with that accuracy. At or below chance where combinations
        whose rows differ have one commonest label: then nothing better can be predicted.
    commonest : float
        Share of held-out rows with the commonest label of those that training has; NaN for
        numbers.
    ties : int
        Held-out combinations with several highest outputs at the reference point.
    from_readout : float
        Where the measured point is the prediction of a readout of the features: the root mean
        square of its difference from the answers of a trained one; NaN elsewhere.
    readout : {"", "predicted", "trained"}
        Whether the measured point is a readout of the features, and how its answers are known;
        empty where it is the kernel's.
    trained_slope, trained_accuracy : float
        Of a prediction of a readout: leak slope and accuracy of the one that was trained; NaN
        elsewhere.
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
    ceiling: float = float("nan")
    balanced_ceiling: float = float("nan")
    commonest: float = float("nan")
    ties: int = 0
    from_readout: float = float("nan")
    readout: Literal["", "predicted", "trained"] = ""
    trained_slope: float = float("nan")
    trained_accuracy: float = float("nan")

    @property
    def measured(self) -> Point | None:
        """Return the point measured on features, or of a kernel that was given; None without."""
        return next((point for point in self.points if np.isnan(point.position)), None)

    def __repr__(self) -> str:
        """Return the number of points and the reference point."""
        return f"Prediction({len(self.points)} points; {self.points[self.reference]!r})"


@dataclass(frozen=True, eq=False)
class SalienceSweep:
    """Accuracies while one component becomes more or less salient than the others.

    Parameters
    ----------
    factors : tuple of float, length m
        Salience of the component, in units of what it is without a change.
    learners : tuple of (str, str)
        Fit and kernel of each learner.
    accuracy : float array, shape (L, C, m)
        Share of held-out rows with a correct label; NaN where it was not computed, beyond the
        first error of a margin.
    since, until : float arrays, shape (L, C)
        Factors between which every row that can be right is right: 0 and infinite if at all
        factors tried, NaN if some row is wrong without a change.
    ceiling : float
        Largest possible accuracy.
    order : int
        At which the kernels are cut off.
    base : float array, shape (C,)
        The salience of each component without a change, relative to the others' (root mean square).
    measured : float array, shape (C,), or None
        For measured features: the salience of each component relative to the others'.
    """

    factors: tuple[float, ...]
    learners: tuple[tuple[str, str], ...]
    accuracy: Float[np.ndarray, "L C m"]
    since: Float[np.ndarray, "L C"]
    until: Float[np.ndarray, "L C"]
    ceiling: float
    order: int
    base: Float[np.ndarray, " C"]
    measured: Float[np.ndarray, " C"] | None = None

    @property
    def is_right(self) -> bool:
        """Return whether every learner is right without a change."""
        return not bool(np.isnan(self.until).any())

    @property
    def are_equal(self) -> bool:
        """Return whether components are equally salient without a change."""
        return bool(np.allclose(self.base, 1.0))

    @property
    def limits(self) -> tuple[Float[np.ndarray, "L C"], Float[np.ndarray, "L C"]]:
        """Return `since` and `until` as saliences relative to those of the other components."""
        return self.since * self.base, self.until * self.base

    @property
    def range_of_all(self) -> tuple[Float[np.ndarray, " C"], Float[np.ndarray, " C"]]:
        """Return the limits within which all learners are right."""
        since, until = self.limits
        return since.max(axis=0), until.min(axis=0)

    @property
    def unchanged(self) -> Float[np.ndarray, " L"]:
        """Return the accuracy of each learner without a change, which is of no component."""
        return self.accuracy[:, 0, self.factors.index(1.0)]

    def __repr__(self) -> str:
        """Return the numbers of learners and factors."""
        return f"SalienceSweep({len(self.learners)} learners, {len(self.factors)} factors)"
