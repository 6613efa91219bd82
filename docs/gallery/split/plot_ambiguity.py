"""
How is it proved that an answer is open?
========================================

Two learners that add parts can agree on all of training and differ on a held-out combination.
Their difference is a sum of parts that is 0 on training: a proof that anyone can check by adding.
The audit returns such a function for each combination that is not determined.

The picture shows that function on a grid of shapes and colours. It is 0, white, in the two blocks
of training, +1, red, in one held-out block and -1, blue, in the other; dots mark what is held out.
"""

import numpy as np
import pandas as pd

import partwhole as pw
from partwhole.limits import determination

rows = [(s, c, s + 2.0 * c) for s in range(4) for c in range(4)]
table = pd.DataFrame(rows, columns=["shape", "colour", "answer"])
table["split"] = np.where((table["shape"] < 2) == (table["colour"] < 2), "train", "test")
task = pw.tasks.from_frame(table, ["shape", "colour"], "answer", "split")

ambiguity = determination(task, max_order=1).ambiguity(0)
print(ambiguity.in_words(task))
function = np.zeros(len(table))
for members, values, weight in ambiguity.terms:
    function += weight * (task.components[:, list(members)] == values).all(axis=1)
assert (function[task.is_train] == 0).all()
assert (np.abs(function[~task.is_train]) == 1).all()

table["answer"] = function
ax = pw.tasks.from_frame(table, ["shape", "colour"], "answer", "split").plot()
ax.set_title("0 on training", loc="left")
