"""Every rule that the evidence breaks, as a list of findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from partwhole._types import Real
from partwhole.audit.case import AuditTable
from partwhole.audit.evidence import Evidence
from partwhole.audit.judging.finding import NO_ROWS
from partwhole.audit.judging.learners import (
    failed_values,
    not_determined,
    not_solvable,
    poor_predictions,
    salience_limits,
)
from partwhole.audit.judging.rows import (
    conflicting_duplicates,
    correlations,
    not_held_out,
    shortcuts,
    thin_coverage,
    unseen_labels,
    unseen_values,
)
from partwhole.audit.remainder import without_unseen
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.settings import NoiseSource, Settings


def judge(
    evidence: Sequence[Evidence],
    settings: Settings,
    *,
    noise: NoiseSource | Real = "repeats",
) -> tuple[Finding, ...]:
    """Return a finding for everything that breaks a rule, errors first.

    Parameters
    ----------
    evidence : sequence of Evidence
        One for each test split.
    settings : Settings
        Thresholds, and rules that are silenced.
    noise : {"repeats", "estimate"} or float, keyword-only, default "repeats"
        With noise that is given or estimated, repeats are expected to differ.

    Returns
    -------
    tuple of Finding
        In the order of `RULES`, within a rule in the order of the splits. Findings of silenced
        rules are among them, with the reason.
    """
    findings = [finding for split in evidence for finding in _judge_split(split, settings)]
    if noise in ("repeats", 0):
        for split in evidence:
            findings.extend(conflicting_duplicates(split.case, training=False))
        # One for each training set and target.
        for case in {id(split.case.table): split.case for split in reversed(evidence)}.values():
            findings.extend(conflicting_duplicates(case, training=True))
    for table in {id(split.case.table): split.case.table for split in evidence}.values():
        findings.extend(_explained(table))
    place = {rule: i for i, rule in enumerate(RULES)}
    findings.sort(key=lambda finding: place[finding.rule])
    return tuple(
        replace(finding, silenced=settings.silence.get(finding.rule)) for finding in findings
    )


def _explained(table: AuditTable) -> Iterator[Finding]:
    """Report columns that are no components and explain why repeats differ."""
    rule = RULES["conflicting-duplicates"]
    for sentence in table.explained:
        yield Finding(rule.id, rule.severity, sentence, NO_ROWS, table.split_names[0], "repeats")


def _judge_split(evidence: Evidence, settings: Settings) -> Iterator[Finding]:
    # What follows from values and labels that training lacks is no further error.
    rest = without_unseen(evidence, 1.0)
    is_allowed = evidence.remainder and evidence.remainder.share <= settings.unseen
    for finding in (*unseen_values(evidence), *unseen_labels(evidence.case)):
        yield replace(finding, severity="warning") if is_allowed else finding
    yield from not_solvable(rest)
    yield from not_determined(rest, settings)
    yield from poor_predictions(evidence, settings)
    yield from failed_values(evidence)
    yield from salience_limits(evidence, settings)
    yield from shortcuts(evidence)
    yield from correlations(evidence)
    yield from not_held_out(evidence.case)
    yield from thin_coverage(evidence, settings)
