"""
When does a population combine two features?
============================================

Responses have a time axis. Of the squared distance between conditions, each set of components has
a part at each time, without noise. Here shape enters first, colour follows, and a response to the
pair begins last: the three truths are written in the example.

The picture shows three curves over time, with bands: shape rises first, colour second and the pair
third. Dotted lines, the true courses, lie within the bands or beside them.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import partwhole as pw

table = pd.DataFrame(product(range(10), range(3), range(3)), columns=["run", "shape", "colour"])
shape, colour = table["shape"].to_numpy(), table["colour"].to_numpy()
rng, times = np.random.default_rng(1), np.arange(0.0, 400.0, 20.0)
truth = np.array([1 / (1 + np.exp((onset - times) / 15)) for onset in (100, 180, 260)])
axes = np.sqrt(200) * np.linalg.qr(rng.normal(size=(200, 15)))[0].T  # at right angles
codes = axes[:3][shape], axes[3:6][colour], axes[6:][3 * shape + colour]
signal = np.einsum("cvn, ct -> vnt", np.array(codes), np.sqrt(truth))
responses = signal + 2 * rng.normal(size=signal.shape)

recording = pw.recordings.from_trials(responses, table, groups="run", times=times)
course = pw.measure(recording, held_out="none").time_course
figure, ax = plt.subplots(figsize=(4.8, 3.2))
for k, name in enumerate(("shape", "colour", "pair")):
    part, low, high = (of[:, k] / 200 for of in (course.parts, course.low, course.high))
    (line,) = ax.plot(times, part, label=name)
    ax.fill_between(times, low, high, alpha=0.2)
    ax.plot(times, truth[k], ":", color=line.get_color())
ax.set(xlabel="time (ms)", ylabel="squared distance, each neuron", title="Parts, then the pair")
ax.legend()
