"""The ranking of an atlas, and the files of its benchmarks, as plain text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill

from partwhole.atlas.benchmark import Benchmark
from partwhole.atlas.verdict import Verdict
from partwhole.audit.wording import count, percent, printable

WIDTH = 96


def ranking(verdicts: Sequence[Verdict]) -> str:
    """Return the verdicts as a table, in their order.

    Examples
    --------
    >>> from partwhole.atlas.folder import stored_atlas
    >>> print(ranking(stored_atlas().verdicts[-1:]))
    Held-out combinations that training determines, and what of the test it leaves open
                                                  parts add up  pairs interact  test left open
    waterbirds                                    nothing is held out
    """
    lines = [
        "Held-out combinations that training determines, and what of the test it leaves open",
        f"{'':44}  {'parts add up':>12}  {'pairs interact':>14}  test left open",
    ]
    for verdict in verdicts:
        name = printable(
            verdict.split + ("" if verdict.test == "test" else f", {verdict.test}"), 44
        )
        if not verdict.held_out:
            lines.append(f"{name:44}  nothing is held out")
            continue
        sums, pairs = (at_order(verdict, order, percent) for order in (1, 2))
        lines.append(f"{name:44}  {sums:>12}  {pairs:>14}  {left_open(verdict, percent)}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def at_order(verdict: Verdict, order: int, share: Callable[[float], str]) -> str:
    """Return the share of held-out combinations determined at an order, as far as decided."""
    value = verdict.determined[order - 1]
    if verdict.is_decided(order):
        return share(value)
    return f"at least {share(value)}" if value else "not decided"


def left_open(verdict: Verdict, share: Callable[[float], str]) -> str:
    """Return the share of the test that training leaves open, as far as decided."""
    value = verdict.open / verdict.items
    known = f"{'at least ' if verdict.undecided else ''}{share(value)}"
    return f"{known} of {count(verdict.items, verdict.unit)}"


def files_of(benchmarks: Sequence[Benchmark]) -> str:
    """Return the files by which each benchmark is known."""
    lines = ["Benchmarks that are read from a folder, and their files as published:"]
    for benchmark in benchmarks:
        lines.append(fill(f"{benchmark.title} ({benchmark.source})", WIDTH, subsequent_indent="  "))
        lines.append(fill(benchmark.files, WIDTH, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines) + "\n"
