"""What JAX compiles, kept in the store, so that no process and no later run compiles it again."""

from __future__ import annotations

import os
import sys
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

FOLDER = "compiled"
LARGEST = 512 * 2**20


@cache
def keep_compiled(root: Path) -> None:
    """Let JAX keep what it compiles in the store, unless it has a folder for that.

    In a store that can't be written to nothing is kept. Of more than 512 MiB the oldest go.
    """
    if os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    folder = root / FOLDER
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            _use(folder)
            _remove_oldest(folder)


def _use(folder: Path) -> None:
    # Most of what is compiled takes less than JAX's least of a second.
    chosen = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    # What another process is still writing is compiled here instead.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    if "jax" not in sys.modules:
        # Read when JAX is imported, by this process or by those that it starts.
        os.environ.update({name.upper(): str(value) for name, value in chosen.items()})
        return
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    if jax.config.jax_compilation_cache_dir is None:  # pyright: ignore[reportAttributeAccessIssue]
        for name, value in chosen.items():
            jax.config.update(name, value)
        compilation_cache.reset_cache()


def _remove_oldest(folder: Path) -> None:
    entries = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in folder.iterdir())
    left = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if left <= LARGEST:
            return
        path.unlink(missing_ok=True)
        left -= size
