"""Whether a combination is never learned before its parts: the cube of four concepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from partwhole.flows.one_layer import one_layer_flow
from partwhole.measures import order_violations
from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Claim, Config
from partwhole.study import plots as plots
from partwhole.tasks import StructuredIdentity
from partwhole.training import Protocol, train_identity
from partwhole_studies.dynamics import _small_networks as small
from partwhole_studies.dynamics.drawing import cube

QUESTION = (
    "A network learns four concepts from samples of each alone. Is its error on a combination "
    "always at least that on every combination contained in it?"
)
SOURCE = "Yang et al. (ICLR 2025), figure 7"
ANSWER = (
    "Not always: a ReLU network breaks it in no pair before training, in 1 of about 20 after 4 "
    "epochs and of 9 after 10, a linear one in 1 of 5; mostly in pairs above the origin or a "
    "single concept, where weights and bias leave an error."
)
CAPTION = (
    "Combinations of four concepts, one bit for each, and a network's error on them relative to "
    "that on 1111; numbers under nodes: that ratio; one seed. An edge is red and dashed where the "
    "larger combination has the smaller error. Bottom right: share of the 65 comparable "
    "pairs that break the order, mean and 95 % interval over seeds; thin line: without the "
    "origin's pairs; dots: the exact solution from the same initial weights."
)

MEANS = (1.0, 2.0, 3.0, 4.0)
DIMENSION = 64
PROTOCOL = Protocol()
SHOWN = (0, 2, 4)  # epochs after which the published figure shows the cube
NETWORKS = ("captioned", "captioned, more noise", "as run")
WORDS = {
    "captioned": "two-layer ReLU network, standard deviation .5",
    "captioned, more noise": "two-layer ReLU network, variance .5",
    "as run": "one-layer linear network, variance .5",
}
ONE_SEED = "Yang et al. (ICLR 2025), figure 7, its code at the published seed"
# Violations among 65 pairs at one published seed, after 2 and after 4 epochs.
PUBLISHED = {"captioned": (2, 3), "captioned, more noise": (2, 5), "as run": (2, 10)}
FULL = (14.64, 2.48, 1.77)  # the captioned network's error on all four, at that seed


def _cells(seeds: int, epochs: int, draws: int) -> list[Config]:
    trained = [
        {"network": network, "epochs": epochs, "seed": seed}
        for network in NETWORKS
        for seed in range(seeds)
    ]
    return [*trained, {"network": "exact", "draws": draws}]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(8, 10, 200),
    "laptop": _cells(24, 40, 1000),
    "paper": _cells(100, 40, 4000),
}


def task(network: str) -> StructuredIdentity:
    return StructuredIdentity(
        MEANS,
        (0.5,) * 4,
        dimension=DIMENSION,
        rotation=0,
        scales_are="deviations" if network == "captioned" else "variances",
    )


def cell(config: Config) -> Arrays:
    """Train one network; return its errors on all combinations after each epoch."""
    if config["network"] == "exact":
        return _draws(config["draws"])
    name, linear = config["network"], config["network"] == "as run"
    own = task(name)
    layers = Architecture(layers=1) if linear else Architecture(layers=2, nonlinearity="relu")
    epoch = PROTOCOL.batches(own.n_samples)
    runs = train_identity(
        own,
        layers,
        PROTOCOL,
        seeds=[config["seed"]],
        record=[epoch * k for k in range(config["epochs"] + 1)],
        probes="combinations",
        progress=False,
    )
    found = {"losses": runs.losses[0, 0], "full": runs.outputs[0, 0, :, -1, :4]}
    if linear:
        weights, biases = runs.initial.end_to_end()
        found |= _theory(own, np.asarray(weights[0]), np.asarray(biases)[0], runs.times[0])
    return found


def _theory(
    own: StructuredIdentity, weights: np.ndarray, biases: np.ndarray, times: np.ndarray
) -> Arrays:
    """Solve the one-layer network exactly, from its own weights and without some of its parts."""
    turn, points = own.rotation_matrix, own.combinations().points
    w0, b0 = turn @ weights.astype(float) @ turn.T, turn @ biases.astype(float)
    nothing, a, mean = np.zeros_like(w0), own.second_moment(), own.mean()
    exact = one_layer_flow(w0, a, times, mean=mean, bias=b0)
    return {
        "exact": exact.loss(points),
        "exact_full": exact.outputs(points[-1])[:, :4],
        "bias_alone": one_layer_flow(nothing, a, times, mean=mean).loss(points),
        "weights_alone": one_layer_flow(w0, a, times).loss(points),
        "neither": one_layer_flow(nothing, a, times).loss(points),
    }


def _draws(draws: int) -> Arrays:
    """Solve many one-layer networks exactly; count violations after 2 and 4 epochs.

    Along the first axis: from their own biases, and from biases of 0.
    """
    own = task("as run")
    points, a, mean = own.combinations().points, own.second_moment(), own.mean()
    steps = PROTOCOL.batches(own.n_samples) * np.array(SHOWN[1:])
    times = steps * PROTOCOL.rate(DIMENSION)
    weights, biases = Architecture(layers=1).networks(DIMENSION, seeds=range(draws)).end_to_end()
    losses = []
    for w, b in zip(np.asarray(weights, float), np.asarray(biases, float), strict=True):
        w0, b0 = own.rotation_matrix @ w @ own.rotation_matrix.T, own.rotation_matrix @ b
        found = (one_layer_flow(w0, a, times, mean=mean, bias=k * b0) for k in (1.0, 0.0))
        losses.append([path.loss(points) for path in found])
    return {"counts": np.asarray(_violations(np.swapaxes(losses, 0, 1)).count)}


THEORY = ("exact", "bias_alone", "weights_alone", "neither")


def gather(cells: Cells) -> xr.Dataset:
    def stacked(network: str, what: str) -> np.ndarray:
        return np.stack([found[what] for config, found in cells if config["network"] == network])

    (counts,) = (found["counts"] for config, found in cells if config["network"] == "exact")
    seeds = [config["seed"] for config, _ in cells if config["network"] == NETWORKS[0]]
    losses = np.stack([stacked(network, "losses") for network in NETWORKS])
    theory = np.stack([stacked("as run", what) for what in THEORY])
    names = ["".join(map(str, row)) for row in task("captioned").combinations().binary]
    data = xr.Dataset(
        {
            "loss": (
                ("network", "seed", "epoch", "combination"),
                losses,
                {"long_name": "error on a combination", "units": "1"},
            ),
            "theory": (
                ("solution", "seed", "epoch", "combination"),
                theory,
                {"long_name": "error of the exact solution", "units": "1"},
            ),
            "full": (("seed", "epoch", "concept"), stacked("as run", "full")),
            "draws": (("biases", "draw", "shown"), counts, {"long_name": "pairs that break it"}),
            "exact_full": (("seed", "epoch", "concept"), stacked("as run", "exact_full")),
        },
        coords={
            "network": list(NETWORKS),
            "solution": list(THEORY),
            "biases": ["random", "zero"],
            "shown": list(SHOWN[1:]),
            "seed": seeds,
            "epoch": np.arange(losses.shape[2]),
            "combination": names,
        },
    )
    for what, of in (("violations", "loss"), ("theory_violations", "theory")):
        found = _violations(data[of].values)
        dims = data[of].dims[:-1]
        data[what] = (dims, found.count, {"long_name": "pairs that break the order"})
        data[what + "_elsewhere"] = (dims, found.without_origin.count)
        # Combinations are in the order of binary numbers: those of one concept are powers of 2.
        single = np.isin(found.pairs[:, 0], [0, 1, 2, 4, 8])
        data[what + "_low"] = (dims, (found.violated & single).sum(axis=-1))
    return data


def _violations(losses: np.ndarray) -> Any:
    return order_violations(losses, task("captioned").combinations().pairs)


def _interval(samples: np.ndarray) -> tuple[float, tuple[float, float]]:
    centre, low, high = (float(each) for each in plots.mean_interval(np.asarray(samples, float)))
    return centre, (low, high)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_the_order(data),
        *_on_the_published_seed(data),
        *_on_the_cause(data),
        *_on_theory(data),
    ]


def _on_the_order(data: xr.Dataset) -> list[Claim]:
    found = []
    n = data.sizes["seed"]
    for epoch in SHOWN:
        counts = data.violations.sel(network="captioned", epoch=epoch).values
        mean, interval = _interval(counts)
        when = f"after {epoch} epochs" if epoch else "before training"
        worst = _worst(data.loss.sel(network="captioned", epoch=epoch).values)
        found.append(
            Claim(
                "The error increases along the order of the cube, in all of 65 pairs: mean number "
                f"of pairs that break it {when}, {WORDS['captioned']}, {n} seeds.",
                "Yang et al. (ICLR 2025), figure 7",
                0.0,
                mean,
                0.0,
                interval,
                note=""
                if not epoch
                else "At the published seed too some break it. No pair breaks it by more than "
                f"{100 * worst:.0f} % of the error on all four concepts.",
            )
        )
    return found


def _worst(losses: np.ndarray) -> float:
    """Return the largest excess of a contained combination, relative to the error on all four."""
    return float((_violations(losses).excess / losses[..., -1:]).max())


def _on_the_published_seed(data: xr.Dataset) -> list[Claim]:
    n = data.sizes["seed"]
    found = []
    for network in NETWORKS[:2]:
        for epoch, count in zip(SHOWN[1:], PUBLISHED[network], strict=True):
            counts = data.violations.sel(network=network, epoch=epoch).values
            mean, reach = _reach(counts)
            found.append(
                Claim(
                    f"One published seed breaks the order in {count} pairs after {epoch} epochs "
                    f"({WORDS[network]}): mean of {n} seeds, from which a further seed lies within "
                    "the tolerance with 95 % probability.",
                    ONE_SEED,
                    count,
                    mean,
                    reach,
                    note=f"{n} seeds here: {counts.min()} to {counts.max()}.",
                )
            )
    for biases in ("random", "zero"):
        for epoch, count in zip(SHOWN[1:], PUBLISHED["as run"], strict=True):
            found.append(_as_few(data.draws.sel(biases=biases, shown=epoch), biases, epoch, count))
    full = data.loss.sel(network="captioned", combination="1111")
    for epoch, told in zip(SHOWN, FULL, strict=True):
        mean, reach = _reach(full.sel(epoch=epoch).values)
        found.append(
            Claim(
                f"One published seed has this error on all four concepts after {epoch} epochs "
                f"({WORDS['captioned']}): mean of {n} seeds, from which a further seed lies within "
                "the tolerance with 95 % probability.",
                ONE_SEED,
                told,
                mean,
                reach,
            )
        )
    return found


def _as_few(draws: xr.DataArray, biases: str, epoch: int, count: int) -> Claim:
    """Weigh one seed's count against the exact solution of many more: it is a low one."""
    few, interval = small.fraction(draws.values <= count)
    return Claim(
        f"One published seed breaks the order in {count} pairs after {epoch} epochs (one-layer "
        f"linear network, variance .5). Initial biases {biases}: share of {draws.size} seeds, "
        "solved exactly, that have as few; above 1 in 40 unless that seed is a rare one.",
        ONE_SEED if biases == "random" else "derived here",
        0.025,
        few,
        0.0,
        interval,
        relation="at least",
        note=f"Their mean is {float(draws.mean()):.1f}.",
    )


