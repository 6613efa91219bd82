"""Time the dispersed sweep, 50 seeds x 51 saliences, against scikit-learn's SVR.

The baseline fits SVR (C = 1e10, epsilon = 0.1, as published) on the explicit kernel matrix at a
uniform random subsample of the 2,550 points (seed 0), scaled up. Tasks and kernel matrices are
precomputed and not timed.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.svm import SVR

from partwhole import tasks
from partwhole.features import OverlapKernel
from partwhole.limits.sweeps import interpolation_sweep

SAMPLE, SEED, REPEATS = 250, 0, 7


def main() -> None:
    """Print both times and their ratio."""
    saliences = np.linspace(0, 0.5, 51)
    several = [tasks.dispersed_addition(seed=seed) for seed in range(1, 51)]
    ours = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for task in several:
            interpolation_sweep(task, saliences)
        ours.append(time.perf_counter() - start)
    rng = np.random.default_rng(SEED)
    fits = []
    for index in rng.choice(len(several) * len(saliences), SAMPLE, replace=False):
        task = several[index // len(saliences)]
        kernel = OverlapKernel.from_salience([float(saliences[index % len(saliences)])])
        train, targets = task.train_components, task.train_targets
        gram, across = kernel.gram(train), kernel.gram(task.test_components, train)
        machine = SVR(kernel="precomputed", C=1e10)
        start = time.perf_counter()
        machine.fit(gram, targets).predict(across)
        fits.append(time.perf_counter() - start)
    n, mine = len(several) * len(saliences), float(np.median(ours))
    print(f"{n} points; SVR at {SAMPLE} of them (seed {SEED}); ours: median of {REPEATS}")
    print(
        f"SVR {1e3 * np.median(fits):.2f} ms a point (median), {np.mean(fits) * n:.2f} s in all "
        f"(scaled); ours {1e3 * mine:.1f} ms in all"
    )
    print(
        f"ratio of totals {np.mean(fits) * n / mine:.0f}, by the median point "
        f"{np.median(fits) * n / mine:.0f} (target 200)"
    )


if __name__ == "__main__":
    main()
