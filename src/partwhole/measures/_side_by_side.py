"""Small problems in threads, each with one thread of linear algebra.

Products of matrices of some hundred rows are hardly faster on two threads of linear algebra, and on
a busy machine these wait for one another, up to tens of times as long as the product takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")


@contextmanager
def one_thread_each() -> Iterator[int]:
    """Give linear algebra one thread, and yield how many it had."""
    libraries = ThreadpoolController().select(user_api="blas")
    threads = max((library["num_threads"] for library in libraries.info()), default=1)
    with libraries.limit(limits=1):
        yield threads


def side_by_side(solve: Callable[[S], T], problems: Iterable[S], threads: int) -> Iterator[T]:
    """Yield the solution of each problem, in order, within `one_thread_each`."""
    if threads == 1:
        yield from map(solve, problems)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(solve, problems)
    finally:
        pool.shutdown(cancel_futures=True)
