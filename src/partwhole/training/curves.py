"""Learning curves of networks of any family."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from partwhole._figures import COLOURS, canvases
from partwhole.training.diffusion.bits import Terms
from partwhole.training.results import Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, MORE, PER_KEY = 5.6, 3.2, 2.2, 0.22  # inches
MOST_LINES = 8  # runs; more are a median and a band
BAND = (0.1, 0.9)
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1.2, 1.5)))
UNITS = {
    "squared": "squared error",
    "logistic": "nats",
    "exponential": r"mean of $e^{-y f}$",
    "cross entropy": "nats",
    "bits": "bits per dimension",
}
DECADE = 10.0  # ratio from which on an axis is logarithmic
LEAST_SHARE = 1e-3  # of the largest number, below which an axis with negative ones is linear
LETTERS_IN_ROW = 60  # of a key, with its samples of lines
NAME_AND_LINE = 8  # letters beside a name


class Curve(NamedTuple):
    """A quantity of all runs on the way."""

    name: str
    places: Float[np.ndarray, "runs n"]
    values: Float[np.ndarray, "runs n"]


class Panel(NamedTuple):
    """Curves of one quantity; a share lies from 0 to 1, and losses may vary over decades."""

    label: str
    curves: list[Curve]
    kind: Literal["loss", "share", "plain"] = "loss"


def learning_curves(runs: Runs, axes: Sequence[Axes] | None) -> tuple[Axes, ...]:
    """Draw losses and scores of runs along their steps, or epochs; see `Runs.plot`."""
    panels, unit = _panels(runs)
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    looks = {
        name: {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)]}
        for i, name in enumerate(names)
    }
    in_row = max(1, min(len(names), LETTERS_IN_ROW // (NAME_AND_LINE + max(map(len, names)))))
    height = HEIGHT + MORE * (len(panels) - 1) + PER_KEY * -(-len(names) // in_row)
    is_new = axes is None
    with canvases("Runs.plot", axes, len(panels), (WIDTH, height)) as axes:
        for ax, panel in zip(axes, panels, strict=True):
            for curve in panel.curves:
                _draw(ax, curve, looks[curve.name])
            ax.set_ylabel(panel.label)
            if panel.kind == "share":
                ax.set_ylim(-0.03, 1.03)
            elif panel.kind == "loss":
                ax.set_yscale(**_scale([curve.values for curve in panel.curves]))
        axes[-1].set_xlabel(unit)
        _scale_steps(axes[-1], panels[0].curves[0].places)
        handles, title = _key(looks, len(runs.outcomes))
        whole = {"loc": "outside lower center", "ncols": in_row}
        legend = partial(axes[0].figure.legend, **whole) if is_new else axes[-1].legend
        legend(handles=handles, title=title, fontsize=9, title_fontsize=9)
    return tuple(axes)


def _panels(runs: Runs) -> tuple[list[Panel], str]:
    """Return the panels of a result, and the unit of its horizontal axis."""
    label = f"loss ({UNITS[runs.training.loss]})"
    if runs.diffusion is not None:
        places = _along(runs, runs.diffusion.bits_steps)
        by_term = zip(Terms._fields, np.moveaxis(runs.diffusion.bits, -1, 0), strict=True)
        curves = [Curve(f"{name} term", places, bits) for name, bits in by_term]
        return [Panel(label, curves)], "step"
    if runs.scores is not None:
        return _of_images(runs, label), "epoch"
    places = _along(runs, runs.steps)
    curves = [*_of_tasks("training", places, runs.task_loss)]
    if runs.test_loss is not None:
        curves += _of_tasks("test", places, runs.test_loss)
    panels = [Panel(label, curves)]
    if runs.margins is not None and np.isfinite(runs.margins).any():
        margins = Curve("training", places, runs.margins)
        panels.append(Panel("normalised margin", [margins], "plain"))
    elif runs.training_error is not None:
        error = Curve("training", places, runs.training_error)
        panels.append(Panel("error (share)", [error], "share"))
    return panels, "step"


def _of_images(runs: Runs, label: str) -> list[Panel]:
    """Return the losses of every epoch, and the scores of those that were recorded."""
    assert runs.scores is not None
    assert runs.epoch_loss is not None
    assert runs.trained_on is not None
    losses = runs.epoch_loss.reshape(len(runs.outcomes), len(runs.trained_on), -1)
    counts = np.sum(~np.isnan(losses[:, 0]), axis=-1)
    of_runs = runs.end_steps / np.maximum(counts, 1)
    places = _along(runs, runs.steps) / of_runs[:, None]
    epochs = np.tile(np.arange(1.0, losses.shape[-1] + 1.0), (len(losses), 1))
    curves = [Curve(name, epochs, losses[:, i]) for i, name in enumerate(runs.trained_on)]
    tests = [name for name in runs.scores if name not in runs.trained_on]
    curves += [Curve(name, places, runs.scores[name].loss) for name in tests]
    panels = [Panel(label, curves)]
    for key, words in (("accuracy", "accuracy"), ("error", "error (share of variance)")):
        named = {name: getattr(scores, key) for name, scores in runs.scores.items()}
        kept = [Curve(name, places, of) for name, of in named.items() if of is not None]
        if kept:
            panels.append(Panel(words, kept, "share" if key == "accuracy" else "loss"))
    return panels


def _of_tasks(
    name: str, places: Float[np.ndarray, "runs T"], losses: Float[np.ndarray, "runs *k T"]
) -> list[Curve]:
    """Return the losses of one task, or of several."""
    if losses.ndim == 2:
        return [Curve(name, places, losses)]
    return [Curve(f"{name}, task {k}", places, losses[:, k]) for k in range(losses.shape[1])]


def _along(runs: Runs, steps: np.ndarray) -> Float[np.ndarray, "runs T"]:
    """Return the steps of each run, up to its end."""
    return np.minimum(steps, runs.end_steps[:, None]).astype(float)


def _draw(ax: Axes, curve: Curve, look: dict[str, Any]) -> None:
    """Draw a curve of each run, or the median of many and a band."""
    values = np.where(np.isfinite(curve.values), curve.values, np.nan)
    alone = {"marker": "o", "markersize": 4} if values.shape[1] == 1 else {}
    if len(values) <= MOST_LINES:
        width = 1.8 if len(values) == 1 else 1.0
        for x, y in zip(curve.places, values, strict=True):
            ax.plot(x, y, linewidth=width, **look, **alone)
        return
    x = curve.places.max(axis=0)
    with warnings.catch_warnings():  # where all runs have diverged
        warnings.simplefilter("ignore", RuntimeWarning)
        low, middle, high = np.nanquantile(values, (BAND[0], 0.5, BAND[1]), axis=0)
    ax.plot(x, middle, **look, **alone)
    ax.fill_between(x, low, high, color=look["color"], alpha=0.2, linewidth=0)


def _scale(values: Iterable[np.ndarray]) -> dict[str, Any]:
    """Return the scale of an axis: logarithmic where numbers vary by a factor of ten or more."""
    numbers = np.concatenate([part.reshape(-1) for part in values])
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if sizes.size == 0 or sizes.max() < DECADE * sizes.min():
        return {"value": "linear"}
    if (numbers >= 0).all(where=np.isfinite(numbers)):
        return {"value": "log"}
    return {"value": "symlog", "linthresh": max(sizes.min(), LEAST_SHARE * sizes.max())}


def _scale_steps(ax: Axes, places: np.ndarray) -> None:
    """Make the axis of steps logarithmic, with 0, where gaps between records grow."""
    from matplotlib.ticker import MaxNLocator

    gaps = np.diff(np.unique(places.max(axis=0)))
    if gaps.size < 4 or gaps[-1] < DECADE * gaps[0]:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    else:
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.3)
        ax.set_xlim(left=0.0)


def _key(looks: dict[str, dict[str, Any]], n_runs: int) -> tuple[list[Any], str | None]:
    """Return the lines of the key with the names of all curves, and how runs are drawn."""
    from matplotlib.lines import Line2D

    title = {1: None}.get(
        n_runs,
        f"{n_runs} runs, a line each" if n_runs <= MOST_LINES else
        f"{n_runs} runs: median, and 10 to 90 %",
    )  # fmt: skip
    return [Line2D([], [], label=name, **look) for name, look in looks.items()], title
