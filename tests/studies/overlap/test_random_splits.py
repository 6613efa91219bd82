"""How many random combinations training needs before others follow."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from study_cells import computed, stored_data
from study_rules import require_whole, verdicts

from partwhole.limits import determination
from partwhole.limits.random_splits import dimensions
from partwhole.tasks import Task
from partwhole_studies.overlap import random_splits as study


def test_it_is_whole():
    require_whole(study, study.gather(computed(study)))


@pytest.mark.parametrize(("n_components", "order"), [(3, 1), (3, 2), (4, 2)])
@pytest.mark.parametrize("ratio", [0.8, 0.95, 1.1])
def test_what_vanishes_is_what_training_determines(n_components, order, ratio):
    """Random functions that are 0 at a row, beside the library's proofs."""
    n, seed = 6, 3
    values = (n,) * n_components
    rows = int(ratio * dimensions(values, order))
    index = study.conjunctions(n, n_components, order, n**n_components, seed)
    drawn = np.random.default_rng(1).normal(size=(index.max() + 1, study.FUNCTIONS))
    grid = np.array(list(product(range(n), repeat=n_components)))
    of_grid = study.conjunctions_of(grid, n, order)
    place = {tuple(row): at for at, row in enumerate(of_grid.tolist())}
    components = grid[[place[tuple(row)] for row in index.tolist()]]
    task = Task(
        components,
        np.zeros(len(components)),
        np.arange(len(components)) < rows,
        tuple("abcd"[:n_components]),
        (tuple(range(n)),) * n_components,
    )
    share, _ = study.measured(index, rows, drawn)
    assert share == determination(task, max_order=order).share


def test_the_error_is_that_of_least_squares():
    index = study.conjunctions(5, 3, 2, 125, 0)
    drawn = np.random.default_rng(0).normal(size=(75, 1))
    design = np.zeros((125, 75))
    design[np.arange(125)[:, None], index] = 1.0
    targets = design @ drawn[:, 0]
    fitted = np.linalg.lstsq(design[:50], targets[:50], rcond=1e-10)[0]
    expected = np.mean((design[50:] @ fitted - targets[50:]) ** 2) / np.mean(targets[50:] ** 2)
    assert study.measured(index, 50, drawn)[1] == pytest.approx(expected, rel=1e-5)


def test_the_jump_is_that_of_random_systems():
    """(1 - t)**3 with t = .1169 where 3 unknowns are in a row; none for 2."""
    # 3 (1 - t) + (1 + 2 t) log t = 0, from Linial & Peled (2016).
    t = 0.11682
    assert 3 * (1 - t) + (1 + 2 * t) * np.log(t) == pytest.approx(0, abs=1e-3)
    assert study.jump(3) == pytest.approx((1 - t) ** 3, abs=2e-3)
    assert 0.89 < study.jump(4) < study.jump(6) < 1.0


def test_a_crossing_elsewhere_is_noticed():
    data = stored_data(study)
    early = data.assign(crossing=data.crossing - 0.1, error=data.error + 0.1)
    assert verdicts(study, early)["three"] == "does not hold"
    assert verdicts(study, early)["pairs"] == "does not hold"
    assert verdicts(study, early)["error"] == "does not hold"
    less = data.assign(determined=0.9 * data.determined)
    assert verdicts(study, less)["jump"] == "does not hold"
