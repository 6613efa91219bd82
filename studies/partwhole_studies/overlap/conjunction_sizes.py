"""How much each kind of conjunction contributes: from answers, from labels, and exactly."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import OverlapKernel
from partwhole.measures.additivity import conjunction_coefficients
from partwhole.study import Arrays, Cells, Config, key, layout, published
from partwhole.study.plots import QUIET, look, panels
from partwhole.tasks import Task, context_dependence
from partwhole_studies.conjunctions import KINDS, kind_of
from partwhole_studies.overlap.published_grid import REPRESENTATIONS

PANELS = (("Rep. 1", 3), ("Rep. 1", 2), ("Rep. 2", 3))
WAYS = ("labels", "decision values", "exact", "exact, by duals")
FAILING = "Rep. 2, CD-3"
# Mean sizes computed independently of this package: the published analysis of decision values, and
# the exact decomposition of Rep. 1 on CD-3.
FROM_VALUES = [
    [0.399, 0.074, 0.150, 0.214, 0.181],
    [0.512, 0.227, 0.117, 0.051, 0.148],
    [0.378, 0.068, 0.198, 0.409, 0.089],
]
EXACT = [0.404, 0.041, 0.137, 0.176, 0.181]
_CELLS: list[Config] = [{"representation": name, "left_out": r} for name, r in PANELS]
PRESETS: dict[str, list[Config]] = {"quick": _CELLS, "laptop": _CELLS, "paper": _CELLS}


def cell(config: Config) -> Arrays:
    """Solve one task with one representation and measure its conjunctions in every way."""
    task = context_dependence(config["left_out"])
    kernel = OverlapKernel.from_salience(REPRESENTATIONS[config["representation"]])
    limit = solve(task, kernel, fit="margin", intercept="free")
    values = conjunction_coefficients(task, limit.predictions)
    labels = conjunction_coefficients(task, np.sign(limit.predictions))
    exact, dual, kinds = [], [], []
    parts, weights = limit.parts(), _dual_weights(task, kernel)
    for subset, conjunctions in values.values.items():
        shares = weights * kernel.saliences[subset] * kernel.range
        for conjunction in conjunctions:
            bearers = np.all(task.components[:, subset] == conjunction, axis=1)
            exact.append(parts[subset][bearers][0])
            dual.append(shares[bearers[task.is_train]].sum())
        kinds.append(kind_of(subset, conjunctions))
    kind = np.concatenate(kinds)
    ways = [
        np.concatenate(list(labels.coefficients.values())),
        np.concatenate(list(values.coefficients.values())),
        np.array(exact),
        np.array(dual),
    ]
    size = [[np.abs(way[kind == k]).mean() for k in range(len(KINDS))] for way in ways]
    return {"size": np.array(size), "apart": np.abs(ways[2] - ways[3]).max()}


def _dual_weights(task: Task, kernel: OverlapKernel) -> np.ndarray:
    """Return y_i alpha_i of each training tuple, from a standard support-vector machine."""
    from sklearn.svm import SVC

    machine = SVC(C=1e10, kernel="precomputed", tol=1e-10)
    machine.fit(kernel.gram(task.train_components), task.train_targets)
    weights = np.zeros(task.n_train)
    weights[machine.support_] = np.asarray(machine.dual_coef_).ravel()
    return weights


def gather(cells: Cells) -> xr.Dataset:
    panel = [f"{config['representation']}, CD-{config['left_out']}" for config, _ in cells]
    titled = [
        (config | {"panel": name}, arrays)
        for (config, arrays), name in zip(cells, panel, strict=True)
    ]
    data = layout(
        titled,
        {"size": "way kind", "apart": ""},
        over=["panel"],
        coords={"way": list(WAYS), "kind": list(KINDS)},
        labels={"size": "mean absolute coefficient"},
    )
    bars = published(__file__, ["panel", "kind"])["size"]
    return data.assign(published=bars.sel(panel=panel, kind=list(KINDS)))


def numbers(data: xr.Dataset) -> dict[str, float | str | np.ndarray]:
    sizes = data["size"]
    gaps = np.abs(sizes - data.published).max(["panel", "kind"], skipna=False)
    failing = sizes.sel(panel=FAILING)
    memory = failing.sel(kind="memorization", way="decision values")
    largest = sizes.sel(way="exact").idxmax("kind")
    duals = sizes.sel(panel="Rep. 1, CD-3", way="exact, by duals")
    return {
        "labels_gap": float(gaps.sel(way="labels")),
        "values_gap": float(gaps.sel(way="decision values")),
        "memorization": float(memory),
        "published_memorization": float(data.published.sel(panel=FAILING, kind="memorization")),
        "succeeding": str(largest.sel(panel="Rep. 1, CD-3").item()),
        "failing": str(largest.sel(panel=FAILING).item()),
        "from_values": sizes.sel(way="decision values").to_numpy() - FROM_VALUES,
        "duals": data.apart.to_numpy(),
        "exact": duals.to_numpy() - EXACT,
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(len(PANELS), 1, 7.0, sharex=True)
    place = np.arange(len(KINDS))
    for ax, panel in zip(axes[:, 0], data.panel.to_numpy(), strict=True):
        means = data.sel(panel=panel)
        ax.bar(place, means.published, width=0.72, color="#d9d9d9", label="published")
        for i, way in enumerate(("labels", "decision values", "exact")):
            marks = look((1, 0, 2)[i], line=False, markersize=6.5, label=way)
            ax.plot(place + 0.2 * (i - 1), means["size"].sel(way=way), **marks)
        outcome = "does not generalise" if panel == FAILING else "generalises"
        ax.set(title=f"{panel}: {outcome}", ylim=(0, 0.76), ylabel="mean size")
        ax.axhline(0, color=QUIET, linewidth=1)
    axes[-1, 0].set_xticks(place, [kind.replace(" ", "\n") for kind in KINDS])
    return key(drawn)
