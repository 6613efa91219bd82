"""Leak slope against salience: how much of a sum survives in combinations never seen."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.features import OverlapKernel
from partwhole.limits import addition_law, interpolate, memorization_leak
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks import Task, symbolic_addition
from partwhole_studies.overlap._answers import held_out_line

QUESTION = (
    "A learner has seen sums that contain an anchor item. Why does it answer new sums with a "
    "shrunken copy of the truth, and by how much?"
)
SOURCE = "Lippl & Stachenfeld (ICLR 2025), proposition 5.1 and equation 3, figure 3a"
ANSWER = (
    "Part of each sum is remembered as that pair, and what is remembered cannot help a new "
    "pair: answers shrink, less so with more anchors or more salient parts."
)
CAPTION = (
    "Top: the slope of unseen sums for 1 to 5 anchors, by the closed form (lines) and by solving "
    "the task (markers). Bottom left: an anchor off centre leaves the slope alone and adds an "
    "offset. Bottom right: unequal anchors, unequal saliences and three summands, closed form "
    "(bars) and solved (markers)."
)

VALUES = tuple(range(-4, 5))
ANCHORS = {1: (0,), 2: (-2, 2), 3: (-3, 0, 3), 4: (-4, -1, 1, 4), 5: (-4, -2, 0, 2, 4)}
OFF_CENTRE = 0.4  # the salience at which anchors off centre are shown
FIVE = (-2, -1, 0, 1, 2)
RULES = ("free", "none")
PRESETS: dict[str, list[Config]] = {
    "quick": [{"saliences": [0.05, 0.1, 0.15, 0.3, 0.4, 0.45, 0.5]}],
    "laptop": [{"saliences": [step / 50 for step in range(1, 26)]}],
    "paper": [{"saliences": [step / 100 for step in range(1, 51)]}],
}


def _line(task: Task, kernel: OverlapKernel, rule: str = "free") -> list[float]:
    """Solve the task; return the held-out slopes, the offset, the residual and the error."""
    solved = interpolate(task, kernel, intercept=rule)
    slopes, offset, residual = held_out_line(task, solved.predictions)
    return [*slopes, offset, residual, solved.test_error]


def cell(config: Config) -> Arrays:
    saliences = config["saliences"]
    one = OverlapKernel.from_salience
    layouts = {p: symbolic_addition(VALUES, own) for p, own in ANCHORS.items()}
    edges, off = symbolic_addition(VALUES, [-4, 4]), symbolic_addition(VALUES, [-4])
    cubes = symbolic_addition(FIVE, [0], n_components=3)
    kernel = one([OFF_CENTRE])
    solved = [interpolate(off, kernel, intercept=rule) for rule in RULES]
    return {
        "lines": np.array([[_line(t, one([s])) for s in saliences] for t in layouts.values()]),
        "edges": np.array([_line(edges, one([s])) for s in saliences]),
        "off_centre": np.array([_line(off, kernel, rule) for rule in RULES]),
        "off_answers": np.array([limit.test_predictions for limit in solved]),
        "off_targets": off.test_targets,
        "uneven": np.array(_line(symbolic_addition(VALUES, [[0], [-2, 2]]), one([0.3]))[:2]),
        "unlike": np.array(_line(layouts[2], one({(0,): 0.3, (1,): 0.45}))[:2]),
        "cubes": np.array([_line(cubes, one([s, t]))[0] for s, t in ((0.2, 0.05), (0.3, 0.02))]),
    }


def _variants() -> dict[str, tuple[str, float]]:
    """Return what the generalised closed forms say of each variant, with a short name."""
    cubes = []
    for shares in ([0.2, 0.05], [0.3, 0.02]):
        kernel = OverlapKernel.from_salience(shares)
        cubes.append(addition_law([FIVE] * 3, [[0]] * 3, kernel, intercept="free").slopes[0])
    return {
        "A component's slope follows the number of the other's anchors: 2 opposite, S = .3.": (
            "2 anchors\nopposite",
            memorization_leak(0.3, 2),
        ),
        "A component's slope follows the number of the other's anchors: 1 opposite, S = .3.": (
            "1 anchor\nopposite",
            memorization_leak(0.3, 1),
        ),
        "With unequal saliences the slope is pS / (pS + S12): S = .3, S12 = .25, p = 2.": (
            "S = .3\nof .3, .45",
            memorization_leak(0.3, 2, memorization=0.25),
        ),
        "With unequal saliences the slope is pS / (pS + S12): S = .45, S12 = .25, p = 2.": (
            "S = .45\nof .3, .45",
            memorization_leak(0.45, 2, memorization=0.25),
        ),
        "Three summands leak in proportion too: saliences .2 of singles and .05 of pairs.": (
            "3 summands\n.2, .05",
            float(cubes[0]),
        ),
        "Three summands leak in proportion too: saliences .3 of singles and .02 of pairs.": (
            "3 summands\n.3, .02",
            float(cubes[1]),
        ),
    }


def gather(cells: Cells) -> xr.Dataset:
    ((config, found),) = cells
    variants = np.concatenate([found["uneven"], found["unlike"], found["cubes"]])
    data = xr.Dataset(
        {
            "line": (("anchors", "salience", "column"), found["lines"]),
            "edges": (("salience", "column"), found["edges"]),
            "off_centre": (("intercept", "column"), found["off_centre"]),
            "off_answers": (("intercept", "cell"), found["off_answers"]),
            "off_targets": ("cell", found["off_targets"]),
            "variants": ("variant", variants),
        },
        coords={
            "anchors": list(ANCHORS),
            "salience": config["saliences"],
            "column": ["first", "second", "offset", "residual", "error"],
            "intercept": list(RULES),
            "variant": [short.replace("\n", " ") for short, _ in _variants().values()],
        },
    )
    words = {
        "line": "line through held-out predictions: slopes, offset, largest residual, error",
        "edges": "the same with anchors at the edges, -4 and 4",
        "off_centre": "the same with the anchor -4",
        "off_answers": "held-out predictions with the anchor -4",
        "off_targets": "true sums with the anchor -4",
        "variants": "slope of unseen sums in variants of the task",
    }
    for variable, long_name in words.items():
        data[variable].attrs |= {"long_name": long_name, "units": "1"}
    return data


def claims(data: xr.Dataset) -> list[Claim]:
    return [*_on_the_line(data), *_generalised(data), *_off_centre(data)]


def _on_the_line(data: xr.Dataset) -> list[Claim]:
    source = "Lippl & Stachenfeld (ICLR 2025), proposition 5.1"
    found = [
        Claim(
            f"With {p} anchor{'s' * (p > 1)} and S(1;2) = .3 unseen sums have slope "
            f"pS / (1 + (p - 2) S), p = {p}.",
            source,
            memorization_leak(0.3, p),
            float(data.line.sel(anchors=p, salience=0.3, column="first")),
            1e-6,
        )
        for p in ANCHORS
    ]
    residual = Claim(
        "Every unseen sum lies on a line, the true sum times the leak slope: largest distance "
        "from it, 5 layouts of anchors.",
        source,
        0.0,
        float(data.line.sel(column="residual").max()),
        1e-9,
        relation="at most",
    )
    both = data.line.sel(anchors=2, column="first") - data.edges.sel(column="first")
    layout = Claim(
        "It does not matter whether anchors lie inside or at the edge of the values: largest "
        "difference of slope between anchors ±2 and ±4.",
        source,
        0.0,
        float(np.abs(both).max()),
        1e-9,
        relation="at most",
    )
    return [*found, residual, layout]


def _generalised(data: xr.Dataset) -> list[Claim]:
    solved = data.variants.values
    return [
        Claim(statement, "derived here", theory, float(slope), 1e-6)
        for (statement, (_, theory)), slope in zip(_variants().items(), solved, strict=True)
    ]


def _off_centre(data: xr.Dataset) -> list[Claim]:
    free = data.off_centre.sel(intercept="free")
    found = [
        Claim(
            "An anchor off centre (-4) leaves the slope alone (S = .4).",
            "derived here",
            memorization_leak(OFF_CENTRE, 1),
            float(free.sel(column="first")),
            1e-6,
        ),
        Claim(
            "Unseen sums are proportional to the truth, without offset, even when the one anchor, "
            "-4, is off centre (offset, S = .4).",
            "Lippl & Stachenfeld (ICLR 2025), proposition 5.1",
            0.0,
            float(free.sel(column="offset")),
            1e-6,
            applies=False,
            note="The proposition assumes that values and anchors have mean 0. The published "
            "asymmetric curves are parallel to the symmetric ones and lie below them.",
        ),
    ]
    kernel = OverlapKernel.from_salience([OFF_CENTRE])
    task = symbolic_addition(VALUES, [-4])
    truth = np.array(VALUES, dtype=float)[task.test_components]
    for rule, words in (("free", "with a free intercept"), ("none", "without an intercept")):
        law = addition_law([VALUES] * 2, [[-4]] * 2, kernel, intercept=rule)
        line = data.off_centre.sel(intercept=rule)
        error = float(np.mean((law(truth) - task.test_targets) ** 2))
        found += [
            Claim(
                f"An anchor off centre (-4) adds an offset to unseen sums, {words} (S = .4).",
                "derived here",
                law.intercept,
                float(line.sel(column="offset")),
                1e-6,
            ),
            Claim(
                f"An anchor off centre (-4) costs this mean squared error, {words} (S = .4).",
                "derived here",
                error,
                float(line.sel(column="error")),
                1e-6,
            ),
        ]
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AA;BC", 6.6, height_ratios=[1.1, 1])
    _draw_slopes(axes["A"], data)
    _draw_off_centre(axes["B"], data)
    _draw_variants(axes["C"], data)
    return drawn


def _draw_slopes(ax: Axes, data: xr.Dataset) -> None:
    fine = np.linspace(0, 0.5, 101)
    for i, p in enumerate(ANCHORS):
        ax.plot(fine, memorization_leak(fine, p), **plots.look(i))
        solved = data.line.sel(anchors=p, column="first")
        ax.plot(data.salience, solved, **plots.look(i, line=False, clip_on=False))
        at = 0.2
        plots.name(
            ax,
            at,
            memorization_leak(at, p),
            f"{p}",
            plots.COLOURS[i],
            ha="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    plots.name(ax, 0.49, 0.09, "lines: closed form\nmarkers: solved", ha="right")
    ax.set(title="Slope, 1 to 5 anchors", xlabel="salience S(1;2)", ylabel="slope of unseen sums")
    ax.set(xlim=(0, 0.5), ylim=(0, 1))


def _draw_off_centre(ax: Axes, data: xr.Dataset) -> None:
    sums = np.array([-8.0, 8.0])
    slope = memorization_leak(OFF_CENTRE, 1)
    kernel = OverlapKernel.from_salience([OFF_CENTRE])
    ax.plot(sums, sums, color=plots.QUIET, linestyle=":", linewidth=1)
    ax.plot(sums, slope * sums, **plots.look(0))
    plots.name(ax, -8.0, -0.6, "anchor 0", plots.COLOURS[0])
    names = ("anchor -4,\nfree intercept", "anchor -4,\nno intercept")
    for i, (rule, x, y) in enumerate((("free", -0.6, -5.6), ("none", -8.0, 3.0)), start=1):
        law = addition_law([VALUES] * 2, [[-4]] * 2, kernel, intercept=rule)
        seen = np.array([-6.0, 8.0])
        ax.plot(seen, slope * seen + law.intercept, **plots.look(i))
        solved = data.off_answers.sel(intercept=rule)
        ax.plot(data.off_targets, solved, **plots.look(i, line=False, markersize=4))
        plots.name(ax, x, y, names[i - 1], plots.COLOURS[i])
    ax.set(title=f"Anchors off centre, S = {OFF_CENTRE:g}", xlabel="true sum", ylabel="answer")
    ax.set(xticks=[-8, -4, 0, 4, 8], yticks=[-8, -4, 0, 4, 8])


def _draw_variants(ax: Axes, data: xr.Dataset) -> None:
    theory = [slope for _, slope in _variants().values()]
    names = [short for short, _ in _variants().values()]
    rows = np.arange(len(names))[::-1]
    ax.barh(rows, theory, height=0.5, color="#d9e6f2", edgecolor=plots.COLOURS[0], linewidth=0.8)
    ax.plot(data.variants, rows, **plots.look(1, line=False))
    ax.set_yticks(rows, names, fontsize=9)
    ax.set(title="Variants", xlabel="slope of unseen sums", xlim=(0, 1.05))
