"""The rule of thumb for choosing a method, weighed against predicted losses and networks."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import t as student

from partwhole._types import Real
from partwhole.measures import negative_transfer
from partwhole.recommendation import Method, PredictedLosses
from partwhole.study import Claim
from partwhole.study.claim import Relation
from partwhole.tasks import SparseTeachers

DIMENSION, ACTIVE_AUX = 1000, 40
SINGLE, MULTI, PROBING = "single-task", "multi-task", "linear probing"
SMALL = "single-task, small weights"


def finetuning(c: float) -> str:
    """Return the name of finetuning with a rescaling."""
    return f"finetuning, c = {c:g}"


TUNED = tuple(finetuning(c) for c in (10.0, 1.0, 0.1, 0.01))
# As predicted losses have them, with single-task learning from smaller weights put second.
METHODS = (SINGLE, SMALL, MULTI, PROBING, *TUNED)
PUBLISHED = (SINGLE, MULTI, PROBING, finetuning(1.0))
HERE = "derived here"
OVERLAPS = "Lippl & Lindsey (NeurIPS 2024), figure 2"
SUBSETS = "Lippl & Lindsey (NeurIPS 2024), figure 3"


def best(losses: xr.DataArray) -> tuple[str, float, float]:
    """Return the method with the least mean loss, the ratio of the second to it, and the loss."""
    order = np.argsort(losses.values)  # NaN, a method that wasn't asked for, comes last
    values = losses.values[order]
    return str(losses.way.values[order[0]]), float(values[1] / values[0]), float(values[0])


def needed(data: xr.Dataset, overlap: int, method: str, error: Real) -> tuple[float, float, float]:
    """Return the samples at which the mean loss falls to a level, and a 95 % interval."""
    losses = data.overlapping.sel(overlap=overlap, way=[method])
    predicted = PredictedLosses(
        SparseTeachers(DIMENSION, ACTIVE_AUX, ACTIVE_AUX, overlap),
        (Method(method),),
        tuple(int(n) for n in data.n.values),
        tuple(int(seed) for seed in data.seed.values),
        losses.transpose("way", "n", "seed").values,
    )
    (found,) = predicted.samples_needed(error)
    return found.samples, found.low, found.high


def rule(overlap: int, active: int, n: int) -> tuple[str, ...]:
    """Return what the rule of thumb chooses: methods that it holds to be as good as each other."""
    if active < ACTIVE_AUX and overlap == active:
        sparse = active <= ACTIVE_AUX // 8
        return (
            (finetuning(0.01), finetuning(0.1)) if sparse else (finetuning(1.0), finetuning(10.0))
        )
    if overlap == 0:
        return (SINGLE,)
    if overlap == ACTIVE_AUX:
        return (PROBING, finetuning(1.0), finetuning(10.0))
    return (MULTI,) if n <= 1.6 * active else (finetuning(1.0),)


def claims(data: xr.Dataset) -> list[Claim]:
    return [
        *_without_overlap(data),
        *_in_part(data),
        *_in_full(data),
        *_subsets(data),
        *_rule_as_a_whole(data),
        *_samples(data),
        *_training(data),
    ]


def _ratio(losses: xr.DataArray, one: str, other: str) -> tuple[float, tuple[float, float]]:
    """Return the geometric mean of the ratio of two methods' losses, paired by seed."""
    found = negative_transfer(losses.sel(way=one).values, losses.sel(way=other).values)
    return found.ratio, (found.low, found.high)


def _compared(
    statement: str,
    source: str,
    losses: xr.DataArray,
    one: str,
    other: str,
    relation: Relation,
    reference: float = 1.0,
    note: str = "",
) -> Claim:
    value, interval = _ratio(losses, one, other)
    return Claim(statement, source, reference, value, 0, interval, relation=relation, note=note)


def _without_overlap(data: xr.Dataset) -> list[Claim]:
    apart = data.overlapping.sel(overlap=0)
    mean = apart.mean("seed").sel(way=list(PUBLISHED))
    first = [best(mean.sel(n=n))[0] for n in data.n.values]
    useless = [int(n) for n in data.n.values if float(apart.mean("seed").sel(n=n).min()) >= 0.9]
    found = [
        Claim(
            "Without common features single-task learning is best of the four published ways: at "
            f"how many of {len(first)} sample sizes.",
            OVERLAPS,
            len(first),
            sum(method == SINGLE for method in first),
            0,
            note="At " + ", ".join(map(str, useless)) + " samples no way is much better than "
            "answering 0.",
        )
    ]
    if 256 in data.n:
        large = apart.sel(n=256)
        found += [
            _compared(
                "Without common features single-task learning is better than finetuning with "
                "c = .01 too: loss of finetuning over single-task, 256 samples.",
                HERE,
                large,
                finetuning(0.01),
                SINGLE,
                "at least",
                note="Finetuning with c = .01 starts new features from smaller weights, which "
                "makes for sparser answers.",
            ),
            _compared(
                "Once single-task learning starts from weights as small, .00001, it is the better "
                "one: loss of finetuning with c = .01 over it, 256 samples.",
                HERE,
                large,
                finetuning(0.01),
                SMALL,
                "at least",
            ),
        ]
    return found


