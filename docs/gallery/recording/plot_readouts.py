"""
Can I predict a readout before I train it?
==========================================

Each of sixteen conditions is held out in turn, and ridge readouts of its shape and of its colour
are trained on the others. How often they are right follows from the means of conditions and the
noise of trials: the prediction trains no readout.

The picture shows the share of right trials at each held-out condition, measured over predicted,
for shape and for colour. Points lie about a grey diagonal.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw

table = pd.DataFrame(product(range(40), range(4), range(4)), columns=["run", "shape", "colour"])
rng = np.random.default_rng(0)
shape, colour = table["shape"].to_numpy(), table["colour"].to_numpy()
of_shape, of_colour, of_pair = rng.normal(size=(4, 30)), rng.normal(size=(4, 30)), 0.8
signal = of_shape[shape] + of_colour[colour] + of_pair * rng.normal(size=(4, 4, 30))[shape, colour]
responses = signal + 2.5 * rng.normal(size=signal.shape)

recording = pw.recordings.from_trials(responses, table[["shape", "colour"]])
readouts = pw.measures.held_out_readouts(recording)
error = np.abs(readouts.measured_accuracy - readouts.accuracy)
print(f"mean difference of measured and predicted: {error.mean():.3f}")
assert error.mean() < 0.1
figure, ax = plt.subplots(figsize=(3.8, 3.4))
ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
ax.plot(readouts.accuracy, readouts.measured_accuracy, "o", label=readouts.labels)
ax.set(xlabel="predicted", ylabel="measured", title="Right trials, held-out conditions")
ax.legend()
