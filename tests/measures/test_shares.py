"""Saliences as ratios of similarities with errors: how far they are off on average."""

from __future__ import annotations

import numpy as np

from partwhole.measures import salience
from partwhole.measures._shares import bias_of, shares_of


def test_ratios_of_noisy_numbers_are_off_by_their_second_order():
    # The mean of a million ratios of normal numbers; the next order is a hundredth of theirs.
    rng = np.random.default_rng(0)
    centred = np.array([-0.5, 0.1, 0.2, 1.0])
    root = 0.05 * rng.normal(size=(4, 4))
    drawn = centred + rng.normal(size=(1_000_000, 4)) @ root.T
    shares = shares_of(drawn)
    error = shares.std(axis=0) / 1000.0
    np.testing.assert_array_less(
        np.abs(shares.mean(axis=0) - shares_of(centred) - bias_of(centred, drawn)),
        4.0 * error + 0.05 * np.abs(bias_of(centred, drawn)),
    )
    assert np.abs(bias_of(centred, drawn)).max() > 10.0 * error.max()


def test_few_noisy_trials_say_that_saliences_are_off():
    rng = np.random.default_rng(0)
    rows = np.repeat([[a, b] for a in range(3) for b in range(3)], 3, axis=0)
    clean = np.eye(3)[rows].reshape(27, 6) @ rng.normal(size=(6, 8))
    noisy = clean + 2.0 * rng.normal(size=clean.shape)
    result = salience(noisy, rows, bootstrap=200)
    off = np.abs(bias_of(result.centred, result.replicates)).max()
    assert off > 0.01
    expected = f"as ratios of noisy numbers saliences are off by up to {off:.2g} on average: there"
    assert f"{expected} are few trials" in result.notes
    exact = salience(clean + 0.01 * noisy, rows, bootstrap=200)
    assert not any("ratios" in note for note in exact.notes)
