"""Contexts as components of a task: what units with own gates learn is additive over them."""

import numpy as np
import pytest

from partwhole import solve, tasks
from partwhole.features.conjunctions import ConjunctionDesign
from partwhole.features.gates.design import GatedDesign
from partwhole.limits import Equal, GroupNorm, Margin, Quadratic
from partwhole.measures import accuracy

TASK = tasks.symbolic_addition(values=range(-2, 3), anchors=[0])
SEEN = TASK.is_train


def by_units(rows):
    """Return each component as the context of a unit, fed by a constant."""
    components = TASK.components[rows]
    return GatedDesign(np.ones((len(components), 1)), components, max(TASK.n_values))


def jointly(rows):
    """Return each seen combination as a context of one unit; it is off for new ones."""
    codes = TASK.components @ np.array([100, 1])
    places = {code: place for place, code in enumerate(np.unique(codes[SEEN]).tolist())}
    contexts = np.array([[places.get(code, -1)] for code in codes[rows].tolist()])
    return GatedDesign(np.ones((len(contexts), 1)), contexts, len(places))


EVERY = np.ones(len(TASK.components), dtype=bool)


@pytest.mark.parametrize("fit", [Equal(), Margin()])
def test_a_sum_over_units_is_a_sum_over_components(fit):
    """Least squares of gated units are those of conjunctions of one component."""
    targets = TASK.targets[SEEN]
    if isinstance(fit, Margin):
        targets = np.where(targets > 0, 1.0, -1.0)
    gated = solve((by_units(SEEN), targets), cost=Quadratic(), fit=fit, intercept="none")
    design = ConjunctionDesign.seen(TASK.components[SEEN], ((0,), (1,)), TASK.n_values)
    conjunctions = solve((design, targets), cost=Quadratic(), fit=fit, intercept="none")
    assert gated.value == pytest.approx(conjunctions.value, rel=1e-9)
    answers = gated.predict(by_units(EVERY))
    # Solved to a relative gap of 1e-12: outputs agree to about its root.
    np.testing.assert_allclose(answers, conjunctions.predict(design.at(TASK.components)), atol=1e-6)


@pytest.mark.parametrize("cost", [Quadratic(), GroupNorm()])
def test_own_gates_transfer_and_joint_ones_answer_nothing(cost):
    targets = TASK.targets[SEEN]
    separate = solve((by_units(SEEN), targets), cost=cost, intercept="none")
    joint = solve((jointly(SEEN), targets), cost=cost, intercept="none")
    answers, zeros = separate.predict(by_units(EVERY)), joint.predict(jointly(EVERY))
    # Every combination is determined by additivity: the sums are right.
    np.testing.assert_allclose(answers, TASK.targets, atol=1e-6)
    np.testing.assert_allclose(zeros[SEEN], targets, atol=1e-6)
    assert (zeros[~SEEN] == 0.0).all()
    signs = np.where(TASK.targets[~SEEN] > 0, 1.0, -1.0)
    assert accuracy(signs, zeros[~SEEN]).value == 0.5
