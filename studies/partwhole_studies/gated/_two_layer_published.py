"""Published numbers of two-layer gated networks on MNIST beside what is found there."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.study import Claim
from partwhole.study.estimates import estimate, estimate_by_seed, known
from partwhole_studies.gated._two_layer_claims import by_selection
from partwhole_studies.gated._two_layer_runs import FUNCTION, GROUP, LINEAR, NETWORK, UNITS

HERE = "derived here"
PAPER = "Lippl, Abbott & Chung (2022), published runs of figure 2"
WORDS = {
    NETWORK: "networks after 3,200 steps",
    GROUP: "the limit by the group norm",
    FUNCTION: "the limit by the function-space l2 norm",
}
# Errors with momentum 0: thresholds, hyperplanes, images, units; network, group norm, "L2".
ERRORS = {
    ("median", 1, 500, 10): (0.1656, 0.1617, 0.3038),
    ("median", 1, 500, 20): (0.1549, 0.1456, 0.2440),
    ("median", 1, 500, 50): (0.1453, 0.1362, 0.1688),
    ("median", 1, 500, 100): (0.1451, 0.1408, 0.1448),
    ("median", 1, 1000, 10): (0.1391, 0.1408, 0.2931),
    ("median", 1, 1000, 20): (0.1253, 0.1214, 0.2405),
    ("median", 1, 1000, 50): (0.1060, 0.0981, 0.1494),
    ("median", 1, 1000, 100): (0.1043, 0.0993, 0.1111),
    ("median", 1, 2000, 10): (0.1181, 0.1271, 0.3483),
    ("median", 1, 2000, 20): (0.1033, 0.1003, 0.2448),
    ("median", 1, 2000, 50): (0.0873, 0.0778, 0.1414),
    ("median", 1, 2000, 100): (0.0826, 0.0760, 0.0998),
    ("zero", 1, 2000, 10): (0.1282, 0.1463, 0.3491),
    ("zero", 1, 2000, 20): (0.1181, 0.1264, 0.2178),
    ("zero", 1, 2000, 50): (0.0978, 0.1018, 0.1363),
    ("zero", 1, 2000, 100): (0.0914, 0.0905, 0.1023),
    ("median", 2, 2000, 10): (0.1019, 0.1002, 0.2829),
    ("median", 2, 2000, 20): (0.0950, 0.0829, 0.2206),
    ("median", 2, 2000, 50): (0.0915, 0.0768, 0.1236),
    ("median", 2, 2000, 100): (0.0902, 0.0787, None),
}
# Programs that are a mean of fewer than three draws, others having ended without a solution.
FEWER = {
    (GROUP, "median", 1, 2000, 100): 1,
    (GROUP, "median", 2, 2000, 50): 1,
    (GROUP, "median", 2, 2000, 100): 1,
    (FUNCTION, "median", 2, 2000, 50): 2,
}
# Least errors over all settings, by images; of networks over both momenta.
LEAST = {
    NETWORK: {500: 0.1390, 1000: 0.0977, 2000: 0.0791},
    GROUP: {500: 0.1337, 1000: 0.0916, 2000: 0.0778},
    FUNCTION: {500: 0.1361, 1000: 0.1084, 2000: 0.0989},
}
# Over widths, hyperplanes, images and seeds: correlation of the two errors, mean difference,
# mean absolute difference.
ALIKE = {"zero": (0.961, 0.0052, 0.0073), "median": (0.966, -0.0060, 0.0080)}
PROGRAMS = {"zero": 72, "median": 63}
# Zero thresholds: inconsistency with the limit, and as a share of that of independent errors.
APART, SHARE = 0.0786, 0.336
READ_BACK = 0.1736  # inconsistency of networks that had lost their median thresholds
L2_APART, L2_SHARE = 0.1588, 0.580  # zero thresholds, the published function-space program

NEAR = 0.01  # of an error; twice what the mean of three draws varies by
CLOSE = 0.005  # of a difference of errors
CORRELATED = 0.025  # what 72 pairs leave open about a correlation of .96
ABOUT = 0.02  # of an inconsistency
WITHIN = 0.05  # of a share of what chance brings
SCRAMBLED = "The published program grouped contexts of different units."
FREE = (
    "The published program grouped contexts of different units and had another coefficient, which "
    "leaves the function almost free: its numbers are not of this norm."
)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_solutions(data),
        *_on_errors(data),
        *_on_gap(data),
        *_on_least(data),
        *_on_likeness(data),
        *_on_decisions(data),
        *_on_reading_back(data),
        *_on_function_decisions(data),
        *_on_agreement(data),
        *_on_margins(data),
    ]


def _written(thresholds: str, k: int, n: int, units: int) -> str:
    where = "at the median" if thresholds == "median" else "0"
    return f"{units} units, {k} hyperplane{'s' * (k > 1)}, {n} images, thresholds {where}"


def _all(data: xr.Dataset, learner: str) -> xr.DataArray:
    return data.errors.sel(learner=learner, part="all")


def _on_solutions(data: xr.Dataset) -> list[Claim]:
    group, units = data.group_value, data.units_value
    if not len(known(group)):
        return []
    slack = np.minimum(group - units, np.sqrt(data.n_units) * units - group) / group
    return [
        Claim(
            "The limit by the group norm is the global one: largest pull at a unit.",
            HERE,
            1.0,
            float(known(data.largest_pull).max()),
            1e-6,
            relation="at most",
            note=f"{len(known(data.largest_pull))} of {len(known(data.separable))} programs have "
            "a solution. What the training images would give for a unit's growth; units at 1 take "
            "part.",
        ),
        Claim(
            "The least group norm lies between the least Euclidean norm of the weights and the "
            "root of H times it: least distance from either end, of the group norm.",
            HERE,
            0.0,
            float(known(slack).min()),
            0.0,
            relation="at least",
        ),
    ]


def _on_errors(data: xr.Dataset) -> list[Claim]:
    found = []
    for (kind, k, n, units), told in ERRORS.items():
        at = {"thresholds": kind, "hyperplanes": k, "n": n, "n_units": units}
        if any(each not in data[name].values for name, each in at.items()):
            continue
        for learner, reference in zip((NETWORK, GROUP, FUNCTION), told, strict=True):
            here = _all(data, learner).sel(at)
            if reference is None or not len(known(here)):
                continue
            centre, ends = estimate_by_seed(here)
            draws = FEWER.get((learner, kind, k, n, units), 3)
            notes = {
                NETWORK: "The published readout has a bias, and images are split otherwise.",
                GROUP: SCRAMBLED,
                FUNCTION: FREE,
            }
            few = f" Published of {draws} of 3 draws." if draws < 3 else ""
            found.append(
                Claim(
                    f"Error of {WORDS[learner]}; {_written(kind, k, n, units)}.",
                    PAPER,
                    reference,
                    centre,
                    NEAR,
                    ends,
                    note=notes[learner] + few,
                )
            )
    return found


def _on_gap(data: xr.Dataset) -> list[Claim]:
    """Weigh the published distance of two norms where it is largest."""
    found = []
    for (kind, k, n, units), (_, group, function) in ERRORS.items():
        at = {"thresholds": kind, "hyperplanes": k, "n": n, "n_units": units}
        asked = units == 10 and (kind, k) == ("median", 1) and function is not None
        if not asked or any(each not in data[name].values for name, each in at.items()):
            continue
        right, other = _all(data, FUNCTION).sel(at), _all(data, GROUP).sel(at)
        centre, ends = estimate_by_seed(right - other)
        found.append(
            Claim(
                "The published gap: the function-space norm errs more than the group norm, by at "
                f"least half of the published difference; {_written(kind, k, n, units)}.",
                PAPER,
                0.5 * (function - group),
                centre,
                0.0,
                ends,
                relation="at least",
                note=f"Published {function:.4f} and {group:.4f}; here {float(right.mean()):.4f} "
                f"and {float(other.mean()):.4f}. {FREE}",
            )
        )
    return found


def _on_least(data: xr.Dataset) -> list[Claim]:
    found = []
    for learner, by_size in LEAST.items():
        for n, reference in by_size.items():
            if n not in data.n.values:
                continue
            chosen, least = by_selection(data.sel(n=n), learner)
            if not len(least):
                continue
            centre, ends = estimate(least)
            more = {NETWORK: "Published with momentum 0.9, too.", GROUP: SCRAMBLED, FUNCTION: FREE}
            found.append(
                Claim(
                    f"Least error of {WORDS[learner]} over widths, hyperplanes and thresholds, "
                    f"{n} images.",
                    PAPER,
                    reference,
                    centre,
                    NEAR,
                    ends,
                    note=f"Least on the images reported on, as published; chosen on other images "
                    f"{chosen.mean():.4f}. {more[learner]}",
                )
            )
    return found


def _on_likeness(data: xr.Dataset) -> list[Claim]:
    found = []
    for kind, (correlation, difference, size) in ALIKE.items():
        if kind not in data.thresholds.values:
            continue
        network = _all(data, NETWORK).sel(thresholds=kind)
        limit = _all(data, GROUP).sel(thresholds=kind)
        by_network, by_limit = (
            each.transpose("seed", ...).values.reshape(each.sizes["seed"], -1)
            for each in (network, limit)
        )
        known = np.isfinite(by_network) & np.isfinite(by_limit)
        pairs = int(known.sum())
        by_draw = [
            np.corrcoef(one[use], other[use])[0, 1]
            for one, other, use in zip(by_network, by_limit, known, strict=True)
            if use.sum() > 2 and np.ptp(one[use]) > 0 and np.ptp(other[use]) > 0
        ]
        together, ends = estimate(np.array(by_draw))
        words = f"thresholds {'at the median' if kind == 'median' else '0'}"
        note = f"{pairs} pairs here, {PROGRAMS[kind]} published. {SCRAMBLED}"
        gap = limit - network
        found.append(
            Claim(
                f"Errors of networks and of limits by the group norm go together: correlation "
                f"over widths, hyperplanes and numbers of images, {words}.",
                PAPER,
                correlation,
                together,
                CORRELATED,
                ends,
                note=note,
            )
        )
        for reference, values, what in (
            (difference, gap, "mean difference"),
            (size, abs(gap), "mean size of the difference"),
        ):
            centre, ends = estimate_by_seed(values)
            found.append(
                Claim(
                    f"Error of the limit by the group norm less that of the network, {what}, "
                    f"{words}.",
                    PAPER,
                    reference,
                    centre,
                    CLOSE,
                    ends,
                    note=note,
                )
            )
    return found


def _apart(data: xr.Dataset, learner: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Return inconsistencies with the networks, and those of independent errors."""
    p, q = _all(data, NETWORK), _all(data, learner)
    return data.apart.sel(learner=learner, end=NETWORK), p * (1 - q) + q * (1 - p)


