"""Closed forms against `solve` on their own tasks, and against the facts of section G.

Interpolation agrees to 1e-10 (rounding of two routes), margins to 1e-8, facts to the 1e-6 told.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tasks import kernels

from partwhole import solve, tasks
from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.limits import memorization_leak, shortcut_margin
from partwhole.limits.addition import addition_law, effective_salience
from partwhole.limits.ordering import transitive_ranks
from partwhole.limits.shortcut import shortcut_boundary
from partwhole.limits.toys import invariance_margin, partial_exposure_margin

NINE = list(range(-4, 5))
SALIENCES = (0.1, 0.2, 0.3, 0.4, 0.45, 0.5)
G3 = {
    1: (0.111111, 0.250000, 0.428571, 0.666667, 0.818182, 1),
    2: (0.200000, 0.400000, 0.600000, 0.800000, 0.900000, 1),
    3: (0.272727, 0.500000, 0.692308, 0.857143, 0.931034, 1),
    4: (0.333333, 0.571429, 0.750000, 0.888889, 0.947368, 1),
    5: (0.384615, 0.625000, 0.789474, 0.909091, 0.957447, 1),
}
ANCHORS = {1: [0], 2: [-2, 2], 3: [-1, 0, 1], 4: [-4, -1, 1, 4], 5: [-3, -2, 0, 2, 3]}


def slope(task, predictions):
    target = task.test_targets
    return float(predictions @ target / (target @ target))


@pytest.mark.parametrize("n_anchors", G3)
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_leak_table(n_anchors, intercept):
    """G-3: the formula, the law and the interpolant; residuals from the line below 1e-12."""
    for salience, stated in zip(SALIENCES, G3[n_anchors], strict=True):
        assert abs(memorization_leak(salience, n_anchors) - stated) < 1e-6
        task = tasks.symbolic_addition(NINE, ANCHORS[n_anchors])
        limit = solve(task, OverlapKernel.from_salience([salience]), intercept=intercept)
        m = memorization_leak(salience, n_anchors)
        residual = np.abs(limit.test_predictions - m * task.test_targets).max()
        assert residual < 1e-12
        np.testing.assert_allclose(limit.predictions[task.is_train], task.train_targets, atol=1e-11)


def test_leak_with_four_far_anchors():
    task = tasks.symbolic_addition(NINE, [-4, -1, 1, 4])
    limit = solve(task, OverlapKernel.from_salience([0.22]), intercept="free")
    assert abs(slope(task, limit.test_predictions) - 0.611111) < 1e-6
    assert abs(memorization_leak(0.22, 4) - 0.611111) < 1e-6


def test_anchor_slopes():
    """G-4."""
    law = addition_law(
        [NINE] * 2, [[-2, 2]] * 2, OverlapKernel.from_salience([0.3]), intercept="free"
    )
    assert np.abs(law.anchor_slopes - 0.870968).max() < 1e-6
    task = tasks.symbolic_addition(NINE, [-2, 2])
    limit = solve(task, OverlapKernel.from_salience([0.3]), intercept="free")
    part = limit.parts(np.array([[2, 0], [6, 0], [0, 0]]))[(0,)]
    np.testing.assert_allclose(part, [-1.741935, 1.741935, -2.4], atol=1e-6)


@pytest.mark.parametrize(
    ("salience", "errors"),
    [
        (0.2, (8.437500, 2.880000, 5.348571)),
        (0.3, (4.897959, 1.280000, 2.377143)),
        (0.4, (1.666667, 0.320000, 0.594286)),
    ],
)
def test_errors_of_three_layouts(salience, errors):
    """G-5."""
    for anchors, error in zip(([0], [-4, 4], [-2, 2]), errors, strict=True):
        task = tasks.symbolic_addition(NINE, anchors)
        limit = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
        assert abs(limit.test_error - error) < 1e-6
        m = memorization_leak(salience, len(anchors))
        assert abs((1 - m) ** 2 * np.mean(task.test_targets**2) - error) < 1e-6


@pytest.mark.parametrize(
    ("salience", "m", "free", "none", "errors"),
    [
        (0.2, 0.25, -3.300000, -0.681818, (22.308750, 7.956353)),
        (0.3, 0.428571, -2.839098, -0.826162, (15.060261, 5.381830)),
        (0.4, 0.666667, -1.980952, -0.860215, (6.522585, 2.591224)),
        (0.45, 0.818182, -1.226877, -0.719281, (2.331531, 1.159087)),
    ],
)
def test_asymmetric_layout(salience, m, free, none, errors):
    """G-6: the slope stays, an offset appears."""
    task = tasks.symbolic_addition(NINE, [-4])
    kernel = OverlapKernel.from_salience([salience])
    for intercept, offset, error in zip(("free", "none"), (free, none), errors, strict=True):
        law = addition_law([NINE] * 2, [[-4]] * 2, kernel, intercept=intercept)
        assert np.abs(law.slopes - m).max() < 1e-6
        assert abs(law.intercept - offset) < 1e-6
        limit = solve(task, kernel, intercept=intercept)
        assert abs(limit.test_error - error) < 1e-6


def test_asymmetric_layout_with_the_kernels_constant():
    kernel = OverlapKernel.from_salience([0.4], offset=0.3, scale=0.7)
    law = addition_law([NINE] * 2, [[-4]] * 2, kernel, intercept="none")
    assert abs(law.intercept + 1.653190) < 1e-6


def test_unequal_anchors_and_saliences():
    """G-7: the slope of a component follows the other component's anchors."""
    law = addition_law(
        [NINE] * 2, [[0], [-2, 2]], OverlapKernel.from_salience([0.3]), intercept="free"
    )
    np.testing.assert_allclose(law.slopes, [0.6, 0.428571], atol=1e-6)
    assert abs(memorization_leak(0.3, 2) - law.slopes[0]) < 1e-12
    kernel = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    law = addition_law([NINE] * 2, [[-2, 2]] * 2, kernel, intercept="free")
    np.testing.assert_allclose(law.slopes, [0.705882, 0.782609], atol=1e-6)
    for c, salience in enumerate((0.3, 0.45)):
        assert abs(memorization_leak(salience, 2, memorization=0.25) - law.slopes[c]) < 1e-12


