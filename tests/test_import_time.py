"""`import partwhole` is quick, because every room is imported on its first use."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import partwhole

PROBE = """
import time
start = time.perf_counter()
import partwhole
print(time.perf_counter() - start)
import sys
print(*{name.partition(".")[0] for name in sys.modules})
"""


def probe() -> tuple[float, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60
    )
    seconds, names = done.stdout.splitlines()
    return float(seconds), set(names.split())


def test_importing_takes_less_than_a_fifth_of_a_second():
    assert min(probe()[0] for _ in range(5)) < 0.2


def test_importing_pulls_in_nothing_heavy():
    heavy = {"numpy", "scipy", "pandas", "xarray", "sklearn", "matplotlib", "jax", "tyro"}
    assert probe()[1] & heavy == set()


def test_the_public_face_names_what_it_has():
    assert dir(partwhole) == sorted(partwhole.__all__)
    for name in partwhole.__all__:
        assert getattr(partwhole, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'flows_typo'; it has"):
        partwhole.flows_typo  # noqa: B018


MOST_NAMES = 120  # of rooms, and what they list, each counted once


def test_the_public_face_is_small():
    members = {id(getattr(partwhole, name)) for name in partwhole.__all__}
    for room in (getattr(partwhole, name) for name in partwhole.__all__):
        if inspect.ismodule(room):
            listed = [getattr(room, name) for name in room.__all__]
            assert sum(map(inspect.isclass, listed)) <= 12, room.__name__
            members |= {*map(id, listed)}
    assert len(members) <= MOST_NAMES
