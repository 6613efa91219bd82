"""Reuse of pretrained features in deeper diagonal networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from partwhole import solve
from partwhole.limits import Outcome
from partwhole.limits.costs import DeepEntropy
from partwhole.study import Arrays, Cells, Config, Estimate, geometric_mean, key, layout, mean
from partwhole.study.plots import QUIET, look, name, panels
from partwhole_studies.reuse.deep_penalty import RATIOS, order

DEPTHS = [2, 3, 4]
# Initial coefficients, alpha to the power of the depth, are the same at every depth.
START = 1e-6
LEVEL = 0.05  # of the variance of the main task
NETWORK = {"dimension": 16, "pretrained": 4, "active": 2, "samples": 6}
LEARNED = 1e-9  # error of a network at which its training ends


def _cells(
    dimension: int, pretrained: int, active: list[int], rescalings: list[float], seeds: int
) -> list[Config]:
    tasks = [
        {"depth": depth, "rescale": c, "active": a, "seed": seed,
         "dimension": dimension, "pretrained": pretrained}
        for depth in DEPTHS for c in rescalings for a in active for seed in range(seeds)
    ]  # fmt: skip
    networks = [
        {"depth": depth, "rescale": 0.3, "seed": seed} for depth in DEPTHS for seed in range(5)
    ]
    return [*tasks, *networks]


PRESETS = {
    # One of five networks a depth: gradient flow takes longest.
    "quick": [c for c in _cells(60, 10, [2, 10], [1.0, 0.01], 1) if c["seed"] < 1],
    "laptop": _cells(500, 40, [2, 5, 10, 20, 40], [1.0, 0.3, 0.1, 0.03, 0.01], 20),
    "paper": _cells(1000, 40, [2, 5, 10, 20, 40], [1.0, 0.3, 0.1, 0.03, 0.01], 50),
}  # fmt: skip


def sample(
    dimension: int, pretrained: int, active: int, n: int, seed: int
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"], Float[np.ndarray, "n d"]]:
    """Return coefficients of the auxiliary and of the main task, which has some of its features."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], pretrained)
    auxiliary, main = np.zeros((2, dimension))
    auxiliary[:pretrained] = signs / np.sqrt(pretrained)
    main[:active] = signs[:active] / np.sqrt(active)
    return auxiliary, main, rng.normal(size=(n, dimension))


def tuned(auxiliary: Float[np.ndarray, " d"], depth: int, rescale: float) -> DeepEntropy:
    """Return the cost of finetuning; the readout is reset to the scaled initial weights."""
    scale = START ** (1.0 / depth)
    return DeepEntropy.after_finetuning(
        auxiliary, depth=depth, readout_scale=rescale * scale, init_scale=scale, rescale=rescale
    )


def cell(config: Config) -> Arrays:
    """Return the samples that the main task needs; or how far a trained network is off."""
    if "active" not in config:
        return {"off": np.array(of_a_network(config))}
    auxiliary, main, inputs = sample(
        config["dimension"], config["pretrained"], config["active"], config["dimension"] // 2,
        config["seed"],
    )  # fmt: skip
    cost, unsolved = tuned(auxiliary, config["depth"], config["rescale"]), 0
    low, high = 1, len(inputs)
    while high - low > 1:
        n = round(np.sqrt(low * high)) if high > 4 * low else (low + high) // 2
        limit = solve((inputs[:n], inputs[:n] @ main), cost=cost, intercept="none")
        unsolved += limit.outcome is not Outcome.SOLVED
        is_learned = np.sum((limit.coefficients - main) ** 2) < LEVEL
        low, high = (low, n) if is_learned else (n, high)
    return {"needed": np.array(float(high)), "unsolved": np.array(float(unsolved))}


