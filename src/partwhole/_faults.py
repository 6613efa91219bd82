"""The sentence on a fault of partwhole itself."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb


def own_failure(error: Exception) -> str:
    """Return a sentence on a fault of partwhole, with the facts that a bug report needs."""
    if isinstance(error, MemoryError):
        return (
            "the memory of this machine did not suffice, so nothing can be concluded; give fewer "
            "rows, columns or labels"
        )
    place = extract_tb(error.__traceback__)[-1]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"a fault of partwhole, so nothing can be concluded: {text[:300]} "
        f"({Path(place.filename).name}, line {place.lineno}); report it, with the command and "
        "its input"
    )
