"""Every finding: its rule, what it means, what to do, and the rows it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from partwhole.audit.page.marks import mark
from partwhole.audit.page.words import combination, count, exact, ranges
from partwhole.audit.rules import RULES, Finding, Rule
from partwhole.audit.wording import shown
from partwhole.page import Html, join, table, tag

if TYPE_CHECKING:
    from partwhole.audit.case import AuditTable
    from partwhole.audit.settings import Settings

# Rows with their values for each finding, findings of a rule that are open, and listed at all.
ROWS, OPEN, LISTED = 20, 4, 60
# Values of a row that are named, and signs that rows may take up on the page.
NAMED, SIGNS_OF_ROWS = 12, 400_000
SIGNS = {"error": ("fails", "✗"), "warning": ("open", "!"), "note": ("outside", "i")}


def badge(severity: str) -> Html:
    """Show a severity by sign and word."""
    kind, sign = SIGNS[severity]
    return mark(kind, sign, severity)


def findings(found: Sequence[Finding], held: AuditTable) -> Html:
    """List the findings rule by rule, errors first, and after them the silenced ones.

    Parameters
    ----------
    found : sequence of Finding
    held : AuditTable

    Returns
    -------
    Html
    """
    counted = [each for each in found if each.silenced is None]
    silenced = [each for each in found if each.silenced is not None]
    several = len(held.split_names) > 2
    each = 40 + len(_line(held, 0).text)
    room = max(2, min(ROWS, SIGNS_OF_ROWS // (each * max(1, len(found)))))
    return join(
        tag("p", "Every rule was kept.") if not counted else None,
        _grouped(counted, held, several, room),
        join(
            tag("h3", "Silenced"),
            tag(
                "p",
                "These were found as well. The settings silence their rules for the reason given, "
                "so they do not count in the verdict.",
            ),
            _grouped(silenced, held, several, room),
        )
        if silenced
        else None,
    )


def _grouped(found: Sequence[Finding], held: AuditTable, several: bool, room: int) -> list[Html]:
    groups: dict[str, list[Finding]] = {}
    for severity in SIGNS:
        for each in found:
            if each.severity == severity:
                groups.setdefault(each.rule, []).append(each)
    return [_group(RULES[rule], each, held, several, room) for rule, each in groups.items()]


def _group(
    rule: Rule, found: Sequence[Finding], held: AuditTable, several: bool, room: int
) -> Html:
    reason = found[0].silenced
    first, rest = found[:OPEN], found[OPEN:]
    listed = rest[:LISTED]
    more = None
    if rest:
        left = len(rest) - len(listed)
        more = tag(
            "details",
            tag("summary", f"{count(len(rest), 'further finding')} of this rule"),
            [_finding(each, held, several, room) for each in listed],
            tag("p", f"{left:,} more are in the JSON output.", class_="quiet") if left else None,
        )
    return tag(
        "article",
        tag("h3", badge(found[0].severity), " ", tag("code", rule.id)),
        tag("p", tag("strong", rule.meaning), class_="meaning"),
        tag("p", tag("strong", "Silenced: "), reason) if reason is not None else None,
        [_finding(each, held, several, room) for each in first],
        more,
        class_=f"finding {SIGNS[found[0].severity][0]}",
    )


def _finding(found: Finding, held: AuditTable, several: bool, room: int) -> Html:
    where = f"Test split {shown(found.split)}: " if several else None
    return tag(
        "div",
        tag("p", tag("strong", where) if where else None, found.message),
        _rows(found, held, room),
        class_="case",
    )


def _rows(found: Finding, held: AuditTable, room: int) -> Html | None:
    """Show the first rows with their values, and the numbers of the others."""
    rows = found.rows
    if len(rows) == 0:
        return None
    summary = count(len(rows), "row")
    rest = None
    if len(rows) > room:
        summary += f", the first {room} with their values"
        words, left = ranges(rows[room:])
        if left:
            words += f", and {count(left, 'more row')} (the JSON output has more)"
        rest = tag(
            "details",
            tag("summary", f"The other {count(len(rows) - room, 'row')}"),
            tag("p", words, class_="numbers"),
        )
    lines = [_line(held, r) for r in rows[:room].tolist()]
    return join(tag("p", summary, class_="quiet rows"), tag("ul", lines, class_="rows"), rest)


def _line(held: AuditTable, row: int) -> Html:
    words = combination(held.values, held.components[row].tolist(), NAMED)
    return tag("li", tag("b", str(row)), f" {words} → {_target(held, row)}")


def _target(held: AuditTable, row: int) -> str:
    if held.label is not None and held.labels is not None:
        return shown(held.labels[held.label[row]], 30)
    return ", ".join(exact(y) for y in held.targets[row, :4])


def rules(settings: Settings, silence: Mapping[str, str]) -> Html:
    """Show every rule with its threshold in force, and which ones are silenced."""
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
                [tag("span", each, class_="whole") for each in limits.split(", ")]
                if limits
                else "–",
                *([state] if silence else []),
            ]
        )
    return table(
        ["Rule", "Severity", "It is broken when", "Threshold", *(["State"] if silence else [])],
        lines,
        caption="All rules, with the thresholds in force",
    )
