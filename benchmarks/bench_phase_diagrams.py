"""Time the three phase diagrams of context dependence against scikit-learn's SVC.

Ours solves all 1,728 admissible points of the 50 x 50 grid for CD-1, CD-2 and CD-3 (hard margin).
The baseline fits SVC (C = 1e10) on the explicit kernel matrix, at a uniform random subsample of
the points (seed 0), and its total is scaled up to the grid. Kernel matrices are precomputed and
not timed.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.svm import SVC

from partwhole import tasks
from partwhole.features import OverlapKernel
from partwhole.features.subsets import kernel_spectrum, moebius, set_sizes
from partwhole.limits.sweeps import margin_sweep

SAMPLE, SEED, REPEATS = 40, 0, 5


def grid() -> np.ndarray:
    """Return Möbius coefficients of the admissible points."""
    high = np.linspace(0, 2 / 3, 50)[:, None]
    low = high * np.linspace(0, 1 / 2, 50)
    by_count = np.stack(
        [np.zeros_like(low), low, np.broadcast_to(high, low.shape), np.ones_like(low)], axis=-1
    ).reshape(-1, 4)
    sigma = moebius(by_count[:, set_sizes(3)])
    return sigma[kernel_spectrum(sigma, (2, 6, 6)).min(axis=1) >= -1e-8]


def main() -> None:
    """Print both times and their ratio for each task and in all."""
    points = grid()
    chosen = np.random.default_rng(SEED).choice(len(points), SAMPLE, replace=False)
    ours_total = baseline_total = 0.0
    print(f"{len(points)} points; SVC at {SAMPLE} of them (seed {SEED}); ours: median of {REPEATS}")
    for r in (1, 2, 3):
        task = tasks.context_dependence(r)
        train, labels = task.train_components, task.train_targets
        ours, swept = [], margin_sweep(task, points)
        for _ in range(REPEATS):
            start = time.perf_counter()
            swept = margin_sweep(task, points)
            ours.append(time.perf_counter() - start)
        fits, apart = [], []
        for index in chosen:
            kernel = OverlapKernel(3, points[index])
            gram, across = kernel.gram(train), kernel.gram(task.test_components, train)
            machine = SVC(kernel="precomputed", C=1e10)
            start = time.perf_counter()
            found = machine.fit(gram, labels).decision_function(across)
            fits.append(time.perf_counter() - start)
            apart.append(float(np.abs(found - swept[index]).max()))
        mine, theirs = float(np.median(ours)), float(np.mean(fits)) * len(points)
        ours_total, baseline_total = ours_total + mine, baseline_total + theirs
        print(
            f"CD-{r}: SVC {1e3 * np.median(fits):.2f} ms a point (median), {theirs:.1f} s in all "
            f"(scaled); ours {1e3 * mine:.0f} ms in all; ratio of totals {theirs / mine:.0f}, "
            f"by the median point {np.median(fits) * len(points) / mine:.0f}; "
            f"median difference {np.nanmedian(apart):.1e}"
        )
    print(f"all three: ratio {baseline_total / ours_total:.0f} (target 100)")


if __name__ == "__main__":
    main()
