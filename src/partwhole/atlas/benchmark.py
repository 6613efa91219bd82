"""Published benchmarks, and the tables of their splits for an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole._door import door

if TYPE_CHECKING:
    import pandas as pd

    from partwhole.audit import AuditReport

# Columns of every table beside those of its components and targets.
SPLIT, ITEM = "split", "item"


@dataclass(frozen=True, eq=False)
class SplitTable:
    """A published split as a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        Has a column "split" with the entry "train" for training rows, and the names of test splits
        for others; and a column "item" where several rows describe one item.
    components : tuple of str
        The columns that are combined.
    target : tuple of str, default ()
        The columns that are asked for; none if only what training determines is of interest.
    multi_hot : tuple of str, default ()
        Components with several values in a cell.
    remarks : tuple of str, default ()
        How the files were read.
    """

    frame: pd.DataFrame
    components: tuple[str, ...]
    target: tuple[str, ...] = ()
    multi_hot: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Name the columns and the size, not every row."""
        return f"SplitTable({len(self.frame)} rows of {', '.join(self.components)})"


def varying(frame: pd.DataFrame, names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of these names that have several values."""
    return tuple(name for name in names if len(frame[name].to_frame().drop_duplicates()) > 1)


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A published benchmark, with a reader of its files.

    Parameters
    ----------
    name : str
        The first part of the names of its splits.
    title : str
    source : str
        Authors, venue and year.
    asks : str
        What its test splits hold out, in a sentence.
    files : str
        The files that are read, and their form.
    unit : str
        What a test score counts: "image", "command", "sentence".
    find : function
        Maps files to a reader for each split that they hold, by the split's name.
    """

    name: str
    title: str
    source: str
    asks: str
    files: str
    unit: str
    find: Callable[[Sequence[Path]], Mapping[str, Callable[[], SplitTable]]]

    def __repr__(self) -> str:
        """Name the benchmark."""
        return f"Benchmark({self.title}, {self.source})"


@dataclass(frozen=True, eq=False)
class PublishedSplit:
    """A split of a published benchmark, found in a folder or given by a rule.

    Parameters
    ----------
    name : str
        Such as "scan/addprim_jump".
    benchmark : Benchmark
    read : function
        Reads its files.
    """

    name: str
    benchmark: Benchmark
    read: Callable[[], SplitTable]

    def __repr__(self) -> str:
        """Name the split."""
        return f"PublishedSplit({self.name})"

    def audit(self, table: SplitTable | None = None, **options: Any) -> AuditReport:
        """Return the audit of the split.

        Parameters
        ----------
        table : SplitTable, optional
            Its table, if it has been read before.
        **options
            Of `partwhole.audit_split`, such as ``require_order``.

        Returns
        -------
        AuditReport

        Raises
        ------
        InputError
            If a file or an option breaks a rule.
        """
        from partwhole.audit import audit_split

        table = self.read() if table is None else table
        report = audit_split(
            table.frame,
            list(table.components),
            list(table.target) or None,
            SPLIT,
            **{"multi_hot": table.multi_hot, **options},
        )
        remarks = (*table.remarks, *report.table.remarks)
        named = replace(report.table, source=self.name, remarks=remarks)
        return replace(report, table=named)


@door
def find_splits(folder: str | Path) -> tuple[PublishedSplit, ...]:
    """Return the published splits whose files lie in a folder or its subfolders.

    Parameters
    ----------
    folder : path
        Files as their authors published them, unpacked; the forms are in `BENCHMARKS`. Only names
        are looked at: nothing is read before a split is, and nothing is downloaded.

    Returns
    -------
    tuple of PublishedSplit
        In the order of `BENCHMARKS`.

    Raises
    ------
    InputError
        If the folder does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for part, command in ("train", "walk twice"), ("test", "run twice"):
    ...         file = Path(folder, f"tasks_{part}_simple.txt")
    ...         _ = file.write_text(f"IN: {command} OUT: I_WALK I_WALK\\n")
    ...     (split,) = find_splits(folder)
    ...     split.name, split.read().frame[["verb1", "rep1", "split"]].values.tolist()
    ('scan/simple', [['walk', 'twice', 'train'], ['run', 'twice', 'test']])
    """
    from partwhole.atlas.files import walk
    from partwhole.atlas.readers import BENCHMARKS

    files = walk(Path(folder).expanduser().absolute())
    return tuple(
        PublishedSplit(name, benchmark, read)
        for benchmark in BENCHMARKS
        for name, read in benchmark.find(files).items()
    )