def _on_decisions(data: xr.Dataset) -> list[Claim]:
    if "zero" not in data.thresholds.values:
        return []
    zero = data.sel(thresholds="zero")
    apart, chance = _apart(zero, GROUP)
    p = _all(zero, NETWORK)
    below = (apart < 2 * p * (1 - p)).where(np.isfinite(apart))
    numbers = (
        (APART, apart, ABOUT, "share of images decided differently"),
        (SHARE, apart / chance, WITHIN, "that share, of what independent errors would bring"),
    )
    found = []
    for reference, values, tolerance, words in numbers:
        centre, ends = estimate_by_seed(values)
        more = (
            f" So agreement beyond chance is {1 - SHARE:.3f}, here {1 - centre:.3f}."
            if reference == SHARE
            else ""
        )
        found.append(
            Claim(
                f"Networks and limits by the group norm decide alike: {words}, thresholds 0.",
                PAPER,
                reference,
                centre,
                tolerance,
                ends,
                note=f"{len(known(values))} networks, 72 published. {SCRAMBLED}{more}",
            )
        )
    found.append(
        Claim(
            "Networks and limits by the group norm decide differently less often than two "
            "learners with independent errors p: share of networks, thresholds 0.",
            PAPER,
            1.0,
            float(below.mean()),
            0.0,
            note=f"{len(known(below))} networks, 72 published.",
        )
    )
    return found


