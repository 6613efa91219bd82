"""Emergence steps with their interval, and the toy law of multiplicative emergence."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures.concepts import concept_path, emergence, fit_emergence
from partwhole.measures.concepts.law import emergence_law, emergence_time

STEPS = np.arange(40.0) * 100


def sigmoid(onset, width=300.0):
    return 1 / (1 + np.exp(-(STEPS - onset) / width))


def binary(level, shape, seed):
    """Draw readings 0 and 1 of a chance that broadcasts to the shape."""
    return (np.random.default_rng(seed).uniform(size=shape) < level).astype(float)


@given(st.lists(st.sampled_from([0.0, 0.5, 0.8, 0.81, 1.0]), min_size=3, max_size=12))
def test_the_first_of_three_values_above(values):
    accuracy, steps = np.array(values), 10.0 ** np.arange(len(values))
    opens = [i for i in range(len(values) - 2) if min(values[i : i + 3]) > 0.8]
    found = emergence(steps, accuracy)
    assert found.step == (steps[opens[0]] if opens else np.inf)
    assert found.by_run.tolist() == [found.step]
    assert np.isnan([found.median, found.low, found.high, found.share_unreached]).all()
    assert "single readings" in found.describe()


def test_coordinates_give_the_product_of_their_means():
    x = np.random.default_rng(0).uniform(0.7, 1.0, size=(3, 40, 8, 2))
    path = concept_path(STEPS, x)
    product = path.product_by_run
    threshold = float(np.median(product))
    found = emergence(STEPS, x, threshold=threshold, consecutive=1, resamples=100)
    same = emergence(STEPS, product.mean(axis=0), threshold=threshold, consecutive=1)
    assert found.step == same.step
    each = [emergence(STEPS, run, threshold=threshold, consecutive=1).step for run in product]
    assert found.by_run.tolist() == each
    turned = emergence(
        STEPS, 1 - x, target=np.zeros(2), threshold=threshold, consecutive=1, resamples=100
    )
    assert turned.by_run.tolist() == each
    smooth = emergence(STEPS, x, smoothing=1.0, threshold=threshold, resamples=100)
    assert smooth.step == emergence(STEPS, path.product_accuracy, threshold=threshold).step


def test_the_interval_holds_the_true_step():
    level = sigmoid(1500.0)
    truth = emergence(STEPS, level**2).step
    held = []
    for seed in range(40):
        found = emergence(
            STEPS, binary(level[:, None, None], (40, 64, 2), seed), resamples=100, seed=seed
        )
        assert found.low <= found.median <= found.high
        held.append(found.low <= truth <= found.high)
    # At .95 fewer than 34 of 40 come once in 300.
    assert sum(held) >= 34


def test_more_images_narrow_it():
    few, many = (
        emergence(STEPS, binary(sigmoid(1500.0, 800)[:, None, None], (40, n, 2), 0), seed=1)
        for n in (8, 800)
    )
    assert many.high - many.low < few.high - few.low
    assert (many.threshold, many.consecutive, many.confidence) == (0.8, 3, 0.95)


def test_what_never_emerges_is_not_given_a_step():
    x = binary(0.5, (40, 32, 2), 0)
    found = emergence(STEPS, x, resamples=100)
    assert (found.step, found.low, found.high, found.share_unreached) == (
        np.inf,
        np.inf,
        np.inf,
        1.0,
    )
    assert "step never" in found.describe()
    # A level that reaches the threshold about as often as not, at the end of the run.
    late = emergence(
        STEPS,
        binary(np.sqrt(0.8) * sigmoid(3200.0, 100)[:, None, None], (40, 64, 2), 3),
        resamples=400,
    )
    assert 0 < late.share_unreached < 1
    assert late.high == np.inf
    assert late.share_unreached == np.isinf(late.drawn).mean()


def test_runs_that_differ_widen_it():
    rng = np.random.default_rng(5)
    onsets = rng.normal(1500, 400, size=6)
    level = np.stack([sigmoid(onset, 100) for onset in onsets])
    x = binary(level[..., None, None], (6, 40, 64, 2), 5)
    alone = emergence(STEPS, x[:1], resamples=200)
    found = emergence(STEPS, x, resamples=200)
    assert found.high - found.low > alone.high - alone.low
    assert found.spread == pytest.approx(np.std(found.by_run, ddof=1))
    assert np.isnan(alone.spread)
    # Each run emerges where its level does, up to a checkpoint or two.
    truth = [emergence(STEPS, each**2).step for each in level]
    assert np.abs(found.by_run - truth).max() <= 200
    assert found.to_frame().shape == (1, 7)
    assert emergence(STEPS, x, resamples=200).drawn.tolist() == found.drawn.tolist()


@pytest.mark.parametrize(
    ("rate", "n", "threshold", "step"),
    [(0.01, 1, 0.5, 69), (0.01, 3, 0.5, 158), (0.001, 3, 0.9, 3365)],
)
def test_published_steps_of_the_law(rate, n, threshold, step):
    assert emergence_time(rate, n, threshold) == step
    assert emergence_law(step, rate, n) >= threshold > emergence_law(step - 1, rate, n)


def test_published_accuracies_of_the_law():
    assert emergence_law(200, 0.01, 1) == pytest.approx(0.866020, abs=5e-7)  # as printed
    assert emergence_law(200, 0.01, 3) == pytest.approx(0.6495076, abs=5e-8)


@given(st.floats(1e-4, 0.9), st.integers(1, 6), st.floats(0.01, 0.99), st.sampled_from([0.0, 0.5]))
def test_the_step_is_the_first_that_reaches_the_accuracy(rate, n, threshold, chance):
    step = emergence_time(rate, n, threshold, chance=chance)
    slack = 1e-9  # a step that is whole up to rounding stays one
    assert emergence_law(step, rate, n, chance=chance) >= threshold * (1 - slack)
    if step > 0:
        assert emergence_law(step - 1, rate, n, chance=chance) < threshold * (1 + slack)


def test_whole_steps_stay_whole_and_the_law_is_a_simulation():
    for step in range(1, 30):
        for rate in (0.1, 0.3, 0.01):
            assert emergence_time(rate, 1, 1 - (1 - rate) ** step) == step
    # Concepts learned at a rate, the others guessed.
    rng = np.random.default_rng(0)
    learned = rng.geometric(0.05, size=(20000, 3)) <= 30
    right = (learned | (rng.uniform(size=learned.shape) < 0.5)).all(axis=1)
    # The deviation of the mean of 20,000 is .003.
    assert emergence_law(30, 0.05, 3, chance=0.5) == pytest.approx(right.mean(), abs=0.012)


@pytest.mark.parametrize("chance", [0.0, 0.5])
@pytest.mark.parametrize("rate", [3e-5, 2e-3, 0.3])
def test_the_fit_finds_the_law_it_was_drawn_from(rate, chance):
    n = np.array([1, 2, 4])
    steps = np.linspace(0, emergence_time(rate, 4, 0.99), 30)
    curves = np.stack([emergence_law(steps, rate, each, chance=chance) for each in n.tolist()])
    free = fit_emergence(steps, curves, chance=chance)
    # Exact curves, and a search that ends at 1e-12 of the squares.
    assert free.rate == pytest.approx(rate, rel=1e-4)
    np.testing.assert_allclose(free.n, n, rtol=1e-4)
    assert not free.at_bound.any()
    held = fit_emergence(steps, curves, n=n, chance=chance)
    assert held.rate == pytest.approx(rate, rel=1e-6)
    np.testing.assert_allclose(held.fitted, curves, atol=1e-6)
    np.testing.assert_allclose(
        held.emergence_times(0.8), emergence_time(held.rate, n, 0.8, chance=chance)
    )
    noise = np.random.default_rng(0).normal(0, 0.02, curves.shape)
    noisy = fit_emergence(steps, np.clip(curves + noise, 0, 1), n=n, chance=chance)
    # 90 readings with noise of .02 about curves whose slope in ln(rate) is of order .3.
    assert noisy.rate == pytest.approx(rate, rel=0.05)
    assert (noisy.r2 > 0.98).all()
    assert (noisy.error < 0.03).all()
    assert len(noisy.to_frame()) == 3


def test_a_wrong_number_of_concepts_fits_worse_and_a_flat_curve_not_at_all():
    steps = np.linspace(0, 600, 25)
    curves = np.stack([emergence_law(steps, 0.01, each) for each in (1, 3)])
    right, wrong = (fit_emergence(steps, curves, n=np.array(n)) for n in ([1, 3], [3, 1]))
    assert right.error.max() < 1e-6
    assert wrong.error.min() > 0.05
    flat = fit_emergence(steps, np.zeros((1, 25)), n=np.array([2]))
    assert flat.at_bound.tolist() == [True, False]
    assert np.isnan(flat.r2).all()


def test_refusals_say_rule_got_and_remedy():
    x, bare_fit = np.full(40, 0.5), unwrap(fit_emergence)
    images, bare = np.full((40, 4, 2), 0.5), unwrap(emergence)
    curves = np.full((2, 40), 0.5)
    cases = [
        (lambda: emergence(STEPS, x[:, None] + 0 * x), "one axis, .*; got 2 axes; pass coordin"),
        (lambda: emergence(STEPS, x + 1), "accuracies and coordinates are in 0..1; got 1.5..1.5"),
        (lambda: emergence(STEPS, x, target=np.ones(2)), "belongs to coordinates; got one for"),
        (lambda: bare(STEPS, images, target=np.ones(3)), r"each concept; got shape \(3,\) for 2"),
        (
            lambda: emergence(STEPS[:9], x),
            "one step for each of the T .*; got 9 steps",
        ),
        (lambda: emergence(STEPS, x, threshold=1), "of at least 0 and below 1; got 1; pass a"),
        (lambda: emergence(STEPS[:2], x[:2]), "among 1..2; got 3; pass consecutive=2 or less"),
        (
            lambda: emergence(STEPS, x, smoothing=-1),
            r"smoothing is a finite number from 0 to 1e\+06; got -1; pass a number",
        ),
        (lambda: emergence(STEPS, x, resamples=1), "resamples is a whole number of at least 100"),
        (lambda: emergence_law(-1.0, 0.1, 1), "steps are at least 0; got -1; count from 0"),
        (lambda: emergence_law(1, 1.0, 1), "rate is .* above 0 and below 1; got 1.0; pass"),
        (lambda: emergence_law(1, 0.1, 0), "n is a number of concepts above 0; got 0.0; pass 1"),
        (lambda: emergence_time(0.1, 1, 1), "threshold is .* above 0 and below 1; got 1; p"),
        (lambda: emergence_time(0.1, 1, 0.5, chance=1), "chance is .* least 0 and below 1; got 1"),
        (lambda: bare_fit(STEPS, x), r"a row for each distance .*; got shape \(40,\); pass accu"),
        (lambda: fit_emergence(STEPS - 1, curves), "from the start of training; got -1; start at"),
        (lambda: fit_emergence(STEPS[:1], curves[:, :1]), "a step above 0; got 0; pass later"),
        (lambda: bare_fit(STEPS, curves, n=np.ones(3)), r"each curve; got shape \(3,\) for 2 cur"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
