r"""Negative transfer: losses beside those of single-task learning."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NegativeTransfer:
    """Factor by which losses differ from those of single-task learning.

    Parameters
    ----------
    ratio : float
        Geometric mean of loss over single-task loss; above 1 the other task hurt.
    low, high : float
        Ends of Student's interval of the mean logarithm, as ratios.
    share : float
        Of the seeds, in which the loss is above that of single-task learning.
    share_low, share_high : float
        Ends of Wilson's interval for it.
    n : int
        Seeds.
    confidence : float
        Level of both intervals.
    """

    ratio: float
    low: float
    high: float
    share: float
    share_low: float
    share_high: float
    n: int
    confidence: float

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row, with the fields as columns."""
        import pandas as pd

        return pd.DataFrame([asdict(self)])


@door
def negative_transfer(
    loss: Float[np.ndarray, " n"],
    single_task_loss: Float[np.ndarray, " n"],
    *,
    confidence: ProperFraction = 0.95,
) -> NegativeTransfer:
    r"""Compare losses with those of single-task learning, seed by seed.

    .. math:: \text{ratio} = \exp\Big(\frac1n \sum_i \ln \frac{\ell_i}{\ell_i^{\text{single}}}
              \Big), \qquad \text{interval} = \text{ratio} \cdot
              \exp\big(\pm t_{n-1}\, s / \sqrt n\big),

    with the standard deviation s of the n logarithms. Paired, because the draw of the task changes
    both losses in the same direction.

    Parameters
    ----------
    loss : float array, shape (n,)
        Of multi-task learning or of finetuning on the main task, one for each seed. Take losses
        at the end of training: the least loss along it stays at the start's where transfer is
        negative.
    single_task_loss : float array, shape (n,)
        Of single-task learning with the same seeds, in the same order.
    confidence : float, keyword-only, default 0.95
        Level of the intervals.

    Returns
    -------
    NegativeTransfer

    Raises
    ------
    InputError
        For fewer than two seeds, numbers of seeds that differ, losses that are not positive and
        finite, or a level that is not between 0 and 1.

    Notes
    -----
    The name is the field's; the measure is derived here. The interval takes the logarithms as
    normal.

    Examples
    --------
    >>> transfer = negative_transfer(np.array([2.0, 2.4, 0.9]), np.array([1.0, 1.2, 1.0]))
    >>> round(transfer.ratio, 3), round(transfer.share, 3), round(transfer.share_low, 3)
    (1.533, 0.667, 0.208)
    """
    y, single = loss, single_task_loss
    n = len(y)
    require(n >= 2, "an interval needs at least 2 seeds", n, "run more seeds")
    n_invalid = int((y <= 0).sum() + (single <= 0).sum())
    require(
        n_invalid == 0,
        "losses are above 0",
        f"{n_invalid} that are not",
        "add the smallest loss that is distinguishable from 0 to all of them",
    )
    logs = np.log(y) - np.log(single)
    centre = float(logs.mean())
    half = float(stdtrit(n - 1, 0.5 + confidence / 2) * logs.std(ddof=1) / np.sqrt(n))
    ratio, low, high = (float(np.exp(log)) for log in (centre, centre - half, centre + half))
    hurt = int((y > single).sum())
    from scipy.stats import binomtest  # half of the time of every import of the room

    wilson = binomtest(hurt, n).proportion_ci(float(confidence), method="wilson")
    return NegativeTransfer(
        ratio,
        low,
        high,
        hurt / n,
        float(wilson.low),
        float(wilson.high),
        n,
        float(confidence),
    )
