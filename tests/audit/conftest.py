"""Sweeps of saliences take most of an audit of labels; they run where something depends on them."""

from __future__ import annotations

import pytest

WITH_SWEEPS = ("test_salience_sweep", "test_page", "test_rules", "test_command")


@pytest.fixture(autouse=True)
def only_needed_sweeps(request, monkeypatch):
    """Leave out the sweep in the other modules."""
    if request.module.__name__.rpartition(".")[2] not in WITH_SWEEPS:
        monkeypatch.setattr("partwhole.audit.audit.salience_sweep", lambda *_, **__: None)
