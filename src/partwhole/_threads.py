"""Independent runs in threads: compiled code releases the interpreter's lock while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from partwhole._progress import bar

T = TypeVar("T")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    train: Callable[[int], T], runs: Sequence[int], workers: int, progress: bool
) -> dict[int, T]:
    """Return the result of each run; a single worker is this thread, which Ctrl-C interrupts."""
    if workers == 1:
        with bar(f"training {len(runs)} networks", len(runs), shown=progress) as advance:
            results = {}
            for run in runs:
                results[run] = train(run)
                advance(1)
        return results
    results: dict[int, T] = {}
    pool = ThreadPoolExecutor(workers)
    try:
        with bar(f"training {len(runs)} networks", len(runs), shown=progress) as advance:
            for run, result in zip(runs, pool.map(train, runs), strict=True):
                results[run] = result
                advance(1)
    finally:
        pool.shutdown(cancel_futures=True)
    return results
