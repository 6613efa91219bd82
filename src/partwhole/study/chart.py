"""A small grammar of figures: series of theory, measurement and publication over an axis.

Theory is drawn as lines, measured means as hollow markers with 95 % intervals (with a dot for each
sample if they are too few for an interval), and published numbers as crosses. Groups differ by
colour, marker and dashes. One key below the figure explains them, so that no legend covers data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole._types import Real
from partwhole.study.claim import LEAST_SAMPLES
from partwhole.study.estimates import mean
from partwhole.study.plots import look

KINDS = {
    "theory": {"color": "0.25", "linestyle": "-"},
    "measured": {
        "color": "0.25", "linestyle": "none", "marker": "o", "markerfacecolor": "white"
    },
    "published": {"color": "0.25", "linestyle": "none", "marker": "x", "markeredgewidth": 1.6},
}  # fmt: skip
CROSS = {"marker": "x", "markeredgewidth": 1.6}


def series(
    ax: Axes,
    x: str,
    *,
    by: str | None = None,
    theory: xr.DataArray | None = None,
    measured: xr.DataArray | None = None,
    published: xr.DataArray | None = None,
    over: str = "seed",
    within: tuple[Real, Real] = (-np.inf, np.inf),
    names: Mapping[Any, str] | None = None,
    words: Mapping[str, str] | None = None,
    shift: int = 0,
) -> None:
    """Draw numbers over an axis, a series for each group.

    Parameters
    ----------
    ax : matplotlib Axes
    x : str
        Dimension along the horizontal axis. Axes without a label get the long names of the data.
    by : str, default None
        Dimension of the groups; None is a single group.
    theory, measured, published : DataArray, default None
        Arrays with the dimensions `x` and `by`; `measured` may also have `over`.
    over : str, default "seed"
        Dimension of the samples of `measured`, whose mean and interval are drawn.
    within : tuple of two floats, default unbounded
        Bounds of the measured quantity; see `mean`.
    names : mapping, default None
        Names of the groups in the key; by default their coordinates.
    words : mapping, default None
        Other names in the key for theory, measured and published.
    shift : int, default 0
        Index of the first colour and marker.

    Raises
    ------
    InputError
        For samples of `measured` beyond the bounds `within`.

    Examples
    --------
    >>> ax = Figure().subplots()
    >>> law = xr.DataArray([1.0, 0.5], {"n": [10, 20]}, ["n"], name="error")
    >>> series(ax, "n", theory=law, published=law + 0.1)
    >>> ax.get_xlabel(), ax.get_ylabel(), ax.get_legend_handles_labels()[1]
    ('n', 'error', ['theory', 'published'])
    """
    words = {kind: kind for kind in KINDS} | dict(words or {})
    arrays = {"theory": theory, "measured": measured, "published": published}
    drawn = {kind: values for kind, values in arrays.items() if values is not None}
    groups = list(dict.fromkeys(g for values in drawn.values() for g in _coords(values, by)))
    for kind, values in drawn.items():
        for group in _coords(values, by):
            i = groups.index(group) + shift
            part = values if by is None or by not in values.dims else values.sel({by: group})
            _DRAWN[kind](ax, part, x, i, over, within)
        ax.plot([], [], label=words[kind], **KINDS[kind])
    for i, group in enumerate(groups, start=shift):
        if group is not None:
            name = str((names or {}).get(group, group))
            cross = CROSS if theory is None and measured is None else {}
            ax.plot([], [], label=name, **look(i, line=theory is not None, **cross))
    first = next(values for values in (measured, published, theory) if values is not None)
    if not ax.get_xlabel():
        ax.set_xlabel(str(first[x].attrs.get("long_name", x)))
    if not ax.get_ylabel():
        ax.set_ylabel(str(first.attrs.get("long_name", first.name or "")))


def key(figure: Figure, columns: int = 4) -> Figure:
    """Add one key below the figure, with an entry for each label of its panels; return it.

    Examples
    --------
    >>> figure = Figure(layout="constrained")
    >>> for ax in figure.subplots(1, 2):
    ...     _ = ax.plot([0, 1], label="theory")
    >>> [text.get_text() for text in key(figure).legends[0].get_texts()]
    ['theory']
    """
    handles: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if handles:
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", fontsize=8.5,
            ncols=min(columns, len(handles)), borderaxespad=0,
        )  # fmt: skip
    return figure


def _coords(values: xr.DataArray, by: str | None) -> list[Any]:
    return [None] if by is None or by not in values.dims else values[by].values.tolist()


def _line(ax: Axes, values: xr.DataArray, x: str, i: int, *_: Any) -> None:
    ax.plot(values[x], values.transpose(x), **look(i))


def _crosses(ax: Axes, values: xr.DataArray, x: str, i: int, *_: Any) -> None:
    ax.plot(values[x], values.transpose(x), **look(i, line=False, **CROSS), zorder=3)


def _markers(
    ax: Axes, values: xr.DataArray, x: str, i: int, over: str, within: tuple[Real, Real]
) -> None:
    style = look(i, line=False)
    if over not in values.dims:
        ax.plot(values[x], values.transpose(x), **style)
        return
    samples = values.transpose(x, over).values
    estimates = [mean(row, within=within) for row in samples]
    ends = np.array([[e.value - e.low, e.high - e.value] for e in estimates]).T
    scarce = np.array([e.n < LEAST_SAMPLES for e in estimates])
    ax.errorbar(
        values[x].values,
        [e.value for e in estimates],
        yerr=np.where(scarce, np.nan, ends),
        **style,
    )
    for place, row in zip(values[x].values[scarce], samples[scarce], strict=True):
        ax.plot(np.full(len(row), place), row, ".", color=style["color"], markersize=3)


_DRAWN = {"theory": _line, "measured": _markers, "published": _crosses}
