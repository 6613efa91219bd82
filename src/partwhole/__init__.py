"""What a learner does with combinations of familiar parts that it has never seen, and why.

tasks
    What is learned and what is held out: `from_frame`, `symbolic_addition`, ...
features
    What a learner can express: `OverlapKernel`.
limits
    Where learning ends: `interpolate`, `max_margin`, `solvability`, `least_cost`, closed forms.
measures
    Arrays in, numbers out: `salience`, `additivity`, `accuracy`, `slope`.
studies
    Theory beside computation, with claims and verdicts; also the command ``partwhole``.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from partwhole import features, limits, measures, studies, tasks

__version__ = "0.1.0"
__all__ = ["__version__", "features", "limits", "measures", "studies", "tasks"]


def __getattr__(name: str) -> ModuleType:
    """Import a room on its first use, so that `import partwhole` stays quick."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
