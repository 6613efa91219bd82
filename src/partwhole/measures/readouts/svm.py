"""Linear support vector machines of noisy trials, predicted and trained."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Positive
from partwhole.measures.readouts.answers import Answers
from partwhole.measures.readouts.losses import MarginLoss
from partwhole.measures.readouts.margins import margin_answers
from partwhole.measures.readouts.means import Means
from partwhole.measures.readouts.trained import Linear

NEWTON_STEPS = 200
FEW_DIGITS = 1e-13


@door
@dataclass(frozen=True)
class SVM:
    r"""A linear support vector machine for two labels, with a free intercept.

    It minimises :math:`\tfrac12 |w|^2 + C \sum_i \ell(y_i (w x_i + b))` over training trials.

    Parameters
    ----------
    C : float, default 1.0
        In squared inverse units of features, as for scikit-learn's ``SVC(kernel="linear")``.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        :math:`\max(0, 1 - t)` or its square. scikit-learn's LinearSVC penalises the intercept, too;
        on centred features with ``intercept_scaling=100`` that hardly matters.

    Examples
    --------
    >>> SVM(C=0.1)
    SVM(C=0.1, loss='hinge')
    """

    C: Positive = 1.0
    loss: Literal["hinge", "squared_hinge"] = "hinge"

    def answers(
        self,
        means: Means,
        counts: Int[np.ndarray, " A"],
        targets: Float[np.ndarray, "A k"],
    ) -> Answers:
        """Return the decision function at each condition, of trials of those with counts.

        Parameters
        ----------
        means : Means
            Centred over training trials.
        counts : int array, shape (A,)
            Training trials of each condition.
        targets : float array, shape (A, 1)
            Labels, as -1 and +1.

        Returns
        -------
        Answers
        """
        self._require(targets, targets[counts > 0])
        loss = MarginLoss.hinge if self.loss == "hinge" else MarginLoss.squared_hinge
        return margin_answers(means, counts, targets[:, 0], loss(float(self.C)))

    def train(
        self, features: Float[np.ndarray, "n p"], targets: Float[np.ndarray, "n k"]
    ) -> Linear | None:
        """Return the classifier of training trials; with a hinge None without scikit-learn."""
        self._require(targets, targets)
        centre = features.mean(axis=0)
        x = features - centre
        if self.loss == "squared_hinge":
            weights, intercept = _squared_hinge(x, targets[:, 0], float(self.C))
            return Linear(centre, weights[:, None], np.array([intercept]))
        if find_spec("sklearn") is None:
            return None
        from sklearn.svm import SVC

        fit = SVC(kernel="linear", C=self.C).fit(x, targets[:, 0])
        return Linear(centre, fit.coef_.T, fit.intercept_)

    def _require(self, targets: np.ndarray, of_training: np.ndarray) -> None:
        n_columns, present = targets.shape[1], np.unique(of_training[:, 0])
        require(
            n_columns == 1,
            "an SVM separates two labels, in one column",
            f"{n_columns} columns",
            "pass one column of -1 and +1, or use LDA",
        )
        require(
            len(present) == 2,
            "an SVM is trained on trials of both labels",
            f"those of label {present[0]:g} alone",
            "mark trials of both in is_train",
        )


def _squared_hinge(
    x: Float[np.ndarray, "n p"], y: Float[np.ndarray, " n"], C: float
) -> tuple[Float[np.ndarray, " p"], float]:
    """Return weights and intercept by Newton's method, exact after finitely many steps.

    A step goes to the ridge regression of the trials within the margin (Keerthi and DeCoste, J.
    Mach. Learn. Res. 2005).
    """

    def loss(solution: np.ndarray) -> float:
        gap = np.maximum(1.0 - y * (x @ solution[:-1] + solution[-1]), 0.0)
        return 0.5 * float(solution[:-1] @ solution[:-1]) + C * float(gap @ gap)

    solution = np.zeros(x.shape[1] + 1)
    value = loss(solution)
    for _ in range(NEWTON_STEPS):
        active = y * (x @ solution[:-1] + solution[-1]) < 1.0
        aim = np.append(np.zeros(x.shape[1]), solution[-1])
        if active.any():
            aim = _ridge(x[active], y[active], 0.5 / C)
        step = aim - solution
        share = 1.0
        while (new := loss(solution + share * step)) > value and share > FEW_DIGITS:
            share *= 0.5
        if new > value * (1.0 - FEW_DIGITS):
            break
        solution, value = solution + share * step, new
    return solution[:-1], float(solution[-1])


def _ridge(
    x: Float[np.ndarray, "n p"], y: Float[np.ndarray, " n"], ridge: float
) -> Float[np.ndarray, " p1"]:
    """Return weights and a free intercept."""
    n, p = x.shape
    centre, mean = x.mean(axis=0), y.mean()
    x = x - centre
    if p <= n:
        weights = np.linalg.solve(x.T @ x + ridge * np.eye(p), x.T @ (y - mean))
    else:
        weights = x.T @ np.linalg.solve(x @ x.T + ridge * np.eye(n), y - mean)
    return np.append(weights, mean - centre @ weights)
