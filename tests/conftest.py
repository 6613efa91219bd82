"""Settings of all tests: shared machines have no deadlines, and runs are repeatable."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable
from pathlib import Path

# Read when JAX is imported, so that tests which do without it never import it.
os.environ["JAX_NUMPY_DTYPE_PROMOTION"] = "strict"
os.environ["JAX_NUMPY_RANK_PROMOTION"] = "raise"
# Tests compile for longer than they run what they compiled.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")
# XLA's older code for loops compiles in two thirds of the time, and whole in less than in parts.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
# What one process has compiled others read, and the next run: half of the time of training.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
# Test processes that each do linear algebra on every core wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import type_checks
from figures import closed_figures as closed_figures
from hypothesis import HealthCheck, settings

type_checks.install()
settings.register_profile(
    "house",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("house")


class FolderFromItsEnd(pytest.Dir):
    """Folder whose files are collected from the last to the first."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return reversed([*super().collect()])


def _worker(config: pytest.Config) -> str:
    return getattr(config, "workerinput", {}).get("workerid", "")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Let every second process collect a folder from its end.

    Processes that collect the same files in one order compile each file at the same time, all of
    them; from both ends they find half of the files compiled.
    """
    if not _worker(parent.config).endswith(tuple("13579")):
        return None
    return FolderFromItsEnd.from_parent(parent, path=path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the tests of all processes into one order, that of their files' names."""
    if _worker(config):
        items.sort(key=lambda item: item.path.parts)


def _on_a_large_stack(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    runner = item.config.pluginmanager.get_plugin("runner")
    assert runner is not None
    return runner.pytest_runtest_protocol(item, nextitem)


# Python keeps frames in pieces of 16 KiB, and returns a piece as soon as its first frame ends. At
# the edge of one every call of a loop asks the system for memory, a fifth of the time of solvers.
# A frame that says it needs 528 kB gets a piece of 1 MiB, with room for all frames of a test.
_on_a_large_stack.__code__ = _on_a_large_stack.__code__.replace(co_stacksize=66_000)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    return _on_a_large_stack(item, nextitem)


def pytest_runtest_setup() -> None:
    type_checks.begin_test()


def pytest_collection_finish() -> None:
    """Leave what was imported out of garbage collection, and look through the rest less often.

    Whole passes, over what JAX has compiled, took a twentieth of the time of tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
