"""The tasks of published networks, by name."""

from __future__ import annotations

from partwhole.tasks import (
    Task,
    context_dependence,
    dispersed_addition,
    symbolic_addition,
    transitive_equivalence,
)

# Anchors of the published layouts of symbolic addition, -4..4.
LAYOUTS = {"extrapolation": (0,), "interpolation": (-4, 4), "both": (-2, 2), "asymmetric": (-4,)}
# Dispersed addition, by the seed that shuffles its rows.
DISPERSED = {f"dispersed {seed}": seed for seed in (0, 1, 2)}
CONTEXTS = ("CD-1", "CD-2", "CD-3")
# Items and anchors of each hidden class in transitive equivalence.
EQUIVALENCES = {
    "equivalence": ((2, 2), (1, 1)),
    "1 anchor": ((5, 5), (1, 1)),
    "4 anchors": ((5, 5), (4, 4)),
}


def make_task(name: str) -> Task:
    """Return a task by its name."""
    if name in LAYOUTS:
        return symbolic_addition(range(-4, 5), LAYOUTS[name])
    if name in DISPERSED:
        return dispersed_addition(range(-4, 5), 2, seed=DISPERSED[name])
    if name in CONTEXTS:
        return context_dependence(int(name[-1]))
    return transitive_equivalence(*EQUIVALENCES[name])
