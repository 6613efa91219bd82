"""What training of gated networks on two classes returns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole.limits import Limit
from partwhole.networks import GatedNetwork, flipped_gates

if TYPE_CHECKING:
    import pandas as pd


def margin_of(limit: Limit) -> float:
    """Return a limit's margin, after checking that it has one."""
    margin = limit.normalised_margin
    require(
        bool(margin > 0.0),
        "shares are of the margin of a limit",
        f"{type(limit.problem.cost).__name__}, {limit.outcome.name.lower()}",
        "pass the limit of the networks' own cost on inputs that it separates",
    )
    return margin


def require_two_classes(labels: Float[np.ndarray, " n"]) -> None:
    """Require labels -1 and +1, both of them."""
    classes = np.unique(labels)
    require(
        len(classes) == 2 and bool((np.abs(classes) == 1).all()),
        "labels are two classes, -1 and +1",
        ", ".join(f"{each:g}" for each in classes[:4]),
        "recode labels 0 and 1 as 2 y - 1",
    )


class GatedOutcome(Enum):
    """Say how a run ended; the value says what to do about it."""

    SEPARATED = "decides every training input right"
    NOT_SEPARATED = (
        "still errs on training inputs, so that it goes to no limit; train longer, or take more "
        "units, or smaller weights to begin with"
    )
    DIVERGED = (
        "diverged: its numbers are not finite; take a smaller learning rate, or smaller weights "
        "to begin with"
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class GatedRuns:
    r"""Hold gated networks in training, one for each run.

    Parameters
    ----------
    inputs : float array, shape (n, d)
    labels : float array, shape (n,)
    initial, networks : tuples of GatedNetwork
        At the start and at the end.
    steps : int array, shape (T,)
        The steps that were recorded.
    times : float array, shape (runs, T)
        The time of gradient flow: the sum of step lengths.
    log_loss : float array, shape (runs, T)
        The logarithm of the mean training loss, which soon is too small for a number.
    margins : float array, shape (runs, T)
        The normalised margin :math:`\min_i y_i f(x_i) / (\|\theta\|^2 / L)^{L/2}`; NaN for networks
        with a bias, which are not homogeneous.
    training_error : float array, shape (runs, T)
        Wrong decisions on the training set, ties half.
    test_outputs : float array, shape (runs, T, m), or None
    outcomes : tuple of GatedOutcome
    """

    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    initial: tuple[GatedNetwork, ...]
    networks: tuple[GatedNetwork, ...]
    steps: Int[np.ndarray, " T"]
    times: Float[np.ndarray, "runs T"]
    log_loss: Float[np.ndarray, "runs T"]
    margins: Float[np.ndarray, "runs T"]
    training_error: Float[np.ndarray, "runs T"]
    test_outputs: Float[np.ndarray, "runs T m"] | None
    outcomes: tuple[GatedOutcome, ...]

    @door
    def fraction_of(self, limit: Limit) -> Float[np.ndarray, "runs T"]:
        """Return margins as shares of the limit's.

        Parameters
        ----------
        limit : Limit
            Of the networks' own gates, training set and cost.

        Returns
        -------
        float array, shape (runs, T)
            At most 1 where the limit is the global one; the shortfall goes as one over the
            logarithm of the steps in plain descent.

        Raises
        ------
        InputError
            For a limit that has no margin: of inputs that nothing separates, or of a cost that
            no weights have.
        """
        return self.margins / margin_of(limit)

    def flipped(self) -> Float[np.ndarray, "runs L"]:
        """Return the share of gates that changed in training, by layer."""
        pairs = zip(self.initial, self.networks, strict=True)
        return np.array([flipped_gates(old, new, self.inputs) for old, new in pairs])

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each run and recorded step."""
        import pandas as pd

        runs, records = self.log_loss.shape
        return pd.DataFrame(
            {
                "run": np.repeat(np.arange(runs), records),
                "step": np.tile(self.steps, runs),
                "time": self.times.ravel(),
                "log_loss": self.log_loss.ravel(),
                "margin": self.margins.ravel(),
                "training_error": self.training_error.ravel(),
            }
        )
