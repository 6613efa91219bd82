"""``partwhole design``: a small training split that determines its test."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from partwhole._checks import InputError, require


def design(
    factors: Annotated[
        tuple[str, ...], arg(metavar="NAME:COUNT ...", help_behavior_hint="(required)")
    ] = (),
    require_order: Annotated[int, arg(metavar="K")] = 1,
    budget: Annotated[int | None, arg(metavar="COUNT", help_behavior_hint="")] = None,
    test_share: float = 0.3,
    target: Annotated[str, arg(metavar="NAME", help_behavior_hint="(default: the first)")] = "",
    shortcut: Annotated[str, arg(metavar="NAME=SHARE", help_behavior_hint="")] = "",
    grades: Annotated[int, arg(metavar="COUNT")] = 1,
    seed: int = 0,
    certificate: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
    output: Annotated[Path | None, arg(metavar="PATH", help_behavior_hint="")] = None,
) -> None:
    """Design a training split: the smallest one found that determines a random test split.

    Writes the table as CSV, to the output or a file; what it determines, and how few combinations
    could, is said on the error stream. Its column terms says of how many training answers each
    held-out answer is the sum. With grades there are as many test splits, and the column noise_gain
    says by how much a held-out answer amplifies noise in training answers.

    For example: partwhole design --factors shape:3 colour:8 size:2 --require-order 2 --budget 40
    --output split.csv

    Args:
        factors: The factors with their numbers of values: shape:3 colour:8.
        require_order: How many factors may interact in learners that training has to determine.
        budget: Largest number of training combinations.
        test_share: Share of all combinations that is held out.
        target: The factor that is asked for.
        shortcut: Another factor that goes with the target in this share of training: colour=0.9.
        grades: Test splits test-1, test-2 and so on, each with provably more noise than the last.
        certificate: Write the proof there as JSON: for each held-out combination the training
            combinations and whole weights of which it is the sum.
        seed: Seed of the reference and of what is held out.
        output: Write the table there, in place of the standard output (or a dash).
    """
    from partwhole.audit.design import design_split
    from partwhole.audit.outputs.files import check_outputs, write_all

    require(factors, "a design needs factors", "none", "use --factors shape:3 colour:8")
    # A dash is the standard output, to which the table is written without a file anyway.
    output = None if output == Path("-") else output
    outputs = [("--output", output), ("--certificate", certificate)]
    check_outputs([(option, path) for option, path in outputs if path is not None], [])
    split_design = design_split(
        _factors(factors),
        require_order=require_order,
        budget=budget,
        test_share=test_share,
        target=target or None,
        shortcut=_shortcut(shortcut),
        grades=grades,
        seed=seed,
    )
    text = split_design.to_frame().to_csv(index=False)
    texts = {} if output is None else {output: text}
    if certificate is not None:
        texts[certificate] = json.dumps(split_design.certificate()) + "\n"
    write_all(texts)
    if output is None:
        print(text, end="")
    print(split_design.describe(), file=sys.stderr)
    if output is not None:
        table, order = str(output), split_design.order
        audit = ["partwhole", "audit", table, "--components", *split_design.names]
        audit += ["--target", "target", "--split", "split"]
        audit += ["--require-order", str(order)] if order > 1 else []
        print(f"To audit it: {shlex.join(audit)}", file=sys.stderr)


def _factors(entries: tuple[str, ...]) -> dict[str, int]:
    """Return the number of values of each factor."""
    factors = {}
    for entry in entries:
        name, _, count = entry.rpartition(":")
        rule = "factors are a name and a count, such as shape:3"
        require(name and count.isdecimal(), rule, repr(entry), "write NAME:COUNT")
        rule = "each factor has a name of its own"
        require(name not in factors, rule, f"{name!r} twice", "rename one of them")
        factors[name] = int(count)
    return factors


def _shortcut(entry: str) -> dict[str, float] | None:
    if not entry:
        return None
    name, _, share = entry.rpartition("=")
    try:
        return {name: float(share)}
    except ValueError:
        raise InputError(
            f"a shortcut is a factor and a share, such as colour=0.9; got {entry!r}; write "
            "NAME=SHARE"
        ) from None