def of_a_network(config: Config) -> float:
    """Integrate gradient flow of a network in finetuning, and compare its coefficients."""
    depth, rescale = config["depth"], config["rescale"]
    auxiliary, main, inputs = sample(
        NETWORK["dimension"], NETWORK["pretrained"], NETWORK["active"], NETWORK["samples"],
        config["seed"],
    )  # fmt: skip
    targets, cost = inputs @ main, tuned(auxiliary, depth, rescale)
    start = np.stack([cost.plus, cost.minus])

    def error(flat: np.ndarray) -> np.ndarray:
        plus, minus = flat.reshape(start.shape).prod(axis=1)
        return inputs @ (plus - minus) - targets

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        weights = flat.reshape(start.shape)
        others = [np.delete(weights, layer, axis=1).prod(axis=1) for layer in range(depth)]
        force = np.array([-1.0, 1.0])[:, None, None] * (inputs.T @ error(flat))
        return (force * np.stack(others, axis=1)).ravel()

    def unlearned(_: float, flat: np.ndarray) -> float:
        return float(np.abs(error(flat)).max()) - LEARNED

    unlearned.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(
        velocity, (0, 1e7), start.ravel(), method="LSODA", rtol=1e-10, atol=1e-14, events=unlearned
    )
    plus, minus = run.y[:, -1].reshape(start.shape).prod(axis=1)
    limit = solve((inputs, targets), cost=cost, intercept="none").coefficients
    return float(np.abs(plus - minus - limit).max() / np.abs(limit).max())


def gather(cells: Cells) -> xr.Dataset:
    tasks = [pair for pair in cells if "needed" in pair[1]]
    networks = [pair for pair in cells if "off" in pair[1]]
    dims, over = {"needed": "", "unsolved": ""}, ["depth", "rescale", "active", "seed"]
    data = layout(tasks, dims, over=over, labels={"needed": "samples needed"})
    off = layout(networks, {"off": ""}, over=["depth", "seed"]).rename(seed="network")
    return xr.merge([data, off])


def exponent(data: xr.Dataset, depth: int, rescale: float) -> Estimate:
    """Estimate the power of the number of features with which samples grow."""
    needed = np.log(data.needed.sel(depth=depth, rescale=rescale)).transpose("active", "seed")
    return mean(np.polyfit(np.log(data.active.values), needed.values, 1)[0])


def numbers(data: xr.Dataset) -> dict[str, float | Estimate]:
    small = float(data.rescale.min())
    dense, sparse = int(data.active.max()), int(data.active.min())
    needed = data.needed
    cost = needed.sel(rescale=small) / needed.sel(rescale=1.0)
    three = needed.sel(depth=3, rescale=small)
    means = needed.mean("seed")
    return {
        "small": small,
        "two_whole": float(means.sel(depth=2, rescale=1.0, active=dense)),
        "two_small": float(means.sel(depth=2, rescale=small, active=dense)),
        "three_small": float(means.sel(depth=3, rescale=small, active=dense)),
        "three_sparse": float(means.sel(depth=3, rescale=small, active=sparse)),
        "deep": geometric_mean(cost.sel(depth=DEPTHS[1:], active=dense).mean("depth")),
        "against": geometric_mean((three / needed.sel(depth=2, rescale=small)).mean("active")),
        "exponent_two": exponent(data, 2, small),
        "exponent_three": exponent(data, 3, small),
        "reuse": 2.0 / 3.0 - float(order(3)[0]),
        "unsolved": float(data.unsolved.sum()),
        "off": float(data.off.max()),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = panels(2, 1, 6.4)
    top, bottom = axes[:, 0]
    dense, sparse = int(data.active.max()), int(data.active.min())
    for i, depth in enumerate(DEPTHS):
        for active, filled in ((dense, True), (sparse, False)):
            needed = data.needed.sel(depth=depth, active=active).mean("seed")
            marks = look(i, line=False, linestyle="-", linewidth=1.0)
            marks |= {"markerfacecolor": marks["color"]} if filled else {}
            top.plot(data.rescale, needed, **marks, label=f"{depth} layers" if filled else None)
        bottom.plot(RATIOS, order(depth), **look(i))
        bottom.plot(RATIOS, 2.0 / depth - order(depth), **look(i))
    top.set(xscale="log", ylim=0, xlabel="factor of pretrained layers", ylabel="samples needed")
    bottom.set(
        xscale="log", xlabel="pretrained over new coefficient", ylabel="power of the penalty"
    )
    words = f"filled: all {dense} pretrained features in the main task; open: {sparse} of them"
    top.set_title(words, fontsize=9, color=QUIET, loc="left")
    name(bottom, 0.02, 0.88, "order", QUIET, transform=bottom.transAxes)
    name(bottom, 0.02, 0.14, "feature dependence", QUIET, transform=bottom.transAxes)
    return key(drawn)
