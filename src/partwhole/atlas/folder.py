"""The atlas of a folder: every split that lies in it audited, a page for each, and an overview."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole._checks import InputError, require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import NonNegative
from partwhole.atlas.benchmark import find_splits
from partwhole.atlas.readers import BENCHMARKS
from partwhole.atlas.verdict import Verdict, ranked, stored_verdicts, to_json, verdicts_of

if TYPE_CHECKING:
    import pandas as pd

OVERVIEW, NUMBERS = "index.html", "verdicts.json"


@dataclass(frozen=True)
class Atlas:
    """Verdicts on published splits.

    Parameters
    ----------
    verdicts : tuple of Verdict
        Those that training supports least first.
    refused : tuple of (str, str)
        Splits that could not be read, and why.
    path : Path or None
        The overview, if it was written.

    Examples
    --------
    SCAN's random split needs learners in which three components interact:

    >>> frame = stored_atlas().to_frame().set_index("split")
    >>> frame.loc[["dsprites/leave-one-out", "scan/simple"], "supported at"].tolist()
    [1.0, 3.0]
    """

    verdicts: tuple[Verdict, ...]
    refused: tuple[tuple[str, str], ...] = ()
    path: Path | None = None

    def __repr__(self) -> str:
        """Count the verdicts."""
        from partwhole.audit.wording import count

        refused = count(len(self.refused), "split")
        return f"Atlas({count(len(self.verdicts), 'verdict')}, {refused} refused)"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each test split.

        Returns
        -------
        pandas.DataFrame
            Names, counts of `Verdict`, and ``determined 1``, ``determined 2`` and
            ``determined 3``: the shares of held-out combinations that training determines if so
            many components may interact; missing where this was not decided, and where nothing is
            held out.
        """
        import pandas as pd

        names = (
            "split",
            "test",
            "unit",
            "train_rows",
            "items",
            "seen",
            "open",
            "unseen",
            "held_out",
        )
        rows = []
        for verdict in self.verdicts:
            row = {name: getattr(verdict, name) for name in names}
            for order in (1, 2, 3):
                is_known = verdict.held_out and verdict.is_decided(order)
                row[f"determined {order}"] = verdict.determined[order - 1] if is_known else None
            rows.append(row | {"supported at": verdict.supported_at})
        return pd.DataFrame(rows)


