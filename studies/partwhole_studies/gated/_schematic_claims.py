"""What is claimed of the schematic's limits, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import binomtest

from partwhole.measures.accuracy import TIE
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole_studies.gated import _drawn as drawn

HERE = "derived here"
CLARABEL = "The reference is of another solver, Clarabel."
# Of the sums at margin 1: the group norm, then sums of squares.
VALUES = {
    "group": ("sum of unit norms", 1.0, 7.665719),
    "l2": ("sum of squared weights", 2.0, 30.268285),
    "function l2": ("sum of squares over joint contexts, of the units' sum", 2.0, 73.273028),
    "joint contexts": ("sum of squares over joint contexts, each alone", 2.0, 58.053628),
}
UNITS = (3.080523, 4.585195)
AT_MARGIN = 9


def claims(data: xr.Dataset) -> list[Claim]:
    found = [*_on_values(data), *_on_one_function(data)]
    if "ended" in data:
        found += _on_training(data)
    return [*found, *_on_a_context_left_out(data), *_on_sizes(data)]


def _on_values(data: xr.Dataset) -> list[Claim]:
    found = [
        Claim(
            f"Least {words} at margin 1, on the sixteen points.",
            HERE,
            told,
            factor * float(data.value.sel(norm=name)),
            1e-5 * told,
            note=CLARABEL,
        )
        for name, (words, factor, told) in VALUES.items()
    ]
    found += [
        Claim(
            f"Under the group norm, unit {unit + 1} has the norm told.",
            HERE,
            told,
            float(data.unit_norms.sel(sum_norm="group")[unit]),
            1e-5 * told,
            note=CLARABEL,
        )
        for unit, told in enumerate(UNITS)
    ]
    square = (2.0 * data.value).to_series()
    root = float(np.sqrt(square["l2"]))
    group = float(data.value.sel(norm="group"))
    return [
        *found,
        Claim(
            "No plane separates the sixteen points: number of planes found.",
            "Lippl, Abbott & Chung (2022), figure 1",
            0,
            int(data.linear),
            0,
        ),
        Claim(
            "Points that hold the margin under the group norm.",
            HERE,
            AT_MARGIN,
            int(data.support.sel(norm="group").sum()),
            0,
            note=CLARABEL,
        ),
        Claim(
            "Joint contexts alone need no larger a function than the sum of units does.",
            HERE,
            float(square["function l2"]),
            float(square["joint contexts"]),
            0.0,
            relation="at most",
        ),
        Claim(
            "The sum of unit norms is at least the root of the least sum of squares.",
            HERE,
            root,
            group,
            0.0,
            relation="at least",
        ),
        Claim(
            "It is at most that times the root of the number of units, 2.",
            HERE,
            float(np.sqrt(2.0)) * root,
            group,
            0.0,
            relation="at most",
        ),
        Claim(
            "By duality the multipliers of the group norm add up to its least value.",
            HERE,
            group,
            float(data.multipliers.sel(norm="group")),
            1e-6 * group,
        ),
    ]


def _on_one_function(data: xr.Dataset) -> list[Claim]:
    inputs, _, gates = drawn.schematic()
    every = gates.design(inputs).dense().matrix
    held = every[data.support.sel(norm="group").values == 1]
    group = data.answers.sel(norm="group")
    found = [
        Claim(
            "The points at the margin fix the function: independent numbers they set, of those a "
            "sum of the two units has.",
            HERE,
            int(np.linalg.matrix_rank(every)),
            int(np.linalg.matrix_rank(held)),
            0,
            note="12 weights, 3 of which can be moved from one unit to the other unseen.",
        )
    ]
    for name in ("l2", "function l2"):
        differ = float(np.abs(data.answers.sel(norm=name) - group).max())
        same = bool((data.support.sel(norm=name) == data.support.sel(norm="group")).all())
        found.append(
            Claim(
                f"So {name} answers as the group norm does: largest difference on the square.",
                HERE,
                0.0,
                differ,
                1e-6 * float(np.abs(group).max()),
                note=f"{'The same' if same else 'Other'} points hold the margin. Norms may differ "
                "in what they give each unit; this data set can't tell their functions apart.",
            )
        )
    return found


def _on_training(data: xr.Dataset) -> list[Claim]:
    told = VALUES["group"][2]
    share = {name: data[name].values * told for name in ("followed", "ended")}
    limit = np.sign(data.answers)
    decided = (np.abs(data.answers) > TIE).all("norm")
    alike = {
        (name, norm): (data[f"{name}_sides"] == limit.sel(norm=norm))
        .where(decided)
        .mean(("x", "y"))
        .values
        for name in share
        for norm in ("group", "joint contexts")
    }
    limits_alike = (limit.sel(norm="joint contexts") == limit.sel(norm="group")).where(decided)
    n = len(share["ended"])
    followed, low, high = (float(each) for each in plots.mean_interval(share["followed"]))
    same, lowest, highest = (
        float(each) for each in plots.mean_interval(alike["followed", "group"])
    )
    return [
        Claim(
            "No trained network has a larger margin than the limit: largest share of it.",
            HERE,
            1.0,
            float(max(each.max() for each in share.values())),
            1e-6,
            relation="at most",
            note=f"{n} starts. {CLARABEL}",
        ),
        Claim(
            "Followed to their stationary points, networks have the limit's margin: least share.",
            HERE,
            1.0,
            float(share["ended"].min()),
            1e-6,
            note=f"{n} starts, by gradients of the network's weights. {CLARABEL}",
        ),
        Claim(
            "Before that, after 5,000 steps of the flow, they have most of it: mean share.",
            HERE,
            0.97,
            followed,
            0.0,
            (low, high),
            relation="at least",
            note="The bound is what 60,000 steps reach on other data.",
        ),
        Claim(
            "At the end they decide as the limit does: least share of the square.",
            HERE,
            1.0,
            float(alike["ended", "group"].min()),
            0.0,
            note=f"Without {int((~decided).sum())} points of the grid on a boundary. With joint "
            f"contexts alone they share {alike['ended', 'joint contexts'].mean():.3f}.",
        ),
        Claim(
            "After 5,000 steps they decide more as the limit than the limit of joint contexts "
            "does: mean share of the square.",
            HERE,
            float(limits_alike.mean()),
            same,
            0.0,
            (lowest, highest),
            relation="at least",
        ),
    ]


def _on_a_context_left_out(data: xr.Dataset) -> list[Claim]:
    joint = data.sel(norm="joint contexts")
    ties = int(joint.counts.sel(told="ties").sum())
    total = int(joint.counts.sum())
    right = int(joint.counts.sel(told="right").sum())
    found = [
        Claim(
            "With one joint context left out, and each in turn, weights of joint contexts answer "
            "0 there: ties among its points.",
            HERE,
            total,
            ties,
            0,
            note=f"Accuracy {(right + 0.5 * ties) / total:.2f} with ties half, "
            f"{right / total:.2f} with ties wrong; {float(joint.seen.mean()):.0%} of its units' "
            "contexts were seen.",
        )
    ]
    for name in ("group", "l2", "function l2"):
        one = data.sel(norm=name)
        right = int(one.counts.sel(told="right").sum())
        low, high = binomtest(right, total).proportion_ci()
        found += [
            Claim(
                f"The sum of units ({name}) answers there as two other contexts add up to, less "
                "the opposite one: largest difference.",
                HERE,
                0.0,
                float(one.differs.max()),
                1e-8,
                note=f"{float(one.seen.mean()):.0%} of the units' contexts were seen.",
            ),
            Claim(
                f"And is right there more often than a coin ({name}): share of {total} points.",
                HERE,
                0.5,
                right / total,
                0.0,
                (float(low), float(high)),
                relation="at least",
                note="Twelve points in the other contexts set signs; what adds up are sizes. The "
                "next claims are on that.",
            ),
        ]
    return found


def _on_sizes(data: xr.Dataset) -> list[Claim]:
    most = int(data.n.max())
    found = []
    known = [str(each) for each in data.norm.values[:3]]
    for name in known:
        at = data.accuracy.sel(n=most, norm=name)
        near, far = (at.sel(gap=gap).values for gap in (0.0, 0.2))
        if not np.isfinite(near).all():
            continue
        apart, low, high = (float(each) for each in plots.mean_interval(far - near))
        sure, lowest, highest = (float(each) for each in plots.mean_interval(far))
        words = f"{most} points of |x₁| + |x₂| > 1 in three contexts"
        found += [
            Claim(
                f"{words}, a gap at the boundary: the sum of units ({name}) is right in the "
                "fourth more often than a coin.",
                HERE,
                0.5,
                sure,
                0.0,
                (lowest, highest),
                relation="at least",
                note=f"{len(far)} draws. A gap makes answers alike in size in all contexts.",
            ),
            Claim(
                f"{words}: with the gap it is right more often than without ({name}), by",
                HERE,
                0.0,
                apart,
                0.0,
                (low, high),
                relation="at least",
                note=f"Without: {near.mean():.3f}. The rule adds up over units, but near the "
                "boundary each context has a size of its own, and the sum adds sizes.",
            ),
        ]
    alone = data.accuracy.sel(norm="joint contexts").values
    alone = alone[np.isfinite(alone)]
    found.append(
        Claim(
            "Joint contexts alone learn nothing for the fourth from any number of points: largest "
            "distance of their accuracy, ties half, from a half.",
            HERE,
            0.0,
            float(np.abs(alone - 0.5).max()),
            0.0,
            note=f"{alone.size} training sets.",
        )
    )
    return found
