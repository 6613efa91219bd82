"""Which components of a table say something: those that vary, and that no other determines."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole.audit.reading.columns import quoted
from partwhole.audit.reading.redundant import dependent, redundant
from partwhole.audit.reading.several import require_two
from partwhole.audit.wording import listed


def independent(
    coded: Int[np.ndarray, "n C"],
    values: tuple[tuple[Hashable, ...], ...],
    names: tuple[str, ...],
    part: Int[np.ndarray, " n"],
    remarks: list[str],
) -> tuple[Int[np.ndarray, "n c"], tuple[tuple[Hashable, ...], ...], tuple[str, ...]]:
    """Return the components without those that others determine; remarks name these.

    Remarks also name those that follow from two others and yet are components of their own.
    """
    used, n_values = coded[part >= 0], [len(v) for v in values]
    left_out = redundant(used, n_values)
    for redundant_one, determining in left_out.items():
        name, others = names[redundant_one], " and ".join(names[c] for c in determining)
        if len(determining) == 1:
            remarks.append(
                f"Component {name} is left out: {others} determines it in every row, so it adds "
                "nothing to a combination."
            )
        else:
            remarks.append(
                f"Component {name} is left out: {others} determine it in every row, and it "
                f"determines them, so it adds nothing to a combination. If {name} is a single "
                "part, name it without them."
            )
    kept = [c for c in range(len(names)) if c not in left_out]
    coded, values = coded[:, kept], tuple(values[c] for c in kept)
    names = tuple(names[c] for c in kept)
    for c, pair in dependent(used[:, kept], [len(v) for v in values]).items():
        remarks.append(
            f"{names[c]} follows from {names[pair[0]]} and {names[pair[1]]} in every row, though "
            f"they do not follow from it. It counts as a part of its own, so that training may "
            "leave answers open which it would determine without it; if it is none, leave it out "
            "of the components."
        )
    return coded, values, names


def trivial(
    coded: Int[np.ndarray, "n C"],
    values: tuple[tuple[Hashable, ...], ...],
    names: tuple[str, ...],
    part: Int[np.ndarray, " n"],
    targets: Float[np.ndarray, "n k"],
    label: Int[np.ndarray, " n"] | None,
    asked: str,
) -> list[str]:
    """Return a remark if a single component gives what is asked for in every row."""
    used = part >= 0
    if label is None:
        answer = np.unique(targets[used], axis=0, return_inverse=True)[1].reshape(-1)
    else:
        answer = label[used]
    n_answers = int(answer.max()) + 1
    # A component with a value for nearly every row gives anything.
    for name, column, of in zip(names, coded[used].T, values, strict=True):
        pairs = len(np.unique(column.astype(np.int64) * n_answers + answer))
        if n_answers > 1 and pairs == len(np.unique(column)) <= len(column) / 2 and len(of) > 1:
            return [
                f"{name} alone gives {asked} in every row. A learner that receives it needs "
                "nothing else; what the audit then shows is whether other components mislead it."
            ]
    return []


def varying(
    coded: Int[np.ndarray, "n C"],
    values: tuple[tuple[Hashable, ...], ...],
    names: tuple[str, ...],
    part: Int[np.ndarray, " n"],
    remarks: list[str],
) -> tuple[Int[np.ndarray, "n c"], tuple[tuple[Hashable, ...], ...], tuple[str, ...]]:
    """Return the components that vary, two or more; remarks name the others."""
    used = coded[part >= 0]
    varies = (used != used[0]).any(axis=0)
    same = [f"{names[c]!r} is {quoted(str(values[c][used[0, c]]))}"
            for c in np.flatnonzero(~varies)]  # fmt: skip
    remarks += [
        f"Component {names[c]} is left out: it is the same in every row."
        for c in np.flatnonzero(~varies)
    ]
    require(
        not same or np.count_nonzero(varies) >= 2,
        "a combination has at least two components",
        f"{np.count_nonzero(varies)} that varies: in every row {listed(same)}",
        "name further columns",
    )
    kept = np.flatnonzero(varies).tolist()
    require_two(len(kept))
    return coded[:, kept], tuple(values[c] for c in kept), tuple(names[c] for c in kept)
