"""The lock files name one version of each package, and the hashes of its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import partwhole

ROOT = Path(partwhole.__file__).parents[2]
LOCKED = re.compile(r"[a-z0-9-]+==[\w.+-]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n")


@pytest.mark.parametrize("name", ["core", "test"])
def test_every_package_has_a_version_and_hashes(name):
    text = (ROOT / "requirements" / f"{name}.lock").read_text()
    body = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    assert LOCKED.sub("", body) == ""
    assert len(LOCKED.findall(body)) > 20


def test_hashes_are_compared_at_set_up():
    lines = (ROOT / "Makefile").read_text().splitlines()
    installs = [line for line in lines if "$(PIP)" in line and ".lock" in line]
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)
