"""Three and four concepts in numbers from outside this package, and claims beside them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.measures import learning_times
from partwhole.study import Claim
from partwhole_studies.dynamics._published import (
    QUADRUPLE_CAPTION,
    QUADRUPLE_CODE,
    TRIPLE_CAPTION,
    TRIPLE_CODE,
)
from partwhole_studies.dynamics._turns import turns, worst, written

SETTINGS = {
    "triple, as captioned": TRIPLE_CAPTION,
    "triple, as run": TRIPLE_CODE,
    "quadruple, as captioned": QUADRUPLE_CAPTION,
    "quadruple, as run": QUADRUPLE_CODE,
}
POWERS = (2, 1)

Turns = tuple[tuple[float, ...], tuple[float, ...]]  # times, errors

# Runge-Kutta on the map, paper time.
FLOW: dict[tuple[str, int], Turns] = {
    ("triple, as captioned", 2): (
        (1.0604, 2.3454, 7.0905, 15.9298),
        (1.165620, 1.376923, 0.415061, 0.474602),
    ),
    ("triple, as captioned", 1): (
        (1.7948, 2.3037, 5.1472, 7.6288),
        (0.835800, 0.859090, 0.279438, 0.321726),
    ),
    ("triple, as run", 2): (
        (0.9084, 1.4658, 3.7908, 6.7085),
        (1.260364, 1.372060, 0.349005, 0.412157),
    ),
    ("triple, as run", 1): ((3.8384, 5.0340), (0.146440, 0.169434)),
    ("quadruple, as captioned", 2): (
        (0.8151, 1.1876, 2.3678, 3.5926, 11.5395, 25.697),
        (1.797098, 2.073647, 1.267925, 1.324755, 0.371557, 0.453418),
    ),
    ("quadruple, as captioned", 1): (
        (1.8075, 2.9615, 6.4389, 9.2143),
        (0.605036, 0.685872, 0.218455, 0.252689),
    ),
    ("quadruple, as run", 2): (
        (1.0768, 1.4068, 2.2394, 3.6996, 11.5269, 25.6986),
        (1.363531, 1.478187, 1.215839, 1.313153, 0.371160, 0.453346),
    ),
    ("quadruple, as run", 1): (
        (2.0582, 3.1554, 6.4446, 9.2036),
        (0.512312, 0.636368, 0.219370, 0.252656),
    ),
}
# The published recurrence with the square, records counted from 0 after each update.
RECURRENCE: dict[str, Turns] = {
    "triple, as captioned": ((106, 240, 719, 1679), (1.156259, 1.385454, 0.421296, 0.480124)),
    "triple, as run": ((90, 150, 383, 725), (1.246983, 1.378696, 0.357556, 0.429686)),
    "quadruple, as run": (
        (108, 146, 228, 374, 1171, 2940),
        (1.322863, 1.490489, 1.243137, 1.336278, 0.367331, 0.468550),
    ),
}
# When the concepts are half learned, the strongest first.
HALF: dict[tuple[str, int], tuple[float, ...]] = {
    ("triple, as captioned", 2): (0.7285, 5.1010, 35.0672),
    ("triple, as captioned", 1): (1.1931, 3.8579, 11.7096),
    ("triple, as run", 2): (0.6244, 2.7490, 11.5973),
    ("triple, as run", 1): (1.1159, 2.8515, 6.7031),
    ("quadruple, as captioned", 2): (0.6765, 1.6760, 8.3605, 54.4878),
    ("quadruple, as captioned", 1): (1.5047, 1.9503, 4.7565, 13.634),
    ("quadruple, as run", 2): (0.8891, 1.6597, 8.3508, 54.4763),
    ("quadruple, as run", 1): (1.7573, 1.8613, 4.7527, 13.6300),
}
HALF_RECURRENCE: dict[str, tuple[float, ...]] = {
    "triple, as captioned": (74, 518, 3708),
    "triple, as run": (63, 279, 1253),
    "quadruple, as run": (91, 169, 859, 6151),
}
# Peaks of the joining entries in the published recurrence with the square: record and height.
PEAKS: dict[str, dict[tuple[int, int], tuple[int, float]]] = {
    "triple, as run": {(0, 2): (77, 0.090252), (1, 2): (84, 0.107763), (0, 1): (343, 0.089337)},
    "quadruple, as run": {
        (2, 3): (105, 0.241316),
        (1, 3): (99, 0.100117),
        (0, 3): (94, 0.044156),
        (1, 2): (85, 0.059704),
        (0, 2): (192, 0.039203),
        (0, 1): (1029, 0.096207),
    },
}
# The closed form, evaluated outside this package.
FORMULA: dict[tuple[str, int], Turns] = {
    ("triple, as captioned", 2): ((1.040, 2.366, 7.120, 15.932), (1.1560, 1.3812, 0.4181, 0.4755)),
    ("triple, as captioned", 1): ((1.704, 2.320, 5.052, 7.698), (0.8087, 0.8521, 0.2762, 0.3290)),
    ("triple, as run", 2): ((0.882, 1.476, 3.782, 6.712), (1.2427, 1.3754, 0.3531, 0.4160)),
    ("triple, as run", 1): ((3.654, 5.176), (0.1234, 0.1737)),
    ("quadruple, as run", 2): (
        (0.966, 1.428, 2.318, 3.646, 11.580, 25.772),
        (1.2184, 1.5842, 1.2647, 1.3455, 0.3719, 0.4540),
    ),
}


def named(setting: str) -> str:
    """Say a setting in words.

    Examples
    --------
    >>> named("triple, as run")
    'three concepts, as run'
    """
    return setting.replace("triple", "three concepts").replace("quadruple", "four concepts")


def beside_independent(data: xr.Dataset) -> list[Claim]:
    """Weigh flows and recurrences against numbers computed outside this package."""
    by = "derived here; reference: NumPy Runge-Kutta or recurrence, outside this package"
    found = []
    for setting, one in SETTINGS.items():
        order = np.argsort(-np.diagonal(one.second_moment))
        when, height, half, shown = [], [], [], []
        for power in POWERS:
            at, value = turns(data.error.sel(setting=setting, power=power).values, data.time.values)
            when.append(worst(at, FLOW[setting, power][0]))
            height.append(worst(value, FLOW[setting, power][1]))
            major = data.major.sel(setting=setting, power=power).values[:, order]
            crossed = learning_times(data.time.values, major)
            half.append(worst(crossed, HALF[setting, power]))
            if power == 2:
                shown = [written(each, ".5g") for each in (at, value, crossed)]
        tolerance = 2e-5 if len(one.w0) == 3 else 5e-5
        for (what, each, least), text in zip(
            (
                ("when the error turns (paper time)", max(when), 0.003),
                ("the error where it turns", max(height), tolerance),
                ("when the concepts are half learned (paper time)", max(half), 0.003),
            ),
            shown,
            strict=True,
        ):
            found.append(
                Claim(
                    f"The flow of {named(setting)}, with the square and without it: {what}, "
                    "largest difference from the reference.",
                    by,
                    0.0,
                    each,
                    least,
                    note=f"With the square {text}.",
                )
            )
    for setting, (when, height) in RECURRENCE.items():
        error = data.recurrence_error.sel(setting=setting).values
        at, value = turns(error)
        own = data.sel(setting=setting)
        order = np.argsort(-np.diagonal(SETTINGS[setting].second_moment))
        half = own.recurrence_half.values[order]
        late = worst([*at, *half], [*when, *HALF_RECURRENCE[setting]])
        peaks = PEAKS.get(setting, {})
        tops = [own.recurrence_top.values[key] for key in peaks]
        late = max(late, worst(tops, [record for record, _ in peaks.values()]))
        found += [
            Claim(
                f"The published recurrence of {named(setting)}: when the error turns, concepts "
                "are half learned and joining entries peak (updates), largest difference from the "
                "reference.",
                by,
                0.0,
                late,
                1,
                note=f"The error turns at {written(at, '.0f')}.",
            ),
            Claim(
                f"The published recurrence of {named(setting)}: the error where it turns, largest "
                "difference from the reference.",
                by,
                0.0,
                worst(value, height),
                2e-5,
                note=f"Found {written(value, '.6f')}.",
            ),
        ]
        if peaks:
            heights = [float(own.recurrence_height.values[key]) for key in peaks]
            found.append(
                Claim(
                    f"The published recurrence of {named(setting)}: how high the joining "
                    "entries grow, largest difference from the reference.",
                    by,
                    0.0,
                    worst(heights, [top for _, top in peaks.values()]),
                    1e-6,
                    note=f"Found {written(heights, '.6f')}.",
                )
            )
    return found
