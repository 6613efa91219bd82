"""The report of an audit: its verdict, and its output formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from partwhole._door import door
from partwhole._types import NonNegative
from partwhole.audit.case import AuditTable
from partwhole.audit.evidence import Evidence
from partwhole.audit.rules import Finding, rules_of
from partwhole.audit.settings import Settings, require_rules
from partwhole.audit.wording import count

if TYPE_CHECKING:
    import pandas as pd

MOST_LISTED = 50


class UnsupportedSplit(Exception):
    """Training split that does not support its tests; the message lists the errors."""


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Verdict of an audit, with its findings and evidence.

    Parameters
    ----------
    table : AuditTable
        The first of `tables`, with the remarks on all of them.
    order : int
        K, the required order: learners' outputs are sums of conjunctions of at most K components.
    settings : Settings
    evidence : tuple of Evidence
        One for each test split.
    findings : tuple of Finding
        All violations of rules, errors first, silenced findings included.
    seconds : float
    fit : str
        "regression" or "margin".

    Examples
    --------
    >>> import pandas as pd
    >>> from partwhole import audit_split
    >>> frame = pd.DataFrame({"shape": [0, 0, 1, 1], "colour": [0, 1, 0, 1]})
    >>> frame["split"] = ["train", "test", "test", "train"]
    >>> report = audit_split(frame, ["shape", "colour"], split="split")
    >>> report.verdict, report.determined
    ('unsupported', 0.0)
    >>> report.headline
    'Not supported if parts add up (order 1): training leaves 2 of 2 answers open'
    """

    table: AuditTable
    order: int
    settings: Settings
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...]
    seconds: float
    fit: str

    @property
    def tables(self) -> tuple[AuditTable, ...]:
        """Return the tables of the test splits: several for folds, or columns of labels."""
        tables = {id(item.case.table): item.case.table for item in self.evidence}
        return tuple(tables.values()) or (self.table,)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings of severity error that are not silenced."""
        return self._counted("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Return the findings of severity warning that are not silenced."""
        return self._counted("warning")

    @property
    def verdict(self) -> Literal["supported", "unsupported", "undecided"]:
        """Return "supported" when there is no error, "undecided" if all are `not-decided`."""
        if not self.errors:
            return "supported"
        undecided = all(item.rule == "not-decided" for item in self.errors)
        return "undecided" if undecided else "unsupported"

    @property
    def headline(self) -> str:
        """Return one line: the verdict at the required order, and the order at which it changes."""
        from partwhole.audit.headline import headline

        return ". ".join(headline(self))

    @property
    def solvable(self) -> bool | None:
        """Return whether every split is solvable; None if unknown or nothing is held out."""
        answers = [
            evidence.solvability.solvable
            for evidence in self.evidence
            if evidence.solvability is not None
        ]
        if False in answers:
            return False
        return None if None in answers or not answers else True

    @property
    def determined(self) -> float:
        """Return the share of held-out combinations that training determines.

        The smallest share of all test splits; NaN if nothing is held out.
        """
        shares = [
            evidence.determination.share
            for evidence in self.evidence
            if evidence.determination is not None
        ]
        return min(shares, default=float("nan"))

    def __repr__(self) -> str:
        """Return the verdict in a line."""
        return (
            f"AuditReport({self.verdict} at order {self.order}: "
            f"{count(len(self.errors), 'error')}, {count(len(self.warnings), 'warning')}; "
            f"solvable {self.solvable}, determined {self.determined:.3g})"
        )

    def _repr_html_(self) -> str:
        from partwhole._notebook import card

        shown = self.to_frame().loc[:, ["severity", "rule", "split", "message"]]
        return card(self, f"{self.headline}.", shown if self.findings else None)

    @door
    def warnings_of(self, rules: Sequence[str]) -> tuple[Finding, ...]:
        """Return the warnings of some rules.

        Parameters
        ----------
        rules : sequence of str
            Their ids, such as "shortcut".

        Raises
        ------
        InputError
            For an id that no rule has.
        """
        require_rules(rules, rules_of(self.findings))
        return tuple(item for item in self.warnings if item.rule in rules)

    @door
    def raise_if_unsupported(self, *, fail_on: Sequence[str] = ()) -> None:
        """Raise unless the verdict is "supported", and on warnings of chosen rules.

        Parameters
        ----------
        fail_on : sequence of str, keyword-only, default ()
            Rules of which a warning fails too, such as "shortcut" and "not-held-out".

        Raises
        ------
        UnsupportedSplit
            The message has one line for each error, or each warning that fails.
        InputError
            For an id that no rule has.
        """
        failing = self.warnings_of(fail_on)
        if not self.errors:
            if failing:
                lines = [f"{item.rule} ({item.split}): {item.message}" for item in failing]
                raise UnsupportedSplit("\n".join(["Warnings that fail (fail_on):", *lines]))
            return
        lines = [
            f"{finding.rule} ({finding.split}): {finding.message}"
            for finding in self.errors[:MOST_LISTED]
        ]
        if len(self.errors) > MOST_LISTED:
            lines.append(f"and {len(self.errors) - MOST_LISTED:,} more in report.errors")
        is_not = "The split is not"
        if self.verdict == "undecided":
            is_not = "It was not decided whether the split is"
        raise UnsupportedSplit(
            "\n".join(
                [
                    f"{is_not} supported at order {self.order}: "
                    f"{count(len(self.errors), 'error')}.",
                    *lines,
                ]
            )
        )

    def to_text(self) -> str:
        """Return the report as plain text of at most 100 columns."""
        from partwhole.audit.outputs.text import to_text

        return to_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain numbers, strings, lists and dicts; NaN is None."""
        from partwhole.audit.outputs.machine import to_dict

        return to_dict(self)

    @door
    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as JSON, and write it to `path` unless that is None."""
        from partwhole.audit.outputs.machine import to_json

        return _written(to_json(self), path)

    @door
    def to_html(self, path: str | Path | None = None, *, fail_on: Sequence[str] = ()) -> str:
        """Return the report as one HTML file, and write it to `path` unless that is None.

        With warnings of the rules `fail_on` it opens by saying that these fail.
        """
        from partwhole.audit.page import to_html

        return _written(to_html(self, self.warnings_of(fail_on)), path)

    @door
    def to_sarif(self, path: str | Path | None = None, *, fail_on: Sequence[str] = ()) -> str:
        """Return the findings as SARIF 2.1.0, and write them to `path` unless that is None.

        Warnings of the rules `fail_on` are errors there.
        """
        from partwhole.audit.outputs.build_servers import to_sarif

        return _written(to_sarif(self._failing(fail_on)), path)

    @door
    def to_junit(self, path: str | Path | None = None, *, fail_on: Sequence[str] = ()) -> str:
        """Return the rules as JUnit test cases, and write them to `path` unless that is None.

        Warnings of the rules `fail_on` are failures there.
        """
        from partwhole.audit.outputs.build_servers import to_junit

        return _written(to_junit(self._failing(fail_on)), path)

    def _failing(self, rules: Sequence[str]) -> AuditReport:
        """Return the report with warnings of some rules as errors, for build servers alone."""
        failing = set(map(id, self.warnings_of(rules)))
        findings = (
            replace(item, severity="error") if id(item) in failing else item
            for item in self.findings
        )
        return replace(self, findings=tuple(findings))

    @door
    def rows_to_frame(self, *, time_limit: NonNegative = 10.0) -> pd.DataFrame:
        """Return a table with a row for each row of the test splits.

        Parameters
        ----------
        time_limit : float, keyword-only, default 10
            Seconds for each test split in which training rows that would help are looked for,
            counted by what is tried, so that the table does not depend on the load of the machine.
            After it, what helps is the combination itself, and this is said.

        Returns
        -------
        pandas.DataFrame
            Number of the row, split and component values; ``status``, which is "seen" (the
            combination is one of training), "determined", "not determined" or "undecided"; ``why``
            a row is not determined, or its label is none of training; the training row that would
            ``help`` most directly; and the prediction at the reference point.
        """
        import pandas as pd

        from partwhole.audit.outputs.rows import rows_to_frame

        return pd.concat(
            [rows_to_frame(item, float(time_limit)) for item in self.evidence], ignore_index=True
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each finding.

        Returns
        -------
        pandas.DataFrame
            Columns rule, severity, split, subject, message, row_count, rows, silenced.
        """
        import pandas as pd

        columns = {
            "rule": [finding.rule for finding in self.findings],
            "severity": [finding.severity for finding in self.findings],
            "split": [finding.split for finding in self.findings],
            "subject": [finding.subject for finding in self.findings],
            "message": [finding.message for finding in self.findings],
            "row_count": np.array([len(finding.rows) for finding in self.findings], dtype=np.int64),
            "rows": pd.Series([finding.rows for finding in self.findings], dtype=object),
            "silenced": pd.Series([finding.silenced for finding in self.findings], dtype=object),
        }
        return pd.DataFrame(columns)

    def _counted(self, severity: str) -> tuple[Finding, ...]:
        return tuple(
            finding
            for finding in self.findings
            if finding.severity == severity and finding.silenced is None
        )


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        from partwhole.audit.outputs.files import write_all

        write_all({Path(path): text})
    return text
