"""Marginal variances: the variance between conditions that every set of components brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan, prod
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import ProperFraction, Seed
from partwhole.features.subsets import set_of
from partwhole.measures._means import condition_means, degrees_of
from partwhole.measures._trial_means import Form
from partwhole.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd

Sample = Literal["trials", "neurons"]
MOST_COMPONENTS = 10
MOST_CONDITIONS = 2_000  # of an incomplete design, whose projections are matrices
RANK = 1e-10  # of an indicator's length; of dependent ones rounding leaves near 1e-15


@dataclass(frozen=True, eq=False)
class MarginalVariances:
    """Noise-free variance between conditions, by sets of components.

    Parameters
    ----------
    names : tuple of str
        The components' names.
    variances : dict from component sets to float
        Variance of the part that belongs to the set, summed over neurons, in squared units of the
        responses. Without bias, so that those of sets without a part scatter about 0.
    shares : dict from component sets to float
        The same as shares of `total`; NaN where that is not above its noise.
    intervals : dict from component sets to tuples of two floats
        Of the shares.
    dof : dict from component sets to int
        Dimension of the set's part.
    total : float
        Noise-free variance between conditions, summed over neurons.
    noise : float
        Variance of a trial about its condition's mean, summed over neurons.
    confidence : float
        Level of the intervals.
    over : {"trials", "neurons"}
        What the intervals are over.
    complete : bool
        Whether all combinations of values were measured.
    notes : tuple of str
    """

    names: tuple[str, ...]
    variances: dict[tuple[int, ...], float]
    shares: dict[tuple[int, ...], float]
    intervals: dict[tuple[int, ...], tuple[float, float]]
    dof: dict[tuple[int, ...], int]
    total: float
    noise: float
    confidence: float
    over: Sample
    complete: bool
    notes: tuple[str, ...] = ()

    @property
    def noise_share(self) -> float:
        """Return the share of noise in the variance of single trials."""
        return self.noise / (self.noise + self.total)

    @property
    def confounded(self) -> float:
        """Return the share that belongs to no set alone: 0 in a complete design.

        It is what sums over different sets have in common; below 0 where they cancel.
        """
        return 0.0 if self.complete else 1.0 - sum(self.shares.values())

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each set: components, order, dof, variance, share, low, high."""
        import pandas as pd

        sets = list(self.shares)
        return pd.DataFrame(
            {
                "components": [" x ".join(self.names[c] for c in chosen) for chosen in sets],
                "order": [len(chosen) for chosen in sets],
                "dof": list(self.dof.values()),
                "variance": list(self.variances.values()),
                "share": list(self.shares.values()),
                "low": [self.intervals[chosen][0] for chosen in sets],
                "high": [self.intervals[chosen][1] for chosen in sets],
            }
        )


@door
def marginal_variances(
    recording: Recording,
    *,
    over: Sample = "trials",
    confidence: ProperFraction = 0.95,
    seed: Seed = 0,
) -> MarginalVariances:
    r"""Return the share of the variance between conditions that each set of components brings.

    For the true means M of T conditions and the projection :math:`P_S` on what the values of the
    components in S add to sums without them,

    .. math:: v_S = \frac1T \mathrm{tr}(M^\top P_S M),

    from products of different trials (of different groups, where the recording has groups), every
    condition with the same weight. In a complete design :math:`P_S` are the orthogonal main effects
    and interactions of the analysis of variance, and shares add up to 1. In an incomplete one,
    :math:`P_S` projects on indicators of the values of S less all sums over sets of components
    that do not contain S. What is `confounded` between sets belongs to none.

    Parameters
    ----------
    recording : Recording
        Responses are averaged over its times. Conditions need two trials, or trials in two groups.
    over : {"trials", "neurons"}, keyword-only, default "trials"
        "trials" for intervals over other trials of these neurons; "neurons" over other samples of
        as many neurons from their population.
    confidence : float, keyword-only, default 0.95
        Level of the intervals.
    seed : int, keyword-only, default 0
        For the pseudo-trials of neurons that were not recorded together.

    Returns
    -------
    MarginalVariances

    Raises
    ------
    InputError
        If fewer than two conditions have two trials, or trials in two groups; for more than 10
        components; for incomplete designs of more than 2,000 conditions.

    Notes
    -----
    Kobak et al. (eLife 2016), whose marginalizations of the noisy means these are without noise;
    intervals from the influence of trials (neurons) are derived here; those of 95 % covered .93 to
    .99 in simulations. For an incomplete design the
    principle is that of `contrasts`.

    In a complete design saliences say the same in other units: v is a linear function of mean
    similarities by overlap set. With :math:`\sigma_R` their Möbius form (saliences times the lead
    of identical tuples) and :math:`n_c` values of component c,

    .. math:: v_S = \prod_{c \in S} (n_c - 1) \sum_{R \supseteq S} \sigma_R
              \prod_{c \in R} n_c^{-1} .

    A salience is what two conditions gain in similarity by sharing S; a variance also has what
    interactions add to the mean over few values. Saliences of .4, .4 and .2 on a 4 x 4 grid are
    shares of .43, .43 and .14.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat([[a, b] for a in range(4) for b in range(4)], 10, axis=0)
    >>> clean = np.hstack([2 * np.eye(4)[rows[:, 0]], np.eye(4)[rows[:, 1]]])
    >>> values = (("a", "b", "c", "d"), (1, 2, 3, 4))
    >>> noisy = Recording(clean + rng.normal(0, 1, clean.shape), rows, ("letter", "digit"), values)
    >>> parts = marginal_variances(noisy)
    >>> {chosen: round(share, 1) for chosen, share in parts.shares.items()}
    {(0,): 0.8, (1,): 0.2, (0, 1): 0.0}
    """
    from scipy.stats import t

    require(
        recording.n_components <= MOST_COMPONENTS,
        f"marginal variances are for at most {MOST_COMPONENTS} components, as all their sets count",
        recording.n_components,
        "name fewer in components=",
    )
    means = condition_means(recording, seed=seed)
    n_conditions, unit = len(means.conditions), means.scale**2
    complete = _is_complete(means.conditions)
    require(
        complete or n_conditions <= MOST_CONDITIONS,
        f"an incomplete design has at most {MOST_CONDITIONS:,} conditions",
        f"{n_conditions:,}",
        "leave out conditions of values that others lack, or components",
    )
    everything = np.full(n_conditions, 1.0 - 1.0 / n_conditions)
    total = means.quadratic(_centred, everything)
    notes = list(means.notes)
    if not total > 0:
        notes.append("differences between conditions are not above their noise: add trials")
    whole = means.quadratic_by_neuron(_centred, everything) if over == "neurons" else None
    variances: dict[tuple[int, ...], float] = {}
    shares, intervals, dof = {}, {}, {}
    for chosen, form, diagonal in _projections(means.conditions, complete):
        part = means.quadratic(form, diagonal)
        share = part / total if total > 0 else nan
        variances[chosen], shares[chosen] = unit * part / n_conditions, share
        dof[chosen] = round(float(diagonal.sum()))
        if whole is None:
            gradient = 2.0 / total * (form(means.means) - share * means.means)
            errors, degrees = means.influence(gradient), degrees_of(means, gradient)
        else:
            parts = (means.quadratic_by_neuron(form, diagonal) - share * whole) / total
            errors = (parts - parts.mean()) * np.sqrt(len(parts) / (len(parts) - 1.0))
            degrees = len(parts) - 1.0
        width = float(t.ppf(0.5 + 0.5 * confidence, degrees)) * float(np.sqrt(np.sum(errors**2)))
        intervals[chosen] = (share - width, share + width)
    return MarginalVariances(
        recording.names, variances, shares, intervals, dof, unit * total / n_conditions,
        unit * means.trial_noise, float(confidence), over, complete, tuple(notes),
    )  # fmt: skip


