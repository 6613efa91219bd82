r"""Many kernels of few orders on one task: what depends on the task alone is computed once.

With weights :math:`\sigma_S` of conjunctions S of at most K components, memory m and a kernel
ridge :math:`\rho_i`, the minimum-norm interpolant is the ridge regression

.. math:: \min_{b, c}\; \sum_i \frac{(y_i - b - (A c)_i)^2}{m + \rho_i} + \sum_j \frac{c_j^2}{w_j}

on the indicators A of seen conjunctions. Up to 1,500 of them, the table of how often two
conjunctions meet serves every kernel: it is scaled, factored, and the solution refined on the
rows; with many outputs, up to 6,000. Beyond that, conjugate gradients start from the kernel
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from time import monotonic

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary, conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.costs import Quadratic
from partwhole.limits.fits import Margin
from partwhole.limits.least_cost import least_cost
from partwhole.limits.limit import Limit
from partwhole.limits.problem import Problem
from partwhole.limits.solvers.shared_table import IDLE, SharedSolution, SharedTable
from partwhole.limits.solvers.sparse_primal import COARSE_COLUMNS, solve_ridge
from partwhole.tasks import Task

# Stands for no memory where conjugate gradients solve.
TINY_MEMORY = 1e-9
# A factored table serves all outputs at once; conjugate gradients take them one after another, and
# cost as much from about so many columns for each output.
DIRECT_COLUMNS, COLUMNS_PER_OUTPUT = 6000, 64


@dataclass(frozen=True, eq=False)
class OrderSweep:
    """Hold the held-out outputs of many kernels.

    Parameters
    ----------
    outputs : float array, shape (B, h) or (B, h, k)
        For the h held-out rows, in their order.
    converged : bool array, shape (B,)
        Whether each solution reached the tolerance, or rounding.
    error : float array, shape (B,)
        Estimated largest error of any output, in the targets' unit; infinite where the deadline
        left some output without any step.
    """

    outputs: Float[np.ndarray, "B h *k"]
    converged: Bool[np.ndarray, " B"]
    error: Float[np.ndarray, " B"]


@dataclass(frozen=True, eq=False)
class OrderProblem:
    """Hold a task's seen conjunctions of at most K components.

    Parameters
    ----------
    task : Task
        Its training rows are distinct.
    order : int
        K, at least 0.
    design : ConjunctionDesign
        Training rows, a block for each set of 1..K components.
    held_out : ConjunctionDesign
        Held-out rows in the same columns.

    Examples
    --------
    >>> from partwhole import tasks
    >>> problem = OrderProblem.of(tasks.symbolic_addition(range(-4, 5), [0]), 1)
    >>> problem.n_columns
    18
    """

    task: Task
    order: int
    design: ConjunctionDesign
    held_out: ConjunctionDesign

    @classmethod
    def of(cls, task: Task, order: int) -> OrderProblem:
        """Collect the seen conjunctions.

        Parameters
        ----------
        task : Task
        order : int

        Returns
        -------
        OrderProblem

        Raises
        ------
        InputError
            When a training row is repeated.
        """
        train = task.train_components
        whole, _ = Dictionary.of(train, tuple(range(task.n_components)), task.n_values)
        require(
            whole.size == len(train),
            "an order sweep takes distinct training rows",
            f"{len(train) - whole.size} repeated ones",
            "merge them, with the mean of their targets",
        )
        sets = conjunction_sets(task.n_components, order)[1:]
        design = ConjunctionDesign.seen(train, sets, task.n_values)
        return cls(task, order, design, design.at(task.test_components))

    @property
    def n_columns(self) -> int:
        """Return p, the number of seen conjunctions."""
        return self.design.shape[1]

    def margin(self, kernel: OrderKernel) -> tuple[Limit, Float[np.ndarray, " h"]]:
        """Find the hard-margin classifier of two labels, with a free intercept.

        Parameters
        ----------
        kernel : OrderKernel

        Returns
        -------
        Limit
            Infeasible where a kernel without memory separates nothing.
        float array, shape (h,)
            Outputs for the held-out rows.

        Notes
        -----
        Equal to that of the overlap kernel that has the memory on the full conjunction; here no
        other sets than those of 1..K components are listed.
        """
        sets = [chosen for chosen, share in kernel.weights.items() if share > 0]
        sets.sort(key=lambda chosen: (len(chosen), chosen))
        rows, n_values = self.task.train_components, self.task.n_values
        design = ConjunctionDesign.seen(rows, sets, n_values)
        cost = Quadratic({chosen: float(kernel.weights[chosen]) for chosen in sets})
        fit = Margin(float(kernel.memory))
        limit = least_cost(Problem(design, self.task.train_targets, cost, fit, "free"))
        return limit, limit.predict(design.at(self.task.test_components))

    def sweep(
        self,
        kernels: Sequence[OrderKernel],
        *,
        ridge: Real | Float[np.ndarray, " n"] = 0.0,
        tolerance: float = 1e-9,
        deadline: float = float("inf"),
    ) -> OrderSweep:
        r"""Find the minimum-norm interpolant with a free intercept for each of many kernels.

        Parameters
        ----------
        kernels : sequence of OrderKernel
            All of one order.
        ridge : float or float array, shape (n,), keyword-only, default 0
            Kernel-ridge penalty, in units in which a kernel's weights and memory add up to 1: one
            for all training rows, or one for each (the penalty of one observation divided by how
            many a row stands for).
        tolerance : float, keyword-only, default 1e-9
            Largest error of an output, in units of the targets' root mean square about their mean.
        deadline : float, keyword-only, default infinity
            By `time.monotonic`. After the first kernel another is begun only where there is time
            for one as long as the longest; those left have not converged, and their outputs are
            NaN.

        Returns
        -------
        OrderSweep

        Raises
        ------
        InputError
            When kernels differ in order or do not fit the task, or the ridge is negative.

        Notes
        -----
        Lippl & Stachenfeld (ICLR 2025), theorem 4.2; the ridge form is derived here. Without
        memory and ridge it is the limit from above: of the least-squares fits that of least norm.
        Beyond 1,500 seen conjunctions a memory of 1e-9 stands for that limit, which leaves about
        six digits. With nothing but memory the output is the mean of the training targets.
        """
        task = self.task
        require(len(kernels) > 0, "a sweep takes at least one kernel", "none", "pass kernels")
        for kernel in kernels:
            require(
                kernel.n_components == task.n_components and kernel.order == self.order,
                f"kernels of this sweep have {task.n_components} components and order {self.order}",
                f"{kernel.n_components} and {kernel.order}",
                "build them alike",
            )
        per_row = np.asarray(ridge, dtype=float)
        require(
            per_row.shape in ((), (task.n_train,))
            and bool(np.all(per_row > 0) or np.all(per_row == 0)),
            "a ridge is one penalty for all training rows or one for each, all above 0 or all 0",
            f"shape {per_row.shape}, smallest {per_row.min(initial=np.inf):g}",
            "use 0 to interpolate",
        )
        shape = task.targets.shape[1:]
        direct, iterative = _Direct(self), _Iterative(self)
        outputs = np.full((len(kernels), task.n_test, *shape), np.nan)
        converged = np.zeros(len(kernels), dtype=bool)
        error = np.full(len(kernels), np.inf)
        longest = 0.0
        for i, kernel in enumerate(kernels):
            start = monotonic()
            if i and start + longest > deadline:
                break
            if self._is_direct(kernel, per_row):
                solution = direct.solve(kernel, per_row, tolerance)
            else:
                solution = iterative.solve(kernel, per_row, tolerance, deadline)
            longest = max(longest, monotonic() - start)
            held_out = self.held_out @ solution.coefficients + solution.intercept
            outputs[i] = held_out.reshape(task.n_test, *shape)
            converged[i], error[i] = solution.converged, solution.error
        return OrderSweep(outputs, converged, error)

    def _is_direct(self, kernel: OrderKernel, ridge: np.ndarray) -> bool:
        """Return whether a factored table is the quicker way, or the more exact one."""
        p = self.n_columns
        if p <= COARSE_COLUMNS:
            return True
        # Without slack a table takes an eigendecomposition, which is slow.
        trace = self.task.n_train * sum(kernel.weights.values())
        slack = float(np.min(kernel.memory + ridge))
        many = COLUMNS_PER_OUTPUT * self._targets.shape[1] >= p
        return p <= DIRECT_COLUMNS and many and slack > IDLE * trace

    @property
    def _targets(self) -> np.ndarray:
        return self.task.train_targets.reshape(self.task.n_train, -1)

    @cached_property
    def _sizes(self) -> list[int]:
        return [dictionary.size for dictionary in self.design.dictionaries]

    def _weights(self, kernel: OrderKernel) -> list[float]:
        return [float(kernel.weights.get(d.components, 0.0)) for d in self.design.dictionaries]


class _Direct:
    """Solve every kernel from one table, made anew when the rows' relative slack changes."""

    def __init__(self, problem: OrderProblem):
        self.problem = problem
        self.table: SharedTable | None = None

    def solve(self, kernel: OrderKernel, ridge: np.ndarray, tolerance: float) -> SharedSolution:
        problem, n = self.problem, self.problem.task.n_train
        slack = np.broadcast_to(kernel.memory + ridge, n)
        # Equal slack drops out of the rows' weights, also where it is 0.
        alike = bool(np.all(slack == slack[0]))
        s0 = float(slack[0]) if alike else float(1 / np.mean(1 / slack))
        relative = np.ones(n) if alike else s0 / slack
        if self.table is None or not np.array_equal(self.table.relative, relative):
            index = problem.design.index
            self.table = SharedTable(index, problem._sizes, problem._targets, relative)
        return self.table.solve(problem._weights(kernel), s0, tolerance)


