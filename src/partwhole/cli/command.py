"""The command `partwhole`: audit, list and run studies, write the report, tend the store, cite."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from tyro.conf import Positional, arg

from partwhole import __version__
from partwhole._checks import InputError, require
from partwhole._extras import MissingExtraError
from partwhole.cli.audit import audit
from partwhole.cli.streams import inert, let_go

if TYPE_CHECKING:
    from concurrent.futures import Executor

Preset = Literal["quick", "laptop", "paper", "mnist"]
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

BAD_INPUT, OWN_FAILURE, READER_LEFT = 2, 3, 141

app = tyro.extras.SubcommandApp()
app.command(audit)

_BIBTEX = f"""\
@software{{partwhole,
  title   = {{partwhole: what a learner does with unseen combinations of familiar parts}},
  author  = {{{{The partwhole developers}}}},
  version = {{{__version__}}},
  year    = {{2026}},
  license = {{Apache-2.0}}
}}

@inproceedings{{lippl2025compositional,
  title     = {{When does compositional structure yield compositional generalization?
               A kernel theory}},
  author    = {{Lippl, Samuel and Stachenfeld, Kim}},
  booktitle = {{International Conference on Learning Representations}},
  year      = {{2025}},
  eprint    = {{2405.16391}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{yang2025swing,
  title     = {{Swing-by Dynamics in Concept Learning and Compositional Generalization}},
  author    = {{Yang, Yongyi and Park, Core Francisco and Lubana, Ekdeep Singh and Okawa, Maya
               and Hu, Wei and Tanaka, Hidenori}},
  booktitle = {{International Conference on Learning Representations}},
  year      = {{2025}},
  eprint    = {{2410.08309}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{lippl2024inductive,
  title     = {{Inductive biases of multi-task learning and finetuning: multiple regimes of
               feature reuse}},
  author    = {{Lippl, Samuel and Lindsey, Jack W.}},
  booktitle = {{Advances in Neural Information Processing Systems}},
  year      = {{2024}},
  eprint    = {{2310.02396}},
  archivePrefix = {{arXiv}}
}}"""


@app.command(name="list")
def list_() -> None:
    """List the studies and the question each asks."""
    from textwrap import fill

    from partwhole import study

    declarations = study.declarations()
    if not declarations:
        print("No study is registered; install partwhole-studies for those of published claims.")
    for name, its in declarations.items():
        question = fill(its.question, 76, initial_indent="    ", subsequent_indent="    ")
        print(f"{name}\n{question}")


@app.command
def run(
    study: Annotated[Positional[str], arg(metavar="STUDY")],
    preset: Preset = "quick",
    out: Annotated[Path, arg(metavar="PATH")] = Path("report"),
    format: Literal["svg", "pdf", "png"] = "svg",
    store: Store = None,
    workers: Workers = 1,
    data: Data = None,
    keep: bool = False,
) -> None:
    """Run one study: print its claims, and write its figure with the data beside it.

    Args:
        study: A name that `partwhole list` shows, or its last part; or the file of a study of
            your own, which ends with .py.
        preset: quick takes seconds, laptop minutes, paper is the published scale; mnist takes
            hours on the published images, where a study has it.
        out: Folder for the figure and the data.
        format: Kind of figure file.
        keep: Also store the result in the study's package, for reports to show.
    """
    from rich.console import Console
    from rich.table import Table

    from partwhole import study as frame

    module = frame.find(study)
    frame.configurations(module, preset)
    _writable(out, "the folder for the figure", "name another with --out")
    _check_store(store, [module], preset)
    with _named(data), _executor(workers) as executor:
        result = frame.run(module, preset, executor=executor, store=store)
    path = frame.save_figure(result, out, format)
    table = Table(
        "claim", "claimed", "found", "tolerance", "verdict", title=result.declaration.question
    )
    for claim in result.claims:
        sign = "" if claim.relation == "equal" else f"{claim.relation} "
        found = f"{claim.found:.4g}"
        if claim.interval:
            found += f" [{claim.interval[0]:.4g}, {claim.interval[1]:.4g}]"
        table.add_row(
            claim.statement,
            f"{sign}{claim.reference:.4g} {claim.unit}".rstrip(),
            found,
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
        print(f"Stored: {frame.keep(result)}")
    print(f"Figure: {path}\nData:   {path.with_name(f'{result.name}.nc')}")


@app.command
def report(
    preset: Preset = "quick",
    out: Annotated[Path, arg(metavar="PATH")] = Path("report"),
    store: Store = None,
    workers: Workers = 1,
    data: Data = None,
) -> None:
    """Run every study and write the pages of a report: findings, papers, studies and a ledger.

    Args:
        preset: quick takes minutes in all, laptop minutes a study, paper longer; mnist runs the
            studies that have it on the published images, and names the others.
        out: Folder for the pages; the first is index.html.
    """
    from partwhole import study

    names = list(study.registered())
    remedy = "install partwhole-studies for those of published claims"
    require(bool(names), "a report shows the registered studies", "none", remedy)
    _writable(out, "the folder for the page", "name another with --out")
    _check_store(store, names, preset)
    with _named(data), _executor(workers) as executor:
        made = study.write_report(names, out, preset=preset, executor=executor, store=store)
    for entry in made.failures:
        print(f"partwhole: {entry.name} failed. {entry.why}", file=sys.stderr)
    told = study.tally(claim for result in made.results for claim in result.claims)
    left = len(names) - len(made.results)
    if left:
        told += f"; {left} {'study' if left == 1 else 'studies'} without a result"
    print(f"{made.path}: {told}; {made.seconds:.0f} s. Open it in a browser.")
    if made.path.parent != out:
        print(f"{out / 'index.html'} is as it was: fewer studies had failed on it.")
    if made.failures:
        raise SystemExit(1)


@app.command(name="store")
def store_(
    action: Positional[Literal["list", "clear"]] = "list",
    study: Annotated[str | None, arg(metavar="STUDY")] = None,
    store: Store = None,
) -> None:
    """List or clear the finished cells that are kept on disk.

    Args:
        action: list shows them by study; clear removes them.
        study: Only the cells of this study.
    """
    from partwhole import store as keeper

    root = _check_store(store, writes=action == "clear")
    if study is not None:
        from partwhole.study import full_name

        study = full_name(study)
    if action == "clear":
        print(f"{_cells(keeper.clear(root, study))} removed from {root}")
        return
    cells = keeper.kept(root, study)
    for name in sorted({cell.study for cell in cells}):
        of = [cell for cell in cells if cell.study == name]
        size = sum(cell.size for cell in of)
        print(f"{name}: {_cells(len(of))}, {size / 1e6:.1f} MB, last {max(c.time for c in of)}")
    print(f"{_cells(len(cells))} in {root}")


@app.command
def cite() -> None:
    """Print how to cite partwhole and the works it stands on, as BibTeX."""
    print(_BIBTEX)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command.

    The process ends with 0 when all is well; 1 when an audited split is unsupported, or a study
    of a report failed; 2 on bad input, told in one sentence; 3 when partwhole itself failed, so
    that nothing can be concluded; 130 after an interrupt. A reader of the output that leaves
    early changes no verdict: an audit keeps its status, other commands end with 141.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    if args == ["--version"]:
        print(f"partwhole {__version__}")
        return
    try:
        app.cli(
            prog="partwhole",
            description="What will a learner do with a combination it has never seen, and why?",
            args=args or ["--help"],
            config=(tyro.conf.FlagCreatePairsOff,),
        )
        sys.stdout.flush()
    except (InputError, MissingExtraError) as error:
        _leave(str(error), BAD_INPUT)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: leave without a word.
        let_go()
        raise SystemExit(READER_LEFT) from None
    except OSError as error:
        told = error.strerror or str(error)
        _leave(f"{told}: {error.filename}" if error.filename else told, BAD_INPUT)
    except KeyboardInterrupt:
        _leave("interrupted; what was finished is kept, and the next run goes on from there", 130)
    except Exception as error:
        _leave(_own_failure(error), OWN_FAILURE)


def _own_failure(error: Exception) -> str:
    """Say that partwhole failed, with what whoever mends it has to know."""
    if isinstance(error, MemoryError):
        return (
            "the memory of this machine did not suffice, so nothing can be concluded; give fewer "
            "rows, columns or labels"
        )
    place = extract_tb(error.__traceback__)[-1]
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"a fault of partwhole, so nothing can be concluded: {what[:300]} "
        f"({Path(place.filename).name}, line {place.lineno}); report it, with the command and "
        "its input"
    )


def _leave(sentence: str, status: int) -> None:
    with suppress(OSError, ValueError):  # where nobody listens the status says it
        print(inert(f"partwhole: {sentence}"), file=sys.stderr, flush=True)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    raise SystemExit(status)


def _cells(count: int) -> str:
    return f"{count} cell{'s' * (count != 1)}"


def _writable(folder: Path, what: str, remedy: str) -> None:
    """Refuse a folder that can't be made or written to, before anything is computed."""
    there = folder.absolute()
    while not os.path.lexists(there):
        there = there.parent
    try:
        fit = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
        with TemporaryFile(dir=there):  # what the system says of rights is not always so
            pass
    except OSError:
        fit = False
    require(fit, f"{what} must be writable", folder, remedy)


def _check_store(
    store: Path | None,
    studies: Sequence[ModuleType | str] = (),
    preset: str = "",
    *,
    writes: bool = True,
) -> Path:
    """Refuse a store that can't be written to, unless it has every cell that is wanted."""
    from partwhole.store import default_root

    root = default_root() if store is None else store
    remedy = "name another with --store"
    require(not root.is_file(), "a store is a folder", f"the file {root}", remedy)
    try:
        if writes:
            _writable(root, "the store", remedy)
    except InputError:
        if not (studies and _has_all(root, studies, preset)):
            raise
    return root


def _has_all(root: Path, studies: Sequence[ModuleType | str], preset: str) -> bool:
    from partwhole.store import holds
    from partwhole.study import configurations, find, short_name
    from partwhole.study.source import fingerprint

    modules = [find(study) if isinstance(study, str) else study for study in studies]
    return all(
        holds(short_name(module), config, source=fingerprint(module), root=root)
        for module in modules
        if preset in module.PRESETS
        for config in configurations(module, preset)
    )


@contextmanager
def _named(data: Path | None) -> Iterator[None]:
    """Name the folder of data to this process and to those it starts, for as long as it runs."""
    from partwhole.tasks.images._files import VARIABLE

    if data is None:
        yield
        return
    before = os.environ.get(VARIABLE)
    require(data.is_dir(), "data lie in a folder that is there", data, "name another with --data")
    os.environ[VARIABLE] = str(data.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    from partwhole.study import spawned

    if workers == 1:
        yield None
        return
    with spawned(workers) as executor:
        yield executor
