"""The panels of the explorer, in the order of the guide."""

from __future__ import annotations

from partwhole.explorer.panel import Panel
from partwhole.explorer.panels.audit import audit
from partwhole.explorer.panels.gates import gates
from partwhole.explorer.panels.leak import leak
from partwhole.explorer.panels.reuse import reuse
from partwhole.explorer.panels.shortcut import shortcut
from partwhole.explorer.panels.swing import swing

PANELS = (
    Panel(leak, "kernels"),
    Panel(shortcut, "kernels"),
    Panel(swing, "dynamics", compiles=True),
    Panel(reuse, "reuse"),
    Panel(gates, "gated"),
    Panel(audit, "audit"),
)
