"""Four linear layers in two and in 64 dimensions: whether the error rises again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import deep_linear_descent
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.training import IdentityRuns, train_identity
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics._small_networks import LOW, WIDE, Network

QUESTION = (
    "A small deep network unlearns the unseen combination for a while before it knows it. Does a "
    "network in 64 dimensions too?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 2c and 3"
ANSWER = (
    "Hardly: in 64 dimensions learning pauses below the plateau at which only the strong concept "
    "is known; about one seed in six rises, by a few percent of the plateau, and none of 400 by a "
    "tenth."
)
CAPTION = (
    "Networks of four linear layers, in 2 and in 64 dimensions. Top four: as run, means 2 and 4, "
    "variances of .05. Bottom four: as captioned, means 1 and 2, deviations of .05. Upper row of "
    "each: outputs at the unseen combination (star), for several seeds (thin), and training on the "
    "whole population from one seed's initial weights (dashed, over the same seed's stochastic "
    "run), as far as was trained; squares: training means. Lower row: the error there over steps; "
    "dots: each epoch of that seed, as the published figures record; dotted line: the plateau at "
    "which only the strong concept is known."
)


class Setting(NamedTuple):
    """State the means of the concepts and what their scale of .05 is."""

    means: tuple[float, float]
    scales_are: Literal["variances", "deviations"]
    words: str


# The published code and the captions differ in both; the one between parts the two changes.
SETTINGS = {
    "as run": Setting((2.0, 4.0), "variances", "means 2 and 4, variances of .05, as run"),
    "means as captioned": Setting(
        (1.0, 2.0), "variances", "means 1 and 2 as captioned, variances of .05 as run"
    ),
    "as captioned": Setting(
        (1.0, 2.0), "deviations", "means 1 and 2, deviations of .05, as captioned"
    ),
}
DRAWN = ("as run", "as captioned")
NETWORKS = {"d = 2": LOW, "d = 64": WIDE}
# One published seed: its error at the start of epochs 0 to 8.
EPOCHS = {
    "d = 2": (5.680, 1.857, 2.032, 1.919, 1.604, 0.797, 0.0987, 0.0037),
    "d = 64": (9.683, 2.136, 1.511, 1.242, 0.925, 0.651, 0.434, 0.276, 0.171),
}
BY_STEP = (0.6295, 2.083)  # the same seed in d = 2: its minimum at step 30, its maximum at 170
SHOWN = {"d = 2": 10, "d = 64": 10}


def _network(name: str, setting: str) -> Network:
    means, scales_are, _ = SETTINGS[setting]
    return replace(NETWORKS[name], means=means, scales_are=scales_are)


def _preset(low: int, wide: int, epochs: int, parts: int = 1) -> list[Config]:
    return [
        *({"network": "d = 2", "seeds": small.some(k, low), "epochs": 40} for k in range(parts)),
        *(
            {"network": "d = 64", "seeds": small.some(k, wide), "epochs": epochs}
            for k in range(parts)
        ),
    ]


# In 64 dimensions all rises of 50 seeds are over within 9 epochs, in every setting. The quick
# preset leaves out the setting between those as run and as captioned.
PRESETS: dict[str, list[Config]] = {
    "quick": [config | {"settings": list(DRAWN)} for config in _preset(60, 8, 9)],
    "laptop": _preset(500, 25, 40, parts=2),
    "paper": _preset(500, 50, 40, parts=8),
}


def cell(config: Config) -> Arrays:
    """Train networks of one dimension from some seeds, in every setting or in those asked for."""
    settings = config.get("settings", list(SETTINGS))
    networks = [_network(config["network"], setting) for setting in settings]
    runs = train_identity(
        [each.task() for each in networks],
        networks[0].architecture,
        networks[0].protocol(config["epochs"]),
        seeds=config["seeds"],
        progress=False,
    )
    loss = runs.losses[..., 0]
    # In each setting the seed that rises most is shown beside training on the population.
    top = np.array([small.rise(each).argmax() for each in loss])
    paths = [_on_population(runs, setting, int(seed)) for setting, seed in enumerate(top)]
    epochs = np.arange(config["epochs"] + 1) * runs.protocols[0].batches(runs.tasks[0].n_samples)
    return {
        "loss": loss,
        "outputs": runs.outputs[:, :, :, 0, :2],
        "steps": runs.steps,
        "epochs": epochs,
        "top": top,
        "theory": np.stack([outputs for outputs, _ in paths]),
        "theory_loss": np.stack([losses for _, losses in paths]),
    }


def _on_population(runs: IdentityRuns, setting: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return outputs and error from the initial weights of a seed, without samples."""
    task = runs.tasks[setting]
    weights, biases = small.in_concepts(runs.initial, task, [seed])
    path = deep_linear_descent(
        weights,
        task.second_moment(),
        steps=int(runs.steps[-1]),
        step_size=runs.protocols[setting].rate(task.n_dimensions),
        biases=biases,
        mean=task.mean(),
        record=runs.steps,
    )
    return path.outputs(task.probe)[0, :, :2], path.loss(task.probe)[0]


