"""The rules of the audit as a table in plain text."""

from __future__ import annotations

from partwhole.audit.outputs.lines import one_line, wrapped
from partwhole.audit.rules import RULES
from partwhole.audit.settings import EXAMPLE, Settings


def rule_table(settings: Settings | None = None) -> str:
    """Return the rules with meaning, trigger, thresholds and remedy, and an example of settings.

    Parameters
    ----------
    settings : Settings, optional
        The thresholds; those of `Settings()` by default.

    Returns
    -------
    str
    """
    settings = settings or Settings()
    lines = []
    for rule in RULES.values():
        lines += [f"{rule.id}  ({rule.severity})"]
        lines += wrapped(rule.meaning, "    ")
        lines += wrapped(f"When:  {rule.trigger}", "    ")
        if rule.threshold:
            lines += wrapped(f"Threshold:  {rule.in_force(settings)}", "    ")
        lines += wrapped(f"Do:  {rule.remedy}", "    ")
        if rule.id in settings.silence:
            lines += wrapped(f"Silenced:  {one_line(settings.silence[rule.id])}", "    ")
        lines.append("")
    lines += [
        "A configuration file (--config) sets thresholds and silences rules with a reason:",
        "",
    ]
    lines += [f"    {line}" for line in EXAMPLE.splitlines()]
    return "\n".join(lines) + "\n"
