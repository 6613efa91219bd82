"""The measured representation: how strongly the given features separate each conjunction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwhole._checks import InputError
from partwhole.audit.case import AuditTable, default_order
from partwhole.features import OrderKernel, OverlapKernel
from partwhole.measures import salience
from partwhole.measures.count_salience import count_salience

# Of more components the sets are not listed; saliences are those of their sizes.
MOST_SETS_OF = 6


@dataclass(frozen=True)
class Representation:
    """Hold a measured kernel.

    Parameters
    ----------
    kernel : OrderKernel or None
        Saliences below 0, which are noise, set to 0; None when it could not be measured.
    noise : float
        Ridge for each observation, in the kernel's unit.
    structure : float
        Share of the variance of similarity that the overlap explains; NaN where unknown.
    remarks : tuple of str
        How it was measured, or why it was not.
    """

    kernel: OrderKernel | None
    noise: float
    structure: float
    remarks: tuple[str, ...]


def measure(table: AuditTable, order: int | None = None) -> Representation | None:
    """Measure the saliences of the table's features, over training and all test splits.

    Parameters
    ----------
    table : AuditTable
    order : int, optional
        K; the audit's default by default.

    Returns
    -------
    Representation or None
        None without features.

    Notes
    -----
    Targets play no part. A combination with one row says nothing of the noise; where none has
    two, a row's similarity with itself is counted and the noise is taken as 0.
    """
    if table.features is None:
        return None
    order = default_order(table.n_components) if order is None else order
    rows = np.flatnonzero(table.split >= 0)
    features, components = table.features[rows], table.components[rows]
    repeats = len(np.unique(components, axis=0)) < len(components)
    try:
        if table.n_components > MOST_SETS_OF:
            return _by_count(features, components, order, repeats)
        return _by_set(features, components, order, repeats)
    except InputError as error:
        remark = f"The measured point is left out: {error}."
        return Representation(None, 0.0, float("nan"), (remark,))


def _by_set(
    features: np.ndarray, components: np.ndarray, order: int, repeats: bool
) -> Representation:
    found = salience(features, components, self_pairs=not repeats)
    remarks = [_told(found.n_samples, found.n_tuples, repeats)]
    if np.isnan(found.kappa).any():
        kernel: OverlapKernel = found.count_kernel
        remarks.append(
            "Some overlap sets occur in no pair of combinations, so similarities are averaged "
            "over sets of the same size."
        )
    else:
        kernel = found.kernel
    kernel = kernel.nonnegative()
    noise = _ridge(found.noise, repeats, kernel.range)
    cut = OrderKernel.truncate(kernel, order)
    return Representation(cut, noise, float(found.structure), tuple(remarks))


def _by_count(
    features: np.ndarray, components: np.ndarray, order: int, repeats: bool
) -> Representation:
    found = count_salience(features, components, self_pairs=not repeats)
    remarks = [
        _told(len(features), found.n_available, repeats),
        f"Of {components.shape[1]} components similarities are averaged over sets of the same "
        "size.",
    ]
    if found.n_tuples < found.n_available:
        remarks.append(f"Pairs are of {found.n_tuples:,} combinations drawn at random.")
    kernel = OrderKernel.from_similarity(found.similarity.tolist(), order)
    lead = float(found.similarity[-1] - found.similarity[0])
    noise = _ridge(found.noise, repeats, lead)
    return Representation(kernel, noise, found.structure, tuple(remarks))


def _told(n_rows: int, n_combinations: int, repeats: bool) -> str:
    remark = (
        f"Saliences are measured on {n_rows:,} rows of {n_combinations:,} combinations, training "
        "and test together; targets play no part."
    )
    if not repeats:
        remark += " With one row a combination, noise counts as similarity and is taken as 0."
    return remark


def _ridge(noise: float, repeats: bool, lead: float) -> float:
    return max(float(noise), 0.0) / lead if repeats and np.isfinite(noise) else 0.0
