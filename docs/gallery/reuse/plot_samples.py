"""
How many samples does pretraining save?
=======================================

A main task needs five of the ten features that an auxiliary task used. Single-task learning
prefers few features of 200, finetuning few of those ten. Theory solves for the end of learning at
each sample size; the tasks are those of Lippl & Lindsey (NeurIPS 2024).

The picture shows the test error over samples of the main task, on logarithmic axes. Both curves
fall steeply; that of finetuning falls first.
"""

import matplotlib.pyplot as plt

import partwhole as pw

task = pw.tasks.SparseTeachers(dimension=200, active_aux=10, active_main=5, overlap=5)
sizes = (4, 8, 12, 16, 24, 32, 48)
predicted = pw.recommendation.predict_losses(
    task, sizes, methods=["single-task", "finetuning"], rescalings=[0.1], seeds=range(4),
    progress=False,
)  # fmt: skip
needed = {n.method.label: n.samples for n in predicted.samples_needed(0.1)}
print({name: round(samples, 1) for name, samples in needed.items()})
assert needed["finetuning, c = 0.1"] < needed["single-task"]

figure, ax = plt.subplots(figsize=(4.6, 3.0))
for method, losses in zip(predicted.methods, predicted.mean, strict=True):
    ax.plot(sizes, losses, "o-", label=method.label)
ax.set(xscale="log", yscale="log", xlabel="samples of the main task", ylabel="test error")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.set_title("Finetuning needs fewer samples")
ax.legend()
