"""
How much of a ReLU network is its gates?
========================================

A ReLU network of 30 units learns which digits are below five, from 150 pictures. Frozen as
training left them, its gates give a limit (Lippl, Abbott & Chung, 2022). It is laid beside the
network and a linear classifier on pictures that none of them saw.

The picture shows the output of the limit over that of the network, a point for each test picture,
both in units of their spread. The points form a rising band: the two mostly decide alike.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import partwhole as pw

pixels, digits = map(np.asarray, load_digits(return_X_y=True))
order = np.random.default_rng(0).permutation(len(digits))
x = np.column_stack([pixels[order] / 8 - 1, np.ones(len(order))])
y = np.where(digits[order] < 5, 1.0, -1.0)
start = pw.networks.GatedNetwork.draw(65, [pw.networks.LearnedGates(30), 1], seed=0, initial="he")
training = pw.Training(steps=600, loss="logistic", learning_rate=0.04, momentum=0.9, batch=64)
runs = pw.train([start], (x[:150], y[:150]), training, progress=False)
network = runs.networks[0].with_frozen_gates()

limit = pw.solve((x[:150], y[:150]), network.gates[0], fit="margin", intercept="none")
linear = pw.solve((x[:150], y[:150]), fit=pw.limits.Margin(slack=1.0), intercept="none")
test, truth = x[150:], y[150:]
errors = [np.mean(learner.predict(test) * truth < 0) for learner in (network, limit, linear)]
print("test errors: {:.3f}, {:.3f} of the limit, {:.3f} linear".format(*errors))
assert abs(errors[0] - errors[1]) < 0.03 < errors[2] - errors[1]
outputs = [learner.predict(test) for learner in (network, limit)]
figure, ax = plt.subplots(figsize=(4.0, 3.4))
ax.scatter(*[answers / answers.std() for answers in outputs], s=6, alpha=0.4)
ax.set(xlabel="trained network", ylabel="limit of its gates", title="Unseen digits")
