"""The command `partwhole`: list and run studies, write the report, tend the store, cite."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro
from tyro.conf import Positional, arg

from partwhole import __version__
from partwhole._checks import InputError

if TYPE_CHECKING:
    from concurrent.futures import Executor

Preset = Literal["quick", "laptop", "paper"]
Store = Annotated[
    Path | None,
    arg(help="Folder that keeps finished cells; by default $PARTWHOLE_STORE or report/store."),
]
Workers = Annotated[int, arg(help="Processes that compute cells; 1 is this one.")]

app = tyro.extras.SubcommandApp()

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
}}"""


@app.command(name="list")
def list_() -> None:
    """List the studies and the question each asks."""
    from rich.console import Console
    from rich.table import Table

    from partwhole import studies

    names = studies.registered()
    if not names:
        print("No study is registered yet.")
        return
    table = Table("study", "question", "presets", box=None, padding=(0, 2, 0, 0))
    for name in names:
        study = studies.find(name)
        table.add_row(name, study.QUESTION, ", ".join(study.PRESETS))
    Console().print(table)


@app.command
def run(
    study: Positional[str],
    preset: Preset = "quick",
    out: Path = Path("report"),
    format: Literal["svg", "pdf", "png"] = "svg",
    store: Store = None,
    workers: Workers = 1,
) -> None:
    """Run one study: print its claims, and write its figure with the data beside it.

    Args:
        study: A name that `partwhole list` shows.
        preset: quick takes seconds, laptop minutes, paper is the published scale.
        out: Folder for the figure and the data.
        format: Kind of figure file.
    """
    from rich.console import Console
    from rich.table import Table

    from partwhole import studies

    with _executor(workers) as executor:
        result = studies.run(study, preset, executor=executor, store=store)
    path = studies.save_figure(result, out, format)
    table = Table("claim", "claimed", "found", "tolerance", "verdict", title=result.study.QUESTION)
    for claim in result.claims:
        sign = {"equal": "", "at least": "≥ ", "at most": "≤ "}[claim.relation]
        found = f"{claim.found:.4g}"
        if claim.interval:
            found += f" [{claim.interval[0]:.4g}, {claim.interval[1]:.4g}]"
        table.add_row(
            claim.statement,
            f"{sign}{claim.reference:.4g}",
            found,
            f"{claim.tolerance:.2g}",
            claim.verdict.value,
        )
    Console().print(table)
    print(f"{result.computed} cells computed, {result.read} read, {result.seconds:.1f} s")
    print(f"Figure: {path}\nData:   {path.with_name(f'{result.name}.nc')}")


@app.command
def report(
    preset: Preset = "quick",
    out: Path = Path("report"),
    store: Store = None,
    workers: Workers = 1,
) -> None:
    """Run every study and write one page with their figures, claims and verdicts.

    Args:
        preset: quick takes at most 150 seconds in all, laptop minutes a study, paper longer.
        out: Folder for the page, index.html.
    """
    from partwhole import studies

    modules = [studies.find(name) for name in studies.registered()]
    with _executor(workers) as executor:
        made = studies.write_report(modules, out, preset=preset, executor=executor, store=store)
    for entry in made.failures:
        print(f"partwhole: {entry.name} failed. {entry.why}", file=sys.stderr)
    claims = sum(len(result.claims) for result in made.results)
    print(
        f"{made.path}: {len(made.results)} of {len(modules)} studies, {claims} claims, "
        f"{made.seconds:.0f} s"
    )
    if made.failures:
        raise SystemExit(1)


@app.command(name="store")
def store_(
    action: Positional[Literal["list", "clear"]] = "list",
    study: str | None = None,
    store: Store = None,
) -> None:
    """List or clear the finished cells that are kept on disk.

    Args:
        action: list shows them by study; clear removes them.
        study: Only the cells of this study.
    """
    from partwhole import store as keeper

    root = keeper.default_root() if store is None else store
    if action == "clear":
        print(f"{keeper.clear(root, study)} cells removed from {root}")
        return
    cells = keeper.kept(root, study)
    for name in sorted({cell.study for cell in cells}):
        of = [cell for cell in cells if cell.study == name]
        size = sum(cell.size for cell in of)
        print(f"{name}: {len(of)} cells, {size / 1e6:.1f} MB, last {max(c.time for c in of)}")
    print(f"{len(cells)} cells in {root}")


@app.command
def cite() -> None:
    """Print how to cite partwhole and the works it stands on, as BibTeX."""
    print(_BIBTEX)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command; bad input is told in one sentence and ends with exit status 2."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args == ["--version"]:
        print(f"partwhole {__version__}")
        return
    try:
        app.cli(
            prog="partwhole",
            description="What will a learner do with a combination it has never seen, and why?",
            args=args or ["--help"],
            config=(tyro.conf.FlagConversionOff,),
        )
    except InputError as error:
        _leave(str(error), 2)
    except BrokenPipeError:
        # The reader of our output went away, as `head` does: leave without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        _leave(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), 2)
    except KeyboardInterrupt:
        _leave("interrupted; what was finished is kept, and the next run goes on from there", 130)


def _leave(sentence: str, status: int) -> None:
    print(f"partwhole: {sentence}", file=sys.stderr)
    raise SystemExit(status)


@contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    from partwhole.studies import spawned

    if workers == 1:
        yield None
        return
    with spawned(workers) as executor:
        yield executor
