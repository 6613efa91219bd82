"""
Do wide networks answer as a kernel predicts?
=============================================

Six ReLU networks of 300 units learn sums of two numbers of which one is 0. From large initial
weights they should behave as kernel machines do, each with the tangent kernel of its initial
weights (Jacot et al., NeurIPS 2018). These kernels leave a part of each sum to memory.

The picture shows answers to unseen sums, mean of six networks, against predictions. Points lie
along the diagonal, seen sums (circles) and held-out ones (dots).
"""

import jax

import partwhole as pw

task = pw.tasks.symbolic_addition(range(-4, 5), [0])
x, seen = task.one_hot(), task.is_train
wide = pw.networks.Architecture(2, 300, "relu", initial="he", scale=1.0)
start = wide.networks(18, seeds=range(6), outputs=1)
training = pw.Training(steps=3000, learning_rate=3e-3, threshold=1e-4)
runs = pw.train(start, (x[seen], task.train_targets), training, read=x, progress=False)

answers = runs.answers[:, -1, :, 0].astype(float)
networks = [jax.tree.map(lambda weights, i=i: weights[i], start) for i in range(6)]
kernels = [pw.training.kernel_regime(network, x, task.targets, seen) for network in networks]
compared = pw.compare(task, answers, [kernel.limit for kernel in kernels])
print(compared.describe())
errors = answers.mean(axis=0) - compared.predictions.mean(axis=0)
assert errors[~seen].std() < 0.1 * task.test_targets.std()
ax = compared.plot()
ax.set_title("Sums of numbers")
