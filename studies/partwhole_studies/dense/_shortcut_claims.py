"""What is claimed of dense networks in which a context decides, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.study import Claim
from partwhole.study.claim import Relation
from partwhole.study.estimates import estimate, known, rms
from partwhole_studies._trained import all_learned

PAPER = "Lippl & Stachenfeld (ICLR 2025)"
LAZY, RICH = 1.0, 1e-3


def claims(data: xr.Dataset) -> list[Claim]:
    found = [all_learned(data, "a label wrong")]
    for task in map(str, data.task.values):
        for loss in map(str, data.loss.values):
            found += _lazy(data, task, loss)
    for loss in map(str, data.loss.values):
        found.append(_rich(data, loss))
    if data.sizes["depth"]:
        for task in map(str, data.task.values):
            found += _deep(data.sel(task=task), task)
    return found


def _lazy(data: xr.Dataset, task: str, loss: str) -> list[Claim]:
    part = data.sel(task=task, loss=loss, scale=LAZY)
    theory = float(part.theory)
    right, ends = estimate(known(part.accuracy))
    solves = theory > 0
    relation: Relation = "at least" if solves else "at most"
    fit = "interpolation" if loss == "squared" else "the largest margin"
    gap = known(part.margin - part.regime)
    own, interval = estimate(known(part.margin) - float(theory))
    return [
        Claim(
            f"From large weights networks {'solve' if solves else 'fail'} {task} as random "
            f"features do: accuracy on unseen combinations, {loss} loss.",
            f"{PAPER}, and closed form derived here",
            0.9 if solves else 0.1,
            right,
            0.0,
            ends,
            relation=relation,
            note=f"By theory, {fit} has the margin {theory:.3f} on all unseen combinations.",
        ),
        Claim(
            f"Margins are those of infinitely wide random features: difference, {task}, {loss} "
            "loss.",
            "derived here",
            0.0,
            own,
            0.15,
            interval,
            note="Networks are 1,000 units wide, begin with answers of their own and have biases; "
            "after the logistic loss training stops short of the largest margin."
            if loss == "logistic"
            else "Networks are 1,000 units wide, begin with answers of their own and have biases.",
        ),
        Claim(
            f"Margins are those of each network's own tangent kernel before training: root mean "
            f"square difference, {task}, {loss} loss.",
            "derived here",
            0.0,
            rms(gap),
            0.1,
            note=f"{len(gap)} networks; the kernel moved by {float(part.drift.mean()):.1g} (1 less "
            "the cosine).",
        ),
    ]


def _rich(data: xr.Dataset, loss: str) -> Claim:
    part = data.sel(task="CD-3", loss=loss, scale=RICH)
    right, ends = estimate(known(part.accuracy))
    margin = float(part.margin.mean())
    takes = loss == "logistic"
    return Claim(
        f"From small weights, too, the loss decides: networks {'take' if takes else 'avoid'} the "
        f"shortcut on CD-3 after the {loss} loss (accuracy on unseen combinations).",
        "derived here; published figures are of the logistic loss",
        0.1 if takes else 0.9,
        right,
        0.0,
        ends,
        relation="at most" if takes else "at least",
        note=f"Mean margin {margin:.2f}; from large weights "
        f"{float(data.margin.sel(task='CD-3', loss=loss, scale=LAZY).mean()):.2f}.",
    )


def _deep(data: xr.Dataset, task: str) -> list[Claim]:
    size = data["size"].mean("depth")
    context, right = (known(size.sel(kind=kind)) for kind in ("context", "right pair"))
    ratio = np.log(context) - np.log(right)
    mean, ends = estimate(ratio)
    leans = task == "CD-3"
    shown = [float(data["size"].sel(kind=kind).mean()) for kind in ("context", "right pair")]
    return [
        Claim(
            f"Networks of several layers lean more on {'the context' if leans else 'right pairs'} "
            f"than on {'right pairs' if leans else 'the context'}: log ratio of the mean size of "
            f"context terms to that of right pairs, {task}.",
            f"{PAPER}, appendix, context dependence in deep dense networks",
            0.0,
            mean,
            0.0,
            ends,
            relation="at least" if leans else "at most",
            note=f"Sizes {shown[0]:.2f} and {shown[1]:.2f}; published "
            + ("2.3 to 2.7, and .4 to .65." if leans else "below .25, and 2.3 to 2.9."),
        )
    ]
