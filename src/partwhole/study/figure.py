"""Figures of studies: their style, their metadata, and their files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import matplotlib.figure

from partwhole._door import door
from partwhole._figures import COLOURS as COLOURS
from partwhole._figures import STYLE as STYLE
from partwhole._writing import naming, write_all

if TYPE_CHECKING:
    from partwhole.study.execution import Result

Format = Literal["svg", "pdf", "png"]


def draw(result: Result) -> matplotlib.figure.Figure:
    """Draw the figure of a result in the common style, with a footer that names its origin."""
    with mpl.rc_context(STYLE):
        figure = result.study.figure(result.data)
        low = _settle(figure) - 0.012
        figure.text(0.0, low, _footer(result), va="top", fontsize=6.5, color="#6b6b6b")
    return figure


def _settle(figure: matplotlib.figure.Figure) -> float:
    """Fix the layout of a figure, and return its lower edge as a share of its height.

    Keys below the panels are fixed too, because saving with a tight box would move them. The layout
    is computed once and nothing drawn for it, which would take a third of the time.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        with mpl.rc_context({"figure.constrained_layout.use": False, "figure.autolayout": False}):
            figure.set_layout_engine(None)
    low = 0.0
    for legend in figure.legends:
        corners = legend.get_window_extent().transformed(figure.transFigure.inverted())
        low = min(low, float(corners.y0))
        legend.set_loc("lower left")
        legend.set_bbox_to_anchor((corners.x0, corners.y0), figure.transFigure)
    return low


@door
def render(result: Result, format: Format = "svg") -> bytes:
    """Return the figure of a result as the bytes of a file; equal results give equal bytes."""
    attributes = result.data.attrs
    words = "; ".join(f"{name}: {value}" for name, value in attributes.items())
    title = f"partwhole {attributes['study']}"
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Title": title, "Description": words, "Date": None},
        "pdf": {"Title": title, "Subject": words, "CreationDate": None},
        "png": {"Title": title, "Description": words},
    }
    file = BytesIO()
    with mpl.rc_context(STYLE):
        figure = draw(result)
        # As with "tight", which would draw once more to find the box.
        box = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
        figure.savefig(file, format=format, bbox_inches=box, metadata=metadata[format])
    return file.getvalue()


def save_figure(result: Result, folder: Path, format: Format = "svg") -> Path:
    """Write the figure of a result, with its data as NetCDF beside it, and return its path.

    Parameters
    ----------
    result : Result
    folder : Path
        Folder of both files; created if it is absent.
    format : {"svg", "pdf", "png"}, default "svg"
        Kind of file.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the format is another.
    WriteError
        If they can't be written; earlier files are then unchanged.

    Examples
    --------
    With ``partwhole-studies`` installed:

    >>> from tempfile import TemporaryDirectory
    >>> from partwhole.study import run
    >>> with TemporaryDirectory() as folder:
    ...     result = run("solvable-tasks", store=Path(folder, "store"), progress=False)
    ...     save_figure(result, Path(folder)).name
    'overlap.solvable_tasks.svg'
    """
    picture = render(result, format)
    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.{format}"
    data = bytes(result.data.to_netcdf(engine="scipy"))
    write_all({path: picture, path.with_name(f"{result.name}.nc"): data})
    return path


def _footer(result: Result) -> str:
    attributes = result.data.attrs
    version, gathered = attributes["version"], attributes["gathered"]
    seeds = "no seeds" if attributes["seeds"] == "none" else f"seeds {attributes['seeds']}"
    drawn = "" if gathered == version else f", drawn by {gathered}"
    return (
        f"partwhole {version}{drawn} · {attributes['study']} · {attributes['preset']} · "
        f"configuration {attributes['configuration']} · {seeds}"
    )
