"""
Pretrain and finetune, learn both tasks, or start from scratch?
===============================================================

40 of 400 features were learned in an auxiliary task; the main task needs five of them and has 24
samples. Theory gives the test error of each way without training a network. The tasks, and
finetuning after all weights are multiplied by c, are those of Lippl & Lindsey (NeurIPS 2024): a
small c makes new features costly.

The picture shows a bar for each way on a logarithmic axis, the lowest error first. Finetuning with
c = 0.01 is lowest by far; learning the main task alone is highest.
"""

import matplotlib.pyplot as plt

import partwhole as pw

advice = pw.recommend(
    dimension=400, active_aux=40, active_main=5, overlap=5, main_scale="1/a",
    n_main=24, rescalings=[1, 0.01], seeds=range(2), progress=False,
)  # fmt: skip
losses = {
    method.label: loss
    for method, loss in zip(advice.predicted.methods, advice.predicted.mean[:, 0], strict=True)
}
names = [method.label for method in advice.ranking]
assert names[0] == "finetuning, c = 0.01"
assert names[-1] == "single-task"
assert losses[names[0]] < 0.1 * losses["single-task"]

figure, ax = plt.subplots(figsize=(5.4, 2.6))
ax.barh(names, [losses[name] for name in names], color=["C1"] + ["C0"] * 4)
ax.invert_yaxis()
ax.set(xscale="log", xlabel="test error", title="24 samples of the main task")
