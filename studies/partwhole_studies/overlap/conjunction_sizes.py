"""How much each kind of conjunction contributes: from answers, from labels, and exactly."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import max_margin
from partwhole.measures import conjunction_coefficients
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import QUIET, look, panels
from partwhole.tasks import Task, context_dependence
from partwhole_studies.conjunctions import KINDS, kind_of
from partwhole_studies.overlap._context import REPRESENTATIONS

QUESTION = (
    "What does a learner lean on when the context decides: the right pairs of context and "
    "feature, the context alone, or its memory of whole combinations?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), mean size of each kind of conjunction (panel 3e)"
ANSWER = (
    "Mostly on the right pairs where it generalises, and on the context alone where it fails; "
    "the large memorization that was published comes from taking labels in place of answers."
)
CAPTION = (
    "Mean absolute coefficient of each kind of conjunction. Bars: published. Squares: the same "
    "analysis of the predicted labels, which is what was published. Circles: of the decision "
    "values. Triangles: the learner's own decomposition, exact. In the failing representation "
    "(Rep. 2) the published memorization is made by taking labels."
)

PANELS = (("Rep. 1", 3), ("Rep. 1", 2), ("Rep. 2", 3))
WAYS = ("labels", "decision values", "exact", "exact, by duals")
PUBLISHED = np.array(
    [
        [0.616, 0.331, 0.132, 0.039, 0.069],
        [0.599, 0.314, 0.117, 0.024, 0.080],
        [0.084, 0.305, 0.132, 0.506, 0.667],
    ]
)
# The published analysis of decision values, recomputed independently.
FROM_VALUES = np.array(
    [
        [0.399, 0.074, 0.150, 0.214, 0.181],
        [0.512, 0.227, 0.117, 0.051, 0.148],
        [0.378, 0.068, 0.198, 0.409, 0.089],
    ]
)
_CELLS: list[Config] = [{"representation": name, "left_out": r} for name, r in PANELS]
PRESETS: dict[str, list[Config]] = {"quick": _CELLS, "laptop": _CELLS, "paper": _CELLS}


def cell(config: Config) -> Arrays:
    """Solve one task with one representation and size up its conjunctions in every way."""
    task = context_dependence(config["left_out"])
    kernel = OverlapKernel.from_salience(REPRESENTATIONS[config["representation"]])
    limit = max_margin(task, kernel, intercept="free")
    found = conjunction_coefficients(task, limit.predictions)
    labels = conjunction_coefficients(task, np.sign(limit.predictions))
    own, dual, kinds = [], [], []
    parts, weights = limit.parts(), _dual_weights(task, kernel)
    for chosen, values in found.values.items():
        shares = weights * kernel.saliences[chosen] * kernel.range
        for value in values:
            bearers = np.all(task.components[:, chosen] == value, axis=1)
            own.append(parts[chosen][bearers][0])
            dual.append(shares[bearers[task.is_train]].sum())
        kinds.append(kind_of(chosen, values))
    kind = np.concatenate(kinds)
    ways = [
        np.concatenate(list(labels.coefficients.values())),
        np.concatenate(list(found.coefficients.values())),
        np.array(own),
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
    """Lay the mean sizes over panel, way and kind."""
    names = [f"{config['representation']}, CD-{config['left_out']}" for config, _ in cells]
    return xr.Dataset(
        {
            "size": (
                ("panel", "way", "kind"),
                np.stack([arrays["size"] for _, arrays in cells]),
                {"long_name": "mean absolute coefficient"},
            ),
            "apart": (("panel",), np.stack([arrays["apart"] for _, arrays in cells])),
            "published": (("panel", "kind"), PUBLISHED),
        },
        coords={"panel": names, "way": list(WAYS), "kind": list(KINDS)},
    )


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the published sizes against labels, decision values and the exact decomposition."""
    weighed = []
    for panel in data.panel.to_numpy():
        one = data.sel(panel=panel)
        for kind in KINDS:
            at = one["size"].sel(kind=kind)
            published, found = float(one.published.sel(kind=kind)), float(at.sel(way="labels"))
            note = f"from decision values {float(at.sel(way='decision values')):.3f}"
            statement = f"{panel}: mean size of {kind}, from the predicted labels."
            weighed.append(Claim(statement, "panel 3e", published, found, 0.01, note=note))
        away = abs(one["size"].sel(way="decision values") - one.published)
        weighed.append(
            Claim(
                f"{panel}: the published sizes are those of the learner's decision values "
                "(largest difference).",
                "panel 3e",
                0,
                float(away.max(skipna=False)),
                0.01,
                note="the panel comes out only when predictions are turned into labels first",
            )
        )
    failing = data["size"].sel(panel="Rep. 2, CD-3", kind="memorization")
    for way in ("decision values", "exact"):
        weighed.append(
            Claim(
                "The failing representation, Rep. 2 on CD-3, memorizes as much as published: mean "
                f"size of memorization ({way}).",
                "panel 3e",
                0.667,
                float(failing.sel(way=way)),
                0.01,
                note="a label flips between seen and unseen combinations, the answer barely does",
            )
        )
    away = abs(data["size"].sel(way="decision values") - FROM_VALUES)
    statement = "Sizes from decision values match an independent computation (largest difference)."
    weighed.append(Claim(statement, "derived here", 0, float(away.max(skipna=False)), 2e-3))
    statement = (
        "The exact parts equal the salience-weighted sums of a support-vector machine's dual "
        "weights, conjunction by conjunction (largest difference)."
    )
    weighed.append(Claim(statement, "equation 2", 0, float(data.apart.max(skipna=False)), 1e-4))
    for kind, size in zip(KINDS, (0.404, 0.041, 0.137, 0.176, 0.181), strict=True):
        found = float(data["size"].sel(panel="Rep. 1, CD-3", kind=kind, way="exact, by duals"))
        statement = f"Rep. 1, CD-3: exact mean size of {kind}."
        weighed.append(Claim(statement, "derived here", size, found, 1e-3))
    return weighed


def figure(data: xr.Dataset) -> Figure:
    """Draw sizes by kind, a panel for each representation and task."""
    drawn, axes = panels(len(PANELS), 1, 7.0, sharex=True)
    place = np.arange(len(KINDS))
    for ax, panel in zip(axes[:, 0], data.panel.to_numpy(), strict=True):
        one = data.sel(panel=panel)
        ax.bar(place, one.published, width=0.72, color="#d9d9d9", label="published")
        for i, way in enumerate(("labels", "decision values", "exact")):
            marks = look((1, 0, 2)[i], line=False, markersize=6.5, label=way)
            ax.plot(place + 0.2 * (i - 1), one["size"].sel(way=way), **marks)
        fate = "fails" if panel == "Rep. 2, CD-3" else "generalises"
        ax.set(title=f"{panel}: {fate}", ylim=(0, 0.76), ylabel="mean size")
        ax.axhline(0, color=QUIET, linewidth=1)
    axes[0, 0].legend(ncols=2, loc="upper right", fontsize=9)
    axes[-1, 0].set_xticks(place, [kind.replace(" ", "\n") for kind in KINDS])
    return drawn
