r"""Similarity by values of one component: flat, or graded by how far values are apart.

An overlap kernel says that values are equal or not. Orientations, numbers, hues and residues may
be more alike if they are near, in a line or around a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float
from scipy import sparse

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Seed
from partwhole.measures._graded import Model, NestedShares, value_contrasts
from partwhole.measures._means import Means, condition_means
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["flat", "ordered", "circular", "irregular"]
MOST_VALUES = 64
LEVEL = 0.05
PRECISE = 3.0
# Notes that `kind` and its p value make.
FLAT = "distances of different values do not differ beyond noise: they have no shares"
AS_MUCH = "% of all orders of the values explain as much"


@dataclass(frozen=True, eq=False)
class GradedSimilarity:
    r"""Noise-free distances of a component's values, and what explains their differences.

    Parameters
    ----------
    component : str
    values : tuple of length V
        In the order in which neighbours are near.
    distances : float array, shape (V, V)
        Squared distance of the mean responses to two values, with the other components alike,
        summed over neurons, in squared units of the responses; 0 on the diagonal, NaN where no two
        conditions differ in these values alone. Without bias, so that they may scatter below 0.
    variation : float
        Standard deviation of the noise-free distances between different values, over their mean: 0
        for an overlap kernel.
    p_flat : float
        p value of the hypothesis that all are equal.
    p_trend : float
        The same against distances that change with the number of steps, in a line or a circle:
        it has more power where they do. NaN for values that are text, unless `order` is given:
        the alphabet is no order of what they name.
    ordered : float
        Share of their variance that the number of steps between values explains. NaN if `kind` is
        "flat".
    circular : float
        The same for steps around a circle; at most `ordered`, since it is a special case.
    p_ordered, p_circular : float
        Share of orders of the values in which steps explain as much.
    rises : bool
        Whether distances grow with the number of steps, by a line through their means.
    kind : {"flat", "ordered", "circular", "irregular"}
        "flat" unless `p_flat` or `p_trend` is below .025 (`p_flat` below .05, where `p_trend` is
        NaN). Else "circular" if `circular` is above half, and not below .9 of `ordered` or what
        that adds is not above its noise; else "ordered" if `ordered` is above half and distances
        rise; else "irregular".
    intervals : dict from "ordered" and "circular" to tuples of two floats
        Over other trials.
    confidence : float
        Level of the intervals.
    notes : tuple of str
    """

    component: str
    values: tuple[Hashable, ...]
    distances: Float[np.ndarray, "V V"]
    variation: float
    p_flat: float
    p_trend: float
    ordered: float
    circular: float
    p_ordered: float
    p_circular: float
    rises: bool
    kind: Kind
    intervals: dict[str, tuple[float, float]]
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def similarity(self) -> Float[np.ndarray, "V V"]:
        """Return similarities of values less their means over either: -1/2 H D H."""
        rows = self.distances - self.distances.mean(axis=0)
        return -0.5 * (rows - rows.mean(axis=1, keepdims=True))

    @property
    def by_steps(self) -> Float[np.ndarray, " steps"]:
        """Return the mean distance of values that are 1, 2, ..., V - 1 steps apart."""
        rows = [np.diagonal(self.distances, k) for k in range(1, len(self.values))]
        present = [row[~np.isnan(row)] for row in rows]
        return np.array([row.mean() if len(row) else nan for row in present])

    @property
    def nearest_steps(self) -> int:
        """Return at how many steps values are most alike: around if `kind` is "circular"."""
        n = len(self.values)
        first, second = np.triu_indices(n, 1)
        steps = second - first
        if self.kind == "circular":
            steps = np.minimum(steps, n - steps)
        distances = self.distances[first, second]
        present = ~np.isnan(distances)
        counts = np.bincount(steps[present], minlength=2)
        total = np.bincount(steps[present], distances[present], minlength=2)
        means = np.divide(total, counts, out=np.full(len(total), np.inf), where=counts > 0)
        return int(np.argmin(means))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each pair of values: first, second, steps, around, distance."""
        import pandas as pd

        n = len(self.values)
        pairs = list(combinations(range(n), 2))
        return pd.DataFrame(
            {
                "first": [self.values[i] for i, _ in pairs],
                "second": [self.values[j] for _, j in pairs],
                "steps": [j - i for i, j in pairs],
                "around": [min(j - i, n - j + i) for i, j in pairs],
                "distance": [self.distances[i, j] for i, j in pairs],
            }
        )


