"""The examples of `partwhole.torch` run on torch, by `make test-torch`."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOM = Path(__file__).parent / "partwhole" / "torch"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before marks decide what runs."""
    for item in items:
        if item.path.is_relative_to(ROOM):
            item.add_marker("torch")