@door
def write_atlas(
    folder: str | Path,
    out: str | Path,
    *,
    only: Sequence[str] = (),
    time_limit: NonNegative = 10.0,
) -> Atlas:
    """Audit every published split in a folder, and write a page for each and an overview.

    Parameters
    ----------
    folder : path
        Files as published, unpacked; see `BENCHMARKS` for their forms. Nothing is downloaded.
    out : path
        The folder for the pages, created if it is not there. Holds index.html, a page for each
        split, and verdicts.json. The overview also has the stored verdicts of splits that are not
        in the folder, or whose files could not be read.
    only : sequence of str, keyword-only, default ()
        Beginnings of the names of splits, such as "scan" or "dsprites/shape"; all by default.
    time_limit : float, keyword-only, default 10
        Seconds of processor time for each test split; what is not decided then is left so.

    Returns
    -------
    Atlas
        With the splits that could not be read, and the reasons.

    Raises
    ------
    InputError
        If the folder has no split, none of these, or none that can be read; then nothing is
        written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> train = "IN: run OUT: I_RUN", "IN: walk OUT: I_WALK", "IN: walk twice OUT: I_WALK I_WALK"
    >>> test = ("IN: run twice OUT: I_RUN I_RUN",)
    >>> with TemporaryDirectory() as folder:
    ...     for part, lines in ("train", train), ("test", test):
    ...         _ = Path(folder, f"tasks_{part}_simple.txt").write_text("\\n".join(lines))
    ...     atlas = write_atlas(folder, Path(folder, "pages"))
    ...     [verdict.determined[0] for verdict in atlas.verdicts]
    ...     sorted(page.name for page in atlas.path.parent.iterdir())
    [1.0]
    ['index.html', 'scan-simple.html', 'verdicts.json']
    """
    from partwhole.audit.outputs.files import write_all

    target = Path(out)
    parents = [place for place in (target, *target.absolute().parents) if place.exists()]
    require(
        parents[0].is_dir(),
        "an atlas is written to a folder",
        f"the file {parents[0]}",
        "name another folder",
    )
    splits = find_splits(folder)
    known = ", ".join(benchmark.title for benchmark in BENCHMARKS)
    require(
        splits,
        f"the folder has a published benchmark ({known}) in its published files",
        f"none in {folder}",
        "see their names with `partwhole atlas`",
    )
    names = [split.name for split in splits]
    absent = [name for name in only if not any(n.startswith(name) for n in names)]
    require(
        not absent,
        f"the folder has {', '.join(names)}",
        f"only {', '.join(map(repr, absent))}",
        "name one of them, or its beginning",
    )
    chosen = [split for split in splits if not only or split.name.startswith(tuple(only))]
    verdicts: list[Verdict] = []
    refused: list[tuple[str, str]] = []
    pages: dict[str, str] = {}
    with bar("Auditing", len(chosen), shown=True) as advance:
        for split in chosen:
            advance(0, split.name)
            files = {}
            try:
                table = split.read()
                report = split.audit(table, time_limit=time_limit)
            except InputError as error:
                refused.append((split.name, str(error)))
            else:
                verdicts += verdicts_of(split, table, report)
                pages[split.name] = _page_name(split.name, [*pages.values()])
                files = {target / pages[split.name]: report.to_html()}
            # All together after each split, so that what is written is whole whenever it ends.
            if verdicts:
                target.mkdir(parents=True, exist_ok=True)
                overview = _overview(verdicts, pages, refused)
                files |= {target / NUMBERS: to_json(ranked(verdicts)), target / OVERVIEW: overview}
                write_all(files)
            advance(1)
    require(
        verdicts,
        "an atlas has a split that can be read",
        "none of "
        + ", ".join(f"{name} ({reason.replace('; ', ', ')})" for name, reason in refused),
        "unpack or copy the files again",
    )
    return Atlas(tuple(ranked(verdicts)), tuple(refused), target / OVERVIEW)


def _page_name(name: str, used: Sequence[str]) -> str:
    """Return the name of a split's page, in signs that need no quotes in a link.

    Examples
    --------
    >>> _page_name("gscan/my data (a/b)", [])
    'gscan-my-data-a-b.html'
    >>> _page_name("scan/a b", ["scan-a-b.html", "index.html"])
    'scan-a-b-2.html'
    """
    plain = re.sub("[^A-Za-z0-9._]+", "-", name).strip("-.")
    names = (f"{plain}{end}.html" for end in ("", *(f"-{i}" for i in range(2, len(used) + 3))))
    return next(page for page in names if page not in used)


def stored_atlas() -> Atlas:
    """Return the atlas of the verdicts that come with partwhole.

    Examples
    --------
    >>> is_open = {v.split: v.open == v.items for v in stored_atlas().verdicts}
    >>> is_open["dsprites/x-extrapolation"], is_open["scan/length"]
    (True, False)
    """
    return Atlas(tuple(ranked(stored_verdicts())))


def _overview(
    verdicts: Sequence[Verdict], pages: dict[str, str], refused: Sequence[tuple[str, str]]
) -> str:
    """Return the overview of the verdicts, and of the stored ones of other splits."""
    from partwhole.atlas.overview import to_html

    names = {verdict.split for verdict in verdicts}
    stored = [verdict for verdict in stored_verdicts() if verdict.split not in names]
    return to_html([*verdicts, *stored], BENCHMARKS, pages=pages, refused=dict(refused))
