"""
Are neighbouring values encoded as more alike?
==============================================

Saliences take all values of a component as equally different. Neurons that are tuned to
orientation break this: neighbouring orientations are nearer. The squared distance of two values,
without noise, says so, and whether steps in a line or around a circle explain it.

The picture shows that distance over the number of steps around the circle, for eight orientations:
points for each pair rise along a dashed curve, the distance of two points on a circle.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw
from partwhole.measures.graded_similarity import graded_similarity

table = pd.DataFrame({"orientation": np.tile(np.arange(0, 180, 22.5), 40)})
rng, angle = np.random.default_rng(0), np.deg2rad(2 * table["orientation"].to_numpy())
preferred = rng.uniform(0, 2 * np.pi, 100)
responses = np.cos(angle[:, None] - preferred) + rng.normal(size=(len(angle), 100))

graded = graded_similarity(pw.recordings.from_trials(responses, table), "orientation")
print(f"{graded.kind}: steps explain {graded.circular:.0%}")
assert graded.kind == "circular"
assert graded.circular > 0.9

i, j = np.triu_indices(8, k=1)
steps = np.minimum(j - i, 8 - (j - i))
figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(steps, graded.distances[i, j], "o", alpha=0.5)
fine = np.linspace(0, 4, 100)
ax.plot(fine, 100 * (1 - np.cos(np.pi * fine / 4)), "--", color="black")
ax.set(xlabel="steps around the circle", ylabel="squared distance", xticks=range(5))
ax.set_title("Orientation is a ring")