def _on_reading_back(data: xr.Dataset) -> list[Claim]:
    if "median" not in data.thresholds.values:
        return []
    median = data.sel(thresholds="median")
    own, lost = median.apart.sel(learner=GROUP, end=NETWORK), median.apart_reloaded
    centre, ends = estimate_by_seed(lost)
    more, around = estimate_by_seed(lost - own)
    note = (
        f"On {float(own.mean()):.4f} of images with the thresholds they were trained with. The "
        "published networks had lost theirs when they were compared."
    )
    return [
        Claim(
            "Networks read back without their median thresholds, as published, beside the limit "
            "by the group norm: share of images decided differently.",
            PAPER,
            READ_BACK,
            centre,
            ABOUT,
            ends,
            note=note,
        ),
        Claim(
            "Networks read back without their median thresholds seem to decide unlike their "
            "limits: how much more often.",
            HERE,
            0.0,
            more,
            0.0,
            around,
            relation="at least",
            note=note,
        ),
    ]


def _on_function_decisions(data: xr.Dataset) -> list[Claim]:
    """Show the published decisions of the function-space program beside those of the norm."""
    if "zero" not in data.thresholds.values:
        return []
    apart, chance = _apart(data.sel(thresholds="zero"), FUNCTION)
    found = []
    for reference, values, tolerance, words in (
        (L2_APART, apart, ABOUT, "share of images decided differently"),
        (L2_SHARE, apart / chance, WITHIN, "that share, of what independent errors would bring"),
    ):
        centre, ends = estimate_by_seed(values)
        found.append(
            Claim(
                "Networks decide otherwise than limits by the function-space l2 norm: "
                f"{words}, thresholds 0.",
                PAPER,
                reference,
                centre,
                tolerance,
                ends,
                note=f"{len(known(values))} networks, 69 published. {FREE}",
            )
        )
    return found


