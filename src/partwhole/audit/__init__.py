"""Will a training split support the combinations it will be tested on?"""

from partwhole.audit.audit import audit_split as audit_split
from partwhole.audit.case import Case as Case
from partwhole.audit.evidence import Additions as Additions
from partwhole.audit.evidence import Coverage as Coverage
from partwhole.audit.evidence import Evidence as Evidence
from partwhole.audit.evidence import Point as Point
from partwhole.audit.evidence import Prediction as Prediction
from partwhole.audit.reading.splits import HoldOut as HoldOut
from partwhole.audit.report import AuditReport as AuditReport
from partwhole.audit.report import UnsupportedSplit as UnsupportedSplit
from partwhole.audit.rules import RULES as RULES
from partwhole.audit.rules import Finding as Finding
from partwhole.audit.rules import Rule as Rule
from partwhole.audit.settings import Settings as Settings

__all__ = [
    "RULES",
    "Additions",
    "AuditReport",
    "Case",
    "Coverage",
    "Evidence",
    "Finding",
    "HoldOut",
    "Point",
    "Prediction",
    "Rule",
    "Settings",
    "UnsupportedSplit",
    "audit_split",
]
