"""Arguments that the parser refuses: one sentence on standard error, and status 2."""

from __future__ import annotations

import pytest

from partwhole.cli import main
from partwhole.cli.command import COMMANDS
from partwhole.cli.refusals import refusal


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            "audit x.csv --require-order two",
            "--require-order is a whole number; got 'two'; write such as --require-order 1",
        ),
        (
            "audit x.csv --require_order=two",
            "--require-order is a whole number; got 'two'; write such as --require-order 1",
        ),
        (
            "audit x.csv --missing foo",
            "--missing is refuse, drop or value; got 'foo'; name one of them",
        ),
        ("audit x.csv --missing dorp", "--missing is refuse, drop or value; got 'dorp'; did you "
         "mean drop?"),
        ("audit x.csv --share half", "--share is a number; got 'half'; write such as --share 0.5"),
        (
            "audit x.csv --compnents a b",
            "options are those of partwhole audit --help; got --compnents; did you mean "
            "--components?",
        ),
        ("audit x.csv -q", "options are those of partwhole audit --help; got -q; see its help"),
        ("audit x.csv --time-limit", "--time-limit needs a value; got none; write --time-limit "
         "0.5"),
        ("audit x.csv --rules=3", "--rules takes no value; got '3'; write --rules alone, "
         "or leave it out"),
        (
            "audit x.csv y.csv",
            "partwhole audit takes TABLE; got 'y.csv' besides; put the values of an option "
            "directly after it",
        ),
        ("run", "partwhole run needs STUDY; got none; see partwhole run --help"),
        ("store empty", "ACTION is list or clear; got 'empty'; name one of them"),
        (
            "audti x.csv",
            "the commands of partwhole are audit, measure, design, atlas, explore, status, cite, "
            "list, run, report, store; got 'audti'; did you mean audit?",
        ),
    ],
)  # fmt: skip
def test_arguments_are_refused_in_one_sentence(capsys, args, sentence):
    with pytest.raises(SystemExit) as left:
        main(args.split())
    assert left.value.code == 2
    printed = capsys.readouterr()
    assert printed.err == f"partwhole: {sentence}\n"
    assert printed.out == ""


def test_any_other_refusal_is_a_sentence_with_the_words_of_the_parser():
    box = "╭─ Conflict ──╮\n│ not both of │\n│ these       │\n╰─────────────╯\n"
    assert refusal(["cite"], COMMANDS, box) == (
        "arguments are those of partwhole cite --help; got others (Conflict not both of these); "
        "see its help"
    )
