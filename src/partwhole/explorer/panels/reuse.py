"""When is an old feature reused, and when are few features chosen?

Of 100 features 20 were pretrained, and the main task needs five, some of them old. Finetuning
starts with the first layer multiplied by c. With a large c old features are reused as they are
(lazy); with a small c few features are preferred, old or new (rich); between them few are
preferred, and old ones to new ones (nested).

Left the order of the penalty over c, on an old and on a new feature: 2 where features are reused as
they are, 1 where few are preferred. Right the coefficients of the main task, a circle for each that
is true and a dot for each that finetuning ends at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np

import partwhole as pw
from partwhole.explorer.controls import Slider, even
from partwhole.limits.limit import Limit
from partwhole.limits.penalties.finetuning import finetuning_penalty
from partwhole.limits.penalties.regimes import regime


def reuse(
    axes: list[Any],
    print: Callable[..., None],
    c: Annotated[float, Slider("c", even(-3.0, 1.0, 0.25, decades=True))] = 0.1,
    overlap: Annotated[int, Slider("Old features among the five", (0, 1, 2, 3, 4, 5))] = 4,
    n_main: Annotated[int, Slider("Samples", (6, 8, 10, 12, 16, 20, 24, 32, 40, 60))] = 24,
) -> Iterator[Limit]:
    task = pw.tasks.SparseTeachers(
        dimension=100, active_aux=20, active_main=5, overlap=overlap, main_scale="1/a"
    )
    sample = task.sample(seed=0, n_main=n_main, n_test=500)
    gamma, alpha = 1e-5, 1e-3
    cost = pw.limits.HyperbolicEntropy.after_finetuning(
        sample.auxiliary, readout_scale=gamma, init_scale=alpha, rescale=c
    )
    limit = pw.solve((sample.inputs, sample.targets), cost=cost, intercept="none")
    yield limit

    needed, learned = np.abs(sample.main).max(), np.abs(sample.auxiliary).max()
    penalty = finetuning_penalty(needed, learned, readout_scale=gamma, init_scale=alpha, rescale=c)
    name = regime(float(penalty.order), float(penalty.feature_dependence))
    print(
        f"The penalty on an old feature grows as the coefficient to the power {penalty.order:.2f}"
    )
    print(f"and as what was learned to the power {penalty.feature_dependence:.2f}: {name}.")
    error, of_zero = sample.test_error(limit.coefficients), sample.test_error(0 * sample.main)
    print(f"Mean squared error on {len(sample.test_inputs)} new inputs: {error:.2g}, where "
          f"answering 0 has {of_zero:.2g}.")  # fmt: skip

    log_c = np.linspace(-3, 1, 81)
    for label, pretrained in (("old", learned), ("new", 0.0)):
        penalties = finetuning_penalty(
            needed, pretrained, readout_scale=gamma, init_scale=alpha, rescale=10**log_c
        )
        axes[0].plot(log_c, penalties.order, label=f"{label} feature")
    axes[0].axvline(np.log10(c), color="black", linewidth=1)
    axes[0].set(xlabel="log10 c", ylabel="order of the penalty")
    axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize="small")
    true = np.flatnonzero(sample.main)
    axes[1].plot(true, sample.main[true], "o", markerfacecolor="none", color="black", label="true")
    axes[1].plot(limit.coefficients, "o", markersize=3, color="C0", label="finetuned")
    axes[1].set(xlabel="feature", ylabel="coefficient")
    axes[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize="small")