def _in_part(data: xr.Dataset) -> list[Claim]:
    found = []
    tuned = finetuning(1.0)
    for overlap in (20, 30):
        for n in (32, 64, 128, 256):
            relation: Relation = "at least" if n <= 64 else "at most"
            if n not in data.n or overlap not in data.overlap:
                continue
            ahead = "multi-task learning" if relation == "at least" else "finetuning"
            found.append(
                _compared(
                    f"With {overlap} of 40 features shared and {n} samples {ahead} is ahead: loss "
                    "of finetuning (c = 1) over multi-task learning.",
                    OVERLAPS,
                    data.overlapping.sel(overlap=overlap, n=n),
                    tuned,
                    MULTI,
                    relation,
                )
            )
        if 256 in data.n and overlap in data.overlap:
            found.append(
                _compared(
                    f"With {overlap} of 40 features shared and 256 samples c = .01 is far better "
                    "than c = 1: ratio of the losses, at most a tenth.",
                    HERE,
                    data.overlapping.sel(overlap=overlap, n=256),
                    finetuning(0.01),
                    tuned,
                    "at most",
                    0.1,
                )
            )
    return found


def _in_full(data: xr.Dataset) -> list[Claim]:
    full = data.overlapping.sel(overlap=ACTIVE_AUX)
    found = []
    for n in (64, 128):
        losses = full.sel(n=n)
        probing, ends = _ratio(losses, PROBING, finetuning(10.0))
        found += [
            Claim(
                "With all features shared linear probing is as good as finetuning with c = 10, "
                f"within a factor of 4, {n} samples: log2 of the ratio of the losses.",
                HERE,
                0,
                float(np.log2(probing)),
                2,
                (float(np.log2(ends[0])), float(np.log2(ends[1]))),
                note="Both are far below any loss that matters: "
                f"{float(losses.sel(way=PROBING).mean()):.1g} for probing.",
            ),
            _compared(
                "With all features shared multi-task learning is well behind finetuning with "
                f"c = 1: ratio of the losses with {n} samples, at least 3.",
                OVERLAPS,
                losses,
                MULTI,
                finetuning(1.0),
                "at least",
                3.0,
            ),
        ]
    start, size = 100.0 * 1e-3 * ACTIVE_AUX**-0.25, ACTIVE_AUX**-0.5
    value, ends = _ratio(full.sel(n=32), finetuning(10.0), PROBING)
    found.append(
        Claim(
            "With c = 10 finetuning starts a quarter of the way, since shared features have the "
            "same sign, and that is all it gains on linear probing at 32 samples: ratio of the "
            "losses, (1 - start / entry)^2 by the start.",
            HERE,
            (1 - start / size) ** 2,
            value,
            0.02,
            ends,
            note="With signs drawn anew there would be nothing to gain.",
        )
    )
    mean = full.mean("seed")
    first = [best(mean.sel(n=n, way=list(PUBLISHED)))[0] for n in data.n.values if n <= 128]
    found.append(
        Claim(
            "With all features shared linear probing is best of the four published ways up to 128 "
            f"samples: at how many of {len(first)} sizes.",
            OVERLAPS,
            len(first),
            sum(method == PROBING for method in first),
            0,
        )
    )
    return found


def _subsets(data: xr.Dataset) -> list[Claim]:
    found = []
    for active in map(int, data.active.values):
        sparse = active <= ACTIVE_AUX // 8
        sizes = [n for n in data.n.values if n <= 64]
        mean = data.subset.sel(active=active).mean("seed")
        first = [best(mean.sel(n=n, way=list(TUNED)))[0] for n in sizes]
        wanted = rule(active, active, 16)
        found.append(
            Claim(
                f"Of a main task with {active} of the 40 features, the best rescaling among 10, 1, "
                f".1 and .01 is {'.1 or .01' if sparse else '1 or 10'}: at how many of "
                f"{len(sizes)} sizes up to 64 samples.",
                SUBSETS,
                len(sizes),
                sum(method in wanted for method in first),
                0,
                applies=sparse or 2 * active >= ACTIVE_AUX,
                note="Best: "
                + ", ".join(
                    f"{method.removeprefix('finetuning, ')} (n = {n})"
                    for method, n in zip(first, sizes, strict=True)
                )
                + ".",
            )
        )
    return found


