"""Audit a table with one fault planted in each of its five test splits; every one is named.

Shapes are filmed in scenes, and a label says whether a shape may enter the scene.

- ``unseen``: a shape that training does not have.
- ``shortcut``: a ring is always let in during training and never in the test.
- ``unsolvable``: whether a shape may enter depends on shape and scene together.
- ``repeated``: combinations that occur in training as well.
- ``apart``: shapes and scenes that training never links, not even over others.
"""

from __future__ import annotations

import pandas as pd

import partwhole as pw

SCENES = [f"scene {i:02d}" for i in range(1, 25)]
PLANTED = {
    "unseen": "unseen-value",
    "shortcut": "shortcut",
    "unsolvable": "not-solvable",
    "repeated": "not-held-out",
    "apart": "not-determined",
}


def table() -> pd.DataFrame:
    """Return the table of shapes, scenes, labels and splits."""
    rows: list[tuple[str, str, bool, str]] = []
    for i, scene in enumerate(SCENES):
        open_scene = i % 2 == 0
        rows.append(("cube", scene, open_scene, "train"))
        rows.append(("cone", scene, not open_scene, "train"))
        rows.append(("slab", scene, open_scene, "train"))
        # Let in throughout training, kept out throughout the test.
        rows.append(("ring", scene, i < 12, "train" if i < 12 else "shortcut"))
        # Half of its scenes are held out, in blocks of four that no sum of parts can label.
        rows.append(("star", scene, open_scene, "train" if i < 20 else "unsolvable"))
        rows.append(("disc", scene, not open_scene, "train" if i < 20 else "unsolvable"))
    rows += [("knot", scene, True, "unseen") for scene in SCENES[:3]]
    rows += [("cube", scene, i % 2 == 0, "repeated") for i, scene in enumerate(SCENES[:6])]
    # Two shapes and two scenes of their own, linked among themselves only.
    island = [("moon", "cave"), ("moon", "lake"), ("sail", "cave")]
    rows += [(shape, scene, True, "train") for shape, scene in island]
    rows += [("moon", SCENES[0], False, "apart"), ("cube", "cave", False, "apart")]
    return pd.DataFrame(rows, columns=["shape", "scene", "may enter", "split"])


def main() -> pw.audit.AuditReport:
    """Audit the table and print which planted fault was named where."""
    report = pw.audit_split(table(), ["shape", "scene"], target="may enter", split="split")
    print(report.to_text())
    for split, rule in PLANTED.items():
        named = any(found.rule == rule and found.split == split for found in report.findings)
        print(f"{split:>10}: {rule} {'named' if named else 'MISSED'}")
    return report


if __name__ == "__main__":
    main()
