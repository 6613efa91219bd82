"""Levels of products of conditions: against least squares, simulated errors, graded codes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from partwhole.features.subsets import overlap_sets
from partwhole.measures.readouts import held_out_readouts, levels
from partwhole.measures.readouts.levels import Levels
from partwhole.recordings import from_trials

# A grid without three of its combinations.
CONDITIONS = np.array(
    [row for row in product(range(3), range(4)) if row not in [(0, 0), (2, 3), (1, 1)]]
)
ERROR = 1.0 / np.array([4, 5, 8, 3, 10, 6, 4, 7, 5])


def design(conditions, *, values):
    """Return a column for each overlap and, with values, for each pair of values of a component."""
    n = len(conditions)
    pairs = list(product(range(n), range(n)))
    overlap = overlap_sets(conditions, conditions)
    labels = [[overlap[a, b] for a, b in pairs]]
    if values:
        labels += [[frozenset((values[a], values[b])) for a, b in pairs] for values in conditions.T]
    return np.column_stack(
        [[float(label == one) for label in of] for of in labels for one in dict.fromkeys(of)]
    )


def world(rng, p=30):
    """Return true means of the conditions, centred, with graded values of the second component."""
    first, slope, single = (rng.normal(size=(n, p)) for n in (3, 1, 9))
    means = first[CONDITIONS[:, 0]] + 0.5 * CONDITIONS[:, 1:] * slope + 0.4 * single
    return means - means.mean(axis=0)


def described(means, noise=30.0):
    return Levels.of(CONDITIONS, means @ means.T + noise * np.diag(ERROR), ERROR)


def test_levels_are_least_squares_of_pairs():
    gram = (lambda rows: rows @ rows.T)(np.random.default_rng(1).normal(size=(9, 5)))
    of = described(world(np.random.default_rng(0)))
    for projection, values in ((of.by_overlap, False), (of.by_values, True)):
        columns = design(CONDITIONS, values=values)
        fit = columns @ np.linalg.lstsq(columns, gram.ravel(), rcond=None)[0]
        np.testing.assert_allclose(projection.of_pairs(gram).ravel(), fit, atol=1e-10)


def test_errors_of_levels_are_those_of_simulated_means():
    """2,000 draws; the mean squares have standard errors of a few percent."""
    rng = np.random.default_rng(2)
    means = world(rng)
    n, p = means.shape
    of, squares = described(means), []
    for _ in range(2000):
        noisy = means + np.sqrt(ERROR)[:, None] * rng.normal(size=(n, p))
        wrong = noisy @ noisy.T - p * np.diag(ERROR) - means @ means.T
        first = of.by_overlap.of_pairs(wrong)
        second = of.by_values.of_pairs(wrong)
        squares.append([np.sum(part**2) for part in (first, second - first, wrong - second, wrong)])
    simulated = np.mean(squares, axis=0)
    gram = means @ means.T
    constant, of_noise = of.by_overlap.errors(gram + p * np.diag(ERROR), ERROR)
    error = constant + p * of_noise
    assert error == pytest.approx(simulated[0], rel=0.06)
    np.testing.assert_allclose(of.shares(float(p)), simulated[1:3] / simulated[3], rtol=0.06)
    assert error / simulated[3] + of.shares(float(p)).sum() == pytest.approx(1.0, abs=0.02)


def test_errors_from_some_rows_are_near_those_from_all(monkeypatch):
    means = world(np.random.default_rng(3))
    shares = described(means).shares(30.0)
    monkeypatch.setattr(levels, "MOST_ROWS", 5)
    np.testing.assert_allclose(described(means).shares(30.0), shares, atol=0.1)


def test_products_without_errors_stay_and_with_nothing_else_become_means_by_overlap():
    rng = np.random.default_rng(4)
    of, gram = described(world(rng)), np.cov(rng.normal(size=(9, 20)))
    parts = of.parts(gram)
    np.testing.assert_allclose(parts.drawn(of.kept(parts, 0.0, 30.0)), gram, atol=1e-12)
    by_overlap = of.by_overlap.of_pairs(gram)
    np.testing.assert_allclose(parts.drawn(of.kept(parts, 1e9, 30.0)), by_overlap, atol=1e-12)


def test_components_of_many_values_are_left_to_the_rest(monkeypatch):
    # Four overlaps, six pairs of three values; ten pairs of four values are too many.
    monkeypatch.setattr(levels, "MOST_COLUMNS", 12)
    of = described(world(np.random.default_rng(5)))
    assert [len(np.unique(columns)) for columns in of.by_values.columns] == [4, 6]


def test_accuracies_of_graded_codes_are_predicted_without_bias():
    """Eight directions and three contrasts, 60 neurons; six recordings.

    Products drawn towards their overlap alone predict .10 to .13 more than is measured.
    """
    rows = np.array(list(product(range(8), range(3))))
    differences = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 60, 8])
        angle = 2.0 * np.pi * np.arange(8) / 8
        code = np.exp(2.0 * (np.cos(angle[:, None] - rng.uniform(0, 2 * np.pi, 60)) - 1.0))
        code = (code - code.mean(axis=0)) / code.std()
        means = code[rows[:, 0]] + rng.normal(size=(3, 60))[rows[:, 1]]
        responses = np.repeat(means, 8, axis=0) + 1.5 * rng.normal(size=(192, 60))
        readouts = held_out_readouts(from_trials(responses, np.repeat(rows, 8, axis=0)))
        differences.append((readouts.accuracy - readouts.measured_accuracy)[:, 0].mean())
    # Standard error .014.
    assert abs(np.mean(differences)) < 0.04
