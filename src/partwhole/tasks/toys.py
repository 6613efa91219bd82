"""The smallest compositional tasks: two values in each of two components."""

from __future__ import annotations

import numpy as np

from partwhole.tasks._build import full_grid
from partwhole.tasks._task import Task


def invariance() -> Task:
    """Return the invariance toy: an answer learned with one value and tested with another.

    Seen are (A, x) = -1 and (B, x) = +1; held out are (A, y) and (B, y).

    Returns
    -------
    Task
        Four pairs, the label that of the first component.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), figure "partial".

    Examples
    --------
    >>> invariance().n_train
    2
    """
    components = full_grid([2, 2])
    return Task(
        components,
        2.0 * components[:, 0] - 1.0,
        components[:, 1] == 0,
        ("stimulus", "background"),
        (("A", "B"), ("x", "y")),
        "invariance",
    )


def partial_exposure() -> Task:
    """Return partial exposure: three of four pairs are seen, and one component decides.

    Seen are (-, -), (-, +) and (+, -); held out is (+, +). The label is the first component.

    Returns
    -------
    Task
        Four pairs, one held out.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), figure "partial".

    Examples
    --------
    >>> partial_exposure().n_test
    1
    """
    components = full_grid([2, 2])
    return Task(
        components,
        2.0 * components[:, 0] - 1.0,
        ~np.all(components == 1, axis=1),
        ("relevant", "irrelevant"),
        (("-", "+"), ("-", "+")),
        "partial exposure",
    )
