"""What is stated of one-layer networks, and the claims that lay it beside what was found."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.measures import slowing
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics._wide import (
    AS_CAPTIONED,
    AS_RUN,
    CAPTIONED,
    EPOCHS,
    MAIN,
    SECOND,
    SETTINGS,
)

NO_BIAS = "means 1 and 2, variance 0.05, no bias"
# The variance of the first concept at which both signals are equal, and the deviation where
# both numbers are deviations: its square is 1 + .05^2, as (2^2 - 1^2) / 3 is 1.
FLIP = 1.05
FLIP_DEVIATION = float(np.sqrt(1 + SECOND**2))
# Signal of the weak concept in the main setting as run, over that as captioned.
SIGNALS = (0.05 + 1 / 3) / (0.05**2 + 1 / 3)
# Answers from zero weights after 10 and 40 epochs: first concept, then second.
ANSWERS = {
    True: ((0.6252, 0.9323), (1.8621, 1.9747)),
    False: ((0.7567, 0.9965), (1.9878, 2.0000)),
}
# Bias, variance: first epochs at which (first, second) are above one half, and above 90 %.
FIRST_EPOCHS = {
    (True, 0.05): ((6, 2), (34, 6)),
    (False, 0.05): ((5, 2), (17, 5)),
    (True, 0.5): ((2, 2), (11, 6)),
    (True, 2.0): ((1, 2), (3, 5)),
}
# One seed's errors after 0 to 5 epochs and at the end, and its first and last speed.
SEED_ERRORS = (3.694, 1.269, 0.582, 0.359, 0.268, 0.221)
SEED_END = 0.00435
SEED_SPEEDS = (0.855, 0.0043)
# The first epochs of one seed in each setting, in the order of AS_RUN, as above.
SEED_EPOCHS = (
    ((7, 1), (35, 5)),
    ((5, 1), (28, 5)),
    ((2, 1), (11, 5)),
    ((2, 1), (6, 5)),
    ((1, 1), (3, 5)),
    ((2, 1), (11, 7)),
    ((1, 1), (3, 7)),
)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_the_flip(data),
        *_on_order(data),
        *_beside_theory(data),
        *_on_the_bias(data),
        *_on_the_captions(data),
        *_on_one_seed(data),
        *_on_slowing(data),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def _on_the_flip(data: xr.Dataset) -> list[Claim]:
    found = [
        _here(
            f"Means 1 and 2: both concepts are half learned at the same time when the first has a "
            f"variance of 1.05, which makes the signals equal ({bias} a bias, from zero weights).",
            FLIP,
            float(data.flip.sel(reading="variances", bias=bias, threshold=0.5)),
            1e-3,
        )
        for bias in ("with", "without")
    ]
    captioned = data.flip.sel(reading="deviations", bias="with", threshold=0.5)
    return [
        *found,
        _here(
            "As captioned, with deviations in place of variances, both concepts are half learned "
            "at the same time when the first has a deviation of 1.00125: a variance of 1.0025, "
            "where it is 1.05 as run (with a bias, from zero weights).",
            FLIP_DEVIATION,
            float(captioned),
            1e-5,
            note="The second concept's 0.05 is then a variance of 0.0025, so that its signal is "
            "smaller too.",
        ),
        Claim(
            "Were the signal as the text has it, variance plus squared mean over the number of "
            "concepts (2 here), the order would flip at a variance of 1.55.",
            "Yang et al. (ICLR 2025), theorem on the one-layer model",
            0.05 + (4 - 1) / 2,
            float(data.flip.sel(reading="variances", bias="with", threshold=0.5)),
            1e-3,
            note="The published runs had a third cluster, at the origin, so that squared means are "
            "divided by 3.",
        ),
    ]


def _order(data: xr.Dataset, setting: str, threshold: float, route: str = "trained") -> np.ndarray:
    """Return in which seeds the first concept is learned before the second."""
    learned = data.learned.sel(setting=setting, threshold=threshold, route=route)
    return (learned.sel(concept="first") < learned.sel(concept="second")).values


def _on_order(data: xr.Dataset) -> list[Claim]:
    found, n = [], data.sizes["seed"]
    for setting, known in SETTINGS.items():
        means = known.means
        if setting not in data.setting or means[0] == means[1]:
            continue
        signals = wide.task(setting).signals[:2]
        stronger = int(signals.argmax())
        first = _order(data, setting, 0.9) == (stronger == 0)
        number, interval = wide.share(first)
        near = abs(signals[0] - signals[1]) < 0.1
        found.append(
            Claim(
                f"{known.words.capitalize()}: most networks learn the "
                f"{('first', 'second')[stronger]} concept, whose signal is larger, to 90 % before "
                f"the other (share of {n} seeds).",
                f"Yang et al. (ICLR 2025), figure 2{'b' if means == (1, 2) else 'a'}",
                0.5,
                number,
                0.0,
                interval=interval,
                applies=not near,
                relation="at least",
                note=f"The signals, {signals[0]:.3f} and {signals[1]:.3f}, are so near each other "
                "that the initial weights decide."
                if near
                else "",
            )
        )
    agree = np.ones(n, dtype=bool)
    trained = [setting for setting in SETTINGS if setting in data.setting]
    for setting in trained:
        agree &= _order(data, setting, 0.5) == _order(data, setting, 0.5, "theory")
    number, interval = wide.share(agree)
    found.append(
        _here(
            "Which concept a network half learns first follows from its own initial weights, also "
            f"where signals are equal: share of {n} seeds for which exact theory names it in all "
            f"{len(trained)} settings.",
            0.5,
            number,
            0.0,
            interval=interval,
            relation="at least",
        )
    )
    return found


def _gap(data: xr.Dataset) -> xr.DataArray:
    """Return how far networks are from exact theory, in units of the means."""
    means = [SETTINGS.get(name, SETTINGS[MAIN]).means for name in data.setting.values]
    scale = xr.DataArray(means, dims=("setting", "concept"))
    return np.abs(data.trained - data.theory) / scale


def _beside_theory(data: xr.Dataset) -> list[Claim]:
    gap = _gap(data)
    captioned = [name for name in data.setting.values if name in AS_CAPTIONED]
    run = [name for name in data.setting.values if name not in AS_CAPTIONED]
    (mean, low, high), (there, least, most) = (
        plots.mean_interval(gap.sel(setting=names).max(["setting", "epoch", "concept"]).values)
        for names in (run, captioned)
    )
    return [
        _here(
            "Exact theory from a network's own initial weights is met all along its training, "
            "within 2 % of the means: largest difference in any of "
            f"{len(run)} settings as run, mean of {data.sizes['seed']} seeds.",
            0.0,
            float(mean),
            0.02,
            interval=(float(low), float(high)),
            relation="at most",
            note="Theory knows neither the sample nor the batches, whose order alone moves an "
            f"answer by about 1 %.{wide.left_out(data.setting.values.tolist())}",
        ),
        _here(
            "As captioned exact theory is met as well, within 2 % of the means: largest difference "
            f"in any of {len(captioned)} settings with deviations, mean of {data.sizes['seed']} "
            "seeds.",
            0.0,
            float(there),
            0.02,
            interval=(float(least), float(most)),
            relation="at most",
        ),
        Claim(
            f"After 40 epochs the answers of {data.sizes['seed']} networks are those of exact "
            "theory within 0.5 % of the means (means 1 and 2, variances 0.05): largest difference.",
            "Yang et al. (ICLR 2025), figure 2a",
            0.0,
            float(gap.sel(setting=MAIN, epoch=EPOCHS).max()),
            0.005,
            relation="at most",
        ),
    ]


def _on_the_bias(data: xr.Dataset) -> list[Claim]:
    found = []
    for bias, (weak, strong) in ANSWERS.items():
        how = "with" if bias else "without"
        row = data.answers.sel(bias=how)
        found += [
            _here(
                f"Exact answer along the weak concept, of mean 1, after {epochs} epochs from zero "
                f"weights {how} a bias.",
                told,
                float(row.sel(whole_epoch=epochs, concept="first")),
                1e-4,
            )
            for epochs, told in zip((10, 40), weak, strict=True)
        ]
        away = np.abs(row.sel(whole_epoch=[10, 40], concept="second").values - strong)
        found.append(
            _here(
                f"Exact answers along the strong concept, of mean 2, after 10 and 40 epochs {how} "
                "a bias: largest difference from those recorded.",
                0.0,
                float(away.max()),
                1e-4,
            )
        )
    told = np.array(list(FIRST_EPOCHS.values()))
    found.append(
        _here(
            f"First epochs at which concepts are learned by one half and to 90 %, with and without "
            f"a bias: how many of {told.size} are those recorded.",
            told.size,
            int((data["first"].values == told).sum()),
            0,
        )
    )
    weak = data.learned.sel(route="trained", threshold=0.9, concept="first")
    ratio = (weak.sel(setting=MAIN) / weak.sel(setting=NO_BIAS)).values
    mean, low, high = plots.mean_interval(ratio).tolist()
    found.append(
        _here(
            "A bias doubles the time until the weak concept is learned to 90 %: mean ratio in "
            f"{data.sizes['seed']} pairs of trained networks.",
            2.0,
            mean,
            0.25,
            interval=(low, high),
            note="The bias ties the weak concept to the mean of the inputs, in which the strong "
            "one prevails.",
        )
    )
    return found


def _on_the_captions(data: xr.Dataset) -> list[Claim]:
    """Lay what networks do as captioned beside what they do as run."""
    weak = data.learned.sel(threshold=0.5, concept="first")
    ratio = weak.sel(setting=CAPTIONED) / weak.sel(setting=MAIN)
    mean, low, high = plots.mean_interval(ratio.sel(route="trained").values).tolist()
    away = np.abs(ratio.sel(route="trained") / ratio.sel(route="theory") - 1)
    apart, least, most = plots.mean_interval(away.values).tolist()
    return [
        _here(
            "Means 1 and 2: the weak concept is half learned later with deviations of 0.05, as "
            "captioned, than with variances, as run, and with a bias by more than the ratio of its "
            f"signals: how many times (mean of {len(away)} pairs of networks with the same initial "
            "weights).",
            SIGNALS,
            mean,
            0.0,
            interval=(low, high),
            relation="at least",
            note="Its signal is 0.336 in place of 0.383. Without a bias, from zero weights, times "
            "are as one over the signal; a bias slows the smaller signal more.",
        ),
        _here(
            "Exact theory foresees for each network how many times later, within 2 %: difference "
            f"as a share, mean of {len(away)} pairs.",
            0.0,
            apart,
            0.02,
            interval=(least, most),
            relation="at most",
        ),
    ]


def _on_one_seed(data: xr.Dataset) -> list[Claim]:
    source = "Yang et al. (ICLR 2025), figures 2a and 2b, one seed"
    n = data.sizes["seed"]
    error = data.error.sel(setting=MAIN, epoch=[0, 1, 2, 3, 4, 5, EPOCHS]).values
    ours, told = _epochs(data)
    unit = f"distance from the mean of {n} seeds in half widths of their 95 % prediction interval"
    speeds = np.array([SEED_SPEEDS[0] / SEED_SPEEDS[1]])
    common: dict[str, Any] = {"tolerance": 0.0, "relation": "at most"}
    return [
        Claim(
            "The published network, means 1 and 2 and variances 0.05, is not ruled out as one like "
            f"ours by its error after 0 to 5 and 40 epochs: largest {unit}.",
            source,
            1.0,
            wide.apart(np.array([*SEED_ERRORS, SEED_END]), error),
            **common,
            note=wide.within(np.array([*SEED_ERRORS, SEED_END]), error),
        ),
        Claim(
            "The published networks are not ruled out as ones like ours by the epochs at which "
            f"they learn concepts by one half and to 90 %, {len(told)} numbers: largest {unit}.",
            source,
            1.0,
            wide.apart(told, ours, uncertain=1.0),
            **common,
            note="Published are whole epochs, the first at which the concept was found learned; "
            + wide.within(told, ours, uncertain=1.0),
        ),
        Claim(
            "The published network moves 199 times faster in its first epoch than in its last, and "
            f"is not ruled out as one like ours by that: {unit}.",
            source,
            1.0,
            wide.apart(speeds, _slowing(data)[0][:, None]),
            **common,
            note=wide.within(speeds, _slowing(data)[0][:, None]),
        ),
    ]


def _epochs(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return our epochs of learning beside one seed's, where all our networks got there."""
    told = dict(zip(AS_RUN, SEED_EPOCHS, strict=True))
    names = [name for name in AS_RUN if name in data.setting]
    learned = data.learned.sel(route="trained", setting=names)
    ours = learned.transpose("seed", "setting", "threshold", "concept").values
    ours = ours.reshape(len(ours), -1)
    kept = np.isfinite(ours).all(axis=0)
    return ours[:, kept], np.array([told[name] for name in names], dtype=float).ravel()[kept]


def _slowing(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return how many times slower the last epoch is than the first: trained, and in theory."""
    whole = np.arange(EPOCHS + 1.0)
    trained, theory = (
        np.array([slowing(whole, each).ratio for each in route.values])
        for route in (data[name].sel(setting=MAIN, epoch=whole) for name in ("trained", "theory"))
    )
    return trained, theory


def _on_slowing(data: xr.Dataset) -> list[Claim]:
    n = data.sizes["seed"]
    trained, theory = _slowing(data)
    mean, low, high = plots.mean_interval(trained).tolist()
    return [
        Claim(
            "Learning slows down towards the end: in the first of 40 epochs answers move at least "
            f"100 times faster than in the last (mean of {n} seeds).",
            "Yang et al. (ICLR 2025), figure 2a",
            100.0,
            mean,
            0.0,
            interval=(low, high),
            relation="at least",
        ),
        _here(
            f"Exact theory foresees how much each of {n} networks slows down: largest difference "
            "as a share.",
            0.0,
            float(np.abs(trained / theory - 1).max()),
            0.1,
            relation="at most",
        ),
    ]
