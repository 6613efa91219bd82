"""The measured representation: how strongly the given features separate each conjunction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partwhole._checks import InputError
from partwhole.audit.case import AuditTable
from partwhole.features import OverlapKernel
from partwhole.features.subsets import MAX_COMPONENTS
from partwhole.measures import salience

LEAST_STRUCTURE = 0.5


@dataclass(frozen=True)
class Representation:
    """Hold a measured overlap kernel.

    Parameters
    ----------
    kernel : OverlapKernel or None
        Saliences below 0, which are noise, set to 0; None when it could not be measured.
    noise : float
        Ridge for each observation, in the kernel's unit.
    remarks : tuple of str
        How it was measured, or why it was not.
    """

    kernel: OverlapKernel | None
    noise: float
    remarks: tuple[str, ...]


def measure(table: AuditTable) -> Representation | None:
    """Measure the saliences of the table's features, over training and all test splits.

    Parameters
    ----------
    table : AuditTable

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
    if table.n_components > MAX_COMPONENTS:
        return Representation(None, 0.0, ())  # the prediction says so
    rows = np.flatnonzero(table.split >= 0)
    features, components = table.features[rows], table.components[rows]
    repeats = len(np.unique(components, axis=0)) < len(components)
    try:
        found = salience(features, components, self_pairs=not repeats)
        remarks = [
            f"Saliences are measured on {found.n_samples:,} rows of {found.n_tuples:,} "
            "combinations, training and test together; targets play no part."
        ]
        if np.isnan(found.kappa).any():
            kernel = found.count_kernel
            remarks.append(
                "Some overlap sets occur in no pair of combinations, so similarities are averaged "
                "over sets of the same size."
            )
        else:
            kernel = found.kernel
        kernel = kernel.nonnegative()
    except InputError as error:
        return Representation(None, 0.0, (f"The measured point is left out: {error}.",))
    if not repeats:
        remarks.append("No combination has two rows, so measurement noise is taken as 0.")
    if found.structure < LEAST_STRUCTURE:
        remarks.append(
            f"The overlap explains only {100.0 * found.structure:.0f} % of the variance of "
            "similarity, so predictions at the measured point may be far off."
        )
    remarks.extend(found.notes)
    noise = found.noise if repeats and np.isfinite(found.noise) else 0.0
    return Representation(kernel, float(max(noise, 0.0)), tuple(remarks))
