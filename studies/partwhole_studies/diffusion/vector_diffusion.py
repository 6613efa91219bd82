"""A diffusion model of points beside the exact flow of a linear network, on one task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import one_layer_flow
from partwhole.measures import learning_times, retreat
from partwhole.networks.diffusion import diffusion_model
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.study.estimates import estimate, known
from partwhole.tasks import StructuredIdentity
from partwhole.training import DiffusionRecipe, Prompt, train_diffusion
from partwhole_studies.diffusion import _reading as reading

QUESTION = (
    "A diffusion model learns to draw the points that it is asked for. Does it take up two "
    "concepts as a linear network does: the stronger one first, and more slowly towards the end?"
)
SOURCE = "Yang et al. (ICLR 2025), theorem on the one-layer model; the diffusion of points is here"
ANSWER = (
    "It takes up the stronger one first and slows down at the end, as a linear network does. Yet "
    "the weaker one, partly there at first, is lost again before it is learned: a swing that the "
    "exact flow of one layer does not have."
)
CAPTION = (
    "What a diffusion model of points draws for the unseen combination (star), for three means of "
    "the first concept; that of the second is 2. Top: paths of single models through concept "
    "space (thin), and the exact path of a one-layer linear network (thick). Bottom: both "
    "concepts over steps, mean of the models."
)

SECOND, SPREAD = 2.0, 0.05
MEANS = (0.5, 1.0, 2.0)
HALF, MOST = 0.5, 0.9
SMALL: Config = {"n": 500, "batch": 128, "samples": 200, "sampling_steps": 50, "checkpoints": 32}


def _cells(seeds: int, steps: int, means: Sequence[float] = MEANS) -> list[Config]:
    return [
        SMALL | {"mean": mean, "steps": steps, "seed": seed}
        for seed in range(seeds)
        for mean in means
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(2, 1000, MEANS[::2]),
    "laptop": _cells(5, 4000),
    "paper": _cells(20, 4000),
}


def cell(config: Config) -> Arrays:
    """Train one model, and ask it along the way for the combination that it has not seen."""
    task = _task(config["mean"], config["n"])
    points = task.sample(config["seed"]).inputs.astype(np.float32)
    model = diffusion_model("vector", condition=2, seed=config["seed"])
    steps = np.unique(np.geomspace(5, config["steps"], config["checkpoints"]).round().astype(int))
    asked = {"unseen": task.probe, "first": task.probe * [1, 0], "second": task.probe * [0, 1]}
    run = train_diffusion(
        model,
        points,
        points,
        DiffusionRecipe(
            steps=config["steps"], batch=config["batch"], sampling_steps=config["sampling_steps"]
        ),
        seed=config["seed"],
        at=steps.tolist(),
        prompts={
            name: Prompt(conditions=np.tile(where, (config["samples"], 1)).astype(np.float32))
            for name, where in asked.items()
        },
        read=lambda found: found,
        progress=False,
    )
    return {"steps": steps, "bits": run.bits} | {
        name: found / task.probe.astype(np.float32) for name, found in run.coordinates.items()
    }


def _task(mean: float, samples: int = 5000) -> StructuredIdentity:
    return StructuredIdentity((mean, SECOND), (SPREAD, SPREAD), samples=samples)


def gather(cells: Cells) -> xr.Dataset:
    """Lay mean answers, and those of each half of the samples, over settings and seeds."""
    means = sorted({config["mean"] for config, _ in cells})
    seeds = sorted({config["seed"] for config, _ in cells})
    found = {(config["mean"], config["seed"]): each for config, each in cells}
    steps = cells[0][1]["steps"]

    def laid(read: Callable[[Arrays], np.ndarray]) -> np.ndarray:
        return np.array([[read(found[mean, seed]) for seed in seeds] for mean in means], float)

    def halves(each: Arrays) -> np.ndarray:
        unseen = each["unseen"].astype(float)
        return np.stack([unseen[:, half::2].mean(axis=1) for half in (0, 1)])

    def seen(each: Arrays) -> np.ndarray:
        return np.array([each[name][-1, :, k].mean() for k, name in enumerate(("first", "second"))])

    run = ("first_mean", "seed")
    return xr.Dataset(
        {
            "answer": (
                (*run, "half", "step", "concept"), laid(halves),
                {"long_name": "mean of the samples over the combination asked for"},
            ),
            "seen": (
                (*run, "concept"), laid(seen),
                {"long_name": "mean of the samples over the training mean asked for, at the end"},
            ),
        },
        coords={
            "first_mean": means, "seed": seeds, "half": ["one", "other"], "step": steps,
            "concept": ["first", "second"],
        },
    )  # fmt: skip


def flow(mean: float, times: np.ndarray) -> np.ndarray:
    """Return the exact answers of a one-layer network from zero weights, over their targets."""
    task = _task(mean)
    path = one_layer_flow(np.zeros((2, 2)), task.second_moment(), times)
    return path.outputs(task.probe) / task.probe


def beside(mean: float) -> float:
    """Return where the exact flow has the weak concept when the strong one is nearly learned."""
    weak, strong = np.sort(_task(mean).signals)
    return float(1.0 - (1.0 - MOST) ** (weak / strong))


def lags(data: xr.Dataset) -> np.ndarray:
    """Return log how many times later the first concept is half learned, (mean, seed)."""
    answers = data.answer.mean("half").transpose("first_mean", "seed", "step", "concept").values
    times = learning_times(data.step.values.astype(float), answers, HALF, hold=3)
    with np.errstate(invalid="ignore"):
        return np.log(times[..., 0]) - np.log(times[..., 1])


def reached(data: xr.Dataset) -> np.ndarray:
    """Return what the first concept has when the second is nearly learned, (mean, seed)."""
    steps = np.log(data.step.values.astype(float))
    found = np.full((data.sizes["first_mean"], data.sizes["seed"]), np.nan)
    answers = data.answer.mean("half").transpose("first_mean", "seed", "step", "concept").values
    for at in np.ndindex(*found.shape):
        then = learning_times(steps, answers[at], MOST, hold=3)[1]
        if np.isfinite(then):
            found[at] = np.interp(then, steps, answers[at][:, 0])
    return found


def retreats(data: xr.Dataset) -> np.ndarray:
    """Return how far the first concept goes back, (mean, seed).

    When is read off one half of the samples, and how far off the other, both ways: so that noise
    adds nothing on average.
    """
    steps = data.step.values.astype(float)
    found = np.zeros((data.sizes["first_mean"], data.sizes["seed"]))
    answers = data.answer.transpose("first_mean", "seed", "half", "step", "concept").values
    for at in np.ndindex(*found.shape):
        each = []
        for one, other in (answers[at], answers[at][::-1]):
            told = retreat(steps, one, np.ones(2))
            if told.occurs[0]:
                start, end = (np.searchsorted(steps, when[0]) for when in (told.starts, told.ends))
                each.append(other[start, 0] - other[end, 0])
        found[at] = np.mean(each) if each else 0.0
    return found


def claims(data: xr.Dataset) -> list[Claim]:
    """Weigh the order, the path, the pace and the way back."""
    later, there, back = lags(data), reached(data), retreats(data)
    found = [
        Claim(
            "Training succeeds: largest distance of what is drawn for a training mean from it, as "
            "a share of the mean.",
            "derived here",
            0.05,
            float(np.abs(data.seen - 1.0).max()),
            0.0,
            relation="at most",
            note=f"{data.seen.size // 2} models.",
        )
    ]
    for i, mean in enumerate(map(float, data.first_mean.values)):
        centre, ends = estimate(known(later[i]))
        weak = mean < SECOND
        found.append(
            Claim(
                f"{'The stronger concept is learned first' if weak else 'Equal concepts are '}"
                f"{'' if weak else 'learned together'}: log of how many times later the first one "
                f"is half learned, means {mean:g} and {SECOND:g}.",
                "Yang et al. (ICLR 2025), theorem on the one-layer model",
                0.0,
                centre,
                0.0 if weak else 0.35,
                ends,
                relation="at least" if weak else "equal",
                note=f"{len(known(later[i]))} models; in the exact flow "
                f"{np.log(np.divide(*_task(mean).signals[::-1])):.2f}.",
            )
        )
        if not weak:
            continue
        centre, ends = estimate(known(there[i]))
        found.append(
            Claim(
                f"The path is that of the exact flow: what the weak concept has when the strong "
                f"one is learned to {MOST:g}, means {mean:g} and {SECOND:g}.",
                "derived here, from the exact flow of one layer",
                beside(mean),
                centre,
                0.1,
                ends,
                note="The flow begins at 0; the model is deep, and predicts noise.",
            )
        )
        centre, ends = estimate(back[i])
        found.append(
            Claim(
                f"As in the exact flow, the weak concept does not go back on its way: what it "
                f"loses again, means {mean:g} and {SECOND:g}.",
                "derived here, from the exact flow of one layer",
                0.05,
                centre,
                0.0,
                ends,
                relation="at most",
                note="When is told by one half of the samples, how far by the other.",
            )
        )
    return [*found, _slows(data)]


def _slows(data: xr.Dataset) -> Claim:
    each = data.answer.mean("half").diff("step")
    return reading.slows((each**2).sum("concept") ** 0.5, "the log of steps")


def figure(data: xr.Dataset) -> Figure:
    """Draw the paths through concept space beside the exact ones, and both concepts in time."""
    drawn, axes = plots.panels(2, data.sizes["first_mean"], 4.4, sharey=True)
    for j, mean in enumerate(map(float, data.first_mean.values)):
        _draw_path(axes[0, j], data.sel(first_mean=mean), mean)
        _draw_time(axes[1, j], data.sel(first_mean=mean))
    axes[0, 0].set_ylabel("second concept, mean 2")
    axes[1, 0].set_ylabel("answer over what is asked")
    return drawn


def _draw_path(ax: Axes, data: xr.Dataset, mean: float) -> None:
    exact = flow(mean, np.geomspace(1e-3, 1e3, 300))
    ax.plot(*exact.T, **plots.look(0, linewidth=1.4))
    for each in data.answer.mean("half").transpose("seed", "step", "concept").values:
        ax.plot(*each.T, color=plots.COLOURS[1], linewidth=0.7, alpha=0.8)
    ax.plot(1.0, 1.0, "*", color="black", markersize=9)
    ax.set(title=f"first mean {mean:g}", xlabel="first concept", xlim=(-0.2, 1.2), ylim=(-0.1, 1.2))


def _draw_time(ax: Axes, data: xr.Dataset) -> None:
    means = data.answer.mean("half").mean("seed")
    for k, name in enumerate(map(str, data.concept.values)):
        ax.plot(data.step, means.sel(concept=name), label=name, **plots.look(k))
    ax.axhline(1.0, color=plots.QUIET, linewidth=0.8)
    ax.set(xscale="log", xlabel="steps")
    ax.legend(fontsize=7, frameon=False)
