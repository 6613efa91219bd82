"""Several tasks that share their features: one block for each feature, a column for each task."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole.features.design import Block, DenseDesign
from partwhole.features.outputs import OutputsDesign


@door
def multitask_design(inputs: Sequence[Float[np.ndarray, "_ _"]]) -> DenseDesign:
    """Return the design of several tasks, with a feature's coefficients in all tasks as one block.

    Parameters
    ----------
    inputs : sequence of float arrays, shapes (n_t, d)
        Of each of k tasks, in the same d features.

    Returns
    -------
    DenseDesign
        Shape (sum of n_t, k d). A task's rows see its own columns alone; coefficients reshaped
        to (d, k) hold a column for each task. Blocks are labelled 0 to d - 1.

    Raises
    ------
    InputError
        For no task, and for tasks in different features.

    Examples
    --------
    >>> design = multitask_design([np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])])
    >>> design.matrix.astype(int).tolist()
    [[1, 0, 2, 0], [0, 3, 0, 4]]
    """
    tasks = [np.atleast_2d(np.asarray(block, dtype=float)) for block in inputs]
    widths = sorted({block.shape[1] for block in tasks})
    require(
        len(widths) == 1,
        "tasks share their features",
        f"tasks in {' and '.join(map(str, widths))} features" if widths else "no task",
        "pass one array of inputs for each task, all with the same columns",
    )
    rows = np.vstack(tasks)
    blocks = tuple(Block(feature, feature, feature + 1) for feature in range(widths[0]))
    of_tasks = np.repeat(np.eye(len(tasks)), [len(block) for block in tasks], axis=0)
    return OutputsDesign(DenseDesign(rows, blocks), np.arange(len(rows)), of_tasks).dense()
