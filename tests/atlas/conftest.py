"""Sweeps of saliences take half of the time of audits; an atlas shows none of them."""

from __future__ import annotations

import pytest

WITH_SWEEPS = ("test_a_folder_becomes_pages_and_an_overview",)  # as those who make one do


@pytest.fixture(autouse=True)
def only_needed_sweeps(request, monkeypatch):
    """Leave out the sweep in the other tests."""
    if request.node.name not in WITH_SWEEPS:
        monkeypatch.setattr("partwhole.audit.audit.salience_sweep", lambda *_, **__: None)
