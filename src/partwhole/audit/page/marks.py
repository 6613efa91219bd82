"""Elements of proofs and findings: a verdict's mark, targets in words, a sum in full."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int

from partwhole._types import Real
from partwhole.audit.case import Case
from partwhole.audit.page.words import exact, number
from partwhole.audit.wording import printable
from partwhole.page import Html, tag

SHOWN = 16


def mark(kind: str, sign: str, words: str) -> Html:
    """Return a verdict as sign, words and colour."""
    return tag("span", tag("span", sign, aria_hidden="true"), f" {words}", class_=f"verdict {kind}")


def targets(case: Case, rows: Int[np.ndarray, " q"], values: Float[np.ndarray, " q"]) -> list[str]:
    """Return targets of combinations: labels by name, with the mean if rows differ.

    Rows that are evenly divided between labels are a tie, a word that fits into a drawn cell.
    """
    if case.label is None or case.table.labels is None:
        return [exact(v) for v in values]
    words = []
    for row, value in zip(rows.tolist(), values.tolist(), strict=True):
        i = case.label[row]
        name = printable(case.table.labels[i], 24) if i >= 0 else "a tie"
        words.append(name if abs(value) == 1 else f"{name} ({number(value, 3)})")
    return words


def added_up(weights: Iterable[Real], values: Iterable[Real], total: Real) -> str:
    """Return a weighted sum of numbers with its total, in words.

    Examples
    --------
    >>> added_up([1.0, -2.0], [3.0, -1.0], 5.0)
    '(3) − 2 × (−1) = 5'
    """
    terms = [
        f"{'−' if w < 0 else '+'} {'' if abs(w) == 1 else exact(abs(w)) + ' × '}({exact(v)})"
        for w, v in zip(weights, values, strict=True)
    ]
    ending = " + …" if len(terms) > SHOWN else ""
    return f"{' '.join(terms[:SHOWN]).removeprefix('+ ')}{ending} = {exact(total)}"