def gather(cells: Cells) -> xr.Dataset:
    """Lay errors and outputs over setting, seed and step, apart for the two dimensions."""
    settings = cells[0][0].get("settings", list(SETTINGS))
    data = xr.Dataset(coords={"setting": settings, "concept": ["weak", "strong"]})
    for name in NETWORKS:
        mine = [found for config, found in cells if config["network"] == name]
        first, seed, step = mine[0], f"seed, {name}", f"step, {name}"
        data = data.assign(
            {
                f"loss, {name}": (
                    ("setting", seed, step),
                    np.concatenate([found["loss"] for found in mine], axis=1),
                ),
                f"outputs, {name}": (
                    ("setting", seed, step, "concept"),
                    np.concatenate([found["outputs"] for found in mine], axis=1),
                ),
                f"top, {name}": ("setting", first["top"]),
                f"theory, {name}": (("setting", step, "concept"), first["theory"]),
                f"theory loss, {name}": (("setting", step), first["theory_loss"]),
                f"epoch, {name}": (f"epochs, {name}", first["epochs"]),
            }
        ).assign_coords({step: first["steps"]})
    return data


def claims(data: xr.Dataset) -> list[Claim]:
    settings = data.setting.values.tolist()
    everywhere = (_on_rises, _on_sizes, _on_the_pause, _on_records, _on_theory)
    return [
        *(claim for about in everywhere for setting in settings for claim in about(data, setting)),
        *_on_the_published_seed(data),
    ]


def _losses(data: xr.Dataset, name: str, setting: str = "as run") -> np.ndarray:
    return data[f"loss, {name}"].sel(setting=setting).values


def _on_rises(data: xr.Dataset, setting: str) -> list[Claim]:
    found = []
    for name in NETWORKS:
        losses = _losses(data, name, setting)
        share, interval = small.fraction(small.swings_back(losses))
        low = name == "d = 2"
        found.append(
            Claim(
                ("At least half of the seeds swing back" if low else "No seed swings back")
                + f" in {name[4:]} dimensions: share of {len(losses)} seeds, "
                f"{SETTINGS[setting].words}.",
                "derived here from figures 2c and 3" if low else SOURCE,
                0.5 if low else 0.0,
                share,
                0.0,
                interval,
                relation="at least" if low else "at most",
                note=small.COUNTS
                if low
                else "The published figure shows one seed, epoch by epoch. Step by step some "
                f"seeds rise, by a few percent of the plateau. {small.COUNTS}",
            )
        )
    return found


def _on_sizes(data: xr.Dataset, setting: str) -> list[Claim]:
    few, many = (
        small.rise(_losses(data, name, setting), _network(name, setting).plateau)
        for name in NETWORKS
    )
    (one, (a, b)), (other, (c, d)) = small.mean(few), small.mean(many)
    half = float(np.hypot((b - a) / 2, (d - c) / 2))
    clear, interval = small.excess(few > small.CLEAR, many > small.CLEAR)
    words = SETTINGS[setting].words
    seeds = f"{len(few)} and {len(many)} seeds, {words}"
    return [
        Claim(
            "Seeds that rise by more than 5 % of the plateau are more frequent in 2 dimensions "
            f"than in 64: difference of the shares, {seeds}.",
            SOURCE,
            0.0,
            clear,
            0.0,
            interval,
            relation="at least",
        ),
        Claim(
            f"Rises are larger in 2 dimensions than in 64: difference of the means, in plateaus, "
            f"{seeds}.",
            SOURCE,
            0.0,
            one - other,
            0.0,
            (one - other - half, one - other + half),
            relation="at least",
        ),
        Claim(
            f"In 64 dimensions no rise is large: the largest of {len(many)} seeds, in plateaus, "
            f"{words}.",
            "derived here",
            small.CLEAR,
            float(many.max()),
            0.0,
            relation="at most",
            note="Other seeds may rise further; the mean and the shares above say more.",
        ),
    ]


