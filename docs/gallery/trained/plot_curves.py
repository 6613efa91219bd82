"""
How do many networks learn at once?
===================================

Sixteen ReLU networks of 50 units learn the same 200 points from other initial weights. One call
trains them all, and reads their loss on 100 further points on the way.

The picture shows losses over training steps: a median line and a band from the 10 % to the 90 %
quantile of runs, for training and for the test. Both fall; the test loss stays above that of
training.
"""

import numpy as np

import partwhole as pw

rng = np.random.default_rng(0)
x = rng.normal(size=(300, 5))
y = np.sin(2 * x[:, 0]) + x[:, 1]
train, test = (x[:200], y[:200]), (x[200:], y[200:])

networks = pw.networks.Architecture(2, 50, "relu", initial="he", scale=1.0).networks(
    5, seeds=range(16), outputs=1
)
training = pw.Training(steps=1000, learning_rate=0.02, record=50)
runs = pw.train(networks, train, training, test=test, progress=False)
print(runs)
assert (runs.training_loss[:, -1] < 0.2 * runs.training_loss[:, 0]).all()

(ax,) = runs.plot()
ax.set_title("Sixteen networks")
