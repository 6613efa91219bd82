"""Gates as parts of a network's tree, so that they are saved with its leaves."""

from __future__ import annotations

from typing import Any

import jax

from partwhole.features import HalfspaceGates, ReLUGates
from partwhole.features.gates.joint import JointGates

# The fields of each kind of gates, all of them data.
FIELDS: dict[type, tuple[str, ...]] = {
    HalfspaceGates: ("normals", "thresholds"),
    ReLUGates: ("normals", "thresholds"),
    JointGates: ("gates", "occupied"),
}


def _register(kind: type, fields: tuple[str, ...]) -> None:
    keys = [jax.tree_util.GetAttrKey(name) for name in fields]

    def flatten(gates: Any) -> tuple[tuple[tuple[Any, Any], ...], None]:
        return tuple((key, getattr(gates, key.name)) for key in keys), None

    def rebuild(_: None, leaves: Any) -> Any:
        # Leaves may be anything while a tree is mapped, so they are not validated.
        gates = object.__new__(kind)
        for name, leaf in zip(fields, leaves, strict=True):
            object.__setattr__(gates, name, leaf)
        return gates

    jax.tree_util.register_pytree_with_keys(kind, flatten, rebuild)


for _kind, _fields in FIELDS.items():
    _register(_kind, _fields)
