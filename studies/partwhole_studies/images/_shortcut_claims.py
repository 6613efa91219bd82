"""What is claimed of networks in which a context decides on composed images."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole.study import Claim
from partwhole.study.claim import Relation
from partwhole.study.estimates import estimate, estimate_by_seed, known
from partwhole_studies._trained import all_learned
from partwhole_studies.images import _tables as tables
from partwhole_studies.images._claims import NOT_LEARNED, PAPER, title


def claims(data: xr.Dataset) -> list[Claim]:
    found = [all_learned(data, NOT_LEARNED)]
    for network in map(str, data.network.values):
        part = data.sel(network=network)
        for task in map(str, data.task.values):
            if np.isfinite(part.unseen.sel(task=task)).any():
                found.append(_beside_chance(part.sel(task=task), network, task))
        found += _with_distance(part, network) + _terms(part, network)
    found += _phases(data)
    if data.attrs["images"] == "mnist":
        found += _published(data)
    return found


def _beside_chance(data: xr.Dataset, network: str, task: str) -> Claim:
    hard = task == "CD-3"
    relation: Relation = "at most" if hard else "at least"
    mean, ends = estimate_by_seed(data.unseen)
    return Claim(
        f"{title(network)}s are {'at or below' if hard else 'above'} chance on {task}: share of "
        "unseen composites that is right.",
        f"{PAPER}, section on vision networks",
        0.5,
        mean,
        0.0,
        ends,
        relation=relation,
        note=f"{len(known(data.unseen))} networks over all distances; on seen combinations of new "
        f"images {float(data.quality.sel(set='seen').mean()):.2f}.",
    )


def _with_distance(data: xr.Dataset, network: str) -> list[Claim]:
    hard = data.unseen.sel(task="CD-3").dropna("distance", how="all")
    if hard.sizes["distance"] < 2:
        return []
    near, far = int(hard.distance.min()), int(hard.distance.max())
    fall = known(hard.sel(distance=far) - hard.sel(distance=near))
    mean, ends = estimate(fall)
    return [
        Claim(
            f"{title(network)}s take the shortcut of CD-3 more often as components lie apart: "
            f"accuracy at distance {far} less that at {near}, same seeds.",
            f"{PAPER}, appendix: .504 to .229 for the ConvNet",
            0.0,
            mean,
            0.0,
            ends,
            relation="at most",
            note=", ".join(
                f"{float(hard.sel(distance=d).mean()):.2f} at {d}" for d in hard.distance.values
            ),
        )
    ]


def _terms(data: xr.Dataset, network: str) -> list[Claim]:
    found = []
    for task in map(str, data.task.values):
        size = data.terms.sel(task=task)
        if not size.notnull().any():
            continue
        hard = task == "CD-3"
        mean, ends = estimate_by_seed(
            np.log(size.sel(kind="context")) - np.log(size.sel(kind="right pair"))
        )
        shares = size.mean(("distance", "seed"))
        shares = shares / shares.sum()
        found.append(
            Claim(
                f"{title(network)}s lean more on {'the context' if hard else 'right pairs'} than "
                f"on {'right pairs' if hard else 'the context'}: log ratio of the mean size of "
                f"context terms to that of right pairs, {task}.",
                f"{PAPER}, figure 5e",
                0.0,
                mean,
                0.0,
                ends,
                relation="at least" if hard else "at most",
                note="Shares: "
                + ", ".join(
                    f"{kind} {float(shares.sel(kind=kind)):.2f}" for kind in size.kind.values
                ),
            )
        )
    return found


def _phases(data: xr.Dataset) -> list[Claim]:
    """Weigh whether measured saliences put networks on the right side of the boundary."""
    found = []
    for words, place, stage in (
        ("late layer before training", "late", "before"),
        ("last layer after training", "last", "after"),
    ):
        said = data.theory.sel(place=place, stage=stage)
        both = said.notnull() & data.unseen.notnull()
        above = data.unseen > 0.5
        agree = xr.where((said > 0) == above, 1.0, 0.0).where(both)
        mean, ends = estimate_by_seed(agree)
        solved = above.values[both.values]
        guess = max(solved.mean(), 1.0 - solved.mean()) if solved.size else np.nan
        found.append(
            Claim(
                f"Saliences of the {words} say on which side of chance a network is: share that "
                "agrees, over all tasks.",
                "derived here, from the largest margin at those saliences",
                0.9,
                mean,
                0.0,
                ends,
                relation="at least",
                note=f"{both.values.sum()} networks, {solved.sum()} of them above chance; to call "
                f"all alike would be right in {guess:.2f}.",
            )
        )
    return found


def _published(data: xr.Dataset) -> list[Claim]:
    found = []
    for task, accuracies in tables.ACCURACY.items():
        for distance, wanted in zip(tables.DISTANCES, accuracies, strict=True):
            part = data.unseen.sel(network="convnet", task=task, distance=distance)
            mean, ends = estimate(known(part))
            found.append(
                Claim(
                    f"The published accuracy comes out again: ConvNet, {task}, distance "
                    f"{distance}.",
                    f"{PAPER}, appendix, context dependence on MNIST",
                    wanted,
                    mean,
                    0.05,
                    ends,
                )
            )
    return found
