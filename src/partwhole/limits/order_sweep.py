r"""Interpolation with many kernels of low order on one task, whose shared parts are computed once.

With weights :math:`\sigma_S` of conjunctions S of at most K components, memory m and a kernel
ridge :math:`\rho_i`, the minimum-norm interpolant is the ridge regression

.. math:: \min_{b, c}\; \sum_i \frac{(y_i - b - (A c)_i)^2}{m + \rho_i} + \sum_j \frac{c_j^2}{w_j}

on the indicators A of seen conjunctions. For up to 1,500 conjunctions (6,000 with many outputs) a
table of how often two conjunctions occur together is shared by all kernels: for each kernel it is
scaled and factored, and the solution is refined on the rows. For more conjunctions, conjugate
gradients start from the solution of the kernel before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from time import process_time

import numpy as np
from jaxtyping import Bool, Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary, conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.fits import Margin
from partwhole.limits.kernel_machines import of_conjunctions
from partwhole.limits.least_cost import least_cost
from partwhole.limits.limit import Limit
from partwhole.limits.solvers.shared_table import IDLE, SharedSolution, SharedTable
from partwhole.limits.solvers.sparse_primal import COARSE_COLUMNS, solve_ridge
from partwhole.tasks import Task

# Conjugate gradients need some memory; this replaces a memory of 0.
TINY_MEMORY = 1e-9
# A factored table solves all outputs at once, conjugate gradients one after another. The second is
# as fast from about 64 columns for each output.
DIRECT_COLUMNS, COLUMNS_PER_OUTPUT = 6000, 64


@dataclass(frozen=True, eq=False)
class OrderSweep:
    """Outputs of many kernels for the held-out rows.

    Parameters
    ----------
    outputs : float array, shape (B, h) or (B, h, k)
        Outputs for the h held-out rows, in their order.
    converged : bool array, shape (B,)
        Whether each solution reached the tolerance, or rounding.
    error : float array, shape (B,)
        Estimated largest error of any output, in the targets' unit; infinite if the deadline
        passed before the first step of an output.
    """

    outputs: Float[np.ndarray, "B h *k"]
    converged: Bool[np.ndarray, " B"]
    error: Float[np.ndarray, " B"]


@dataclass(frozen=True, eq=False)
class OrderProblem:
    """Seen conjunctions of at most K components of a task.

    Parameters
    ----------
    task : Task
        A task with distinct training rows.
    order : int
        K, at least 0.
    design : ConjunctionDesign
        Indicators of the training rows, with a block for each set of 1..K components.
    held_out : ConjunctionDesign
        Indicators of the held-out rows, in the same columns.

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
        """Return the problem with the seen conjunctions of a task.

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

    def margin(self, kernel: OrderKernel) -> tuple[Limit, Float[np.ndarray, "h *k"]]:
        """Return the hard-margin classifier of labels -1 and +1 or classes, with a free intercept.

        Parameters
        ----------
        kernel : OrderKernel

        Returns
        -------
        Limit
            Infeasible where a kernel without memory does not separate the labels.
        float array, shape (h,) or (h, k)
            Outputs for the held-out rows.

        Notes
        -----
        Equal to that of the overlap kernel with the memory as salience of the full conjunction;
        here only the sets of 1..K components and the full one are enumerated.
        """
        problem, _ = of_conjunctions(self.task, kernel, Margin(), "free")
        assert isinstance(problem.design, ConjunctionDesign)
        limit = least_cost(problem)
        return limit, limit.predict(problem.design.at(self.task.test_components))

    def sweep(
        self,
        kernels: Sequence[OrderKernel],
        *,
        ridge: Real | Float[np.ndarray, " n"] = 0.0,
        tolerance: float = 1e-9,
        deadline: float = float("inf"),
    ) -> OrderSweep:
        r"""Return the minimum-norm interpolants of many kernels, with a free intercept.

        Parameters
        ----------
        kernels : sequence of OrderKernel
            Kernels of one order.
        ridge : float or float array, shape (n,), keyword-only, default 0
            Kernel-ridge penalty, in units in which a kernel's weights and memory sum to 1: one
            for all training rows, or one for each (the penalty of one observation divided by the
            number of observations that the row represents).
        tolerance : float, keyword-only, default 1e-9
            Largest error of an output, in units of the targets' root mean square about their mean.
        deadline : float, keyword-only, default infinity
            Time at which to stop, by `time.process_time`. After the first kernel another one is
            started only if there is time for the slowest so far. The remaining kernels have not
            converged, and their outputs are NaN.

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
        memory and ridge it is the limit of small memory: the least-squares fit of least norm. For
        more than 1,500 seen conjunctions a memory of 1e-9 replaces that limit, with about six
        correct digits. If only the memory is salient, the output is the mean of the training
        targets.
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
            start = process_time()
            if i and start + longest > deadline:
                break
            if self._is_direct(kernel, per_row):
                solution = direct.solve(kernel, per_row, tolerance)
            else:
                solution = iterative.solve(kernel, per_row, tolerance, deadline)
            longest = max(longest, process_time() - start)
            held_out = self.held_out @ solution.coefficients + solution.intercept
            outputs[i] = held_out.reshape(task.n_test, *shape)
            converged[i], error[i] = solution.converged, solution.error
        return OrderSweep(outputs, converged, error)

    def _is_direct(self, kernel: OrderKernel, ridge: np.ndarray) -> bool:
        """Return whether to solve by a factored table, because it is faster or more accurate."""
        p = self.n_columns
        if p <= COARSE_COLUMNS:
            return True
        # With very little slack the table needs an eigendecomposition, which is slow.
        trace = self.task.n_train * sum(kernel.weights.values())
        slack = float(np.min(kernel.memory + ridge))
        many_outputs = COLUMNS_PER_OUTPUT * self._targets.shape[1] >= p
        return p <= DIRECT_COLUMNS and many_outputs and slack > IDLE * trace

    @property
    def _targets(self) -> np.ndarray:
        return self.task.train_targets.reshape(self.task.n_train, -1)

    @cached_property
    def _sizes(self) -> list[int]:
        return [dictionary.size for dictionary in self.design.dictionaries]

    def _weights(self, kernel: OrderKernel) -> list[float]:
        return [float(kernel.weights.get(d.components, 0.0)) for d in self.design.dictionaries]