def _reach(samples: np.ndarray) -> tuple[float, float]:
    """Return the mean and how far from it a further sample lies with 95 % probability."""
    n = len(samples)
    spread = float(np.std(samples, ddof=1)) * np.sqrt(1 + 1 / n)
    return float(np.mean(samples)), float(stats.t.ppf(0.975, n - 1)) * float(spread)


def _on_the_cause(data: xr.Dataset) -> list[Claim]:
    n, found = data.sizes["seed"], []
    for network in ("captioned", "as run"):
        at = data.sel(network=network, epoch=4)
        low, interval = _interval((2 * at.violations_low - at.violations).values)
        found.append(
            Claim(
                "Most pairs that break the order have the origin or a single concept below: their "
                f"number less that of the others after 4 epochs, {WORDS[network]}, {n} seeds.",
                "derived here",
                0.0,
                low,
                0.0,
                interval,
                relation="at least",
            )
        )
        fewer, interval = _interval((at.violations / 65 - at.violations_elsewhere / 50).values)
        found.append(
            Claim(
                "Pairs with the origin break the order more often than the others: rate over all "
                f"65 pairs less that without the origin's, after 4 epochs, {WORDS[network]}, {n} "
                "seeds.",
                "derived here",
                0.0,
                fewer,
                0.0,
                interval,
                relation="at least",
            )
        )
    last = int(data.epoch[-1])
    at = data.sel(epoch=last)
    at_all = data.theory_violations.sel(solution="neither").max("epoch")
    mean, interval = _interval(at_all.values)
    found.append(
        Claim(
            "By the exact solution of the one-layer network, without a bias and from weights of 0 "
            "no pair ever breaks it: most pairs of 65 at any epoch.",
            "derived here",
            0.0,
            mean,
            0.0,
            interval,
        )
    )
    for solution, words in (
        ("bias_alone", "from weights of 0 a bias is enough"),
        ("weights_alone", "without a bias random weights are enough"),
    ):
        mean, interval = _interval(at.theory_violations.sel(solution=solution).values)
        found.append(
            Claim(
                f"By the exact solution of the one-layer network, {words} to break it: pairs of 65 "
                f"after {last} epochs, mean of {n} seeds.",
                "derived here",
                1.0,
                mean,
                0.0,
                interval,
                relation="at least",
            )
        )
    return found


