"""What is stated of two layers in 64 dimensions, and the claims that lay it beside networks."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.measures import retreat, slowing, swing_amplitude
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics._wide import AS_CAPTIONED, AS_RUN, CAPTIONED, EPOCHS, MAIN, SETTINGS

NETWORKS = ("linear", "relu")
SHORT = 12  # epochs; the published network has retreated by the ninth
# In units of the mean. The order of the batches alone moves an answer by about .01.
RETREATS = 0.02
FORESEEN = 0.005  # how far the flow may be from a retreat
# An answer moved by .01 moves an error above .08, half its square, by less than this share.
LARGER = 0.05
RISES = 0.005  # of the plateau, half the squared mean of the weak concept
# One seed's errors after each epoch from the start, and at the end; where its answer turns back.
SEED_ERRORS = {
    "linear": (3.223, 1.222, 0.603, 0.397, 0.326, 0.2935, 0.2718),
    "relu": (3.240, 2.033, 1.398, 0.968, 0.695, 0.543, 0.467, 0.430, 0.411, 0.399),
}
SEED_END = {"linear": 0.0042, "relu": 0.0657}
SEED_RETREAT = {"linear": 0.367 - 0.361, "relu": 0.226 - 0.181}
CALLED = {"linear": "two-layer linear networks", "relu": "two-layer ReLU networks"}
FIGURES = {
    "linear": "Yang et al. (ICLR 2025), figure 11",
    "relu": "Yang et al. (ICLR 2025), figure 12",
}


def runs(data: xr.Dataset, kind: str, setting: str, what: str = "trained") -> np.ndarray:
    """Return what was recorded of the networks that were trained, shape (n, T, ...)."""
    values = data[what].sel(network=kind, setting=setting).values
    values = values[np.isfinite(values[:, 0]).reshape(len(values), -1).all(axis=1)]
    # Shorter training leaves NaN behind in all of them alike.
    return values[:, np.isfinite(values).reshape(*values.shape[:2], -1).all(axis=(0, 2))]


def retreats(
    data: xr.Dataset, kind: str, what: str = "trained", *, setting: str = MAIN
) -> np.ndarray:
    """Return how far each network's answer goes back along the weak concept, in its mean."""
    means = np.array(SETTINGS[setting].means)
    return np.array(
        [
            retreat(data.epoch.values[: len(each)], each, means).amounts[0]
            for each in runs(data, kind, setting, what)
        ]
    )


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_beside_flow(data),
        *_onretreats(data),
        *_on_the_error(data),
        *_on_the_captions(data),
        *_on_order(data),
        *_on_one_seed(data),
        *_on_slowing(data),
    ]


def _here(statement: str, reference: Real, found: Real, tolerance: Real, **more: Any) -> Claim:
    return Claim(statement, "derived here", reference, found, tolerance, **more)


def _beside_flow(data: xr.Dataset) -> list[Claim]:
    scale = xr.DataArray(
        [SETTINGS[name].means for name in data.setting.values], dims=("setting", "concept")
    )
    gap = (np.abs(data.trained - data.theory) / scale).sel(network="linear")
    gap = gap.max(["epoch", "concept"]).dropna("setting", how="all")
    trained = gap.setting.values.tolist()
    run = gap.sel(setting=[name for name in trained if name in AS_RUN]).max("setting")
    each = run.dropna("seed").values
    there = gap.sel(setting=[name for name in trained if name in AS_CAPTIONED]).values
    there = there[np.isfinite(there)]
    mean, low, high = plots.mean_interval(each).tolist()
    apart = np.concatenate(
        [
            np.abs(
                retreats(data, "linear", setting=setting)
                - retreats(data, "linear", "theory", setting=setting)
            )
            for setting in (MAIN, CAPTIONED)
        ]
    )
    return [
        _here(
            "Gradient flow on the population from a linear network's own initial weights is met "
            "all along its training, within 2 % of the means: largest difference in any "
            f"setting as run, mean of {len(each)} seeds.",
            0.0,
            mean,
            0.02,
            interval=(low, high),
            relation="at most",
            note="The flow knows neither the sample nor the batches, whose order alone moves an "
            f"answer by about 1 %.{wide.left_out(trained)}",
        ),
        _here(
            "As captioned the flow is met as well, within 2 % of the means: largest difference in "
            f"{len(there)} networks.",
            0.0,
            float(there.max()),
            0.02,
            relation="at most",
        ),
        _here(
            "The flow foresees how far a linear network retreats along the weak concept: largest "
            f"difference in {len(apart)} networks, in units of its mean.",
            0.0,
            float(apart.max()),
            FORESEEN,
            relation="at most",
        ),
    ]


