"""Dispersed addition: every item is seen, but only with two partners."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import epsilon_svr, interpolate, interpolation_sweep
from partwhole.study import COLOURS, Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks import Task, dispersed_addition, symbolic_addition
from partwhole_studies.overlap.held_out import held_out_line

QUESTION = (
    "Without anchors, when each item is seen with two partners only, how far from the truth are "
    "the other sums?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), appendix, dispersed training sets"
ANSWER = (
    "Unseen sums stay far from the truth until parts take up nearly all of the representation: "
    "the less is memorized, the smaller the error."
)
CAPTION = (
    "Top: four of the layouts, dark cells seen. Middle: error on unseen sums, mean over layouts "
    "with its 95 % interval; the published regression (squares) keeps a tube of .1 around the "
    "training targets, which costs what the inset shows and leaves an error at S = 1/2. "
    "Bottom: the value of each item in single layouts, and its mean over layouts, steeper the "
    "more salient the parts."
)

VALUES = tuple(range(-4, 5))
SALIENCES = tuple(step / 100 for step in range(51))
FEW = (0.1, 0.3, 0.4, 0.49)
# Mean error of exact interpolation over seeds 1 to 50, computed independently of this package.
MEANS = {0.1: 9.563902, 0.2: 7.052914, 0.3: 5.063567, 0.4: 3.079513, 0.49: 0.243260}
# Seed 1: exact interpolation, and what the published code's regression gives.
EXACT = {0.1: 8.737095, 0.3: 3.792571, 0.4: 2.010020, 0.45: 1.081716}
TUBE = {0.1: 8.8197, 0.3: 3.9378, 0.4: 2.1559, 0.45: 1.2359, 0.5: 0.1539}
# Anchors, salience, true slope and the slope of the published code's regression.
LEAKS = ((1, 0.4, 2 / 3, 0.644444), (2, 0.3, 0.6, 0.581549))


def _preset(tube: list[float]) -> list[Config]:
    leak: Config = {"part": "leak"}
    return [leak, *({"part": "layout", "seed": seed, "tube": tube} for seed in range(1, 51))]


PRESETS = {
    "quick": _preset([0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5]),
    "laptop": _preset(sorted([0.45, *(step / 50 for step in range(26))])),
    "paper": _preset(list(SALIENCES)),
}


def cell(config: Config) -> Arrays:
    if config["part"] == "leak":
        return _leak()
    task = dispersed_addition(VALUES, 2, seed=config["seed"])
    answers = interpolation_sweep(task, np.array(SALIENCES))
    kernel = OverlapKernel.from_salience
    tube = [epsilon_svr(task, kernel([s]), epsilon=0.1).test_error for s in config["tube"]]
    ridge = np.array([_additive_ridge(task, (1 - 2 * s) / s) for s in FEW])
    few = [SALIENCES.index(s) for s in FEW]
    return {
        "error": np.mean((answers - task.test_targets) ** 2, axis=1),
        "tube": np.array(tube),
        "difference": np.abs(answers[few] - ridge).max(axis=1),
        "item_value": np.array([_item_values(task, s) for s in FEW]),
        "seen": task.is_train.reshape(len(VALUES), len(VALUES)),
    }


def _leak() -> Arrays:
    """Fit addition with anchors by the published regression and exactly; return the slopes."""
    anchors = {1: [0], 2: [-2, 2]}
    slopes = []
    for p, salience, *_ in LEAKS:
        task = symbolic_addition(VALUES, anchors[p])
        kernel = OverlapKernel.from_salience([salience])
        solved = epsilon_svr(task, kernel, epsilon=0.1), interpolate(task, kernel, intercept="free")
        lines = [held_out_line(task, limit.predictions)[0].mean() for limit in solved]
        slopes.append(lines)
    return {"slopes": np.array(slopes)}


def _additive_ridge(task: Task, penalty: float) -> np.ndarray:
    """Return held-out answers of ridge regression on single items, by its normal equations."""
    n = len(VALUES)
    columns = np.hstack([np.eye(n)[task.components[:, c]] for c in (0, 1)] + [np.ones((n * n, 1))])
    seen = columns[task.is_train]
    weights = penalty * np.append(np.ones(2 * n), 0.0)
    found = np.linalg.solve(seen.T @ seen + np.diag(weights), seen.T @ task.train_targets)
    return columns[~task.is_train] @ found


def _item_values(task: Task, salience: float) -> np.ndarray:
    solved = interpolate(task, OverlapKernel.from_salience([salience]), intercept="free")
    parts = solved.parts(np.arange(len(VALUES))[:, None].repeat(2, axis=1))
    return (parts[(0,)] + parts[(1,)] + parts[()]) / 2


def gather(cells: Cells) -> xr.Dataset:
    layouts = [(config, found) for config, found in cells if config["part"] == "layout"]
    leak = next(found for config, found in cells if config["part"] == "leak")

    def together(key: str) -> np.ndarray:
        return np.stack([found[key] for _, found in layouts])

    data = xr.Dataset(
        {
            "error": (("seed", "salience"), together("error")),
            "tube_error": (("seed", "tube"), together("tube")),
            "difference": (("seed", "few"), together("difference")),
            "item_value": (("seed", "few", "number"), together("item_value")),
            "seen": (("seed", "row", "column"), together("seen")),
            "slope": (("layout", "fit"), leak["slopes"]),
        },
        coords={
            "seed": [config["seed"] for config, _ in layouts],
            "salience": list(SALIENCES),
            "tube": layouts[0][0]["tube"],
            "few": list(FEW),
            "number": list(VALUES),
            "row": list(VALUES),
            "column": list(VALUES),
            "layout": ["1 anchor, S = .4", "2 anchors, S = .3"],
            "fit": ["tube", "exact"],
        },
    )
    words = {
        "error": "mean squared error on unseen sums, exact interpolation",
        "tube_error": "mean squared error on unseen sums, regression with a tube of .1",
        "difference": "largest difference from additive ridge regression",
        "item_value": "value an item adds, mean of both components",
        "seen": "whether a sum is in the training set",
        "slope": "slope of unseen sums with anchors",
    }
    for variable, long_name in words.items():
        data[variable].attrs |= {"long_name": long_name, "units": "1"}
    return data


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_theory(data), *_defect(data)]


def _theory(data: xr.Dataset) -> list[Claim]:
    source = "Lippl & Stachenfeld (ICLR 2025), appendix, dispersed training sets"
    found = [
        Claim(
            "Mean error on unseen sums over the 50 published layouts, exact interpolation, "
            f"S = {salience}.",
            f"{source}; the number derived here",
            reference,
            float(data.error.sel(salience=salience).mean()),
            1e-3,
        )
        for salience, reference in MEANS.items()
    ]
    found += [
        Claim(
            "Mean error on unseen sums of the first layout alone, exact interpolation, "
            f"S = {salience}.",
            f"{source}; the number derived here",
            reference,
            float(data.error.sel(seed=1, salience=salience)),
            1e-6,
        )
        for salience, reference in EXACT.items()
    ]
    drop = data.error.sel(salience=0.3).values - data.error.sel(salience=0.4).values
    mean, low, high = plots.mean_interval(drop)
    found.append(
        Claim(
            "The more salient the parts, the smaller the error: how much it falls from S = .3 to "
            ".4, over layouts.",
            source,
            0.0,
            mean,
            0.0,
            (low, high),
            relation="at least",
        )
    )
    slopes = _item_slopes(data)
    for i in range(1, len(FEW)):
        mean, low, high = plots.mean_interval(slopes[:, i] - slopes[:, i - 1])
        found.append(
            Claim(
                "The more salient the parts, the steeper the items' mean values: slope at S = "
                f"{FEW[i]} less that at "
                f"{FEW[i - 1]}.",
                source,
                0.0,
                mean,
                0.0,
                (low, high),
                relation="at least",
            )
        )
    found.append(
        Claim(
            "Dispersed sums are answered as by ridge regression on single items with penalty "
            "(1 - 2S)/S: largest difference, 50 layouts, 4 saliences.",
            "derived here",
            0.0,
            float(data.difference.max(skipna=False)),
            1e-10,
            relation="at most",
        )
    )
    return found


def _defect(data: xr.Dataset) -> list[Claim]:
    """Set the published regression beside exact interpolation, both numbers in the ledger."""
    source = "Lippl & Stachenfeld (ICLR 2025), published code"
    tube = "The published curves come from support-vector regression that ignores errors below .1."
    found = []
    for i, (p, salience, slope, published) in enumerate(LEAKS):
        words = f"with {p} anchor{'s' * (p > 1)}, S = {salience}"
        exact, wide = float(data.slope[i].sel(fit="exact")), float(data.slope[i].sel(fit="tube"))
        found += [
            Claim(
                f"The published regression leaks as exact interpolation does: slope {words}.",
                f"{source}, beside proposition 5.1",
                slope,
                wide,
                1e-3,
                note=f"{tube} Exact interpolation finds {exact:.6f}.",
            ),
            Claim(
                "Regression that ignores errors below .1 reproduces the published one: leak slope "
                f"{words}.",
                source,
                published,
                wide,
                5e-3,
            ),
        ]
    at_half = float(data.error.sel(seed=1, salience=0.5))
    wide = float(data.tube_error.sel(seed=1, tube=0.5))
    found += [
        Claim(
            "Where nothing is memorized, S = 1/2, unseen sums are exact: error of exact "
            "interpolation, first layout.",
            "Lippl & Stachenfeld (ICLR 2025), theorem 4.2",
            0.0,
            at_half,
            1e-9,
        ),
        Claim(
            "Where nothing is memorized, S = 1/2, unseen sums are exact: error of the published "
            "regression, first layout.",
            source,
            0.0,
            wide,
            1e-3,
            note=f"{tube} Exact interpolation finds {abs(at_half):.6f}.",
        ),
    ]
    found += [
        Claim(
            "Regression that ignores errors below .1 reproduces the published one: error on unseen "
            "sums, first layout, "
            f"S = {salience}.",
            source,
            reference,
            float(data.tube_error.sel(seed=1, tube=salience)),
            5e-3,
        )
        for salience, reference in TUBE.items()
    ]
    return found


def _item_slopes(data: xr.Dataset) -> np.ndarray:
    """Return the least-squares slope of item values, by layout and salience."""
    x = data.number.values - data.number.values.mean()
    return data.item_value.values @ x / (x @ x)


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("1234;EEEE;LLMM", 7.4, height_ratios=[0.62, 1.1, 1.1])
    for i, seed in enumerate((1, 2, 3, 4)):
        _draw_layout(axes[str(seed)], data.seen.sel(seed=seed).values, i)
    _draw_error(axes["E"], data)
    for i, seed in enumerate((1, 2, 3, 4)):
        curve = data.item_value.sel(seed=seed, few=0.3)
        marks = plots.look(i, line=False, markersize=4) | {"linestyle": plots.DASHES[i]}
        axes["L"].plot(data.number, curve, **marks, linewidth=1.2)
    plots.name(axes["L"], -4.2, 2.6, "S = .3,\nlayouts 1 to 4")
    axes["L"].set(title="Items in single layouts", xlabel="item", ylabel="value it adds")
    mean, low, high = plots.mean_interval(data.item_value.values)
    for i, salience in enumerate(FEW):
        axes["M"].fill_between(VALUES, low[i], high[i], color=COLOURS[i], alpha=0.2, linewidth=0)
        axes["M"].plot(VALUES, mean[i], **plots.look(i, linewidth=1.4))
        plots.name(axes["M"], 4.2, mean[i, -1], f"{salience:g}", COLOURS[i])
    axes["M"].set(title="Mean over layouts, by S", xlabel="item", xlim=(-4.6, 6.0))
    for ax in (axes["L"], axes["M"]):
        ax.plot([-4, 4], [-4, 4], color=plots.QUIET, linestyle=":", linewidth=1)
        ax.set(xticks=[-4, -2, 0, 2, 4], ylim=(-4.4, 4.4))
    return drawn


def _draw_layout(ax: Axes, seen: np.ndarray, index: int) -> None:
    ax.pcolormesh(seen, cmap="Greys", vmin=0, vmax=1.4, edgecolor="#d0d0d0", linewidth=0.3)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.invert_yaxis()
    ax.set_title(f"layout {index + 1}", color=COLOURS[index], fontsize=9)
    ax.spines[["right", "top"]].set_visible(True)


def _draw_error(ax: Axes, data: xr.Dataset) -> None:
    mean, low, high = plots.mean_interval(data.error.values)
    ax.fill_between(data.salience, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    ax.plot(data.salience, mean, **plots.look(0))
    tube = data.tube_error.mean("seed")
    ax.plot(data.tube, tube, **plots.look(1, line=False, clip_on=False))
    plots.name(ax, 0.03, 6.6, "exact\ninterpolation", COLOURS[0])
    plots.name(ax, 0.14, 9.9, "published\nregression", COLOURS[1])
    inset = ax.inset_axes((0.62, 0.60, 0.36, 0.36))
    exact = data.error.sel(salience=data.tube.values).values
    mean, low, high = plots.mean_interval(data.tube_error.values - exact)
    inset.fill_between(data.tube, low, high, color=COLOURS[1], alpha=0.2, linewidth=0)
    inset.plot(data.tube, mean, **plots.look(1, linewidth=1.2))
    inset.plot(data.tube, mean, **plots.look(1, line=False, markersize=4, clip_on=False))
    inset.set(xlim=(0, 0.5), ylim=(0, None), xticks=[0, 0.5])
    inset.tick_params(labelsize=9)
    inset.set_title("published less exact", fontsize=9)
    ax.set(title="Error on unseen sums, 50 layouts", xlabel="salience S(1;2)")
    ax.set(ylabel="mean squared error", xlim=(0, 0.5), ylim=(0, None))
