"""Will a training split support the combinations it will be tested on?

`rules.RULES` are the rules with their thresholds, and a report's findings are `rules.Finding`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwhole.audit.audit import audit_split
    from partwhole.audit.design import design_split
    from partwhole.audit.reading.splits import HoldOut
    from partwhole.audit.report import AuditReport, UnsupportedSplit
    from partwhole.audit.settings import Settings

__all__ = [
    "AuditReport",
    "HoldOut",
    "Settings",
    "UnsupportedSplit",
    "audit_split",
    "design_split",
]
_HOMES = {
    "AuditReport": "report",
    "HoldOut": "reading.splits",
    "Settings": "settings",
    "UnsupportedSplit": "report",
    "audit_split": "audit",
    "design_split": "design",
}


def __getattr__(name: str) -> Any:
    """Import a module on its first use, so that rules and wrong arguments are said at once."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
