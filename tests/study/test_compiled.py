"""What JAX compiles is kept in the store, for other processes and later runs."""

from __future__ import annotations

import os
import subprocess
import sys

from partwhole.study import compiled

CELL = """
import sys
from pathlib import Path
if sys.argv[2] == "before":
    import jax, jax.numpy as jnp
    jax.jit(lambda x: x - 1.0)(jnp.ones(3))
from partwhole.study.compiled import keep_compiled
keep_compiled(Path(sys.argv[1]))
import jax, jax.numpy as jnp, numpy as np
from jax._src import compilation_cache, monitoring
hits = []
monitoring.register_event_listener(lambda event, **_: hits.append(event))
for name in sys.argv[3:]:
    hits.clear()
    print(float(jax.jit(lambda x: getattr(jnp, name)(x).sum())(np.ones(5, np.float32))))
    print(sum(event.endswith("cache_hits") for event in hits))
"""


def compiles(store, imported, *functions, **environment):
    """Compile functions in a process of its own; return the hits of the cache for each."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_COMP", "JAX_PERS"))}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELL, str(store), imported, *functions],
        env=kept | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [int(line) for line in run.stdout.splitlines()[1::2]]


def test_a_second_process_compiles_nothing_again(tmp_path):
    """Whether JAX is imported before the folder is named or after, and the same of the first."""
    assert compiles(tmp_path, "before", "sin") == [0]
    entries = sorted((tmp_path / "compiled").iterdir())
    assert entries
    kept, new = compiles(tmp_path, "after", "sin", "cos")
    assert (kept > 0, new) == (True, 0)
    # An entry that another process has written in part is compiled again, without a word.
    for imported in ("before", "after"):
        for entry in entries:
            entry.write_bytes(entry.read_bytes()[:20])
        in_part, kept = compiles(tmp_path, imported, "sin", "cos")
        assert (in_part, kept > 0) == (0, True)


def test_a_folder_that_was_chosen_stays(tmp_path):
    compiles(tmp_path / "store", "after", "sin", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "chosen"))
    assert not (tmp_path / "store").exists()


def test_a_store_that_cannot_be_written_to_keeps_nothing(tmp_path):
    (tmp_path / "store").write_text("a file")
    assert compiles(tmp_path / "store", "after", "sin") == [0]


def test_the_oldest_go(tmp_path, monkeypatch):
    for number in range(4):
        path = tmp_path / str(number)
        path.write_bytes(bytes(100))
        os.utime(path, (number, number))
    monkeypatch.setattr(compiled, "LARGEST", 250)
    compiled._remove_oldest(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2", "3"]
