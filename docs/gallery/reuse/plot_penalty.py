"""
When is an old feature preferred, and when are few preferred?
=============================================================

The penalty on a coefficient β of the main task depends on what was learned, β_aux. Its order, ∂ ln
R / ∂ ln β, is 1 where few features are preferred and 2 where they are not; its feature dependence,
∂ ln R / ∂ ln β_aux, is below 0 where old features are cheaper. For small readouts the two add up
to 1 (derived here). Between the regimes lies one with few features, old ones first: the nested
regime of Lippl & Lindsey (NeurIPS 2024).

The picture shows both over β_aux / β on a logarithmic axis, for finetuning and for multi-task
learning. The order rises from 1 to 2 and the dependence falls from 0 to -1, over more than four
decades for finetuning, and over little more than one for multi-task learning.
"""

import matplotlib.pyplot as plt
import numpy as np

from partwhole.limits.penalties.finetuning import finetuning_penalty
from partwhole.limits.penalties.multitask import multitask_penalty

ratio = np.logspace(-6, 3, 901)
figure, ax = plt.subplots(figsize=(4.8, 3.2))
for name, profile in (
    ("finetuning", finetuning_penalty(1.0, ratio)),
    ("multi-task", multitask_penalty(1.0, ratio)),
):
    np.testing.assert_allclose(profile.order + profile.feature_dependence, 1, atol=1e-9)
    rising = ratio[(profile.order > 1.1) & (profile.order < 1.9)]
    decades = np.log10(rising[-1] / rising[0])
    print(f"{name}: the order rises from 1.1 to 1.9 over {decades:.1f} decades")
    (line,) = ax.plot(ratio, profile.order, label=f"{name}, order")
    ax.plot(ratio, profile.feature_dependence, "--", color=line.get_color(), label="dependence")
ax.set(xscale="log", xlabel="learned over new coefficient", ylabel="power of the penalty")
ax.set_title("Between reuse and sparsity")
ax.legend(fontsize="small", loc="center left")
