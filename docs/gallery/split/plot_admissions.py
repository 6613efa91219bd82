"""
What do the other cells of a table say about one?
=================================================

The six largest departments of Berkeley admitted men and women in 1973 (Bickel et al., Science
1975). Three cells are held out. The audit says that the others determine them if department and
gender add up in log odds. A kernel without memory gives that answer, be it right or not.

The picture shows predicted over actual log odds. Circles, training cells, lie near the diagonal;
of three dots, the held-out cells, that of women in department A lies farthest from it, and below.
"""

import numpy as np
import pandas as pd

import partwhole as pw

men = [(512, 313), (353, 207), (120, 205), (138, 279), (53, 138), (22, 351)]
women = [(89, 19), (17, 8), (202, 391), (131, 244), (94, 299), (24, 317)]
table = pd.DataFrame(
    [(d, g, np.log(yes / no)) for g, cells in (("men", men), ("women", women))
     for d, (yes, no) in zip("ABCDEF", cells, strict=True)],
    columns=["department", "gender", "log odds"],
)  # fmt: skip
held_out = table["department"].isin(["A", "C"]) & (table["gender"] == "women")
held_out |= (table["department"] == "E") & (table["gender"] == "men")
table["split"] = np.where(held_out, "test", "train")
parts = ["department", "gender"]
print(pw.audit_split(table, parts, target="log odds", split="split").headline)

task = pw.tasks.from_frame(table, parts, "log odds", "split")
additive = pw.features.OverlapKernel.from_salience([0.4999], n_components=2)
limit = pw.solve(task, additive, intercept="free", fit=pw.limits.Equal(slack=1e-3))
parts = np.hstack([np.ones((12, 1)), task.one_hot()])
fit = np.linalg.lstsq(parts[task.is_train], task.train_targets)[0]
np.testing.assert_allclose(limit.predictions, parts @ fit, atol=0.01)
misses = (limit.predictions - task.targets)[~task.is_train]
assert misses.argmin() == np.abs(misses).argmax()
ax = limit.plot(kind="scatter")
ax.set(xlabel="actual log odds", ylabel="predicted", title="Admissions")
