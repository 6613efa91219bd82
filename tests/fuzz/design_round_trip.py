"""Design splits at random and audit them: ``python tests/fuzz/design_round_trip.py 1000``."""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module

import numpy as np

from partwhole import audit_split
from partwhole._checks import InputError
from partwhole.audit import design_split


def request(seed: int) -> tuple[dict[str, int], dict]:
    """Return factors and options drawn at random."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    factors = {name: int(v) for name, v in zip("abcd"[:n], rng.integers(2, 6, n), strict=True)}
    options: dict = {
        "require_order": int(rng.integers(1, n)),
        "test_share": float(rng.uniform(0.05, 0.5)),
        "seed": seed,
    }
    if rng.random() < 0.5 and factors["b"] >= factors["a"]:
        options["shortcut"] = {"b": float(rng.uniform(0.75, 0.95))}
    return factors, options


def outcome(seed: int) -> str:
    """Return whether the audit of a design says what was asked for."""
    factors, options = request(seed)
    try:
        design = design_split(factors, **options)
    except InputError:
        return "refused"
    order, frame = options["require_order"], design.to_frame()
    report = audit_split(frame, list(factors), "target", "split", require_order=order, add=0)
    rungs = {rung.order: rung for rung in report.evidence[0].ladder}
    if report.verdict != "supported" or rungs[order].share != 1.0:
        return f"WRONG: not supported, {factors}, {options}"
    if order + 1 in rungs and rungs[order + 1].determined:
        return f"WRONG: determined beyond the order, {factors}, {options}"
    if "shortcut" not in options:
        return "as asked"
    alone = [one for one in report.evidence[0].shortcuts if one.components == (1,)]
    named = bool(alone) and abs(alone[0].train - options["shortcut"]["b"]) < 0.1
    return f"as asked, shortcut {'named' if named else 'not named'}"


if __name__ == "__main__":
    # What is asked for does not depend on the salience of components, which takes most of the time.
    import_module("partwhole.audit.audit").salience_sweep = lambda *_, **__: None
    print(Counter(outcome(seed) for seed in range(int(sys.argv[1]))))