def halvings(steps: np.ndarray, losses: np.ndarray, plateau: float) -> np.ndarray:
    """Return for each run how long its error takes from 1 to 1/2 plateau, over 1/4 to 1/8."""
    found = []
    for loss in losses:
        # The last passage, so that rises count as time spent.
        at = [
            steps[np.flatnonzero(loss > level * plateau)[-1]] for level in (1, 1 / 2, 1 / 4, 1 / 8)
        ]
        found.append((at[1] - at[0]) / (at[3] - at[2]))
    return np.array(found)


def _on_the_pause(data: xr.Dataset, setting: str) -> list[Claim]:
    name = "d = 64"
    losses, plateau = _losses(data, name, setting), _network(name, setting).plateau
    if (losses[:, -1] > plateau / 8).any():  # smaller means take longer than a short run lasts
        return []
    ratios = halvings(data[f"step, {name}"].values, losses, plateau)
    ratio, interval = small.mean(ratios)
    return [
        Claim(
            "In 64 dimensions learning pauses below the plateau and then gathers speed: time in "
            "which the error falls from the plateau to half of it, over that from a quarter to an "
            f"eighth, mean of {len(ratios)} seeds, {SETTINGS[setting].words}.",
            SOURCE,
            1.0,
            ratio,
            0.0,
            interval,
            relation="at least",
            note="One layer's error is a sum of decaying exponentials, for which it is at most 1.",
        )
    ]


def _on_the_published_seed(data: xr.Dataset) -> list[Claim]:
    found = []
    losses = _losses(data, "d = 2")
    share, interval = small.tail(small.rise(losses), BY_STEP[1] - BY_STEP[0])
    found.append(
        Claim(
            "The published seed's rise in 2 dimensions, from .6295 at step 30 to 2.083 at step "
            f"170, is no outlier: share of {len(losses)} seeds that rise at least as far.",
            "Yang et al. (ICLR 2025), figure 2c, computed for its seed",
            0.025,
            share,
            0.0,
            interval,
            relation="at least",
            note="Below this share it would be among the 5 % of seeds furthest out on either side.",
        )
    )
    for name, epoch in (("d = 64", 1), ("d = 64", 4), ("d = 64", 8), ("d = 2", 2), ("d = 2", 5)):
        after = f"{epoch} epoch" + "s" * (epoch > 1)
        losses, value = _losses(data, name), EPOCHS[name][epoch]
        at = data[f"epoch, {name}"].values[epoch]
        here = np.array([np.interp(at, data[f"step, {name}"], loss) for loss in losses])
        share, interval = small.tail(here, value)
        found.append(
            Claim(
                f"The published seed's error of {value:g} after {after} in {name[4:]} "
                f"dimensions is no outlier: the smaller of the shares of {len(losses)} "
                "seeds above and below it.",
                "Yang et al. (ICLR 2025), figure 3, computed for its seed",
                0.025,
                share,
                0.0,
                interval,
                relation="at least",
            )
        )
    return found


def _on_records(data: xr.Dataset, setting: str) -> list[Claim]:
    name = "d = 2"
    losses, steps = _losses(data, name, setting), data[f"step, {name}"].values
    epochs = data[f"epoch, {name}"].values
    coarse = np.stack([np.interp(epochs, steps, loss) for loss in losses])
    clear = small.rise(losses, _network(name, setting).plateau) > small.CLEAR
    if clear.sum() < 2:
        return []
    means, _, words = SETTINGS[setting]
    note = (
        "For the published seed epochs show a rise of .175 where it is 1.454, 12 % of it."
        if means == LOW.means
        else "Means half as large are learned four times as slowly: an epoch hides less."
    )
    seen = small.rise(coarse[clear]) / small.rise(losses[clear])
    share, interval = small.mean(seen)
    hidden, band = small.fraction(~small.swings_back(coarse[clear]))
    return [
        Claim(
            "Recorded once an epoch, three quarters of the rise or more is hidden in 2 "
            f"dimensions: part of it that is seen, mean of the {int(clear.sum())} seeds that rise "
            f"by more than 5 % of the plateau, {words}.",
            "derived here",
            0.25,
            share,
            0.0,
            interval,
            relation="at most",
            note=note,
        ),
        Claim(
            "Most of these seeds show no rise at all when recorded once an epoch: share of "
            f"{int(clear.sum())}, {words}.",
            "derived here",
            0.5,
            hidden,
            0.0,
            band,
            relation="at least",
            note=note,
        ),
    ]


def _on_theory(data: xr.Dataset, setting: str) -> list[Claim]:
    found = []
    for name in NETWORKS:
        loss, told = _top(data, name, setting)
        gap = np.abs(loss - told) / loss[0]
        found.append(
            Claim(
                "Training on the whole population, without samples, follows the stochastic run "
                f"from the same initial weights in {name[4:]} dimensions: largest difference of "
                "the error, in units of its start, for the seed that rises most, "
                f"{SETTINGS[setting].words}.",
                "derived here",
                0.0,
                float(gap.max()),
                0.05,
                relation="at most",
            )
        )
    return [*found, _on_noise(data, setting)]


