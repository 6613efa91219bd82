"""Capability by the best prompt: no gain by chance, a gain where there is one."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.measures.concepts import capability, concept_path, emergence
from partwhole.measures.concepts._readings import PathOutcome

STEPS = np.arange(30.0) * 100


def binary(level, shape, seed):
    """Draw readings 0 and 1 of a chance that broadcasts to the shape."""
    return (np.random.default_rng(seed).uniform(size=shape) < level).astype(float)


def hidden(images=64, seed=0):
    """Draw three prompts of which the naive one succeeds 1000 steps later than the last."""
    onsets = np.array([1800.0, 1500.0, 800.0])
    level = 1 / (1 + np.exp(-(STEPS[:, None] - onsets) / 100))
    return binary(level[..., None, None], (30, 3, images, 2), seed), level


def test_the_split_is_what_plain_loops_say():
    x = np.random.default_rng(0).uniform(size=(2, 4, 3, 7, 2))
    target = np.array([1.0, 0.0])
    found = capability(
        np.arange(4), x, target=target, naive=1, consecutive=1, resamples=100, seed=5
    )
    halves = np.array_split(np.random.default_rng(5).permutation(7), 2)

    def score(r, t, p, half):
        means = x[r, t, p, half].mean(axis=0)
        return np.prod(1 - np.abs(target - means))

    for r in range(2):
        for t in range(4):
            scores = np.array([[score(r, t, p, half) for p in range(3)] for half in halves])
            first, second = scores.argmax(axis=1)
            assert found.best_prompts[r, t].tolist() == [first, second]
            best = (scores[1, first] + scores[0, second]) / 2
            # Means of a few numbers, summed in another order.
            assert found.best_by_run[r, t] == pytest.approx(best, abs=1e-14)
            assert found.naive_by_run[r, t] == pytest.approx(scores[:, 1].mean(), abs=1e-14)
    np.testing.assert_allclose(found.best, found.best_by_run.mean(axis=0))
    np.testing.assert_allclose(found.gap, found.best - found.naive, atol=1e-14)
    every = [concept_path(np.arange(4), x[:, :, p], target=target) for p in range(3)]
    np.testing.assert_allclose(
        found.by_prompt, np.stack([each.product_by_run for each in every], axis=2), atol=1e-14
    )
    np.testing.assert_allclose(found.published, found.by_prompt.max(axis=2).mean(axis=0))


@settings(max_examples=12)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 8]))
def test_prompts_that_differ_by_chance_gain_nothing(seed, n_prompts):
    x = binary(0.6, (100, n_prompts, 16, 2), seed)
    found = capability(np.arange(100), x, resamples=100, seed=seed)
    # Accuracies of .36 whose halves of 8 have a deviation of .15: their mean over two halves and
    # 100 checkpoints has one of .011 or, where both halves choose the same, less.
    assert found.best.mean() == pytest.approx(0.36, abs=0.05)
    if n_prompts == 1:
        np.testing.assert_array_equal(found.gap, np.zeros(100))
    if n_prompts == 8:
        assert found.published.mean() > 0.36 + 0.1
    # Nominally one in 40; measured far fewer where prompts tie.
    assert found.hidden.mean() <= 0.08


def test_the_average_over_many_draws_is_the_common_mean():
    # 400 runs of one checkpoint: the deviation of their mean is .005 (two concepts, 12 images).
    x = binary(0.6, (400, 3, 6, 12, 2), 1)
    found = capability(np.arange(3), x, resamples=100, seed=0)
    assert np.abs(found.best - 0.36).max() < 0.02
    assert found.published.min() > 0.45


def test_a_hidden_capability_is_found():
    x, level = hidden()
    names = ("asked", "brighter", "guided")
    found = capability(STEPS, x, prompts=names, seed=1)
    truth = [emergence(STEPS, level[:, p] ** 2).step for p in range(3)]
    # The curve rises within 300 steps; noise moves it by a checkpoint.
    assert abs(found.emergence.step - truth[2]) <= 100
    assert abs(found.naive_emergence.step - truth[0]) <= 100
    gap = found.emergence_gap
    assert gap.steps == found.naive_emergence.step - found.emergence.step
    assert gap.low <= truth[0] - truth[2] <= gap.high
    assert gap.neither == 0.0
    middle = (STEPS > 1100) & (STEPS < 1500)
    assert found.hidden[middle].all()
    assert (found.best_prompts[0, middle] == 2).all()
    assert (found.to_frame().best_prompt[middle] == "guided").all()
    assert not found.hidden[STEPS < 500].any()
    assert "'asked'" in found.describe()
    # All seeds agree on where it emerges, and differ in their halves.
    again = capability(STEPS, x, prompts=names, seed=2)
    assert (again.best != found.best).any()
    assert abs(again.emergence.step - found.emergence.step) <= 100


def test_the_order_of_prompts_and_the_values_of_concepts_do_not_matter():
    x, _ = hidden(images=16)
    found = capability(STEPS, x, resamples=100, seed=1)
    turned = capability(STEPS, 1 - x[:, ::-1], target=np.zeros(2), naive=2, resamples=100, seed=1)
    # Ties between prompts are broken by their order, which is seen where several have 0 or 1.
    np.testing.assert_allclose(turned.naive, found.naive, atol=1e-14)
    np.testing.assert_allclose(turned.published, found.published, atol=1e-14)


def test_prompts_may_be_given_by_name():
    x, _ = hidden(images=16)
    told = dict(zip("abc", np.moveaxis(x, 1, 0), strict=True))
    found = capability(STEPS, told, resamples=100, seed=1)
    same = capability(STEPS, x, prompts=("a", "b", "c"), resamples=100, seed=1)
    assert found.prompts == same.prompts
    np.testing.assert_array_equal(found.gap, same.gap)
    of_runs = {name: np.stack([each, each]) for name, each in told.items()}
    assert capability(STEPS, of_runs, resamples=100, seed=1).best_by_run.shape == (2, len(STEPS))
    with pytest.raises(InputError, match=r"\['a'\] and coordinates\['b'\] have equal length"):
        capability(STEPS, told | {"b": told["b"][:2]}, resamples=100, seed=1)
    with pytest.raises(InputError, match=r"one shape, .*; got no prompt; make"):
        capability(STEPS, {}, resamples=100, seed=1)


def test_an_interval_of_the_gap_holds_it():
    level = np.array([0.6, 0.9, 0.7])[:, None, None]
    held = []
    for seed in range(20):
        x = binary(level, (5, 3, 64, 2), seed)
        found = capability(np.arange(5), x, resamples=100, seed=seed)
        held += ((found.low <= 0.45) & (found.high >= 0.45)).tolist()
    # At .94, as measured on 400, fewer than 86 of 100 come once in 500.
    assert sum(held) >= 86


def test_where_nothing_emerges_the_gap_is_not_known():
    found = capability(np.arange(5), binary(0.3, (5, 2, 8, 2), 0), resamples=100, seed=0)
    assert np.isnan(found.emergence_gap.steps)
    assert found.emergence_gap.neither == 1.0
    only = np.stack([np.zeros((5, 8, 2)), np.ones((5, 8, 2))], axis=1)
    assert capability(np.arange(5), only, resamples=100, seed=0).emergence_gap.steps == np.inf


def test_refusals_say_rule_got_and_remedy():
    x, steps, bare = np.full((4, 2, 6, 2), 0.5), np.arange(4), unwrap(capability)
    cases = [
        (lambda: capability(steps, x[0], seed=0), "with runs in front; got 3 axes; reshape them"),
        (lambda: capability(steps, 3 * x, seed=0), "coordinates are in 0..1; got 1.5..1.5; pass"),
        (
            lambda: bare(steps[:2], x, seed=0),
            "one step for each of the T checkpoints of",
        ),
        (lambda: capability(steps, x[:, :, :3], seed=0), "4 images or more, to be halved; got 3"),
        (lambda: capability(steps, x, naive=2, seed=0), "naive prompt is among 0..1; got 2; pass"),
        (lambda: capability(steps, x, prompts=("a",), seed=0), "name for each prompt; got 1 for 2"),
        (lambda: capability(steps, x, seed=-1), "seed is a whole number of at least 0; got -1"),
        (lambda: capability(steps, x, threshold=2, seed=0), "at least 0 and below 1; got 2; pass"),
        (lambda: bare(steps, x, target=np.ones(3), seed=0), r"each concept; got shape \(3,\) for"),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()


def elicited(share=0.0, prompts=(0, 1), checkpoints=slice(None), seed=5):
    """Return images of two prompts, the second of which works earlier, some abstained on."""
    steps = np.arange(20.0) * 100
    level = np.stack([1 / (1 + np.exp((at - steps) / 100)) for at in (1200, 500)], axis=1)
    rng = np.random.default_rng(seed)
    images = (rng.uniform(size=(20, 2, 60, 2)) < level[..., None, None]).astype(float)
    is_missing = np.zeros((20, 2, 60), dtype=bool)
    for prompt in prompts:
        is_missing[checkpoints, prompt] = (rng.uniform(size=(20, 60)) < share)[checkpoints]
    return steps, np.where(is_missing[..., None], np.nan, images)


def test_images_that_are_abstained_on_have_no_share_in_accuracies():
    steps, images = elicited(0.25)
    result = capability(steps, images, seed=0)
    assert result.outcome is PathOutcome.FOLLOWED
    expected = np.prod(np.nanmean(images, axis=2), axis=-1)
    np.testing.assert_allclose(result.by_prompt[0], expected, atol=1e-12)
    np.testing.assert_allclose(result.abstained[0], np.isnan(images[..., 0]).mean(axis=2))
    assert result.emergence.step < result.naive_emergence.step < np.inf
    share = f"Abstained on {result.abstained.mean():.0%} of the images of 20 checkpoints"
    assert f"{share}: followed at every checkpoint." in result.describe()


def test_a_prompt_that_is_mostly_abstained_on_is_never_the_best():
    """It has the larger mean of what is left of it."""
    steps, images = elicited(0.8, prompts=[1])
    result = capability(steps, images, seed=0)
    assert result.outcome is PathOutcome.FOLLOWED
    assert (result.best_prompts == 0).all()
    np.testing.assert_allclose(result.gap, 0.0)
    assert np.isnan(result.by_prompt[..., 1]).all()
    np.testing.assert_array_equal(result.published, result.by_prompt[0, :, 0])


def test_checkpoints_without_the_naive_prompt_are_left_out():
    steps, images = elicited(0.9, prompts=[0], checkpoints=slice(0, 5))
    result = capability(steps, images, seed=0)
    assert result.outcome is PathOutcome.FOLLOWED_IN_PART
    later = capability(steps[5:], images[5:], seed=0)
    assert result.steps.tolist() == steps[5:].tolist()
    assert result.recorded_steps.tolist() == steps.tolist()
    np.testing.assert_array_equal(result.gap, later.gap)
    np.testing.assert_array_equal(result.low, later.low)
    assert result.emergence.step == later.emergence.step


@pytest.mark.parametrize("share", [0.72, 0.94, 1.0])
def test_a_capability_that_cannot_be_followed_has_no_numbers(share):
    steps, images = elicited(share)
    result = capability(steps, np.stack([images, images]), prompts=("naive", "over"), seed=0)
    assert result.outcome is PathOutcome.NOT_FOLLOWED
    for curve in ("best", "naive", "gap", "low", "high", "published"):
        assert np.isnan(getattr(result, curve)).all()
    assert not result.hidden.any()
    numbers = [result.emergence.step, result.naive_emergence.median, result.emergence_gap.steps]
    assert np.isnan(numbers).all()
    assert result.describe().splitlines()[0] == "2 prompts, the naive one is 'naive'."
    assert result.describe().endswith("record later checkpoints.")
    assert "gap" not in result.describe()
    assert set(result.to_frame().best_prompt) == {"naive"}
