"""Similarities by overlap of resampled trials, groups or neurons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole.measures._groups import TupleGroups
from partwhole.measures._similarity import Products, Samples, noise_by_feature, of_trials

Resample = Literal["trials", "groups", "neurons", "both"]


def chosen_resampling(resample: Resample | None, grouped: bool) -> Resample:
    """Return what is drawn anew, by default groups if there are any."""
    require(
        grouped or resample != "groups",
        "groups are resampled where there are some",
        "none",
        "pass groups, or resample trials",
    )
    require(
        not grouped or resample != "trials",
        "trials of one group may share noise, so that they are not resampled alone",
        'resample="trials" beside groups',
        'pass resample="groups", or leave groups out',
    )
    return resample or ("groups" if grouped else "trials")


def replicates_of(
    blocks: list[Samples],
    products: list[Products],
    centred: np.ndarray,
    resample: Resample,
    self_pairs: bool,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return similarities by overlap set of resampled trials, groups, neurons, or both."""
    alone = all(TupleGroups.of(block.components).counts.max() < 2 for block in blocks)
    if not count or (alone and resample != "neurons"):
        return np.empty((0, len(centred)))
    by_feature = resample in ("neurons", "both")
    estimate = np.concatenate([b.kappa() for b in products], axis=1) if by_feature else centred
    if resample == "neurons":
        n_features = estimate.shape[1]
        drawn = rng.multinomial(n_features, np.full(n_features, 1.0 / n_features), size=count)
        return drawn @ estimate.T
    if blocks[0].groups is not None:
        draws = replicates_over_groups(products, count, rng, by_feature=by_feature)
    else:
        draws = replicates_over_trials(
            blocks, count, rng, self_pairs=self_pairs, by_feature=by_feature
        )
    if not by_feature:
        return np.stack(list(draws))
    n_features = estimate.shape[1]
    even = np.full(n_features, 1.0 / n_features)
    return np.stack([draw @ rng.multinomial(n_features, even) for draw in draws])


def replicates_over_trials(
    blocks: list[Samples],
    count: int,
    rng: np.random.Generator,
    *,
    self_pairs: bool,
    by_feature: bool,
) -> Iterator[Float[np.ndarray, "sets *p"]]:
    """Yield similarities of resampled trials, with deviations widened to their full variance."""
    prepared = []
    for block in blocks:
        groups = TupleGroups.of(block.components)
        variance = 1.0 / groups.counts[groups.counts > 1]
        widen = 1.0
        if len(variance):
            widen = np.sqrt(variance.sum() / np.sum(variance * (1.0 - variance)))
        noise = noise_by_feature(block, groups)
        estimate = of_trials(
            block, groups=groups, self_pairs=self_pairs, by_feature=by_feature, noise=noise
        ).kappa()
        prepared.append((block, groups, widen, noise, estimate))
    for _ in range(count):
        parts = []
        for block, groups, widen, noise, estimate in prepared:
            drawn = of_trials(
                block, groups=groups, weights=groups.resampled(rng), self_pairs=self_pairs,
                by_feature=by_feature, noise=noise,
            ).kappa()  # fmt: skip
            parts.append(estimate + widen * (drawn - estimate))
        yield np.concatenate(parts, axis=1) if by_feature else np.sum(parts, axis=0)


def replicates_over_groups(
    products: list[Products], count: int, rng: np.random.Generator, *, by_feature: bool
) -> Iterator[Float[np.ndarray, "sets *p"]]:
    """Yield similarities of resampled groups, with deviations widened to their full variance."""
    estimates = [block.kappa() for block in products]
    for _ in range(count):
        parts = []
        for block, estimate in zip(products, estimates, strict=True):
            n_groups = int(block.groups.max()) + 1
            drawn = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)
            weights = drawn[block.groups].prod(axis=1).astype(float)
            widen = np.sqrt(n_groups / (n_groups - 1.0))
            parts.append(estimate + widen * (block.kappa(weights) - estimate))
        yield np.concatenate(parts, axis=1) if by_feature else np.sum(parts, axis=0)
