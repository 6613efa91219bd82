"""ReLU networks beside the limits of their readout, of their gates, and of random gates.

A ReLU network whose gates stay where they are is linear in its weights, and the end of its training
is a convex program: the largest margin by the sum of its units' norms. Agreement of decisions is
counted beyond what independent errors would bring: 0 is chance, 1 the same decisions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from jaxtyping import Float
from matplotlib.figure import Figure

from partwhole import solve
from partwhole.features import ReLUGates
from partwhole.limits import Outcome, Quadratic
from partwhole.measures import accuracy
from partwhole.measures.agreement import inconsistency
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.networks.gated import flipped_gates
from partwhole.study import Arrays, Cells, Config, key, layout, mean, published, series
from partwhole.study.declaration import Number
from partwhole.study.estimates import finite_values
from partwhole.study.plots import QUIET, look, mosaic
from partwhole_studies.gated.descent import trained
from partwhole_studies.gated.digits import digits, linear_baseline
from partwhole_studies.gated.mnist import SPLIT, VALIDATION, images_of, mnist

KINDS = ("network", "hidden layer", "learned gates", "random gates", "linear")
LIMITS = KINDS[1:4]
AXES = ("n", "units", "momentum", "seed")
WIDTHS = (10, 20, 50, 100)
STEPS = 3200
UNSOLVED = (Outcome.INFEASIBLE, Outcome.INACCURATE, Outcome.MAX_STEPS)


def _digit_cells(widths: tuple[int, ...], momenta: tuple[float, ...], seeds: int) -> list[Config]:
    return [
        {"images": "digits", "n": 200, "units": h, "momentum": m, "seed": seed}
        for h in widths
        for m in momenta
        for seed in range(seeds)
    ]


PRESETS: dict[str, list[Config]] = {
    "quick": _digit_cells((20,), (0.9, 0.0), 6),
    "laptop": _digit_cells(WIDTHS, (0.9, 0.0), 6),
    "paper": _digit_cells(WIDTHS, (0.9, 0.0), 12),
    "mnist": [
        {"images": "mnist", "n": n, "units": h, "momentum": m, "seed": seed, "n_test": VALIDATION}
        for n in (500, 1000, 2000)
        for h in WIDTHS
        for m in (0.9, 0.0)
        for seed in (1, 2, 3)
    ],
}


def cell(config: Config) -> Arrays:
    """Train a network as published, solve for the limits, and compare decisions.

    Limits that no function reaches are NaN. Training is in double precision: it leaves images
    within 1e-5 of units' boundaries, where single precision lets the processor choose the gate, and
    a few gates of 4,000 change the agreement with their limit by a tenth.
    """
    seed, n, units = config["seed"], config["n"], config["units"]
    if config["images"] == "mnist":
        data = mnist(SPLIT, n, config["n_test"], config["n_test"])
    else:
        data = digits(seed, n, n_selection=400)
    inputs, labels, tests = data.inputs, data.labels, data.test_inputs
    start = GatedNetwork.draw(inputs.shape[1], [LearnedGates(units), 1], seed=seed, initial="he")
    runs = trained(
        [start], inputs, labels, momentum=config["momentum"], seed=[seed], record=[STEPS],
        precision="float64",
    )  # fmt: skip
    network = runs.networks[0]
    gates: ReLUGates = network.with_frozen_gates().gates[0]
    drawn = ReLUGates.random(
        inputs.shape[1], n_units=units, thresholds="median", inputs=data.every, always_on=True,
        seed=seed,
    )  # fmt: skip
    learned, random = (
        solve((inputs, labels), g, fit="margin", intercept="none") for g in (gates, drawn)
    )
    hidden = solve(
        (_active(gates, inputs), labels), cost=Quadratic(), fit="margin", intercept="none"
    )
    answers = [
        network.predict(tests), hidden.predict(_active(gates, tests)), learned.predict(tests),
        random.predict(tests), linear_baseline(data).predict(tests),
    ]  # fmt: skip
    solved = learned.outcome not in UNSOLVED
    return {
        "error": np.array([_score(_wrong, data.test_labels, output) for output in answers]),
        "apart": np.array([_score(inconsistency, answers[0], output) for output in answers]),
        "share": np.array(runs.fraction_of(learned)[0, -1] if solved else np.nan),
        "flipped": np.asarray(flipped_gates(start, network, inputs)[0]),
        "training_error": np.asarray(np.asarray(runs.training_error, float)[0, -1]),
        "mark": np.asarray(data.every.mean()),
    }


def _score(
    measure: Callable[[np.ndarray, np.ndarray], float], first: np.ndarray, outputs: np.ndarray
) -> float:
    return measure(first, outputs) if np.isfinite(outputs).all() else np.nan


def _wrong(labels: np.ndarray, outputs: np.ndarray) -> float:
    return 1.0 - accuracy(labels, outputs).value


def _active(gates: ReLUGates, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n H"]:
    return np.maximum(inputs @ gates.normals.T, 0.0)


def gather(cells: Cells) -> xr.Dataset:
    variables = {"error": "kind", "apart": "kind"}
    variables |= dict.fromkeys(("share", "flipped", "training_error", "mark"), "")
    data = layout(cells, variables, over=AXES, coords={"kind": list(KINDS)}).sortby(list(AXES))
    p, q = data.error.sel(kind="network"), data.error
    data["agreement"] = 1.0 - data.apart / (p * (1 - q) + q * (1 - p))
    data["agreement"].attrs["long_name"] = "agreement beyond chance"
    return data.assign_attrs(images=images_of(cells, "gated.relu_networks"))


def by_seed(values: xr.DataArray) -> xr.DataArray:
    """Return means over sizes and widths, for each seed."""
    return values.mean([dim for dim in ("n", "units") if dim in values.dims])


def best(data: xr.Dataset) -> xr.DataArray:
    """Return the lowest error of each kind over widths and momenta, for each size and seed."""
    return data.error.sel(kind=list(KINDS[:4])).min(["units", "momentum"])


def numbers(data: xr.Dataset) -> dict[str, Number]:
    fast = data.sel(momentum=0.9)
    agreement = {kind: by_seed(fast.agreement.sel(kind=kind)) for kind in KINDS}
    solved = np.isfinite(fast.error.sel(kind="learned gates"))
    error = {kind: by_seed(fast.error.sel(kind=kind).where(solved)) for kind in KINDS}
    gained = error["linear"] - error["network"]
    recovered = ((error["linear"] - error["learned gates"]) / gained).where(gained > 0)
    table = published(__file__, ["momentum", "n", "units"], table="error").error
    lowest = published(__file__, ["n", "kind"], table="best").error
    pairs = (data.error.sel(kind="network"), table), (best(data), lowest)
    misses = np.concatenate([finite_values(ours.mean("seed") - paper) for ours, paper in pairs])
    missing = np.isnan(data.error.sel(kind=["hidden layer", "learned gates"]))
    return {
        "images": data.attrs["images"],
        "learned": mean(agreement["learned gates"]),
        "random": mean(agreement["random gates"]),
        "linear": mean(agreement["linear"]),
        "learned_random": mean(agreement["learned gates"] - agreement["random gates"]),
        "recovered": mean(recovered),
        "share": mean(by_seed(fast.share), within=(-np.inf, 1.0)),
        "errors": mean(np.abs(misses)) if data.attrs["images"] == "MNIST" else np.nan,
        "missing": ((data.training_error == 0) & missing).to_numpy(),
        "bound": np.maximum(finite_values(data.share) - 1.0, 0.0),
    }


def figure(data: xr.Dataset) -> Figure:
    drawn, axes = mosaic("AB;CC;DD", 8.8)
    fast = data.sel(momentum=0.9)
    p = fast.error.sel(kind="network").values.ravel()
    line = np.linspace(0.9 * p.min(), 1.1 * p.max())
    axes["A"].plot(line, line, color=QUIET, linewidth=1, label="equal errors, or chance")
    axes["B"].plot(line, 2 * line * (1 - line), color=QUIET, linewidth=1)
    for i, kind in enumerate(LIMITS):
        for letter, name in zip("AB", ("error", "apart"), strict=True):
            values = fast[name].sel(kind=kind).values.ravel()
            axes[letter].plot(p, values, **look(i, line=False), label=f"limit, {kind}")
    axes["A"].set(title="Test error", ylabel="limit error", xlabel="network error")
    axes["B"].set(title="Different decisions", ylabel="share of images", xlabel="network error")
    table = published(__file__, ["momentum", "kind"], table="agreement").agreement
    words = {"measured": "mean, 95 % interval", "published": "published, MNIST"}
    series(
        axes["C"], "kind", by="momentum", within=(-np.inf, 1.0), shift=4,
        measured=by_seed(data.agreement.sel(kind=list(KINDS[1:]))),
        published=table.sel(momentum=data.momentum),
        names={0.9: "momentum .9", 0.0: "momentum 0"}, words=words,
    )  # fmt: skip
    table, largest = published(__file__, ["n", "kind"], table="best").error, int(data.n[-1])
    n = largest if largest in table.n else int(table.n[0])
    lowest = best(data).sel(n=largest)
    series(axes["D"], "kind", within=(0.0, 1.0), shift=6, measured=lowest,
           published=table.sel(n=n), words=words)  # fmt: skip
    axes["D"].set_title(f"Lowest errors, {largest} images (published: {n})")
    axes["C"].set(xlabel="", xlim=(-0.3, 3.3), ylim=(0, 1.03))
    axes["D"].set(xlabel="", ylabel="lowest test error", xlim=(-0.3, 3.3), ylim=(0, None))
    return key(drawn, 3)
