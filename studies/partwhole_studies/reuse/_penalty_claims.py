"""What is claimed of penalties, their order, and what they depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.limits.penalties import (
    finetuning_penalty,
    hyperbolic_entropy,
    multitask_penalty,
    relu_penalty,
    transition_width,
)
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole_studies.reuse import _penalty_tables as tables

PAPER = "Lippl & Lindsey (NeurIPS 2024)"
NAMES = {"multitask": "multi-task learning", "finetuning": "finetuning", "relu": "a ReLU unit"}
TABLED = "Reference computed by another program, to the digits stated."
ROUTE = "Found as a numerical minimum or sum, without the closed form."


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_tables(),
        *_on_routes(data),
        *_on_slopes(data),
        *_on_powers(data),
        *_on_widths(data),
        *_on_turned_units(data),
        *_on_starts(data),
        *_on_predictions(data),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def _off(found: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest relative difference."""
    return float(np.abs(found / reference - 1.0).max())


def _none(statement: str, found: Real, tolerance: Real, note: str, source: str = PAPER) -> Claim:
    """Claim that nothing differs by more than the tolerance."""
    return Claim(statement, source, 0.0, found, tolerance, relation="at most", note=note)


def _on_tables() -> list[Claim]:
    z, q = (np.array(each) for each in zip(*tables.ENTROPY.items(), strict=True))
    beta, before, told = np.array(tables.FINETUNING).T
    published = {"readout_scale": 1e-3, "formula": "published"}
    b, cosine, way, order = np.array(tables.RELU).T
    unit = relu_penalty(1.0, b, cosine)
    ratios = np.array(tables.RATIOS)
    orders = {
        "multitask": multitask_penalty(1.0, ratios).order,
        "finetuning": finetuning_penalty(1.0, ratios, formula="published").order,
    }
    return [
        _none(
            "The hyperbolic entropy is as tabled, from 0.01 to 1000: largest relative difference.",
            _off(hyperbolic_entropy(z), q),
            1e-6,
            TABLED,
        ),
        _none(
            "Penalties of finetuning, with readouts of 0.001, are as tabled: largest relative "
            f"difference of {len(told)}.",
            _off(finetuning_penalty(beta, before, **published).penalty, told),
            1e-6,
            TABLED,
        ),
        _none(
            f"Penalties of a ReLU unit are as tabled: largest difference of {len(way)}.",
            float(np.abs(unit.penalty - way).max()),
            2e-6,
            TABLED,
        ),
        _none(
            f"Orders of a ReLU unit are as tabled: largest difference of {len(order)}.",
            float(np.abs(unit.order - order).max()),
            2e-6,
            TABLED,
            "derived here",
        ),
        *(
            _none(
                f"Orders of {NAMES[kind]} at a coefficient of 1 are as tabled, for six auxiliary "
                "coefficients from 0.001 to 100: largest difference.",
                float(np.abs(found - np.array(tables.ORDERS[kind])).max()),
                1e-6,
                TABLED,
                "derived here",
            )
            for kind, found in orders.items()
        ),
    ]


def _on_routes(data: xr.Dataset) -> list[Claim]:
    kinds = {
        "multitask": "Penalties of multi-task learning are least squared weights, half of them",
        "finetuning": "Published penalties of finetuning, readouts 0, are prices added up",
        "finetuning, readout 0.001": "Published penalties of finetuning, with readouts of 0.001, "
        "are prices added up",
    }
    found = [
        _none(
            f"{words}: largest relative difference on the published grid.",
            _off(data.penalty.sel(kind=kind).values, data.penalty_again.sel(kind=kind).values),
            1e-12,
            f"{ROUTE} Rounding allows 1e-15.",
        )
        for kind, words in kinds.items()
    ]
    gap = np.abs(data.powers - data.powers_again).max()
    return [
        *found,
        _none(
            "Penalties of a ReLU unit are the least squared way of its weights, for six cosines: "
            "largest relative difference on the published grid.",
            _off(data.relu.values, data.relu_again.values),
            1e-12,
            f"{ROUTE} Rounding allows 1e-15.",
        ),
        _none(
            "Orders and feature dependences are slopes of those penalties in logarithms: largest "
            f"difference in {data.powers.size // 2} places.",
            float(gap),
            1e-7,
            "Differences of fourth order with steps of 0.01, good to 1e-9.",
            "derived here",
        ),
    ]