def _on_noise(data: xr.Dataset, setting: str) -> Claim:
    name = "d = 64"
    plateau = _network(name, setting).plateau
    found, told = (float(small.rise(each[None], plateau)[0]) for each in _top(data, name, setting))
    return Claim(
        "The rise in 64 dimensions is no matter of noise: of the seed that rises most, in "
        f"plateaus, against training on the whole population, {SETTINGS[setting].words}.",
        "derived here",
        told,
        found,
        0.01,
    )


def _top(data: xr.Dataset, name: str, setting: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the error of the seed that rises most, by samples and on the population."""
    seed = int(data[f"top, {name}"].sel(setting=setting))
    told = data[f"theory loss, {name}"].sel(setting=setting).values
    return _losses(data, name, setting)[seed], told


def figure(data: xr.Dataset) -> Figure:
    drawn = Figure(figsize=(plots.WIDTH, 9.6), layout="constrained")
    parts: Any = drawn.subfigures(len(DRAWN), 1, hspace=0.04)
    for part, setting in zip(parts, DRAWN, strict=True):
        words = SETTINGS[setting].words
        head, _, tail = words.rpartition(", ")
        part.suptitle(f"{tail.capitalize()}: {head}", fontsize=11)
        axes = part.subplots(2, 2)
        for column, name in enumerate(NETWORKS):
            _draw_paths(axes[0, column], data, name, setting)
            _draw_errors(axes[1, column], data, name, setting)
        axes[0, 0].set_ylabel("second concept")
        axes[1, 0].set_ylabel("error")
    return drawn


def _draw_paths(ax: Axes, data: xr.Dataset, name: str, setting: str) -> None:
    network = _network(name, setting)
    x, y = network.means
    paths = data[f"outputs, {name}"].sel(setting=setting).values
    top = int(data[f"top, {name}"].sel(setting=setting))
    for path in paths[: SHOWN[name]]:
        ax.plot(*path.T, color=plots.COLOURS[5], linewidth=0.7)
    ax.plot(*paths[top].T, **plots.look(0))
    ax.plot(*data[f"theory, {name}"].sel(setting=setting).values.T, **plots.look(1))
    ax.plot([x, 0], [0, y], "s", color=plots.QUIET, markersize=6, clip_on=False, zorder=3)
    ax.plot([x], [y], "*", color="black", markersize=11, clip_on=False, zorder=4)
    ax.set(title=f"{network.dimension} dimensions", xlabel="first concept")
    seen = np.concatenate([paths[top], *paths[: SHOWN[name]]]) / (x, y)
    low, high = seen.min(axis=0) - 0.1, np.maximum(seen.max(axis=0), 1.0) + 0.1
    ax.set(xlim=(low[0] * x, high[0] * x), ylim=(low[1] * y, high[1] * y))


def _draw_errors(ax: Axes, data: xr.Dataset, name: str, setting: str) -> None:
    network, steps = _network(name, setting), data[f"step, {name}"].values
    plateau = network.plateau
    for loss in _losses(data, name, setting)[: SHOWN[name]]:
        ax.plot(steps[1:], loss[1:], color=plots.COLOURS[5], linewidth=0.7)
    loss, told = _top(data, name, setting)
    ax.plot(steps[1:], loss[1:], **plots.look(0))
    ax.plot(steps[1:], told[1:], **plots.look(1))
    at = data[f"epoch, {name}"].values[1:17]
    marks = plots.look(0, line=False, markersize=3.5, markeredgewidth=0.9)
    ax.plot(at, np.interp(at, steps, loss), **marks, zorder=4)
    ax.axhline(plateau, color=plots.QUIET, linewidth=0.8, linestyle=":", zorder=0)
    end = 2000.0 * (LOW.plateau / plateau)  # learning slows with the square of the means
    ax.set(xscale="log", xlabel="step", xlim=(3, end), ylim=(0, 5.25 * plateau))
    if network.dimension != LOW.dimension:
        right = {"ha": "right"}
        plots.name(ax, 0.95 * end, 1.22 * plateau, "plateau", plots.QUIET, **right)
        plots.name(ax, 0.95 * end, 4.8 * plateau, "stochastic", plots.COLOURS[0], **right)
        plots.name(ax, 0.95 * end, 4.3 * plateau, "population", plots.COLOURS[1], **right)