def _on_theory(data: xr.Dataset) -> list[Claim]:
    n, found = data.sizes["seed"], []
    exact = data.theory_violations.sel(solution="exact")
    trained = data.violations.sel(network="as run")
    for epoch in SHOWN[1:]:
        mean, interval = _interval((trained - exact).sel(epoch=epoch).values)
        found.append(
            Claim(
                "The exact solution of the one-layer network, from its own initial weights and the "
                f"population, tells the pairs that break the order: trained less exact after "
                f"{epoch} epochs, mean of {n} seeds.",
                "derived here",
                0.0,
                mean,
                1.0,
                interval,
            )
        )
    gap = np.linalg.norm((data.full - data.exact_full).values, axis=-1).max(axis=1)
    mean, interval = _interval(gap / np.linalg.norm(MEANS))
    found.append(
        Claim(
            "The exact solution tells the answer on all four concepts: largest distance of the "
            f"trained answer over the epochs, relative to the target, mean of {n} seeds.",
            "derived here",
            0.0,
            mean,
            0.01,
            interval,
            relation="at most",
        )
    )
    return found


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = plots.mosaic("AB;CD", 7.0)
    binary = task("captioned").combinations().binary
    one = data.loss.sel(network="captioned").isel(seed=0)
    shown = None
    for name, epoch in zip("ABC", SHOWN, strict=True):
        losses = one.sel(epoch=epoch).values
        shown = cube(axes[name], binary, losses / losses[-1], format="{:.2f}", limits=(0.0, 1.0))
        when = f"After {epoch} epochs" if epoch else "Before training"
        axes[name].set_title(f"{when}: {losses[-1]:.2f} on 1111")
    assert shown is not None
    tops = [axes["A"], axes["B"]]
    bar = drawn.colorbar(shown, ax=tops, location="top", shrink=0.6, aspect=30)
    bar.set_label("error / error on 1111")
    bar.outline.set_visible(False)  # type: ignore[operator]
    _draw_rates(axes["D"], data)
    return drawn