def _on_slopes(data: xr.Dataset) -> list[Claim]:
    again, ends = data.penalty_again, data.coefficient.values[[0, -1]]
    low = again.sel(coefficient=slice(ends[0], 1.3 * ends[0]), before=1e3)
    high = again.sel(coefficient=slice(0.77 * ends[1], ends[1]), before=1e-3)

    def slope(piece: xr.DataArray, kind: str) -> float:
        values = np.log(piece.sel(kind=kind).values)
        beta = np.log(piece.coefficient.values)
        return float((values[-1] - values[0]) / (beta[-1] - beta[0]))

    readout = "finetuning, readout 0.001"
    apart = {
        kind: float(again.sel(kind=kind, before=1e-3)[-1] / again.sel(kind=kind, before=1.0)[-1])
        for kind in ("multitask", readout)
    }
    shape = f"{PAPER}, figure 1"
    z = 2.0 * ends[1] / (np.array([1e-3, 1.0]) + 1e-6)
    far = float(np.divide(*(np.log(z) - 1.0 + 2.0 / z)))
    # The slope of a chord is that in its middle.
    middle = 2.0 * np.sqrt(high.coefficient.values[0] * ends[1]) / (1e-3 + 1e-6)
    return [
        *(
            Claim(
                f"Well below the auxiliary coefficient, at 0.01 of 1000, the penalty of {words} "
                "rises as the square: its slope is 2.",
                shape,
                2.0,
                slope(low, kind),
                1e-3,
            )
            for kind, words in (("multitask", "multi-task learning"), (readout, "finetuning"))
        ),
        Claim(
            "Well above it, at 100 of 0.001, the penalty of multi-task learning rises in "
            "proportion: its slope is 1.",
            shape,
            1.0,
            slope(high, "multitask"),
            1e-3,
        ),
        Claim(
            "So does that of finetuning, but for a logarithm: its slope there is "
            "1 + 1/(ln(2 · 100/0.001) − 1), about 1.09.",
            shape,
            1.0 + 1.0 / (np.log(middle) - 1.0),
            slope(high, readout),
            1e-3,
            note="It comes down to 1 but slowly; over a factor of 1.3, by the slope in its middle.",
        ),
        Claim(
            "Curves of multi-task learning merge: penalties at 100 by auxiliary coefficients of "
            "0.001 and of 1 have the ratio 1.",
            shape,
            1.0,
            apart["multitask"],
            0.02,
            note="The penalty loses 1 of 100.",
        ),
        Claim(
            "Those of finetuning stay apart: the ratio is that of logarithms, "
            "ln(2 · 100/b) − 1 + b/100 at b = 0.001 and at b = 1.",
            shape,
            far,
            apart[readout],
            1e-3,
            note="By the limit of small pretrained coefficients, good to (b/200)².",
        ),
    ]


def _on_powers(data: xr.Dataset) -> list[Claim]:
    powers = data.powers_again.sum("power")
    finetuned = data.powers_again.sel(series="finetuning", power="order")
    z = 2.0 / data.ratio.values
    rich = np.log(z) / (np.log(z) - 1.0 + 2.0 / z)
    small = z > 2.0 / 3e-3
    return [
        _here(
            "Order and feature dependence add up to 1: largest deviation over multi-task "
            f"learning, finetuning and a ReLU unit of six cosines, {powers.size} places.",
            0.0,
            float(np.abs(powers - 1.0).max()),
            1e-6,
            relation="at most",
            note="Each measured as a slope. So features are reused only where the order is above "
            "1.",
        ),
        _here(
            "The order of finetuning comes down to 1 but as a logarithm, "
            "ln z / (ln z − 1 + 2/z) with z = 2β/b: largest difference for b below 0.003 β.",
            0.0,
            float(np.abs(finetuned.values - rich)[small].max()),
            1e-5,
            relation="at most",
            note="The next term is of order (b/β)².",
        ),
    ]


