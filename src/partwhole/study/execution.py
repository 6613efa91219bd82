"""Runs of studies: cells are computed or read, gathered, and compared with the claims."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import matplotlib.figure
import numpy as np
import pandas as pd
import xarray as xr

from partwhole import __version__, store
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole._workers import WorkerLostError, Workers
from partwhole.store import sweep
from partwhole.study.bars import Bars
from partwhole.study.claim import Claim
from partwhole.study.compiled import keep_compiled
from partwhole.study.declaration import Declaration, Findings, declared
from partwhole.study.registry import find, load, place_of, short_name
from partwhole.study.source import NO_SOURCE, Source, fingerprint, source_of
from partwhole.tasks.images._files import data_folder, use_data_folder

Config = dict[str, Any]
Arrays = dict[str, np.ndarray]
Cells = list[tuple[Config, Arrays]]


class Study(Protocol):
    """The interface of a study module, beside the TOML file of its name with its sentences.

    `numbers` returns the numbers that its `Declaration` names. A configuration has the key "seed",
    a number, or "seeds", a list of numbers, if its cell is random.
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
        depend on it. For processes see `spawned`.
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
    root = _root(store)
    sweep(short_name(module), root)
    source = source_of(module)
    if executor is None:
        work = partial(_obtained, module, source=source, root=root)
    else:
        work = partial(_work, place_of(module), source=source, root=root, data=data_folder())
    futures = None if executor is None else [executor.submit(work, config) for config in configs]
    return SubmittedStudy(module, preset, configs, work, futures, time.perf_counter())


class SubmittedStudy(NamedTuple):
    """A study whose cells have been submitted."""

    module: ModuleType
    preset: str
    configs: list[Config]
    work: Callable[[Config], store.Cell]
    futures: list[Future[store.Cell]] | None
    start: float

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
            cells = []
            for config in self.configs:
                cells.append(self.work(config))
                bars.cell_ended()
            return cells
        configs = dict(zip(self.futures, self.configs, strict=True))
        try:
            for future in as_completed(self.futures):
                self._result(future, configs[future])
                bars.cell_ended()
        except BaseException:
            self.cancel()
            raise
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
        return store.fresh(lambda: study.cell(dict(config)))
    compute = partial(_computed, study, config, root)
    return store.obtain(short_name(study), config, compute, source=source.digest, root=root)


def _computed(study: ModuleType, config: Config, root: Path) -> Arrays:
    keep_compiled(root)
    return study.cell(dict(config))


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
