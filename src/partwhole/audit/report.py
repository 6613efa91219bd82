"""The report of an audit: its verdict, and every form in which it is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from partwhole._door import door
from partwhole.audit.case import AuditTable
from partwhole.audit.evidence import Evidence
from partwhole.audit.rules import Finding
from partwhole.audit.settings import Settings
from partwhole.audit.wording import count

if TYPE_CHECKING:
    import pandas as pd

MOST_TOLD = 50


class UnsupportedSplit(Exception):
    """A split that does not support what it will be tested on; the message lists the errors."""


@dataclass(frozen=True, eq=False)
class AuditReport:
    """Hold what an audit found, and tell it.

    Parameters
    ----------
    table : AuditTable
    order : int
        K: learners whose outputs are sums of conjunctions of at most K components.
    settings : Settings
    evidence : tuple of Evidence
        One for each test split.
    findings : tuple of Finding
        Everything that breaks a rule, errors first; silenced ones are among them.
    seconds : float
    fit : str
        "regression" or "margin".
    path : str
        The table's path as it was given; empty for a DataFrame.
    """

    table: AuditTable
    order: int
    settings: Settings
    evidence: tuple[Evidence, ...]
    findings: tuple[Finding, ...]
    seconds: float
    fit: str
    path: str = ""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings of severity error that are not silenced."""
        return self._counted("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Return the findings of severity warning that are not silenced."""
        return self._counted("warning")

    @property
    def verdict(self) -> Literal["supported", "unsupported"]:
        """Return "supported" when there is no error."""
        return "unsupported" if self.errors else "supported"

    @property
    def headline(self) -> str:
        """Return the verdict in a line, which names the order and says what it leaves open.

        Such as "Unsupported at order 1: 3 errors, 1 warning", "Supported at order 2, with 2 errors
        silenced", "Supported at order 2 as far as decided" or "Nothing is held out".
        """
        at = f"at order {self.order}"
        errors, warnings = (
            count(len(of), one) if of else f"no {one}s"
            for of, one in ((self.errors, "error"), (self.warnings, "warning"))
        )
        if self.errors:
            return f"Unsupported {at}: {errors}, {warnings}"
        if not any(len(one.case.held_out) for one in self.evidence):
            return "Nothing is held out"
        silenced = sum(
            one.severity == "error" and one.silenced is not None for one in self.findings
        )
        told = f"{count(silenced, 'error')} silenced"
        if any(one.undecided for one in self.evidence):
            return f"Supported {at} as far as decided" + (f", with {told}" if silenced else "")
        return f"Supported {at}" + (f", with {told}" if silenced else f": {errors}, {warnings}")

    @property
    def solvable(self) -> bool | None:
        """Return whether every split is solvable; None when not known or nothing is held out."""
        found = [one.solvability.solvable for one in self.evidence if one.solvability is not None]
        if False in found:
            return False
        return None if None in found or not found else True

    @property
    def determined(self) -> float:
        """Return the share of held-out combinations that training determines.

        The least over the test splits; NaN when nothing is held out.
        """
        found = [one.determination.share for one in self.evidence if one.determination is not None]
        return min(found, default=float("nan"))

    def __repr__(self) -> str:
        """Return the verdict in a line."""
        return (
            f"AuditReport({self.verdict} at order {self.order}: "
            f"{count(len(self.errors), 'error')}, {count(len(self.warnings), 'warning')}; "
            f"solvable {self.solvable}, determined {self.determined:.3g})"
        )

    def raise_if_unsupported(self) -> None:
        """Raise unless the verdict is "supported".

        Raises
        ------
        UnsupportedSplit
            Its message has a line for each error.
        """
        if not self.errors:
            return
        lines = [f"{one.rule} ({one.split}): {one.message}" for one in self.errors[:MOST_TOLD]]
        if len(self.errors) > MOST_TOLD:
            lines.append(f"and {len(self.errors) - MOST_TOLD:,} more, in report.errors")
        raise UnsupportedSplit(
            "\n".join(
                [
                    f"The split is not supported at order {self.order}: "
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
        """Return the report as JSON, and write it to a file if one is named."""
        from partwhole.audit.outputs.machine import to_json

        return _kept(to_json(self), path)

    @door
    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as a page that needs nothing else, and write it if a file is named."""
        from partwhole.audit.page import to_html

        return _kept(to_html(self), path)

    @door
    def to_sarif(self, path: str | Path | None = None) -> str:
        """Return the findings as SARIF 2.1.0, and write them to a file if one is named."""
        from partwhole.audit.outputs.build_servers import to_sarif

        return _kept(to_sarif(self), path)

    @door
    def to_junit(self, path: str | Path | None = None) -> str:
        """Return the rules as JUnit test cases in XML, and write them if a file is named."""
        from partwhole.audit.outputs.build_servers import to_junit

        return _kept(to_junit(self), path)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each finding.

        Returns
        -------
        pandas.DataFrame
            Columns rule, severity, split, subject, message, row_count, rows, silenced.
        """
        import pandas as pd

        columns = {
            "rule": [one.rule for one in self.findings],
            "severity": [one.severity for one in self.findings],
            "split": [one.split for one in self.findings],
            "subject": [one.subject for one in self.findings],
            "message": [one.message for one in self.findings],
            "row_count": np.array([len(one.rows) for one in self.findings], dtype=np.int64),
            "rows": pd.Series([one.rows for one in self.findings], dtype=object),
            "silenced": pd.Series([one.silenced for one in self.findings], dtype=object),
        }
        return pd.DataFrame(columns)

    def _counted(self, severity: str) -> tuple[Finding, ...]:
        return tuple(
            one for one in self.findings if one.severity == severity and one.silenced is None
        )


def _kept(text: str, path: str | Path | None) -> str:
    if path is not None:
        from partwhole.audit.outputs.files import write_all

        write_all({Path(path): text})
    return text
