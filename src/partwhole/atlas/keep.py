"""Store the verdicts that come with partwhole: ``python -m partwhole.atlas.keep NUMBERS ORIGIN``.

Adds those of a verdicts.json, with what is to be said of the origin of their rows, in place of
earlier ones on the same splits.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from partwhole.atlas.verdict import STORED, ranked, read_verdicts, stored_verdicts, to_json


def main(path: Path, origin: str) -> None:
    """Add the verdicts of a file to the stored ones."""
    new = [replace(verdict, origin=origin) for verdict in read_verdicts(path)]
    names = {verdict.split for verdict in new}
    old = [verdict for verdict in stored_verdicts() if verdict.split not in names]
    STORED.write_text(to_json(ranked([*old, *new])), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
