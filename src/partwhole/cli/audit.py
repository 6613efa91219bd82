"""``partwhole audit``: will a training split support the combinations it will be tested on?"""

from __future__ import annotations

import csv
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from partwhole._checks import InputError, require
from partwhole.cli.streams import print_inert

if TYPE_CHECKING:
    from partwhole.audit import AuditReport, HoldOut

# In place of a default, for options that have none.
NONE = ""
NEEDED = "(required)"
STANDARD_INPUT = Path("-")
File = Annotated[Path | None, arg(metavar="PATH", help_behavior_hint=NONE)]
Names = Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint=NONE)]
NeededNames = Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint=NEEDED)]
Name = Annotated[str, arg(metavar="NAME", help_behavior_hint=NONE)]
TABLES = tuple(
    f".{kind}{packed}" for kind in ("csv", "tsv", "jsonl", "ndjson", "parquet")
    for packed in ("", ".gz")
)  # fmt: skip
# As in `partwhole.audit.settings.EXAMPLE`, which would take longer to import than help may.
CONFIG = """\
A TOML file with thresholds and silenced rules:
    [thresholds]
    coverage = 5
    [silence]
    shortcut = "balanced by design\""""


def audit(
    table: Annotated[
        Positional[Path | None], arg(metavar="TABLE", help_behavior_hint=NEEDED)
    ] = None,
    components: NeededNames = (),
    target: Names = (),
    split: Annotated[
        str, arg(metavar="NAME", help_behavior_hint="(required, or use --hold-out)")
    ] = "",
    train: Annotated[str, arg(metavar="NAME")] = "train",
    test: Names = (),
    hold_out: Annotated[
        Literal["rows", "combinations"] | None,
        arg(metavar="{rows,combinations}", help_behavior_hint=NONE),
    ] = None,
    share: Annotated[
        float | None, arg(metavar="FLOAT", help_behavior_hint="(with --hold-out; default: 0.2)")
    ] = None,
    seed: int = 0,
    require_order: Annotated[int, arg(metavar="K")] = 1,
    weights: Name = "",
    features: File = None,
    feature_columns: Names = (),
    kernel: File = None,
    fit: Literal["regression", "margin"] = "regression",
    target_kind: Literal["auto", "numbers", "labels"] = "auto",
    duplicates: Literal["average", "refuse"] = "average",
    noise: Annotated[str, arg(metavar="{repeats,estimate,SD}")] = "repeats",
    missing: Literal["refuse", "drop", "value"] = "refuse",
    bins: Annotated[tuple[str, ...], arg(metavar="NAME=COUNT ...", help_behavior_hint=NONE)] = (),
    multi_hot: Names = (),
    tied: Names = (),
    ordered: Names = (),
    salience: Annotated[
        tuple[str, ...], arg(metavar="NAME=NUMBER ...", help_behavior_hint=NONE)
    ] = (),
    add: int = 5,
    config: Annotated[
        Path | None, arg(metavar="PATH", help=CONFIG, help_behavior_hint=NONE)
    ] = None,
    output: File = None,
    json: File = None,
    html: File = None,
    sarif: File = None,
    junit: File = None,
    time_limit: float = 10.0,
    fail_on: Annotated[tuple[str, ...], arg(metavar="RULE ...", help_behavior_hint=NONE)] = (),
    rules: Annotated[bool, arg(help_behavior_hint=NONE)] = False,
) -> None:
    """Audit a training split.

    Ends with 0 when it is supported, 1 when not or not decided, 2 on bad input, 3 when partwhole
    itself failed.
    Warnings alone end with 0 (but see --fail-on). With features, it ends with 1 too if what is
    predicted from them is no better than guesses.

    For example: partwhole audit table.csv --components shape colour --target label --split split
    --html audit.html

    Args:
        table: A .csv, .tsv, .txt or .jsonl file, each also with .gz, or a .parquet file; at most
            512 MiB, unpacked, 5,000,000 rows and 10,000 columns. A dash reads CSV from the standard
            input.
        components: The columns that are combined, two or more.
        target: The column of the answer: numbers or labels. Without it, the report says what
            training determines.
        split: The column that assigns rows to training and test.
        train: The entry of the split column that marks training rows; of booleans, True. Without a
            table, the file of the training rows.
        test: The entries of test splits; by default every entry that does not mark training.
            Without a table, a file for each test split.
        hold_out: Instead of a split column, hold out random rows or whole combinations.
        share: The share to hold out.
        seed: Seed of the rows that are held out, and of samples.
        require_order: How many components may interact in learners that the training set has to
            support: 1 if parts add up, 2 if pairs interact. The report has the verdict at others
            too.
        weights: The column of sample weights; whole ones are how many rows a row stands for.
        features: A .npy file with a measured representation of each row, which the verdict counts.
        feature_columns: Columns with a measured representation.
        kernel: A .npy file with the similarities of all rows, in place of features.
        fit: The predicted learner: least-norm regression, or the largest margin of labels.
        target_kind: Whether the target is numbers or labels; auto takes text as labels.
        duplicates: How to treat a combination whose rows differ in their target.
        noise: How far noise may keep targets from what can be answered: as rows of a combination
            differ, an estimate from training, a standard deviation, or the share of wrong labels.
        missing: Refuse missing entries, drop their rows, or count them as a value.
        bins: Components that are numbers, in so many bins of about equal counts: age=10.
        multi_hot: Components with several values in a cell, separated by bars, semicolons, commas
            or spaces; each value becomes a component.
        tied: Components with a shared vocabulary: a value counts the same in any of them. Several
            such groups: verb1+verb2 place1+place2.
        ordered: Components whose values have an order, as numbers or in a list: age
            size=small,medium,large. Near values are then alike to predicted learners. A value with
            a comma is in double quotes.
        salience: How salient components are, 1 by default: colour=3.
        add: Largest number of combinations to recommend for training, in about 10 seconds.
        output: Write each test row as CSV: determined or not, why, and what would help.
        json: Write the report as JSON.
        html: Write the report as a page.
        sarif: Write the findings as SARIF 2.1.0, for build servers.
        junit: Write the rules as JUnit test cases, for build servers.
        time_limit: Seconds of processor time for each test split; what is not decided then is left
            undecided, and said.
        fail_on: Rules of which a warning ends with 1 too, such as shortcut and not-held-out.
        rules: Print the rules with their thresholds, without an audit.
    """
    from partwhole.audit import Settings
    from partwhole.audit.outputs.lines import one_line
    from partwhole.audit.rules import RULES
    from partwhole.audit.settings import require_rules

    settings = Settings() if config is None else Settings.load(config)
    require_rules(fail_on, RULES)
    if rules:
        from partwhole.audit.outputs.rule_table import rule_table

        print(rule_table(settings), end="")
        return
    if table is None:
        _require_both(train, test, "--split" if split else "--hold-out" if hold_out else "")
    tables = {} if table or split or hold_out else _tables(train, test)
    require(
        table is not None or tables,
        "an audit needs a table",
        "none",
        "name a .csv, .tsv, .txt, .jsonl or .parquet file, or one in --train and others in --test",
    )
    require(components, "an audit needs the combined columns", "none", "use --components")
    require(
        not (split and hold_out),
        "a split is a column or a rule",
        "both",
        "leave out --split or --hold-out",
    )
    require(
        split or hold_out or tables,
        "an audit needs a split",
        "none",
        "use --split or --hold-out; or name files in --train and --test, and no table",
    )
    require(
        share is None or hold_out,
        "--share applies only to --hold-out",
        f"--share {share} and a split column",
        "leave it out, or use --hold-out in place of --split",
    )
    require(
        features is None or not feature_columns,
        "features are a file or columns",
        "both",
        "leave out --features or --feature-columns",
    )
    outputs = {
        "--output": output, "--json": json, "--html": html, "--sarif": sarif, "--junit": junit,
    }  # fmt: skip
    named = {f"the table {name!r}": path for name, path in tables.items()}
    others = {"--features": features, "--kernel": kernel, "--config": config}
    inputs = (named or {"the table": None if table == STANDARD_INPUT else table}) | others
    files = _checked(outputs, inputs)
    try:
        report = _audited(
            tables or table,
            components=list(components),
            target=list(target) or None,
            split=_hold_out(hold_out, 0.2 if share is None else share, seed)
            if hold_out
            else split or None,
            train="train" if tables else train,
            test=None if tables else list(test) or None,
            require_order=require_order,
            weights=weights or None,
            features=list(feature_columns) or features,
            kernel=kernel,
            fit=fit,
            target_kind=target_kind,
            duplicates=duplicates,
            noise=_noise(noise),
            missing=missing,
            bins=_bins(bins),
            multi_hot=multi_hot,
            tied=_tied(tied),
            ordered=_ordered(ordered),
            salience=_saliences(salience),
            add=add,
            settings=settings,
            time_limit=time_limit,
            seed=seed,
        )
        report = _with_use_of_noise(report, noise)
        failing = report.warnings_of(fail_on)
        _write(report, files, fail_on, time_limit)
    except KeyboardInterrupt:
        print("partwhole: interrupted; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None
    written = [f"{option.removeprefix('--').upper()}: {path}\n" for option, path in files.items()]
    print_inert(report.to_text() + "".join(written))
    for item in failing:
        print_inert(f"Fails (--fail-on {item.rule}): {one_line(item.message)}\n")
    if report.verdict != "supported" or failing:
        raise SystemExit(1)


def _checked(outputs: dict[str, Path | None], inputs: dict[str, Path | None]) -> dict[str, Path]:
    """Return the requested outputs, after a check that all of them can be written."""
    from partwhole.audit.outputs.files import check_outputs

    files = {option: path for option, path in outputs.items() if path is not None}
    check_outputs(
        list(files.items()), [(name, path) for name, path in inputs.items() if path is not None]
    )
    return files


def _noise(text: str) -> Literal["repeats", "estimate"] | float:
    if text == "repeats" or text == "estimate":
        return text
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"noise is repeats, estimate, a standard deviation or a share of labels; got {text!r}; "
            "write such as 0.1"
        ) from None


