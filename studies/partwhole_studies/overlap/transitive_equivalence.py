"""Transitive equivalence and associative inference: out of reach for every overlap kernel."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from partwhole.features import OverlapKernel
from partwhole.limits import interpolate, max_margin, rectangles, solvability
from partwhole.measures import accuracy
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study.plots import QUIET, look, name, panels
from partwhole.tasks import Task, associative_inference, transitive_equivalence

QUESTION = (
    "Told which items belong together, can a learner with a fixed representation work out which "
    "others do, through a partner they share?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), transitive equivalence; first arXiv version, Fig. 4"
ANSWER = (
    "No: among the unseen pairs, whatever one gains another loses, so no learner of this kind "
    "gets all of them right."
)
CAPTION = (
    "Left: associative inference. Of the four unseen pairs two belong together and two do not, "
    "yet for every learner of this kind f(A, B) + f(C, D) equals f(A, D) + f(C, B). Right: with "
    "unequal anchors answers are not 0, but what one pair gains another loses: lines are the "
    "closed form, markers what is solved, and the four margins always add up to 0 (stars)."
)

EQUAL = (((2, 2), (1, 1)), ((3, 3), (2, 2)), ((5, 5), (4, 4)), ((5, 5), (1, 1)))
UNEQUAL = (((3, 3), (2, 1)), ((4, 4), (3, 1)), ((5, 5), (1, 3)))
DRAWN = UNEQUAL[0]
CURVE = np.linspace(0.02, 0.48, 12).round(10).tolist()
LAZY = 0.417


def _cells(kernels: int) -> list[Config]:
    sets = [{"sizes": list(a), "anchors": list(b), "saliences": CURVE} for a, b in EQUAL + UNEQUAL]
    everything = [*sets, {"sizes": [], "anchors": [], "saliences": CURVE}]
    return [config | {"kernels": kernels, "seed": 0} for config in everything]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(20),
    "laptop": _cells(200),
    "paper": _cells(1000),
}


def build(config: Config) -> Task:
    """Return the task of a configuration; the one without sizes is associative inference."""
    if not config["sizes"]:
        return associative_inference()
    return transitive_equivalence(config["sizes"], config["anchors"])


def contradictory(task: Task) -> np.ndarray:
    """Return the rectangles of held-out pairs whose pairs on one diagonal alone are alike."""
    corners = rectangles(task)
    return corners[np.abs(task.targets[corners] @ [1, -1, -1, 1]) == 4]


def cell(config: Config) -> Arrays:
    """Solve one task with random overlap kernels in several ways and read the unseen pairs."""
    task = build(config)
    random = np.random.default_rng(config["seed"])
    corners = contradictory(task)
    certificate = solvability(task).certificate
    assert certificate is not None
    rows: dict[str, list[float]] = {
        key: [] for key in ("free", "none", "margin", "sum", "worst", "contrast", "half", "ties")
    }
    # The full conjunction weighs at least .02, so that every training set can be separated.
    for shares in 0.98 * random.dirichlet(np.ones(3), size=config["kernels"]):
        kernel = OverlapKernel.from_salience({(0,): shares[0], (1,): shares[1]})
        limits = {
            "free": interpolate(task, kernel, intercept="free"),
            "none": interpolate(task, kernel, intercept="none"),
            "margin": max_margin(task, kernel, intercept="free"),
        }
        margins = np.stack([task.targets * limit.predictions for limit in limits.values()])
        for key, limit in limits.items():
            rows[key].append(float(np.abs(limit.test_predictions).max()))
        rows["sum"].append(float(np.abs(margins[:, corners].sum(axis=2)).max()))
        rows["worst"].append(float(margins[:, corners].min(axis=2).max()))
        outputs = limits["margin"].predictions[certificate.rows]
        rows["contrast"].append(abs(float(certificate.weights @ outputs)))
        rows["half"].append(
            accuracy(task.test_targets, limits["free"].test_predictions, tie=1e-9).value
        )
        # What a plain solver of the kernel equations answers: 0, but for rounding errors.
        weights = np.linalg.solve(kernel.gram(task.train_components), task.train_targets)
        noisy = kernel.gram(task.test_components, task.train_components) @ weights
        rows["ties"].append(accuracy(task.test_targets, noisy, tie=1e-9).ties / task.n_test)
    solved = {key: np.array(numbers) for key, numbers in rows.items()}
    verdict = solvability(task)
    return solved | {
        "curve": np.array([_by_pair(task, S) for S in config["saliences"]]),
        "wanted": np.array(certificate.total),
        "r_squared": np.array(verdict.r_squared),
    }


def _by_pair(task: Task, salience: float) -> list[float]:
    """Return the interpolant's mean margin within the first class, the last one, and across."""
    limit = interpolate(task, OverlapKernel.from_salience([salience]), intercept="free")
    alike, first = task.test_targets > 0, task.test_components[:, 0]
    half = task.n_values[0] / 2
    margins = limit.test_margins
    chosen = (alike & (first < half), alike & (first >= half), ~alike)
    return [float(margins[rows].mean()) for rows in chosen]


