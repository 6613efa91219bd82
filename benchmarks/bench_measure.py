"""Time `measure` of large recordings, beside readouts that are trained anew without each condition.

The page of a recording holds saliences, dimensions and abstraction with their intervals, and what
readouts answer to every condition that could be held out, predicted and measured. The baseline is a
part of it: scikit-learn's ridge regression of the same labels, once without every condition (of the
widest recording without ten of them, times their number). Decoders of unseen conditions are left
out where they would take long, as in the first recording. Asked for, on two quiet cores: 5 s for
10,000 trials of 500 neurons in 125 conditions, 30 s for 960 trials of 20,000 voxels in 48.

    python benchmarks/bench_measure.py
"""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
from sklearn.linear_model import Ridge

from partwhole import measure
from partwhole.recordings import Recording, from_trials

# Values of components, trials of a condition, neurons, and conditions of the baseline.
RECORDINGS = {
    "10,000 trials of 500 neurons": ((5, 5, 5), 80, 500, 125),
    "960 trials of 20,000 voxels": ((6, 8), 20, 20_000, 10),
}
NOISE = 3.0


def simulated(values: tuple[int, ...], repeats: int, neurons: int) -> Recording:
    """Return a recording whose means are sums of parts."""
    rng = np.random.default_rng(0)
    conditions = np.array(list(itertools.product(*map(range, values))))
    rows = np.repeat(conditions, repeats, axis=0)
    parts = [rng.normal(size=(n, neurons)) for n in values]
    means = sum(part[rows[:, c]] for c, part in enumerate(parts))
    return from_trials(means + NOISE * rng.normal(size=(len(rows), neurons)), rows)


def retrained(recording: Recording, conditions: int) -> float:
    """Return the seconds in which ridge readouts are trained without every condition."""
    of_trial, x = recording.condition_of_trial, recording.responses
    rows = recording.conditions[of_trial]
    labels = np.hstack([np.eye(len(v))[rows[:, c]] for c, v in enumerate(recording.values)])
    ridge = float(np.mean(np.var(x, axis=0)))
    start = time.perf_counter()
    for held_out in range(conditions):
        train = of_trial != held_out
        Ridge(alpha=ridge).fit(x[train], labels[train]).predict(x[~train])
    return (time.perf_counter() - start) * recording.n_conditions / conditions


def main() -> None:
    """Print a line for each recording."""
    for name, (values, repeats, neurons, conditions) in RECORDINGS.items():
        recording = simulated(values, repeats, neurons)
        times = []
        for _ in range(3):
            start, of_process = time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                measure(recording, progress=False)
            times.append((time.perf_counter() - start, time.process_time() - of_process))
        first, seconds = times[0][0], float(np.median([wall for wall, _ in times]))
        busy = float(np.median([of for _, of in times]))
        baseline = retrained(recording, conditions)
        print(
            f"{name}, {recording.n_conditions} conditions: {seconds:.1f} s (the first {first:.1f} "
            f"s, {busy:.1f} s of processors); readouts trained anew {baseline:.1f} s, "
            f"{baseline / seconds:.2f} times as long",
            flush=True,
        )


if __name__ == "__main__":
    main()
