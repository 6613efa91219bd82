"""Pictures of saliences: a point for each set of components, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from partwhole._checks import require
from partwhole._figures import COLOURS, canvas
from partwhole._notebook import card
from partwhole.measures.salience import Salience

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def set_names(measured: Salience, names: Sequence[str] | None) -> list[str]:
    """Return a name for each non-empty set of components, in the order of `_sets_by_size`."""
    n = measured.n_components
    require(
        names is None or len(names) == n,
        f"names are one for each of {n} components",
        f"{len(names or ())} names",
        "pass one for each",
    )
    of = names or [f"component {c + 1}" for c in range(n)]
    return [" x ".join(of[c] for c in members) for members in _sets_by_size(measured)]


def _sets_by_size(measured: Salience) -> list[tuple[int, ...]]:
    return sorted(measured.saliences, key=lambda members: (len(members), members))


def _columns(measured: Salience) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return saliences and both ends of their intervals, in the order of `_sets_by_size`."""
    sets, intervals = _sets_by_size(measured), measured.saliences_interval
    low, high = np.array([intervals[members] for members in sets]).T
    return np.array([measured.saliences[members] for members in sets]), low, high


def plot_salience(measured: Salience, ax: Axes | None, names: Sequence[str] | None) -> Axes:
    """Draw the salience of every set of components; see `Salience.plot`."""
    labels = set_names(measured, names)
    values, low, high = _columns(measured)
    places = np.arange(len(values))
    with canvas("Salience.plot", ax, size=(4.6, 0.9 + 0.32 * len(values))) as ax:
        ax.axvline(0.0, color="0.7", linewidth=1.0, zorder=0)
        order = np.array([len(members) for members in _sets_by_size(measured)])
        for size in np.unique(order):
            of = np.flatnonzero(order == size)
            colour = COLOURS[(size - 1) % len(COLOURS)]
            ax.hlines(places[of], low[of], high[of], color=colour, linewidth=1.8)
            ax.plot(values[of], places[of], "o", color=colour)
        ax.set_yticks(places, labels)
        ax.set_ylim(len(values) - 0.5, -0.5)
        has_interval = bool(np.isfinite(low).any())
        level = f", with {100 * measured.confidence:.0f} % intervals" if has_interval else ""
        ax.set_xlabel(f"salience{level}")
    return ax


def card_of_salience(measured: Salience) -> str:
    """Return saliences as HTML, with a row for each set of components."""
    table = pd.DataFrame({"components": set_names(measured, None)})
    table["salience"], table["low"], table["high"] = _columns(measured)
    return card(measured, "\n".join(measured.notes), table)
