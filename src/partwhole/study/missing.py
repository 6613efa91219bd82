"""The error of a study some of whose cells have no result."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from partwhole._lost import LostError

LISTED = 3


class CellsMissingError(LostError):
    """A study without all its cells; those that were computed are in the store.

    Parameters
    ----------
    study : str
    cells : int
        Number of cells.
    missing : list of (dict, str)
        Configuration of each missing cell, and the reason.
    """

    def __init__(
        self, study: str, cells: int, missing: Sequence[tuple[dict[str, Any], str]]
    ) -> None:
        self.study, self.cells, self.missing = study, cells, tuple(missing)
        reasons: dict[str, list[str]] = defaultdict(list)
        for config, reason in missing:
            reasons[reason].append(json.dumps(config, sort_keys=True))
        parts = []
        for reason, configs in list(reasons.items())[:LISTED]:
            others = f" and {len(configs) - LISTED} more" if len(configs) > LISTED else ""
            parts.append(f"{', '.join(configs[:LISTED])}{others} ({reason})")
        if len(reasons) > LISTED:
            parts.append(f"others for {len(reasons) - LISTED} more reasons")
        super().__init__(
            f"{study} has a result once all its cells are computed; got {cells - len(missing)} of "
            f"{cells}, without {'; '.join(parts)}; what was computed is stored: remove the cause, "
            "see `partwhole status`, and run it again"
        )
