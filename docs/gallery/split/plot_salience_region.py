"""
How salient may a distracting part become?
==========================================

Labels depend on shape alone, and in training colour mostly goes with it. Equally salient parts are
no problem: four predicted learners are right on all held-out combinations. The audit then raises
the salience of one part after the other, and says from which factor on a learner is wrong.

The picture shows the share of right labels over the salience of colour for four learners. All are
at 1 up to the salience of shape, 1. Two with a ReLU layer stay there; two with a Gaussian kernel,
in which whole combinations count more, are all wrong with twice the salience.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw

table = pd.DataFrame(product(range(4), range(4)), columns=["shape", "colour"])
table["label"] = np.where(table["shape"] < 2, "round", "angular")
against = (table["shape"] < 2) != (table["colour"] < 2)
table["split"] = np.where(against & ((table["shape"] + table["colour"]) % 2 == 0), "test", "train")
report = pw.audit_split(table, ["shape", "colour"], target="label", split="split")
sweep = report.evidence[0].sweep
fall = sweep.accuracy[:, 1, sweep.factors.index(2.0)]
assert sweep.is_right
assert [kernel for _, kernel in sweep.learners][1::2] == ["Gaussian"] * 2
assert (fall == [1, 0, 1, 0]).all()

figure, ax = plt.subplots(figsize=(5.4, 3.0))
for i, (fit, kernel) in enumerate(sweep.learners):
    look = ("o-", "s:")[i // 2]
    ax.plot(sweep.factors, sweep.accuracy[i, 1], look, mfc="none", label=f"{fit}, {kernel}")
ax.set(xlabel="salience of colour", ylabel="right labels", title="A shortcut")
ax.set_xscale("log", base=2)
ax.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))
