"""What a learner does with combinations of familiar parts that it has never seen, and why.

tasks
    What is learned and what is held out: `from_frame`, `symbolic_addition`,
    `StructuredIdentity`, ...
features
    What a learner can express: `OverlapKernel`.
limits
    Where learning ends: `interpolate`, `max_margin`, `solvability`, `least_cost`, closed forms.
measures
    Arrays in, numbers out: `salience`, `additivity`, `accuracy`, `slope`, `swing`, `extrema`, ...
flows
    How learning gets there: `forecast`, `tied_flow`, `learning_clocks`, `swing_diagram`, ...
networks
    What is trained: `Architecture`, `MLP`.
training
    Many small networks at once: `train_identity`.
audit
    Will a training split support its test? `audit_split`, also ``partwhole audit``.
studies
    Theory beside computation, with claims and verdicts; also the command ``partwhole``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwhole import (
        audit,
        features,
        flows,
        limits,
        measures,
        networks,
        studies,
        tasks,
        training,
    )
    from partwhole.audit import audit_split

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "audit",
    "audit_split",
    "features",
    "flows",
    "limits",
    "measures",
    "networks",
    "studies",
    "tasks",
    "training",
]


def __getattr__(name: str) -> Any:
    """Import a room on its first use, so that `import partwhole` stays quick."""
    if name == "audit_split":
        return import_module(f"{__name__}.audit").audit_split
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
