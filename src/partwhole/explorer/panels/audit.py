"""Does training determine what the test asks?

A table has a row for each combination of parts, with the answer and a split. The audit says whether
the combinations in training determine those of the test, for every learner that adds up parts, and
what else is wrong: shortcuts, values that training lacks, rows that repeat.

Left the training rows of each pair of values of the first two components, with a dot where the test
has rows, and a cross where training leaves their answer open. Right the test rows, by what training
says of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.audit import AuditReport
from partwhole.explorer.controls import EXAMPLE, Column


def audit(
    axes: list[Any],
    path: str = EXAMPLE,
    components: Annotated[Sequence[str], Column("Components", several=True)] = ("shape", "colour"),
    target: Annotated[str, Column("Target")] = "answer",
    split: Annotated[str, Column("Split")] = "split",
) -> AuditReport:
    report = pw.audit_split(path, list(components), target=target, split=split)
    print(f"{report.headline}.")
    for finding in report.errors + report.warnings:
        print(f"{finding.rule}: {finding.message.partition('. ')[0]}.")

    task, rows = report.evidence[0].case.task, report.rows_to_frame()
    counts = np.zeros(task.n_values[:2], dtype=int)
    np.add.at(counts, tuple(task.components[task.is_train, :2].T), 1)
    axes[0].imshow(counts, cmap="Blues", vmax=2 * counts.max(), aspect="auto")
    is_open = rows["status"].isin(["not determined", "undecided"])
    for chosen, mark in ((rows, "o"), (rows.loc[is_open], "x")):
        places = chosen[[*task.names[:2]]].drop_duplicates()
        row, column = (list(map(task.values[k].index, places[task.names[k]])) for k in (0, 1))
        axes[0].plot(column, row, mark, color="black", markerfacecolor="white")
    for axis, values in ((axes[0].yaxis, task.values[0]), (axes[0].xaxis, task.values[1])):
        step = -(-len(values) // 8)
        axis.set_ticks(range(0, len(values), step), [str(value)[:8] for value in values[::step]])
    axes[0].set_title(task.names[0], loc="left", fontsize="medium")
    axes[0].set_xlabel(task.names[1])
    status = rows["status"].value_counts()
    axes[1].barh(range(len(status)), status, height=0.5, alpha=0.3)
    for place, name in enumerate(status.index):
        axes[1].text(0, place, f" {name}", verticalalignment="center")
    axes[1].set(xlabel="rows of the test", yticks=[], ylim=(-1, len(status)))
    return report
