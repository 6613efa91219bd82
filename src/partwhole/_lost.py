"""The error of work whose results are missing through no fault of its input."""

from __future__ import annotations


class LostError(RuntimeError):
    """Work without a result: its process, its cluster or some of its cells were lost."""