class _Direct:
    """Solver of all kernels by one table, recomputed if the relative slack of rows changes."""

    def __init__(self, problem: OrderProblem):
        self.problem = problem
        self.table: SharedTable | None = None

    def solve(self, kernel: OrderKernel, ridge: np.ndarray, tolerance: float) -> SharedSolution:
        problem, n = self.problem, self.problem.task.n_train
        slack = np.broadcast_to(kernel.memory + ridge, n)
        # With equal slack all rows have the same weight, even if the slack is 0.
        equal_slack = bool(np.all(slack == slack[0]))
        s0 = float(slack[0]) if equal_slack else float(1 / np.mean(1 / slack))
        relative = np.ones(n) if equal_slack else s0 / slack
        if self.table is None or not np.array_equal(self.table.relative, relative):
            index = problem.design.index
            self.table = SharedTable(index, problem._sizes, problem._targets, relative)
        return self.table.solve(problem._weights(kernel), s0, tolerance)


class _Iterative:
    """Solver by conjugate gradients, which start from the solution of the kernel before."""

    def __init__(self, problem: OrderProblem):
        self.problem, self.y = problem, problem._targets
        self.start: np.ndarray | None = None

    def solve(
        self, kernel: OrderKernel, ridge: np.ndarray, tolerance: float, deadline: float
    ) -> SharedSolution:
        problem, sizes = self.problem, self.problem._sizes
        weights = problem._weights(kernel)
        positive = [i for i, weight in enumerate(weights) if weight > 0]
        columns = np.repeat(np.array(weights) > 0, sizes)
        least = float(np.min(kernel.memory + ridge))
        slack = kernel.memory + ridge + (TINY_MEMORY if least < TINY_MEMORY else 0.0)
        # Without slack, the part of a start in null directions of the rows would never decay.
        start = self.start[columns] if self.start is not None and least > TINY_MEMORY else None
        solution = solve_ridge(
            [problem.design.index[i] for i in positive],
            [sizes[i] for i in positive],
            [weights[i] for i in positive],
            self.y,
            float(slack) if slack.ndim == 0 else slack,
            tolerance=tolerance,
            deadline=deadline,
            start=start,
        )
        self.start = np.zeros((problem.n_columns, self.y.shape[1]))
        self.start[columns] = solution.coefficients
        intercept = np.atleast_1d(solution.intercept)
        return SharedSolution(self.start, intercept, solution.converged, solution.error)
