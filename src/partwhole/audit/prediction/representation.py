"""The measured representation: how strongly the features separate each conjunction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwhole._checks import InputError, require
from partwhole.audit.case import AuditTable
from partwhole.features import OverlapKernel
from partwhole.features.order_kernel import OrderKernel

# With more components, saliences are averaged over sets of the same size.
MOST_SETS_OF = 6


@dataclass(frozen=True)
class Representation:
    """Kernel measured on features.

    Parameters
    ----------
    kernel : OrderKernel or None
        Saliences below 0, which are noise, set to 0; None if it could not be measured.
    noise : float
        Ridge for each observation, in the kernel's unit.
    structure : float
        Share of the variance of similarity that the overlap explains; NaN if unknown.
    remarks : tuple of str
        The measurement, or the reason why it failed.
    """

    kernel: OrderKernel | None
    noise: float
    structure: float
    remarks: tuple[str, ...]


def measure(
    table: AuditTable, order: int, kernel: OverlapKernel | None = None
) -> Representation | None:
    """Return the measured saliences of the table's features, over training and all test splits.

    Parameters
    ----------
    table : AuditTable
    order : int
        K.
    kernel : OverlapKernel, optional
        A kernel that needs no measurement.

    Returns
    -------
    Representation or None
        None without features and kernel.

    Raises
    ------
    InputError
        For a kernel of another number of components.

    Notes
    -----
    Targets are not used. A combination with one row carries no information on the noise; if no
    combination has two, a row's similarity with itself is included and the noise is set to 0.
    """
    if kernel is not None:
        require(
            kernel.n_components == table.n_components,
            "a kernel has as many components as the table",
            f"{kernel.n_components} for {table.n_components}",
            "build it with that number",
        )
        cut = OrderKernel.truncate(kernel.nonnegative(), order)
        return Representation(cut, 0.0, float("nan"), ("The measured point is the given kernel.",))
    if table.features is None:
        return None
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
    from partwhole.measures import salience  # a third of the time of every import of the room

    saliences = salience(features, components, self_pairs=not repeats)
    remarks = [_sample_remark(saliences.n_samples, saliences.n_tuples, repeats)]
    if np.isnan(saliences.kappa).any():
        kernel: OverlapKernel = saliences.count_kernel
        remarks.append(
            "Some overlap sets occur in no pair of combinations, so similarities are averaged "
            "over sets of the same size."
        )
    else:
        kernel = saliences.kernel
    kernel = kernel.nonnegative()
    noise = _ridge(saliences.noise, repeats, kernel.range)
    cut = OrderKernel.truncate(kernel, order)
    return Representation(cut, noise, float(saliences.structure), tuple(remarks))


def _by_count(
    features: np.ndarray, components: np.ndarray, order: int, repeats: bool
) -> Representation:
    from partwhole.measures.count_salience import count_salience  # see `_by_set`

    saliences = count_salience(features, components, self_pairs=not repeats)
    remarks = [
        _sample_remark(len(features), saliences.n_available, repeats),
        f"With {components.shape[1]} components, similarities are averaged over sets of the same "
        "size.",
    ]
    if saliences.n_tuples < saliences.n_available:
        remarks.append(
            f"The pairs are those of {saliences.n_tuples:,} combinations drawn at random."
        )
    kernel = OrderKernel.from_similarity(saliences.similarity.tolist(), order)
    lead = float(saliences.similarity[-1] - saliences.similarity[0])
    noise = _ridge(saliences.noise, repeats, lead)
    return Representation(kernel, noise, saliences.structure, tuple(remarks))


def _sample_remark(n_rows: int, n_combinations: int, repeats: bool) -> str:
    remark = (
        f"Saliences are measured on {n_rows:,} rows of {n_combinations:,} combinations, training "
        "and test together, without the targets."
    )
    if not repeats:
        remark += (
            " With one row for each combination, the noise cannot be measured and is set to 0."
        )
    return remark


def _ridge(noise: float, repeats: bool, lead: float) -> float:
    return max(float(noise), 0.0) / lead if repeats and np.isfinite(noise) else 0.0
