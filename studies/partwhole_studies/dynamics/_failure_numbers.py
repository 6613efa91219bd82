"""The published failure in numbers from outside this package, and claims beside them."""

from __future__ import annotations

import xarray as xr

from partwhole.measures import learning_times
from partwhole.study import Claim
from partwhole_studies.dynamics._failure_runs import SHOWN
from partwhole_studies.dynamics._turns import turns, worst, written

# Computed outside this package, in NumPy: Runge-Kutta on the map in paper time (when the error
# turns, the error there, when the concepts are half learned), and the recurrence, records counted
# from 0 after each update.
FLOW = {
    2: (
        (0.3246, 0.9930, 4.6027, 18.7404),
        (1.263336, 1.585718, 0.213672, 0.244443),
        (144.0382, 3.0929, 0.2103),
    ),
    1: (
        (0.9796, 1.6569, 4.3304, 10.7013),
        (1.017366, 1.164394, 0.188761, 0.233991),
        (23.8441, 2.9875, 0.6355),
    ),
}
RECURRENCE = ((32, 107, 493), (1.227009, 1.611791, 0.225648))
LEARNED_WITH = {0.005: 157.3, 0.002: 147.9, 0.001: 145.9}


def beside_independent(data: xr.Dataset) -> list[Claim]:
    """Weigh flows and recurrence against numbers computed outside this package."""
    by_rule = "derived here; reference: NumPy Runge-Kutta or recurrence, outside this package"
    found = []
    for power, (when, height, half) in FLOW.items():
        at, value = turns(data.error.sel(power=power).values, data.time.values)
        major = data.major.sel(power=power).values
        crossed = learning_times(data.time.values, major)[1:]
        with_ = "with the square of the second moment" if power == 2 else "with the second moment"
        found += [
            Claim(
                f"The flow {with_}: when the error turns and the two stronger concepts are half "
                f"learned (largest difference from {written([*when, *half[1:]], '.5g')}, paper "
                "time).",
                by_rule,
                0.0,
                worst([*at, *crossed], [*when, *half[1:]]),
                0.003,
                note=f"Found {written([*at, *crossed], '.5g')}.",
            ),
            Claim(
                f"The flow {with_}: the error where it turns (largest difference from "
                f"{written(height, '.6f')}).",
                by_rule,
                0.0,
                worst(value, height),
                2e-5,
                note=f"Found {written(value, '.6f')}.",
            ),
        ]
    error = data.stepped_error.sel(route="matrix").values[1 : SHOWN + 1]
    at, value = turns(error)
    major = data.stepped_major.sel(route="matrix").values[1 : SHOWN + 1, 1:]
    crossed = (major >= 0.5).argmax(axis=0)
    found += [
        Claim(
            "The published recurrence: when the error turns and the two stronger concepts are half "
            "learned (largest difference from 32, 107, 493, 330, 22, updates).",
            by_rule,
            0.0,
            worst([*at, *crossed], [*RECURRENCE[0], 330, 22]),
            1,
        ),
        Claim(
            "The published recurrence: the error where it turns (largest difference from "
            f"{written(RECURRENCE[1], '.6f')}).",
            by_rule,
            0.0,
            worst(value, RECURRENCE[1]),
            2e-5,
            note=f"Found {written(value, '.6f')}; it rises from there to the figure's end.",
        ),
    ]
    for words, stated, each, tolerance in (
        ("in the published recurrence after 10 000 updates", 0.254370, error[-1], 2e-5),
        ("on the flow at time 200", 4.75e-4, data.error.sel(power=2)[-1], 1e-6),
    ):
        found.append(
            Claim(
                f"The error at the unseen combination {words}.",
                by_rule,
                stated,
                float(each),
                tolerance,
            )
        )
    return found
