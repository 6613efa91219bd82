"""Time `interpolate` at a million training cells, and check it against a dense solution.

Distinct random cells of 3 components with 200 values, orders 1 and 2, a free intercept and
targets of unit variance, with predictions for as many other random cells. Each size runs in a
fresh process, whose peak memory includes Python and the data. The named baseline is
scikit-learn's KernelRidge on the explicit kernel matrix, at the largest size where that is
pleasant.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from partwhole import solve

SALIENCES = {"easy": (0.1, 0.1, 0.4), "hard": (1 / 3, 1e-3, 1e-5)}
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
VALUES, REPEATS, BASELINE_ROWS = 200, 3, 4_000


def problem(n: int):
    """Return a task of n seen and n held-out random cells."""
    from partwhole.tasks import Task

    rng = np.random.default_rng(0)
    codes = rng.permutation(np.unique(rng.integers(0, VALUES**3, int(1.4 * n) + 100)))[:n]
    seen = np.stack(np.unravel_index(codes, (VALUES,) * 3), axis=1)
    rows = np.concatenate([seen, rng.integers(0, VALUES, (n, 3))])
    targets = np.concatenate([rng.standard_normal(n), np.zeros(n)])
    values = (tuple(range(VALUES)),) * 3
    return Task(rows, targets, np.arange(2 * n) < n, ("a", "b", "c"), values)


def kernel(name: str):
    """Return the overlap kernel with these coefficients by order."""
    from partwhole.features import OverlapKernel
    from partwhole.features.subsets import set_sizes

    return OverlapKernel(3, np.array([0.0, *SALIENCES[name]])[set_sizes(3)])


def peak_gibibytes() -> float:
    """Return this process's peak memory; Linux counts it anew for a new program."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def one(n: int, name: str) -> None:
    """Solve one size in this process and print seconds, GiB, steps and gap."""

    task = problem(n)
    start = time.perf_counter()
    found = solve(task, kernel(name), intercept="free")
    found.predict(task.test_components)
    seconds = time.perf_counter() - start
    print(seconds, peak_gibibytes(), found.steps, found.gap / found.value)


def dense(task, sigma) -> tuple[np.ndarray, float]:
    """Solve with the kernel matrix written out; return held-out predictions and seconds."""
    train = task.train_components
    gram, across = sigma.gram(train), sigma.gram(task.test_components, train)
    n = len(train)
    start = time.perf_counter()
    system = np.block([[gram, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    right = np.append(task.train_targets, 0.0)
    solved = np.linalg.solve(system, right)
    for _ in range(2):
        rest = (right.astype(np.longdouble) - system @ solved.astype(np.longdouble)).astype(float)
        solved = solved + np.linalg.solve(system, rest)
    return across @ solved[:n] + solved[n], time.perf_counter() - start


def main() -> None:
    """Print accuracy, the ratio to the baseline, and growth with the number of rows."""
    from sklearn.kernel_ridge import KernelRidge

    for name in SALIENCES:
        task = problem(2_000)
        found = solve(task, kernel(name), intercept="free")
        expected, _ = dense(task, kernel(name))
        apart = np.abs(found.test_predictions - expected).max()
        print(f"{name}: 2,000 rows, largest difference from the dense solution {apart:.1e}")

        task, sigma = problem(BASELINE_ROWS), kernel(name)
        train = task.train_components
        gram, across = sigma.gram(train), sigma.gram(task.test_components, train)
        top = sigma.top
        start = time.perf_counter()
        # Its stubs want a whole number.
        machine = KernelRidge(alpha=top, kernel="precomputed")  # pyright: ignore
        machine.fit(gram - top * np.eye(len(gram)), task.train_targets).predict(across)
        baseline = time.perf_counter() - start
        start = time.perf_counter()
        solve(task, sigma, intercept="free").predict(task.test_components)
        ours = time.perf_counter() - start
        print(
            f"{name}: {BASELINE_ROWS:,} rows, KernelRidge on the kernel matrix {baseline:.2f} s "
            f"(its matrix not timed), ours {ours:.3f} s; ratio {baseline / ours:.0f}"
        )
        for n in SIZES:
            runs = []
            for _ in range(REPEATS):
                command = [sys.executable, __file__, str(n), name]
                out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                runs.append([float(word) for word in out.split()])
            seconds, peak, steps, gap = np.median(runs, axis=0)
            print(
                f"{name}: {n:>9,} rows and as many predictions {seconds:6.2f} s "
                f"(range {min(r[0] for r in runs):.2f}..{max(r[0] for r in runs):.2f}), "
                f"{1e6 * seconds / n:.2f} s a million, peak {peak:.2f} GiB, {steps:.0f} steps, "
                f"relative gap {gap:.0e}"
            )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(int(sys.argv[1]), sys.argv[2])
    else:
        main()