def margins_in_closed_form(size: int, p: int, q: int, salience: np.ndarray) -> np.ndarray:
    r"""Return margins within the first class, within the second, and across; shape (3, B).

    Two classes of `size` items with p and q anchors, interpolation with a free intercept. With
    :math:`r = (1 - 2S)/S`, P = p + q and :math:`h = -(p-q)^2 / (P(2n(P+r)/r + 2n - P))` the
    intercept is :math:`b = h(1 + 2n/r)` and items that are no anchors weigh
    :math:`(\pm(p-q) - Ph)/(P+r)`; derived here.
    """
    r, total, n = (1 - 2 * salience) / salience, p + q, size
    shift = -((p - q) ** 2) / (total * (2 * n * (total + r) / r + 2 * n - total))
    constant = shift * (1 + 2 * n / r)
    one, other = (((sign * (p - q)) - total * shift) / (total + r) for sign in (1, -1))
    return np.stack([constant + 2 * one, constant + 2 * other, -(constant + one + other)])


def gather(cells: Cells) -> xr.Dataset:
    """Lay the readings over task and kernel."""
    titles = [
        f"{config['sizes']} items, {config['anchors']} anchors"
        if config["sizes"]
        else "associative inference"
        for config, _ in cells
    ]
    keys = ("free", "none", "margin", "sum", "worst", "contrast", "half", "ties")
    readings = {
        key: (("task", "kernel"), np.stack([arrays[key] for _, arrays in cells])) for key in keys
    }
    curve = np.stack([arrays["curve"] for _, arrays in cells])
    single = {
        key: (("task",), np.stack([arrays[key] for _, arrays in cells]))
        for key in ("wanted", "r_squared")
    }
    return xr.Dataset(
        {**readings, **single, "curve": (("task", "salience", "pair"), curve)},
        coords={
            "task": titles,
            "anchors": ("task", [str(config["anchors"]) for config, _ in cells]),
            "equal": ("task", [len(set(config["anchors"])) < 2 for config, _ in cells]),
            "salience": ("salience", CURVE, {"long_name": "salience S(1;2)"}),
            "pair": ["first class", "second class", "across"],
        },
    )


def _zero(statement: str, source: str, sizes: xr.DataArray, tolerance: float) -> Claim:
    """Claim that the largest of some sizes is 0."""
    return Claim(statement, source, 0, float(sizes.max(skipna=False)), tolerance)


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the zero predictions, the rectangle's zero sum and the meaning of an accuracy."""
    theorem, here = "theorem 4.2", "derived here"
    weighed = []
    for title in data.task[data.equal].to_numpy():
        one = data.sel(task=title)
        for how, sizes, tolerance in (
            ("regression", one.free, 1e-12),
            ("regression without intercept", one.none, 1e-12),
            ("hard margin", one.margin, 1e-8),
        ):
            statement = f"{title}: every unseen pair is answered 0, {how} (largest answer)."
            weighed.append(_zero(statement, theorem, sizes, tolerance))
    inference = data.sel(task="associative inference")
    weighed += [
        _zero(
            "The four margins of every rectangle of unseen pairs add up to 0, equal anchors or "
            "not (largest sum).",
            theorem,
            data["sum"],
            1e-8,
        ),
        Claim(
            "No kernel is right on all four pairs of any rectangle (best of the worst margins).",
            theorem,
            0,
            float(data.worst.max(skipna=False)),
            1e-8,
            relation="at most",
        ),
        _zero(
            "The weighted sum of answers that certifies a task as out of reach is 0 for every "
            "kernel "
            "(largest sum).",
            here,
            data.contrast,
            1e-8,
        ),
        Claim(
            "The certificate's weighted sum of the wanted answers, associative inference.",
            here,
            4,
            float(inference.wanted),
            1e-9,
            note=solvability(associative_inference()).explain(),
        ),
        _zero(
            "Share of the unseen answers' variance within reach of any sum of seen parts "
            "(associative inference).",
            here,
            inference.r_squared,
            1e-9,
        ),
    ]
    for sizes, (p, q) in UNEQUAL:
        one = data.curve.sel(task=f"{list(sizes)} items, {[p, q]} anchors")
        law = margins_in_closed_form(sizes[0], p, q, data.salience.to_numpy()).T
        statement = (
            f"Classes with {p} and {q} anchors: closed form and solved margins agree (largest "
            "difference)."
        )
        weighed.append(_zero(statement, here, abs(one - law), 1e-9))
    answered_zero = data.sel(task="[2, 2] items, [1, 1] anchors")
    return [
        *weighed,
        Claim(
            "Accuracy on unseen pairs of transitive equivalence, for a lazy learner, is as "
            "published.",
            "first arXiv version, Fig. 4a",
            LAZY,
            float(answered_zero.half.mean()),
            0.01,
            note="an answer of 0 counts half here; what was published is chance in networks of "
            "finite width",
        ),
        Claim(
            "An accuracy by strict signs says nothing where classes have equally many anchors: a "
            "plain solver of the kernel equations answers every unseen pair with 0 but for "
            "rounding errors (smallest share of such answers over kernels).",
            "derived here; the published metric counts strict signs",
            1,
            float(answered_zero.ties.min(skipna=False)),
            0,
            note="An answer below 1e-9 in size counts as 0. The sign of such an answer depends on "
            "the computer's arithmetic library, and so does an accuracy that counts it.",
        ),
    ]


