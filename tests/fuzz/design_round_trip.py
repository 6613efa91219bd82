"""Design splits at random and audit them: ``python tests/fuzz/design_round_trip.py 1000``."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from importlib import import_module
from itertools import combinations, pairwise

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
    if rng.random() < 0.5:
        options["grades"] = int(rng.integers(2, 4))
    return factors, options


def proves(certificate: dict) -> bool:
    """Return whether all weights add up, training lacks what is held out, and grades rise."""
    train, order = certificate["train"], certificate["order"]
    gains: dict[str, list[int]] = {}
    for entry in certificate["held_out"]:
        x, rows, weights = entry["combination"], entry["train"], entry["weights"]
        for chosen in combinations(range(len(x)), order):
            sums = Counter({tuple(x[c] for c in chosen): -1})
            for row, weight in zip(rows, weights, strict=True):
                sums[tuple(train[row][c] for c in chosen)] += weight
            if any(sums.values()) or x in train:
                return False
        gain = sum(weight**2 for weight in weights)
        if entry.get("noise_gain", gain) != gain:
            return False
        gains.setdefault(entry["split"], []).append(gain)
    rising = [gains[name] for name in sorted(gains)]
    return all(max(a) < min(b) for a, b in pairwise(rising))


def fault(factors: dict[str, int], options: dict, design) -> str:
    """Return what the audit of a design says that was not asked for, or nothing."""
    order, frame = options["require_order"], design.to_frame()
    report = audit_split(frame, list(factors), "target", "split", require_order=order, add=0)
    grades = options.get("grades", 1)
    if len(report.evidence) != grades or report.table.n_components != len(factors):
        return "other test splits or components"
    if report.verdict != "supported":
        return "not supported"
    for evidence in report.evidence:
        rungs = {rung.order: rung for rung in evidence.ladder}
        if rungs[order].share != 1.0:
            return "not determined"
        if order + 1 in rungs and rungs[order + 1].determined:
            return "determined beyond the order"
    certificate = json.loads(json.dumps(design.certificate()))
    if not proves(certificate):
        return "no proof"
    if not certificate["lower_bound"] <= len(certificate["train"]) == certificate["n_train"]:
        return "a bound above the training set"
    shortcuts = [
        [
            tuple(report.table.names[c] for c in item.components)
            for item in evidence.shortcuts
            if item.misleads
        ]
        for evidence in report.evidence
    ]
    asked = {("b",)} if "shortcut" in options else set()
    if asked:
        train = frame[frame["split"] == "train"]
        goes = train["b"].str[2:].astype(int) % factors["a"] == train["a"].str[2:].astype(int)
        shares = goes.groupby(train["a"]).mean()
        if (abs(shares - options["shortcut"]["b"]) > 0.06).any():
            return "another share of the shortcut"
        if any(("b",) not in names for names in shortcuts):
            return "a split without the shortcut"
        for _, split in frame[frame["split"] != "train"].groupby("split"):
            counts = [sum(split["target"] == f"a {label}") for label in range(factors["a"])]
            if sum(min(n, 2) for n in counts) < min(len(split), 2 * factors["a"]):
                return "labels that are in a split less than twice"
    if {names for split in shortcuts for names in split} - asked != set(design.others):
        return "other shortcuts than are named"
    return ""


def outcome(seed: int) -> str:
    """Return whether the audit of a design says what was asked for."""
    factors, options = request(seed)
    kind = ", ".join(
        ["graded" if "grades" in options else "one test split"]
        + (["shortcut"] if "shortcut" in options else [])
    )
    try:
        design = design_split(factors, **options)
    except InputError as error:
        return f"{kind}: refused, {re.sub('[0-9]+', 'N', str(error).split(';')[0])}"
    wrong = fault(factors, options, design)
    return f"WRONG: {wrong}, {factors}, {options}" if wrong else f"{kind}: as asked"


if __name__ == "__main__":
    # What is asked for does not depend on the salience of components, which takes most of the time.
    import_module("partwhole.audit.audit").salience_sweep = lambda *_, **__: None
    for kind, n in sorted(Counter(outcome(seed) for seed in range(int(sys.argv[1]))).items()):
        print(n, kind)
