"""How far two learners agree in their decisions, beyond what their errors alone would bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require, whole
from partwhole._door import door
from partwhole.measures.accuracy import TIE

if TYPE_CHECKING:
    import pandas as pd


@door(infinite=("outputs", "others"))
def inconsistency(outputs: Float[np.ndarray, " n"], others: Float[np.ndarray, " n"]) -> float:
    """Return how often two learners decide differently; a tie of either counts as half.

    Parameters
    ----------
    outputs, others : float arrays, shape (n,)

    Returns
    -------
    float

    Raises
    ------
    InputError
        For none, or outputs that are NaN.

    Examples
    --------
    >>> inconsistency(np.array([2.0, -1.0, 0.0, 1.0]), np.array([1.0, 1.0, 3.0, 2.0]))
    0.375
    """
    one, two = (_sides("outputs", each, len(outputs)) for each in (outputs, others))
    return float(0.5 * (1.0 - one * two).mean())


@dataclass(frozen=True)
class Agreement:
    r"""Hold how far a network and its predicted limit agree, beside two baselines.

    Parameters
    ----------
    n : int
        Inputs.
    error, other_error, linear_error : float
        Of the network, p, of the limit, q, and of the linear baseline.
    inconsistency : float
        How often network and limit decide differently.
    by_chance : float
        How often they would, were their errors independent: p (1 - q) + q (1 - p).
    agreement, linear_agreement : float
        :math:`A = 1 - \text{inconsistency} / \text{by chance}`, of the limit and of the linear
        baseline with the network: 0 for independent errors, 1 for the same decisions, NaN where
        neither errs, or both always do.
    above_linear : float
        Their difference.
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
        """Say in a few lines how far the two agree, and what that is worth."""
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
                {"of": name, "error": error, "agreement": told, "low": ends[0], "high": ends[1]}
                for name, error, told, ends in rows
            ]
        )


@door(infinite=("network", "limit", "linear"))
def decision_agreement(
    network: Float[np.ndarray, " n"],
    limit: Float[np.ndarray, " n"],
    labels: Float[np.ndarray, " n"],
    *,
    linear: Float[np.ndarray, " n"],
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    r"""Weigh how far a network decides as its predicted limit does.

    Two learners that err on a tenth of the inputs each agree on four fifths without anything in
    common; what counts is how much less they disagree than by chance, and whether a linear
    classifier would do as well.

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
        For none, outputs that are NaN or not one for each input, labels other than -1 and +1,
        and options that don't exist.

    Notes
    -----
    The chance-corrected agreement is that of Cohen's kappa with errors in the place of categories;
    derived here. A tie is decided by a coin of its own.

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
    whole("resamples", resamples, 100, "take 2000")
    whole("seed", seed, 0, "pass 0 or more")
    given = _labels(labels)
    sides = [
        _sides(name, each, len(given))
        for name, each in (("network", network), ("limit", limit), ("linear", linear))
    ]
    # What a resample changes is how often each kind of input occurs: at most 27 of them.
    aligned = np.stack([given * each for each in sides])
    kinds, counts = np.unique(aligned, axis=1, return_counts=True)
    n = len(given)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=resamples)
    here, spread = _read(kinds, counts[None]), _read(kinds, drawn)

    def ends(name: str) -> tuple[float, float]:
        values = spread[name][np.isfinite(spread[name])]
        if not len(values):
            return (float("nan"), float("nan"))
        low, high = np.quantile(values, (0.025, 0.975))
        return float(low), float(high)

    told = {name: float(values[0]) for name, values in here.items()}
    return Agreement(
        n=n,
        **told,
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
    """Return errors and agreements where each kind of input occurs so often.

    A kind is the decisions of network, limit and baseline, in the label's direction.
    """
    share = counts / counts.sum(axis=1, keepdims=True)
    p, q, linear = (share @ (0.5 * (1.0 - each)) for each in kinds)
    apart, apart_linear = (share @ (0.5 * (1.0 - kinds[0] * each)) for each in kinds[1:])
    chance, chance_linear = (p * (1.0 - each) + each * (1.0 - p) for each in (q, linear))
    with np.errstate(all="ignore"):
        own, baseline = 1.0 - apart / chance, 1.0 - apart_linear / chance_linear
    own, baseline = (np.where(np.isfinite(each), each, np.nan) for each in (own, baseline))
    return {
        "error": p,
        "other_error": q,
        "linear_error": linear,
        "inconsistency": apart,
        "by_chance": chance,
        "agreement": own,
        "linear_agreement": baseline,
        "above_linear": own - baseline,
    }


def _labels(labels: np.ndarray) -> Float[np.ndarray, " n"]:
    given = np.asarray(labels, dtype=float)
    require(
        given.ndim == 1 and len(given) > 0 and bool((np.abs(given) == 1.0).all()),
        "labels are -1 and +1, one for each of some inputs",
        f"{len(given)} in {given.min():g}..{given.max():g}" if given.size else "none",
        "recode labels 0 and 1 as 2 y - 1",
    )
    return given


def _sides(name: str, outputs: np.ndarray, n: int) -> Float[np.ndarray, " n"]:
    given = np.asarray(outputs, dtype=float)
    require(
        given.shape == (n,) and n > 0,
        f"{name} are one number for each input",
        f"shape {given.shape} for {n} inputs",
        "pass what the learners answer to the same inputs",
    )
    lost = int(np.isnan(given).sum())
    require(not lost, f"{name} are numbers", f"{lost} NaN", "leave out what was not solved")
    return np.where(np.abs(given) <= TIE, 0.0, np.sign(given))


def _interval(ends: tuple[float, float], digits: int = 4) -> str:
    return f"{ends[0]:.{digits}f} to {ends[1]:.{digits}f}"
