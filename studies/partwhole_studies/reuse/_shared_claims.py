"""What is claimed of shared features, and what was found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from partwhole._types import Real
from partwhole.recommendation.methods import FINETUNING, MULTI, PROBING, SINGLE
from partwhole.study import Claim
from partwhole.study import plots as plots
from partwhole.study.claim import Relation
from partwhole_studies.reuse._tables import (
    BY_OVERLAP,
    BY_SPARSITY,
    FINETUNING_OVER_MULTI,
    OVERLAPS,
    SCRATCH,
    SIZES,
)
from partwhole_studies.reuse._weigh import (
    BAND,
    FACTOR,
    PUBLISHED,
    known,
    mean_of_six,
    paired,
    ratio,
)

FIGURE = "Lippl & Lindsey (NeurIPS 2024), figure 2"


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_on_what_is_published(data),
        *_on_theory(data),
        *_on_networks(data),
        *_on_overlap(data),
        *_on_sparsity(data),
        *_on_multi(data),
    ]


def _at(data: xr.Dataset, name: str, overlap: int, method: str, n: int) -> xr.DataArray:
    return data[name].sel(overlap=overlap, learner=method, n=n)


def _on_what_is_published(data: xr.Dataset) -> list[Claim]:
    found = []
    for method, name in ((FINETUNING, "finetuning"), (PROBING, "linear probing")):
        for reading, where in (
            ("best", "the least along learning, read at every 50th step"),
            ("last", "those where training ended"),
        ):
            logs = []
            for overlap in OVERLAPS:
                for n, told in zip(SIZES, BY_OVERLAP[overlap, method], strict=True):
                    here = known(_at(data, reading, overlap, method, n))
                    least, last = (_at(data, each, overlap, method, n) for each in ("best", "last"))
                    # Elsewhere the two can't be told apart.
                    if len(here) and float(least.mean()) < 0.95 * float(last.mean()):
                        logs.append(np.log(told / here.mean()))
            centre, low, high = np.exp(plots.mean_interval(np.array(logs)))
            found.append(
                Claim(
                    f"Published errors of {name} are {where}: geometric mean of published over "
                    f"theoretical errors, {len(logs)} overlaps and sizes.",
                    PUBLISHED,
                    1.0,
                    float(centre),
                    0.1,
                    (float(low), float(high)),
                    note="Where the least and the last error differ by more than 5 %. The "
                    "tolerance is four times the typical standard error of a published mean, "
                    "2.5 %.",
                )
            )
    for method, name in ((PROBING, "linear probing"), (SCRATCH, "probing without pretraining")):
        told = BY_OVERLAP[20, method][-1]
        for reading, where in (("last", "after a million steps"), ("end", "where it would end")):
            here = known(_at(data, reading, 20, method, 512))
            if len(here) < 2:
                continue
            centre, low, high = (float(each) for each in plots.mean_interval(here))
            found.append(
                Claim(
                    f"The published error of {name} at overlap 20 and 512 samples is that {where}.",
                    PUBLISHED,
                    told,
                    centre,
                    0.1 * told,
                    (low, high),
                    note="Descent on a readout has a closed form. The published runs stopped at a "
                    "million steps. Tolerance: four times the typical standard error, 2.5 %.",
                )
            )
    return found


def _on_theory(data: xr.Dataset) -> list[Claim]:
    found = []
    cases = ((40, FINETUNING, 128), (40, FINETUNING, 256), (30, FINETUNING, 256))
    for overlap, method, n in (*cases, (20, FINETUNING, 256), (40, SINGLE, 256)):
        here = known(_at(data, "end", overlap, method, n))
        told = BY_OVERLAP[overlap, method][SIZES.index(n)]
        found += _beside(here, told, f"{method} at overlap {overlap} and {n} samples")
    for shared, method, active, n in (("all", FINETUNING, 5, 128), ("none", SINGLE, 20, 128)):
        at = {"shared": shared, "learner": method, "active": active, "n": n}
        told = BY_SPARSITY[shared, method, active][SIZES.index(n)]
        where = f"{method} for {active} features, {shared} of them shared, and {n} samples"
        found += _beside(known(data.sparse.sel(at)), told, where)
    return found


def _beside(here: np.ndarray, told: float, where: str, note: str = "") -> list[Claim]:
    """Lay a published mean beside that of theory, if there is one."""
    if len(here) < 2:
        return []
    centre, interval = mean_of_six(here)
    return [
        Claim(
            f"Theory gives the published error of {where}: its decimal logarithm.",
            PUBLISHED,
            float(np.log10(told)),
            centre,
            FACTOR,
            interval,
            note=f"Published {told:.3g}, here {here.mean():.3g}. The interval is of means of six, "
            f"drawn from {len(here)} seeds. {note}Tolerance: {BAND}.",
        )
    ]


def _on_networks(data: xr.Dataset) -> list[Claim]:
    found = []
    words = {"last": "end", "best": "are least, at every 50th step,"}
    # Steps of finite size: probing has the largest errors, and with them the largest tolerance.
    for method, within in ((SINGLE, 0.03), (FINETUNING, 0.03), (PROBING, 0.05)):
        for reading, what in words.items():
            trained = data[f"trained_{reading}"].sel(learner=method)
            theory = data[reading].sel(learner=method)
            # Below this, the threshold on the training loss and single precision decide.
            use = np.isfinite(trained.values) & np.isfinite(theory.values)
            use &= theory.values > 1e-4
            if use.sum() < 2:
                continue
            centre, interval = ratio(trained.values[use], theory.values[use])
            found.append(
                Claim(
                    f"The errors of {method} networks {what} where theory says: geometric mean of "
                    f"trained over theoretical errors, {use.sum()} networks.",
                    "derived here",
                    1.0,
                    centre,
                    within,
                    interval,
                    note="Learning rate .1; gradient flow is its limit for small steps.",
                )
            )
    return found


def _on_overlap(data: xr.Dataset) -> list[Claim]:
    found = []

    def compare(
        statement: str,
        reading: str,
        overlap: int,
        n: int,
        limit: Real,
        relation: Relation,
        note: str,
    ) -> None:
        one, other = (_at(data, reading, overlap, each, n) for each in (FINETUNING, SINGLE))
        centre, interval, seeds = paired(one, other)
        told = [BY_OVERLAP[overlap, each][SIZES.index(n)] for each in (FINETUNING, SINGLE)]
        found.append(
            Claim(
                f"{statement} Finetuning over single-task error, overlap {overlap}, {n} samples.",
                FIGURE,
                limit,
                centre,
                0.0,
                interval,
                relation=relation,
                note=f"Published means: {told[0] / told[1]:.3g}. {seeds} seeds, paired. {note}",
            )
        )

    hurts = "Without shared features single-task learning is better"
    compare(f"{hurts}.", "end", 0, 64, 1, "at least", "At the end.")
    compare(f"{hurts}, by a factor of 4 or more.", "end", 0, 256, 4, "at least", "At the end.")
    compare(
        "With all features shared, finetuning has less than a hundredth of the error.",
        "end",
        40,
        64,
        0.01,
        "at most",
        "At the end.",
    )
    half = "With half the features shared, finetuning is better than single-task learning"
    compare(
        f"{half} by the least error along learning.",
        "best",
        20,
        32,
        1,
        "at most",
        "The least error only a test set can tell; the published errors are of this kind.",
    )
    compare(
        f"{half} where learning ends.",
        "end",
        20,
        32,
        1,
        "at most",
        "The published errors say so, since they are the least along learning.",
    )
    cells, differ = 0, []
    for overlap in OVERLAPS:
        for n in SIZES:
            order = [
                np.nanmean(data[reading].sel(overlap=overlap, learner=FINETUNING, n=n))
                < np.nanmean(data[reading].sel(overlap=overlap, learner=SINGLE, n=n))
                for reading in ("best", "last")
                if np.isfinite(_at(data, reading, overlap, SINGLE, n)).any()
            ]
            if len(order) == 2:
                cells += 1
                differ += [(overlap, n)] if order[0] != order[1] else []
    listed = "; ".join(f"overlap {overlap}, {n}" for overlap, n in differ) or "none"
    found.append(
        Claim(
            "Whether finetuning beats single-task learning doesn't depend on reading the least or "
            f"the last error: overlaps and sizes, of {cells}, where it does.",
            "derived here",
            0,
            len(differ),
            0,
            note=f"These are: {listed}.",
        )
    )
    found += _on_probing(data)
    return found


def _on_probing(data: xr.Dataset) -> list[Claim]:
    found = []
    cases: tuple[tuple[str, float, Relation, str], ...] = (
        (
            PROBING,
            10.0,
            "at most",
            "gains little: from 64 to {n} samples its error falls less than tenfold",
        ),
        (
            FINETUNING,
            100.0,
            "at least",
            "goes on: from 64 to {n} samples its error falls more than a hundredfold",
        ),
    )
    for method, limit, relation, words in cases:
        few = _at(data, "end", 20, method, 64)
        n = max(n for n in (128, 256) if len(known(_at(data, "end", 20, method, n))) > 1)
        many = _at(data, "end", 20, method, n)
        centre, interval, _ = paired(few, many)
        found.append(
            Claim(
                f"With half the features shared, {method} {words.format(n=n)}.",
                FIGURE,
                limit,
                centre,
                0.0,
                interval,
                relation=relation,
            )
        )
    shares = []
    for n in SIZES:
        one, other = (_at(data, "end", 40, method, n) for method in (PROBING, FINETUNING))
        both = np.isfinite(one.values) & np.isfinite(other.values)
        if both.any():
            shares.append(one.values[both].mean() < other.values[both].mean())
    found.append(
        Claim(
            "With all features shared, linear probing is better than finetuning at every size: "
            f"share of {len(shares)} sizes.",
            PUBLISHED,
            1.0,
            float(np.mean(shares)),
            0.0,
        )
    )
    return found


def _on_sparsity(data: xr.Dataset) -> list[Claim]:
    found = []
    shared = "none"
    for method in (SINGLE, FINETUNING):
        needed = {}
        for active in (5, 20):
            losses = data.sparse.sel(active=active, shared=shared, learner=method).values
            sizes = np.isfinite(losses).any(axis=1)
            needed[active] = [
                _samples(np.array(SIZES)[sizes], active * row) for row in losses[sizes].T
            ]
        both = np.array(needed[20]), np.array(needed[5])
        use = np.isfinite(both[0]) & np.isfinite(both[1])
        if use.sum() < 2:  # an error that is larger than half at every size
            continue
        centre, interval = ratio(both[0][use], both[1][use])
        told = [
            _samples(np.array(SIZES), active * np.array(BY_SPARSITY[shared, method, active]))
            for active in (20, 5)
        ]
        found.append(
            Claim(
                f"Sparser tasks are learned from fewer samples: by {method} learning without "
                "shared features, samples for half of the error of answering 0, 20 features over "
                "5.",
                FIGURE,
                1.0,
                centre,
                0.0,
                interval,
                relation="at least",
                note=f"Published errors give {told[0]:.3g} and {told[1]:.3g} samples, a ratio of "
                f"{told[0] / told[1]:.3g}.",
            )
        )
    return found


def _samples(sizes: np.ndarray, losses: np.ndarray) -> float:
    """Return where an error in units of that of answering 0 last falls to a half."""
    above = np.flatnonzero(~(losses <= 0.5))
    if len(above) in (0, len(sizes)) or above[-1] == len(sizes) - 1:
        return float("nan")
    i = above[-1]
    x, y = np.log(sizes[i : i + 2]), np.log(losses[i : i + 2])
    return float(np.exp(x[0] + (y[0] - np.log(0.5)) / (y[0] - y[1]) * (x[1] - x[0])))


def _on_multi(data: xr.Dataset) -> list[Claim]:
    found = []
    few = "With few samples multi-task learning is better than finetuning"
    many = "With more samples finetuning is better than multi-task learning"
    cases: tuple[tuple[int, int, Relation, str], ...] = (
        (20, 32, "at least", few),
        (40, 64, "at most", many),
        (40, 128, "at most", many),
        (20, 256, "at most", many),
    )
    for overlap, n, relation, words in cases:
        for reading, kind in (("last", "at the end"), ("best", "by the least error")):
            one, other = (_at(data, reading, overlap, each, n) for each in (FINETUNING, MULTI))
            centre, interval, seeds = paired(one, other)
            if interval is None:
                continue
            told = 10.0 ** FINETUNING_OVER_MULTI[overlap][SIZES.index(n)]
            found.append(
                Claim(
                    f"{words}, {kind}: finetuning over multi-task error, overlap {overlap}, {n} "
                    "samples.",
                    FIGURE,
                    1.0,
                    centre,
                    0.0,
                    interval,
                    relation=relation,
                    note=f"Published seeds: {told:.3g}. {seeds} seeds, paired.",
                )
            )
    for overlap, n in ((40, 128), (20, 256)):
        told = BY_OVERLAP[overlap, MULTI][SIZES.index(n)]
        here = known(_at(data, "last", overlap, MULTI, n))
        where = f"multi-task learning at overlap {overlap} and {n} samples"
        found += _beside(here, told, where, "Published runs stopped before they fitted. ")
    return found
