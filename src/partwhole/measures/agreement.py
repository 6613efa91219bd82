"""Agreement of two learners' decisions beyond the agreement that their errors alone produce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds, Seed
from partwhole.measures.accuracy import TIE

if TYPE_CHECKING:
    import pandas as pd


@door(infinite=("outputs", "other_outputs"))
def inconsistency(
    outputs: Float[np.ndarray, " n"], other_outputs: Float[np.ndarray, " n"]
) -> float:
    """Return how often two learners decide differently; a tie of either counts as half.

    Parameters
    ----------
    outputs, other_outputs : float arrays, shape (n,)

    Returns
    -------
    float

    Raises
    ------
    InputError
        For no outputs, or outputs that are NaN.

    Examples
    --------
    >>> inconsistency(np.array([2.0, -1.0, 0.0, 1.0]), np.array([1.0, 1.0, 3.0, 2.0]))
    0.375
    """
    first, second = (
        _sides("outputs", answers, len(outputs)) for answers in (outputs, other_outputs)
    )
    return float(0.5 * (1.0 - first * second).mean())


@dataclass(frozen=True)
class Agreement:
    r"""Agreement of a network with its predicted limit, beside two baselines.

    Parameters
    ----------
    n : int
        Inputs.
    error, other_error, linear_error : float
        Of the network, p, of the limit, q, and of the linear baseline.
    inconsistency : float
        Share of inputs on which network and limit decide differently.
    by_chance : float
        The same share if their errors were independent: p (1 - q) + q (1 - p).
    agreement, linear_agreement : float
        :math:`A = 1 - \text{inconsistency} / \text{by chance}`, of the limit and of the linear
        baseline with the network: 0 for independent errors, 1 for the same decisions, NaN where
        neither is ever wrong, or both always are.
    above_linear : float
        Agreement of the limit less that of the linear baseline.
    inconsistency_interval, agreement_interval, linear_interval, above_linear_interval : tuple
        95 % intervals over inputs, by bootstrap.
    ties, other_ties : float
        Shares of outputs that are 0, up to 1e-9.
    """

    n: int
    error: float
    other_error: float
    linear_error: float
    inconsistency: float
    by_chance: float
    agreement: float
    linear_agreement: float
    above_linear: float
    inconsistency_interval: tuple[float, float]
    agreement_interval: tuple[float, float]
    linear_interval: tuple[float, float]
    above_linear_interval: tuple[float, float]
    ties: float
    other_ties: float

    def describe(self) -> str:
        """Return the agreement and its baselines, in a few lines."""
        lines = [
            f"{self.n} inputs: errors {self.error:.4f} (network) and {self.other_error:.4f} "
            f"(limit); {self.linear_error:.4f} (linear).",
            f"They decide differently on {self.inconsistency:.4f} "
            f"({_interval(self.inconsistency_interval)}); independent errors would on "
            f"{self.by_chance:.4f}.",
            f"Agreement beyond chance {self.agreement:.3f} "
            f"({_interval(self.agreement_interval, 3)}); of the linear baseline "
            f"{self.linear_agreement:.3f} ({_interval(self.linear_interval, 3)}).",
        ]
        if self.ties or self.other_ties:
            lines.append(
                f"Ties, half right: {self.ties:.4f} (network) and {self.other_ties:.4f} (limit)."
            )
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for the limit and one for the linear baseline."""
        import pandas as pd

        rows = [
            ("limit", self.other_error, self.agreement, self.agreement_interval),
            ("linear", self.linear_error, self.linear_agreement, self.linear_interval),
        ]
        return pd.DataFrame(
            [
                {
                    "of": name,
                    "error": error,
                    "agreement": agreement,
                    "low": ends[0],
                    "high": ends[1],
                }
                for name, error, agreement, ends in rows
            ]
        )


