r"""Overlap kernels as features: the weighted indicators of conjunctions.

An overlap kernel has an explicit feature map, so a kernel machine minimises a quadratic cost on
the indicators of the conjunctions that were seen:

.. math:: \min_{b, f}\; \tfrac12 \sum_{S \ne \emptyset} \frac{\|f_S\|^2}{\sigma_S}
          \quad\text{such that}\quad b + \sum_S f_S(z_{i,S}) \quad\text{fits}\quad y_i,

and no n x n matrix is formed. (With a negative salience this form does not apply, and the dual is
solved.)
Lippl & Stachenfeld (ICLR 2025), theorem 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary
from partwhole.features.order_kernel import OrderKernel
from partwhole.features.overlap import OverlapKernel
from partwhole.features.subsets import kernel_spectrum, set_of
from partwhole.limits.costs import Quadratic
from partwhole.limits.fits import Equal, Fit
from partwhole.limits.problem import Intercept, Problem, require_intercept
from partwhole.tasks import Task

DUAL_LIMIT = 4000


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct training tuples of a task.

    Parameters
    ----------
    components : int array, shape (d, C)
    targets : float array, shape (d,) or (d, k)
        The mean over repeats, weighted by the inverse of their slack if they have any.
    slack : float or float array, shape (d,)
        Slack of the means, :math:`1 / \\sum_i 1 / s_i`.
    spread : float
        Largest difference between repeats of one tuple.
    dictionary : Dictionary
        The full conjunctions that were seen.
    """

    components: Int[np.ndarray, "d C"]
    targets: Float[np.ndarray, "d *k"]
    slack: Real | Float[np.ndarray, " d"]
    spread: float
    dictionary: Dictionary

    @property
    def agrees(self) -> bool:
        """Return whether all repeats of a tuple have the same target, up to rounding."""
        rounding = 8.0 * float(np.finfo(float).eps) * float(np.abs(self.targets).max())
        return self.spread <= rounding

    @classmethod
    def of(cls, task: Task, slack: Real | Float[np.ndarray, " n"] = 0.0) -> Distinct:
        """Return the distinct training tuples, with repeats merged."""
        rows, targets = task.train_components, task.train_targets
        full = tuple(range(task.n_components))
        dictionary, index = Dictionary.of(rows, full, task.n_values)
        size = dictionary.size
        if size == len(rows):
            order = np.empty(size, dtype=np.int64)
            order[index] = np.arange(size)
            sorted_slack = slack if np.ndim(slack) == 0 else np.asarray(slack)[order]
            return cls(rows[order], targets[order], sorted_slack, 0.0, dictionary)
        counts = np.bincount(index, minlength=size)
        if np.ndim(slack) == 0:
            weights, merged = np.ones(len(rows)), slack / counts
        else:
            inverse = 1.0 / np.asarray(slack)
            merged = 1.0 / np.bincount(index, weights=inverse, minlength=size)
            weights = inverse
        total = np.bincount(index, weights=weights, minlength=size)
        means = np.zeros((size, *targets.shape[1:]))
        np.add.at(means, index, (targets.T * weights).T)
        means = (means.T / total).T
        spread = float(np.abs(targets - means[index]).max())
        return cls(dictionary.values(), means, merged, spread, dictionary)


def of_conjunctions(
    task: Task, kernel: OverlapKernel | OrderKernel, fit: Fit, intercept: Intercept
) -> tuple[Problem, str | None]:
    """Return the least-cost problem of a kernel machine, in the conjunctions of a task.

    Returns
    -------
    Problem
        With the distinct training tuples as rows and a block for each set of components.
    str or None
        The solver, if the problem needs a particular one.
    """
    require(
        kernel.n_components == task.n_components,
        "the kernel must have as many components as the task",
        f"{kernel.n_components} and {task.n_components}",
        "build the kernel with n_components of the task",
    )
    require_intercept(intercept)
    _require_slack(task, fit)
    distinct = Distinct.of(task, fit.slack)
    soft = isinstance(fit, Equal) and bool(np.all(np.asarray(fit.slack) > 0))
    require(
        soft or distinct.agrees,
        "repeats of a training tuple must have one target, unless the fit is Equal with slack",
        f"targets up to {distinct.spread:g} from their mean",
        "average them, or pass fit=Equal(slack), a ridge",
    )
    weights, intercept = _weights(task, kernel, intercept)
    negative = any(weight < 0 for weight in weights.values())
    require(
        not negative or len(distinct.components) <= DUAL_LIMIT,
        f"with a negative salience at most {DUAL_LIMIT} distinct training tuples can be solved",
        f"{len(distinct.components)}",
        "pass kernel.nonnegative()",
    )
    sets = sorted(weights, key=lambda chosen: (len(chosen), chosen))
    design = ConjunctionDesign.seen(distinct.components, sets, task.n_values)
    problem = Problem(
        design,
        distinct.targets,
        Quadratic({chosen: weights[chosen] for chosen in sets}),
        replace(fit, slack=distinct.slack),
        intercept,
    )
    return problem, "dual" if negative else None


def _require_slack(task: Task, fit: Fit) -> None:
    """Refuse slack that is not one number or one for each training row."""
    slack = np.asarray(fit.slack)
    n = task.n_train
    require(
        slack.ndim == 0 or (slack.shape == (n,) and bool(np.all(slack > 0) or np.all(slack == 0))),
        f"slack is one number, or one for each of the {n} training rows, all above 0 or all 0",
        f"shape {slack.shape}, smallest {slack.min(initial=np.inf):g}",
        "pass a number",
    )


def _weights(
    task: Task, kernel: OverlapKernel | OrderKernel, intercept: Intercept
) -> tuple[dict[tuple[int, ...], float], Intercept]:
    """Return the weight of each set of components, and the intercept with the kernel's constant."""
    full = tuple(range(task.n_components))
    if isinstance(kernel, OrderKernel):
        weights = {chosen: float(share) for chosen, share in kernel.weights.items() if share > 0}
        if kernel.memory > 0:
            weights[full] = float(kernel.memory)
        return weights, intercept
    sigma = np.where(np.abs(kernel.sigma) <= 1e-14 * kernel.range, 0.0, kernel.sigma)
    # Beside a free intercept the kernel's constant has no effect.
    sigma[0] = 0.0 if intercept == "free" else kernel.sigma[0]
    spectrum = kernel_spectrum(sigma, task.n_values)[int(intercept == "free") :]
    require(
        bool(np.all(sigma >= 0)) or spectrum.min() >= -1e-12 * np.abs(spectrum).max(),
        "a kernel must be positive semidefinite on the task's grid",
        f"a smallest salience of {sigma.min() / kernel.range:g}",
        "lower the saliences of lower orders; if they were measured, pass kernel.nonnegative()",
    )
    if sigma[0] > 0:
        # The kernel's constant is a penalised intercept. Its weight, the inverse penalty, is added
        # to that of a penalised intercept.
        inverse = 0.0 if intercept == "none" else 1.0 / float(intercept)
        intercept, sigma[0] = 1.0 / (inverse + float(sigma[0])), 0.0
    nonzero = np.flatnonzero(sigma != 0)
    return {set_of(int(mask)): float(sigma[mask]) for mask in nonzero}, intercept
