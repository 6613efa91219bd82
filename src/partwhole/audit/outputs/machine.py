"""The report as JSON: plain numbers, strings, lists and dicts."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole import __version__
from partwhole.audit.case import Case
from partwhole.audit.evidence import Additions, Coverage, Evidence, Point, Prediction, Shortcut
from partwhole.audit.rules import Finding
from partwhole.limits.proofs.certificates import Certificate
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

SCHEMA = 1
MOST_ROWS = 10_000
MOST_ITEMS = 100_000
# Larger whole numbers lose digits in readers that keep all numbers as doubles.
LARGEST = 2**53


def to_dict(report: AuditReport) -> dict[str, Any]:
    """Return a report as plain numbers, strings, lists and dicts.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    dict
        Rows count from 0. A list that can be long is cut (rows of a finding after 10,000, other
        lists after 100,000) and stands beside a count of all its entries. What is not known, or not
        a number, is None.
    """
    table = report.table
    return {
        "schema": SCHEMA,
        "tool": "partwhole",
        "version": __version__,
        "source": table.source,
        "verdict": report.verdict,
        "headline": report.headline,
        "order": report.order,
        "solvable": report.solvable,
        "determined": _number(report.determined),
        "fit": report.fit,
        "errors": len(report.errors),
        "warnings": len(report.warnings),
        "rows": len(table.split),
        "components": [
            {"name": name, "values": n} for name, n in zip(table.names, table.n_values, strict=True)
        ],
        "target": list(table.target),
        "labels": None if table.labels is None else [_plain(label) for label in table.labels],
        "train": table.split_names[0],
        "findings": [_finding(one) for one in report.findings],
        "splits": [_split(one) for one in report.evidence],
        "settings": {
            "thresholds": {name: value for name, value in report.settings.thresholds.items()},
            "silence": dict(report.settings.silence),
        },
        "remarks": list(table.remarks),
        "seconds": report.seconds,
    }


def to_json(report: AuditReport) -> str:
    """Return a report as JSON, ASCII only, with two spaces of indentation.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
    """
    return json.dumps(to_dict(report), indent=2, allow_nan=False) + "\n"


def _number(value: float | np.floating) -> float | None:
    return float(value) if isfinite(value) else None


def _plain(value: Hashable) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= LARGEST:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    return str(value)


def _values(case: Case, components: Sequence[int], values: Sequence[int]) -> dict[str, Any]:
    return {
        case.table.names[c]: _plain(case.table.values[c][v])
        for c, v in zip(components, values, strict=True)
    }


def _combination(case: Case, values: Sequence[int] | np.ndarray) -> dict[str, Any]:
    return _values(case, range(case.table.n_components), [int(v) for v in values])


def _finding(one: Finding) -> dict[str, Any]:
    return {
        "rule": one.rule,
        "severity": one.severity,
        "split": one.split,
        "subject": one.subject,
        "message": one.message,
        "rows": one.rows[:MOST_ROWS].tolist(),
        "row_count": len(one.rows),
        "silenced": one.silenced,
    }


def _split(evidence: Evidence) -> dict[str, Any]:
    case = evidence.case
    return {
        "name": case.name,
        "rows": int(np.sum(case.table.split == case.split)),
        "rows_also_in_training": len(case.also_seen),
        "combinations_in_training": case.task.n_train,
        "held_out": len(case.held_out),
        "coverage": _coverage(case, evidence.coverage),
        "solvability": evidence.solvability and _solvability(case, evidence.solvability),
        "determination": evidence.determination and _determination(case, evidence.determination),
        "shortcuts": [_shortcut(case, one) for one in evidence.shortcuts],
        "prediction": evidence.prediction and _prediction(evidence, evidence.prediction),
        "additions": evidence.additions and _additions(case, evidence.additions),
        "seconds": evidence.seconds,
    }


def _coverage(case: Case, found: Coverage) -> dict[str, Any]:
    return {
        "orders": [
            {"order": o.order, "seen": o.seen, "in_test": o.in_test, "unseen": o.unseen}
            for o in found.orders
        ],
        "graph_components": found.n_graph_components,
        "value_count": len(found.values),
        "values": [
            {
                "component": case.table.names[v.component],
                "value": _plain(case.table.values[v.component][v.value]),
                "n_train": v.n_train,
                "n_test": v.n_test,
                "partners": v.partners,
                "graph_component": v.graph_component,
            }
            for v in found.values[:MOST_ITEMS]
        ],
    }


def _solvability(case: Case, found: Solvability) -> dict[str, Any]:
    proof = found.certificate
    told = None
    if proof is not None:
        told = {
            "combinations": [
                {
                    "values": _combination(case, case.task.components[row]),
                    "weight": float(weight),
                    "target": _target(case, int(row)),
                }
                for row, weight in zip(
                    proof.rows[:MOST_ITEMS], proof.weights[:MOST_ITEMS], strict=True
                )
            ],
            "combination_count": len(proof.rows),
            "total": float(proof.total),
            "is_rectangle": bool(proof.is_rectangle),
            **_outputs(case, proof),
        }
    return {
        "solvable": found.solvable,
        "kind": found.kind,
        "rank": found.rank,
        "r_squared": _number(found.r_squared),
        "explanation": found.explain(case.table.labels),
        "certificate": told,
        "remarks": list(found.remarks),
        "seconds": found.seconds,
    }


def _outputs(case: Case, proof: Certificate) -> dict[str, Any]:
    """Say which output's sum it is, or which labels' outputs are set against each other."""
    labels = case.table.labels
    if labels is None:
        return {"target": case.table.target[proof.output]}
    if proof.labels is not None:
        return {"labels": [_plain(labels[i]) for i in proof.labels]}
    if proof.rivals:
        pairs = [[_plain(labels[i]) for i in pair] for pair in proof.rivals[:MOST_ITEMS]]
        return {"label_pairs": pairs}
    return {}


def _target(case: Case, row: int) -> Any:
    """Return a combination's label where it has one, else its number or numbers."""
    if case.label is not None and case.table.labels is not None and case.label[row] >= 0:
        return _plain(case.table.labels[int(case.label[row])])
    return case.task.targets[row].tolist()


