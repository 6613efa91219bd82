"""
Why does the error rise before it falls?
========================================

Each of two concepts was seen alone; the network is asked for both. While the strong concept is
learned, a minor entry of the map mimics the weak one. It then decays, and the error returns
towards a plateau, half the squared mean of the weak concept, until that is learned itself:
swing-by (Yang et al., ICLR 2025). The rise needs initial rows that are correlated.

The picture shows two curves of the error at the unseen combination, and a dotted line at the
plateau. With correlated rows the error falls, rises between two dots, and falls again; without
correlation it only falls.
"""

import matplotlib.pyplot as plt
import numpy as np

import partwhole as pw

task = pw.tasks.StructuredIdentity(means=[3, 1], scales=[0.05, 0.05])
times = np.linspace(0, 8, 1601)
figure, ax = plt.subplots(figsize=(4.6, 3.2))
for rho in (0.5, 0.0):
    start = 0.01 * np.array([[1, rho], [rho, 1]])
    losses = pw.flow(pw.flows.Tied(start, task.second_moment()), times).probe_losses(task.probe)
    ax.plot(times, losses, label=f"correlation {rho:g}")
    rise = pw.measures.swing(times, losses)
    assert bool(rise.occurs) == (rho > 0)
    if rise.occurs:
        ends = np.array([rise.minimum_time, rise.maximum_time])
        ax.plot(ends, np.interp(ends, times, losses), "o", color="black", zorder=3)
        print(f"the error rises by {rise.amplitude:.3f} from {ends[0]:.2f} to {ends[1]:.2f}")
ax.axhline(1**2 / 2, color="0.5", linestyle=":")
ax.set(xlabel="time (paper)", ylabel="error at the unseen combination", ylim=(0, 1))
ax.set_title("Swing-by")
ax.legend()