@pytest.mark.parametrize(("salience", "m"), [((0.2, 0.05), 0.809160), ((0.3, 0.02), 0.961644)])
def test_three_components(salience, m):
    """G-8."""
    five = [-2, -1, 0, 1, 2]
    kernel = OverlapKernel.from_salience(salience)
    task = tasks.symbolic_addition(five, [0], n_components=3)
    predictions = solve(task, kernel, intercept="free").test_predictions
    assert abs(slope(task, predictions) - m) < 1e-6
    assert np.abs(predictions - slope(task, predictions) * task.test_targets).max() < 1e-12
    law = addition_law([five] * 3, [[0]] * 3, kernel, intercept="free")
    np.testing.assert_allclose(law.slopes, m, atol=1e-6)


@settings(max_examples=40)
@given(st.data())
def test_the_addition_law_is_the_interpolant(data):
    """Any number of components, values, anchors, means, saliences and intercepts."""
    n_components = data.draw(st.integers(2, 4))
    kernel = data.draw(kernels(n_components))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    values, anchors = [], []
    for _ in range(n_components):
        own = rng.normal(size=rng.integers(2, 6)).tolist()
        values.append(own)
        anchors.append(own[: rng.integers(0 if len(anchors) else 1, len(own))])
    intercept = data.draw(st.sampled_from(["free", "none", 0.5]))
    task = tasks.symbolic_addition(values, anchors, n_components=n_components)
    found = solve(task, kernel, intercept=intercept)
    law = addition_law(values, anchors, kernel, intercept=intercept)
    numbers = np.array([[values[c][i] for c, i in enumerate(z)] for z in task.test_components])
    np.testing.assert_allclose(law(numbers), found.test_predictions, atol=1e-9)


@given(st.floats(0.001, 0.5), st.integers(1, 9))
def test_inverse_reading(salience, n_anchors):
    slope = memorization_leak(salience, n_anchors)
    assert abs(effective_salience(slope, n_anchors) - salience) < 1e-12