class _Iterative:
    """Solve each kernel by conjugate gradients from the one before."""

    def __init__(self, problem: OrderProblem):
        self.problem, self.y = problem, problem._targets
        self.start: np.ndarray | None = None

    def solve(
        self, kernel: OrderKernel, ridge: np.ndarray, tolerance: float, deadline: float
    ) -> SharedSolution:
        problem, sizes = self.problem, self.problem._sizes
        weights = problem._weights(kernel)
        used = [i for i, weight in enumerate(weights) if weight > 0]
        columns = np.repeat(np.array(weights) > 0, sizes)
        least = float(np.min(kernel.memory + ridge))
        slack = kernel.memory + ridge + (TINY_MEMORY if least < TINY_MEMORY else 0.0)
        # What a start holds along directions that no row sees would not leave without slack.
        begin = self.start[columns] if self.start is not None and least > TINY_MEMORY else None
        found = solve_ridge(
            [problem.design.index[i] for i in used],
            [sizes[i] for i in used],
            [weights[i] for i in used],
            self.y,
            float(slack) if slack.ndim == 0 else slack,
            tolerance=tolerance,
            deadline=deadline,
            start=begin,
        )
        self.start = np.zeros((problem.n_columns, self.y.shape[1]))
        self.start[columns] = found.coefficients
        intercept = np.atleast_1d(found.intercept)
        return SharedSolution(self.start, intercept, found.converged, found.error)
