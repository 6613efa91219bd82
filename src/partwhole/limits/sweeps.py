r"""Many kernels on one task at once: phase diagrams and curves in milliseconds.

Exchangeable tuples of a task have the same multiplier for any saliences, so the dual reduces to
one variable for each *cell* of exchangeable tuples. Cells are the coarsest partition in which all
tuples of a cell have, for every overlap set, the same number of tuples with the same and with the
opposite label in every cell (an equitable partition of the signed overlap structure). Averaging
the multipliers over cells keeps them feasible and never lowers the dual, which is concave, so the
reduction is exact; derived here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Real
from partwhole.features.order_kernel import OrderKernel
from partwhole.features.overlap import OverlapKernel, OverlapKernels
from partwhole.features.subsets import kernel_spectrum, overlap_sets, zeta
from partwhole.limits.fits import Equal, Fit, Margin, OneSided
from partwhole.limits.kernel_machines import Distinct
from partwhole.limits.order_sweep import OrderProblem
from partwhole.limits.problem import Intercept
from partwhole.limits.solvers.active_set import solve_one_sided
from partwhole.limits.solvers.dual_newton import Border
from partwhole.tasks import Task

CELL_LIMIT = 4000


def equitable_cells(colours: Int[np.ndarray, "n n"]) -> Int[np.ndarray, " n"]:
    """Return the coarsest equitable partition of a graph with coloured edges.

    Parameters
    ----------
    colours : int array, shape (n, n)
        The colour of each ordered pair.

    Returns
    -------
    int array, shape (n,)
        The cell of each vertex, numbered from 0.

    Examples
    --------
    >>> path = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> equitable_cells(path).tolist()
    [0, 1, 0]
    """
    palette, flat = np.unique(colours, return_inverse=True)
    flat = flat.reshape(colours.shape)
    cells = np.zeros(len(colours), dtype=np.int64)
    while True:
        n_cells = int(cells.max()) + 1
        pair = flat * n_cells + cells[None, :]
        counts = np.zeros((len(colours), len(palette) * n_cells), dtype=np.int64)
        np.add.at(counts, (np.arange(len(colours))[:, None], pair), 1)
        _, refined = np.unique(np.column_stack([cells, counts]), axis=0, return_inverse=True)
        refined = refined.ravel()
        if refined.max() + 1 == n_cells:
            return refined
        cells = refined


def swept(
    task: Task, kernels: Sequence[object], fit: Fit, intercept: Intercept
) -> tuple[Float[np.ndarray, "L m *k"], Float[np.ndarray, " L"]] | None:
    """Return held-out predictions of all kernels at once; None if no reduction applies.

    Returns
    -------
    float array, shape (L, m) or (L, m, k)
        Predictions for the m held-out rows.
    float array, shape (L,)
        Estimated largest error of each kernel's predictions; 0 where the reduction is exact.
    """
    n, slack = task.n_train, np.asarray(fit.slack)
    distinct = len(np.unique(task.train_components, axis=0)) == n
    if intercept != "free":
        return None
    if all(isinstance(kernel, OrderKernel) for kernel in kernels):
        orders: list[OrderKernel] = list(kernels)  # type: ignore[arg-type]
        if isinstance(fit, Equal) and distinct and len({kernel.order for kernel in orders}) == 1:
            sweep = OrderProblem.of(task, orders[0].order).sweep(orders, ridge=fit.slack)
            return sweep.outputs, sweep.error
        return None
    if not all(isinstance(kernel, OverlapKernel) for kernel in kernels):
        return None
    if n > CELL_LIMIT or slack.ndim or (task.targets.ndim > 1 and isinstance(fit, Margin)):
        return None
    sigma = _sigmas(kernels, task.n_components)  # type: ignore[arg-type]
    if isinstance(fit, Margin) and slack == 0 and task.is_classification:
        outputs = margin_sweep(task, sigma)
        return outputs, np.zeros(len(kernels))
    if isinstance(fit, Equal) and distinct and task.n_components == 2:
        even = np.abs(sigma[:, 1] - sigma[:, 2]) <= 1e-14 * np.abs(sigma).max(axis=1)
        if bool(np.all(even)) and bool(np.all(sigma[:, 1:] >= 0)):
            scale = sigma[:, 1:].sum(axis=1)
            outputs = interpolation_sweep(task, sigma[:, 1] / scale, ridge=fit.slack / scale)
            return outputs, np.zeros(len(kernels))
    return None


def _sigmas(kernels: Sequence[OverlapKernel] | np.ndarray, n_components: int) -> np.ndarray:
    """Return the Möbius coefficients of kernels, shape (B, 2**C)."""
    require(len(kernels) > 0, "a sweep takes at least one kernel", "none", "pass kernels")
    if isinstance(kernels, np.ndarray):
        sigma = kernels
    elif isinstance(kernels, OverlapKernels):
        sigma = kernels.sigma
    else:
        sigma = np.stack([kernel.sigma for kernel in kernels])
    require(
        sigma.shape[1] == 1 << n_components,
        f"kernels of a task with {n_components} components have {1 << n_components} coefficients",
        f"{sigma.shape[1]}",
        "build them with n_components of the task",
    )
    return sigma


@door
def margin_sweep(
    task: Task, kernels: Sequence[OverlapKernel] | Float[np.ndarray, "B sets"]
) -> Float[np.ndarray, "B m"]:
    r"""Return the hard-margin classifiers of many kernels, with a free intercept.

    Parameters
    ----------
    task : Task
        With labels -1 and +1.
    kernels : sequence of OverlapKernel, or float array, shape (B, 2**C)
        The kernels, or their Möbius coefficients.

    Returns
    -------
    float array, shape (B, m)
        Predictions for the m held-out rows; NaN where a kernel does not separate the labels.

    Raises
    ------
    InputError
        As in `solve`, and for more than 4,000 distinct training tuples.

    Notes
    -----
    Equal to `solve` with ``fit="margin", intercept="free"``, one kernel at a time.

    Examples
    --------
    >>> from partwhole import tasks
    >>> grid = [OverlapKernel.from_salience([0.1, s]) for s in (0.05, 0.08)]
    >>> task = tasks.context_dependence(3)
    >>> (task.test_targets * margin_sweep(task, grid)).mean(axis=1).round(6).tolist()
    [-0.073998, 0.030924]
    """
    sigma = _sigmas(kernels, task.n_components)
    spectrum = kernel_spectrum(sigma, task.n_values)[:, 1:]
    require(
        bool(np.all(spectrum >= -1e-8 * np.abs(spectrum).max(axis=1, keepdims=True))),
        "kernels must be positive semidefinite on the task's grid",
        f"{int(np.sum(np.any(spectrum < 0, axis=1)))} with a negative eigenvalue",
        "drop them; see OverlapKernel.is_positive_semidefinite",
    )
    distinct = Distinct.of(task)
    require(
        distinct.spread == 0 and task.is_classification and task.targets.ndim == 1,
        "a margin needs labels -1 and +1, one for each training tuple",
        f"targets in {task.targets.min():g}..{task.targets.max():g}",
        "use interpolation_sweep for numbers",
    )
    n = len(distinct.components)
    require(
        n <= CELL_LIMIT,
        f"a sweep takes at most {CELL_LIMIT} distinct training tuples",
        n,
        "solve for each kernel by itself",
    )
    y = distinct.targets
    overlap = overlap_sets(distinct.components, distinct.components)
    # Beside a free intercept the kernels' constants have no effect.
    kappa = zeta(np.where(np.arange(sigma.shape[1]) == 0, 0.0, sigma))
    # Overlap sets with the same similarity in every kernel (up to rounding) count as one.
    sets, rounding = 1 << task.n_components, 1e-14 * np.abs(kappa).max()
    representatives = [
        next(k for k in range(sets) if np.abs(kappa[:, k] - kappa[:, j]).max() <= rounding)
        for j in range(sets)
    ]
    cells = equitable_cells(2 * np.array(representatives)[overlap] + (y[:, None] * y[None, :] > 0))
    n_cells = int(cells.max()) + 1
    size = np.bincount(cells).astype(float)
    among = _cell_sums(overlap, cells, n_cells, cells, y[:, None] * y[None, :], sets)
    # The unknowns are the summed multipliers of the cells; outputs are averages over the cells.
    reduced = among / size[:, None, None] / size[None, :, None]
    label_mean = np.bincount(cells, weights=y) / size

    hessian = np.einsum("ijs,Bs->Bij", reduced, kappa, optimize=True)
    scale = np.einsum("Bii->B", hessian) / n_cells
    scaled = hessian / scale[:, None, None]
    one_sided = OneSided(np.arange(n_cells), np.ones(n_cells), np.ones(n_cells))
    balanced = np.abs(label_mean).max() <= 1e-12
    border = Border(np.zeros((n_cells, 0)) if balanced else label_mean[:, None])

    solution = solve_one_sided(scaled, one_sided, border, guess_first=True)
    alpha = solution.multipliers / scale[:, None]

    test = task.test_components
    across = _cell_sums(
        overlap_sets(test, distinct.components),
        np.arange(len(test)),
        len(test),
        cells,
        np.broadcast_to(y, (len(test), n)),
        sets,
    )
    loads = (alpha / size)[:, :, None] * kappa[:, None, :]
    outputs = loads.reshape(len(sigma), -1) @ across.reshape(len(test), n_cells * sets).T
    outputs = outputs + solution.border_coefficients.sum(axis=1)[:, None]
    return np.where(solution.solved[:, None], outputs, np.nan)


def _cell_sums(
    overlap: np.ndarray,
    rows: np.ndarray,
    n_rows: int,
    cells: np.ndarray,
    signs: np.ndarray,
    sets: int,
) -> np.ndarray:
    """Return the sums of signs by row group, cell and overlap set, shape (groups, cells, 2**C)."""
    n_cells = int(cells.max()) + 1
    place = (rows[:, None] * n_cells + cells[None, :]) * sets + overlap
    sums = np.bincount(place.ravel(), weights=signs.ravel(), minlength=n_rows * n_cells * sets)
    return sums.reshape(n_rows, n_cells, sets)


@door
def interpolation_sweep(
    task: Task,
    salience: Float[np.ndarray, " B"],
    *,
    ridge: Real | Float[np.ndarray, " B"] = 0.0,
) -> Float[np.ndarray, "B m *k"]:
    r"""Return the minimum-norm interpolants of a two-component task for many S(1; 2).

    The kernel is :math:`S\,G + (1 - 2S)\,I` with the Gram matrix G of the components' one-hot
    indicators, so one eigendecomposition of the centred G serves every salience.

    Parameters
    ----------
    task : Task
        Two components.
    salience : float array, shape (B,)
        S(1; 2), 0..1/2.
    ridge : float or float array, shape (B,), keyword-only, default 0
        Kernel-ridge penalty for each observation, in units of the kernel.

    Returns
    -------
    float array, shape (B, m) or (B, m, k)
        Predictions for the m held-out rows, with a free intercept.

    Raises
    ------
    InputError
        When the number of components is not two, a training tuple is repeated, or a salience is
        out of range.

    Notes
    -----
    Equal to `solve` with ``intercept="free"``, one kernel at a time. At S = 1/2, where nothing is
    memorized, it is the limit for S from below: the additive least-squares fit.

    Examples
    --------
    >>> from partwhole import tasks
    >>> task = tasks.dispersed_addition(range(-4, 5), 2, seed=1)
    >>> predictions = interpolation_sweep(task, np.array([0.1, 0.3]))
    >>> ((predictions - task.test_targets) ** 2).mean(axis=1).round(6).tolist()
    [8.737095, 3.792571]
    """
    require(
        task.n_components == 2,
        "a salience sweep takes two components",
        task.n_components,
        "solve for each kernel by itself",
    )
    require(
        bool(np.all((salience >= 0) & (salience <= 0.5)) and np.all(np.asarray(ridge) >= 0)),
        "S(1;2) lies in 0..1/2 and ridge is at least 0",
        f"S in {salience.min():g}..{salience.max():g}, ridge {np.min(ridge):g}",
        "pass the salience of a single component",
    )
    train, test = task.train_components.T, task.test_components.T
    n = train.shape[1]
    gram = np.equal.outer(train[0], train[0]).astype(float)
    gram += np.equal.outer(train[1], train[1])
    require(
        np.count_nonzero(gram == 2.0) == n,
        "a salience sweep takes distinct training tuples",
        f"{n} rows with repeats",
        "solve for each kernel by itself",
    )
    y = task.train_targets.reshape(n, -1)
    mean = y.sum(axis=0) / n
    row_means = gram.sum(axis=0) / n
    centred = gram - row_means - row_means[:, None] + row_means.sum() / n
    size, basis = np.linalg.eigh(centred)
    # Null directions of the components' Gram matrix do not affect held-out tuples; included, their
    # large weights would cancel and leave rounding.
    carried = size > 1e-11 * max(float(size[-1]), 1.0)
    size, basis = size[carried], basis[:, carried]
    weight = salience / (size[:, None] * salience + (1.0 - 2.0 * salience + ridge))
    loaded = basis.T @ (y - mean)
    # v times S, for every salience and output side by side: (n, B k).
    loads = weight[:, :, None] * loaded[:, None, :]
    pulled = basis @ loads.reshape(len(size), len(salience) * y.shape[1])
    across = np.equal.outer(test[0], train[0]).astype(float)
    across += np.equal.outer(test[1], train[1])
    outputs = (across - row_means) @ pulled
    outputs = outputs.reshape(test.shape[1], len(salience), y.shape[1]).swapaxes(0, 1) + mean
    return outputs.reshape(len(salience), test.shape[1], *task.targets.shape[1:])
