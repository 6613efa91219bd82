"""Pages run in a folder of their own, with a stand-in of torch; `make test-torch` runs on torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch_stand_in  # pyright: ignore[reportMissingImports]
from figures import closed_figures as closed_figures  # pyright: ignore[reportMissingImports]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to an empty folder: a page writes its files there."""
    monkeypatch.chdir(tmp_path)
    torch_stand_in.install(monkeypatch)
