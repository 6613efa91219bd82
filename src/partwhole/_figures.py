"""Colours and style of the figures of studies and results, for which the extra "plot" is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from partwhole._checks import require
from partwhole._extras import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's palette, which people with any kind of colour vision can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": f"cycler(color={[*COLOURS]})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "image.cmap": "cividis",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.hashsalt": "partwhole",
}


@contextmanager
def canvas(part: str, ax: Axes | None, size: tuple[float, float] = (4.6, 3.0)) -> Iterator[Axes]:
    """Give the axes to draw on, in the style of all figures; see `canvases`."""
    with canvases(part, None if ax is None else [ax], 1, size) as axes:
        yield axes[0]


@contextmanager
def canvases(
    part: str, axes: Sequence[Axes] | None, n: int, size: tuple[float, float]
) -> Iterator[Sequence[Axes]]:
    """Give the axes of n panels, one below the other, in the style of all figures.

    Parameters
    ----------
    part : str
        The method that draws, as users call it.
    axes : sequence of n Axes, or None
        None for a new figure of pyplot, which notebooks show by themselves.
    n : int
    size : pair of floats
        Of a new figure, in inches.

    Raises
    ------
    MissingExtraError
        Without matplotlib, of the extra "plot".
    InputError
        For another number of axes, or something else.
    """
    needs("plot", part)
    import matplotlib as mpl
    from matplotlib.axes import Axes

    require(
        axes is None or (len(axes) == n and all(isinstance(ax, Axes) for ax in axes)),
        f"{part} draws on {n} Axes of matplotlib",
        "" if axes is None else ", ".join(type(ax).__name__ for ax in axes),
        f"pass those of plt.subplots({n if n > 1 else ''}), or leave them out",
    )
    with mpl.rc_context(STYLE):
        yield _new(n, size) if axes is None else axes


def _new(n: int, size: tuple[float, float]) -> Sequence[Axes]:
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(n, 1, figsize=size, layout="constrained", sharex=True, squeeze=False)
    return axes[:, 0].tolist()
