"""
Which interactions can a split test?
====================================

Objects have a shape, a colour and a size. Red cubes are held out, and a third of all others. If
parts add up, training determines every held-out answer. If pairs interact, what red does to a cube
was never seen. If all three interact, nothing that is held out is determined. The audit climbs
this ladder.

The picture shows a bar for each order of interaction, the share of held-out answers that training
determines: all at order 1, a part at order 2, none at order 3.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw

shapes, colours = ["cube", "disc", "star", "ring"], ["red", "green", "blue", "grey"]
table = pd.DataFrame(product(shapes, colours, range(4)), columns=["shape", "colour", "size"])
table["answer"] = table["shape"].factorize()[0] + 2.0 * table["size"]
held_out = (table["shape"] == "cube") & (table["colour"] == "red")
held_out |= np.random.default_rng(1).random(len(table)) < 1 / 3
table["split"] = np.where(held_out, "test", "train")

shares = []
for order in (1, 2, 3):
    task = pw.tasks.from_frame(table, ["shape", "colour", "size"], "answer", "split")
    shares.append(pw.limits.determination(task, max_order=order).share)
report = pw.audit_split(table, ["shape", "colour", "size"], target="answer", split="split")
print(report.headline)
assert shares[0] == 1
assert 0 < shares[1] < 1
assert shares[2] == 0
figure, ax = plt.subplots(figsize=(4.2, 2.6))
ax.bar(["parts add up", "pairs interact", "all interact"], shares)
ax.set(ylabel="share determined", title="The ladder")
