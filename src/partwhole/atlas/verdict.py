"""What an audit says of a published split, in numbers that can be stored and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int

from partwhole import __version__
from partwhole._door import door
from partwhole.atlas.benchmark import ITEM, SPLIT, TRAIN, PublishedSplit, SplitTable
from partwhole.audit.wording import alone_predicts, rising

if TYPE_CHECKING:
    import pandas as pd

    from partwhole.audit import AuditReport
    from partwhole.audit.evidence import Evidence

STORED = Path(__file__).with_name("stored.json")
# The state of a test row, in the order in which the worst one decides for its item.
SEEN, DETERMINED, UNDECIDED, OPEN = range(4)
MOST_SHORTCUTS = 3
FILES = "files as published"
# How verdicts that were stored earlier say what a shortcut explains.
_EARLIER = re.compile(
    r"(.+ (?:alone|together)) explains? (.+ %) of the variance of the targets in training; in (.+) "
    r"the targets change by (\S+) where (?:it predicts|they predict) a change by 1"
)


@dataclass(frozen=True)
class Step:
    """The support of a test split by training at one order.

    Parameters
    ----------
    order : int
        How many components may interact in learners.
    determined, undecided : int
        Of the held-out combinations.
    solvable : bool or None
        Whether such learners can answer all of them; None if not decided, or if training leaves
        answers open.
    """

    order: int
    determined: int
    undecided: int
    solvable: bool | None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one test split of a published split.

    Parameters
    ----------
    split, test : str
        Names, such as "scan/length" and "test".
    title, source, unit : str
        Of the benchmark; the unit is what `items` counts.
    components, target : tuple of str
    train_rows, items : int
        Rows of training; items of the test split, which are rows unless several make up one.
    seen, open, undecided : int
        Items of which training has all combinations; items of which it leaves an answer open, even
        if parts add up; items for which this was not decided.
    unseen : int
        Items with a value that training lacks.
    held_out : int
        Combinations that only the test split has.
    steps : tuple of Step
        In ascending order, as far as the time allowed.
    shortcuts : tuple of str
        Components that alone predict the target in training and mislead in test.
    seconds : float
        Of the audit of all test splits.
    table : str
        Fingerprint of the rows, in any order.
    origin : str
        Where the rows come from.
    is_spread : bool
        Whether a column became a component for each of its values.
    version, date : str
        Of partwhole, and of the computation.

    Examples
    --------
    All is determined at order 1, but no learner below order 3 can answer all of it:

    >>> simple = next(v for v in stored_verdicts() if v.split == "scan/simple")
    >>> simple.determined, [step.solvable for step in simple.steps[:3]], simple.supported_at
    ((1.0, 1.0, 1.0), [False, False, True], 3)
    """

    split: str
    test: str
    title: str
    source: str
    unit: str
    components: tuple[str, ...]
    target: tuple[str, ...]
    train_rows: int
    items: int
    seen: int
    open: int
    undecided: int
    unseen: int
    held_out: int
    steps: tuple[Step, ...]
    shortcuts: tuple[str, ...]
    seconds: float
    table: str
    origin: str = FILES
    is_spread: bool = False
    version: str = __version__
    date: str = ""

    @property
    def determined(self) -> tuple[float, float, float]:
        """Return the shares of held-out combinations that training determines at orders 1, 2 and 3.

        What is determined at an order is so at lower ones, and nothing is if all components may
        interact. Combinations for which an order was not decided do not count; see `is_decided`.
        """
        by_order = {step.order: step.determined / self.held_out for step in self.steps}
        return by_order.get(1, 0.0), by_order.get(2, 0.0), by_order.get(3, 0.0)

    def is_decided(self, order: int) -> bool:
        """Return whether it is known of every held-out combination if an order determines it."""
        step = next((step for step in self.steps if step.order == order), None)
        if step is not None:
            return not step.undecided
        # Nothing is determined if all components interact, or if nothing is at a lower order.
        is_whole = not self.is_spread and order >= len(self.components)
        return is_whole or any(
            step.order < order and not step.determined + step.undecided for step in self.steps
        )

    @property
    def supported_at(self) -> int | None:
        """Return the lowest order at which all is determined and solvable; None if there is none.

        Without a target nothing has to be solvable.
        """
        for step in self.steps:
            whole = step.determined == self.held_out
            if whole and (step.solvable or not self.target):
                return step.order
        return None


