"""Noise of repeats: what it leaves unexplained in a solvable task, and what it does not excuse."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.audit.case import AuditTable
from partwhole.audit.noise import Noise


def table(rng, repeats, noise, interaction):
    cells = np.array([(a, b) for a in range(5) for b in range(5)])
    worth = rng.normal(size=(2, 5))
    score = worth[0][cells[:, 0]] + worth[1][cells[:, 1]]
    score = score + interaction * rng.normal(size=25)
    held_out = np.isin(cells[:, 0], [3, 4]) & np.isin(cells[:, 1], [2, 3, 4])
    components = np.repeat(cells, repeats, axis=0)
    y = np.repeat(score, repeats) + noise * rng.normal(size=25 * repeats)
    return AuditTable(
        components,
        y[:, None],
        None,
        np.repeat(held_out, repeats).astype(int),
        np.ones(len(y)),
        ("a", "b"),
        (tuple(range(5)),) * 2,
        ("y",),
        None,
        ("train", "test"),
    )


def unexplained(case):
    """Return the share of the held-out means that no additive function gives, and its rank."""
    rows = case.task.components[case.held_out]
    y = case.task.targets[case.held_out]
    one_hot = np.hstack([np.eye(5)[rows[:, 0]], np.eye(5)[rows[:, 1]]])
    fitted = one_hot @ np.linalg.lstsq(one_hot, y, rcond=None)[0]
    return np.sum((y - fitted) ** 2) / np.sum((y - y.mean()) ** 2), np.linalg.matrix_rank(one_hot)


def test_noise_alone_is_excused_and_interactions_are_not():
    excused = {0.0: 0, 1.0: 0}
    for seed in range(400):
        for interaction in excused:
            rng = np.random.default_rng(seed)
            case = table(rng, 4, 0.2, interaction).case(1, 1)
            share, rank = unexplained(case)
            noise = Noise.of(case)
            excused[interaction] += share <= noise.unexplained(len(case.held_out), int(rank))
    # One in a thousand is not excused by chance: 4 or more of 400 has probability .001.
    assert excused[0.0] >= 397
    # Their residuals have 101 times the noise's mean square on 2 degrees of freedom: below the
    # .999 quantile of F(2, 75), 7.5, with probability 1 - exp(-7.5 / 101), 28 of 400.
    assert excused[1.0] <= 60


def test_the_variance_is_that_within_combinations():
    case = table(np.random.default_rng(0), 3, 0.5, 0.0).case(1, 1)
    noise = Noise.of(case)
    y = case.table.targets.reshape(25, 3)
    assert noise.variance == pytest.approx(np.mean(y.var(axis=1, ddof=1)), rel=1e-12)
    assert noise.of_means == pytest.approx(noise.variance / 3, rel=1e-12)
    assert noise.degrees == 50


def test_without_repeats_that_differ_there_is_no_noise_to_know():
    assert Noise.of(table(np.random.default_rng(0), 1, 0.5, 0.0).case(1, 1)) is None
    assert Noise.of(table(np.random.default_rng(0), 3, 0.0, 1.0).case(1, 1)) is None