def _centred(values: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "T k"]:
    return values - values.mean(axis=0)


def _is_complete(conditions: np.ndarray) -> bool:
    return len(conditions) == prod([len(np.unique(column)) for column in conditions.T])


def _projections(
    conditions: np.ndarray, complete: bool
) -> Iterator[tuple[tuple[int, ...], Form, Float[np.ndarray, " T"]]]:
    """Return each set with a part, its projection over conditions, and the diagonal of that."""
    n_components = conditions.shape[1]
    masks = sorted(range(1, 1 << n_components), key=lambda mask: (mask.bit_count(), mask))
    n_values = [len(np.unique(column)) for column in conditions.T]
    for chosen in map(set_of, masks):
        if complete:
            size = prod(n_values[c] - 1 for c in chosen)
            if size:
                diagonal = np.full(len(conditions), size / len(conditions))
                yield chosen, _grid_projection(n_values, chosen), diagonal
            continue
        basis = _contrast_basis(conditions, chosen)
        if basis.shape[1]:
            yield chosen, _basis_projection(basis), np.sum(basis**2, axis=1)


def _grid_projection(n_values: list[int], chosen: tuple[int, ...]) -> Form:
    """Return the projection on a grid: means along other axes, less those along these."""

    def project(values: Float[np.ndarray, "T k"]) -> Float[np.ndarray, "T k"]:
        # Conditions are in the order of their values.
        cube = values.reshape(*n_values, -1)
        for axis in range(len(n_values)):
            mean = cube.mean(axis=axis, keepdims=True)
            cube = cube - mean if axis in chosen else mean
        return np.broadcast_to(cube, (*n_values, cube.shape[-1])).reshape(values.shape)

    return project


def _basis_projection(basis: Float[np.ndarray, "T d"]) -> Form:
    return lambda values: basis @ (basis.T @ values)


def _contrast_basis(conditions: np.ndarray, chosen: tuple[int, ...]) -> Float[np.ndarray, "T d"]:
    """Return an orthonormal basis of what the values of a set add to sums without it."""
    n_components = conditions.shape[1]
    # Sets without one of these components contain all others that do not contain the set.
    outer = [_indicators(conditions, [i for i in range(n_components) if i != c]) for c in chosen]
    without = _span(np.hstack(outer))
    part = _indicators(conditions, list(chosen))
    return _span(part - without @ (without.T @ part))


def _indicators(conditions: np.ndarray, chosen: list[int]) -> Float[np.ndarray, "T v"]:
    if not chosen:
        return np.ones((len(conditions), 1))
    _, group = np.unique(conditions[:, chosen], axis=0, return_inverse=True)
    return np.eye(int(group.max()) + 1)[group.ravel()]


def _span(matrix: Float[np.ndarray, "T v"]) -> Float[np.ndarray, "T d"]:
    left, sizes, _ = np.linalg.svd(matrix, full_matrices=False)
    return left[:, sizes > RANK * np.sqrt(len(matrix))]
