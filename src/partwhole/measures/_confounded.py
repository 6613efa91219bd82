"""Values of components that depend on the group of a trial."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int
from scipy.special import chdtrc

from partwhole.recordings import Recording

# P-value of the dependence of values and groups, below which they are called confounded.
BY_CHANCE = 1e-4


def confounded(recording: Recording) -> tuple[str, ...]:
    """Return the components whose values depend on the group, none of a recording without groups.

    By the chi-squared statistic of trials by group and value.
    """
    if recording.groups is None:
        return ()
    columns = zip(recording.names, recording.components.T, strict=True)
    return tuple(name for name, of in columns if dependence(recording.groups, of) < BY_CHANCE)


def groups_beside_values(recording: Recording) -> list[str]:
    """Return a note on components whose values depend on the group; empty if none do."""
    names = confounded(recording)
    if not names:
        return []
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return [
        f"groups are confounded with values of {listed}, some of which are in few groups or more "
        "frequent in some: readouts may answer by what trials of a group share, and predictions of "
        "them, too; show every value equally often in every group, or test readouts on other "
        "groups (--split)"
    ]


def dependence(group: Int[np.ndarray, " n"], value: Int[np.ndarray, " n"]) -> float:
    """Return the p-value of the chi-squared statistic of trials by group and value.

    Examples
    --------
    >>> dependence(np.arange(8).repeat(4), np.tile([0, 1], 16))
    1.0
    >>> dependence(np.arange(8).repeat(4), np.repeat([0, 1], 16)) < 1e-3
    True
    """
    rows, columns = (np.unique(of, return_inverse=True)[1].ravel() for of in (group, value))
    counts = np.zeros((int(rows.max()) + 1, int(columns.max()) + 1))
    np.add.at(counts, (rows, columns), 1.0)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(rows)
    freedom = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(chdtrc(freedom, np.sum((counts - expected) ** 2 / expected))) if freedom else 1.0
