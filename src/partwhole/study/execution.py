"""Runs of studies: cells are computed or read, gathered, and compared with the claims."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from partwhole import __version__, store
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole._workers import WorkerLostError, Workers
from partwhole._writing import WriteError, naming
from partwhole.store import sweep
from partwhole.study.bars import Bars
from partwhole.study.claim import Claim
from partwhole.study.compiled import keep_compiled
from partwhole.study.declaration import Declaration, Findings, declared
from partwhole.study.hooks import called, seconds_of, takes_scratch
from partwhole.study.missing import CellsMissingError
from partwhole.study.registry import find, load, place_of, short_name
from partwhole.study.remote import Remote, last_lines, send_cells
from partwhole.study.source import NO_SOURCE, Source, fingerprint, source_of
from partwhole.tasks.images._files import data_folder, use_data_folder

if TYPE_CHECKING:  # processes that compute cells start in a fifth of the time without these
    import matplotlib.figure
    import pandas as pd
    import xarray as xr

Config = dict[str, Any]
Arrays = dict[str, np.ndarray]
Cells = list[tuple[Config, Arrays]]


class Study(Protocol):
    """The interface of a study module, beside the TOML file of its name with its sentences.

    `numbers` returns the numbers that its `Declaration` names. A configuration has the key "seed",
    a number, or "seeds", a list of numbers, if its cell is random. Beyond this a study may define
    what `partwhole.study.hooks` describes: `cell(config, scratch)`, `seconds(config)` and ON_GPU.
    """

    PRESETS: Mapping[str, Sequence[Config]]

    def cell(self, config: Config) -> Arrays: ...
    def gather(self, cells: Cells) -> xr.Dataset: ...
    def numbers(self, data: xr.Dataset) -> Mapping[str, Any]: ...
    def figure(self, data: xr.Dataset) -> matplotlib.figure.Figure: ...


@dataclass(frozen=True)
class Result:
    """The result of a study: its data, its claims, and the time it took.

    Parameters
    ----------
    name : str
        Name of the study.
    study : module
        The study itself.
    declaration : Declaration
        The question, the paper, and the claims without their numbers.
    preset : str
        The preset that was run.
    data : xarray.Dataset
        The dataset from `gather`. Its attributes are the study, a hash of its source, the preset,
        the configuration hash, the versions and commits that computed the cells, the version that
        gathered them, and the seeds.
    findings : Findings
        The answer, the caption, the claims and the numerical checks, with their numbers.
    seconds : float
        Duration of the run, cells read from the store included.
    computed, read : int
        Number of cells that were computed, and number that were read from the store.

    Examples
    --------
    With ``partwhole-studies`` installed:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     result = run("solvable-tasks", store=Path(folder), progress=False)
    >>> result.name, result.to_frame()["verdict"].unique().tolist()
    ('overlap.solvable_tasks', ['holds'])
    """

    name: str
    study: ModuleType
    declaration: Declaration
    preset: str
    data: xr.Dataset
    findings: Findings
    seconds: float
    computed: int
    read: int

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.findings.claims

    def to_frame(self) -> pd.DataFrame:
        """Return the claims as a table, a row for each."""
        import pandas as pd

        rows = [
            {
                "statement": claim.statement,
                "paper": claim.paper,
                "item": claim.item,
                "relation": claim.relation,
                "reference": claim.reference,
                "value": claim.value,
                "tolerance": claim.tolerance,
                "low": claim.interval[0] if claim.interval else np.nan,
                "high": claim.interval[1] if claim.interval else np.nan,
                "n": claim.n,
                "verdict": claim.verdict.value,
                "note": claim.note,
            }
            for claim in self.claims
        ]
        return pd.DataFrame(rows)


def configurations(study: ModuleType, preset: str) -> list[Config]:
    """Return the configurations of the cells of a preset, in order."""
    require(
        preset in study.PRESETS,
        f"a preset of {short_name(study)} is one of its own",
        repr(preset),
        f"choose from {', '.join(study.PRESETS)}",
    )
    return [dict(config) for config in study.PRESETS[preset]]


def configuration_hash(study: ModuleType, preset: str) -> str:
    """Return a hash of the study, its source and all configurations, 12 hexadecimal digits."""
    lines = [short_name(study), fingerprint(study)]
    lines += [store.canonical(config) for config in configurations(study, preset)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


@door
def run(
    study: str | Path | ModuleType,
    preset: str = "quick",
    *,
    executor: Executor | None = None,
    store: Path | None = None,
    progress: bool = True,
) -> Result:
    """Run a study: compute or read its cells, gather them, and compare them with its claims.

    Parameters
    ----------
    study : str, path or module
        A name that `partwhole list` shows, a study module, or its file, which ends with .py.
    preset : str, default "quick"
        A preset of the study.
    executor : concurrent.futures.Executor, default None
        Executor of the cells; None is this process, one cell after another. The result does not
        depend on it. For processes see `spawned`, for clusters `cluster_at`.
    store : Path, default None
        Folder of the store; None is `partwhole.store.default_root()`.
    progress : bool, default True
        Whether to show a bar while cells are computed.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If the study or the preset does not exist, or the study can't be imported.
    WorkerLostError
        If a cell ends its process, and so does a second attempt.
    CellsMissingError
        If cells that were sent to a cluster failed; the others are in the store.

    Examples
    --------
    With ``partwhole-studies`` installed; the second run reads every cell from the store:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         result = run("solvable-tasks", store=Path(folder), progress=False)
    ...         print(f"{result.computed} computed, {result.read} read")
    18 computed, 0 read
    0 computed, 18 read
    """
    submitted = submit(study, preset, executor=executor, store=store)
    with Bars(0 if progress else None) as bars:
        return submitted.result(bars)


def submit(
    study: str | Path | ModuleType,
    preset: str = "quick",
    *,
    executor: Executor | None = None,
    store: Path | None = None,
) -> SubmittedStudy:
    """Submit the cells of a study to an executor, and return without waiting for them.

    The arguments are those of `run`. Without an executor the cells are computed by `result`.
    """
    module = load(study) if isinstance(study, ModuleType) else find(study)
    configs = configurations(module, preset)
    sweep(short_name(module), _root(store))
    source = source_of(module)
    root, start = _root(store), time.perf_counter()
    if isinstance(executor, Remote):
        futures = send_cells(module, preset, configs, executor, root=root)
        return SubmittedStudy(module, preset, configs, None, futures, start, remote=True)
    if executor is None:
        work = partial(_obtained, module, source=source, root=root)
    else:
        work = partial(_work, place_of(module), source=source, root=root, data=data_folder())
    futures = None if executor is None else _submitted(executor, work, module, configs)
    return SubmittedStudy(module, preset, configs, work, futures, start)


def _submitted(
    executor: Executor, work: Callable[[Config], store.Cell], study: ModuleType,
    configs: list[Config],
) -> list[Future[store.Cell]]:  # fmt: skip
    """Submit cells, those first that take longest, and return their futures in order."""
    expected = [seconds_of(study, config) for config in configs]
    futures: dict[int, Future[store.Cell]] = {}
    for place in sorted(range(len(configs)), key=lambda place: -expected[place]):
        futures[place] = executor.submit(work, configs[place])
    return [futures[place] for place in range(len(configs))]


class SubmittedStudy(NamedTuple):
    """A study whose cells have been submitted."""

    module: ModuleType
    preset: str
    configs: list[Config]
    work: Callable[[Config], store.Cell] | None
    futures: list[Future[store.Cell]] | None
    start: float
    remote: bool = False

    def result(self, bars: Bars) -> Result:
        """Wait for the cells, gather them, and compare them with the claims."""
        name = short_name(self.module)
        bars.study_begins(name, len(self.configs))
        cells = self._cells(bars)
        pairs = [(config, cell.arrays) for config, cell in zip(self.configs, cells, strict=True)]
        computed = sum(cell.computed for cell in cells)
        attributes = _attributes(self.module, self.preset, self.configs, cells)
        data = self.module.gather(pairs).assign_attrs(attributes)
        declaration = declared(self.module)
        return Result(
            name,
            self.module,
            declaration,
            self.preset,
            data,
            findings_of(self.module, declaration, data),
            time.perf_counter() - self.start,
            computed,
            len(cells) - computed,
        )

    def _cells(self, bars: Bars) -> list[store.Cell]:
        if self.futures is None:
            assert self.work is not None
            cells = []
            for config in self.configs:
                cells.append(self.work(config))
                bars.cell_ended()
            return cells
        configs = dict(zip(self.futures, self.configs, strict=True))
        missing: list[tuple[Config, str]] = []
        try:
            for future in as_completed(configs):
                try:
                    self._result(future, configs[future])
                except Exception as error:
                    # Of those that were sent away the others are worth having.
                    if not self.remote or isinstance(error, WriteError):
                        raise
                    missing.append((configs[future], last_lines(error)[-1]))
                bars.cell_ended()
        except BaseException:
            self.cancel()
            raise
        if missing:
            raise CellsMissingError(short_name(self.module), len(configs), missing)
        return [future.result() for future in self.futures]

    def _result(self, future: Future[store.Cell], config: Config) -> None:
        try:
            future.result()
        except BrokenExecutor as error:  # one of the user's own, which has ended as a whole
            raise WorkerLostError(
                f"processes of an executor last until the cells are computed; got "
                f"{type(error).__name__} while {store.canonical(config)} waited; run it again with "
                "fewer workers, as cells that are whole are kept, or by spawned(workers), which "
                "replaces a process that ends"
            ) from error
        except WorkerLostError as error:
            if self.remote:
                raise
            raise WorkerLostError(
                f"a cell does not end its process; got {store.canonical(config)}, for which "
                f"{error}; use fewer workers, so that each has more memory"
            ) from error

    def cancel(self) -> None:
        """Cancel the cells that have not started."""
        for future in self.futures or ():
            future.cancel()


def findings_of(study: ModuleType, declaration: Declaration, data: xr.Dataset) -> Findings:
    """Return the findings of a study, from its data."""
    return declaration.findings(study.numbers(data), str(data.attrs["preset"]))


def spawned(workers: Count) -> Workers:
    """Return an executor of spawned (never forked) processes, which share the cores.

    A process that dies is replaced, and its cell is tried once more (`partwhole._workers.Workers`).
    """
    return Workers(workers)


def _root(root: Path | None) -> Path:
    # Absolute, because the processes of an executor may start in another folder.
    return (store.default_root() if root is None else root).absolute()


def _work(
    place: str, config: Config, *, source: Source, root: Path, data: Path | None
) -> store.Cell:
    """Compute or read a cell; a top-level function of plain data, for any kind of executor."""
    use_data_folder(data)
    return _obtained(load(place), config, source=source, root=root)


def _obtained(study: ModuleType, config: Config, *, source: Source, root: Path) -> store.Cell:
    source.require_unchanged()
    if source.digest == NO_SOURCE:
        # Without a source its cells can't be told from those of an earlier version.
        if not takes_scratch(study):
            return store.fresh(partial(called, study, config, None))
        with tempfile.TemporaryDirectory() as folder:
            return store.fresh(partial(called, study, config, Path(folder)))
    key = {"source": source.digest, "root": root}
    scratch = None
    if takes_scratch(study):
        scratch = store.scratch_folder(short_name(study), config, **key)
    compute = partial(_computed, study, config, root, scratch)
    cell = store.obtain(short_name(study), config, compute, **key)
    if cell.computed and scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
    return cell


def _computed(study: ModuleType, config: Config, root: Path, scratch: Path | None) -> Arrays:
    keep_compiled(root)
    if scratch is not None:
        with naming(scratch):
            scratch.mkdir(exist_ok=True)
    return called(study, config, scratch)


def _attributes(
    study: ModuleType, preset: str, configs: list[Config], cells: Sequence[store.Cell]
) -> dict[str, str | int]:
    seeds = {config["seed"] for config in configs if config.get("seed") is not None}
    seeds = sorted(seeds.union(*(config.get("seeds", ()) for config in configs)))
    return {
        "study": short_name(study),
        "source": fingerprint(study),
        "preset": preset,
        "configuration": configuration_hash(study, preset),
        "version": _listed(cell.version for cell in cells),
        "commit": _listed(cell.commit for cell in cells),
        "gathered": __version__,
        "seeds": _spans(seeds) or "none",
    }


def _listed(origins: Iterable[str]) -> str:
    """List the versions or commits that computed the cells; of more than four, count them."""
    names = sorted(set(origins))
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} and {len(names) - 1} others"


def _spans(seeds: list[int]) -> str:
    """Return sorted integers as ranges: 0, 2-49."""
    spans: list[list[int]] = []
    for seed in seeds:
        if spans and seed == spans[-1][1] + 1:
            spans[-1][1] = seed
        else:
            spans.append([seed, seed])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)
