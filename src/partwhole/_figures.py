"""Colours and style of the figures of studies and results, for which the extra "plot" is needed."""

from __future__ import annotations

from typing import Any

from cycler import cycler

# Okabe and Ito's palette, which people with any kind of colour vision can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=COLOURS),
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
