"""Kernel machines on compositional tasks, in the seen-conjunction form.

The memorization unit (the indicator of the full combination, weight sigma_C) is private to each
training tuple, so it is the fit's slack; what remains are indicators of lower conjunctions.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary
from partwhole.features.overlap import OverlapKernel
from partwhole.features.subsets import kernel_spectrum, mask_of, set_of, set_sizes
from partwhole.limits.costs import Quadratic
from partwhole.limits.fits import Equal, Margin, Tube
from partwhole.limits.least_cost import Intercept, least_cost, require_intercept
from partwhole.limits.limit import Limit
from partwhole.tasks import Task

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Distinct:
    """Hold a task's distinct training tuples.

    Parameters
    ----------
    components : int array, shape (d, C)
    targets : float array, shape (d,) or (d, k)
        The mean over repeats.
    counts : int array, shape (d,)
        Repeats of each.
    spread : float
        Largest difference between repeats of one tuple.
    dictionary : Dictionary
        The full conjunctions that were seen.
    """

    components: Int[np.ndarray, "d C"]
    targets: Float[np.ndarray, "d *k"]
    counts: Int[np.ndarray, " d"]
    spread: float
    dictionary: Dictionary

    @property
    def agrees(self) -> bool:
        """Return whether repeats have one target, but for the rounding of their mean."""
        rounding = 8.0 * float(np.finfo(float).eps) * float(np.abs(self.targets).max())
        return self.spread <= rounding

    @classmethod
    def of(cls, task: Task) -> Distinct:
        """Merge repeated training tuples."""
        rows, targets = task.train_components, task.train_targets
        whole = tuple(range(task.n_components))
        dictionary, index = Dictionary.of(rows, whole, task.n_values)
        size = dictionary.size
        if size == len(rows):
            order = np.empty(size, dtype=np.int64)
            order[index] = np.arange(size)
            return cls(rows[order], targets[order], np.ones(size, dtype=int), 0.0, dictionary)
        counts = np.bincount(index, minlength=size)
        means = np.zeros((size, *targets.shape[1:]))
        np.add.at(means, index, targets)
        means /= counts.reshape(-1, *[1] * (targets.ndim - 1))
        spread = float(np.abs(targets - means[index]).max())
        return cls(dictionary.values(), means, counts, spread, dictionary)


@dataclass(frozen=True, eq=False)
class TaskLimit:
    """Hold what a kernel learner ends up doing on a task, seen and unseen combinations alike.

    Parameters
    ----------
    task : Task
    kernel : OverlapKernel
    limit : Limit
        The solution over seen lower-order conjunctions; value, gap, outcome.
    design : ConjunctionDesign
        Its columns.
    memorized : float array, shape (d,) or (d, k)
        The full conjunction's part at each distinct training tuple.
    dictionary : Dictionary
        Which tuples these are.

    Examples
    --------
    >>> from partwhole import features, limits, tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> limit = limits.interpolate(task, features.OverlapKernel.from_salience([0.4]),
    ...                            intercept="free")
    >>> limit.predictions.shape, round(float(limit.predictions[0]), 6)
    ((81,), -5.333333)
    """

    task: Task
    kernel: OverlapKernel
    limit: Limit
    design: ConjunctionDesign
    memorized: Float[np.ndarray, "d *k"]
    dictionary: Dictionary

    @door(empty=("components",))
    def predict(self, components: Int[np.ndarray, "n C"]) -> Float[np.ndarray, "n *k"]:
        """Return the outputs for any tuples.

        Parameters
        ----------
        components : int array, shape (n, C)
            Value indices as in the task; values never seen contribute nothing.

        Returns
        -------
        float array, shape (n,) or (n, k)

        Raises
        ------
        InputError
            When the rows do not have the task's components.
        """
        self._require_components(components)
        return self.limit.predict(self.design.at(components)) + self._memory(components)

    def _require_components(self, rows: np.ndarray) -> None:
        n, shape = self.task.n_components, rows.shape
        rule, remedy = f"tuples are rows of {n} value indices", "number values as task.values does"
        require(shape[1] == n, rule, f"shape {shape}", remedy)

    def _memory(self, components: np.ndarray) -> np.ndarray:
        tail = np.zeros((1, *self.memorized.shape[1:]))
        return np.concatenate([self.memorized, tail])[self.dictionary.columns(components)]

    @cached_property
    def predictions(self) -> Float[np.ndarray, "n *k"]:
        """Return the outputs for every row of the task, in its order."""
        return self.predict(self.task.components)

    @property
    def test_predictions(self) -> Float[np.ndarray, "n *k"]:
        """Return the outputs for the held-out rows."""
        return self.predictions[~self.task.is_train]

    @property
    def test_error(self) -> float:
        """Return the mean squared error over held-out rows; NaN when none is held out."""
        if self.task.n_test == 0:
            return float("nan")
        return float(np.mean((self.test_predictions - self.task.test_targets) ** 2))

    @property
    def test_margins(self) -> Float[np.ndarray, "n *k"]:
        """Return label times output for the held-out rows."""
        return self.task.test_targets * self.test_predictions

    @door(empty=("components",))
    def parts(
        self, components: Int[np.ndarray, "n C"] | None = None
    ) -> dict[tuple[int, ...], Float[np.ndarray, "n *k"]]:
        r"""Decompose the outputs: :math:`f(z) = \sum_S f_S(z_S)` over seen conjunctions.

        Parameters
        ----------
        components : int array, shape (n, C), optional
            Every row of the task by default.

        Returns
        -------
        dict
            For each set S of components the share f_S, 0 where the conjunction was not seen;
            the constant under (). The shares add up to the outputs.

        Notes
        -----
        Lippl & Stachenfeld (ICLR 2025), theorem 4.2 and equation 2.
        """
        rows = self.task.components if components is None else components
        self._require_components(rows)
        shares: dict[Hashable, np.ndarray] = self.limit.parts(self.design.at(rows))
        constant = shares.pop("intercept")
        found: dict[tuple[int, ...], np.ndarray] = {
            set_of(mask): np.zeros_like(constant) for mask in range(len(self.kernel.sigma))
        }
        for label, share in shares.items():
            found[label] = found[label] + share  # type: ignore[index]
        found[()] = found[()] + constant
        whole = tuple(range(self.task.n_components))
        found[whole] = found[whole] + self._memory(rows)
        return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))

    def __repr__(self) -> str:
        """Say how the solve ended, not every array."""
        outcome = self.limit.outcome.name.lower().replace("_", " ")
        return (
            f"TaskLimit({outcome}, cost {self.limit.value:.6g}, gap {self.limit.gap:.1g}, mean "
            f"squared error on {self.task.n_test} held-out rows {self.test_error:.6g})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the task's table with the predictions beside the targets."""
        frame = self.task.to_frame()
        if self.predictions.ndim == 1:
            frame["prediction"] = self.predictions
        else:
            for k in range(self.predictions.shape[1]):
                frame[f"prediction_{k}"] = self.predictions[:, k]
        return frame


