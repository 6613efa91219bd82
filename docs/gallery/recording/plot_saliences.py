"""
Does my recording hold parts or whole conditions?
=================================================

Saliences are shares of the squared distance between conditions: of each part, and of what is
specific to their combination (Lippl & Stachenfeld, ICLR 2025, for representations without noise).
Here 150 neurons respond to shape, colour and their pair with variances of 0.5, 0.3 and 0.2, in
eight noisy runs.

The picture shows a point with a 95 % interval for shape, colour and the pair. Black ticks, the
true shares, lie within the intervals.
"""

from itertools import product

import numpy as np
import pandas as pd

import partwhole as pw

table = pd.DataFrame(product(range(8), range(4), range(4)), columns=["run", "shape", "colour"])
rng = np.random.default_rng(4)
of_shape, of_colour = np.sqrt([[[0.5]], [[0.3]]]) * rng.normal(size=(2, 4, 150))
of_pair = np.sqrt(0.2) * rng.normal(size=(4, 4, 150))
shape, colour = table["shape"].to_numpy(), table["colour"].to_numpy()
signal = of_shape[shape] + of_colour[colour] + of_pair[shape, colour]
responses = signal + 1.5 * rng.normal(size=signal.shape)

recording = pw.recordings.from_trials(responses, table, groups="run")
measured = pw.measures.salience(recording, bootstrap=500)
truths = {(0,): 0.5, (1,): 0.3, (0, 1): 0.2}
for members, (low, high) in measured.saliences_interval.items():
    assert low < truths[members] < high
ax = measured.plot(names=recording.names)
ax.plot([*truths.values()], range(3), "|", color="black", markersize=18)
ax.set_title("Shares of parts and pair")
