"""Several outputs: against Clarabel, liblinear, one output at a time, and training itself."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.svm import LinearSVC

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import DenseDesign, HalfspaceGates, OverlapKernel
from partwhole.features.checking import check_design
from partwhole.features.design import Block
from partwhole.features.outputs import OutputsDesign
from partwhole.limits import Equal, GroupNorm, HyperbolicEntropy, Margin, Outcome, Quadratic, Tube
from partwhole.limits.costs import (
    ChainNorm,
    FunctionSpaceL2,
    L1Norm,
    LinearProbing,
    NuclearNorm,
    SchattenNorm,
)
from partwhole.limits.costs.conjugate_cost import Conjugate, ConjugateCost

ORACLE = 1e-7  # Clarabel ends at a relative gap of 1e-8
RNG = np.random.default_rng(4)
X, TEACHER = RNG.normal(size=(14, 6)), RNG.normal(size=(6, 3))
CLASSES, LABELS = np.eye(3)[(X @ TEACHER).argmax(axis=1)], np.sign(X @ TEACHER)
SINGLE = tuple(Block(d, d, d + 1) for d in range(6))
PAIRS = tuple(Block(g, 2 * g, 2 * g + 2) for g in range(3))
UNEVEN = (Block("a", 0, 1), Block("b", 1, 4), Block("c", 4, 6))
WEIGHTS = np.array([1.0, 0.3, 2.0])


class ElasticNet(ConjugateCost):
    def conjugate(self, design, u):
        excess = np.maximum(np.abs(u) - 1.0, 0.0)
        curvature = (excess > 0.0).astype(float)
        return Conjugate(0.5 * np.sum(excess**2), np.sign(u) * excess, curvature)


def _nuclear(coefficients, blocks, weights=None, rows=1):
    """Return the sum of the nuclear norms of the blocks, stacked over outputs."""
    total = 0.0
    for place, block in enumerate(blocks):
        size = block.stop - block.start
        matrices = [
            cp.reshape(coefficients[block.columns, o], (rows, size // rows), order="C")
            for o in range(coefficients.shape[1])
        ]
        total += (1.0 if weights is None else weights[place]) * cp.normNuc(cp.vstack(matrices))
    return total


def _kind(cost):
    return type(cost).__name__


COSTS = {
    "quadratic": (Quadratic(), PAIRS, lambda c: 0.5 * cp.sum_squares(c)),
    "weighted": (
        Quadratic({0: 0.5, 2: 3.0}),
        PAIRS,
        lambda c: (
            cp.sum_squares(c[:2]) + 0.5 * cp.sum_squares(c[2:4]) + cp.sum_squares(c[4:]) / 6.0
        ),
    ),
    "l1": (L1Norm(), PAIRS, lambda c: cp.sum(cp.abs(c))),
    "elastic": (ElasticNet(), PAIRS, lambda c: cp.sum(cp.abs(c)) + 0.5 * cp.sum_squares(c)),
    "group": (GroupNorm(), SINGLE, lambda c: cp.sum(cp.norm(c, axis=1))),
    "matrices": (GroupNorm(), PAIRS, lambda c: _nuclear(c, PAIRS)),
    "uneven": (GroupNorm(WEIGHTS), UNEVEN, lambda c: _nuclear(c, UNEVEN, WEIGHTS)),
    "nuclear": (NuclearNorm(2), PAIRS, lambda c: _nuclear(c, PAIRS, rows=2)),
}


def _oracle(targets, cost, fit, intercept):
    """Return the least value and the outputs of the primal problem, written out for Clarabel."""
    coefficients, constant = cp.Variable((X.shape[1], 3)), cp.Variable((1, 3))
    outputs = X @ coefficients + np.ones((len(X), 1)) @ constant
    misfit, constraints = 0.0, []
    total = cost(coefficients)
    if intercept == "none":
        constraints.append(constant == 0)
    elif intercept != "free":
        total += 0.5 * intercept * cp.sum_squares(constant)
    if isinstance(fit, Margin) and targets.min() == 0.0:
        others = np.argwhere(targets == 0.0)
        ahead = np.stack([np.outer(np.eye(len(X))[i], targets[i] - np.eye(3)[j]).ravel()
                          for i, j in others])  # fmt: skip
        leads = ahead @ cp.vec(outputs, order="C")
    else:
        leads = cp.multiply(targets, outputs)
    if fit.slack:
        misfit = cp.Variable(leads.shape if isinstance(fit, Margin) else targets.shape)
        total += cp.sum_squares(misfit) / (2.0 * fit.slack)
    if isinstance(fit, Margin):
        constraints.append(leads >= 1.0 - misfit)
    elif isinstance(fit, Tube):
        constraints.append(cp.abs(outputs + misfit - targets) <= fit.width)
    else:
        constraints.append(outputs + misfit == targets)
    problem = cp.Problem(cp.Minimize(total), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, outputs.value


# Every intercept, and slack, with every cost and kind of targets.
@pytest.mark.parametrize(
    ("slack", "intercept"), [(0.0, "none"), (0.0, "free"), (0.0, 0.7), (0.3, "free")]
)
@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("targets", ["classes", "labels"])
def test_margins_equal_clarabel(targets, name, slack, intercept):
    cost, blocks, value = COSTS[name]
    chosen, fit = CLASSES if targets == "classes" else LABELS, Margin(slack)
    limit = solve((DenseDesign(X, blocks), chosen), cost=cost, fit=fit, intercept=intercept)
    least, _ = _oracle(chosen, value, fit, intercept)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - least) <= limit.gap + ORACLE * least
    assert limit.coefficients.shape == (6, 3)
    assert limit.multipliers.shape == (14, 3)
    assert np.shape(limit.intercept) == (3,)


@pytest.mark.parametrize(
    ("fit", "intercept"),
    [
        (Equal(0.2), "none"), (Equal(0.2), "free"), (Equal(0.2), 0.7),
        (Tube(0.2), "free"), (Tube(0.3, 0.1), "none"), (Tube(0.3, 0.1), 0.7),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", COSTS)
def test_other_fits_equal_clarabel(name, fit, intercept):
    cost, blocks, value = COSTS[name]
    targets = X @ TEACHER + np.sin(np.arange(42.0)).reshape(14, 3)
    if isinstance(fit, Tube) and not fit.slack:
        targets = X @ TEACHER
    limit = solve((DenseDesign(X, blocks), targets), cost=cost, fit=fit, intercept=intercept)
    least, _ = _oracle(targets, value, fit, intercept)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - least) <= limit.gap + ORACLE * least


@pytest.mark.parametrize("name", COSTS)
def test_exact_targets_equal_clarabel(name):
    cost, blocks, value = COSTS[name]
    rows = slice(0, 4)
    design = DenseDesign(X[rows], blocks)
    limit = solve((design, (X @ TEACHER)[rows]), cost=cost, intercept="free")
    coefficients, constant = cp.Variable((6, 3)), cp.Variable((1, 3))
    fits = X[rows] @ coefficients + np.ones((4, 1)) @ constant == (X @ TEACHER)[rows]
    least = cp.Problem(cp.Minimize(value(coefficients)), [fits]).solve(solver=cp.CLARABEL)
    assert limit.outcome is Outcome.SOLVED
    assert abs(limit.value - least) <= limit.gap + ORACLE * least


@pytest.mark.parametrize(("n", "k", "p"), [(30, 3, 5), (60, 4, 8)])
def test_classes_equal_liblinear(n, k, p):
    """With a large penalty the soft margin of Crammer and Singer is the hard one."""
    rng = np.random.default_rng(n)
    inputs = rng.normal(size=(n, p))
    classes = (inputs @ rng.normal(size=(p, k))).argmax(axis=1)
    limit = solve((inputs, np.eye(k)[classes]), fit="margin", intercept="none")
    machine = LinearSVC(
        multi_class="crammer_singer", C=1e5, fit_intercept=False, tol=1e-9, max_iter=10**6
    )
    coefficients = machine.fit(inputs, classes).coef_.T
    assert np.abs(limit.coefficients - coefficients).max() < 1e-6 * np.abs(coefficients).max()


def test_cross_entropy_ends_at_the_margin_of_classes():
    """Gradient descent on the loss, with steps over the loss, nears the margin from below.

    Its normalised margin lacks about log(t) / sqrt(t) of the largest after t steps (Nacson et al.
    2019); ten thousand leave less than one per cent.
    """
    limit = solve((X, CLASSES), fit="margin", intercept="none")
    coefficients, in_class = np.zeros((6, 3)), CLASSES == 1.0
    for _ in range(10_000):
        logs = log_softmax(X @ coefficients, axis=1)
        # The slope times a number, from its logarithm: it underflows long before the end.
        shares = np.exp(np.where(in_class, -np.inf, logs) - logs[~in_class].max())
        away = shares - CLASSES * shares.sum(axis=1, keepdims=True)
        coefficients -= 0.1 * X.T @ away / shares.sum()
    outputs = X @ coefficients
    lead = outputs[in_class] - np.where(in_class, -np.inf, outputs).max(axis=1)
    reached = lead.min() / np.linalg.norm(coefficients)
    assert 0.99 * limit.normalised_margin < reached <= (1.0 + 1e-9) * limit.normalised_margin


def test_weight_decay_of_gated_units_with_two_outputs():
    """Units with the same gates and two readouts reach the value of the nuclear norms, no less."""
    rng = np.random.default_rng(2)
    inputs, targets = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    normals = np.array([[[1.0, 0.2, 0.0]], [[-0.3, 1.0, 0.5]]])
    design = HalfspaceGates(normals, np.zeros((2, 1))).design(inputs)
    slack = 0.5
    limit = solve((design, targets), cost=GroupNorm(), fit=Equal(slack), intercept="none")
    features = design.dense().matrix.reshape(9, 2, -1)
    units, width = 2, features.shape[2]  # units of each gate

    def cost(weights):
        first, last = np.split(weights, [2 * units * width])
        first, last = first.reshape(2, units, width), last.reshape(2, units, 2)
        hidden = np.einsum("ngd,gud->ngu", features, first)
        missed = np.einsum("ngu,guo->no", hidden, last) - targets
        total = 0.5 * np.sum(weights**2) + 0.5 * np.sum(missed**2) / slack
        of_hidden = np.einsum("no,guo->ngu", missed, last) / slack
        of_first = first + np.einsum("ngu,ngd->gud", of_hidden, features)
        of_last = last + np.einsum("no,ngu->guo", missed, hidden) / slack
        return total, np.concatenate([of_first.ravel(), of_last.ravel()])

    size = 2 * units * (width + 2)
    reached = [
        minimize(cost, rng.normal(size=size), jac=True, options={"gtol": 1e-10}).fun
        for _ in range(8)
    ]
    # A minimum of the weights has the value of the limit, up to the tolerance of the descent.
    assert limit.outcome is Outcome.SOLVED
    assert min(reached) >= (1.0 - 1e-7) * limit.value
    assert min(reached) <= (1.0 + 1e-6) * limit.value


@pytest.mark.parametrize("intercept", ["none", "free", 2.0])
def test_two_classes_are_two_signs(intercept):
    """The outputs c and -c have half the coefficients of the sign, at half of its cost."""
    signs = LABELS[:, 0]
    columns = np.stack([signs > 0, signs < 0], axis=1).astype(float)
    # Two constants b / 2 and -b / 2 cost half of what the constant b does.
    classes = solve((X, columns), fit="margin", intercept=intercept)
    sign = solve((X, signs), fit="margin", intercept=intercept)
    assert abs(classes.value - 0.5 * sign.value) <= 1e-9 * sign.value
    lead = classes.predictions @ [1.0, -1.0]
    assert np.abs(lead - sign.predictions).max() < 1e-7 * np.abs(sign.predictions).max()
    assert np.abs(classes.test_margins - sign.test_margins).max(initial=0.0) < 1e-7


@pytest.mark.parametrize(
    "cost", [Quadratic(), L1Norm(), HyperbolicEntropy(0.1, 0.2), ElasticNet()], ids=_kind
)
def test_outputs_without_shared_weights_are_problems_of_their_own(cost):
    for fit, targets in ((Margin(), LABELS), (Tube(0.1), X @ TEACHER), (Equal(0.1), X @ TEACHER)):
        limit = solve((X, targets), cost=cost, fit=fit, intercept="free")
        alone = [solve((X, y), cost=cost, fit=fit, intercept="free") for y in targets.T]
        assert limit.value == pytest.approx(sum(one.value for one in alone), rel=1e-9)
        together = np.stack([one.predictions for one in alone], axis=1)
        assert np.abs(limit.predictions - together).max() < 1e-7


@pytest.mark.parametrize("intercept", ["none", "free"])
def test_a_kernel_has_the_margins_of_its_features(intercept):
    task = tasks.symbolic_addition(range(-2, 3), [-1, 1])
    classes = np.eye(3)[np.sign(task.targets).astype(int) + 1]
    task = replace(task, targets=classes)
    kernel = OverlapKernel.from_salience([0.3])
    limit = solve(task, kernel, fit="margin", intercept=intercept)
    gram = kernel.gram(task.components)
    by_gram = solve(task, gram, fit="margin", intercept=intercept)
    assert limit.outcome is by_gram.outcome is Outcome.SOLVED
    assert abs(limit.value - by_gram.value) < 1e-6 * limit.value
    assert np.abs(limit.predictions - by_gram.predictions).max() < 1e-5
    assert limit.test_margins.shape == (task.n_test,)


def test_the_function_norm_of_classes_is_the_quadratic_cost_of_its_features():
    gates = HalfspaceGates(np.array([[[1.0, 0.3]], [[-0.5, 1.0]]]), np.zeros((2, 1)))
    inputs = X[:, :2]
    targets = np.eye(3)[(inputs @ TEACHER[:2]).argmax(axis=1)]
    design, cost = gates.design(inputs), FunctionSpaceL2()
    limit = solve((design, targets), cost=cost, fit="margin", intercept="none")
    features = cost.features(design)
    plain = solve((features, targets), fit="margin", intercept="none")
    assert limit.outcome is plain.outcome is Outcome.SOLVED
    assert abs(limit.value - plain.value) < 1e-9 * plain.value
    assert np.abs(limit.predictions - plain.predictions).max() < 1e-7


def test_the_widths_of_the_entropy_lead_from_the_quadratic_cost_to_the_absolute_one():
    narrow, wide = (
        solve((X, CLASSES), cost=HyperbolicEntropy(width), fit="margin", intercept="none")
        for width in (1e-60, 1e6)
    )
    least = solve((X, CLASSES), cost=L1Norm(), fit="margin", intercept="none").value
    assert narrow.outcome is wide.outcome is Outcome.SOLVED
    # The entropy of b is |b| ln(4 |b| / k e) / 2: logarithms of b move the least sum by 1 in 138.
    assert least * (1.0 - 1e-9) <= np.abs(narrow.coefficients).sum() < 1.02 * least
    plain = solve((X, CLASSES), fit="margin", intercept="none")
    assert np.abs(wide.predictions - plain.predictions).max() < 1e-6


def test_linear_probing_of_classes():
    cost = LinearProbing(np.zeros(6), np.linspace(0.5, 2.0, 6))
    limit = solve((X, CLASSES), cost=cost, fit="margin", intercept="free")
    scaled = solve((X * cost.scales, CLASSES), fit="margin", intercept="free")
    assert abs(limit.value - scaled.value) < 1e-9 * limit.value


@pytest.mark.parametrize("targets", [CLASSES, LABELS], ids=["classes", "labels"])
@pytest.mark.parametrize("intercept", ["none", "free"])
@pytest.mark.parametrize("cost", [Quadratic(), L1Norm(), GroupNorm()], ids=_kind)
def test_other_units_change_nothing(cost, intercept, targets):
    limit = solve((X, targets), cost=cost, fit="margin", intercept=intercept)
    power = 2 if isinstance(cost, Quadratic) else 1
    for unit in (1e-6, 1e5):
        scaled = solve((unit * X, targets), cost=cost, fit="margin", intercept=intercept)
        assert scaled.outcome is Outcome.SOLVED
        assert scaled.value * unit**power == pytest.approx(limit.value, rel=1e-9)


@pytest.mark.parametrize("intercept", ["none", "free", 0.5])
@pytest.mark.parametrize("cost", [Quadratic(), L1Norm(), GroupNorm()], ids=_kind)
def test_a_proof_that_nothing_fits(cost, intercept):
    rng = np.random.default_rng(6)
    inputs = rng.normal(size=(12, 3))
    classes = np.eye(3)[rng.integers(3, size=12)]
    for targets in (classes, 2.0 * classes - 1.0):
        limit = solve((inputs, targets), cost=cost, fit="margin", intercept=intercept)
        assert limit.outcome is Outcome.INFEASIBLE
        assert np.isnan(limit.predictions).all()
        assert np.isnan(limit.intercept).all()
        v = limit.multipliers
        assert np.abs(inputs.T @ v).max() < 1e-11 * np.abs(v).max()
        if intercept != "none":
            assert np.abs(v.sum(axis=0)).max() < 1e-11 * np.abs(v).max()
        # Outputs that fit would have a positive product: every multiplier has its target's side.
        if targets is classes:
            assert (v[classes == 1.0] >= 0.0).all()
            assert (v[classes == 0.0] <= 0.0).all()
        else:
            assert (v * targets >= 0.0).all()
        assert np.abs(v).max() > 0.0
    soft = solve((inputs, classes), cost=cost, fit=Margin(0.1), intercept=intercept)
    assert soft.outcome is Outcome.SOLVED


def test_chains_of_two_layers_have_the_group_norm():
    for blocks in (SINGLE, PAIRS):
        design = DenseDesign(X, blocks)
        chains = solve((design, CLASSES), cost=ChainNorm(2), fit="margin", intercept="none")
        group = solve((design, CLASSES), cost=GroupNorm(), fit="margin", intercept="none")
        assert abs(chains.value - group.value) < 1e-6 * group.value


@pytest.mark.parametrize(
    ("targets", "blocks"),
    [(CLASSES, SINGLE), (CLASSES, UNEVEN), (LABELS, PAIRS)],
    ids=["classes, single", "classes, uneven", "labels, pairs"],
)
def test_deep_chains_end_at_a_stationary_point(blocks, targets):
    limit = solve(
        (DenseDesign(X, blocks), targets), cost=ChainNorm(3), fit="margin", intercept="none"
    )
    assert limit.outcome is Outcome.STATIONARY
    size = [np.linalg.svd(limit.coefficients[block.columns], compute_uv=False) for block in blocks]
    values = np.concatenate(size)
    assert limit.value == pytest.approx(np.sum(values[values > 1e-12 * values.max()] ** (2 / 3)))
    margins = limit.problem.targets * limit.predictions if targets is LABELS else None
    if margins is not None:
        assert margins.min() > 1.0 - 1e-9
    # From its own coefficients the rounds never rise; they may leave a saddle.
    again = solve(
        (DenseDesign(X, blocks), targets), cost=ChainNorm(3), fit="margin", intercept="none",
        start=limit.coefficients,
    )  # fmt: skip
    assert again.value <= limit.value * (1.0 + 1e-6)


def test_a_start_of_gates_has_an_axis_for_outputs():
    gates = HalfspaceGates(np.array([[[1.0, 0.3]], [[-0.5, 1.0]]]), np.zeros((2, 1)))
    start = RNG.normal(size=(2, 2, 2, 3))
    options = {"cost": SchattenNorm(2, 3), "fit": Equal(0.1), "intercept": "none"}
    limit = solve((X[:, :2], X @ TEACHER), gates, **options, start=start)
    flat = solve((X[:, :2], X @ TEACHER), gates, **options, start=start.reshape(8, 3))
    assert limit.outcome is Outcome.STATIONARY
    assert limit.value == flat.value


def test_columns_of_an_outputs_design():
    inputs, contrasts = np.array([0, 0, 3, 2]), RNG.normal(size=(4, 3))
    for blocks in (SINGLE, PAIRS, UNEVEN):
        design = OutputsDesign(DenseDesign(X, blocks), inputs, contrasts)
        check_design(design)
        coefficients = RNG.normal(size=(6, 3))
        outputs = np.sum((X @ coefficients)[inputs] * contrasts, axis=1)
        assert np.abs(design @ design.in_order(coefficients) - outputs).max() < 1e-12
        assert (design.by_output(design.in_order(coefficients)) == coefficients).all()


def test_pulls_of_active_units_are_one():
    limit = solve(
        (DenseDesign(X, PAIRS), CLASSES), cost=GroupNorm(), fit="margin", intercept="free"
    )
    assert np.abs(limit.pulls[limit.active] - 1.0).max() < 1e-4
    assert limit.pulls.max() < 1.0 + 1e-6


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: solve((X, np.full((14, 3), 2.0)), fit="margin", intercept="none"),
            "margins of several outputs need labels -1 and +1, or classes as one-hot rows of 0 and "
            "1; got targets in 2..2; recode the targets; for numbers use the fit Equal or Tube",
        ),
        (
            lambda: solve(
                (X, LABELS), cost=ChainNorm(3), fit="margin", intercept="none", start=np.ones(6)
            ),
            "a start has coefficients of shape (6, 3); got (6,); or leave it out",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("salience", [0.25, 1.0, 8.0])
def test_a_class_without_inputs_costs_nothing_under_a_free_intercept(salience):
    """Its constant may be as low as it takes; kept in the system it made it singular."""
    rng = np.random.default_rng(0)
    codes = np.stack(np.unravel_index(np.arange(18), (3, 3, 2)), axis=1)
    inputs = np.hstack([np.eye(3)[codes[:, 0]] * salience, np.eye(3)[codes[:, 1]]])
    inputs = np.hstack([inputs, np.eye(2)[codes[:, 2]], 0.01 * rng.normal(size=(18, 3))])
    classes = np.eye(2)[codes[:, 2]]
    without = solve((inputs, classes), cost=Quadratic(), fit=Margin(), intercept="free")
    absent = np.hstack([classes, np.zeros((18, 1))])
    limit = solve((inputs, absent), cost=Quadratic(), fit=Margin(), intercept="free")
    assert limit.outcome is Outcome.SOLVED
    assert limit.value == pytest.approx(without.value, rel=1e-7)
    np.testing.assert_allclose(limit.coefficients[:, 2], 0.0, atol=1e-12)
    outputs = limit.predict(inputs)
    right = np.take_along_axis(outputs, codes[:, 2:], axis=1)[:, 0]
    assert (right - outputs[:, 2]).min() == pytest.approx(1.0)
    assert any("a class without inputs" in note for note in limit.assumptions)
