"""Sweeps of saliences take most of an audit of labels; they run where something depends on them."""

from __future__ import annotations

import pytest

WITH_SWEEPS = (
    "test_salience_sweep",
    "test_page",
    "test_command",
    "test_a_rule_is_broken_by_one_table_and_not_by_its_neighbour[salience-limit]",
)


@pytest.fixture(autouse=True)
def only_needed_sweeps(request, monkeypatch):
    """Leave out the sweep in the other modules and tests."""
    module = request.module.__name__.rpartition(".")[2]
    if not {module, request.node.name} & {*WITH_SWEEPS}:
        monkeypatch.setattr("partwhole.audit.audit.salience_sweep", lambda *_, **__: None)
