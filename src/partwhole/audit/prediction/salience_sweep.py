r"""How much more salient may a component be before held-out combinations are answered wrong?

Inputs are one-hot components, component c scaled by its salience :math:`s_c`. Two kernels on them
bound the usual ones: that of one hidden ReLU layer, and the Gaussian kernel
:math:`e^{-|x - x'|^2/2}`, in which whole combinations count more. Both depend on the shared
components S alone; the Gaussian one has the weights

.. math:: \sigma_S = \prod_{c \in S} (1 - e^{-s_c^2}) \prod_{c \notin S} e^{-s_c^2}.

The kernels are Lippl & Stachenfeld's (ICLR 2025, definition 3.1 and proposition 4.1, for inputs of
unequal components); the sweep is derived here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from time import process_time

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.costs import has_time, seconds_to_predict
from partwhole.audit.predicted import SalienceSweep
from partwhole.audit.prediction.scoring import Scorer
from partwhole.audit.reading.columns import listing, near
from partwhole.features import OverlapKernel
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits import Outcome
from partwhole.limits.order_sweep import OrderProblem

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
# Halvings of the interval in which the first error lies.
HALVINGS = 4
# Components whose sets are enumerated; seen conjunctions in any case; comparisons of labels for a
# margin.
MOST_COMPONENTS, MOST_COLUMNS, MOST_COMPARISONS = 10, 600, 400
# More conjunctions of the audit's order, if a learner takes so many seconds at most: of trials for
# each component, and pairs of conjunctions a second, times labels. Fewer labels take as long.
MOST_SECONDS, TRIALS, PAIRS, FEWEST_LABELS = 2.0, len(FACTORS) + 2 * HALVINGS, 2.5e9, 25
ROUNDING = 1e-9
LEAST_SALIENCE = 1e-3

Kernel = Callable[[Sequence[Real], int], OrderKernel]


def network_kernel(saliences: Sequence[Real], order: int, depth: int = 1) -> OrderKernel:
    """Return the kernel of a random ReLU network on components of these saliences.

    Parameters
    ----------
    saliences : sequence of float, length C
    order : int
        K, at which it is cut off.
    depth : int, default 1
        Hidden layers.
    """
    squares = np.square(np.asarray(saliences, dtype=float))
    n = len(squares)
    sigma = np.zeros(2**n)
    sigma[1 << np.arange(n)] = squares / squares.sum()
    inputs = OverlapKernel(n, sigma)
    return OrderKernel.truncate(
        OverlapKernel.random_network("relu", n, depth, inputs=inputs), order
    )


def gaussian_kernel(saliences: Sequence[Real], order: int) -> OrderKernel:
    """Return the Gaussian kernel of unit width on components of these saliences.

    Parameters
    ----------
    saliences : sequence of float, length C
    order : int
        K, at which it is cut off.
    """
    sigma = np.ones(1)
    # Bit c of the mask stands for component c, so later components take the higher half.
    for salience in saliences:
        apart = np.exp(-(float(salience) ** 2))
        sigma = np.concatenate([sigma * apart, sigma * (1.0 - apart)])
    return OrderKernel.truncate(OverlapKernel(len(saliences), sigma), order)


KERNELS: dict[str, Kernel] = {"one hidden ReLU layer": network_kernel, "Gaussian": gaussian_kernel}


def salience_sweep(
    case: Case,
    *,
    base: Sequence[Real] | None = None,
    measured: OrderKernel | None = None,
    deadline: Real = float("inf"),
) -> SalienceSweep | None:
    """Return the accuracies while one component's salience changes and the others' stay.

    Parameters
    ----------
    case : Case
        With held-out combinations.
    base : sequence of float, length C, keyword-only, optional
        The saliences that stay; all 1 by default.
    measured : OrderKernel, keyword-only, optional
        A measured representation, to be placed among the factors.
    deadline : float, keyword-only, default infinity
        By `time.process_time`; what is not computed then is left out.

    Returns
    -------
    SalienceSweep or None
        None for numbers, more than 10 components, many conjunctions of the audit's order (more than
        600, if they take over two seconds), or if time does not suffice at the start. Margins are
        computed for at most 400 comparisons of labels in training.
    """
    n = case.task.n_components
    if not case.has_labels or n > MOST_COMPONENTS or process_time() > deadline:
        return None
    if not has_time(seconds_to_predict(case.task, case.order), deadline):
        return None
    problem = _problem(case)
    if problem is None:
        return None
    if problem.n_columns > MOST_COLUMNS and not has_time(_seconds(problem), deadline):
        return None
    trials = _Trials.of(case, problem, np.ones(n) if base is None else np.asarray(base, float))
    learners, accuracy, since, until = [], [], [], []
    for fit in trials.fits:
        for name, kernel in KERNELS.items():
            if process_time() > deadline:
                break
            curve = trials.curves(kernel, fit)
            limits = [trials.limits(kernel, fit, c, curve[c]) for c in range(n)]
            learners.append((fit, name))
            accuracy.append(curve)
            since.append([low for low, _ in limits])
            until.append([high for _, high in limits])
    if not learners:
        return None
    return SalienceSweep(
        FACTORS,
        tuple(learners),
        np.array(accuracy),
        np.array(since),
        np.array(until),
        trials.ceiling,
        problem.order,
        relative(np.square(trials.base)),
        None if measured is None else _measured_factors(measured),
    )


def _problem(case: Case) -> OrderProblem | None:
    """Return the problem of the highest order with few conjunctions, or of the audit's order."""
    best = None
    for order in range(case.order, case.task.n_components):
        problem = OrderProblem.of(case.task, order)
        if problem.n_columns > MOST_COLUMNS and (best or _seconds(problem) > MOST_SECONDS):
            break
        best = problem
    return best


