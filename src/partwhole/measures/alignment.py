r"""Alignment of a network's hidden units with those of a teacher, or with their initial weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Alignment:
    """Alignment of each hidden unit with the reference it is matched to.

    Parameters
    ----------
    values : float array, shape (h,)
        From -1 to 1; NaN for a unit without direction.
    matches : int array, shape (h,)
        The reference of each unit; -1 for a unit without direction.
    magnitudes : float array, shape (h,)
        Norm of each unit's weights, times that of its readout where one was given.
    """

    values: Float[np.ndarray, " h"]
    matches: Int[np.ndarray, " h"]
    magnitudes: Float[np.ndarray, " h"]

    @property
    def mean(self) -> float:
        """Return the mean alignment, in which a unit counts by its magnitude."""
        matched = self.matches >= 0
        weights = self.magnitudes[matched]
        return float(weights @ self.values[matched] / weights.sum()) if weights.any() else np.nan

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each unit, and columns alignment, match and magnitude."""
        import pandas as pd

        return pd.DataFrame(
            {"alignment": self.values, "match": self.matches, "magnitude": self.magnitudes}
        )


@door
def alignment(
    hidden: Float[np.ndarray, "h d"],
    references: Float[np.ndarray, "k d"],
    *,
    match: Literal["best", "own"] = "best",
    measure: Literal["cosine", "correlation"] = "cosine",
    readout: Float[np.ndarray, "h *o"] | None = None,
) -> Alignment:
    r"""Compare hidden units with a teacher's units, or with their own initial weights.

    Parameters
    ----------
    hidden : float array, shape (h, d)
        w, the weights into each unit.
    references : float array, shape (k, d)
        The teacher's units; or, with match="own", the initial weights, shape (h, d).
    match : {"best", "own"}, keyword-only, default "best"
        Whether a unit is compared with the reference it is most aligned with, or with the one in
        its own row. Best means highest: a ReLU unit that points the other way is no match.
    measure : {"cosine", "correlation"}, keyword-only, default "cosine"
        :math:`w^\top u / |w||u|`, or the same after each unit's mean over inputs is subtracted
        (Pearson). They agree for large d; for small d the cosine is the one that decides what a
        unit computes.
    readout : float array, shape (h,) or (h, o), keyword-only, default None
        With it, magnitudes are :math:`|w||v|`, what a unit can contribute to the output, which
        stays the same where weights are shifted between the layers.

    Returns
    -------
    Alignment

    Raises
    ------
    InputError
        For weights that are not tables of finite numbers, shapes that don't agree, no references,
        a reference without direction, or an unknown option.

    Notes
    -----
    The published analysis of Lippl & Lindsey (NeurIPS 2024) correlates units with teacher units
    and with their initial weights; weighting by magnitude was added here. Of many units the best
    of k references is aligned above 0 by chance alone.

    Examples
    --------
    >>> hidden = np.array([[3.0, 4.0], [0.0, -2.0]])
    >>> units = alignment(hidden, np.eye(2))
    >>> units.values.tolist(), units.matches.tolist(), units.magnitudes.tolist()
    ([0.8, 0.0], [1, 0], [5.0, 2.0])
    """
    w, u = hidden, references
    require(
        (match == "best" or len(w) == len(u)),
        "references have a weight for each input, and in match='own' a row for each unit",
        f"shape {u.shape} for hidden weights of shape {w.shape}",
        "pass a row for each unit, transposed if need be",
    )
    size = np.linalg.norm(w, axis=1)
    if readout is not None:
        size = size * np.linalg.norm(readout.reshape(len(readout), -1), axis=1)
    if measure == "correlation":
        w, u = _centred(w), _centred(u)
    w_norms, u_norms = np.linalg.norm(w, axis=1), np.linalg.norm(u, axis=1)
    require(
        bool((u_norms > 0).all()),
        "every reference has a direction",
        f"none at row {np.argmin(u_norms > 0)}",
        "leave out references whose weights are all "
        + ("zero" if measure == "cosine" else "the same"),
    )
    has_direction = w_norms > 0
    w = np.divide(w, w_norms[:, None], out=np.zeros_like(w), where=has_direction[:, None])
    u = u / u_norms[:, None]
    if match == "own":
        cosines, matches = (w * u).sum(axis=1), np.arange(len(w))
    else:
        all_pairs = w @ u.T
        matches = all_pairs.argmax(axis=1)
        cosines = np.take_along_axis(all_pairs, matches[:, None], axis=1)[:, 0]
    # Rounding alone goes beyond 1.
    cosines = np.where(has_direction, np.clip(cosines, -1.0, 1.0), np.nan)
    return Alignment(cosines, np.where(has_direction, matches, -1), size)


def _centred(units: np.ndarray) -> np.ndarray:
    """Subtract each unit's mean, and what rounding leaves of equal weights."""
    centred = units - units.mean(axis=1, keepdims=True)
    rounding = units.shape[1] * np.finfo(float).eps * np.abs(units).max(axis=1, initial=0.0)
    centred[np.abs(centred).max(axis=1, initial=0.0) <= rounding] = 0.0
    return centred
