"""A number over runs: its mean, and how far that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Number, ProperFraction

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RunInterval:
    """Mean over runs, and its interval.

    Parameters
    ----------
    mean : float, or float array of the shape of one run
        NaN where every run has NaN.
    low, high : as `mean`
        Ends of Student's interval of the mean; NaN where fewer than two runs count.
    n : int
        Runs that count.
    n_dropped : int
        Runs that do not: NaN throughout.
    confidence : float
        Level of the interval.
    """

    mean: Number
    low: Number
    high: Number
    n: int
    n_dropped: int
    confidence: float

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number of a run, with its place in columns ``axis 1``, ..."""
        import pandas as pd

        shape = np.shape(self.mean)
        places = np.indices(shape).reshape(len(shape), np.size(self.mean))
        columns: dict[str, object] = {f"axis {i}": place for i, place in enumerate(places, 1)}
        for name, values in (("mean", self.mean), ("low", self.low), ("high", self.high)):
            columns[name] = np.ravel(values)
        return pd.DataFrame(columns | {"n": self.n, "n_dropped": self.n_dropped})


@door(missing=("values",))
def over_runs(
    values: Float[np.ndarray, "runs *rest"], *, confidence: ProperFraction = 0.95
) -> RunInterval:
    r"""Take the mean over runs, with Student's interval.

    .. math:: \bar v \pm t_{n-1}\, s / \sqrt n

    with the standard deviation s of the n runs that count.

    Parameters
    ----------
    values : float array, shape (runs, ...)
        A number, or an array of numbers, of each run. A run that is NaN throughout does not
        count: one whose training did not succeed, say. A number that is NaN in all other runs
        too, as `item_values` gives for anchors, stays NaN.
    confidence : float, keyword-only, default 0.95
        Level of the interval.

    Returns
    -------
    RunInterval

    Raises
    ------
    InputError
        For no runs, values that are infinite, numbers that some of the runs that count have and
        others lack, or a level that is not between 0 and 1.

    Notes
    -----
    Student's interval takes runs as independent draws from a normal law; levels hold for each
    number by itself.

    Examples
    --------
    Slopes of four networks that differ in their seed; the third was not trained:

    >>> from partwhole import tasks
    >>> from partwhole.measures import slope
    >>> task = tasks.symbolic_addition(range(-4, 5), [0])
    >>> learned = [0.70 * task.targets, 0.76 * task.targets, None, 0.73 * task.targets]
    >>> slopes = [np.nan if f is None else slope(task, f).value for f in learned]
    >>> interval = over_runs(np.array(slopes))
    >>> round(interval.mean, 3), round(interval.low, 3), round(interval.high, 3)
    (0.73, 0.655, 0.805)
    >>> interval.n, interval.n_dropped
    (3, 1)
    """
    array = values
    infinite = int(np.sum(np.isinf(array)))
    require(
        infinite == 0,
        "values are finite, or NaN in runs that do not count",
        f"{infinite} infinite",
        "set those runs to NaN",
    )
    missing = np.isnan(array)
    counts = ~missing.all(axis=tuple(range(1, array.ndim)))
    counted, lacking = array[counts], missing[counts]
    partly = lacking.any(axis=0) & ~lacking.all(axis=0)
    require(
        not partly.any(),
        "every run that counts has the same numbers",
        f"{int(partly.sum())} of {partly.size} that are NaN in some of {len(counted)} runs",
        "set a run to NaN throughout to leave it out, or leave those numbers out",
    )
    n, unknown = len(counted), np.full(array.shape[1:], np.nan)
    mean = counted.mean(axis=0) if n else unknown
    half = unknown
    if n > 1:
        half = stdtrit(n - 1, 0.5 + confidence / 2) * counted.std(axis=0, ddof=1) / np.sqrt(n)
    ends = (mean, mean - half, mean + half)
    mean, low, high = (float(number) if array.ndim == 1 else np.asarray(number) for number in ends)
    return RunInterval(mean, low, high, n, len(array) - n, float(confidence))
