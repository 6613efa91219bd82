"""The command `partwhole`: audit, list and run studies, write the report, tend the store, cite."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from functools import wraps
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from tyro.conf import Positional, arg

from partwhole import __version__
from partwhole._checks import InputError, require
from partwhole._extras import MissingExtraError, needs
from partwhole._faults import own_failure
from partwhole._lost import LostError
from partwhole.cli.atlas import atlas
from partwhole.cli.audit import audit
from partwhole.cli.cite import cite
from partwhole.cli.design import design
from partwhole.cli.explore import explore
from partwhole.cli.help import in_options, unbroken
from partwhole.cli.measure import measure
from partwhole.cli.refusals import refusal
from partwhole.cli.status import status
from partwhole.cli.streams import discard_output, inert

if TYPE_CHECKING:
    from concurrent.futures import Executor

Preset = Literal["quick", "laptop", "paper", "mnist", "unclipped"]
Data = Annotated[
    Path | None,
    arg(
        metavar="FOLDER",
        help="Folder of data that is not shipped, for the preset mnist; by default "
        "$PARTWHOLE_DATA. Nothing is downloaded.",
    ),
]
Store = Annotated[
    Path | None,
    arg(
        metavar="PATH",
        help="Folder that keeps finished cells; by default $PARTWHOLE_STORE or report/store.",
    ),
]
Workers = Annotated[int, arg(help="Processes that compute cells; 1 is this one.")]
On = Annotated[
    str | None,
    arg(
        metavar="ADDRESS",
        help="Cluster that computes cells: local:N, dask://HOST:PORT or slurm:FILE.toml.",
    ),
]

MISSING, BAD_INPUT, OWN_FAILURE, READER_LEFT = 1, 2, 3, 141

app = tyro.extras.SubcommandApp()
COMMANDS: dict[str, Callable[..., None]] = {}


def _command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command, which is called when its arguments have been read."""

    def registered(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def read(*values: Any, **named: Any) -> Any:
            return lambda: command(*values, **named)

        COMMANDS[name] = command
        app.command(name=name)(unbroken(read))
        return command

    return registered


for command in (audit, measure, design, atlas, explore, status, cite):
    _command(command.__name__)(command)


@_command("list")
def list_() -> None:
    """List the studies with their questions."""
    from textwrap import fill

    from partwhole.study.registry import declarations

    declared = declarations()
    if not declared:
        print("No study is registered; install partwhole-studies for those of published claims.")
    for name, declaration in declared.items():
        question = fill(declaration.question, 76, initial_indent="    ", subsequent_indent="    ")
        print(f"{name}\n{question}")


@_command("run")
def run(
    study: Annotated[Positional[str], arg(metavar="STUDY")],
    preset: Preset = "quick",
    out: Annotated[Path, arg(metavar="PATH")] = Path("report"),
    format: Literal["svg", "pdf", "png"] = "svg",
    store: Store = None,
    workers: Workers = 1,
    on: On = None,
    dry_run: bool = False,
    data: Data = None,
    keep: bool = False,
) -> None:
    """Run one study: print its claims, and write its figure with the data beside it.

    Args:
        study: A name that `partwhole list` shows, or its last part; or the file of your own
            study, which ends with .py.
        preset: quick takes seconds, laptop minutes, paper is the published scale, and
            unclipped the same without a limit on gradients; mnist takes hours on the published
            images. The last two are of studies that have them.
        out: Folder for the figure and the data.
        format: Format of the figure.
        dry_run: Print the job script of --on slurm:FILE.toml, and submit nothing.
        keep: Also store the result in the study's package, for use in reports.
    """
    from rich.console import Console
    from rich.table import Table

    needs("plot", "partwhole run")
    from partwhole.study import run as run_study
    from partwhole.study.evidence import keep as kept
    from partwhole.study.execution import configurations
    from partwhole.study.figure import save_figure
    from partwhole.study.registry import find

    module = find(study)
    configurations(module, preset)
    if dry_run:
        from partwhole.cli.status import job_script

        print(job_script(on))
        return
    _require_writable(out, "the folder for the figure", "name another with --out")
    _check_store(store, [module], preset)
    with _data_folder(data), _executor(workers, on) as executor:
        result = run_study(module, preset, executor=executor, store=store)
    path = save_figure(result, out, format)
    table = Table(
        "claim", "claimed", "measured", "tolerance", "verdict", title=result.declaration.question
    )
    for claim in result.claims:
        sign = "" if claim.relation == "equal" else f"{claim.relation} "
        value = f"{claim.value:.4g}"
        if claim.interval:
            value += f" [{claim.interval[0]:.4g}, {claim.interval[1]:.4g}]"
        table.add_row(
            claim.statement,
            f"{sign}{claim.reference:.4g} {claim.unit}".rstrip(),
            value,
            f"{claim.tolerance:.2g}",
            claim.verdict.value,
        )
    Console().print(result.findings.answer, highlight=False, markup=False)
    Console().print(table)
    for check in result.findings.checks:
        if not check.passed:
            print(f"A numerical check failed: {check.says}, {check.largest:.2g}, "
                  f"above {check.at_most:.2g}")  # fmt: skip
    print(f"{_cells(result.computed)} computed, {result.read} read, {result.seconds:.1f} s")
    if keep:
        print(f"Stored: {kept(result)}")
    print(f"Figure: {path}\nData:   {path.with_name(f'{result.name}.nc')}")


@_command("report")
def report(
    preset: Preset = "quick",
    out: Annotated[Path, arg(metavar="PATH")] = Path("report"),
    store: Store = None,
    workers: Workers = 1,
    on: On = None,
    data: Data = None,
) -> None:
    """Run every study and write the pages of a report: findings, papers, studies and a ledger.

    Args:
        preset: quick takes minutes in all, and shows the results of longer presets that are stored;
            laptop takes minutes a study, paper longer; mnist runs the studies that have it on the
            published images, and names the others, as unclipped does.
        out: Folder for the pages; the first is index.html.
    """
    needs("plot", "partwhole report")
    from partwhole.study.claim import tally
    from partwhole.study.registry import registered
    from partwhole.study.report import write_report

    names = list(registered())
    remedy = "install partwhole-studies for those of published claims"
    require(bool(names), "a report shows the registered studies", "none", remedy)
    _require_writable(out, "the folder for the page", "name another with --out")
    _check_store(store, names, preset)
    with _data_folder(data), _executor(workers, on) as executor:
        written = write_report(names, out, preset=preset, executor=executor, store=store)
    for entry in written.failures:
        print(f"partwhole: {entry.name} failed. {entry.reason}", file=sys.stderr)
    summary = tally(claim for result in written.results for claim in result.claims)
    missing = len(names) - len(written.results)
    if missing:
        summary += f"; {missing} {'study' if missing == 1 else 'studies'} without a result"
    print(f"{written.path}: {summary}; {written.seconds:.0f} s. Open it in a browser.")
    if written.path.parent != out:
        print(f"{out / 'index.html'} is unchanged: it has fewer failed studies.")
    if written.failures:
        raise SystemExit(1)


@_command("store")
def store_(
    action: Positional[Literal["list", "clear"]] = "list",
    study: Annotated[str | None, arg(metavar="STUDY")] = None,
    store: Store = None,
) -> None:
    """List or clear the finished cells on disk.

    Args:
        action: list shows them by study; clear removes them.
        study: Only the cells of this study.
    """
    from partwhole.store import clear, scratch_folders, stored_cells

    root = _check_store(store, writes=action == "clear")
    if study is not None:
        from partwhole.study.registry import full_name

        study = full_name(study)
    if action == "clear":
        print(f"{_cells(clear(root, study))} removed from {root}")
        return
    cells = stored_cells(root, study)
    for name in sorted({cell.study for cell in cells}):
        group = [cell for cell in cells if cell.study == name]
        size, last = sum(cell.size for cell in group), max(cell.time for cell in group)
        print(f"{name}: {_cells(len(group))}, {size / 1e6:.1f} MB, last {last}")
    unfinished = scratch_folders(root, study)
    for name in sorted({folder.study for folder in unfinished}):
        group = [folder for folder in unfinished if folder.study == name]
        size = sum(folder.size for folder in group)
        print(f"{name}: {_cells(len(group))} not finished, {size / 1e6:.1f} MB of checkpoints")
    print(f"{_cells(len(cells))} in {root}")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command.

    The exit code is 0 for success; 1 if an audited split is unsupported, a study of a report
    failed, or a study lacks cells; 2 on bad input, reported in one sentence; 3 if partwhole itself
    failed, so that nothing can be concluded; 130 after an interrupt. If the reader of the output
    closes it early, an audit keeps its exit code and other commands end with 141.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the calling process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if args == ["--version"]:
        print(f"partwhole {__version__}")
        return
    try:
        _read(args or ["--help"])()
        sys.stdout.flush()
    except (InputError, MissingExtraError) as error:
        command = COMMANDS.get(args[0])
        _leave(in_options(str(error), command) if command else str(error), BAD_INPUT)
    except LostError as error:
        _leave(str(error), MISSING)
    except BrokenPipeError:
        # The reader of the output closed it, as `head` does: no message.
        discard_output()
        raise SystemExit(READER_LEFT) from None
    except OSError as error:
        text = error.strerror or str(error)
        _leave(f"{text}: {error.filename}" if error.filename else text, BAD_INPUT)
    except KeyboardInterrupt:
        _leave("interrupted; finished cells are stored, and the next run continues from them", 130)
    except Exception as error:
        _leave(own_failure(error), OWN_FAILURE)


def _read(args: list[str]) -> Callable[[], None]:
    """Return the command with its arguments; raise a sentence where the parser prints a box."""
    said = StringIO()
    try:
        with redirect_stderr(said):
            return app.cli(
                prog="partwhole",
                description="What will a learner do with a combination it has never seen, and why?",
                args=args,
                config=(tyro.conf.FlagCreatePairsOff,),
            )
    except SystemExit as left:
        if not left.code:  # after the help
            raise
    raise InputError(refusal(args, COMMANDS, said.getvalue()))


def _leave(sentence: str, status: int) -> None:
    with suppress(OSError, ValueError):  # with closed streams the exit code still reports it
        print(inert(f"partwhole: {sentence}"), file=sys.stderr, flush=True)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    raise SystemExit(status)


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"


def _require_writable(folder: Path, name: str, remedy: str) -> None:
    """Refuse a folder that can't be created or written to, before any computation."""
    nearest = folder.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    try:
        writable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
        with TemporaryFile(dir=nearest):  # reported permissions are not always right
            pass
    except OSError:
        writable = False
    require(writable, f"{name} must be writable", folder, remedy)


def _check_store(
    store: Path | None,
    studies: Sequence[ModuleType | str] = (),
    preset: str = "",
    *,
    writes: bool = True,
) -> Path:
    """Refuse a store that can't be written to, unless it has all cells of the studies."""
    from partwhole.store import default_root

    root = default_root() if store is None else store
    remedy = "name another with --store"
    require(not root.is_file(), "the store is a folder", f"the file {root}", remedy)
    try:
        if writes:
            _require_writable(root, "the store", remedy)
    except InputError:
        if not (studies and _has_all(root, studies, preset)):
            raise
    return root


def _has_all(root: Path, studies: Sequence[ModuleType | str], preset: str) -> bool:
    from partwhole.store import holds
    from partwhole.study.execution import configurations
    from partwhole.study.registry import find, short_name
    from partwhole.study.source import fingerprint

    modules = [find(study) if isinstance(study, str) else study for study in studies]
    return all(
        holds(short_name(module), config, source=fingerprint(module), root=root)
        for module in modules
        if preset in module.PRESETS
        for config in configurations(module, preset)
    )


@contextmanager
def _data_folder(data: Path | None) -> Iterator[None]:
    """Set the folder of data for this process and its child processes, within the context."""
    from partwhole.tasks.images._files import VARIABLE

    if data is None:
        yield
        return
    before = os.environ.get(VARIABLE)
    require(data.is_dir(), "the folder of data exists", data, "name another with --data")
    os.environ[VARIABLE] = str(data.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@contextmanager
def _executor(workers: int, on: str | None) -> Iterator[Executor | None]:
    from partwhole.study.execution import spawned

    if on is not None:
        require(
            workers == 1,
            "cells are computed by workers of this command, or on a cluster",
            f"--workers {workers} and --on {on}",
            "leave one of them out; --on local:N has processes of this machine",
        )
        from partwhole.study.clusters import cluster_at

        with cluster_at(on) as cluster:
            yield cluster
        return
    if workers == 1:
        yield None
        return
    with spawned(workers) as executor:
        yield executor