def _with_use_of_noise(report: AuditReport, noise: str) -> AuditReport:
    """Return the report with a remark on noise that was given and is not used."""
    if noise == "repeats" or report.table.has_target:
        return report
    remark = f"--noise {noise} is not used: it is the noise in targets, and there is none."
    table = replace(report.table, remarks=(*report.table.remarks, remark))
    return replace(report, table=table)


def _bins(entries: tuple[str, ...]) -> dict[str, int]:
    """Return the number of bins of each component."""
    bins = {}
    for entry in entries:
        name, _, count = entry.rpartition("=")
        rule = "bins are a component and a number, such as age=10"
        require(name and count.isdecimal(), rule, repr(entry), "write NAME=COUNT")
        _require_new(name, bins, "--bins")
        bins[name] = int(count)
    return bins


def _tied(entries: tuple[str, ...]) -> list[list[str]]:
    """Return the groups of components with a shared vocabulary."""
    if any("+" in entry for entry in entries):
        return [entry.split("+") for entry in entries]
    return [list(entries)] if entries else []


def _ordered(entries: tuple[str, ...]) -> dict[str, list[str] | None]:
    """Return the values of each ordered component in their order, None for numbers."""
    ordered = {}
    for entry in entries:
        name, sign, values = entry.partition("=")
        rule = "ordered components are numbers, or have their values in order: size=small,large"
        require(name and bool(values) == bool(sign), rule, repr(entry), "write NAME=VALUE,VALUE")
        _require_new(name, ordered, "--ordered")
        # A value with a comma is in quotes.
        ordered[name] = next(csv.reader([values])) if sign else None
    return ordered


