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
from partwhole.audit.outputs.lines import one_line
from partwhole.audit.reading.source import File, place_of
from partwhole.audit.rules import Finding, rules_of
from partwhole.audit.wording import count
from partwhole.page import visible

if TYPE_CHECKING:
    from partwhole.audit.report import AuditReport

MOST_LOCATIONS = 1_000
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# XML 1.0 excludes other control characters and lone surrogates.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Characters with a meaning in a SARIF message: links and placeholders.
LINK = re.compile(r"[\[\]\\]")


def to_sarif(report: AuditReport) -> str:
    """Return the findings as SARIF 2.1.0, one result for each finding.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        Rows of text files are located by line if each row is one line: at most 1,000 lines for
        each finding, with the count of all rows. A silenced finding is a suppressed
        result with its reason.
    """
    rules = rules_of(report.findings)
    place = {rule: i for i, rule in enumerate(rules)}
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
                    for rule in rules.values()
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(report, finding, place[finding.rule]) for finding in report.findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _result(report: AuditReport, finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": _message(finding.message)},
        "properties": {
            "split": finding.split,
            "order": report.order,
            "rowCount": len(finding.rows),
            "subject": finding.subject,
        },
    }
    files = report.table.files
    places = [place_of(int(row), files) for row in finding.rows[:MOST_LOCATIONS]]
    places = places or [(file, None) for file in files if file.path]
    # A file whose lines are not known is named once.
    if places := dict.fromkeys(filter(None, places)):
        result["locations"] = [_location(file, line) for file, line in places]
    if finding.silenced is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.silenced}]
    return result


def _location(file: File, line: int | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(file.path)}}
    if line is not None:
        place["region"] = {"startLine": line}
    return {"physicalLocation": place}


def _message(text: str) -> str:
    """Escape SARIF placeholders (section 3.11.5) and links (3.11.6)."""
    text = text.replace("{", "{{").replace("}", "}}")
    # Without this pair there is no link, and a backslash has no special meaning.
    return LINK.sub(lambda sign: f"\\{sign[0]}", text) if "](" in text else text


def _uri(path: str) -> str:
    """Return a path as a URI, relative inside the working directory, as build servers expect."""
    location, folder = Path(path), Path.cwd()
    if location.is_relative_to(folder):
        location = location.relative_to(folder)
    return location.as_uri() if location.is_absolute() else quote_from_bytes(os.fsencode(location))


def to_junit(report: AuditReport) -> str:
    """Return the rules as JUnit test cases: a suite for each test split, a case for each rule.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    str
        XML. Errors are failures and warnings are written to ``system-out``; a rule whose findings
        are silenced is skipped with the reason. Findings about training, if any, have a separate
        suite.
    """
    root = ElementTree.Element("testsuites", name="partwhole audit")
    known = rules_of(report.findings)
    suites = [
        (item.case.name, list(known), _of(report, item.case.name)) for item in report.evidence
    ]
    for train in dict.fromkeys(item.case.table.split_names[0] for item in report.evidence):
        about_training = _of(report, train)
        if about_training:
            broken = list({item.rule: None for item in about_training})
            suites.append((train, broken, about_training))
    seconds = {item.case.name: item.seconds for item in report.evidence}
    for name, rules, findings in suites:
        failed = {
            item.rule for item in findings if item.severity == "error" and item.silenced is None
        }
        skipped = {item.rule for item in findings if item.silenced is not None}
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
            _outcome(case, [item for item in findings if item.rule == rule])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + (
        ElementTree.tostring(root, encoding="unicode") + "\n"
    )


def _of(report: AuditReport, split: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.split == split]


def _outcome(case: ElementTree.Element, findings: list[Finding]) -> None:
    if not findings:
        return
    lines = "\n".join(
        _xml(f"{finding.message} ({count(len(finding.rows), 'row')})") for finding in findings
    )
    first = findings[0]
    if first.silenced is not None:
        ElementTree.SubElement(case, "skipped", message=_xml(one_line(first.silenced)))
        ElementTree.SubElement(case, "system-out").text = lines
    elif first.severity == "error":
        failure = ElementTree.SubElement(
            case, "failure", type=first.rule, message=_xml(rules_of(findings)[first.rule].meaning)
        )
        failure.text = lines
    else:
        ElementTree.SubElement(case, "system-out").text = f"{first.severity}: {lines}"


def _xml(text: str) -> str:
    return NOT_IN_XML.sub(lambda match: match[0].encode("unicode_escape").decode(), visible(text))
