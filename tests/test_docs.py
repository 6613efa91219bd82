"""What the documents point to is there, and the README's picture shows what is computed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from partwhole import __version__, networks, tasks, training

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


def test_the_comparison_in_the_readme_is_what_is_found():
    identity = tasks.StructuredIdentity(means=[2, 4], scales=[0.2, 0.2], origin=True)
    made, how = networks.Architecture(layers=4, width=4), training.Protocol(0.01)
    runs = training.train_identity(identity, made, how, seeds=range(24))
    found = training.beside_theory(runs).describe()
    told = re.search(
        r"```text\n(4-layer.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert told
    words, numbers = r"[^\d.]+", r"\d+\.?\d*"
    assert re.findall(words, told[1].strip()) == re.findall(words, found)
    # Single precision: machines may differ in the last digit printed.
    left, right = ([float(each) for each in re.findall(numbers, text)] for text in (told[1], found))
    np.testing.assert_allclose(left, right, rtol=0.02)


def test_versions_agree():
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_locks_pin_every_package_with_its_hashes_and_name_no_index():
    for path in (ROOT / "requirements").glob("*.lock"):
        held = re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
        pinned = r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
        assert len(re.findall(pinned, held)) > 20
        assert re.sub(pinned, "", held) == "", path


def test_set_up_compares_the_hashes_of_the_locks():
    lines = (ROOT / "Makefile").read_text("utf-8").splitlines()
    installs = [line for line in lines if "$(PIP)" in line and ".lock" in line]
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)
