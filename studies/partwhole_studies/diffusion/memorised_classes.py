"""Whether paths to the unseen combination first come near a training class."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole_studies.diffusion import concept_readings as readings
from partwhole_studies.diffusion.training_sets import UNSEEN, classes

MEMORY = "red small"  # the training class of the unseen combination's size


def memorised(runs: xr.Dataset) -> np.ndarray:
    """Return whether each path of one setting comes near red and small before the combination.

    Near is what counts as having learned a class. That class shares the concept of the stronger
    signal with the combination where colours are close.
    """

    def arrival(name: str) -> np.ndarray:
        distance = abs(path - readings.corner_of(runs, classes()[name])).max("concept")
        return path.step.where(distance <= readings.NEAR).min("step").fillna(np.inf).values

    path = readings.means(runs, UNSEEN).dropna("seed")
    return arrival(MEMORY) < arrival(UNSEEN)