def verdicts_of(
    split: PublishedSplit, table: SplitTable, report: AuditReport, *, origin: str = FILES
) -> tuple[Verdict, ...]:
    """Return the verdict on each test split of an audited split.

    Parameters
    ----------
    split : PublishedSplit
    table : SplitTable
        What it reads.
    report : AuditReport
        Of the table.
    origin : str, keyword-only, default "files as published"

    Returns
    -------
    tuple of Verdict
    """
    rows = fingerprint(table.frame)
    items = table.frame[ITEM].to_numpy(dtype=str) if ITEM in table.frame else None
    train_rows = int(np.sum(table.frame[SPLIT].to_numpy() == TRAIN))
    verdicts = []
    for evidence in report.evidence:
        states, has_unseen = _items(evidence, items)
        counts = np.bincount(states, minlength=4)
        steps = tuple(
            Step(rung.order, rung.determined, rung.undecided, rung.solvable)
            for rung in evidence.ladder
        )
        misleading = [item for item in evidence.shortcuts if item.misleads]
        verdicts.append(
            Verdict(
                split.name,
                evidence.case.name,
                split.benchmark.title,
                split.benchmark.source,
                table.unit or split.benchmark.unit,
                report.table.names if not table.multi_hot else table.components,
                table.target,
                train_rows,
                len(states),
                int(counts[SEEN]),
                int(counts[OPEN]),
                int(counts[UNDECIDED]),
                int(has_unseen.sum()),
                len(evidence.case.held_out),
                steps,
                tuple(alone_predicts(evidence.case, item) for item in misleading[:MOST_SHORTCUTS]),
                round(report.seconds, 1),
                rows,
                origin,
                bool(table.multi_hot),
                date=date.today().isoformat(),
            )
        )
    return tuple(verdicts)


def _items(
    evidence: Evidence, items: np.ndarray | None
) -> tuple[Int[np.ndarray, " i"], Int[np.ndarray, " i"]]:
    """Return the state of each item, and whether it has a value that training lacks."""
    case = evidence.case
    rows = np.flatnonzero(case.table.split == case.split)
    of_combination = np.full(len(case.weights), SEEN)
    if evidence.determination is not None:
        of_combination[case.held_out] = np.where(
            evidence.determination.determined,
            DETERMINED,
            np.where(evidence.determination.undecided, UNDECIDED, OPEN),
        )
    states = of_combination[case.row_combination[rows]]
    is_unseen = np.zeros(len(case.table.split), dtype=np.int64)
    for value in evidence.coverage.unseen_values:
        is_unseen[value.rows] = 1
    unseen = is_unseen[rows]
    if items is None:
        return states, unseen
    _, number = np.unique(items[rows], return_inverse=True)
    worst = np.zeros(int(number.max()) + 1, dtype=np.int64)
    any_unseen = worst.copy()
    np.maximum.at(worst, number, states)
    np.maximum.at(any_unseen, number, unseen)
    return worst, any_unseen


def fingerprint(frame: pd.DataFrame) -> str:
    """Return the number of rows of a table, and a digest that does not depend on their order.

    The digest is the first half of SHA-256 of the header and the sorted lines of the table as CSV,
    without the numbers of items.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": ["x", "y"], "split": ["train", "test"]})
    >>> fingerprint(frame)
    '2-55e038fe59eec5955be0a17045f7c187'
    >>> fingerprint(frame) == fingerprint(frame[::-1]) != fingerprint(frame[:1])
    True
    """
    names = [name for name in frame.columns if name != ITEM]
    header, *lines = frame[names].to_csv(index=False, lineterminator="\n").splitlines()
    text = "\n".join([header, *sorted(lines)])
    return f"{len(frame)}-{sha256(text.encode()).hexdigest()[:32]}"


def stored_verdicts() -> tuple[Verdict, ...]:
    """Return the verdicts that come with partwhole, with their provenance.

    Returns
    -------
    tuple of Verdict

    Examples
    --------
    >>> length = next(v for v in stored_verdicts() if v.split == "scan/length")
    >>> length.held_out, length.determined[0], length.supported_at
    (3920, 1.0, None)
    """
    return read_verdicts(STORED)


@door
def read_verdicts(path: str | Path) -> tuple[Verdict, ...]:
    """Return the verdicts in a file of `to_json`, such as the verdicts.json of an atlas."""
    entries = json.loads(Path(path).read_text("utf-8"))
    return tuple(_from_dict(entry) for entry in entries)


def to_json(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as JSON, one on each line."""
    lines = [json.dumps(asdict(verdict), ensure_ascii=False) for verdict in verdicts]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _from_dict(entry: dict[str, Any]) -> Verdict:
    steps = tuple(Step(**step) for step in entry["steps"])
    known = {
        field.name: tuple(entry[field.name])
        if isinstance(entry[field.name], list)
        else entry[field.name]
        for field in fields(Verdict)
    }
    shortcuts = tuple(_reworded(sentence, known["target"]) for sentence in known["shortcuts"])
    return Verdict(**{**known, "steps": steps, "shortcuts": shortcuts})


def _reworded(sentence: str, targets: Sequence[str]) -> str:
    """Return a stored sentence on a shortcut in the words of today, with its numbers."""
    earlier = _EARLIER.fullmatch(sentence)
    if earlier is None:
        return sentence
    name, share, test, slope = earlier.groups()
    return rising(name, share, test, targets, float(slope))


def ranked(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts in order of support, those that training supports least first.

    Compared are the shares of held-out combinations that training determines at orders 1, 2 and
    3; splits in which nothing is held out come last.
    """
    return sorted(
        verdicts,
        key=lambda verdict: (
            not verdict.held_out,
            verdict.determined if verdict.held_out else (),
            verdict.split,
            verdict.test,
        ),
    )