def test_published_slopes_read_backwards():
    """J.2, to the three digits told."""
    for m, p, salience in (
        (0.553, 1, 0.356),
        (0.775, 1, 0.437),
        (0.653, 2, 0.327),
        (0.396, 1, 0.284),
    ):
        # A half in the third digit: one of them lies on it.
        assert abs(effective_salience(m, p) - salience) <= 0.00051


def test_runs_that_did_not_learn_have_no_salience():
    saliences = effective_salience(np.array([0.553, np.nan, 0.775]), 1)
    assert np.isnan(saliences).tolist() == [False, True, False]
    assert saliences[[0, 2]].round(3).tolist() == [0.356, 0.437]
    with pytest.raises(InputError, match=r"got 0.5..1.2; look at networks"):
        effective_salience(np.array([0.5, np.nan, 1.2]), 1)


def test_no_slopes_and_no_saliences():
    assert effective_salience(np.array([]), 1).shape == (0,)
    assert memorization_leak(np.array([]), 2).shape == (0,)


# G-10
@pytest.mark.parametrize(
    ("k", "invariant", "exposed", "with_intercept"),
    [
        (0.2, 0.250000, 0.086957, -0.090909),
        (0.3, 0.428571, 0.219512, 0.111111),
        (0.4, 0.666667, 0.470588, 0.428571),
    ],
)
def test_toys(k, invariant, exposed, with_intercept):
    kernel = OverlapKernel.from_salience([k])
    for fit in ("equal", "margin"):
        for intercept in ("none", "free"):
            margins = solve(
                tasks.toys.invariance(), kernel, fit=fit, intercept=intercept
            ).test_margins
            np.testing.assert_allclose(margins, invariance_margin(k), atol=1e-8)
        for intercept, stated in (("none", exposed), ("free", with_intercept)):
            limit = solve(tasks.toys.partial_exposure(), kernel, fit=fit, intercept=intercept)
            margins = limit.test_margins
            closed = partial_exposure_margin(k, intercept=intercept)
            np.testing.assert_allclose(margins, closed, atol=1e-8)
            assert abs(closed - stated) < 1e-6
    assert abs(invariance_margin(k) - invariant) < 1e-6


# G-14
@pytest.mark.parametrize(
    ("salience", "n", "regression", "margin"),
    [
        ((0.1, 0.05), 3, -0.073998, -0.073998),
        ((0.05, 0.02), 3, -0.151592, -0.151592),
        ((0.15, 0.10), 3, 0.275899, -0.045165),
        ((0.10100758, 0.13911539), 3, 0.353220, 0.187542),
        ((0.20350064, 0.09423825), 3, 0.522309, -0.216690),
        ((0.1, 0.05), 2, -0.093567, -0.093567),
        ((0.1, 0.05), 5, 0.000000, -0.119760),
    ],
)
def test_shortcut_margins(salience, n, regression, margin):
    task = tasks.context_dependence(n, n)
    kernel = OverlapKernel.from_salience(salience)
    for fit, end, stated in (("regression", "equal", regression), ("margin", "margin", margin)):
        closed = shortcut_margin(*salience, values_per_half=n, fit=fit)
        assert abs(closed - stated) < 1e-6
        margins = solve(task, kernel, fit=end, intercept="free").test_margins
        np.testing.assert_allclose(margins, closed, atol=1e-8)


@settings(max_examples=40)
@given(
    st.floats(0.001, 0.332),
    st.floats(0.0, 1.0),
    st.integers(2, 4),
    st.sampled_from(["margin", "regression"]),
)
def test_shortcut_margin_everywhere(order_1, share, n, fit):
    order_2 = share * (1 / 3 - order_1) * 0.999
    end = "equal" if fit == "regression" else "margin"
    kernel = OverlapKernel.from_salience([order_1, order_2])
    task = tasks.context_dependence(n, n)
    found = solve(task, kernel, fit=end, intercept="free").test_margins
    closed = shortcut_margin(order_1, order_2, values_per_half=n, fit=fit)
    np.testing.assert_allclose(found, closed, atol=1e-7)


