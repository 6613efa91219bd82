"""What JAX compiles is kept in the store, for other processes and later runs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from partwhole.study import compiled

CELL = """
import sys
from pathlib import Path
if sys.argv[2] == "before":
    import jax, jax.numpy as jnp
    jax.jit(lambda x: x - 1.0)(jnp.ones(3))
from partwhole.study.compiled import keep_compiled
keep_compiled(Path(sys.argv[1]))
import jax, jax.numpy as jnp
from jax._src import compilation_cache, monitoring
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event))
print(float(jax.jit(lambda x: jnp.sin(x).sum())(jnp.ones(5))))
print(sum(event.endswith("cache_hits") for event in hits))
"""


def compiles(store, imported, **environment):
    """Run a small program with a store, in a process of its own; return its hits of the cache."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_COMP", "JAX_PERS"))}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELL, str(store), imported],
        env=kept | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(run.stdout.split()[-1])


@pytest.mark.parametrize("imported", ["before", "after"])
def test_a_second_process_compiles_nothing_again(tmp_path, imported):
    assert compiles(tmp_path, imported) == 0
    entries = sorted((tmp_path / "compiled").iterdir())
    assert entries
    assert compiles(tmp_path, imported) > 0
    # An entry that another process has written in part is compiled again, without a word.
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:20])
    assert compiles(tmp_path, imported) == 0


def test_a_folder_that_was_chosen_stays(tmp_path):
    compiles(tmp_path / "store", "after", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "chosen"))
    assert not (tmp_path / "store").exists()


def test_a_store_that_cannot_be_written_to_keeps_nothing(tmp_path):
    (tmp_path / "store").write_text("a file")
    assert compiles(tmp_path / "store", "after") == 0


def test_the_oldest_go(tmp_path, monkeypatch):
    for number in range(4):
        path = tmp_path / str(number)
        path.write_bytes(bytes(100))
        os.utime(path, (number, number))
    monkeypatch.setattr(compiled, "LARGEST", 250)
    compiled._remove_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3"]
