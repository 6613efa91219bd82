"""The findings, with rule, meaning, remedy and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole.audit.outputs.machine import MOST_ROWS
from partwhole.audit.page.marks import mark
from partwhole.audit.page.words import combination, exact, ranges
from partwhole.audit.rules import RULES, Finding, Rule, rules_of
from partwhole.audit.wording import count, listed, printable
from partwhole.features.conjunctions import Dictionary
from partwhole.page import Html, join, table, tag

if TYPE_CHECKING:
    from partwhole.audit.case import AuditTable
    from partwhole.audit.settings import Settings

# Combinations, and ranges of rows, listed for each finding; findings of a rule that are unfolded,
# and all listed.
ROWS, OPEN, LISTED = 20, 4, 60
# Values of a combination and targets of its rows that are listed, and characters for them.
NAMED, TARGETS, SIGNS_OF_ROWS = 12, 3, 400_000
# Rules that concern a test split as a whole.
OF_ALL = ("shortcut", "spurious-correlation", "salience-limit", "strong-leak", "at-chance")
SIGNS = {"error": ("fails", "✗"), "warning": ("open", "!"), "note": ("outside", "i")}


def badge(severity: str) -> Html:
    """Return a severity as sign and word."""
    kind, sign = SIGNS[severity]
    return mark(kind, sign, severity)


def findings(items: Sequence[Finding], audited: AuditTable, *, several: bool) -> Html:
    """Return the findings by rule, errors first, then the silenced ones.

    Parameters
    ----------
    items : sequence of Finding
    audited : AuditTable
    several : bool, keyword-only
        Whether there are several test splits, which findings then name.

    Returns
    -------
    Html
    """
    counted = [finding for finding in items if finding.silenced is None]
    silenced = [finding for finding in items if finding.silenced is not None]
    _, codes = Dictionary.of(
        audited.components, tuple(range(audited.n_components)), audited.n_values
    )
    finding = 60 + len(_line(audited, np.zeros(1, dtype=np.int64), False).text)
    room = max(2, min(ROWS, SIGNS_OF_ROWS // (finding * max(1, len(items)))))
    context = _Context(audited, codes, several, room)
    return join(
        tag("p", "No rule is broken.") if not counted else None,
        _grouped(counted, context),
        join(
            tag("h3", "Silenced"),
            tag(
                "p",
                "The settings silence the rules of these findings for the stated reason, so they "
                "do not count in the verdict.",
            ),
            _grouped(silenced, context),
        )
        if silenced
        else None,
    )


@dataclass(frozen=True, eq=False)
class _Context:
    """Context of the findings on the page.

    `codes` identify the combinations of the table's rows, `several` is true for several test
    splits, and `room` is the number of combinations listed for a finding.
    """

    audited: AuditTable
    codes: Int[np.ndarray, " n"]
    several: bool
    room: int


def _grouped(items: Sequence[Finding], context: _Context) -> list[Html]:
    groups: dict[str, list[Finding]] = {}
    for severity in SIGNS:
        for finding in items:
            if finding.severity == severity:
                groups.setdefault(finding.rule, []).append(finding)
    rules = rules_of(items)
    return [_group(rules[rule], finding, context) for rule, finding in groups.items()]


def _group(rule: Rule, items: Sequence[Finding], context: _Context) -> Html:
    reason = items[0].silenced
    first, further_findings = items[:OPEN], items[OPEN:]
    folded = further_findings[:LISTED]
    details = None
    if further_findings:
        left = len(further_findings) - len(folded)
        details = tag(
            "details",
            tag("summary", f"{count(len(further_findings), 'further finding')} of this rule"),
            [_finding(finding, context) for finding in folded],
            tag("p", f"The JSON output contains {left:,} more.", class_="quiet") if left else None,
        )
    return tag(
        "article",
        tag("h3", badge(items[0].severity), " ", tag("code", rule.id)),
        tag("p", tag("strong", rule.meaning), class_="meaning"),
        tag("p", tag("strong", "Silenced: "), reason) if reason is not None else None,
        [_finding(finding, context) for finding in first],
        details,
        class_=f"finding {SIGNS[items[0].severity][0]}",
    )


def _finding(finding: Finding, context: _Context) -> Html:
    split_name = f"Test split {printable(finding.split)}: " if context.several else None
    return tag(
        "div",
        tag("p", tag("strong", split_name) if split_name else None, finding.message),
        _rows(finding, context),
        class_="case",
    )


def _rows(finding: Finding, context: _Context) -> Html | None:
    """Return the distinct combinations of a finding's rows, with the folded row numbers."""
    rows = finding.rows
    if len(rows) == 0:
        return None
    if len(rows) > ROWS and finding.rule in OF_ALL:
        return tag("p", f"{count(len(rows), 'row')} of the test split.", class_="quiet rows")
    _, first, group = np.unique(context.codes[rows], return_index=True, return_inverse=True)
    # In the order of the table.
    first_groups = np.argsort(first, kind="stable")[: context.room]
    summary = f"{count(len(rows), 'row')} with {count(len(first), 'combination')}"
    if len(first) > len(first_groups):
        summary += f", the first {len(first_groups)} of them"
    alone = len(first) == len(rows)
    words, left = ranges(rows, ROWS)
    if left:
        cut = "all" if len(rows) <= MOST_ROWS else f"the first {MOST_ROWS:,}"
        words += f", and {count(left, 'more row')} (the JSON output contains {cut})"
    return join(
        tag("p", f"{summary}:", class_="quiet rows"),
        tag(
            "ul",
            [_line(context.audited, rows[group == k], alone) for k in first_groups.tolist()],
            class_="rows",
        ),
        tag(
            "details",
            tag("summary", "The row's number" if len(rows) == 1 else "The rows' numbers"),
            tag("p", words, class_="numbers"),
        ),
    )


