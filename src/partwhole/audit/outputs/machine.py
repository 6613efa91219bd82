"""The report as JSON: plain numbers, strings, lists and dicts."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole import __version__
from partwhole.audit.case import AuditTable, Case
from partwhole.audit.evidence import Additions, Coverage, Evidence, Rung, Shortcut
from partwhole.audit.predicted import Point, Prediction, SalienceSweep
from partwhole.audit.rules import Finding
from partwhole.audit.wording import explained
from partwhole.limits.proofs.certificates import Certificate
from partwhole.limits.proofs.determination import Determination
from partwhole.limits.proofs.solvability import Solvability

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

SCHEMA = 1
MOST_ROWS = 500
MOST_ITEMS = 500
# Larger whole numbers lose digits in readers that store all numbers as doubles.
LARGEST = 2**53


def to_dict(report: AuditReport) -> dict[str, Any]:
    """Return a report as plain numbers, strings, lists and dicts.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    dict
        Rows count from 0. Lists are truncated after 500 entries and accompanied by the count of
        all; what concerns single rows is in `AuditReport.rows_to_frame`. Unknown values and NaN
        are None.
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
        "target": list(dict.fromkeys(name for of in report.tables for name in of.target)),
        "labels": _labels(table) if len({of.target for of in report.tables}) == 1 else None,
        "train": table.split_names[0],
        "findings": [_finding(item) for item in report.findings],
        "splits": [_split(item) for item in report.evidence],
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


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "split": finding.split,
        "subject": finding.subject,
        "message": finding.message,
        "rows": finding.rows[:MOST_ROWS].tolist(),
        "row_count": len(finding.rows),
        "silenced": finding.silenced,
    }


def _labels(table: AuditTable) -> list[Any] | None:
    return None if table.labels is None else [_plain(label) for label in table.labels]


def _split(evidence: Evidence) -> dict[str, Any]:
    case = evidence.case
    return {
        "name": case.name,
        "train": case.table.split_names[0],
        "target": list(case.table.target),
        "labels": _labels(case.table),
        "rows": int(np.sum(case.table.split == case.split)),
        "rows_also_in_training": len(case.also_seen),
        "combinations_in_training": case.task.n_train,
        "held_out": len(case.held_out),
        "ladder": [_rung(case, rung) for rung in evidence.ladder],
        "coverage": _coverage(case, evidence.coverage),
        "solvability": evidence.solvability and _solvability(case, evidence.solvability),
        "determination": evidence.determination and _determination(case, evidence.determination),
        "shortcuts": [_shortcut(case, shortcut) for shortcut in evidence.shortcuts],
        "sets_not_searched": evidence.not_searched[0],
        "prediction": evidence.prediction and _prediction(evidence, evidence.prediction),
        "salience": evidence.sweep and _sweep(case, evidence.sweep),
        "remainder": evidence.remainder and _remainder(evidence),
        "additions": evidence.additions and _additions(case, evidence.additions),
        "seconds": evidence.seconds,
    }


def _remainder(evidence: Evidence) -> dict[str, Any] | None:
    rest, determination = evidence.remainder, evidence.determination
    if rest is None or determination is None:
        return None
    return {
        "rows_left_out": len(rest.left_out),
        "share_left_out": _number(rest.share),
        "determined": _number(float(determination.determined[rest.kept].mean())),
        "solvable": rest.solvability.solvable,
    }


def _sweep(case: Case, sweep: SalienceSweep) -> dict[str, Any]:
    measured = sweep.measured
    return {
        "factors": list(sweep.factors),
        "order": sweep.order,
        "ceiling": _number(sweep.ceiling),
        "learners": [
            {
                "fit": fit,
                "kernel": kernel,
                "components": [
                    {
                        "name": name,
                        "accuracy": [_number(value) for value in sweep.accuracy[i, c]],
                        # Null where there is no limit among the factors tried.
                        "since": _number(sweep.since[i, c] or float("inf")),
                        "until": _number(sweep.until[i, c]),
                    }
                    for c, name in enumerate(case.table.names)
                ],
            }
            for i, (fit, kernel) in enumerate(sweep.learners)
        ],
        "measured": None if measured is None else [_number(factor) for factor in measured],
    }


def _rung(case: Case, rung: Rung) -> dict[str, Any]:
    return {
        "order": rung.order,
        "conjunctions": {"train": rung.seen, "test": rung.in_test, "lacking": rung.unseen},
        "lacking": [_values(case, components, values) for components, values in rung.lacking],
        "determined": _number(rung.share),
        "undecided_count": rung.undecided,
        "solvable": rung.solvable,
        "fit_of_training": _number(rung.fitted),
        "seconds": rung.seconds,
    }


