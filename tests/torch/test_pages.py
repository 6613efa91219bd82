"""The pages on torch print what they show, on torch."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["torch.md", "your-network.md"])
def test_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    importlib.import_module("torch")
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    path = str(DOCS / name)
    results = doctest.testfile(path, module_relative=False, optionflags=flags, encoding="utf-8")
    assert results.failed == 0
    assert results.attempted > 15
