"""Judge many problems and print a table: python tests/fuzz/run.py --problems 10000 --seed 0."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict

os.environ.setdefault("OMP_NUM_THREADS", "1")

from judge import FAILURES, Judgement, Verdict, judge
from problems import COSTS, FITS, ORDINARY, names, problem

COLUMNS = (
    Verdict.RIGHT,
    Verdict.WRONG,
    Verdict.FALSE_INFEASIBLE,
    Verdict.RAW,
    Verdict.REFUSED,
    Verdict.GAVE_UP,
    Verdict.UNDECIDED,
)


def is_ordinary(name: str) -> bool:
    """Return whether a problem's data are ordinary."""
    return name.split(" / ")[3] in ORDINARY


def table(judgements: list[Judgement]) -> str:
    """Return counts by cost and fit, and the share of problems that were given up."""
    head = ["cost / fit", "n", *(verdict.value for verdict in COLUMNS)]
    lines = [head]
    counts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for judgement in judgements:
        cost, fit, _, kind, _ = judgement.name.split(" / ")
        for key in (f"{cost} / {fit}", f"{cost} / all", f"all / {fit}", "all / all", kind):
            counts[key][judgement.verdict] += 1
    keys = [f"{c} / {f}" for c in (*COSTS, "all") for f in (*FITS, "all")]
    keys += sorted(key for key in counts if " / " not in key)
    for key in keys:
        if key in counts:
            row = counts[key]
            lines.append([key, str(sum(row.values())), *(str(row[verdict]) for verdict in COLUMNS)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    out = [
        line[0].ljust(widths[0])
        + "".join(f"  {entry:>{w}}" for entry, w in zip(line[1:], widths[1:], strict=True))
        for line in lines
    ]
    for title, ordinary in (("ordinary", True), ("awkward", False)):
        group = [judgement for judgement in judgements if is_ordinary(judgement.name) is ordinary]
        n_lost = sum(judgement.verdict is Verdict.GAVE_UP for judgement in group)
        out.append(
            f"gave up on {title} data: {n_lost} of {len(group)} ({n_lost / max(len(group), 1):.1%})"
        )
    slowest = max(judgements, key=lambda judgement: judgement.seconds)
    whole = sum(judgement.seconds for judgement in judgements)
    out.append(
        f"seconds in the library: {whole:.0f}; slowest {slowest.seconds:.1f}: {slowest.name}"
    )
    return "\n".join(out)


def main() -> int:
    """Judge, print, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--costs", nargs="*", choices=COSTS, default=list(COSTS))
    parser.add_argument("--only", help="judge the problem of this name alone")
    parser.add_argument("--record", help="write the judgements to this file, a line each")
    parser.add_argument("--show", default="failures", choices=["failures", "all", "none"])
    arguments = parser.parse_args()
    chosen = (
        [arguments.only]
        if arguments.only
        else names(arguments.problems, arguments.seed, tuple(arguments.costs))
    )
    begin, judgements = time.monotonic(), []
    for name in chosen:
        if time.monotonic() - begin > 60 * arguments.minutes:
            break
        judgement = judge(problem(name))
        judgements.append(judgement)
        failed = judgement.verdict in (*FAILURES, Verdict.REFUSED, Verdict.UNDECIDED)
        if arguments.only or arguments.show == "all" or (failed and arguments.show == "failures"):
            print(
                f'{judgement.verdict.value}: --only "{judgement.name}"  {judgement.reason}',
                flush=True,
            )
    print(table(judgements))
    if arguments.record:
        with open(arguments.record, "w", encoding="utf-8") as file:
            file.writelines(
                json.dumps(
                    [judgement.name, judgement.verdict.name, judgement.reason, judgement.seconds]
                )
                + "\n"
                for judgement in judgements
            )
    return int(any(judgement.verdict in FAILURES for judgement in judgements))


if __name__ == "__main__":
    sys.exit(main())
