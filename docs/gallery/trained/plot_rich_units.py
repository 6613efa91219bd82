"""
What do small initial weights let a network learn?
==================================================

Items A and B are equivalent, and so are D and E; pairs with A or D are seen. No kernel can infer
the others. From small weights a ReLU network learns units for classes instead of items, and infers
them (Lippl & Stachenfeld, ICLR 2025, associative inference).

The picture shows the largest hidden units, by how they weigh A less D in the first and in the
second place. Units that vote "same" lie on one diagonal, those that vote "different" on the other.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

task = pw.tasks.transitive_equivalence((2, 2), (1, 1))
x, seen = task.one_hot(), task.is_train
small = pw.networks.Architecture(2, 300, "relu", initial="he", scale=1e-3)
start = small.networks(8, seeds=[0], outputs=1)
training = pw.Training(steps=3000, learning_rate=0.1, threshold=1e-6, restarts=3)
runs = pw.train(start, (x[seen], task.train_targets), training, read=x, progress=False)
answers = runs.answers[0, -1, :, 0]
assert (answers[~seen] * task.test_targets > 0).all()

hidden, readout = (np.asarray(weights[0]) for weights in runs.networks.weights)
largest = np.argsort(-np.abs(readout[0]) * np.linalg.norm(hidden, axis=1))[:60]
places = hidden[largest][:, [0, 4]] - hidden[largest][:, [2, 6]]
same = readout[0, largest] > 0
figure, ax = plt.subplots(figsize=(3.6, 3.4))
for chosen, name in ((same, "same"), (~same, "different")):
    ax.plot(*places[chosen].T, "o", markerfacecolor="none", label=name)
ax.set(xlabel="A less D, first place", ylabel="A less D, second place", title="Units for classes")
ax.legend(loc="center", frameon=True)
