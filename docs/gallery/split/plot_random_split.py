"""
How many random rows are enough?
================================

Training rows are drawn at random from 20 times 20 combinations, for learners that add parts. The
rows are edges of a random graph between values, and a held-out combination is determined once its
two values are connected. There is a critical number of rows, after which most others follow.

The picture shows the share that is determined over the number of rows. A curve, the expectation
for large tables, leaves 0 at a dotted line and rises steeply; points from random splits follow it.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw
from partwhole.limits.random_splits import critical_rows, determined_share

values, shares = (20, 20), []
grid = np.stack(np.meshgrid(*map(np.arange, values), indexing="ij"), axis=-1).reshape(-1, 2)
sizes = np.arange(10, 101, 10)
for rows in sizes:
    splits = []
    for seed in range(5):
        is_train = np.random.default_rng(seed).permutation(len(grid)) < rows
        names = tuple(tuple(range(n)) for n in values)
        task = pw.tasks.Task(grid, grid.sum(axis=1).astype(float), is_train, ("a", "b"), names)
        splits.append(pw.limits.determination(task, max_order=1).share)
    shares.append(np.mean(splits))
theory = [determined_share(rows, values, 1) for rows in range(101)]
assert np.abs(shares - np.array(theory)[sizes]).max() < 0.15

figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(range(101), theory, label="theory")
ax.plot(sizes, shares, "o", label="random splits")
ax.axvline(critical_rows(values, 1), color="0.5", linestyle=":")
ax.set(xlabel="training rows", ylabel="share determined", title="A critical number of rows")
ax.legend()