@door
def graded_similarity(
    recording: Recording,
    component: str | int,
    *,
    order: Sequence[Hashable] | None = None,
    others: Literal["equal", "averaged"] = "equal",
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> GradedSimilarity:
    r"""Measure how similarity depends on the values of one component.

    For values v and w, with the true mean :math:`M_{vu}` of the condition that combines v with the
    others' values u,

    .. math:: D_{vw} = \mathrm{mean}_u\, |M_{vu} - M_{wu}|^2,

    from products of different trials (of different groups, where the recording has groups); it
    does not depend on what is added to all responses. Over pairs of different values, D is compared
    with three nested descriptions: a constant (the overlap kernel), a number for every count of
    steps around a circle, and one for every count of steps in a line. What noise adds to the
    variance of D, and to what these explain, is taken away.

    Parameters
    ----------
    recording : Recording
        Responses are averaged over its times. Conditions need two trials, or trials in two groups.
    component : str or int
        By its name, or its place among the components.
    order : sequence of values, keyword-only, optional
        The values in the order in which neighbours are near; by default that of
        `recording.values`. Values that it leaves out are left out.
    others : {"equal", "averaged"}, keyword-only, default "equal"
        "equal" compares conditions that differ in this component alone, and averages distances;
        "averaged" compares means over the other components, without their interactions.
    confidence : float, keyword-only, default 0.95
        Of the intervals, over other trials of the same conditions and neurons.
    seed : int, keyword-only, default 0
        For pseudo-trials of neurons that were not recorded together, and for orders of values.

    Returns
    -------
    GradedSimilarity

    Raises
    ------
    InputError
        For a component that is not there, an order with other values, fewer than 3 or more than 64
        values; for "averaged", where values lack a combination with the others.

    Notes
    -----
    Distances without bias: Walther et al. (NeuroImage 2016). The comparison of nested descriptions
    is derived here. The covariance of distances is that of the influences of trials (groups), less
    what these overstate; sums of squares are compared with those of noise by an F distribution
    with Satterthwaite's degrees of freedom. There noise is at least two thirds of the covariance
    before that subtraction, since few groups often leave one near 0. Among 200 recordings without
    differences a component was then not flat in at most .05 with 3 to 12 groups, and without groups
    in at most .06, or .08 where conditions have from 2 to 60 trials. Intervals are symmetric,
    although a share near 0 is a square: in simulations they covered a share of .05 in .88 of cases.

    `structure` of `salience` is below 1 where a component is not flat. Random codes of 100 neurons
    are not flat either: distances of two such codes have a variation of .14, in no order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(8) for b in range(2)], 20, axis=0)
    >>> angle = 2 * np.pi * rows[:, 0] / 8
    >>> clean = np.stack([np.cos(angle), np.sin(angle), rows[:, 1]], axis=1)
    >>> values = (tuple(range(0, 180, 22)), ("left", "right"))
    >>> noisy = clean + rng.normal(0, 0.5, clean.shape)
    >>> hue = graded_similarity(Recording(noisy, rows, ("hue", "side"), values), "hue")
    >>> hue.kind, round(hue.circular, 1)
    ('circular', 1.0)
    """
    return graded(
        recording, component, lambda: condition_means(recording, seed=seed),
        order=order, others=others, confidence=confidence, seed=seed,
    )  # fmt: skip


def graded(
    recording: Recording,
    component: str | int,
    means_of: Callable[[], Means],
    *,
    order: Sequence[Hashable] | None = None,
    others: Literal["equal", "averaged"] = "equal",
    confidence: float = 0.95,
    seed: int = 0,
) -> GradedSimilarity:
    """Return `graded_similarity` by means of conditions, which several measures can share."""
    place = _place(recording, component)
    listed = recording.values[place]
    values = tuple(listed[i] for i in np.unique(recording.components[:, place]))
    if order is not None:
        # A complex number may equal a label, and is none.
        unknown = [v for v in order if v not in values or isinstance(v, complex)]
        require(
            not unknown and len(set(order)) == len(order),
            f"order lists values of {recording.names[place]!r}, once each",
            f"{unknown[0]!r}" if unknown else "some of them twice",
            f"choose from {', '.join(map(str, values[:20]))}",
        )
        values = tuple(values[values.index(value)] for value in order)
    require(
        3 <= len(values) <= MOST_VALUES,
        f"differences between distances are of 3 to {MOST_VALUES} values",
        len(values),
        "bin values" if len(values) > 3 else "choose a component with more",
    )
    means = means_of()
    codes = [listed.index(value) for value in values]
    contrasts, pair = value_contrasts(means.conditions, place, codes, others)
    pairs = np.array(list(combinations(range(len(values)), 2)))
    present = np.unique(pair)
    y, cautious, excess = _distances(means, contrasts, np.searchsorted(present, pair))
    nested = NestedShares(
        y, cautious - excess, cautious, pairs[present], len(values), means.degrees
    )
    first, second = pairs[present].T
    distances = np.full((len(values), len(values)), nan)
    np.fill_diagonal(distances, 0.0)
    distances[first, second] = distances[second, first] = means.scale**2 * y
    notes = list(means.notes)
    if len(present) < len(pairs):
        notes.append(
            f"{len(pairs) - len(present)} of {len(pairs)} pairs of values have no two conditions "
            "that differ in them alone"
        )
    p_flat = nested.p_value("flat")
    # Labels that are text stand in the order of the alphabet, which says nothing of them.
    in_order = order is not None or not any(isinstance(value, str) for value in values)
    p_trend = nested.p_value("trend") if in_order else nan
    shares: dict[Model, float] = {"ordered": nan, "circular": nan}
    intervals = {"ordered": (nan, nan), "circular": (nan, nan)}
    chances = {"ordered": nan, "circular": nan}
    kind: Kind = "flat"
    # Two tests share the level.
    if (min(p_flat, p_trend) < LEVEL / 2) if in_order else (p_flat < LEVEL):
        shares = {name: nested.share(name) for name in shares}
        intervals = {name: nested.interval(name, confidence) for name in shares}
        chances = nested.orders(seed)
        kind = _kind(shares, nested.p_value("rest"), nested.rises)
        if nested.precision < PRECISE:
            notes.append(
                f"the variance of distances is {nested.precision:.1f} times its standard error: "
                "shares are imprecise, and their intervals too narrow; add trials"
            )
    else:
        notes.append(FLAT)
    if chances.get(kind, 0.0) >= LEVEL:
        notes.append(f"{100 * chances[kind]:.0f} {AS_MUCH}")
    return GradedSimilarity(
        recording.names[place], values, distances, nested.variation, p_flat, p_trend,
        shares["ordered"], shares["circular"], chances["ordered"], chances["circular"],
        nested.rises, kind, intervals, float(confidence), tuple(notes),
    )  # fmt: skip


def _kind(shares: Mapping[Model, float], p_rest: float, rises: bool) -> Kind:
    ordered, circular = shares["ordered"], shares["circular"]
    if circular > 0.5 and (circular >= 0.9 * ordered or p_rest >= LEVEL):
        return "circular"
    return "ordered" if ordered > 0.5 and rises else "irregular"


def _place(recording: Recording, component: str | int) -> int:
    names = recording.names
    place = names.index(component) if component in names else component
    require(
        isinstance(place, int) and 0 <= place < len(names),
        "a component is named, or counted from 0",
        repr(component),
        f"choose from {', '.join(names)}",
    )
    assert isinstance(place, int)
    return place


def _distances(
    means: Means, contrasts: sparse.csr_matrix, pair: np.ndarray
) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, "P P"], Float[np.ndarray, "P P"]]:
    """Return mean squares of the contrasts of each pair, their covariance, and its excess.

    Influences contain noise themselves, and count what it alone adds twice: this is the excess.
    """
    counts = np.bincount(pair)
    averaging = sparse.csr_matrix((1.0 / counts[pair], (pair, np.arange(len(pair)))))
    influences = sparse.csr_matrix(means.influences(contrasts) @ averaging.T)
    covariance = (influences.T @ influences).toarray()
    excess = means.excess_covariance(contrasts, averaging)
    return averaging @ means.squares(contrasts), covariance, excess