def figure(data: xr.Dataset) -> Figure:
    """Draw the rectangle of unseen pairs, and margins that cancel."""
    drawn, axes = panels(1, 2, 3.6, width_ratios=[1, 1.15])
    _grid(axes[0, 0])
    ax = axes[0, 1]
    sizes, anchors = DRAWN
    fine = np.linspace(0.005, 0.495, 200)
    law = margins_in_closed_form(sizes[0], *anchors, fine)
    solved = data.curve.sel(task=f"{list(sizes)} items, {list(anchors)} anchors")
    ax.axhline(0, color=QUIET, linewidth=1)
    for i, pair in enumerate(data.pair.to_numpy()):
        ax.plot(fine, law[i], **look(i))
        ax.plot(data.salience, solved.sel(pair=pair), **look(i, line=False))
    total = (solved * np.array([1, 1, 2])).sum("pair")
    ax.plot(data.salience, total, **look(6, line=False, marker="*", markersize=6))
    name(ax, 0.01, 0.53, "within the class\nof 2 anchors")
    name(ax, 0.01, -0.68, "within the class\nof 1 anchor")
    name(ax, 0.29, 0.16, "across classes")
    name(ax, 0.29, -0.09, "stars: sum of four")
    ax.set(
        xlabel="salience of items, S(1;2)",
        ylabel="margin",
        title="unequal anchors",
        ylim=(-0.85, 0.65),
    )
    return drawn


def _grid(ax: Axes) -> None:
    """Draw associative inference, the unseen pairs as corners of a rectangle."""
    task = associative_inference()
    items = task.values[0]
    ax.add_patch(Rectangle((1.5, 0.5), 2, 2, fill=False, linewidth=1.5, zorder=2))
    for (row, column), target, seen in zip(
        task.components, task.targets, task.is_train, strict=True
    ):
        shade = "#cfe3f2" if target > 0 else "#f6d9c8"
        cell_ = Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=2)
        ax.add_patch(cell_)
        if not seen:
            corner = (column + 0.12, row + 0.12)
            box = Rectangle(corner, 0.76, 0.76, facecolor="white", edgecolor="black", zorder=3)
            ax.add_patch(box)
        ax.text(
            column + 0.5,
            row + 0.5,
            "+" if target > 0 else "−",
            ha="center",
            va="center",
            color=QUIET if seen else "black",
            fontsize=10 if seen else 14,
            zorder=4,
            bbox={"facecolor": shade if seen else "white", "edgecolor": "none", "pad": 1},
        )
    places = np.arange(4) + 0.5
    ax.set(xlim=(0, 4), ylim=(4, 0), aspect="equal", xlabel="second item", ylabel="first item")
    ax.set(xticks=places, yticks=places, xticklabels=items, yticklabels=items)
    ax.set_title("boxed pairs are unseen; always\nf(A,B) + f(C,D) = f(A,D) + f(C,B)", fontsize=9)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