def _draw_rates(ax: Axes, data: xr.Dataset) -> None:
    epochs = data.epoch.values
    for i, network in enumerate(NETWORKS):
        rates = 100 * data.violations.sel(network=network).values / 65
        mean, low, high = plots.mean_interval(rates)
        ax.fill_between(epochs, np.maximum(low, 0), high, color=plots.COLOURS[i], alpha=0.2, lw=0)
        ax.plot(epochs, mean, **plots.look(i))
    elsewhere = 100 * data.violations_elsewhere.sel(network="captioned").mean("seed") / 50
    ax.plot(epochs, elsewhere, color=plots.COLOURS[0], linewidth=0.9)
    exact = 100 * data.theory_violations.sel(solution="exact").mean("seed") / 65
    ax.plot(epochs, exact, "o", color="black", markersize=3)
    # The first epochs, which the published figure is about, at every preset.
    end = 10.0
    plots.name(ax, end, 22.0, "linear, as run, and exact", plots.COLOURS[2], ha="right")
    plots.name(ax, end, 15.6, "ReLU, variance .5", plots.COLOURS[1], ha="right")
    plots.name(ax, end, 4.0, "ReLU, as captioned", plots.COLOURS[0], ha="right")
    plots.name(ax, end, 1.1, "without the origin", plots.COLOURS[0], ha="right", fontsize=8)
    ax.set(title="Pairs that break the order (%)", xlabel="epochs", xlim=(0, end), ylim=(0, 24))