@door
def interpolate(
    task: Task, kernel: OverlapKernel, *, intercept: Intercept, ridge: Real = 0.0
) -> TaskLimit:
    r"""Find the minimum-norm interpolant of the training set, or kernel ridge regression.

    In the seen-conjunction form that is

    .. math:: \min_{b, f}\; \sum_i \frac{(y_i - b - \sum_{|S|<C} f_S(z_{i,S}))^2}
              {\sigma_C + \rho / m_i} + \sum_{0<|S|<C} \frac{\|f_S\|^2}{\sigma_S},

    a ridge regression on indicators of seen conjunctions, with m_i repeats of a tuple; no
    n x n matrix is formed (except when a salience is negative, which this form does not allow).

    Parameters
    ----------
    task : Task
        Targets of one or several outputs.
    kernel : OverlapKernel
    intercept : {"free", "none"} or float, keyword-only
        As in `least_cost`. Without one the kernel's own constant, if its similarity for no
        overlap is above 0, still serves as a penalised intercept.
    ridge : float, keyword-only, default 0
        Kernel-ridge penalty :math:`\rho` for each observation.

    Returns
    -------
    TaskLimit

    Raises
    ------
    InputError
        When the kernel has other components than the task, the ridge is negative, a repeated
        tuple has two targets and the ridge is 0, or the kernel is not positive semidefinite on
        the task's grid.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), theorem 4.2; the ridge form is derived here. Repeats of a
    tuple leave the interpolant unchanged.

    Examples
    --------
    >>> from partwhole import features, tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [-2, 2])
    >>> kernel = features.OverlapKernel.from_salience([0.3])
    >>> round(interpolate(task, kernel, intercept="free").test_error, 6)
    2.377143
    """
    require(ridge >= 0, "ridge is a penalty of at least 0", ridge, "use 0 to interpolate")
    distinct = Distinct.of(task)
    require(
        ridge > 0 or distinct.agrees,
        "repeats of a training tuple must have one target to be interpolated",
        f"targets up to {distinct.spread:g} from their mean",
        "average them, or pass a ridge",
    )
    return _solve(task, kernel, distinct, Equal, intercept, ridge)


