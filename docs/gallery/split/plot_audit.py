"""
Does training determine what the test asks?
===========================================

The table holds four shapes in four colours, and an answer that adds up. Training has two blocks:
shapes 0 and 1 in colours 0 and 1, the others in the others. Nothing links the blocks, so that no
held-out answer is determined for learners that add parts. The audit says so, and which combination
to add first.

The picture shows the grid twice, with a dot on each held-out combination and a cross where its
answer is open. Left all eight have a cross. Right one of them was added to training, and no cross
is left.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw

rows = [(s, c, s + 2 * c) for s in range(4) for c in range(4)]
table = pd.DataFrame(rows, columns=["shape", "colour", "answer"])
is_train = (table["shape"] < 2) == (table["colour"] < 2)

figure, axes = plt.subplots(1, 2, figsize=(6.8, 2.8))
for ax, determined in zip(axes, (0, 1), strict=True):
    table["split"] = np.where(is_train, "train", "test")
    report = pw.audit_split(table, ["shape", "colour"], target="answer", split="split")
    print(report.headline)
    assert report.determined == determined
    evidence = report.evidence[0]
    task, open_ = evidence.case.task, ~evidence.determination.determined
    task.plot(ax)
    ax.plot(*task.test_components[open_].T[::-1], "x", color="black", markersize=14)
    ax.set_title("Two blocks" if determined == 0 else "One link", loc="left")
    if determined == 0:
        shape, colour = evidence.additions.steps[0].values
        is_train |= (table["shape"] == shape) & (table["colour"] == colour)
