"""The report for build servers: SARIF 2.1.0 and JUnit XML."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_from_bytes
from xml.etree import ElementTree

from partwhole import __version__
from partwhole.audit.rules import RULES, Finding
from partwhole.audit.wording import count, one_line
from partwhole.page import visible

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

MOST_LOCATIONS = 1_000
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# XML 1.0 has no other control characters, and no halves of surrogate pairs.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# In a message of SARIF, what stands for a link or a placeholder.
LINK = re.compile(r"[\[\]\\]")


def to_sarif(report: AuditReport) -> str:
    """Return the findings as SARIF 2.1.0, a result for each.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        Rows of a .csv or .tsv file are given as its lines, where each row is one line; at most
        1,000 lines a finding, beside the count of all of them. A silenced finding is a suppressed
        result with its reason.
    """
    place = {rule: i for i, rule in enumerate(RULES)}
    run = {
        "tool": {
            "driver": {
                "name": "partwhole",
                "semanticVersion": __version__,
                "rules": [
                    {
                        "id": rule.id,
                        "shortDescription": {"text": rule.meaning},
                        "fullDescription": {"text": rule.trigger},
                        "help": {"text": rule.remedy},
                        "defaultConfiguration": {"level": rule.severity},
                    }
                    for rule in RULES.values()
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, one, place[one.rule]) for one in report.findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _result(report: AuditReport, one: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.rule,
        "ruleIndex": index,
        "level": one.severity,
        "message": {"text": _message(one.message)},
        "properties": {
            "split": one.split,
            "order": report.order,
            "rowCount": len(one.rows),
            "subject": one.subject,
        },
    }
    if report.path:
        file = {"artifactLocation": {"uri": _uri(report.path)}}
        first = report.table.first_line
        if first is not None and len(one.rows):
            result["locations"] = [
                {"physicalLocation": {**file, "region": {"startLine": first + int(row)}}}
                for row in one.rows[:MOST_LOCATIONS]
            ]
        else:
            result["locations"] = [{"physicalLocation": file}]
    if one.silenced is not None:
        result["suppressions"] = [{"kind": "external", "justification": one.silenced}]
    return result


def _message(text: str) -> str:
    """Escape what SARIF reads as a placeholder (section 3.11.5) or as a link (3.11.6)."""
    text = text.replace("{", "{{").replace("}", "}}")
    # Without such a pair there is no link, and a backslash is only itself.
    return LINK.sub(lambda sign: f"\\{sign[0]}", text) if "](" in text else text


def _uri(path: str) -> str:
    """Write a path as a URI: relative inside the working directory, where servers look for it."""
    place, here = Path(path), Path.cwd()
    if place.is_relative_to(here):
        place = place.relative_to(here)
    return place.as_uri() if place.is_absolute() else quote_from_bytes(os.fsencode(place))


def to_junit(report: AuditReport) -> str:
    """Return the rules as JUnit test cases: a suite for each test split, a case for each rule.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        XML. Errors are failures and warnings are told in ``system-out``; a rule whose findings
        are silenced is skipped with the reason. Findings about training stand in a suite of its
        own, if there are any.
    """
    root = ElementTree.Element("testsuites", name="partwhole audit")
    train, *tests = report.table.split_names
    about_training = [one for one in report.findings if one.split == train]
    suites = [(name, list(RULES), _of(report, name)) for name in tests]
    if about_training:
        suites.append((train, list({one.rule: None for one in about_training}), about_training))
    seconds = {one.case.name: one.seconds for one in report.evidence}
    for name, rules, findings in suites:
        failed = {one.rule for one in findings if one.severity == "error" and one.silenced is None}
        skipped = {one.rule for one in findings if one.silenced is not None}
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_xml(name),
            tests=str(len(rules)),
            failures=str(len(failed)),
            errors="0",
            skipped=str(len(skipped)),
            time=f"{seconds.get(name, 0.0):.3f}",
        )
        for rule in rules:
            case = ElementTree.SubElement(
                suite, "testcase", name=rule, classname=f"partwhole.audit.{_xml(name)}", time="0"
            )
            _outcome(case, [one for one in findings if one.rule == rule])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + (
        ElementTree.tostring(root, encoding="unicode") + "\n"
    )


def _of(report: AuditReport, split: str) -> list[Finding]:
    return [one for one in report.findings if one.split == split]


def _outcome(case: ElementTree.Element, findings: list[Finding]) -> None:
    if not findings:
        return
    lines = "\n".join(_xml(f"{one.message} ({count(len(one.rows), 'row')})") for one in findings)
    first = findings[0]
    if first.silenced is not None:
        ElementTree.SubElement(case, "skipped", message=_xml(one_line(first.silenced)))
        ElementTree.SubElement(case, "system-out").text = lines
    elif first.severity == "error":
        failure = ElementTree.SubElement(
            case, "failure", type=first.rule, message=_xml(RULES[first.rule].meaning)
        )
        failure.text = lines
    else:
        ElementTree.SubElement(case, "system-out").text = f"{first.severity}: {lines}"


def _xml(text: str) -> str:
    return NOT_IN_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), visible(text))
