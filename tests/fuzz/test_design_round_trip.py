"""The audit of designed splits says what was asked for, of each grade; more of them by hand."""

from __future__ import annotations

import design_round_trip
import pytest


@pytest.mark.parametrize("start", [5, 10])
def test_the_audit_says_what_was_asked_for(start, monkeypatch):
    # What is asked for does not depend on it, and it takes most of the time.
    monkeypatch.setattr("partwhole.audit.audit.salience_sweep", lambda *_, **__: None)
    outcomes = [design_round_trip.outcome(seed) for seed in range(start, start + 5)]
    assert not [outcome for outcome in outcomes if outcome.startswith("WRONG")]
    assert sum(outcome.endswith("as asked") for outcome in outcomes) >= 3