@door(infinite=("network", "limit", "linear"))
def decision_agreement(
    network: Float[np.ndarray, " n"],
    limit: Float[np.ndarray, " n"],
    labels: Float[np.ndarray, " n"],
    *,
    linear: Float[np.ndarray, " n"],
    resamples: Annotated[int, Bounds(at_least=100)] = 2000,
    seed: Seed = 0,
) -> Agreement:
    r"""Measure the agreement of a network's decisions with those of its predicted limit.

    Two unrelated learners that are each wrong on a tenth of the inputs agree on four fifths of
    them. The measure is therefore how much less often they disagree than by chance, beside the
    same measure of a linear classifier.

    Parameters
    ----------
    network, limit : float arrays, shape (n,)
        Outputs for inputs that neither was trained on; their sign is the decision.
    labels : float array, shape (n,)
        -1 and +1.
    linear : float array, shape (n,), keyword-only
        Outputs of the baseline: a linear classifier with the same training set.
    resamples : int, keyword-only, default 2000
        Of the bootstrap over inputs.
    seed : int, keyword-only, default 0

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        For no inputs, outputs that are NaN or whose number differs from the labels', labels other
        than -1 and +1, or too few resamples.

    Notes
    -----
    The chance-corrected agreement is that of Cohen's kappa with errors instead of categories;
    derived here. A tie counts as a random decision, independent of all others.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels = np.sign(rng.normal(size=400))
    >>> network = labels + rng.normal(size=400)
    >>> limit = network + 0.3 * rng.normal(size=400)
    >>> linear = labels + rng.normal(size=400)
    >>> print(decision_agreement(network, limit, labels, linear=linear).describe())
    400 inputs: errors 0.1450 (network) and 0.1475 (limit); 0.1600 (linear).
    They decide differently on 0.0375 (0.0200 to 0.0575); independent errors would on 0.2497.
    Agreement beyond chance 0.850 (0.763 to 0.918); of the linear baseline -0.044 (-0.121 to 0.049).
    """
    signs = _labels(labels)
    sides = [
        _sides(name, outputs, len(signs))
        for name, outputs in (("network", network), ("limit", limit), ("linear", linear))
    ]
    # A resample changes only the counts of the kinds of inputs, of which there are at most 27.
    aligned = np.stack([signs * outputs for outputs in sides])
    kinds, counts = np.unique(aligned, axis=1, return_counts=True)
    n = len(signs)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=resamples)
    readings, resampled = _read(kinds, counts[None]), _read(kinds, drawn)

    def ends(name: str) -> tuple[float, float]:
        values = resampled[name][np.isfinite(resampled[name])]
        if not len(values):
            return (float("nan"), float("nan"))
        low, high = np.quantile(values, (0.025, 0.975))
        return float(low), float(high)

    estimates = {name: float(values[0]) for name, values in readings.items()}
    return Agreement(
        n=n,
        **estimates,
        inconsistency_interval=ends("inconsistency"),
        agreement_interval=ends("agreement"),
        linear_interval=ends("linear_agreement"),
        above_linear_interval=ends("above_linear"),
        ties=float((sides[0] == 0).mean()),
        other_ties=float((sides[1] == 0).mean()),
    )


def _read(
    kinds: Float[np.ndarray, "3 k"], counts: Int[np.ndarray, "r k"]
) -> dict[str, Float[np.ndarray, " r"]]:
    """Return errors and agreements, given the counts of each kind of input.

    A kind is a triple of decisions, of network, limit and baseline, each times the label.
    """
    share = counts / counts.sum(axis=1, keepdims=True)
    p, q, linear = (share @ (0.5 * (1.0 - decisions)) for decisions in kinds)
    disagreement, disagreement_linear = (
        share @ (0.5 * (1.0 - kinds[0] * decisions)) for decisions in kinds[1:]
    )
    chance, chance_linear = (p * (1.0 - error) + error * (1.0 - p) for error in (q, linear))
    with np.errstate(all="ignore"):
        agreement, baseline = 1.0 - disagreement / chance, 1.0 - disagreement_linear / chance_linear
    agreement, baseline = (
        np.where(np.isfinite(decisions), decisions, np.nan) for decisions in (agreement, baseline)
    )
    return {
        "error": p,
        "other_error": q,
        "linear_error": linear,
        "inconsistency": disagreement,
        "by_chance": chance,
        "agreement": agreement,
        "linear_agreement": baseline,
        "above_linear": agreement - baseline,
    }


def _labels(labels: np.ndarray) -> Float[np.ndarray, " n"]:
    signs = np.asarray(labels, dtype=float)
    require(
        signs.ndim == 1 and len(signs) > 0 and bool((np.abs(signs) == 1.0).all()),
        "labels are -1 and +1, one for each of some inputs",
        f"{len(signs)} in {signs.min():g}..{signs.max():g}" if signs.size else "none",
        "recode labels 0 and 1 as 2 y - 1",
    )
    return signs


def _sides(name: str, outputs: np.ndarray, n: int) -> Float[np.ndarray, " n"]:
    answers = np.asarray(outputs, dtype=float)
    require(
        answers.shape == (n,) and n > 0,
        f"{name} are one number for each input",
        f"shape {answers.shape} for {n} inputs",
        "pass the learners' answers to the same inputs",
    )
    n_missing = int(np.isnan(answers).sum())
    require(
        not n_missing,
        f"{name} are numbers",
        f"{n_missing} NaN",
        "leave out inputs without an output",
    )
    return np.where(np.abs(answers) <= TIE, 0.0, np.sign(answers))


def _interval(ends: tuple[float, float], digits: int = 4) -> str:
    return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"
