"""Where learning ends: the least-cost function that fits the training set, with its certificate."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import DenseDesign, Design, as_design
from partwhole.features.gates.design import GatedDesign
from partwhole.limits.costs import ChainNorm, GroupNorm, NuclearNorm, Quadratic, SchattenNorm
from partwhole.limits.fits import Margin
from partwhole.limits.gram import GramFeatures
from partwhole.limits.problem import Problem
from partwhole.tasks import Task
from partwhole.tasks._labels import label_margins

if TYPE_CHECKING:
    from typing import Literal

    import pandas as pd
    from matplotlib.axes import Axes

# Relative to the largest multiplier or block norm, or to a margin of training: smaller ones count
# as zero.
PRESENT = 1e-6


class Outcome(Enum):
    """The reason a solve stopped; the value is a sentence with the remedy.

    Examples
    --------
    Equal inputs with different targets:

    >>> from partwhole import solve
    >>> limit = solve((np.array([[1.0], [1.0]]), np.array([0.0, 1.0])), intercept="none")
    >>> limit.outcome.name, limit.value
    ('INFEASIBLE', inf)
    """

    SOLVED = "solved: the duality gap is at most 1e-6 of the value, and exact rows are met"
    STATIONARY = (
        "a stationary point of a cost that is not convex; others may cost less: pass other starts"
    )
    INFEASIBLE = (
        "no function of these features fits the training set; the multipliers prove it; "
        "allow slack, add features, or look at solvability(task)"
    )
    INACCURATE = (
        "not decided: the duality gap stayed above 1e-6 of the value, or exact rows were missed, "
        "because numbers of very different size meet; rescale features or targets, drop rows that "
        "are nearly alike, or allow slack"
    )
    MAX_STEPS = "not decided: reached max_steps; raise max_steps or allow slack"


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs with targets: training rows, and held-out rows to predict.

    Parameters
    ----------
    inputs : array or Design, or None
        n inputs; for a task, its components. None where a Gram matrix takes their place.
    targets : float array, shape (n,) or (n, k)
    is_train : bool array, shape (n,)
    task : Task, optional
        The task that has these rows.
    """

    inputs: Any
    targets: Float[np.ndarray, "n *k"]
    is_train: Bool[np.ndarray, " n"]
    task: Task | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Limit:
    r"""The least-cost function that fits the training set, with its certificate.

    Parameters
    ----------
    problem : Problem
        Features, targets, cost, fit and intercept of the training rows; repeated tuples of a task
        are merged into one row.
    coefficients : float array, shape (p,) or (p, k)
        One for each feature; NaN when infeasible.
    multipliers : float array, shape (n,) or (n, k)
        Dual variables v of the training rows. When infeasible, they are a proof: for every
        feature that the cost allows, the sum over rows of feature times v vanishes (to 1e-11 of
        the terms in the sum). So outputs times v add up to 0 for every function, whereas outputs
        that fit would have a positive sum.
    intercept : float or float array (k,)
    value : float
        The cost of the coefficients, of the slack that is used and of a penalised intercept;
        infinite when infeasible. For rows of very little slack the misfits are computed from the
        multipliers, because rounding of the coefficients would hide them.
    gap : float
        Value minus a lower bound on the least cost. The bound is that of multipliers in the
        domain of the dual, and the misfits of exact rows are subtracted from it. Where rounding
        puts the bound above the value, the gap is their distance. At a stationary point, the gap
        is that of the convex cost that touches there.
    violation : float
        Largest misfit of a row without slack; 0 when every row has some. When infeasible with
        the fit `Equal`, the largest residual of least squares.
    steps : int
        Number of solver steps.
    outcome : Outcome
    assumptions : tuple of str
        Assumptions of the solution.
    rows : Rows, optional
        All inputs that were passed to `solve`: training and held-out rows.
    features : callable, optional
        From other inputs to their features, in the columns of the problem's design.

    Examples
    --------
    >>> from partwhole import solve
    >>> limit = solve((np.array([[1.0], [3.0]]), [-1.0, 1.0]), fit="margin", intercept="free")
    >>> limit
    Limit(solved, value 0.5, gap ..., 2 training rows, 1 feature)
    >>> limit.predict([[2.0], [4.0]]).round(6).tolist()
    [0.0, 2.0]
    """

    problem: Problem
    coefficients: Float[np.ndarray, "p *k"]
    multipliers: Float[np.ndarray, "n *k"]
    intercept: float | Float[np.ndarray, " k"]
    value: float
    gap: float
    violation: float
    steps: int
    outcome: Outcome
    assumptions: tuple[str, ...] = ()
    rows: Rows | None = None
    features: Callable[[Any], Design] | None = None

    @property
    def design(self) -> Design:
        """Return the features of the training rows."""
        return self.problem.design

    @property
    def task(self) -> Task | None:
        """Return the task that was solved; None for a pair of inputs and targets."""
        return None if self.rows is None else self.rows.task

    @door
    def predict(self, inputs: Any) -> Float[np.ndarray, "m *k"]:
        """Return the outputs for other inputs.

        Parameters
        ----------
        inputs : array or Design
            m inputs, of the same kind as those passed to `solve`. For a task, the tuples: an int
            array of shape (m, C), in which values never seen contribute nothing. For gates and
            callable kernels, their inputs. For a Gram matrix, the similarities to its n rows,
            shape (m, n). Otherwise the features, shape (m, p).

        Returns
        -------
        float array, shape (m,) or (m, k)
            NaN where no function fits the training set; `outcome` is then INFEASIBLE.

        Raises
        ------
        InputError
            When the inputs do not have the columns that the limit was solved with.
        """
        return self._features_of(inputs) @ self.coefficients + self.intercept

    @door
    def parts(self, inputs: Any = None) -> dict[Hashable, Float[np.ndarray, "m *k"]]:
        r"""Return each block's share of the outputs; with the intercept they sum to `predict`.

        For a task, :math:`f(z) = b + \sum_S f_S(z_S)` over conjunctions S, with
        :math:`f_S(z_S) = 0` where a conjunction was not seen.

        Parameters
        ----------
        inputs : array or Design, optional
            As for `predict`; by default all rows that were passed to `solve`.

        Returns
        -------
        dict
            From block label to an array of shape (m,) or (m, k); the intercept is "intercept".

        Notes
        -----
        Lippl & Stachenfeld (ICLR 2025), theorem 4.2 and equation 2.
        """
        design = self._all_features() if inputs is None else self._features_of(inputs)
        shares: dict[Hashable, np.ndarray] = {}
        for block in design.blocks:
            coefficients = np.zeros_like(self.coefficients)
            coefficients[block.columns] = self.coefficients[block.columns]
            shares[block.label] = design @ coefficients
        n = design.shape[0]
        shares["intercept"] = np.zeros((n, *self.coefficients.shape[1:])) + self.intercept
        return shares

    def _features_of(self, inputs: Any) -> Design:
        design = (self.features or as_design)(inputs)
        p, columns = len(self.coefficients), design.shape[1]
        rule = f"inputs are described in the same {p} columns as the training inputs"
        require(columns == p, rule, columns, "pass the columns that the limit was solved with")
        return design

    def _all_features(self) -> Design:
        """Return the features of all rows that were passed to `solve`."""
        if self.rows is None:
            return self.design
        if isinstance(self.features, GramFeatures):
            return DenseDesign(self.features.matrix)
        return self._features_of(self.rows.inputs)

    @cached_property
    def predictions(self) -> Float[np.ndarray, "n *k"]:
        """Return the outputs for all rows that were passed to `solve`, in their order."""
        return self._all_features() @ self.coefficients + self.intercept

    @property
    def test_predictions(self) -> Float[np.ndarray, "m *k"]:
        """Return the outputs for the held-out rows."""
        return self.predictions[~self._rows.is_train]

    @property
    def test_error(self) -> float:
        """Return the mean squared error over held-out rows; NaN when none is held out."""
        targets = self._rows.targets[~self._rows.is_train]
        if not len(targets):
            return float("nan")
        return float(np.mean((self.test_predictions - targets) ** 2))

    @property
    def test_margins(self) -> Float[np.ndarray, "m *entries"]:
        """Return label times output for the held-out rows.

        For classes, shape (m,): the output of the right class less the largest of the others,
        divided by the same difference of the targets.
        """
        rows = self._rows
        return label_margins(rows.targets, self.predictions)[~rows.is_train]

    @property
    def _rows(self) -> Rows:
        if self.rows is not None:
            return self.rows
        targets = self.problem.targets
        return Rows(self.design, targets, np.ones(len(targets), dtype=bool))

    @property
    def block_norms(self) -> Float[np.ndarray, " B"]:
        """Return the Euclidean norm of each block's coefficients; for gates a block is a unit."""
        return self._lengths(self.coefficients)

    @property
    def pulls(self) -> Float[np.ndarray, " B"]:
        r"""Return :math:`\|A_B^T v\|`, the gain in fit for each unit of growth of a block.

        For the group norm the solution is the global one if no pull is above 1; active blocks
        have a pull of 1. With several outputs it is the largest singular value of the matrix
        :math:`A_B^T v`.
        """
        pulled, blocks = self.design.adjoint(self.multipliers), self.design.blocks
        if pulled.ndim == 1 or not isinstance(self.problem.cost, GroupNorm):
            return self._lengths(pulled)
        return np.array([np.linalg.norm(pulled[block.columns], 2) for block in blocks])

    def _lengths(self, columns: np.ndarray) -> np.ndarray:
        blocks = self.design.blocks
        return np.sqrt([float(np.sum(columns[block.columns] ** 2)) for block in blocks])

    @property
    def active(self) -> Int[np.ndarray, " A"]:
        """Return the indices of the blocks whose coefficients are not 0."""
        norms = self.block_norms
        return np.flatnonzero(norms > PRESENT * norms.max(initial=0.0))

    @property
    def support(self) -> Int[np.ndarray, " S"]:
        """Return the training rows whose multipliers are not 0: the support vectors."""
        sizes = np.abs(self.multipliers).reshape(len(self.multipliers), -1).max(axis=1)
        return np.flatnonzero(sizes > PRESENT * sizes.max(initial=0.0))

    @property
    def normalised_margin(self) -> float:
        r"""Return :math:`\min_i y_i f(x_i) / (\|\theta\|^2 / L)^{L/2}` of a network's weights.

        For classes :math:`y_i f(x_i)` is the least lead of the right class's output over another.

        Where the limit is the global one, no weights :math:`\theta` of an architecture with L
        layers have a larger normalised margin. NaN for costs that are not the weight norm of an
        architecture (such as weighted ones) and for fits other than a margin; 0 where no
        function separates the inputs.
        """
        cost, value = self.problem.cost, self.value
        if not isinstance(self.problem.fit, Margin):
            return float("nan")
        if not np.isfinite(value) or value == 0.0:
            return 0.0
        reached = 1.0 - self.violation
        if isinstance(cost, Quadratic) and not cost.weights:
            return float(reached * (2.0 * value) ** -0.5)
        if isinstance(cost, NuclearNorm) or (isinstance(cost, GroupNorm) and cost.weights is None):
            return float(reached / value)
        if isinstance(cost, ChainNorm | SchattenNorm):
            return float(reached * value ** (-0.5 * cost.n_layers))
        return float("nan")

    def to_frame(self) -> pd.DataFrame:
        """Return all rows that were passed to `solve`, with predictions beside targets."""
        import pandas as pd

        rows = self._rows
        if rows.task is not None:
            frame = rows.task.to_frame()
        else:
            names = np.where(rows.is_train, "train", "test")
            frame = pd.DataFrame({**_columns("target", rows.targets), "split": names})
        for name, column in _columns("prediction", self.predictions).items():
            frame[name] = column
        return frame

    def blocks_to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each block: label, norm, pull, and whether it is active."""
        import pandas as pd

        labels = [block.label for block in self.design.blocks]
        return pd.DataFrame({
            "block": pd.Series(labels, dtype=object if labels else None),
            "norm": self.block_norms,
            "pull": self.pulls,
            "active": np.isin(np.arange(len(labels)), self.active),
        })  # fmt: skip

    def describe(self) -> str:
        """Return the problem, the accuracy of the solution, and its support, in a few lines."""
        problem, n = self.problem, len(self.multipliers)
        n_blocks, cost, fit = len(self.design.blocks), type(problem.cost), type(problem.fit)
        head = f"{cost.__name__} with the fit {fit.__name__} of {n} rows in {n_blocks} " + (
            "block: " if n_blocks == 1 else "blocks: "
        )
        if self.outcome is Outcome.INFEASIBLE:
            return (
                f"{head}no function of these features fits the rows; the multipliers of "
                f"{len(self.support)} of them certify it; allow slack, or add features, or drop "
                "rows that contradict others."
            )
        precision = (
            "stationary; other starts may end elsewhere"
            if self.outcome is Outcome.STATIONARY
            else f"within {abs(self.gap):.0e} of the least"
        )
        lines = [
            f"{head}value {self.value:.6g}, {precision}.",
            f"{len(self.support)} of {n} rows have a multiplier; {len(self.active)} of {n_blocks} "
            "blocks take part.",
        ]
        if self.outcome not in (Outcome.SOLVED, Outcome.STATIONARY):
            lines.append(f"The solve stopped early: {self.outcome.value}.")
        if isinstance(self.design, GatedDesign) and not self.design.occupied.all():
            occupied = self.design.occupied
            empty = int(np.sum(occupied == 0))
            lines.append(f"{empty} of {occupied.size} contexts have no training input.")
        return "\n".join(lines)

    @door
    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["auto", "grid", "margins", "scatter"] = "auto",
    ) -> Axes:
        """Draw the predictions.

        Parameters
        ----------
        ax : Axes, optional
            Of matplotlib; by default of a new figure.
        kind : {"auto", "grid", "margins", "scatter"}, keyword-only, default "auto"
            A grid of two components in which held-out combinations have a dot; the margins of
            held-out combinations by their names, right where they are above 0; or predictions
            against targets. "auto" is a grid where the task has one, and margins of up to 40
            combinations where the fit is one.

        Returns
        -------
        Axes

        Raises
        ------
        InputError
            Where no function fits the training set, for a grid of another task, and for margins
            of several outputs, or without a task.
        MissingExtraError
            Without matplotlib, of the extra "plot".

        Examples
        --------
        >>> from partwhole import features, solve, tasks
        >>> kernel = features.OverlapKernel.from_salience([0.3])
        >>> limit = solve(tasks.symbolic_addition(anchors=[0]), kernel, intercept="free")
        >>> limit.plot().get_xlabel()
        'second'
        """
        from partwhole.limits.plotting import plot_limit

        return plot_limit(self, ax, kind)

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        return card(self, self.describe(), self.to_frame())

    def __repr__(self) -> str:
        outcome = self.outcome.name.lower().replace("_", " ")
        n, p = len(self.multipliers), len(self.coefficients)
        parts = [outcome, f"value {self.value:.6g}", f"gap {self.gap:.1g}"]
        parts.append(f"{n} training row{'s' * (n != 1)}")
        parts.append(f"{p} feature{'s' * (p != 1)}")
        if self.rows is not None and not self.rows.is_train.all():
            held_out = int(np.sum(~self.rows.is_train))
            if isinstance(self.problem.fit, Margin) and np.isfinite(self.value):
                margins = self.test_margins
                right = int(np.sum(margins > PRESENT))
                parts.append(f"{right} of {margins.size} held-out labels right")
            else:
                error = f"{self.test_error:.6g}"
                parts.append(f"mean squared error on {held_out} held-out rows {error}")
        return f"Limit({', '.join(parts)})"


def _columns(name: str, values: Float[np.ndarray, "n *k"]) -> dict[str, Float[np.ndarray, " n"]]:
    if values.ndim == 1:
        return {name: values}
    return {f"{name}_{k}": column for k, column in enumerate(values.T)}