@door
def max_margin(task: Task, kernel: OverlapKernel, *, intercept: Intercept) -> TaskLimit:
    r"""Find the hard-margin classifier, where gradient descent on logistic loss ends.

    Parameters
    ----------
    task : Task
        With labels -1 and +1.
    kernel : OverlapKernel
    intercept : {"free", "none"} or float, keyword-only
        As in `interpolate`.

    Returns
    -------
    TaskLimit
        Outputs are functional margins: at least 1 in label direction on every training row.

    Raises
    ------
    InputError
        For targets other than -1 and +1, or a tuple with both labels.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), classification tasks.

    Examples
    --------
    >>> from partwhole import features, tasks
    >>> task = tasks.context_dependence(3)
    >>> kernel = features.OverlapKernel.from_salience([0.1, 0.05])
    >>> round(float(max_margin(task, kernel, intercept="free").test_margins.mean()), 6)
    -0.073998
    """
    distinct = Distinct.of(task)
    require(
        task.targets.ndim == 1,
        "max_margin separates two labels of one output",
        f"targets of shape {task.targets.shape}",
        "solve for one label against the rest at a time",
    )
    require(
        distinct.agrees,
        "a training tuple must have one label to be separated",
        "a tuple with both",
        "decide on one, or drop it",
    )
    return _solve(task, kernel, distinct, Margin, intercept, 0.0)


@door
def epsilon_svr(
    task: Task, kernel: OverlapKernel, *, epsilon: Real = 0.1, intercept: Intercept = "free"
) -> TaskLimit:
    """Find the function of least norm within epsilon of the training targets.

    It is what support-vector regression with a very large penalty reaches, and what the
    published regression curves show (they kept the default epsilon of 0.1); for the
    minimum-norm interpolant itself use `interpolate`.

    Parameters
    ----------
    task : Task
    kernel : OverlapKernel
    epsilon : float, keyword-only, default 0.1
        Half the width of the tube.
    intercept : {"free", "none"} or float, keyword-only, default "free"

    Returns
    -------
    TaskLimit

    Examples
    --------
    >>> from partwhole import features, tasks
    >>> task = tasks.dispersed_addition(range(-4, 5), 2, seed=1)
    >>> kernel = features.OverlapKernel.from_salience([0.3])
    >>> round(epsilon_svr(task, kernel).test_error, 2)
    3.94
    """

    distinct = Distinct.of(task)
    require(
        distinct.agrees,
        "repeats of a training tuple must have one target to share a tube",
        f"targets up to {distinct.spread:g} from their mean",
        "average them first",
    )

    def tube(slack: float | np.ndarray) -> Tube:
        return Tube(epsilon, slack)

    return _solve(task, kernel, distinct, tube, intercept, 0.0)


DUAL_LIMIT = 4000


def _solve(
    task: Task,
    kernel: OverlapKernel,
    distinct: Distinct,
    fit: object,
    intercept: Intercept,
    ridge: Real,
) -> TaskLimit:
    require(
        kernel.n_components == task.n_components,
        "the kernel must have as many components as the task",
        f"{kernel.n_components} and {task.n_components}",
        "build the kernel with n_components of the task",
    )
    require_intercept(intercept)
    sigma = np.where(np.abs(kernel.sigma) <= 1e-14 * kernel.range, 0.0, kernel.sigma)
    # A free intercept makes the kernel's own constant idle.
    sigma[0] = 0.0 if intercept == "free" else kernel.sigma[0]
    spectrum = kernel_spectrum(sigma, task.n_values)[int(intercept == "free") :]
    require(
        bool(np.all(sigma >= 0)) or spectrum.min() >= -1e-12 * np.abs(spectrum).max(),
        "a kernel must be positive semidefinite on the task's grid",
        f"a smallest salience of {sigma.min() / kernel.range:g}",
        "lower the saliences of lower orders; if they were measured, pass kernel.nonnegative()",
    )
    negative = bool(np.any(sigma < 0))
    require(
        not negative or len(distinct.components) <= DUAL_LIMIT,
        f"with a negative salience at most {DUAL_LIMIT} distinct training tuples can be solved",
        f"{len(distinct.components)}",
        "pass kernel.nonnegative()",
    )
    if sigma[0] > 0:
        # The kernel's constant is a penalised intercept; beside another one their weights add.
        own = 0.0 if intercept == "none" else 1.0 / float(intercept)
        intercept, sigma[0] = 1.0 / (own + float(sigma[0])), 0.0
    used = np.flatnonzero(sigma[:-1] != 0)
    order = np.argsort(set_sizes(task.n_components)[used], kind="stable")
    sets = [set_of(int(mask)) for mask in used[order]]
    design = ConjunctionDesign.seen(distinct.components, sets, task.n_values)
    cost = Quadratic({chosen: float(sigma[mask_of(chosen)]) for chosen in sets})
    slack: float | np.ndarray = float(sigma[-1])
    if ridge:
        slack = sigma[-1] + ridge / distinct.counts
    limit = least_cost(
        design,
        distinct.targets,
        cost,
        fit(slack),  # type: ignore[operator]
        intercept=intercept,
        solver="dual" if negative else None,
    )
    memorized = float(sigma[-1]) * limit.multipliers
    return TaskLimit(task, kernel, limit, design, memorized, distinct.dictionary)
