"""Every finding: its rule, what it means, what to do, and the rows it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole.audit.outputs.machine import MOST_ROWS
from partwhole.audit.page.marks import mark
from partwhole.audit.page.words import combination, count, exact, listed, ranges
from partwhole.audit.rules import RULES, Finding, Rule
from partwhole.audit.wording import shown
from partwhole.features.conjunctions import Dictionary
from partwhole.page import Html, join, table, tag

if TYPE_CHECKING:
    from partwhole.audit.case import AuditTable
    from partwhole.audit.settings import Settings

# Combinations named for each finding, findings of a rule that are open, and listed at all.
ROWS, OPEN, LISTED = 20, 4, 60
# Values of a combination and targets of its rows that are named, and signs for them on the page.
NAMED, TARGETS, SIGNS_OF_ROWS = 12, 3, 400_000
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
    _, codes = Dictionary.of(held.components, tuple(range(held.n_components)), held.n_values)
    each = 60 + len(_line(held, np.zeros(1, dtype=np.int64), False).text)
    room = max(2, min(ROWS, SIGNS_OF_ROWS // (each * max(1, len(found)))))
    place = _Place(held, codes, len(held.split_names) > 2, room)
    return join(
        tag("p", "Every rule was kept.") if not counted else None,
        _grouped(counted, place),
        join(
            tag("h3", "Silenced"),
            tag(
                "p",
                "These were found as well. The settings silence their rules for the reason given, "
                "so they do not count in the verdict.",
            ),
            _grouped(silenced, place),
        )
        if silenced
        else None,
    )


@dataclass(frozen=True, eq=False)
class _Place:
    """Hold what findings are shown with.

    `codes` tell the combinations of the table's rows apart, `several` is whether there are
    several test splits, `room` how many combinations of a finding are named.
    """

    held: AuditTable
    codes: Int[np.ndarray, " n"]
    several: bool
    room: int


def _grouped(found: Sequence[Finding], place: _Place) -> list[Html]:
    groups: dict[str, list[Finding]] = {}
    for severity in SIGNS:
        for each in found:
            if each.severity == severity:
                groups.setdefault(each.rule, []).append(each)
    return [_group(RULES[rule], each, place) for rule, each in groups.items()]


def _group(rule: Rule, found: Sequence[Finding], place: _Place) -> Html:
    reason = found[0].silenced
    first, rest = found[:OPEN], found[OPEN:]
    folded = rest[:LISTED]
    more = None
    if rest:
        left = len(rest) - len(folded)
        more = tag(
            "details",
            tag("summary", f"{count(len(rest), 'further finding')} of this rule"),
            [_finding(each, place) for each in folded],
            tag("p", f"{left:,} more are in the JSON output.", class_="quiet") if left else None,
        )
    return tag(
        "article",
        tag("h3", badge(found[0].severity), " ", tag("code", rule.id)),
        tag("p", tag("strong", rule.meaning), class_="meaning"),
        tag("p", tag("strong", "Silenced: "), reason) if reason is not None else None,
        [_finding(each, place) for each in first],
        more,
        class_=f"finding {SIGNS[found[0].severity][0]}",
    )


def _finding(found: Finding, place: _Place) -> Html:
    where = f"Test split {shown(found.split)}: " if place.several else None
    return tag(
        "div",
        tag("p", tag("strong", where) if where else None, found.message),
        _rows(found, place),
        class_="case",
    )


def _rows(found: Finding, place: _Place) -> Html | None:
    """Show the distinct combinations of a finding's rows, and fold away the rows' numbers."""
    rows = found.rows
    if len(rows) == 0:
        return None
    _, first, which = np.unique(place.codes[rows], return_index=True, return_inverse=True)
    # By first occurrence, as the table has them.
    chosen = np.argsort(first, kind="stable")[: place.room]
    summary = f"{count(len(rows), 'row')} with {count(len(first), 'combination')}"
    if len(first) > len(chosen):
        summary += f", the first {len(chosen)} of them"
    alone = len(first) == len(rows)
    words, left = ranges(rows)
    if left:
        cut = "all" if len(rows) <= MOST_ROWS else f"the first {MOST_ROWS:,}"
        words += f", and {count(left, 'more row')} (the JSON output has {cut})"
    return join(
        tag("p", f"{summary}:", class_="quiet rows"),
        tag(
            "ul",
            [_line(place.held, rows[which == k], alone) for k in chosen.tolist()],
            class_="rows",
        ),
        tag(
            "details",
            tag("summary", "The row's number" if len(rows) == 1 else "The rows' numbers"),
            tag("p", words, class_="numbers"),
        ),
    )


def _line(held: AuditTable, rows: Int[np.ndarray, " r"], alone: bool) -> Html:
    """Show one combination with its rows' targets, and how many they are unless each is alone."""
    words = combination(held.values, held.components[rows[0]].tolist(), NAMED)
    kinds = held.targets[rows] if held.label is None else held.label[rows]
    _, first, counts = np.unique(kinds, axis=0, return_index=True, return_counts=True)
    targets = [
        f"{_target(held, row)}{f' ({n:,})' if len(first) > 1 else ''}"
        for row, n in zip(rows[first].tolist(), counts.tolist(), strict=True)
    ]
    return tag(
        "li",
        f"{words} → {listed(targets, TARGETS)}",
        None if alone else join(" · ", tag("span", count(len(rows), "row"), class_="quiet")),
    )


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
