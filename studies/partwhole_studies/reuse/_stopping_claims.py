"""What is claimed of the least and the last error, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.limits import linear_probing
from partwhole.measures import negative_transfer
from partwhole.recommendation import predict_losses
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole.study.claim import Relation
from partwhole.tasks import SparseTeachers
from partwhole_studies.reuse import _paths as paths
from partwhole_studies.reuse._tables import BY_OVERLAP, SIZES
from partwhole_studies.reuse._weigh import BAND, FACTOR, PUBLISHED, mean_of_six, ratio

HERE = "derived here"
# Descent with steps of .1, seeds 100 to 105: overlap, samples, learner, reading; told error.
TOLD = (
    (0, 32, FINETUNING, "last", 2.389, 0.03),
    (0, 32, PROBING, "last", 5.15, 0.05),
    (20, 64, FINETUNING, "best", 0.8235, 0.03),
    (20, 64, FINETUNING, "last", 0.914, 0.03),
    (20, 64, PROBING, "best", 0.771, 0.05),
    (20, 64, PROBING, "last", 1.363, 0.05),
)
EXACT = {(0, 32): 2.3660, (20, 64): 0.91353}


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_the_start(data),
        *_on_rerun(data),
        *_on_ends(data),
        *_on_published(data),
        *_on_networks(data),
        *_on_transfer(data),
    ]


def _read(data: xr.Dataset, overlap: int, n: int, learner: str, reading: str) -> np.ndarray:
    values = data.read.sel(overlap=overlap, n=n, learner=learner, reading=reading).values
    return values[np.isfinite(values)]


def _told(overlap: int, learner: str, n: int) -> float:
    return BY_OVERLAP[overlap, learner][SIZES.index(n)]


def _on_the_start(data: xr.Dataset) -> list[Claim]:
    amplitude = 1.0 / np.sqrt(40)
    # Small readouts leave c * gamma * (w+ - w-) in each pretrained feature.
    left = 1e-3 * np.sqrt(amplitude - 2e-6)
    start = _read(data, 0, 32, FINETUNING, "start")
    found = [
        Claim(
            "Before its first step a finetuned network's error is 1, and what its readout of .001 "
            "lets through: 40 (.001)² (w+ - w-)² above it.",
            HERE,
            1.0 + 40 * left**2,
            float(start.mean()),
            1e-9,
            note="A test set of 10,000 inputs gives 1 within 1.4 %; the expected error is exact.",
        )
    ]
    for learner in (FINETUNING, PROBING):
        best = _read(data, 0, 32, learner, "best")
        start = _read(data, 0, 32, learner, "start")
        found.append(
            Claim(
                f"Without shared features the least error of {learner} is that of step 0: share of "
                f"{len(best)} seeds, 32 samples.",
                HERE,
                1.0,
                float(np.mean(best == start)),
                0.0,
                note="Published errors of the two are alike to 1e-6 in five of six seeds.",
            )
        )
    return found


def _on_rerun(data: xr.Dataset) -> list[Claim]:
    words = {"last": "last", "best": "least"}
    found = []
    for overlap, n, learner, reading, told, within in TOLD:
        here = _read(data, overlap, n, learner, reading)
        found.append(
            Claim(
                f"The {words[reading]} error of {learner} at overlap {overlap} and {n} samples, "
                "as descent was found to have it; by theory, same seeds.",
                HERE,
                told,
                float(here.mean()),
                within * told,
                note=f"{len(here)} seeds; the tolerance is what finite steps are known to change.",
            )
        )
    here = [float(_read(data, 20, 64, FINETUNING, reading).mean()) for reading in ("best", "early")]
    found.append(
        Claim(
            "Reading the error at every 50th step misses no lower one: least error of finetuning "
            "at overlap 20 and 64 samples, at every step against every 50th.",
            HERE,
            here[0],
            here[1],
            0.01 * here[0],
            note="The least error is reached about step 20, between two published records.",
        )
    )
    return found


def _on_ends(data: xr.Dataset) -> list[Claim]:
    found = []
    for (overlap, n), told in EXACT.items():
        task = SparseTeachers(overlap=overlap)
        seeds = data.seed.values[: len(_read(data, overlap, n, FINETUNING, "last"))].tolist()
        limit = predict_losses(
            task, [n], methods=[FINETUNING], rescalings=[1.0], seeds=seeds, progress=False
        ).mean[0, 0]
        last = float(_read(data, overlap, n, FINETUNING, "last").mean())
        where = f"at overlap {overlap} and {n} samples"
        found += [
            Claim(
                f"Gradient flow of finetuning ends at the least-cost solution: mean error {where}.",
                HERE,
                float(limit),
                last,
                1e-4 * float(limit),
                note=f"Told: {told:g}. The flow stops at a training loss of 1e-10.",
            )
        ]
    sample = SparseTeachers(overlap=0).sample(100, 32)
    start = paths.initial(PROBING, sample.auxiliary)
    end = sample.test_error(linear_probing(sample.inputs, sample.targets, start).coefficients)
    found.append(
        Claim(
            "Linear probing ends at the nearest fitting readout: error at overlap 0 and 32 "
            "samples, first seed, after a million steps.",
            HERE,
            float(end),
            float(_read(data, 0, 32, PROBING, "last")[0]),
            1e-5 * float(end),
        )
    )
    return found


def _on_published(data: xr.Dataset) -> list[Claim]:
    found = []

    def weigh(overlap: int, n: int, learner: str, reading: str, within: Real, what: str) -> None:
        told = _told(overlap, learner, n)
        here = _read(data, overlap, n, learner, reading)
        if len(here) < 2:
            return
        centre, low, high = (float(each) for each in plots.mean_interval(here))
        found.append(
            Claim(
                f"The published error of {learner}, overlap {overlap} and {n} samples, is the "
                f"{what} error.",
                PUBLISHED,
                told,
                centre,
                within * told,
                (low, high),
                note=f"Published {told:.4g}. Expected errors of {len(here)} other seeds.",
            )
        )

    for learner in (FINETUNING, PROBING):
        weigh(0, 32, learner, "best", 0.04, "least")
        weigh(0, 32, learner, "last", 0.04, "last")
    weigh(0, 32, MULTI, "best", 0.04, "least")
    weigh(0, 32, MULTI, "last", 0.04, "last")
    weigh(40, 64, SINGLE, "best", 0.04, "least")
    weigh(40, 64, SINGLE, "last", 0.04, "last")
    for learner in (FINETUNING, PROBING, MULTI):
        here = _read(data, 40, 64, learner, "best")
        if len(here) < 2:
            continue
        told = _told(40, learner, 64)
        centre, interval = mean_of_six(here)
        stopped = "Published runs stopped before they fitted. " if learner == MULTI else ""
        found.append(
            Claim(
                f"With all features shared, {learner} on 64 samples has the published least error: "
                "its decimal logarithm.",
                PUBLISHED,
                float(np.log10(told)),
                centre,
                FACTOR,
                interval,
                note=f"Published {told:.3g}, here {here.mean():.3g}. The interval is of means of "
                f"six, drawn from {len(here)} other seeds. {stopped}Tolerance: {BAND}.",
            )
        )
    return found


def _on_networks(data: xr.Dataset) -> list[Claim]:
    found = []
    for overlap, n in ((0, 32), (20, 64), (40, 64)):
        for learner in (SINGLE, MULTI, FINETUNING, PROBING):
            within = 0.05 if learner == PROBING else 0.03
            for reading, word in (("last", "last"), ("best", "least")):
                at = {"overlap": overlap, "n": n, "learner": learner}
                trained = data.trained.sel(at, drop=True).sel(end=reading).values
                theory = data.read.sel(at, drop=True).sel(reading=reading).values
                use = np.isfinite(trained) & np.isfinite(theory)
                if use.sum() < 2:
                    continue
                centre, interval = ratio(trained[use], theory[use])
                found.append(
                    Claim(
                        f"The {word} error of trained {learner} networks is that of theory: ratio "
                        f"at overlap {overlap}, {n} samples.",
                        HERE,
                        1.0,
                        centre,
                        within,
                        interval,
                        note="Learning rate .1, single precision; geometric mean of "
                        f"{use.sum()} networks, each beside the theory of its own data.",
                    )
                )
    return found


def _on_transfer(data: xr.Dataset) -> list[Claim]:
    found = []
    cases = ((0, 32, FINETUNING), (0, 32, PROBING), (0, 32, MULTI), (20, 32, FINETUNING))
    kinds: tuple[tuple[str, float, Relation, str], ...] = (
        ("last", 1.0, "at least", "hurts: last error over that of single-task learning"),
        ("best", 1.1, "at most", "hardly hurts by the least error: the same ratio"),
    )
    for overlap, n, learner in cases:
        told = _told(overlap, learner, n) / _told(overlap, SINGLE, n)
        for reading, limit, relation, words in kinds:
            alone = data.read.sel(overlap=overlap, n=n, learner=SINGLE, reading=reading).values
            ours = data.read.sel(overlap=overlap, n=n, learner=learner, reading=reading).values
            use = np.isfinite(alone) & np.isfinite(ours)
            if use.sum() < 2:
                continue
            ratio = negative_transfer(ours[use], alone[use])
            found.append(
                Claim(
                    f"With {overlap} of 40 features shared and {n} samples, {learner} {words}.",
                    HERE,
                    limit,
                    ratio.ratio,
                    0.0,
                    (ratio.low, ratio.high),
                    relation=relation,
                    note=f"In {ratio.share:.0%} of {ratio.n} seeds it is above 1. Published means: "
                    f"{told:.3g}.",
                )
            )
    return found
