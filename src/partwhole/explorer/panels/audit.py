"""Does training determine what the test asks?

A table has a row for each combination of parts, with the answer and a split. The audit says whether
the combinations in training determine those of the test, for every learner that adds up parts, and
what else is wrong: shortcuts, values that training lacks, rows that repeat.

Left the training rows of each pair of values of the first two components, with a circle where the
test has rows, a cross where training leaves their answer open, and a square where that was not
decided. Right how many test rows are determined, open or seen in training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.audit import AuditReport
from partwhole.audit.rules import RULES
from partwhole.explorer.controls import EXAMPLE, Column


def audit(
    axes: list[Any],
    print: Callable[..., None],
    path: str = EXAMPLE,
    components: Annotated[Sequence[str], Column("Components", several=True)] = ("shape", "colour"),
    target: Annotated[str, Column("Target")] = "answer",
    split: Annotated[str, Column("Split")] = "split",
) -> Iterator[AuditReport]:
    report = pw.audit_split(path, list(components), target=target, split=split)
    yield report
    print(f"{report.headline}.")
    for finding in report.errors + report.warnings:
        subject = f" ({finding.subject})" if finding.subject else ""
        print(f"{finding.rule}{subject}: {RULES[finding.rule].meaning}")

    task, rows = report.evidence[0].case.task, report.rows_to_frame()
    if max(task.n_values[:2]) <= 60:
        counts = np.zeros(task.n_values[:2], dtype=int)
        np.add.at(counts, tuple(task.components[task.is_train, :2].T), 1)
        axes[0].imshow(counts, cmap="Blues", vmax=2 * counts.max(), aspect="auto")
        marks = {None: "o", "not determined": "x", "undecided": "s"}
        for status, mark in marks.items():
            tested = rows if status is None else rows.loc[rows["status"] == status]
            places = tested[[*task.names[:2]]].drop_duplicates()
            row, column = (list(map(task.values[k].index, places[task.names[k]])) for k in (0, 1))
            axes[0].plot(column, row, mark, color="black", markerfacecolor="white")
        for axis, values in ((axes[0].yaxis, task.values[0]), (axes[0].xaxis, task.values[1])):
            step, texts = -(-len(values) // 7), map(str, values)
            names = [text if len(text) < 9 else f"{text[:3]}…{text[-4:]}" for text in texts]
            axis.set_ticks(range(0, len(values), step), names[::step], parse_math=False)
        axes[0].set_title(task.names[0][:20], loc="left", fontsize="medium", parse_math=False)
        axes[0].set_xlabel(task.names[1][:30], parse_math=False)
    else:
        print("A grid is drawn of two components of at most 60 values.")
    status = rows["status"].value_counts()
    axes[1].barh(range(len(status)), status, height=0.5, alpha=0.3)
    for place, name in enumerate(status.index):
        axes[1].text(0.03 * status.max(), place, name, verticalalignment="center")
    axes[1].set(xlabel="rows of the test", yticks=[], ylim=(-1, len(status)))
