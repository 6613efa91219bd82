"""Components that are numbers, in bins of about equal counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from jaxtyping import Bool

from partwhole._checks import require
from partwhole.audit.reading.columns import Column, filled, listing, missing_in, near
from partwhole.audit.reading.numeric import numbers

MOST_BINS = 1000


def binned(
    columns: list[tuple[Column, Hashable]],
    bins: Mapping[Hashable, int],
    remarks: list[str],
) -> None:
    """Put the bins of numbers in the place of components, in these columns themselves.

    A bin holds about as many rows as any other, and equal numbers share a bin; its name says the
    least and the largest number in it. Missing numbers stay missing.
    """
    names = [str(name) for _, name in columns]
    for name, count in bins.items():
        require(
            str(name) in names,
            "bins are of components",
            f"{str(name)!r}, components are {listing(names)}",
            near(str(name), names, "name one of them"),
        )
        require(
            isinstance(count, int) and not isinstance(count, bool) and 2 <= count <= MOST_BINS,
            f"the number of bins is a whole number from 2 to {MOST_BINS:,}",
            f"{count!r} for {str(name)!r}",
            "pass 10, say",
        )
        place = names.index(str(name))
        column, label = columns[place]
        absent = missing_in(column, label)
        whole = column if absent.all() else filled(column, absent)
        values = numbers(whole, label, "component in bins")
        column, n_bins = _in_bins(values, count, ~absent)
        columns[place] = column, label
        remarks.append(f"The numbers of {str(name)!r} are in {n_bins} bins.")


def _in_bins(values: np.ndarray, count: int, present: Bool[np.ndarray, " n"]) -> tuple[Column, int]:
    import pandas as pd

    inner = np.quantile(values[present], np.linspace(0.0, 1.0, count + 1)[1:-1])
    place = np.searchsorted(np.unique(inner), values, side="left")
    used = np.unique(place)
    texts = []
    for i in used:
        within = values[place == i]
        low, high = (f"{end:.6g}" for end in (within.min(), within.max()))
        texts.append(low if low == high else f"{low} to {high}")
    codes = np.where(present, np.searchsorted(used, place), -1)
    return pd.Series(pd.Categorical.from_codes(codes, texts, ordered=True)), len(used)
