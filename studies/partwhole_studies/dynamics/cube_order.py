"""Whether a combination is never learned before its parts: the cube of four concepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from partwhole.flows import OneLayer, flow
from partwhole.measures.hierarchy import OrderViolations, order_violations
from partwhole.networks import Architecture
from partwhole.study import Arrays, Cells, Config, Estimate, key, layout, mean, published
from partwhole.study.plots import COLOURS, look, mosaic
from partwhole.tasks import StructuredIdentity
from partwhole.training import Training, train
from partwhole_studies.dynamics import wide_networks as wide
from partwhole_studies.dynamics.drawing import cube

MEANS = (1.0, 2.0, 3.0, 4.0)
DIMENSION = 64
SHOWN = (0, 2, 4)  # epochs after which the published figure shows the cube
PAIRS = (0.0, 65.0)  # that can break the order
NETWORKS = {
    "captioned": "ReLU, deviation .5 (captioned)",
    "captioned, more noise": "ReLU, variance .5",
    "as run": "linear, variance .5 (as run)",
}


def _cells(seeds: int, epochs: int) -> list[Config]:
    return [
        {"network": network, "epochs": epochs, "seed": seed}
        for network in NETWORKS
        for seed in range(seeds)
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _cells(8, 10),
    "laptop": _cells(24, 40),
    "paper": _cells(100, 40),
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
    problem, linear = task(config["network"]), config["network"] == "as run"
    layers = Architecture(layers=1) if linear else Architecture(layers=2, nonlinearity="relu")
    network = layers.network(DIMENSION, seed=config["seed"])
    epoch = -(-problem.n_samples // 128)
    training = Training.published(
        "identity", epochs=config["epochs"], record=epoch, seed=config["seed"]
    )
    points = problem.to_inputs(problem.combinations().points)
    runs = train(network, problem, training, read=points, progress=False)
    arrays = {"loss": runs.concepts.losses[0]}
    if linear:
        weights, biases = network.end_to_end()
        times = wide.STEP * runs.steps
        exact = _exact(problem, np.asarray(weights), np.asarray(biases), times)
        arrays |= {"answer": runs.concepts.outputs[0, :, -1, :4]} | exact
    return arrays


def _exact(
    problem: StructuredIdentity, weights: np.ndarray, biases: np.ndarray, times: np.ndarray
) -> Arrays:
    """Solve the one-layer network exactly, from its initial weights and without some of them."""
    turn, points = problem.rotation_matrix, problem.combinations().points
    w0, b0 = turn @ weights.astype(float) @ turn.T, turn @ biases.astype(float)
    zero, a, centre = np.zeros_like(w0), problem.second_moment(), problem.mean()
    exact = flow(OneLayer(w0, a, mean=centre, bias=b0), times)
    return {
        "exact": exact.probe_losses(points),
        "exact_answer": exact.outputs(points[-1])[:, :4],
        "bias_alone": flow(OneLayer(zero, a, mean=centre), times).probe_losses(points),
        "weights_alone": flow(OneLayer(w0, a), times).probe_losses(points),
        "neither": flow(OneLayer(zero, a), times).probe_losses(points),
    }


def gather(cells: Cells) -> xr.Dataset:
    dims = "epoch combination"
    binary = task("captioned").combinations().binary
    epochs = np.arange(cells[0][0]["epochs"] + 1)
    return layout(
        cells,
        {
            "loss": dims, "exact": dims, "bias_alone": dims, "weights_alone": dims,
            "neither": dims, "answer": "epoch concept", "exact_answer": "epoch concept",
        },
        over=["network", "seed"],
        coords={"epoch": epochs, "combination": ["".join(map(str, row)) for row in binary]},
        labels={"epoch": "epochs"},
    )  # fmt: skip


def violations(data: xr.Dataset, network: str, errors: str = "loss") -> OrderViolations:
    """Return the pairs that break the order, for each seed and epoch of a network."""
    pairs = task("captioned").combinations().pairs
    return order_violations(data[errors].sel(network=network).values, pairs)


def counts(data: xr.Dataset, network: str, errors: str = "loss") -> np.ndarray:
    """Return how many pairs break the order, for each seed and epoch of a network."""
    return violations(data, network, errors).violated.sum(axis=-1).astype(float)


def numbers(data: xr.Dataset) -> dict[str, float | str | Estimate | np.ndarray]:
    _, _, last = SHOWN
    captioned = violations(data, "captioned")
    full = data.loss.sel(network="captioned", combination="1111", epoch=last).values
    run = data.sel(network="as run")
    gap = np.linalg.norm((run.answer - run.exact_answer).values, axis=-1).max(axis=1)
    after = mean(counts(data, "captioned")[:, last], within=PAIRS)
    return {
        "verdict": "Not always" if after.value > 0 else "Yes",
        "after": after,
        "error": mean(full),
        "excess": max(0.0, float((captioned.excess[:, last] / full[:, None]).max())),
        "bias_alone": float(counts(data, "as run", "bias_alone")[0, -1]),
        "weights_alone": mean(counts(data, "as run", "weights_alone")[:, -1], within=PAIRS),
        "neither": counts(data, "as run", "neither"),
        "gap": gap / np.linalg.norm(MEANS),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CD", 7.0)
    binary = task("captioned").combinations().binary
    seed = data.loss.sel(network="captioned").isel(seed=0)
    image: Any = None
    for panel, epoch in zip("ABC", SHOWN, strict=True):
        losses = seed.sel(epoch=epoch).values
        image = cube(axes[panel], binary, losses / losses[-1], format="{:.2f}", limits=(0.0, 1.0))
        stage = f"After {epoch} epochs" if epoch else "Before training"
        axes[panel].set_title(f"{stage}: {losses[-1]:.2f} on 1111")
    tops = [axes["A"], axes["B"]]
    bar = drawn.colorbar(image, ax=tops, location="top", shrink=0.6, aspect=30)
    bar.set_label("error / error on 1111")
    bar.outline.set_visible(False)  # type: ignore[operator]
    _draw_counts(axes["D"], data)
    return key(drawn, 2)


def _draw_counts(ax: Axes, data: xr.Dataset) -> None:
    seed = published(__file__, ["network", "epoch"]).pairs
    epochs = data.epoch.values
    for k, (network, label) in enumerate(NETWORKS.items()):
        estimates = [mean(pairs, within=(0, np.inf)) for pairs in counts(data, network).T]
        low, high = [e.low for e in estimates], [e.high for e in estimates]
        ax.fill_between(epochs, low, high, color=COLOURS[k], alpha=0.2, lw=0)
        ax.plot(epochs, [e.value for e in estimates], **look(k, label=label))
        marks = look(k, line=False, marker="x", clip_on=False, zorder=4)
        ax.plot(seed.epoch, seed.sel(network=network), **marks)
    elsewhere = violations(data, "captioned").without_origin.violated.sum(axis=-1).mean(axis=0)
    ax.plot(epochs, elsewhere, color=COLOURS[0], linewidth=0.9, label="captioned, without 0000")
    exact = counts(data, "as run", "exact").mean(axis=0)
    ax.plot(epochs, exact, "o", color="black", markersize=3, label="linear, exact solution")
    ax.plot([], [], "x", color="0.25", label="published seed")
    # The first epochs, which the published figure is about, in every preset.
    ax.set(title="Pairs that break the order", xlabel="epochs", xlim=(0, 10), ylim=(0, 15))
