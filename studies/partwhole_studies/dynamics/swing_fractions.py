"""How many seeds swing back, and how much of it is left without samples."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics._small_networks import LOW, WIDE
from partwhole_studies.dynamics._swing_runs import LAWS, NETWORKS, law_cell, network_cell

QUESTION = (
    "How often does the error on an unseen combination rise again, in which networks, and is it "
    "the same seeds without sampling?"
)
SOURCE = "Yang et al. (ICLR 2025), figures 2c, 3, 13 and 14, and appendix E.2"
ANSWER = (
    "The more layers and the fewer dimensions, the more often; training on the whole population "
    "rises for the same seeds wherever a rise is large, while batches of samples add many small "
    "rises."
)
CAPTION = (
    "Left: share of seeds whose error rises again, with 95 % intervals: by at least .001 and half "
    "a percent of the error at its top, in stochastic training (circles) and in training on the "
    "whole population from the same initial weights (squares), and by over 5 % of the plateau in "
    "stochastic training (triangles); crosses: counted independently under the published "
    "protocol. Right: how far each seed's error rises, in plateaus, by both kinds of training. As "
    "run, with variances of .05; the studies `dimension` and `low_dimension` lay the captions' "
    "deviations of .05 beside them."
)

BESIDE = ("2 layers, d = 3", "3 layers, d = 3", "4 layers, d = 2")
# Seeds that rise by more than half a percent, of 24 under the published protocol.
COUNTED = {"1 layer, d = 3": 0, "2 layers, d = 3": 5, "3 layers, d = 3": 9, "4 layers, d = 2": 18}
NEVER = ("1 layer, d = 3", "1 layer, d = 2", "4 layers, d = 64")
# What the quick preset has time for beside training on samples; the others take every route.
ALSO_AT_FIRST = {
    "3 layers, d = 3": ["population"],
    "1 layer, d = 2": ["population"],
    "4 layers, d = 2": ["population"],
}
LAYERS = (1, 2, 3, 4)
# Of 10 Gaussian starts in three dimensions, by layers.
GAUSSIAN = {2: 3, 3: 4, 4: 5}


def _preset(seeds: int, low: int, wide: int, starts: int, *, all_routes: bool) -> list[Config]:
    networks = []
    for name, each in NETWORKS.items():
        count = {LOW: low, WIDE: wide}.get(each, seeds)
        also = [] if each is WIDE else ["population", *(["flow"] if each is LOW else [])]
        networks += [
            {
                "part": "network",
                "network": name,
                "seeds": list(range(first, first + min(500, count))),
                "epochs": 4 if each is WIDE else 40,
                "also": also if all_routes else ALSO_AT_FIRST.get(name, []),
            }
            for first in range(0, count, 500)
        ]
    laws = [{"part": "law", "layers": layers, "seeds": list(range(starts))} for layers in LAYERS]
    return [*networks, *laws]


PRESETS: dict[str, list[Config]] = {
    "quick": _preset(60, 80, 8, 50, all_routes=False),
    "laptop": _preset(500, 1000, 80, 200, all_routes=True),
    "paper": _preset(4000, 4000, 500, 1000, all_routes=True),
}


def cell(config: Config) -> Arrays:
    return law_cell(config) if config["part"] == "law" else network_cell(config)


def gather(cells: Cells) -> xr.Dataset:
    """Lay what was read over the seeds of each network, and over the starts of each law."""
    data = xr.Dataset()
    for name in NETWORKS:
        mine = [found for config, found in cells if config.get("network") == name]
        for key in mine[0]:
            values = np.concatenate([found[key] for found in mine])
            data[variable(key, name)] = (variable("seed", name), values)
    laws = {config["layers"]: found for config, found in cells if config["part"] == "law"}
    for key in laws[1]:
        data[key] = (("layers", "start"), np.stack([laws[layers][key] for layers in LAYERS]))
    return data.assign_coords(layers=list(LAYERS))


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_networks(data),
        *_on_noise(data),
        *_on_populations(data),
        *_on_retreats(data),
        *_on_laws(data),
    ]


def variable(key: str, network: str) -> str:
    """Return the name under which the data hold what was read of a network."""
    return f"{key}_{re.sub('[^0-9a-z]+', '_', network)}"


def _get(data: xr.Dataset, key: str, name: str) -> np.ndarray:
    return data[variable(key, name)].values


def _on_networks(data: xr.Dataset) -> list[Claim]:
    found = []
    deep = "4 layers, d = 2"
    for name, hits in COUNTED.items():
        rises = _get(data, "rises_samples", name)
        share, (low, high) = small.fraction(rises)
        below, above = small.wilson(hits, 24)
        found.append(
            Claim(
                f"With {name}, seeds swing back as often as the {hits} of 24 counted under the "
                f"published protocol: Fisher's probability of a difference this large, {len(rises)}"
                " seeds here.",
                "counted independently by the protocol of Yang et al. (ICLR 2025), appendix E",
                0.05,
                small.fisher(rises, hits, 24),
                0.0,
                relation="at least",
                note=f"Counted: {hits / 24:.0%}, between {below:.0%} and {above:.0%}; here "
                f"{share:.0%}, between {low:.0%} and {high:.0%}. {_gross(24)}",
            )
        )
    rises = _get(data, "rises_samples", deep)
    found.append(
        Claim(
            f"With {deep} at least half of the seeds swing back: share of {len(rises)}.",
            "derived here from figures 2c and 3",
            0.5,
            *_share(rises),
            relation="at least",
            note=f"{_coarse(data, deep)} {small.COUNTS}",
        )
    )
    notes = {
        "4 layers, d = 64": f"{_coarse(data, '4 layers, d = 64')} Step by step some rise, by "
        "a few percent of the plateau.",
        "1 layer, d = 2": "A single layer never swings back from small weights, but it can from "
        "weights as large as common frameworks draw in 2 dimensions.",
        "1 layer, d = 3": "As in 2 dimensions: its initial weights are not small.",
    }
    for name in NEVER:
        rises = _get(data, "rises_samples", name)
        found.append(
            Claim(
                f"With {name} no seed swings back: share of {len(rises)}.",
                SOURCE if name.endswith("64") else "derived here",
                0.0,
                *_share(rises),
                relation="at most",
                note=notes[name],
            )
        )
    for name in ("1 layer, d = 2", "4 layers, d = 64"):
        clear = _get(data, "amplitude_samples", name) > small.CLEAR
        other = _get(data, "amplitude_samples", deep) > small.CLEAR
        more, interval = small.excess(other, clear)
        found.append(
            Claim(
                f"Rises by more than 5 % of the plateau are more frequent with {deep} than with "
                f"{name}: difference of the shares, {len(other)} and {len(clear)} seeds.",
                "derived here",
                0.0,
                more,
                0.0,
                interval,
                relation="at least",
            )
        )
    found += _on_depth(data)
    return found


def _gross(counted: int) -> str:
    return f"With {counted} runs counted, only large differences would show."


def _coarse(data: xr.Dataset, name: str) -> str:
    seen = _get(data, "rises_by_epoch", name).mean()
    return f"Recorded once an epoch, as published, {seen:.0%} seem to."


def _share(hit: np.ndarray) -> tuple[float, float, tuple[float, float]]:
    """Return what a claim takes after its reference: share, no tolerance, interval."""
    share, interval = small.fraction(hit)
    return share, 0.0, interval


def _on_depth(data: xr.Dataset) -> list[Claim]:
    found, names = [], [f"{n} layer{'s' * (n > 1)}, d = 3" for n in (1, 2, 3)]
    for shallow, deep in pairwise(names):
        gain = _get(data, "amplitude_samples", deep) - _get(data, "amplitude_samples", shallow)
        mean, interval = small.mean(gain)
        found.append(
            Claim(
                f"Deeper networks rise further: mean rise with {deep} less that with {shallow}, in "
                f"plateaus, {len(gain)} seeds.",
                "derived here",
                0.0,
                mean,
                0.0,
                interval,
                relation="at least",
            )
        )
    return found


def _on_noise(data: xr.Dataset) -> list[Claim]:
    name = "4 layers, d = 2"
    sgd, whole = (_get(data, f"rises_{route}", name) for route in ("samples", "population"))
    more, interval = small.mean(sgd - whole)
    single = "1 layer, d = 2"
    rises, told = (_get(data, f"rises_{route}", single) for route in ("samples", "population"))
    return [
        Claim(
            f"With {name}, some seeds swing back only because samples come in batches: share by "
            f"stochastic training less that by training on the whole population, {len(sgd)} pairs "
            "from the same initial weights.",
            "derived here",
            0.0,
            more,
            0.0,
            interval,
            relation="at least",
            note=f"Stochastic: {sgd.mean():.0%}; population: {whole.mean():.0%}.",
        ),
        Claim(
            f"That some seeds swing back with {single} is no matter of noise: share of {len(told)} "
            "on which training on the whole population agrees.",
            "derived here",
            0.9,
            *_share(rises == told),
            relation="at least",
            note=f"On the population {told.mean():.0%} do.",
        ),
    ]


def _beside(data: xr.Dataset) -> list[str]:
    return [name for name in BESIDE if variable("rises_population", name) in data]


def _on_populations(data: xr.Dataset) -> list[Claim]:
    found = []
    both = ("samples", "population")
    for name in _beside(data):
        apart = _get(data, "apart_population", name)
        rises, told = (_get(data, f"rises_{route}", name) for route in both)
        sizes = (_get(data, f"amplitude_{route}", name) > small.CLEAR for route in both)
        times, clocks = (_get(data, f"weak_time_{route}", name) for route in both)
        known = np.isfinite(times) & np.isfinite(clocks) & (clocks > 0)
        late = np.abs(times[known] / clocks[known] - 1)
        n = len(apart)
        found += [
            Claim(
                "Training on the whole population follows stochastic training, with "
                f"{name}: largest difference of the error over the run in units of its start, "
                f"median of {n} seeds.",
                "derived here",
                0.0,
                float(np.median(apart)),
                0.05,
                relation="at most",
                note=f"Largest of all seeds: {apart.max():.2g}. Whether a seed swings back by half "
                f"a percent at all agrees for {np.mean(rises == told):.0%}.",
            ),
            Claim(
                "The population tells which seeds rise by more than 5 % of the plateau, with "
                f"{name}: share of {n} on which it agrees with stochastic training.",
                "derived here",
                0.9,
                *_share(np.equal(*sizes)),
                relation="at least",
            ),
            Claim(
                f"The population tells when the weak concept is half learned, with {name}: median "
                f"relative difference of the time, {int(known.sum())} seeds.",
                "derived here",
                0.0,
                float(np.median(late)),
                0.02,
                relation="at most",
            ),
        ]
    return [*found, *_on_the_flow(data)]


def _on_the_flow(data: xr.Dataset) -> list[Claim]:
    name = "4 layers, d = 2"
    if variable("rises_flow", name) not in data:
        return []
    steps, flow = (_get(data, f"amplitude_{route}", name) for route in ("population", "flow"))
    return [
        Claim(
            f"Gradient flow rises as far as steps on the population, with {name}: mean difference, "
            f"in plateaus, {len(flow)} seeds.",
            "derived here",
            0.0,
            small.mean(flow - steps)[0],
            0.02,
            small.mean(flow - steps)[1],
        )
    ]


def _on_retreats(data: xr.Dataset) -> list[Claim]:
    found = []
    for name in ("3 layers, d = 3", "4 layers, d = 2", "4 layers, d = 64"):
        back = _get(data, "retreat_samples", name) > small.CLEAR
        rises = _get(data, "amplitude_samples", name) > small.CLEAR
        more, interval = small.mean(back.astype(float) - rises)
        found.append(
            Claim(
                "The weak coordinate of the output retreats more often than the error rises, each "
                f"by over 5 % of its scale, with {name}: difference of the shares, {len(back)} "
                "seeds.",
                "derived here",
                0.0,
                more,
                0.0,
                interval,
                relation="at least",
                note=f"Retreats: {back.mean():.0%}; rises: {rises.mean():.0%}.",
            )
        )
    return found


def _on_laws(data: xr.Dataset) -> list[Claim]:
    n, found = data.sizes["start"], []
    how = f"{n} starts in 3 dimensions, no biases, on the population"
    for layers in LAYERS:
        row = data.sel(layers=layers)
        rises = row["rises_uniform"].values
        if layers == 1:
            claim = Claim(
                f"From weights {LAWS['uniform']} one layer never swings back: share of {how}.",
                "derived here",
                0.0,
                float(rises.mean()),
                0.0,
            )
        else:
            claim = Claim(
                f"From weights {LAWS['uniform']} {layers} layers nearly always swing back: share "
                f"of {how}.",
                "derived here",
                0.9,
                *_share(rises),
                relation="at least",
                note="Weights of one sign make the rows of the map nearly parallel.",
            )
        found.append(claim)
        if layers in GAUSSIAN:
            words, hits, rises = f"{layers} layers", GAUSSIAN[layers], row["rises_normal"].values
            share, (low, high) = small.fraction(rises)
            found.append(
                Claim(
                    f"From Gaussian weights {words} swing back as often as in {hits} of 10 starts "
                    f"computed independently: Fisher's probability of a difference this large, "
                    f"{how}.",
                    "derived here",
                    0.05,
                    small.fisher(rises, hits, 10),
                    0.0,
                    relation="at least",
                    note=f"Here {share:.0%}, between {low:.0%} and {high:.0%}. {_gross(10)}",
                )
            )
    top = data["top_uniform"].sel(layers=3).values
    found.append(
        Claim(
            "From weights of one sign the error of three layers rises back to the plateau of half "
            f"the weak mean's square: median top, {how}.",
            "derived here",
            0.5,
            float(np.nanmedian(top)),
            0.05,
        )
    )
    gains = np.diff(data["amplitude_uniform"].sel(layers=[2, 3]).values, axis=0)[0]
    mean, interval = small.mean(gains)
    found.append(
        Claim(
            f"From the same law three layers rise further than two: mean difference, {n} starts.",
            "derived here",
            0.0,
            mean,
            0.0,
            interval,
            relation="at least",
        )
    )
    stuck = data["end_uniform"].sel(layers=4).values
    found.append(
        Claim(
            "Four layers of small weights still wait at the plateau after 6,000 steps of .005: "
            f"median error, {n} starts.",
            "derived here",
            0.5,
            float(np.median(stuck)),
            0.05,
        )
    )
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AAABB", 4.0)
    _draw_shares(axes["A"], data)
    _draw_scatter(axes["B"], data)
    return drawn


def _draw_shares(ax: Axes, data: xr.Dataset) -> None:
    names = list(NETWORKS)[::-1]
    for row, name in enumerate(names):
        hits = {
            0: _get(data, "rises_samples", name),
            2: _get(data, "amplitude_samples", name) > small.CLEAR,
        }
        if variable("rises_population", name) in data:
            hits[1] = _get(data, "rises_population", name)
        for k, hit in hits.items():
            share, (low, high) = small.fraction(hit)
            marks = plots.look(k, line=False)
            ends = [[max(share - low, 0.0)], [max(high - share, 0.0)]]
            ax.errorbar(share, row + 0.2 * (1 - k), xerr=ends, elinewidth=1.2, **marks)
        if name in COUNTED:
            ax.plot(COUNTED[name] / 24, row + 0.38, "x", color="black", markersize=5)
    words = ("stochastic", "whole population", "stochastic, above 5 %", "counted, 24 seeds")
    for k, word in enumerate(words):
        colour = (*plots.COLOURS[:3], "black")[k]
        y = 5.35 - 0.33 * k
        mark = {"color": colour, "marker": (*plots.MARKERS[:3], "x")[k], "markersize": 4}
        ax.plot(0.42, y, **mark, markerfacecolor="white")
        plots.name(ax, 0.47, y, word, colour, fontsize=8)
    ax.set_yticks(range(len(names)), names)
    ax.set(title="Seeds that swing back", xlabel="share of seeds", xlim=(-0.03, 1.0))
    ax.set_ylim(-0.5, len(names) - 0.35)


def _draw_scatter(ax: Axes, data: xr.Dataset) -> None:
    ax.plot([0, 1], [0, 1], color=plots.QUIET, linewidth=0.8, linestyle=":")
    for i, name in enumerate(_beside(data)):
        whole, sgd = (_get(data, f"amplitude_{route}", name) for route in ("population", "samples"))
        marks = plots.look(i, line=False, markersize=3.5, markeredgewidth=0.7)
        if name == "3 layers, d = 3":  # they lie under those of four layers
            marks |= {"markersize": 2.5, "markerfacecolor": plots.COLOURS[i], "zorder": 4}
        ax.plot(whole, sgd, **marks)
        plots.name(ax, 0.8, 0.13 - 0.06 * i, name, plots.COLOURS[i], ha="right", fontsize=8)
    ax.set(title="Rises in plateaus", xlabel="whole population", ylabel="stochastic")
    ax.set(xlim=(-0.02, 0.82), ylim=(-0.02, 0.82), xticks=[0, 0.4, 0.8], yticks=[0, 0.4, 0.8])
