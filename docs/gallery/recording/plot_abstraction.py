"""
Is a variable encoded alike in all contexts?
============================================

Parallelism compares the difference between two values of a component across contexts: it is 1 if
the direction stays the same and 0 if directions have nothing in common (Bernardi et al., Cell
2020). With variances v of shape and w of the pair it is v / (v + w) for many neurons. Trials have
noise, which lowers the plain estimate; without that bias it stays where it should.

The picture shows parallelism of shape over the share of the pair. The estimate without noise
follows the black line from 1 down to 0; the plain one lies far below it.
"""

from itertools import product

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

rows = np.array(list(product(range(20), range(3), range(3))))[:, 1:]
shares, scores, plain = np.linspace(0, 1, 9), [], []
for k, share in enumerate(shares):
    rng = np.random.default_rng(k)
    clean = np.sqrt(1 - share) * rng.normal(size=(3, 400))[rows[:, 0]]
    clean += np.sqrt(share) * rng.normal(size=(3, 3, 400))[tuple(rows.T)]
    recording = pw.recordings.from_trials(clean + 3 * rng.normal(size=clean.shape), rows)
    measured = pw.measures.abstraction.parallelism(recording, repetitions=0)
    scores.append(measured.score[0])
    plain.append(measured.plug_in[0])
np.testing.assert_allclose(scores, 1 - shares, atol=0.12)

figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.plot(shares, 1 - shares, color="black", label="theory")
ax.plot(shares, scores, "o", label="without noise")
ax.plot(shares, plain, "s", label="plain")
ax.set(xlabel="share of the pair", ylabel="parallelism of shape", title="Abstraction")
ax.legend()
