"""What the documents point to is there, and the README's picture shows what is computed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from partwhole import __version__

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/notation.md"])
def test_links_between_files_lead_somewhere(name):
    path = ROOT / name
    links = re.findall(r"\]\(([^)#]+)", path.read_text("utf-8"))
    assert [link for link in links if "://" not in link and not (path.parent / link).exists()] == []


def test_the_first_picture_lies_on_the_line_of_the_theory():
    spec = importlib.util.spec_from_file_location("first_result", ROOT / "docs/first_result.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scatter = module.draw().axes[1]
    right, theory, found = scatter.lines
    np.testing.assert_array_equal(found.get_xdata(), np.arange(-8, 9))
    np.testing.assert_allclose(found.get_ydata(), found.get_xdata() * 2 / 3, atol=1e-9)
    np.testing.assert_allclose(theory.get_ydata(), theory.get_xdata() * 2 / 3)
    np.testing.assert_array_equal(right.get_ydata(), right.get_xdata())
    assert (ROOT / "docs/first-result.svg").read_text("utf-8").startswith("<?xml")


def test_versions_agree():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_locks_pin_every_line_and_name_no_index():
    for path in (ROOT / "requirements").glob("*.lock"):
        lines = [line for line in path.read_text("utf-8").splitlines() if line[:1] != "#"]
        assert lines
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line) for line in lines), path
