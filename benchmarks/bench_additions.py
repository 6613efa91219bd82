"""Measure whether the recommended additions help, against as many random unseen combinations.

On 200 random tasks (2 to 4 components of 3 to 8 values, targets that are sums of conjunctions of
at most 1 or K components, random splits) the minimum-norm interpolant of a random ReLU network
with one hidden layer, cut off at order K, is fitted with true targets after adding k combinations:
those recommended, or as many random unseen ones. Errors are mean squares over the held-out
combinations that neither choice added, in units of the target's variance over the grid; for each
task the random choice's is a mean over several draws.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from partwhole import solve
from partwhole.audit.additions.search import additions
from partwhole.audit.case import AuditTable, Case
from partwhole.features.conjunctions import conjunction_sets
from partwhole.features.order_kernel import OrderKernel
from partwhole.limits.proofs.determination import determination
from partwhole.tasks import Task

DRAWS, RESAMPLES = 20, 10_000
MOST_GRID = 600


def problem(seed: int) -> tuple[Case, np.ndarray, np.ndarray]:
    """Return a split, all combinations of its grid and their true targets."""
    rng = np.random.default_rng(seed)
    n_components = int(rng.integers(2, 5))
    while True:
        n_values = tuple(int(n) for n in rng.integers(3, 9, size=n_components))
        if np.prod(n_values) <= MOST_GRID:
            break
    grid = np.stack(np.unravel_index(np.arange(np.prod(n_values)), n_values), axis=1)
    order = min(2, n_components - 1)
    targets = np.zeros(len(grid))
    for chosen in conjunction_sets(n_components, int(rng.choice([1, order])))[1:]:
        effect = rng.normal(size=[n_values[c] for c in chosen]) / len(chosen)
        targets += effect[tuple(grid[:, list(chosen)].T)]
    targets = (targets - targets.mean()) / targets.std()
    shares = rng.uniform([0.1, 0.1], [0.5, 0.5])
    draw = rng.random(len(grid))
    split = np.where(draw < shares[0], 0, np.where(draw < shares.sum(), 1, -1))
    split[rng.permutation(len(grid))[:2]] = [0, 1]
    table = AuditTable(
        grid,
        targets[:, None],
        None,
        split,
        np.ones(len(grid)),
        tuple(f"part {c}" for c in range(n_components)),
        tuple(tuple(range(n)) for n in n_values),
        ("y",),
        None,
        ("train", "test"),
    )
    return table.case(1, order), grid, targets


def codes(case: Case, rows: np.ndarray) -> np.ndarray:
    """Number combinations by their place in the grid."""
    return np.asarray(np.ravel_multi_index(tuple(rows.T), case.task.n_values))


def outputs(case: Case, grid: np.ndarray, targets: np.ndarray, added: np.ndarray) -> np.ndarray:
    """Return the interpolant's outputs on the grid, with these combinations in training."""
    is_train = np.zeros(len(grid), dtype=bool)
    is_train[codes(case, case.task.train_components)] = True
    is_train[added] = True
    task = Task(grid, targets, is_train, case.task.names, case.task.values)
    kernel = OrderKernel.random_network(case.task.n_components, case.order, depth=1)
    return solve(task, kernel.as_overlap(), intercept="free").predictions


def compare(seed: int, add: int) -> tuple[float, float, float, float]:
    """Return the errors before, with recommended ones, with random ones, and the seconds."""
    case, grid, targets = problem(seed)
    found = determination(case.task, max_order=case.order, n_probes=max(12, add + 2))
    start = time.perf_counter()
    chosen = additions(case, found, add=add, seed=seed)
    seconds = time.perf_counter() - start
    rows = np.array([step.values for step in chosen.steps], dtype=int).reshape(-1, grid.shape[1])
    ours = codes(case, rows)
    pairs = zip(grid.T, case.task.components.T, strict=True)
    known = np.all([np.isin(every, np.unique(column)) for every, column in pairs], axis=0)
    known[codes(case, case.task.train_components)] = False
    unseen = np.flatnonzero(known)
    rng = np.random.default_rng(10_000 + seed)
    held_out = codes(case, case.task.test_components)
    none = np.zeros(0, dtype=int)
    before = (outputs(case, grid, targets, none) - targets) ** 2
    with_ours = (outputs(case, grid, targets, ours) - targets) ** 2
    errors = []
    for _ in range(DRAWS):
        theirs = rng.choice(unseen, size=len(ours), replace=False)
        left = np.setdiff1d(held_out, np.concatenate([ours, theirs]))
        if len(left):
            with_theirs = (outputs(case, grid, targets, theirs) - targets) ** 2
            errors.append([e[left].mean() for e in (before, with_ours, with_theirs)])
    if not errors:
        return float("nan"), float("nan"), float("nan"), seconds
    first, second, third = np.mean(errors, axis=0)
    return float(first), float(second), float(third), seconds


def main() -> None:
    """Print the paired differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--add", type=int, nargs="+", default=[1, 3, 5])
    options = parser.parse_args()
    for add in options.add:
        found = np.array([compare(seed, add) for seed in range(options.tasks)])
        told = np.isfinite(found[:, 0])
        before, ours, theirs, seconds = found[told].T
        gain = theirs - ours
        rng = np.random.default_rng(0)
        means = gain[rng.integers(0, len(gain), (RESAMPLES, len(gain)))].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        ties = np.abs(gain) < 1e-9
        print(
            f"{add} added, {told.sum()} of {len(told)} tasks with combinations left to test: mean "
            f"squared error {before.mean():.3f} before, {ours.mean():.3f} recommended, "
            f"{theirs.mean():.3f} random; recommended less by {gain.mean():.3f} "
            f"[{low:.3f}, {high:.3f}], median {np.median(gain):.3f}; lower in "
            f"{100 * np.mean(gain[~ties] > 0):.0f} % of tasks ({ties.sum()} ties); "
            f"search {seconds.mean():.2f} s"
        )


if __name__ == "__main__":
    main()