def _onretreats(data: xr.Dataset) -> list[Claim]:
    found = []
    backs = {kind: retreats(data, kind) > RETREATS for kind in NETWORKS}
    shares = {kind: wide.share(back) for kind, back in backs.items()}
    for kind in NETWORKS:
        number, interval = shares[kind]
        told = SEED_RETREAT[kind]
        found.append(
            Claim(
                f"That the published network retreats along the weak concept is typical of "
                f"{CALLED[kind]}: most do, by more than {100 * RETREATS:g} % of its mean (share "
                f"of {len(backs[kind])} seeds; means 1 and 2, variances 0.05).",
                f"{FIGURES[kind]}, one seed",
                0.5,
                number,
                0.0,
                interval=interval,
                applies=told > RETREATS,
                relation="at least",
                note=f"The published network retreats by {100 * told:.1f} % of the mean; of ours, "
                f"{int((retreats(data, kind) >= told).sum())} of {len(backs[kind])} retreat as "
                "far."
                if told > RETREATS
                else f"The published retreat of {100 * told:.1f} % is below what the order of "
                "batches does.",
            )
        )
    (a, (a_low, a_high)), (b, (b_low, b_high)) = shares["relu"], shares["linear"]
    # Newcombe's interval of a difference, from Wilson's of each share.
    low = a - b - np.hypot(a - a_low, b_high - b)
    high = a - b + np.hypot(a_high - a, b - b_low)
    found.append(
        _here(
            "ReLU networks retreat more often than linear ones, whose initial weights are drawn "
            f"alike: difference of the shares ({len(backs['relu'])} and {len(backs['linear'])} "
            "seeds).",
            0.0,
            a - b,
            0.0,
            interval=(float(low), float(high)),
            relation="at least",
        )
    )
    return found