def _table(data: xr.Dataset) -> list[tuple[tuple[str, ...], xr.DataArray]]:
    """Return the rule's choice and the losses, for all points of both maps."""
    points = [
        (rule(int(o), ACTIVE_AUX, int(n)), data.overlapping.sel(overlap=o, n=n))
        for o in data.overlap.values
        for n in data.n.values
    ]
    points += [
        (rule(int(a), int(a), int(n)), data.subset.sel(active=a, n=n))
        for a in data.active.values
        for n in data.n.values
    ]
    return points


def _regret(points: list[tuple[tuple[str, ...], xr.DataArray]], fixed: str = "") -> float:
    """Return the mean of ln(loss of a choice / least loss); open choices count by their mean."""
    out = []
    for chosen, losses in points:
        mean = losses.mean("seed")
        taken = mean.sel(way=[fixed] if fixed else list(chosen)).values
        out.append(float(np.log(taken).mean() - np.log(float(mean.min()))))
    return float(np.nanmean(out))


def _rule_as_a_whole(data: xr.Dataset) -> list[Claim]:
    # Below 1e-6 all is learned, and nobody has to choose.
    points = [
        (chosen, losses)
        for chosen, losses in _table(data)
        if float(losses.mean("seed").min()) > 1e-6
    ]
    single = {method: _regret(points, method) for method in METHODS}
    least = min(single, key=lambda method: single[method])
    by_rule = _regret(points)
    seeds = data.seed.size
    left = []
    for out in range(seeds):
        kept = [(c, losses.isel(seed=np.arange(seeds) != out)) for c, losses in points]
        left.append(_regret(kept) - _regret(kept, least))
    deviation = float(np.sqrt((seeds - 1) * np.var(left)))
    gap, half = by_rule - single[least], float(student.ppf(0.975, seeds - 1)) * deviation
    right = sum(best(losses.mean("seed"))[0] in chosen for chosen, losses in points)
    return [
        Claim(
            "The rule of thumb names the method with the least predicted loss: share of "
            f"{len(points)} points of both maps with a least loss above 1e-6, more than half.",
            HERE,
            0.5,
            right / len(points),
            0,
            relation="at least",
        ),
        Claim(
            f"Who follows the rule loses less than with {least}, the best single choice, "
            "throughout: ratio of the losses, geometric mean over the same points.",
            HERE,
            1,
            float(np.exp(gap)),
            0,
            (float(np.exp(gap - half)), float(np.exp(gap + half))),
            relation="at most",
            note=f"Over the least loss it is {np.exp(by_rule):.3g} times by the rule; "
            + ", ".join(
                f"{np.exp(single[method]):.3g} by {method}"
                for method in (SINGLE, MULTI, finetuning(1.0), least)
            )
            + ".",
        ),
    ]


def _samples(data: xr.Dataset) -> list[Claim]:
    found = []
    for overlap in (20, 40):
        tuned = needed(data, overlap, finetuning(1.0), 0.1)
        alone = needed(data, overlap, SINGLE, 0.1)
        if np.isnan(tuned[0] / alone[0]):
            continue  # no size that was asked for suffices
        low, high = tuned[1] / alone[2], tuned[2] / alone[1]
        found.append(
            Claim(
                f"With {overlap} of 40 features shared finetuning (c = 1) needs fewer samples "
                "than single-task learning for a loss of a tenth: ratio of the samples.",
                OVERLAPS,
                1,
                tuned[0] / alone[0],
                0,
                (low, high),
                relation="at most",
                note=f"{tuned[0]:.0f} and {alone[0]:.0f} samples.",
            )
        )
    return found


def _training(data: xr.Dataset) -> list[Claim]:
    """Compare trained networks with their predictions, and the winners by either."""
    ratios, winners = [], {}
    for i in range(data.network.size):
        one = data.isel(network=i)
        overlap, n, method = (one[f"trained_{what}"].item() for what in ("overlap", "n", "method"))
        told = data.overlapping.sel(overlap=overlap, n=n, way=method)
        told = told.values[: data.trained_seed.size]
        winners.setdefault((overlap, n), []).append((one.final.values.mean(), told.mean()))
        ratios.extend(np.log(one.final.values / told)[told > 0.01])
    logs = np.array(ratios)
    half = float(student.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs)))
    same = sum(
        np.argmin(pairs, axis=0).tolist() == [np.argmin(pairs, axis=0)[0]] * 2
        for pairs in winners.values()
    )
    return [
        Claim(
            "Trained networks end where they are predicted to: ratio of the losses, geometric "
            f"mean of {len(logs)} networks.",
            HERE,
            1,
            float(np.exp(logs.mean())),
            0.05,
            (float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))),
            note=f"Single ones are off by up to {100 * np.abs(np.expm1(logs)).max():.0f} %: steps "
            "of .1 are not gradient flow.",
        ),
        Claim(
            "The best of the trained networks is the one predicted: at how many of "
            f"{len(winners)} points.",
            HERE,
            len(winners),
            same,
            0,
        ),
    ]
