"""
What is the smallest training set that determines a test?
=========================================================

Of 6 shapes in 8 colours, 14 combinations are to be tested. For learners that add parts, training
has to connect every shape and colour that is tested: at least as many rows as there are such
values, less one. The design reaches that bound.

The picture shows the grid of the design. A few blue cells are trained, 14 orange ones are tested,
and the rest, white, is not needed.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

import partwhole as pw

design = pw.audit.design_split({"shape": 6, "colour": 8}, seed=0)
print(design.describe())
tested = sum(len(np.unique(column)) for column in design.test.T)
assert len(design.train) == tested - 1
assert len(design.test) == 14

picture = np.zeros((6, 8))
picture[tuple(design.train.T)], picture[tuple(design.test.T)] = 1, 2
figure, ax = plt.subplots(figsize=(4.4, 3.0))
ax.pcolormesh(
    picture, cmap=ListedColormap(["white", "#0072B2", "#D55E00"]), edgecolor="0.8", clip_on=False
)
ax.set(xlabel="colour", ylabel="shape", aspect="equal", xticks=[], yticks=[])
ax.set_title(f"{len(design.train)} rows determine {len(design.test)}")