def _determination(case: Case, found: Determination) -> dict[str, Any]:
    left = np.flatnonzero(~found.determined & ~found.undecided)
    return {
        "share": _number(found.share),
        "method": found.method,
        "free_dimensions": found.free_dimensions,
        "undecided_count": int(found.undecided.sum()),
        "undetermined_count": len(left),
        "undetermined": [
            {
                "values": _combination(case, case.task.components[case.held_out[i]]),
                "has_an_unseen_conjunction": bool(found.unseen[i]),
            }
            for i in left[:MOST_ITEMS]
        ],
        "remarks": list(found.remarks),
        "seconds": found.seconds,
    }


def _shortcut(case: Case, one: Shortcut) -> dict[str, Any]:
    return {
        "values": _values(case, one.components, one.values),
        "label": None if one.label is None else _plain(one.label),
        "n_train": one.n_train,
        "n_test": one.n_test,
        "train": _number(one.train),
        "test": _number(one.test),
        "effect": _number(one.effect),
        "p_value": _number(one.p_value),
    }


def _prediction(evidence: Evidence, found: Prediction) -> dict[str, Any]:
    case, settled = evidence.case, evidence.determination
    here = found.points[found.reference]
    return {
        "axis": found.axis,
        "fit": found.fit,
        "points": [_point(point) for point in found.points],
        "reference": found.reference,
        "constant_error": _number(found.constant_error),
        "chance": _number(found.chance),
        "structure": _number(found.structure),
        "noise": _number(found.noise),
        "held_out_count": len(case.held_out),
        "held_out": [
            {
                "values": _combination(case, case.task.components[row]),
                "target": _target(case, int(row)),
                "output": here.outputs[i].tolist(),
                "weight": float(case.weights[row]),
                "determined": None
                if settled is None or settled.undecided[i]
                else bool(settled.determined[i]),
            }
            for i, row in enumerate(case.held_out[:MOST_ITEMS])
        ],
        "worst": [
            {
                "component": case.table.names[one.component],
                "value": _plain(case.table.values[one.component][one.value]),
                "n_test": one.n_test,
                "n_train": one.n_train,
                "error": _number(one.error),
                "accuracy": _number(one.accuracy),
            }
            for one in found.worst
        ],
        "remarks": list(found.remarks),
    }


def _point(point: Point) -> dict[str, Any]:
    return {
        "label": point.label,
        "position": _number(point.position),
        "salience": [_number(s) for s in point.salience],
        "memory": _number(point.memory),
        "error": _number(point.error),
        "accuracy": _number(point.accuracy),
        "balanced_accuracy": _number(point.balanced_accuracy),
        "leak_slope": _number(point.leak_slope),
    }


def _additions(case: Case, found: Additions) -> dict[str, Any]:
    return {
        "determined": _number(found.determined),
        "eigenvalue": _number(found.eigenvalue),
        "steps": [
            {
                "values": _combination(case, step.values),
                "determined": _number(step.determined),
                "eigenvalue": _number(step.eigenvalue),
                "held_out": step.held_out,
            }
            for step in found.steps
        ],
        "candidates": found.candidates,
        "of": found.of,
        "evaluations": found.evaluations,
        "seconds": found.seconds,
        "remarks": list(found.remarks),
    }