def _coverage(case: Case, coverage: Coverage) -> dict[str, Any]:
    return {
        "graph_components": coverage.n_graph_components,
        "value_count": len(coverage.values),
        "values": [
            {
                "component": case.table.names[v.component],
                "value": _plain(case.table.values[v.component][v.value]),
                "n_train": v.n_train,
                "n_test": v.n_test,
                "partners": v.partners,
                "graph_component": v.graph_component,
            }
            for v in coverage.values[:MOST_ITEMS]
        ],
    }


def _solvability(case: Case, solvability: Solvability) -> dict[str, Any]:
    proof = solvability.certificate
    certificate = None
    if proof is not None:
        certificate = {
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
        "solvable": solvability.solvable,
        "kind": solvability.kind,
        "rank": solvability.rank,
        "r_squared": _number(solvability.r_squared),
        "explanation": explained(case, solvability),
        "certificate": certificate,
        "remarks": list(solvability.remarks),
        "seconds": solvability.seconds,
    }


def _outputs(case: Case, proof: Certificate) -> dict[str, Any]:
    """Return the output of the certificate's sum, or the labels whose outputs it compares."""
    labels = case.table.label_names
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


def _determination(case: Case, determination: Determination) -> dict[str, Any]:
    undetermined = np.flatnonzero(~determination.determined & ~determination.undecided)
    return {
        "share": _number(determination.share),
        "method": determination.method,
        "free_dimensions": determination.free_dimensions,
        "undecided_count": int(determination.undecided.sum()),
        "undetermined_count": len(undetermined),
        "undetermined": [
            {
                "values": _combination(case, case.task.components[case.held_out[i]]),
                "has_an_unseen_conjunction": bool(determination.unseen[i]),
            }
            for i in undetermined[:MOST_ITEMS]
        ],
        "remarks": list(determination.remarks),
        "seconds": determination.seconds,
    }


def _shortcut(case: Case, shortcut: Shortcut) -> dict[str, Any]:
    return {
        "components": [case.table.names[c] for c in shortcut.components],
        "train": _number(shortcut.train),
        "test": _number(shortcut.test),
        "guess": _number(shortcut.guess),
        "misleads": shortcut.misleads,
        "superfluous": shortcut.superfluous,
        "at_values": shortcut.at_values,
        "spurious": shortcut.spurious,
        "examples": [
            {
                "values": _values(case, shortcut.components, item.values),
                "label": _label(case, item.label),
                "train": _number(item.train),
                "test": _number(item.test),
            }
            for item in shortcut.examples
        ],
        "rare": [
            {
                "value": _plain(case.table.values[shortcut.components[0]][item.value]),
                "label": _label(case, item.label),
                "n_train": item.n_train,
                "expected": _number(item.expected),
                "n_test": item.n_test,
            }
            for item in shortcut.rare
        ],
    }


def _label(case: Case, label: int | None) -> Any:
    labels = case.table.labels or case.table.two_numbers
    return None if label is None or labels is None else _plain(labels[label])


def _prediction(evidence: Evidence, prediction: Prediction) -> dict[str, Any]:
    case = evidence.case
    return {
        "axis": prediction.axis,
        "fit": prediction.fit,
        "points": [_point(point) for point in prediction.points],
        "reference": prediction.reference,
        "constant_error": _number(prediction.constant_error),
        "chance": _number(prediction.chance),
        "ceiling": _number(prediction.ceiling),
        "balanced_ceiling": _number(prediction.balanced_ceiling),
        "commonest": _number(prediction.commonest),
        "ties": prediction.ties,
        "structure": _number(prediction.structure),
        "noise": _number(prediction.noise),
        "readout": prediction.readout or None,
        "difference_from_trained_readout": _number(prediction.from_readout),
        "trained_slope": _number(prediction.trained_slope),
        "trained_accuracy": _number(prediction.trained_accuracy),
        "worst": [
            {
                "component": case.table.names[item.component],
                "value": _plain(case.table.values[item.component][item.value]),
                "n_test": item.n_test,
                "n_train": item.n_train,
                "error": _number(item.error),
                "accuracy": _number(item.accuracy),
            }
            for item in prediction.worst
        ],
        "remarks": list(prediction.remarks),
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


def _additions(case: Case, additions: Additions) -> dict[str, Any]:
    return {
        "determined": _number(additions.determined),
        "eigenvalue": _number(additions.eigenvalue),
        "steps": [
            {
                "values": _combination(case, step.values),
                "determined": _number(step.determined),
                "eigenvalue": _number(step.eigenvalue),
                "held_out": step.held_out,
            }
            for step in additions.steps
        ],
        "candidates": additions.candidates,
        "of": additions.of,
        "evaluations": additions.evaluations,
        "seconds": additions.seconds,
        "remarks": list(additions.remarks),
    }
