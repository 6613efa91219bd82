"""What a study may define beyond its interface: a scratch folder, durations and the need of a GPU.

`cell(config, scratch)` is given a folder of the cell's own, which outlasts a process that dies and
goes once the result is stored. `seconds(config)` states how long a cell takes, so that long ones
begin first. `ON_GPU = True` asks a cluster for a GPU for each cell.
"""

from __future__ import annotations

from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from partwhole._checks import is_finite, require
from partwhole.study.registry import short_name

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def takes_scratch(study: ModuleType) -> bool:
    """Return whether the cells of a study take a second argument, their folder."""
    parameters = signature(study.cell).parameters.values()
    return sum(parameter.kind in _BY_POSITION for parameter in parameters) == 2


def called(
    study: ModuleType, config: dict[str, Any], scratch: Path | None
) -> dict[str, np.ndarray]:
    """Compute a cell, with its folder if it takes one."""
    return study.cell(dict(config)) if scratch is None else study.cell(dict(config), scratch)


def seconds_of(study: ModuleType, config: dict[str, Any]) -> float:
    """Return the stated duration of a cell in seconds; 0 if the study states none."""
    state = getattr(study, "seconds", None)
    if state is None:
        return 0.0
    value = state(dict(config))
    require(
        is_finite(value) and value >= 0,
        "a study's `seconds` returns the duration of a cell, a finite number of at least 0",
        f"{value!r} for {config} in {short_name(study)}",
        "correct it, or leave it out",
    )
    return float(value)


def on_gpu(study: ModuleType) -> bool:
    """Return whether the cells of a study ask for a GPU."""
    value = getattr(study, "ON_GPU", False)
    require(
        isinstance(value, bool),
        "a study's ON_GPU is True or False",
        f"{value!r} in {short_name(study)}",
        "correct it, or leave it out",
    )
    return value
