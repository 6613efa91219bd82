"""The examples of `partwhole.torch` run on torch, by `make test-torch`; figures are closed."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import closed_figures as closed_figures  # pyright: ignore[reportMissingImports]

ROOM = Path(__file__).parent / "partwhole" / "torch"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, before marks decide what runs."""
    for item in items:
        if item.path.is_relative_to(ROOM):
            item.add_marker("torch")
