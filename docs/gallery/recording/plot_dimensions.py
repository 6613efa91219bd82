"""
How many dimensions do handwritten digits use?
==============================================

The participation ratio counts the dimensions of ten mean pictures. From a few pictures of a digit
it is too high, because noise has many dimensions. The estimate for recordings takes noise out;
pictures stand for trials and pixels for neurons.

The picture shows dimensions over pictures of each digit, means of 20 draws, and a line at the
ratio of all 1,797. The plain ratio comes down to it from above; the other scatters about it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import partwhole as pw
from partwhole.measures.dimensions import participation_ratio
from partwhole.measures.recorded_dimensions import recorded_dimensions

pixels, digits = map(np.asarray, load_digits(return_X_y=True))
of_digit, rng = [np.flatnonzero(digits == k) for k in range(10)], np.random.default_rng(0)
means = np.array([pixels[rows].mean(axis=0) for rows in of_digit])
truth = participation_ratio(means, center=True)

counts, estimates = [4, 6, 8, 12, 16], []
for n in counts * 20:
    rows = np.concatenate([rng.choice(members, n, replace=False) for members in of_digit])
    recording = pw.recordings.from_trials(pixels[rows], digits[rows][:, None])
    dimensions = recorded_dimensions(recording)
    estimates.append([dimensions.uncorrected, dimensions.value])
plain, corrected = np.reshape(estimates, (20, 5, 2)).mean(axis=0).T
assert min(plain) > truth
assert abs(np.mean(corrected) - truth) < 0.15
figure, ax = plt.subplots(figsize=(4.6, 3.0))
ax.axhline(truth, color="black", label="all pictures")
ax.plot(counts, plain, "s-", label="plain")
ax.plot(counts, corrected, "o-", label="without noise")
ax.set(xlabel="pictures of each digit", ylabel="dimensions", title="Means of digits")
ax.legend()
