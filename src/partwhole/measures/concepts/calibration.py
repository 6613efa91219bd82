"""How far a decoder's or classifier's concept coordinates can be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Calibration:
    """Accuracy, Brier score, reliability and abstentions of each concept.

    Parameters
    ----------
    accuracy : float array, shape (C,)
        The share on the right side of 1/2 of the images decided on, half of each tie; NaN
        where there is none.
    brier : float array, shape (C,)
        Their mean square distance from the truth: 0.25 for one half throughout.
    error : float array, shape (C,)
        Mean over images of how far their bin's mean coordinate is from its share of ones.
    abstained : float array, shape (C,)
        The share of the images without a coordinate.
    edges : float array, shape (bins + 1,)
    counts : int array, shape (C, bins)
        Images in each bin; the last one includes its upper edge.
    coordinates, shares : float arrays, shape (C, bins)
        Each bin's mean coordinate, and its share of images with the truth 1; NaN in empty ones.
    concepts : tuple of str
    """

    accuracy: Float[np.ndarray, " C"]
    brier: Float[np.ndarray, " C"]
    error: Float[np.ndarray, " C"]
    abstained: Float[np.ndarray, " C"]
    edges: Float[np.ndarray, " edges"]
    counts: Int[np.ndarray, "C bins"]
    coordinates: Float[np.ndarray, "C bins"]
    shares: Float[np.ndarray, "C bins"]
    concepts: tuple[str, ...]

    def describe(self) -> str:
        """Return a line for each concept."""
        return "\n".join(
            f"{name}: accuracy {a:.4f}, Brier score {b:.4f}, calibration error {e:.4f}, "
            f"abstained {share:.4f}"
            for name, a, b, e, share in zip(
                self.concepts, self.accuracy, self.brier, self.error, self.abstained, strict=True
            )
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each concept and bin, empty bins included."""
        import pandas as pd

        n_concepts, n_bins = self.counts.shape
        return pd.DataFrame(
            {
                "concept": np.repeat(np.array(self.concepts, dtype=object), n_bins),
                "from": np.tile(self.edges[:-1], n_concepts),
                "to": np.tile(self.edges[1:], n_concepts),
                "count": self.counts.ravel(),
                "coordinate": self.coordinates.ravel(),
                "share": self.shares.ravel(),
            }
        )


@door(missing=("coordinates",))
def calibration(
    coordinates: Float[np.ndarray, "n C"],
    truth: Float[np.ndarray, "n C"] | Int[np.ndarray, "n C"],
    *,
    bins: Count = 10,
    concepts: tuple[str, ...] | None = None,
) -> Calibration:
    r"""Compare concept coordinates with what the images were made of.

    The Brier score is :math:`\frac1n \sum (C - y)^2`, the calibration error
    :math:`\sum_b \frac{n_b}{n} |\bar C_b - \bar y_b|` over bins of equal width.

    Parameters
    ----------
    coordinates : float array, shape (n, C)
        In 0..1, of images whose concepts are known; NaN where the decoder abstains.
    truth : int or float array, shape (n, C)
        0 or 1.
    bins : int, keyword-only, default 10
    concepts : tuple of str, keyword-only, default None
        Their names; by default "concept 0", ...

    Returns
    -------
    Calibration

    Raises
    ------
    InputError
        For no images, shapes that differ, coordinates outside 0..1, a truth other than 0 and 1,
        fewer than one bin, or names that don't fit.

    Notes
    -----
    Scores of the images decided on; the abstentions stand beside them. A coordinate is calibrated
    as a probability if bins agree with their shares; that of the linear law tells how far an
    image has come and is not one.

    Examples
    --------
    >>> coordinates = np.array([[0.9, 0.8], [0.8, 0.4], [0.1, np.nan], [0.7, 0.1]])
    >>> truth = np.array([[1, 1], [1, 1], [0, 1], [0, 0]])
    >>> print(calibration(coordinates, truth, bins=2, concepts=("blue", "small")).describe())
    blue: accuracy 0.7500, Brier score 0.1375, calibration error 0.1250, abstained 0.0000
    small: accuracy 0.6667, Brier score 0.1367, calibration error 0.2333, abstained 0.2500
    """
    readings, labels = np.asarray(coordinates, dtype=float), np.asarray(truth, dtype=float)
    require(
        readings.ndim == 2 and readings.shape == labels.shape and readings.size > 0,
        "coordinates and truth have a row for each image and a column for each concept",
        f"shapes {readings.shape} and {labels.shape}",
        "flatten leading axes with reshape(-1, C)",
    )
    decided = ~np.isnan(readings)
    inside = readings[decided]
    require(
        bool(((inside >= 0) & (inside <= 1)).all()),
        "coordinates are in 0..1, or NaN where the decoder abstains",
        f"{inside.min():g}..{inside.max():g}" if inside.size else "none",
        "pass probabilities",
    )
    require(
        bool(np.isin(labels, (0.0, 1.0)).all()),
        "truth is 0 or 1",
        np.unique(labels[~np.isin(labels, (0.0, 1.0))])[:3].tolist(),
        "pass the concepts' values that the renderer drew",
    )
    n_concepts = readings.shape[1]
    names = tuple(f"concept {i}" for i in range(n_concepts)) if concepts is None else concepts
    require(
        len(names) == n_concepts,
        "there is a name for each concept",
        f"{len(names)} for {n_concepts}",
        "leave the names out to number the concepts",
    )
    edges = np.linspace(0.0, 1.0, bins + 1)
    scores, tables = [], []
    for c in range(n_concepts):
        predicted, actual = readings[decided[:, c], c], labels[decided[:, c], c]
        place = np.clip(np.searchsorted(edges, predicted, side="right") - 1, 0, bins - 1)
        counts, means, shares = (
            np.bincount(place, weights=column, minlength=bins)
            for column in (np.ones_like(predicted), predicted, actual)
        )
        denominators = np.where(counts > 0, counts, np.nan)
        means, shares = means / denominators, shares / denominators
        tables.append((counts.astype(int), means, shares))
        right = np.where(predicted == 0.5, 0.5, (predicted > 0.5) == (actual == 1))
        if not len(predicted):
            scores.append((np.nan,) * 3)
            continue
        gap = np.nansum(counts * np.abs(means - shares)) / len(predicted)
        scores.append((right.mean(), ((predicted - actual) ** 2).mean(), gap))
    accuracy, brier, error = np.array(scores).T
    counts, means, shares = (np.stack(column) for column in zip(*tables, strict=True))
    abstained = 1.0 - decided.mean(axis=0)
    return Calibration(accuracy, brier, error, abstained, edges, counts, means, shares, names)