@pytest.mark.parametrize(
    ("order_1", "margin", "regression"),
    [
        (0.02, 0.061888, 0.061888),
        (0.05, 0.071636, 0.071636),
        (0.10, 0.068879, 0.067617),
        (0.15, 0.115872, 0.056399),
        (0.17, 0.135097, 0.051039),
    ],
)
def test_shortcut_boundary(order_1, margin, regression):
    for fit, stated in (("margin", margin), ("regression", regression)):
        edge = shortcut_boundary(order_1, fit=fit)
        assert abs(edge - stated) < 1e-6
        assert shortcut_margin(order_1, edge - 1e-6, fit=fit) < 0
        assert shortcut_margin(order_1, edge + 1e-6, fit=fit) > 0


def test_shortcut_boundary_ends_on_the_edge_without_memorization():
    edge = 0.184351
    for order_1, reachable in ((edge - 1e-5, True), (edge + 1e-5, False)):
        assert np.isfinite(shortcut_boundary(order_1)) == reachable


# G-19
@pytest.mark.parametrize(
    ("n", "salience", "margins"),
    [
        (7, 0.4, (1, 0.576744, 0.813953, 1.085271, 1.441860, 1.953488)),
        (5, 0.4, (1, 0.848485, 1.272727, 1.818182)),
    ],
)
def test_symbolic_distance(n, salience, margins):
    """Trained pairs are met exactly; for the others ranks and interpolant give the means told."""
    task = tasks.transitive_ordering(n)
    limit = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
    first, second = task.components.T
    distance = np.abs(first - second)
    product = limit.predictions * task.targets
    means = [product[distance == d].mean() for d in range(1, n)]
    np.testing.assert_allclose(means, margins, atol=1e-6)
    ranks = transitive_ranks(n, salience)
    held_out = ~task.is_train
    np.testing.assert_allclose(
        (ranks[first] - ranks[second])[held_out], limit.test_predictions, atol=1e-12
    )


@given(st.integers(2, 12), st.floats(0.01, 0.5))
def test_ranks_are_the_interpolants(n, salience):
    """The additive part of each item, for any number of items and salience."""
    task = tasks.transitive_ordering(n)
    found = solve(task, OverlapKernel.from_salience([salience]), intercept="free")
    part = found.parts(np.stack([np.arange(n)] * 2, axis=1))[(0,)]
    np.testing.assert_allclose(transitive_ranks(n, salience), part, atol=1e-9)


