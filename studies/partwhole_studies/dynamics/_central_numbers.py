"""The two-concept example in numbers from outside this package, and claims beside them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.flows import Path
from partwhole.measures import learning_times
from partwhole.study import Claim
from partwhole_studies.dynamics._turns import turns, worst, written

CALLED = {
    "flow": "the flow",
    "matrix": "the published recurrence on the map",
    "factor": "gradient descent on the factor",
}
WITH = {
    2: "with the square of the second moment",
    1: "with the second moment as the paper defines it",
}
# Records of the published recurrence are counted from 0, the first of them after one update;
# those of descent on the factor start before it.
FIRST = {"flow": 0, "matrix": 1, "factor": 0}
# Computed outside this package, in NumPy: Runge-Kutta on the map, and the two recurrences.
TURNS = {
    ("flow", 2): ((2.5344, 4.3507), (0.183454, 0.252828)),
    ("flow", 1): ((3.2518, 3.6171), (0.031715, 0.032439)),
    ("matrix", 2): ((254, 440), (0.180955, 0.254629)),
    ("matrix", 1): ((323, 367), (0.030804, 0.032010)),
    ("factor", 2): ((254, 436), (0.182292, 0.252855)),
    ("factor", 1): ((324, 364), (0.031225, 0.032210)),
}
HALF = {
    ("flow", 2): (7.3199, 1.8857),
    ("flow", 1): (3.5140, 2.2467),
    ("matrix", 2): (740, 190),
    ("matrix", 1): (354, 226),
}
PEAKS = {(0, 1): (224, 0.198013), (0, 2): (873, 0.117402), (1, 2): (176, 0.017323)}
FINAL = {(0, 0): 0.996839, (1, 1): 1.0, (2, 2): 0.007677, (0, 1): 4.4e-8, (0, 2): 0.038535}
PIVOTS = (0.0103991, 0.0206309)


def path_of(data: xr.Dataset, power: int, route: str = "flow") -> Path:
    return Path(data.time.values, data.state.sel(power=power, route=route).values, "paper")


def turns_of(data: xr.Dataset, route: str, power: int) -> np.ndarray:
    error = data.error.sel(route=route, power=power).values
    if route == "flow":
        return turns(error, data.time.values)
    return turns(error[FIRST[route] :])


def beside_independent(data: xr.Dataset) -> list[Claim]:
    """Weigh every number against one computed outside this package."""
    by = "derived here; reference: NumPy Runge-Kutta or recurrence, outside this package"
    found = []
    for (route, power), (when, values) in TURNS.items():
        at, height = turns_of(data, route, power)
        unit = "paper time" if route == "flow" else "updates"
        found.append(
            Claim(
                f"When the error turns: {CALLED[route]} {WITH[power]} (largest difference from "
                f"{written(when, '.5g')}, {unit}).",
                by,
                0.0,
                worst(at, when),
                0.002 if route == "flow" else 1,
                note=f"Found {written(at, '.5g')}.",
            )
        )
        if route != "flow":
            found.append(
                Claim(
                    f"The error where it turns: {CALLED[route]} {WITH[power]} (largest difference "
                    f"from {written(values, '.6f')}).",
                    by,
                    0.0,
                    worst(height, values),
                    2e-5,
                    note=f"Found {written(height, '.6f')}.",
                )
            )
    for (route, power), when in HALF.items():
        path = path_of(data, power, route)
        major = np.diagonal(path.states, axis1=1, axis2=2)[:, :2]
        half = learning_times(path.times, major)
        if route == "matrix":
            half = (major >= 0.5).argmax(axis=0) - FIRST["matrix"]
        unit = "paper time" if route == "flow" else "updates"
        found.append(
            Claim(
                f"When the two concepts are half learned: {CALLED[route]} {WITH[power]} (largest "
                f"difference from {written(when, '.5g')}, {unit}).",
                by,
                0.0,
                worst(half, when),
                0.002 if route == "flow" else 1,
                note=f"Found {written(half, '.5g')}.",
            )
        )
    recurrence = data.state.sel(power=2, route="matrix").values
    peaks = {key: int(np.abs(recurrence[:, *key]).argmax()) for key in PEAKS}
    heights = [recurrence[at, *key] for key, at in peaks.items()]
    late = {"matrix": (0.000747397, 1e-8), "factor": (0.00071195, 1e-8)}
    found += [
        Claim(
            "Peaks of the entries off the diagonal in the published recurrence (largest "
            f"difference from {written((h for _, h in PEAKS.values()), '.6f')}).",
            by,
            0.0,
            worst(heights, [height for _, height in PEAKS.values()]),
            2e-6,
            note=f"Found {written(heights, '.6f')}.",
        ),
        Claim(
            "When these entries peak (largest difference from 224, 873 and 176, updates).",
            by,
            0.0,
            worst(
                [at - FIRST["matrix"] for at in peaks.values()], [at for at, _ in PEAKS.values()]
            ),
            1,
        ),
        Claim(
            "The map after 2000 updates of the published recurrence (largest difference of an "
            f"entry; diagonal {written((FINAL[i, i] for i in range(3)), '.6f')}).",
            by,
            0.0,
            worst([recurrence[-1, *key] for key in FINAL], list(FINAL.values())),
            1e-6,
            note="The third coordinate carries nearly no signal and is not learned.",
        ),
        Claim(
            "Pivots of the initial map, strong concept first (largest difference from "
            f"{written(PIVOTS, '.6g')}).",
            by,
            0.0,
            worst(data.pivot.values.tolist(), PIVOTS),
            1e-7,
        ),
    ]
    for route, (stated, tolerance) in late.items():
        last = float(data.error.sel(power=2, route=route)[1999 + FIRST[route]])
        found.append(
            Claim(
                f"The error at the unseen combination at record 1999: {CALLED[route]}, {WITH[2]}.",
                by,
                stated,
                last,
                tolerance,
            )
        )
    return found