def _on_widths(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind, told in tables.WIDTHS.items():
        for bounds, number in zip(data.bounds.values.tolist(), told, strict=True):
            numerical = float(data.width.sel(rising=kind, bounds=bounds))
            low, high = map(float, bounds.split(" to "))
            closed = transition_width(kind, low, high)
            found.append(
                _here(
                    f"The order of {NAMES[kind]} rises from {bounds} over {number:g} decades of "
                    "the auxiliary coefficient.",
                    number,
                    numerical,
                    1e-3,
                    note=f"{ROUTE} In closed form {closed:.5f}.",
                )
            )
    return found


def _on_turned_units(data: xr.Dataset) -> list[Claim]:
    turned = data.powers_again.sel(series="relu, cosine 0.9")
    order, dependence = (turned.sel(power=each) for each in data.power.values)
    flat = float(data.relu_again.sel(cosine=0.9, before=1e3)[0])
    ratio = data.ratio.values
    helps = ratio[dependence.values < 0]
    shape = f"{PAPER}, figures 1c and 3d"
    same = data.powers_again.sel(series="relu, cosine 1", power="order")
    small = ratio <= 1e-3
    law = 1.0 + 0.5 * np.sqrt(ratio[small])
    return [
        Claim(
            "Turning a large unit by a cosine of 0.9 costs its strength times 1 − 0.81, whatever "
            "the coefficient: penalty of 0.01 after 1000, over 1000.",
            shape,
            0.19,
            flat / 1e3,
            1e-6,
            note="The coefficient itself costs 1e-10 of it.",
        ),
        Claim(
            "The order of such a unit goes to 0 with its strength: at 100 times the coefficient.",
            shape,
            0.0,
            float(order[-1]),
            2e-3,
        ),
        Claim(
            "Its feature dependence goes to +1, so that the larger it was before, the dearer it "
            "is: at 100 times the coefficient.",
            shape,
            1.0,
            float(dependence[-1]),
            2e-3,
        ),
        Claim(
            "Features of cosine 0.9 help only where sizes are comparable: a unit becomes cheaper "
            "by having been larger up to at most 10 times the coefficient.",
            f"{PAPER}, figure 4",
            10.0,
            float(helps.max()),
            0.0,
            relation="at most",
            note="Beyond the size found, a larger pretrained unit costs more.",
        ),
        _here(
            "For the same direction the order comes down to 1 by a root, 1 + √(b/β)/2: largest "
            "difference for b up to 0.001 β.",
            0.0,
            float(np.abs(same.values[small] - law).max()),
            1e-3,
            relation="at most",
            note="The next term is of order b/β.",
        ),
    ]


def _on_starts(data: xr.Dataset) -> list[Claim]:
    width, tilt = data.start.sel(rescale=1.0, feature="pretrained").values
    new = float(data.start.sel(rescale=1.0, feature="new", parameter="width"))
    told = np.array([tables.PRICES[float(c)] for c in data.rescale.values])
    # The reference left the tilt out, which makes a pretrained coefficient cheaper by half of it.
    half = 0.5 * data.start.sel(feature="pretrained", parameter="tilt").values
    old = data.price_again.sel(feature="pretrained").values + half
    apart = data.price_again.sel(feature="new") - data.price_again.sel(feature="pretrained")
    limit = 0.5 * np.log(tables.STARTS[0] / tables.STARTS[2])
    halved = float(width) / (2.0 * (1 / np.sqrt(40) + 1e-6))
    return [
        _here(
            "A feature pretrained to 1/√40 starts finetuning with a width of 0.158: of the "
            "weights themselves, readouts and initial weights 0.001.",
            tables.STARTS[0],
            float(width),
            1e-7,
        ),
        _here("It starts with a tilt of 0.00503.", tables.STARTS[1], float(tilt), 5e-6),
        _here(
            "A feature that was not learned starts with a width of 4e-6.",
            tables.STARTS[2],
            new,
            4e-9,
        ),
        Claim(
            "The width of a learned feature is that of the published penalty: ratio.",
            f"{PAPER}, penalty of finetuning",
            1.0,
            halved,
            0.05,
            note="Pretraining leaves one of a feature's two pathways large, not both alike, which "
            "halves the width.",
        ),
        *(
            _here(
                f"Prices of a {words} coefficient of 0.2 are as listed, for rescalings of 1 to "
                "0.001: largest difference from what gradients add up to in a network.",
                0.0,
                float(np.abs(found - told[:, i]).max()),
                2e-4,
                relation="at most",
                note=note,
            )
            for i, (words, found, note) in enumerate(
                (
                    ("pretrained", old, "Listed without the tilt, which takes half of it off."),
                    ("new", data.price_again.sel(feature="new").values, ""),
                )
            )
        ),
        _here(
            "Prices by theory are what gradients add up to in a network of one feature: largest "
            f"difference of {data.price.size}.",
            0.0,
            float(np.abs(data.price - data.price_again).max()),
            1e-4,
            relation="at most",
            note="Networks are followed until a training loss of 1e-14.",
        ),
        _here(
            "Rescaling takes reuse away: new features remain dearer by ½ ln of the ratio of "
            "widths, at most, while both prices grow: difference at 0.001.",
            limit,
            float(apart.sel(rescale=0.001)),
            5e-3,
            note="Half the tilt beyond it, 0.0025.",
        ),
    ]


def _on_predictions(data: xr.Dataset) -> list[Claim]:
    far = data.distance
    n = len(data.seed)
    found = [
        _here(
            "The exact penalty predicts where gradient flow ends: largest relative distance in "
            f"{far.sel(formula='exact').size} problems.",
            0.0,
            float(far.sel(formula="exact").max()),
            2e-5,
            relation="at most",
            note="The flow ends at a training loss of 1e-14; its root times the condition of "
            "random inputs is left.",
        )
    ]
    for setting in data.setting.values.tolist():
        published = far.sel(setting=setting, formula="published").values
        mean, low, high = plots.mean_interval(published).tolist()
        untilted = far.sel(setting=setting, formula="without tilt").values
        saved = far.sel(setting=setting, formula="saved norms").values
        if setting.startswith("published") or "readout 0.001," in setting:
            found += [
                Claim(
                    "The published penalty predicts where finetuning ends: relative distance at "
                    f"most 0.05, mean of {n} problems, {setting}.",
                    f"{PAPER}, penalty of finetuning",
                    0.05,
                    mean,
                    0.0,
                    (low, high),
                    relation="at most",
                    note=f"With the exact width but no tilt {untilted.mean():.1g}: what differs is "
                    "the width.",
                ),
                _difference(
                    "The norms saved beside the published runs, which lack a factor of 2, predict "
                    f"no better: mean distance beyond, {n} problems, {setting}.",
                    saved - published,
                ),
            ]
        else:
            _, least, most = plots.mean_interval(untilted).tolist()
            found.append(
                _here(
                    "With larger readouts the tilt matters: without it predictions are off by at "
                    f"least 0.1, mean of {n} problems, {setting}.",
                    0.1,
                    float(untilted.mean()),
                    0.0,
                    interval=(least, most),
                    relation="at least",
                    note=f"The published penalty is off by {mean:.2g}.",
                )
            )
    return found


def _difference(statement: str, beyond: np.ndarray) -> Claim:
    mean, low, high = plots.mean_interval(beyond).tolist()
    return _here(statement, 0.0, mean, 0.0, interval=(low, high), relation="at least")