def test_ranks_told():
    ranks = transitive_ranks(7, 0.4)
    np.testing.assert_allclose(ranks[:4], [0.976744, 0.465116, 0.186047, 0.0], atol=1e-6)
    low = transitive_ranks(7, 0.1)
    distance_2 = np.mean([low[i] - low[i + 2] for i in range(5)])
    assert abs(distance_2 - 0.049489) < 1e-6
    assert abs(low[0] - low[6] - 0.224745) < 1e-6


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: memorization_leak(0.3, 0),
            "n_anchors is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: memorization_leak(0.6, 1),
            "with two components saliences are at least 0 and S(1;2) at most 1/2; got 0.6..0.6; "
            "pass the salience of a single component",
        ),
        (
            lambda: effective_salience(1.2, 1),
            "a leak slope lies in 0..1; a fixed representation only compresses; got 1.2..1.2; "
            "look at networks that learn their features",
        ),
        (
            lambda: addition_law(
                [[0, 1]] * 2, [[2], [0]], OverlapKernel.from_salience([0.3]), intercept="free"
            ),
            "anchors must be among the values, and leave a value that is none; got anchors [2], "
            "values [0, 1]; choose anchors from the values",
        ),
        (
            lambda: addition_law(
                [[0, 1]] * 2, [[0]] * 2, OverlapKernel.from_salience([0.5]), intercept="free"
            ),
            "the law needs a salient full conjunction; got a top coefficient of 0; without one "
            "unseen sums are exact where the additive part is determined",
        ),
        (
            lambda: shortcut_margin(0.3, 0.1),
            "saliences S(1;3), S(2;3) are at least 0 and three times their sum at most 1; got S1 "
            "in 0.3..0.3, S2 in 0.1..0.1; lower them",
        ),
        (
            lambda: shortcut_margin(0.1, 0.1, fit="svm"),
            'fit is "margin" or "regression"; got \'svm\'; choose one of them',
        ),
        (
            lambda: shortcut_boundary(0.1, values_per_half=1),
            "values_per_half is a whole number of at least 2; got 1; pass a whole number of at "
            "least 2, or leave it out for 3",
        ),
        (
            lambda: invariance_margin(0.7),
            "S(1;2) lies in 0..1/2; got 0.7..0.7; pass the salience of a single component",
        ),
        (
            lambda: partial_exposure_margin(0.2, intercept="some"),
            'intercept is "none" or "free"; got \'some\'; choose one of them',
        ),
        (
            lambda: transitive_ranks(5, 0.0),
            "salience is a finite number above 0 and at most 0.5; got 0.0; pass a number above "
            "0 and at most 0.5",
        ),
        (
            lambda: memorization_leak(-0.1, 1),
            "with two components saliences are at least 0 and S(1;2) at most 1/2; got -0.1..-0.1; "
            "pass the salience of a single component",
        ),
        (
            lambda: effective_salience(0.5, 0),
            "n_anchors is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: effective_salience(-0.2, 1),
            "a leak slope lies in 0..1; a fixed representation only compresses; got -0.2..-0.2; "
            "look at networks that learn their features",
        ),
        (
            lambda: addition_law(
                [[0, 1]], [[0]] * 2, OverlapKernel.from_salience([0.3]), intercept="free"
            ),
            "values and anchors need one list for each component of the kernel; got 1 and 2 for "
            "2 components; repeat shared lists",
        ),
        (
            lambda: addition_law(
                [[0, 1]] * 2, [[0, 1], [0]], OverlapKernel.from_salience([0.3]), intercept="free"
            ),
            "anchors must be among the values, and leave a value that is none; got anchors "
            "[0, 1], values [0, 1]; choose anchors from the values",
        ),
        (
            lambda: shortcut_margin(0.1, -0.1),
            "saliences S(1;3), S(2;3) are at least 0 and three times their sum at most 1; got S1 "
            "in 0.1..0.1, S2 in -0.1..-0.1; lower them",
        ),
        (
            lambda: invariance_margin(-0.1),
            "S(1;2) lies in 0..1/2; got -0.1..-0.1; pass the salience of a single component",
        ),
        (
            lambda: transitive_ranks(1, 0.3),
            "n_items is a whole number of at least 2; got 1; pass a whole number of at least 2",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("fit", ["margin", "regression"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("order_1", [0.02, 0.05, 0.1, 0.15])
def test_the_boundary_is_where_the_margin_changes_sign_for_any_number_of_values(order_1, n, fit):
    edge = shortcut_boundary(order_1, values_per_half=n, fit=fit)
    if np.isnan(edge):
        most = (1 - 3 * order_1) / 3
        assert shortcut_margin(order_1, most, values_per_half=n, fit=fit) <= 0
        return
    assert shortcut_margin(order_1, edge - 1e-6, values_per_half=n, fit=fit) < 0
    assert shortcut_margin(order_1, edge + 1e-6, values_per_half=n, fit=fit) > 0


@pytest.mark.parametrize(
    ("n_items", "salience"),
    [(2, 0.3), (3, 0.49), (7, 0.4), (2_000, 0.01), (10**5, 1 / (2 + 9e-13)), (3 * 10**6, 0.4999)],
)
def test_ranks_of_many_items_keep_their_digits(n_items, salience):
    """Beside the formula of the docstring in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        s = Decimal(salience)
        r = (1 - 2 * s) / s
        root = 2 / (r + 2 + (r * (r + 4)).sqrt())
        ends = (r + 1) * (1 - root ** (n_items - 1)) - root + root ** (n_items - 2)
        places = sorted({0, 1, n_items // 3, n_items - 1})
        exact = [float((root**i - root ** (n_items - 1 - i)) / ends) for i in places]
    ranks = transitive_ranks(n_items, salience)[places]
    # Of a size of n ranks the last digits of r alter as many.
    np.testing.assert_allclose(ranks, exact, rtol=1e-9, atol=1e-300)