def _on_the_error(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind in NETWORKS:
        errors = runs(data, kind, MAIN, "error")
        rises = swing_amplitude(errors) > RISES * 0.5 * SETTINGS[MAIN].means[0] ** 2
        number, interval = wide.share(np.asarray(rises))
        last = data.epoch.values[errors.shape[1] - 1]
        found.append(
            Claim(
                f"The error of most {CALLED[kind]} only falls: share of {len(errors)} seeds in "
                f"which it rises by more than 0.5 % of its plateau within {last:g} epochs.",
                FIGURES[kind],
                0.5,
                number,
                0.0,
                interval=interval,
                relation="at most",
                note="An answer may retreat while its error falls, since the strong concept gains "
                "more.",
            )
        )
    return found


def _on_the_captions(data: xr.Dataset) -> list[Claim]:
    """Lay networks with deviations, as captioned, beside those with variances, as run."""
    found = []
    backs = {
        kind: [retreats(data, kind, setting=setting) > RETREATS for setting in (MAIN, CAPTIONED)]
        for kind in NETWORKS
    }
    for kind in NETWORKS:
        run, captioned = backs[kind]
        number, interval = wide.share(captioned)
        found.append(
            Claim(
                f"As captioned, too, the retreat of the published network is typical of "
                f"{CALLED[kind]}: most do, by more than {100 * RETREATS:g} % of the weak concept's "
                f"mean (share of {len(captioned)} seeds; means 1 and 2, deviations 0.05).",
                f"{FIGURES[kind]}, one seed",
                0.5,
                number,
                0.0,
                interval=interval,
                applies=SEED_RETREAT[kind] > RETREATS,
                relation="at least",
                note=f"With variances, as run, {int(run.sum())} of {len(run)} do.",
            )
        )
        pair = data.sel(network=kind, setting=[MAIN, CAPTIONED], epoch=SHORT)
        error = pair.error.dropna("seed")
        ratio = (error.sel(setting=CAPTIONED) / error.sel(setting=MAIN)).values
        mean, low, high = plots.mean_interval(ratio).tolist()
        found.append(
            _here(
                f"After {SHORT} epochs the error of {CALLED[kind]} is larger by at least "
                f"{100 * LARGER:g} % with deviations, as captioned, than with variances, as run: "
                f"how many times (mean of {len(ratio)} pairs with the same initial weights).",
                1 + LARGER,
                mean,
                0.0,
                interval=(low, high),
                relation="at least",
            )
        )
    farther = retreats(data, "relu", setting=CAPTIONED) - retreats(data, "relu")
    mean, low, high = plots.mean_interval(farther).tolist()
    found.append(
        _here(
            "The answer of a ReLU network retreats farther with deviations, as captioned, than "
            f"with variances, as run, by more than {100 * FORESEEN:g} % of the weak concept's "
            f"mean: by how much, in units of that mean (mean of {len(farther)} pairs with the same "
            "initial weights).",
            FORESEEN,
            mean,
            0.0,
            interval=(low, high),
            relation="at least",
        )
    )
    return found


def _on_order(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind in NETWORKS:
        for setting in data.setting.values:
            known = SETTINGS[setting]
            learned = data.learned.sel(network=kind, setting=setting, threshold=0.5).values
            learned = learned[~np.isnan(learned).any(axis=1)]
            signals = wide.task(setting).signals[:2]
            if len(learned) < 4 or abs(signals[0] - signals[1]) < 0.1:
                continue
            stronger = int(signals.argmax())
            number, interval = wide.share(learned[:, stronger] < learned[:, 1 - stronger])
            found.append(
                Claim(
                    f"Most {CALLED[kind]} half learn the {('first', 'second')[stronger]} concept, "
                    f"whose signal is larger, before the other ({known.words}; share of "
                    f"{len(learned)} seeds).",
                    FIGURES[kind],
                    0.5,
                    number,
                    0.0,
                    interval=interval,
                    relation="at least",
                )
            )
    return found


def _on_one_seed(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind, told in SEED_ERRORS.items():
        epochs = [*range(len(told))]
        error = data.error.sel(network=kind, setting=MAIN, epoch=[*epochs, EPOCHS])
        ours = error.dropna("seed", how="all").values
        whole = bool(np.isfinite(ours).all())
        numbers = np.array([*told, SEED_END[kind]] if whole else told)
        found.append(
            Claim(
                f"The published network is not ruled out as one like our {CALLED[kind]} by its "
                "error after 0 to "
                f"{epochs[-1]}{f' and {EPOCHS}' if whole else ''} epochs: largest distance from "
                f"the mean of {len(ours)} seeds in half widths of their 95 % prediction interval.",
                f"{FIGURES[kind]}, one seed",
                1.0,
                wide.apart(numbers, ours[:, : len(numbers)]),
                0.0,
                relation="at most",
                note=wide.within(numbers, ours[:, : len(numbers)]),
            )
        )
    return found


def _slowing(data: xr.Dataset, kind: str, what: str = "trained") -> np.ndarray:
    """Return how many times slower the last of 40 epochs is than the first, if there are 40."""
    whole = np.arange(EPOCHS + 1.0)
    runs = data[what].sel(network=kind, setting=MAIN, epoch=whole).values
    return np.array([slowing(whole, each).ratio for each in runs if np.isfinite(each).all()])


def _on_slowing(data: xr.Dataset) -> list[Claim]:
    linear, relu = (_slowing(data, kind) for kind in NETWORKS)
    flow = _slowing(data, "linear", "theory")
    mean, low, high = plots.mean_interval(linear).tolist()
    found = [
        Claim(
            "Two linear layers slow down towards the end: in the first of 40 epochs answers move "
            f"at least 100 times faster than in the last (mean of {len(linear)} seeds).",
            FIGURES["linear"],
            100.0,
            mean,
            0.0,
            interval=(low, high),
            relation="at least",
        ),
        _here(
            f"The flow foresees how much each of {len(flow)} linear networks slows down: largest "
            "difference as a share.",
            0.0,
            float(np.abs(linear / flow - 1).max()),
            0.1,
            relation="at most",
        ),
    ]
    if len(relu):
        mean, low, high = plots.mean_interval(linear / relu).tolist()
        found.append(
            _here(
                "ReLU networks slow down less than linear ones with the same initial weights, "
                "since after 40 epochs they are still learning the weak concept: how many times "
                f"less (mean of {len(relu)} seeds).",
                1.0,
                mean,
                0.0,
                interval=(low, high),
                relation="at least",
            )
        )
    return found