def _line(audited: AuditTable, rows: Int[np.ndarray, " r"], alone: bool) -> Html:
    """Return one combination with its rows' targets, and their number unless each is alone."""
    words = combination(audited, audited.components[rows[0]].tolist(), NAMED)
    kinds = audited.targets[rows] if audited.label is None else audited.label[rows]
    _, first, counts = np.unique(kinds, axis=0, return_index=True, return_counts=True)
    targets = [
        f"{_target(audited, row)}{f' ({n:,})' if len(first) > 1 else ''}"
        for row, n in zip(rows[first].tolist(), counts.tolist(), strict=True)
    ]
    return tag(
        "li",
        f"{words} → {listed(targets, TARGETS)}",
        None if alone else join(" · ", tag("span", count(len(rows), "row"), class_="quiet")),
    )


def _target(audited: AuditTable, row: int) -> str:
    names = audited.label_names
    if audited.label is not None and names is not None:
        return printable(names[audited.label[row]], 30)
    return ", ".join(exact(y) for y in audited.targets[row, :4])


def rules(settings: Settings, silence: Mapping[str, str]) -> Html:
    """Return the table of rules with their thresholds and whether they are silenced."""
    lines = []
    for rule in RULES.values():
        limits = rule.in_force(settings)
        state = "in force"
        if rule.id in silence:
            state = join(tag("strong", "silenced: "), silence[rule.id])
        lines.append(
            [
                join(tag("code", rule.id), tag("small", rule.meaning)),
                badge(rule.severity),
                join(rule.trigger, tag("small", rule.remedy)),
                [tag("span", limit, class_="whole") for limit in limits.split(", ")]
                if limits
                else "–",
                *([state] if silence else []),
            ]
        )
    return table(
        ["Rule", "Severity", "Condition and remedy", "Threshold", *(["State"] if silence else [])],
        lines,
        caption="All rules, with the thresholds in force",
    )
