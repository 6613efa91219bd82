"""What was best, chosen on one split and reported on another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door


class Selected(NamedTuple):
    """Hold the setting that was best on the split for selection.

    Parameters
    ----------
    setting : int
        Which setting; the first of equals.
    selection : float
        Its error on the split it was chosen on, which is too low.
    report : float
        Its error on the split that had no part in the choice.
    best : float
        The least error of any setting on that split: what choosing and reporting on one split
        would have claimed.
    """

    setting: int
    selection: float
    report: float
    best: float

    @property
    def optimism(self) -> float:
        """Return how much better the best of all looks than the one that was chosen."""
        return self.report - self.best


@door(missing=("selection", "report"))
def select(
    selection: Float[np.ndarray, " settings"], report: Float[np.ndarray, " settings"]
) -> Selected:
    """Choose a setting by its error on one split, and report its error on another.

    Parameters
    ----------
    selection : float array, shape (settings,)
        Errors on the split for selection; NaN for settings that could not be solved.
    report : float array, shape (settings,)
        Errors of the same settings on inputs that neither trained nor chose.

    Returns
    -------
    Selected

    Raises
    ------
    InputError
        For errors that are not one each, and where none is known on both splits.

    Examples
    --------
    >>> found = select(np.array([0.12, 0.10, 0.11]), np.array([0.13, 0.125, 0.11]))
    >>> found.setting, found.report, round(found.optimism, 6)
    (1, 0.125, 0.015)
    """
    one, other = selection, report
    known = np.isfinite(one) & np.isfinite(other)
    require(bool(known.any()), "some setting was solved", "none", "take others")
    index = int(np.where(known, one, np.inf).argmin())
    return Selected(index, float(one[index]), float(other[index]), float(other[known].min()))
