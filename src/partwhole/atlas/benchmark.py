"""Published benchmarks, and the tables of their splits for an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole._checks import InputError, require
from partwhole._door import door

if TYPE_CHECKING:
    import pandas as pd

    from partwhole.audit import AuditReport

# Columns of every table beside those of its components and targets.
SPLIT, ITEM = "split", "item"
TRAIN = "train"
# What damaged files make Python's readers raise.
DAMAGED = (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError,
           RecursionError, MemoryError, EOFError)  # fmt: skip


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
    unit : str, default ""
        What an item is, if not that of the benchmark.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"shape": [0, 0, 1, 1], "colour": [0, 1, 0, 1]})
    >>> SplitTable(frame.assign(split=["train"] * 3 + ["test"]), ("shape", "colour"))
    SplitTable(4 rows of shape, colour)
    """

    frame: pd.DataFrame
    components: tuple[str, ...]
    target: tuple[str, ...] = ()
    multi_hot: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unit: str = ""

    def __repr__(self) -> str:
        """Name the columns and the size, not every row."""
        return f"SplitTable({len(self.frame)} rows of {', '.join(self.components)})"


def varying(frame: pd.DataFrame, names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of these names that have several values."""
    return tuple(name for name in names if len(frame[name].to_frame().drop_duplicates()) > 1)


@dataclass(frozen=True, eq=False)
class SplitFiles:
    """Files of a split: its name, the folder they lie in, and their reader."""

    name: str
    where: Path
    read: Callable[[], SplitTable]


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
        What the items of a test split are: "image", "command", "sentence".
    find : function
        Yields the splits among files.

    Examples
    --------
    >>> from partwhole.atlas.readers import BENCHMARKS
    >>> scan = next(benchmark for benchmark in BENCHMARKS if benchmark.name == "scan")
    >>> scan.title, scan.unit
    ('SCAN', 'command')
    """

    name: str
    title: str
    source: str
    asks: str
    files: str
    unit: str
    find: Callable[[Sequence[Path]], Iterator[SplitFiles]]

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
    reader : function
        Reads its files.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"shape": [0, 0, 1, 1], "colour": [0, 1, 0, 1]})
    >>> table = SplitTable(frame.assign(split=["train"] * 3 + ["test"]), ("shape", "colour"))
    >>> grid = Benchmark("grid", "Grid", "", "A corner.", "", "image", lambda files: iter(()))
    >>> PublishedSplit("grid/corner", grid, lambda: table).audit().determined
    1.0
    """

    name: str
    benchmark: Benchmark
    reader: Callable[[], SplitTable]

    def __repr__(self) -> str:
        """Name the split."""
        return f"PublishedSplit({self.name})"

    def read(self) -> SplitTable:
        """Return the split as a table.

        Returns
        -------
        SplitTable

        Raises
        ------
        InputError
            If a file is not as published.
        """
        rule = f"the files of {self.name} are as they were published"
        remedy = "copy or unpack them again"
        try:
            table = self.reader()
        except InputError:
            raise
        except DAMAGED as error:
            words = " ".join(str(error).split())[:120]
            raise InputError(f"{rule}; got {type(error).__name__} {words}; {remedy}") from error
        rows = Counter(table.frame[SPLIT].tolist())
        n_train = rows.pop(TRAIN, 0)
        require(
            n_train and rows and (len(table.components) > 1 or table.multi_hot),
            rule,
            f"{n_train:,} training rows, {sum(rows.values()):,} test rows and "
            f"{len(table.components)} components that vary",
            remedy,
        )
        return table

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
        Files as their authors published them, unpacked; the forms are in `BENCHMARKS`. Looked at
        are names, and the first line of files whose names say little; nothing is downloaded.

    Returns
    -------
    tuple of PublishedSplit
        In the order of `BENCHMARKS`. Where several have one name, it ends with their folders.

    Raises
    ------
    InputError
        If the folder does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for part, command in ("train", "walk twice"), ("test", "run once"):
    ...         file = Path(folder, f"tasks_{part}_simple.txt")
    ...         _ = file.write_text(f"IN: {command.replace(' once', '')} OUT: I_WALK\\n")
    ...     (split,) = find_splits(folder)
    ...     split.name, split.read().frame[["verb1", "rep1", "split"]].values.tolist()
    ('scan/simple', [['walk', 'twice', 'train'], ['run', 'once', 'test']])
    """
    from partwhole.atlas.files import walk
    from partwhole.atlas.readers import BENCHMARKS

    root = Path(folder).expanduser().resolve()
    files = walk(root)
    splits = []
    for benchmark in BENCHMARKS:
        entries = list(benchmark.find(files))
        times = Counter(entry.name for entry in entries)
        for entry in entries:
            name = entry.name
            if times[name] > 1:
                name = f"{name} ({entry.where.relative_to(root).as_posix()})"
            splits.append(PublishedSplit(name, benchmark, entry.read))
    return tuple(splits)
