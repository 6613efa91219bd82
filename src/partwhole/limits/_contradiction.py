"""Whether inequalities contradict one another, told apart from features of very unlike size."""

from __future__ import annotations

import numpy as np

from partwhole.features.design import Design
from partwhole.limits.costs import Cost
from partwhole.limits.fits import OneSided
from partwhole.limits.solvers import active_set
from partwhole.limits.solvers.dual_newton import Border

ENTRIES = 1_000_000  # of a design that is written out as a matrix
ROUNDING = 1e-13


def contradicts(design: Design, cost: Cost, one_sided: OneSided, border: Border) -> bool:
    """Decide whether inequalities that a solver gave up really contradict one another.

    In the kernel features are squared, and a direction 1e-8 as large as others counts as nothing.
    So they are solved again with orthonormal features that span the same functions; a design too
    large for that is taken at the solver's word.
    """
    n, p = design.shape
    if n * p > ENTRIES:
        return True
    matrix = np.stack([cost.primal(design, row, None) for row in np.eye(n)])
    largest = np.abs(matrix).max(axis=0, initial=0.0)
    used = largest > 0
    basis, size, _ = np.linalg.svd(matrix[:, used] / largest[used], full_matrices=False)
    basis = basis[:, size > ROUNDING * size.max(initial=0.0)]
    kernel = basis @ basis.T * (n / max(basis.shape[1], 1))
    return bool(active_set.solve_one_sided(kernel[None], one_sided, border).infeasible[0])
