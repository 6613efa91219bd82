"""Time tied flows and their closed form against a plain NumPy RK4 loop of the same accuracy.

1,000 networks of three concepts, each recorded at 500 evenly spaced times. The reference is the
flow at tolerances of 1e-12. The loop integrates the factor with the fewest steps between two
records at which its worst error over a subsample is no larger than the flow's; it is timed on the
subsample and told for one network. Compiling is not timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from partwhole.flows import Tied, flow
from partwhole.flows.cholesky_path import cholesky_path

FLOWS, RECORDS, SAMPLE, SEED, REPEATS = 1000, 500, 5, 0, 5
SIGNALS, LAST = np.diag([2.5, 1.2, 0.6]), 15.0


def rk4(u: np.ndarray, a: np.ndarray, per_record: int, records: int) -> np.ndarray:
    """Return W at evenly spaced times, with that many steps between two of them."""

    def slope(u: np.ndarray) -> np.ndarray:
        both = a @ (u @ u.T)
        return (a - 0.5 * (both + both.T)) @ u

    h = LAST / (records - 1) / per_record
    found = [u @ u.T]
    for _ in range(records - 1):
        for _ in range(per_record):
            k1 = slope(u)
            k2 = slope(u + 0.5 * h * k1)
            k3 = slope(u + 0.5 * h * k2)
            k4 = slope(u + h * k3)
            u = u + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(u @ u.T)
    return np.array(found)


def median(call: Callable[[], object]) -> float:
    """Return the median time of a call in seconds."""
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken))


def main() -> None:
    """Print the time of each network by each route, both errors, and the ratios."""
    rng = np.random.default_rng(SEED)
    u0 = rng.uniform(0.0, 0.15, size=(FLOWS, 3, 3))
    w0, times = u0 @ np.swapaxes(u0, -1, -2), np.linspace(0.0, LAST, RECORDS)
    chosen = rng.choice(FLOWS, SAMPLE, replace=False)
    truth = flow(Tied(w0[chosen], SIGNALS), times, rtol=1e-12, atol=1e-14).states
    for name, rtol, atol in (("default", 1e-9, 1e-12), ("loose", 1e-6, 1e-9)):

        def flows(rtol: float = rtol, atol: float = atol) -> np.ndarray:
            return flow(Tied(w0, SIGNALS), times, rtol=rtol, atol=atol).states

        start = time.perf_counter()
        found = flows()[chosen]
        first = time.perf_counter() - start
        seconds = median(flows) / FLOWS
        error = float(np.abs(found - truth).max())
        for per_record in range(1, 65):
            loop = np.array([rk4(u0[i], SIGNALS, per_record, RECORDS) for i in chosen])
            missed = float(np.abs(loop - truth).max())
            if missed <= error:
                break
        else:
            raise RuntimeError("64 steps between records do not reach the flow's error")
        plain = median(lambda n=per_record: [rk4(u0[i], SIGNALS, n, RECORDS) for i in chosen])
        plain /= SAMPLE
        print(
            f"Tied, {name} tolerances: {1e6 * seconds:.1f} us a network (error {error:.1e}; "
            f"first call {first:.1f} s); RK4 with {per_record} step(s) between records "
            f"{1e3 * plain:.1f} ms (error {missed:.1e}); ratio {plain / seconds:.0f} (target 100)"
        )
        if name == "default":
            closed = median(lambda: cholesky_path(w0, SIGNALS, times)) / FLOWS
            away = float(np.abs(cholesky_path(w0[chosen], SIGNALS, times).states - truth).max())
            print(
                f"cholesky_path: {1e6 * closed:.1f} us a network (a formula, off by up to "
                f"{away:.1e}); ratio to that loop {plain / closed:.0f} (target 1000)"
            )


if __name__ == "__main__":
    main()