def _seconds(problem: OrderProblem) -> float:
    """Return about how many seconds a learner takes."""
    n_outputs = 1 if problem.task.targets.ndim == 1 else problem.task.targets.shape[1]
    trials = problem.task.n_components * TRIALS
    return trials * problem.n_columns**2 * (n_outputs + FEWEST_LABELS) / PAIRS


def _measured_factors(kernel: OrderKernel) -> Float[np.ndarray, " C"]:
    """Return the salience of each component relative to the mean square of the others'."""
    return relative(
        np.array([max(kernel.weights.get((c,), 0.0), 0.0) for c in range(kernel.n_components)])
    )


def relative(squares: Float[np.ndarray, " C"]) -> Float[np.ndarray, " C"]:
    """Return saliences relative to those of the other components, root mean square."""
    others = (squares.sum() - squares) / (len(squares) - 1)
    return np.sqrt(np.divide(squares, others, out=np.full(len(squares), np.inf), where=others > 0))


class _Trials:
    """Accuracies at given saliences."""

    def __init__(
        self,
        case: Case,
        problem: OrderProblem,
        classes: OrderProblem | None,
        base: Float[np.ndarray, " C"],
    ):
        self.problem, self.classes, self.base = problem, classes, base
        self.scorer = Scorer(case)
        self.ceiling = self.scorer.ceiling
        self.n = case.task.n_components

    @classmethod
    def of(cls, case: Case, problem: OrderProblem, base: Float[np.ndarray, " C"]) -> _Trials:
        """Return the trials, with margins if training has few rows and a label for each."""
        labels, label, task = case.table.labels, case.label, case.task
        assert labels is not None
        assert label is not None
        n_others = len(labels) - 1
        few = task.n_train * n_others <= MOST_COMPARISONS
        if not few or not np.all(label[task.is_train] >= 0):
            return cls(case, problem, None, base)
        signs = np.where(label > 0, 1.0, -1.0) if n_others == 1 else np.eye(n_others + 1)[label]
        classes = replace(problem, task=replace(task, targets=signs))
        return cls(case, problem, classes, base)

    @property
    def fits(self) -> tuple[str, ...]:
        return ("least squares",) if self.classes is None else ("least squares", "largest margin")

    def at(self, component: int, factor: float) -> Float[np.ndarray, " C"]:
        saliences = self.base.copy()
        saliences[component] *= factor
        return saliences

    def accuracies(self, kernels: Sequence[OrderKernel], fit: str) -> Float[np.ndarray, " B"]:
        """Return the accuracy by rows of each kernel, NaN where it was not computed."""
        if fit == "least squares":
            sweep = self.problem.sweep(kernels)
            outputs = [
                out if done else None
                for out, done in zip(sweep.outputs, sweep.converged, strict=True)
            ]
        else:
            outputs = []
            for kernel in kernels:
                assert self.classes is not None
                limit, out = self.classes.margin(kernel)
                outputs.append(out if limit.outcome is Outcome.SOLVED else None)
        nan = float("nan")
        return np.array([nan if o is None else self.scorer.accuracies(o)[0] for o in outputs])

    def curves(self, kernel: Kernel, fit: str) -> Float[np.ndarray, "C m"]:
        """Return the accuracies over the factors of each component.

        Margins, which take longer, are computed from 1 on to the first factor with an error.
        """

        def at(component: int, factors: Sequence[float]) -> Float[np.ndarray, " B"]:
            order = self.problem.order
            kernels = [kernel(self.at(component, factor).tolist(), order) for factor in factors]
            return self.accuracies(kernels, fit)

        if fit == "least squares":
            return np.array([at(c, FACTORS) for c in range(self.n)])
        unchanged = FACTORS.index(1.0)
        curves = np.full((self.n, len(FACTORS)), np.nan)
        # Without a change it does not matter of which component.
        curves[:, unchanged] = at(0, [1.0])[0]
        if not self.is_right(curves[0, unchanged]):
            return curves
        for c in range(self.n):
            for side in (range(unchanged - 1, -1, -1), range(unchanged + 1, len(FACTORS))):
                for i in side:
                    curves[c, i] = at(c, [FACTORS[i]])[0]
                    if not self.is_right(curves[c, i]):
                        break
        return curves

    def is_right(self, accuracy: float) -> bool:
        return bool(accuracy >= self.ceiling - ROUNDING)

    def limits(
        self, kernel: Kernel, fit: str, component: int, curve: Float[np.ndarray, " m"]
    ) -> tuple[float, float]:
        """Return the factors between which all rows are right; NaN if some are wrong at 1."""
        unchanged = FACTORS.index(1.0)
        if not self.is_right(curve[unchanged]):
            return float("nan"), float("nan")
        ends = []
        for step, last in ((-1, -1), (1, len(FACTORS))):
            i = unchanged
            while i + step != last and self.is_right(curve[i + step]):
                i += step
            if i + step == last:
                ends.append(0.0 if step < 0 else float("inf"))
                continue
            right, wrong = FACTORS[i], FACTORS[i + step]
            for _ in range(HALVINGS):
                middle = float(np.sqrt(right * wrong))
                (accuracy,) = self.accuracies(
                    [kernel(self.at(component, middle).tolist(), self.problem.order)], fit
                )
                right, wrong = (middle, wrong) if self.is_right(accuracy) else (right, middle)
            ends.append(right)
        return ends[0], ends[1]


def saliences_of(salience: Mapping[Hashable, Real], names: Sequence[str]) -> list[float]:
    """Return the salience of each component."""
    require(
        len(names) <= MOST_COMPONENTS,
        f"saliences are for at most {MOST_COMPONENTS} components",
        len(names),
        "name fewer components, or leave salience out",
    )
    for name, value in salience.items():
        require(
            str(name) in names,
            "saliences are of components",
            f"{str(name)!r}, components are {listing(list(names))}",
            near(str(name), list(names), "name one of them"),
        )
        require(
            LEAST_SALIENCE <= value <= 1.0 / LEAST_SALIENCE,
            "a salience is a number from 0.001 to 1,000",
            f"{value!r} for {str(name)!r}",
            "pass 1 for one that is as salient as others",
        )
    by_name = {str(name): float(value) for name, value in salience.items()}
    return [by_name.get(name, 1.0) for name in names]
