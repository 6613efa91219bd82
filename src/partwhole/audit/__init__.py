"""Will a training split support the combinations it will be tested on?"""

from partwhole.audit.audit import audit_split as audit_split
from partwhole.audit.design import design_split as design_split
from partwhole.audit.reading.splits import HoldOut as HoldOut
from partwhole.audit.report import AuditReport as AuditReport
from partwhole.audit.report import UnsupportedSplit as UnsupportedSplit
from partwhole.audit.rules import RULES as RULES
from partwhole.audit.rules import Finding as Finding
from partwhole.audit.settings import Settings as Settings

__all__ = [
    "RULES",
    "AuditReport",
    "Finding",
    "HoldOut",
    "Settings",
    "UnsupportedSplit",
    "audit_split",
    "design_split",
]
