"""A training set of the structured identity task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._door import door

if TYPE_CHECKING:
    from partwhole.tasks.structured_identity import StructuredIdentity

# Random streams: what is drawn for one purpose doesn't move what is drawn for another.
SAMPLE, TEST, DIRECTIONS, ROTATION, CHECK = range(5)


@door
@dataclass(frozen=True, eq=False)
class IdentitySample:
    """Training set of a structured identity task; the targets are the inputs.

    Parameters
    ----------
    inputs : float array, shape (n, d)
        As the learner sees them; cluster after cluster, so shuffle before taking batches.
    clusters : int array, shape (n,)
        The cluster of each row: concept p from 0, the origin s.
    task : StructuredIdentity
        What they were drawn from.
    """

    inputs: Float[np.ndarray, "n d"]
    clusters: Int[np.ndarray, " n"]
    task: StructuredIdentity

    def second_moment(self) -> Float[np.ndarray, "d d"]:
        """Return the sample's second moment in the concept frame, the mean not subtracted."""
        points = self.task.to_concepts(self.inputs)
        return points.T @ points / len(points)

    def mean(self) -> Float[np.ndarray, " d"]:
        """Return the sample's mean in the concept frame."""
        return self.task.to_concepts(self.inputs).mean(axis=0)