def _saliences(entries: tuple[str, ...]) -> dict[str, float] | None:
    """Return the salience of each named component."""
    saliences = {}
    for entry in entries:
        name, _, number = entry.rpartition("=")
        _require_new(name, saliences, "--salience")
        try:
            saliences[name] = float(number)
        except ValueError:
            name = ""
        rule = "saliences are a component and a number, such as colour=3"
        require(name, rule, repr(entry), "write NAME=NUMBER")
    return saliences or None


def _require_new(name: str, earlier: Collection[str], option: str) -> None:
    """Refuse a component that an option names a second time."""
    rule = f"{option} names each component once"
    require(name not in earlier, rule, f"{name!r} twice", "leave out one of them")


def _hold_out(unit: Literal["rows", "combinations"], share: float, seed: int) -> HoldOut:
    from partwhole.audit import HoldOut

    return HoldOut(unit, share, seed)


def _require_both(train: str, test: tuple[str, ...], assigned: str) -> None:
    """Refuse files of training without those of test, or beside another split."""
    files = [name for name in (train, *test) if Path(name).name.lower().endswith(TABLES)]
    require(
        not (files and assigned),
        "files in --train and --test are the split",
        f"{' and '.join(files)}, and {assigned}",
        f"leave out {assigned}, or name one table",
    )
    rule = "without a table, --train and --test name files"
    if assigned:
        return
    require(
        not test or train != "train",
        rule,
        f"--test {' '.join(test)} without --train",
        "name the file of the training rows in --train",
    )
    require(
        test or train == "train",
        rule,
        f"--train {train} without --test",
        "name a file for each test split in --test",
    )
    paths = [Path(name).resolve() for name in (train, *test)] if test else []
    repeated = next((name for name, path in zip((train, *test), paths, strict=False)
                     if paths.count(path) > 1), None)  # fmt: skip
    require(
        repeated is None,
        "a file has the rows of training or of one test split",
        f"{repeated} more than once",
        "name it once",
    )


def _tables(train: str, test: tuple[str, ...]) -> dict[str, Path]:
    """Return the files of training and of the test splits, each by its name."""
    if not test:
        return {}
    names = ["test"] if len(test) == 1 else [Path(name).name for name in test]
    names = names if len({"train", *names}) > len(names) else list(test)
    return {"train": Path(train), **dict(zip(names, map(Path, test), strict=True))}


def _audited(table: Path | dict[str, Path] | None, **options) -> AuditReport:
    from partwhole.audit import audit_split

    if table != STANDARD_INPUT:
        return audit_split(table, **options)
    with TemporaryDirectory() as folder:
        path = Path(folder, "standard-input.csv")
        path.write_bytes(sys.stdin.buffer.read())
        report = audit_split(path, **options)
        # Build servers are not to look for a file that is gone.
        return replace(report, table=replace(report.table, files=()))


def _write(
    report: AuditReport, files: dict[str, Path], fail_on: Sequence[str], time_limit: float
) -> None:
    """Write the files after all of them have been rendered."""
    from partwhole.audit.outputs.files import write_all

    forms = {
        "--output": lambda: report.rows_to_frame(time_limit=time_limit).to_csv(
            index=False, float_format="%.6g"
        ),
        "--json": report.to_json,
        "--html": lambda: report.to_html(fail_on=fail_on),
        "--sarif": lambda: report.to_sarif(fail_on=fail_on),
        "--junit": lambda: report.to_junit(fail_on=fail_on),
    }
    write_all({path: forms[option]() for option, path in files.items()})