def _on_agreement(data: xr.Dataset) -> list[Claim]:
    found = []
    words = {UNITS: "by the unit-wise l2 norm", FUNCTION: "by the function-space l2 norm"}
    for kind in data.thresholds.values.tolist():
        told = data.agreed.sel(thresholds=kind, limit=GROUP, end=NETWORK)
        where = "at the median" if kind == "median" else "0"
        for baseline in (LINEAR, UNITS, FUNCTION):
            here = told.sel(baseline=baseline)
            above = here.sel(reading="above")
            if not len(known(above)):
                continue
            centre, ends = estimate_by_seed(above)
            other = "a hyperplane does" if baseline == LINEAR else f"that {words[baseline]}"
            agreement, against = (
                float(here.sel(reading=each).mean()) for each in ("agreement", "baseline")
            )
            found.append(
                Claim(
                    "The limit by the group norm tells a trained network's decisions better than "
                    f"{other}: difference of agreements beyond chance, thresholds {where}.",
                    HERE,
                    0.0,
                    centre,
                    0.0,
                    ends,
                    relation="at least",
                    note=f"{agreement:.3f} against {against:.3f}, means over widths, hyperplanes "
                    f"and numbers of images; {len(known(above))} networks.",
                )
            )
    return found


def _on_margins(data: xr.Dataset) -> list[Claim]:
    found = []
    for n in data.n.values.tolist():
        share = data.share.sel(n=n)
        if not len(known(share)):
            continue
        centre, ends = estimate_by_seed(share)
        found.append(
            Claim(
                "After 3,200 steps training is far from its limit: share of the largest margin, "
                f"{n} images.",
                HERE,
                0.5,
                centre,
                0.0,
                ends,
                relation="at most",
                note=f"From {known(share).min():.3f} to {known(share).max():.3f}; training error "
                f"{float(data.training.sel(n=n).max()):.3f} at most. Errors alike are no sign of "
                "having converged.",
            )
        )
    return found
