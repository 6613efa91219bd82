"""``partwhole atlas``: what training determines in the splits of published benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from partwhole.cli.streams import print_inert


def atlas(
    folder: Annotated[Positional[Path | None], arg(metavar="FOLDER", help_behavior_hint="")] = None,
    only: Annotated[tuple[str, ...], arg(metavar="NAME ...", help_behavior_hint="")] = (),
    out: Annotated[Path, arg(metavar="FOLDER")] = Path("atlas"),
    time_limit: float = 10.0,
) -> None:
    """Audit the published benchmarks in a folder: a page for each split, and an overview.

    Without a folder, prints the stored verdicts, and the files by which each benchmark is known.
    Nothing is downloaded. Ends with 0, or with 2 if a split could not be read; the others are
    written all the same.

    For example: partwhole atlas ~/data/SCAN --only scan/length

    Args:
        folder: A folder with benchmarks in their published files, unpacked, at any depth.
        only: Beginnings of the names of splits; all of the folder by default.
        out: Folder for the pages; the first is index.html.
        time_limit: Seconds of processor time for each test split; what is not decided then is left
            undecided, and said.
    """
    from partwhole.atlas import write_atlas
    from partwhole.atlas.folder import stored_atlas
    from partwhole.atlas.readers import BENCHMARKS
    from partwhole.atlas.text import files_of, ranking

    if folder is None:
        print_inert(ranking(stored_atlas().verdicts) + "\n" + files_of(BENCHMARKS))
        return
    result = write_atlas(folder, out, only=list(only), time_limit=time_limit)
    print_inert(ranking(result.verdicts) + f"\nATLAS: {result.path}\n")
    for name, reason in result.refused:
        print(f"partwhole: {name} was not read. {reason}", file=sys.stderr)
    if result.refused:
        raise SystemExit(2)
