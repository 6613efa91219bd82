r"""How many dimensions features use, and how many of them two sets of features share.

Of recordings both are those of noise-free condition means: see `recorded_dimensions` and
`shared_recordings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, overload

import numpy as np
from jaxtyping import Float

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole.measures.recorded_dimensions import recorded_dimensions
from partwhole.measures.shared_recordings import SharedRecordings, Space, shared_recordings
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SharedDimensions:
    r"""Effective number of dimensions that two sets of features share.

    Parameters
    ----------
    value : float
        ENSD, the product of overlap and both participation ratios.
    participation : tuple of two floats
        Participation ratio of either set.
    overlap : float
        :math:`\tau = \mathrm{tr}(CD)`, at most ``1 / bound``.
    space : {"features", "samples"}
        Space in which the sets were compared.
    """

    value: float
    participation: tuple[float, float]
    overlap: float
    space: Space

    @property
    def bound(self) -> float:
        """Return the most the value can be, the geometric mean of the participation ratios."""
        return sqrt(self.participation[0] * self.participation[1])

    def to_frame(self) -> pd.DataFrame:
        """Return a table of one row: value, participation_a and _b, overlap, bound and space."""
        import pandas as pd

        first, second = self.participation
        row = {
            "value": self.value,
            "participation_a": first,
            "participation_b": second,
            "overlap": self.overlap,
            "bound": self.bound,
            "space": self.space,
        }
        return pd.DataFrame([row])


@door(any_size=("features",))
def participation_ratio(
    features: Float[np.ndarray, "n p"] | Recording, *, center: bool = False
) -> float:
    r"""Count the dimensions that features use, by the spread of their second moment.

    .. math:: PR = \frac{(\mathrm{tr}\, \Sigma)^2}{\mathrm{tr}\, \Sigma^2}
                 = \frac{(\sum_i \lambda_i)^2}{\sum_i \lambda_i^2},
              \qquad \Sigma = A^\top A,

    from 1 for features along one direction to the rank of A where all directions are equally
    strong. It is the same of :math:`A A^\top`, so samples and features give one number.

    Parameters
    ----------
    features : float array, shape (n, p), or Recording
        A, a row for each input; in any unit. Of a recording, the noise-free means of its
        conditions.
    center : bool, keyword-only, default False
        Subtract every feature's mean over the inputs first. Means of recordings are always centred
        over conditions here.

    Returns
    -------
    float
        Of a recording the value of `recorded_dimensions`, which also gives an interval.

    Raises
    ------
    InputError
        For features that are not a table of finite numbers, or that are all zero.

    Examples
    --------
    >>> round(participation_ratio(np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1]])), 6)
    1.8
    """
    if isinstance(features, Recording):
        return recorded_dimensions(features).value
    a = _features("features", features, center)
    n, p = a.shape
    return 1.0 / _square(a.T @ a if p <= n else a @ a.T)


@overload
def shared_dimensions(
    a: Recording, b: Recording, *, space: Space = "features", center: bool = False
) -> SharedRecordings: ...
@overload
def shared_dimensions(
    a: np.ndarray, b: np.ndarray, *, space: Space = "features", center: bool = False
) -> SharedDimensions: ...
@door(any_size=("a", "b"))
def shared_dimensions(
    a: Float[np.ndarray, "n p"] | Recording,
    b: Float[np.ndarray, "m q"] | Recording,
    *,
    space: Space = "features",
    center: bool = False,
) -> SharedDimensions | SharedRecordings:
    r"""Count the dimensions that two sets of features of the same inputs share (ENSD).

    With second moments of trace one, C of the first set and D of the second,

    .. math:: \mathrm{ENSD} = \frac{\mathrm{tr}(C D)}{\mathrm{tr}(C^2)\, \mathrm{tr}(D^2)}
              \le \sqrt{PR_a\, PR_b} .

    It is 0 for sets without a direction in common and the participation ratio for equal ones. The
    scale of either set doesn't matter. The value may exceed the smaller participation ratio.

    Parameters
    ----------
    a : float array, shape (n, p), or Recording
        A, a row for each input.
    b : float array, shape (n, q), or Recording
        B, of the same inputs in the same order; a recording if a is one.
    space : {"features", "samples"}, keyword-only, default "features"
        "features" compares :math:`A^\top A` with :math:`B^\top B`: feature i of one set with
        feature i of the other, so p = q, as in one network before and after finetuning. The
        value then changes if one set alone is rotated. "samples" compares :math:`A A^\top` with
        :math:`B B^\top`: which inputs are alike, for networks whose units don't correspond.
    center : bool, keyword-only, default False
        Subtract every feature's mean over the inputs first. Means of recordings are always centred
        over conditions here.

    Returns
    -------
    SharedDimensions, or SharedRecordings
        Of recordings the result of `shared_recordings`, without noise.

    Raises
    ------
    InputError
        For features that are not tables of finite numbers or are all zero, sets of different
        numbers of inputs, and different numbers of features compared in feature space.

    Notes
    -----
    The effective number of shared dimensions is from Giaffar et al. (2024), for paired data sets;
    public benchmarks of similarity measures compute it from centred features by their samples.
    Lippl & Lindsey (NeurIPS 2024) compute it by features and don't centre. With samples and
    centred features, ``value / bound`` is linear centred kernel alignment (Kornblith et al.,
    ICML 2019).

    No p x p matrix is formed where p exceeds n: :math:`\mathrm{tr}(A^\top A\, B^\top B)
    = |A B^\top|^2`, the sum of all squared entries.

    Examples
    --------
    >>> a = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1]])
    >>> b = np.array([[1.0, 0, 0], [0, 2, 1], [1, 1, 0], [0, 1, 3]])
    >>> shared = shared_dimensions(a, b)
    >>> round(shared.value, 6), round(shared.overlap, 6)
    (1.17, 0.385185)
    >>> round(shared_dimensions(a, b, space="samples").value, 6)
    1.00125
    """
    if isinstance(a, Recording) or isinstance(b, Recording):
        if isinstance(a, Recording) and isinstance(b, Recording):
            return shared_recordings(a, b, space=space)
        raise InputError(
            "both are recordings or both arrays; got one of each; pass a recording's condition "
            "means as an array, or build recordings of both"
        )
    a, b = _features("a", a, center), _features("b", b, center)
    require(
        len(a) == len(b),
        "both sets of features are of the same inputs",
        f"{len(a)} and {len(b)} rows",
        "pass a row for each input, in the same order",
    )
    n, p, q = len(a), a.shape[1], b.shape[1]
    require(
        space == "samples" or p == q,
        "in feature space both sets have the same features",
        f"{p} and {q} columns",
        'pass space="samples" for features that do not correspond',
    )
    is_narrow = max(p, q) <= n
    second = (a.T @ a, b.T @ b) if is_narrow else (a @ a.T, b @ b.T)
    if (space == "features") == is_narrow:
        overlap = float(np.sum(second[0] * second[1]))
    else:
        overlap = _square(a.T @ b if is_narrow else a @ b.T)
    ratio_a, ratio_b = (1.0 / _square(moment) for moment in second)
    return SharedDimensions(ratio_a * ratio_b * overlap, (ratio_a, ratio_b), overlap, space)


def _square(matrix: np.ndarray) -> float:
    return float(np.sum(matrix**2))


def _features(name: str, values: np.ndarray, center: bool) -> np.ndarray:
    """Return features with squares that sum to one, so that both second moments have trace one."""
    size = np.abs(values).max(initial=0.0)
    require(
        size > 0,
        "features are not all zero",
        f"{name} of shape {values.shape} without another number",
        "look whether the layer's units are all silent",
    )
    scaled = values / size
    if center:
        scaled = scaled - scaled.mean(axis=0)
        # Equal rows leave the rounding of their mean.
        require(
            np.abs(scaled).max() > len(scaled) * np.finfo(float).eps,
            "centred features differ between inputs",
            f"{name} with {len(scaled)} equal rows",
            "pass center=False, or more inputs",
        )
    return scaled / np.linalg.norm(scaled)
