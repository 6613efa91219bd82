"""
Do trained networks swing as theory predicts?
=============================================

Eight four-layer linear networks learn two concepts by stochastic gradient descent. Theory follows
the flow of each network on the population from its initial weights (Yang et al., ICLR 2025, have
the task). Which of them rise, and when, follows from these weights.

The picture shows the error at the unseen combination over time, eight times. Trained curves
(solid) and predicted ones (dashed) lie on each other, those that fall, rise and fall again too.
"""

import matplotlib.pyplot as plt

import partwhole as pw

task = pw.tasks.StructuredIdentity(means=[2, 4], scales=[0.2, 0.2], origin=True)
networks = pw.networks.Architecture(layers=4, width=4).networks(2, seeds=range(8))
training = pw.Training.published("identity", learning_rate=0.005)
runs = pw.train(networks, task, training, progress=False)
compared = pw.training.beside_theory(runs)

figure, ax = plt.subplots(figsize=(4.8, 3.2))
for trained, predicted in zip(compared.trained_losses, compared.losses, strict=True):
    (line,) = ax.plot(compared.times, trained, linewidth=1.2)
    ax.plot(compared.times, predicted, "--", color=line.get_color(), linewidth=1.2)
rises = [
    pw.measures.swing(compared.times, losses, threshold=0.05).occurs
    for losses in (compared.trained_losses, compared.losses)
]
print(f"the error rises in {rises[0].sum()} networks, predicted in {rises[1].sum()}")
assert (rises[0] == rises[1]).mean() > 0.8
ax.set(xscale="log", xlim=(0.1, 20), ylim=(0, 5), xlabel="time (gradient flow)")
ax.set_ylabel("error at the unseen combination")
ax.set_title("Trained (solid) and predicted (dashed)")
