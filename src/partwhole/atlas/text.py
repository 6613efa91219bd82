"""The ranking of an atlas, and the files of its benchmarks, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from partwhole.atlas.benchmark import Benchmark
from partwhole.atlas.verdict import Verdict
from partwhole.audit.wording import count, percent, printable

WIDTH = 96


def ranking(made: Sequence[Verdict]) -> str:
    """Return the verdicts as a table, in their order.

    Examples
    --------
    >>> from partwhole.atlas import stored_atlas
    >>> print(ranking(stored_atlas().verdicts[-1:]))
    Held-out combinations that training determines, and what of the test it leaves open
                                                  parts add up  pairs interact  test left open
    waterbirds                                    nothing is held out
    """
    lines = [
        "Held-out combinations that training determines, and what of the test it leaves open",
        f"{'':44}  {'parts add up':>12}  {'pairs interact':>14}  test left open",
    ]
    for verdict in made:
        name = printable(
            verdict.split + ("" if verdict.test == "test" else f", {verdict.test}"), 44
        )
        if not verdict.held_out:
            lines.append(f"{name:44}  nothing is held out")
            continue
        sums, pairs, _ = verdict.determined
        lines.append(
            f"{name:44}  {percent(sums):>12}  {at_pairs(verdict, percent(pairs)):>14}  "
            f"{percent(verdict.open / verdict.items)} of {count(verdict.items, verdict.unit)}"
        )
    return "\n".join(line.rstrip() for line in lines) + "\n"


def at_pairs(verdict: Verdict, pairs: str) -> str:
    """Return the share that training determines if pairs interact, as far as it was decided."""
    step = next((step for step in verdict.steps if step.order == 2), None)
    if step is not None and not step.undecided:
        return pairs
    if step is not None and step.determined:
        return f"at least {pairs}"
    # Above the orders of the components nothing is determined.
    is_known = len(verdict.components) == 2 or verdict.determined[0] == 0.0
    return "0 %" if is_known else "not decided"


def files_of(benchmarks: Sequence[Benchmark]) -> str:
    """Return the files by which each benchmark is known."""
    lines = ["Benchmarks that are read from a folder, and their files as published:"]
    for benchmark in benchmarks:
        lines.append(fill(f"{benchmark.title} ({benchmark.source})", WIDTH, subsequent_indent="  "))
        lines.append(fill(benchmark.files, WIDTH, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines) + "\n"
