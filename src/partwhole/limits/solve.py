"""The main function of the package: from features, cost and fit to the limit of learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast, overload

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._arrays import as_read
from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._types import Bounds, Count, ProperFraction, Real
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.design import DenseDesign, Design, as_design
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.joint import Gates
from partwhole.features.order_kernel import OrderKernel
from partwhole.features.overlap import OverlapKernel
from partwhole.limits.costs import Concave, Cost, GroupNorm, Quadratic
from partwhole.limits.costs.quadratic import require_blocks
from partwhole.limits.fits import Equal, Fit, Margin, Tube
from partwhole.limits.gram import gram_features, kernel_inputs
from partwhole.limits.kernel_machines import of_conjunctions
from partwhole.limits.least_cost import Solver, least_cost
from partwhole.limits.limit import Limit, Rows
from partwhole.limits.many import Limits, limits_of
from partwhole.limits.problem import Intercept, Problem
from partwhole.tasks import Task

Rounding = Annotated[Real, Bounds(at_least=0, at_most=0.1)]
FITS: dict[str, Fit] = {"equal": Equal(), "margin": Margin()}

Inputs = Design | Float[np.ndarray, "n ..."] | Sequence[Any] | None
Data = Task | tuple[Inputs, Float[np.ndarray, "n *k"] | Sequence[Any]]
Similarity = Callable[[Any, Any], Float[np.ndarray, "m n"]]
Learner = OverlapKernel | OrderKernel | Gates | Float[np.ndarray, "n n"] | Similarity
Learners = (
    Sequence[OverlapKernel | OrderKernel | Gates | Float[np.ndarray, "n n"] | Similarity]
    | Float[np.ndarray, "L n n"]
)
Costs = Cost | Concave


@overload
def solve(
    data: Data,
    learner: Learner | None = None,
    *,
    cost: Costs | None = None,
    fit: Fit | str = "equal",
    intercept: Intercept,
    is_train: Bool[np.ndarray, " n"] | None = None,
    solver: Solver | None = None,
    max_steps: Count = 200,
    tolerance: ProperFraction = 1e-12,
    rounding: Rounding = 1e-12,
    start: Float[np.ndarray, "..."] | None = None,
    workers: Count | None = None,
) -> Limit: ...
@overload
def solve(
    data: Data,
    learner: Learners,
    *,
    cost: Costs | None = None,
    fit: Fit | str = "equal",
    intercept: Intercept,
    is_train: Bool[np.ndarray, " n"] | None = None,
    solver: Solver | None = None,
    max_steps: Count = 200,
    tolerance: ProperFraction = 1e-12,
    rounding: Rounding = 1e-12,
    start: Float[np.ndarray, "..."] | None = None,
    workers: Count | None = None,
) -> Limits: ...
@overload
def solve(
    data: Data,
    learner: Learner | None = None,
    *,
    cost: Sequence[Costs],
    fit: Fit | str = "equal",
    intercept: Intercept,
    is_train: Bool[np.ndarray, " n"] | None = None,
    solver: Solver | None = None,
    max_steps: Count = 200,
    tolerance: ProperFraction = 1e-12,
    rounding: Rounding = 1e-12,
    start: Float[np.ndarray, "..."] | None = None,
    workers: Count | None = None,
) -> Limits: ...
@door
def solve(
    data: Any,
    learner: Any = None,
    *,
    cost: Any = None,
    fit: Any = "equal",
    intercept: Intercept,
    is_train: Bool[np.ndarray, " n"] | None = None,
    solver: Solver | None = None,
    max_steps: Count = 200,
    tolerance: ProperFraction = 1e-12,
    rounding: Rounding = 1e-12,
    start: Float[np.ndarray, "..."] | None = None,
    workers: Count | None = None,
) -> Limit | Limits:
    r"""Return the limit of learning: the least-cost function that fits the training set.

    Parameters
    ----------
    data : Task, or a pair of inputs and targets
        Inputs are an array of shape (n, ...), a Design, or None if the learner is a Gram matrix;
        targets have shape (n,) or (n, k), for k outputs.
    learner : kernel, gates or Gram matrix, optional
        The representation of the inputs. For a task, an `OverlapKernel` or `OrderKernel`. For
        arrays, gates (`HalfspaceGates`, `ReLUGates`, `JointGates`). For both any kernel, as a
        callable ``kernel(a, b)`` (of the tuples of a task) that returns the similarities of a's
        rows to b's, shape (m, n); or the similarities of all rows, shape (n, n), such as a
        network's tangent kernel. By default the inputs are the features. A sequence of learners, or
        similarities of shape (L, n, n), adds a first axis, see `Limits`.
    cost : Cost or Concave, keyword-only, optional
        The learner's preference among functions that fit. The default is `Quadratic`, the only
        cost for kernels. For gates it depends on the architecture: `GroupNorm` (default) for a
        gated layer under a linear readout or more linear layers, `Quadratic` where only the gated
        layer is trained, `NuclearNorm` for a gated readout on one linear layer, `SchattenNorm`
        for a gated readout on several, `ChainNorm` for parallel chains. For diagonal networks it
        is `HyperbolicEntropy` or `LinearProbing`. A sequence of costs adds a first axis. Several
        outputs of these norms share their hidden units; under other costs each output has weights
        of its own.
    fit : {"equal", "margin"}, Equal, Margin or Tube, keyword-only, default "equal"
        Interpolation (squared loss), the largest margin (logistic loss), or outputs within a
        width of the targets. The margin of labels -1 and +1 in k columns is that of each label
        against the rest; that of classes, one-hot rows of 0 and 1, is of the right class's output
        over each other one (cross-entropy of a softmax).
        ``Equal(slack=ridge)`` is kernel ridge regression with that penalty
        for each observation; ``Tube(0.1)`` is support-vector regression with a large penalty.
    intercept : {"free", "none"} or float, keyword-only
        A constant of cost zero, no constant, or a constant of cost
        :math:`\tfrac12 \lambda b^2`, given by :math:`\lambda`. An overlap kernel whose similarity
        for no overlap is above 0 contains a penalised intercept, also with "none".
    is_train : bool array, shape (n,), keyword-only, optional
        The training rows of a pair; all by default. A task has its own.
    solver : {"primal", "probing", "touching", "dual"}, keyword-only, optional
        By default the first entry of `least_cost.SOLVERS` that serves the problem.
    max_steps : int, keyword-only, default 200
        Largest number of Newton steps (the primal solver scales its own), or, for a cost that is
        not convex, of rounds of convex costs that touch it.
    tolerance : float, keyword-only, default 1e-12
        Above 0 and below 1, the relative duality gap to reach.
    rounding : float, keyword-only, default 1e-12
        From 0 to 0.1. For Gram matrices and callable kernels: eigenvalues up to this share of the
        largest count as 0. Use 1e-7 for matrices computed in single precision.
    start : float array, shape (p,) or (p, k), or for gates (H, C, d), keyword-only, optional
        For a cost that is not convex, the coefficients at which the first convex cost touches it;
        blocks of 0 stay 0. By default the solution of the convex cost with two layers.
    workers : int, keyword-only, optional
        Number of problems of a sequence to solve at the same time; by default the number of cores
        that this process may use.

    Returns
    -------
    Limit
        With predictions, value, multipliers, duality gap and outcome; infeasibility is an outcome.
    Limits
        For a sequence of learners or costs.

    Raises
    ------
    InputError
        When data, learner, cost and fit do not agree: for a kernel whose components are not the
        task's or whose cost is not quadratic, a kernel that is not positive semidefinite, repeats
        of a training tuple with different targets and no slack, and targets that are not finite
        or, for a margin, neither -1 and +1 nor one-hot.

    Notes
    -----
    Gradient descent on the logistic loss ends at the largest margin (Lyu & Li, ICLR 2020), on the
    squared loss at the least-cost interpolant; each cost states the architecture that it belongs
    to. The theorems guarantee that training ends at a stationary point only; the limit of a
    convex cost is the global one. Kernel machines: Lippl & Stachenfeld (ICLR 2025), theorem 4.2;
    gates: Lippl, Abbott & Chung (2022); diagonal networks: Lippl & Lindsey (NeurIPS 2024).

    Examples
    --------
    >>> from partwhole import features, tasks
    >>> task = tasks.symbolic_addition(range(-4, 5), [-2, 2])
    >>> kernel = features.OverlapKernel.from_salience([0.3])
    >>> round(solve(task, kernel, intercept="free").test_error, 6)
    2.377143
    >>> task = tasks.context_dependence(3)
    >>> kernel = features.OverlapKernel.from_salience([0.1, 0.05])
    >>> limit = solve(task, kernel, fit="margin", intercept="free")
    >>> round(float(limit.test_margins.mean()), 6)
    -0.073998

    Three classes, by the margin of each over the others:

    >>> points = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, -1.0]])
    >>> limit = solve((points, np.eye(3)), fit="margin", intercept="free")
    >>> limit.predict([[0.0, 2.0], [3.0, 0.0]]).argmax(axis=1).tolist(), limit.outcome.name
    ([0, 1], 'SOLVED')

    Gated units, on the exclusive or:

    >>> x = np.array([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0]])
    >>> gates = features.HalfspaceGates(np.array([[[1.0, 0.0, 0.0]]]), np.zeros((1, 1)))
    >>> limit = solve((x, [1, -1, 1, -1]), gates, fit="margin", intercept="none")
    >>> print(limit.describe())
    GroupNorm with the fit Margin of 4 rows in 1 block: value 1.41421, within ... of the least.
    4 of 4 rows have a multiplier; 1 of 1 blocks take part.
    """
    rows = _rows(data, is_train)
    chosen = _fit(fit)
    options: dict[str, Any] = {
        "solver": solver, "max_steps": max_steps, "tolerance": tolerance, "start": start,
    }  # fmt: skip

    def solved(learner: Any, cost: Any) -> Limit:
        return _limit_of(rows, learner, cost, chosen, intercept, rounding, options)

    several = _is_sequence(learner), _is_sequence(cost)
    for one in learner if several[0] else [learner]:
        _require_learner(one)
    rows = _with_numbers(rows, learner[0] if several[0] and len(learner) else learner)
    if any(several):
        learners = list(learner) if several[0] else [learner]
        costs = list(cost) if several[1] else [cost]
        return limits_of(rows, learners, costs, chosen, intercept, solved, workers)
    return solved(learner, cost)


def _require_learner(learner: Any) -> None:
    """Refuse what is no kind of learner."""
    known = learner is None or callable(learner) or hasattr(learner, "design")
    known = known or isinstance(learner, (OverlapKernel, OrderKernel))
    require(
        known or isinstance(learner, (list, tuple)) or np.ndim(cast(Any, learner)) > 0,
        "a learner is an overlap or order kernel, a Gram matrix, gates, a callable k(a, b), or "
        "None for the inputs themselves",
        as_read(learner),
        "pass OverlapKernel.from_salience(...) with a task, say",
    )


def _rows(data: Any, is_train: np.ndarray | None) -> Rows:
    if isinstance(data, Task):
        require(
            is_train is None,
            "a task has its own training rows",
            "a task together with is_train",
            "leave is_train out, or pass dataclasses.replace(task, is_train=...)",
        )
        return Rows(data.components, data.targets, data.is_train, data)
    require(
        isinstance(data, tuple) and len(data) == 2,
        "data is a task or a pair of inputs and targets",
        type(data).__name__ if not isinstance(data, tuple) else f"a tuple of {len(data)}",
        "pass a Task, or (inputs, targets)",
    )
    inputs, targets = data
    return _pair(inputs, targets, is_train)


@door(empty=("targets",), missing=("targets",))
def _pair(
    inputs: Any, targets: Float[np.ndarray, "n *k"], is_train: Bool[np.ndarray, " n"] | None
) -> Rows:
    n = len(targets)
    mask = np.ones(n, dtype=bool) if is_train is None else is_train
    require(
        targets.ndim < 3,
        "targets have one axis, or two for several outputs",
        f"shape {targets.shape}",
        "flatten the outputs of each row",
    )
    require(
        len(mask) == n,
        "is_train has an entry for each target",
        f"{len(mask)} for {n}",
        "mark training rows True",
    )
    require(bool(mask.any()) or n == 0, "some row is trained on", "none", "mark rows True")
    return Rows(inputs, targets, mask)


def _fit(fit: Any) -> Fit:
    if isinstance(fit, (Equal, Margin, Tube)):
        return fit
    require(
        isinstance(fit, str) and fit in FITS,
        'a fit is "equal", "margin", or an Equal, Margin or Tube',
        repr(fit),
        "pass one of them",
    )
    return FITS[fit]


def _is_sequence(value: Any) -> bool:
    """Return whether a value is a sequence of learners or costs; nested numbers are a matrix."""
    if isinstance(value, np.ndarray):
        return value.ndim == 3
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return not value or np.ndim(cast(Any, value[0])) != 1


def _limit_of(
    rows: Rows,
    learner: Any,
    cost: Any,
    fit: Fit,
    intercept: Intercept,
    rounding: Real,
    options: dict[str, Any],
) -> Limit:
    """Return the limit for one learner and one cost."""
    features: Callable[[Any], Design]
    if isinstance(learner, (OverlapKernel, OrderKernel)):
        _require_quadratic(cost)
        task = _task_of(rows, learner)
        problem, solver = of_conjunctions(task, learner, fit, intercept)
        assert isinstance(problem.design, ConjunctionDesign)
        features = _Tuples(problem.design, len(task.names))
        options = options | {"solver": options["solver"] or solver}
    elif learner is None or hasattr(learner, "design"):
        design, features = _training_features(rows, learner)
        if cost is None:
            cost = GroupNorm() if isinstance(learner, Gates) else Quadratic()
        cost = _cost(cost)
        if isinstance(cost, Quadratic):
            require_blocks(cost, design)
        problem = Problem(design, _training_targets(rows), cost, fit, intercept)
        if options["start"] is not None:
            options = options | {"start": _start(options["start"], problem)}
    else:
        _require_quadratic(cost)
        similar = features = gram_features(rows, learner, rounding)
        design = DenseDesign(similar.matrix[rows.is_train])
        problem = Problem(design, _training_targets(rows), Quadratic(), fit, intercept)
    limit = least_cost(problem, **options)
    return replace(limit, rows=rows, features=features)


@dataclass(frozen=True, eq=False)
class _Tuples:
    """Feature map of other tuples of a task, in the columns of its seen conjunctions."""

    design: ConjunctionDesign
    n_components: int

    def __call__(self, components: Any) -> Design:
        n, rows = self.n_components, _components(components)
        rule, remedy = f"tuples are rows of {n} value indices", "number values as task.values does"
        require(rows.shape[1] == n, rule, f"shape {rows.shape}", remedy)
        return self.design.at(rows)


@door(empty=("components",))
def _components(components: Int[np.ndarray, "n C"]) -> Int[np.ndarray, "n C"]:
    return components


def _task_of(rows: Rows, kernel: OverlapKernel | OrderKernel) -> Task:
    if rows.task is None:
        raise InputError(
            f"overlap kernels compare the tuples of a task; got {type(kernel).__name__} beside a "
            "pair of inputs and targets; build a task with tasks.from_frame, or pass a callable"
        )
    return rows.task


def _with_numbers(rows: Rows, learner: Any) -> Rows:
    """Return rows whose inputs are an array of finite numbers, or a design."""
    gram = learner is not None and not callable(learner) and not hasattr(learner, "design")
    if rows.task is not None or gram:
        return rows
    require(
        rows.inputs is not None,
        "targets come with inputs, or with a Gram matrix as learner",
        "no inputs",
        "pass (inputs, targets)",
    )
    if hasattr(rows.inputs, "adjoint"):
        n = rows.inputs.shape[0]
    else:
        convert = _matrix if learner is None else kernel_inputs if callable(learner) else _array
        rows = replace(rows, inputs=convert(rows.inputs))
        n = len(np.atleast_1d(rows.inputs))
    require(
        len(rows.targets) == n,
        "targets must have one row for each row of the inputs",
        f"{len(rows.targets)} for {n} rows",
        "pass both for the same rows",
    )
    return rows


def _training_features(rows: Rows, learner: Any) -> tuple[Design, Callable[[Any], Design]]:
    """Return the features of the training rows, and the feature map for other inputs."""
    require(
        rows.task is None or learner is not None,
        "a task is solved with a kernel",
        "none",
        "pass an OverlapKernel, or (task.one_hot(), task.targets) with is_train=task.is_train",
    )
    if learner is not None:
        return learner.design(rows.inputs[rows.is_train]), learner.design
    if hasattr(rows.inputs, "adjoint") and not isinstance(rows.inputs, DenseDesign):
        require(
            bool(rows.is_train.all()),
            "all rows of a design must be training rows",
            f"{int(np.sum(~rows.is_train))} held-out rows",
            "pass the design of the training rows, and other rows to limit.predict",
        )
        return rows.inputs, as_design
    if isinstance(rows.inputs, DenseDesign):
        matrix, blocks = rows.inputs.matrix, rows.inputs.blocks
    else:
        matrix, blocks = rows.inputs, ()
    training = matrix if rows.is_train.all() else matrix[rows.is_train]
    return DenseDesign(training, blocks), as_design


@door(empty=("inputs",))
def _matrix(inputs: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
    return inputs


@door(empty=("inputs",))
def _array(inputs: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    return inputs


@door(empty=("targets",))
def _finite(targets: Float[np.ndarray, "n *k"]) -> Float[np.ndarray, "n *k"]:
    return targets


def _training_targets(rows: Rows) -> Float[np.ndarray, "n *k"]:
    return _finite(rows.targets[rows.is_train])


def _require_quadratic(cost: Any) -> None:
    require(
        cost is None or (isinstance(cost, Quadratic) and not cost.weights),
        "a kernel is a quadratic cost on its own features",
        repr(cost),
        "leave cost out, or pass the features as inputs",
    )


def _cost(cost: Any) -> Costs:
    if isinstance(cost, type) or not isinstance(cost, Cost | Concave):
        # Printed only in the error: a cost may contain as many numbers as there are features.
        raise InputError(
            f"cost must be an instance of a cost; got {cost!r}; pass one, such as GroupNorm()"
        )
    return cost


def _start(start: Any, problem: Problem) -> Float[np.ndarray, "p *k"]:
    """Return a start as one coefficient for each feature and output."""
    array, design = np.asarray(start, dtype=float), problem.design
    if isinstance(design, GatedDesign):
        outputs = problem.targets.shape[1:]
        shape = (design.n_units, design.n_contexts, design.inputs.shape[1], *outputs)
        flat = (design.shape[1], *outputs)
        require(
            array.shape in (shape, flat),
            f"a start has the shape (units, contexts, inputs{', outputs' if outputs else ''}), "
            f"{shape}",
            array.shape,
            "or leave it out",
        )
        return array.reshape(flat)
    return array
