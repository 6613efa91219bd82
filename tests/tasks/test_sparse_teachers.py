"""Sparse linear teachers: the published draw, what stays where it was, and the exact error."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.tasks.sparse_teachers import SparseTeachers, TeacherSample

SMALL = SparseTeachers(dimension=30, active_aux=6, active_main=4, overlap=2)


@st.composite
def tasks(draw):
    aux, main = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    overlap = draw(st.integers(0, min(aux, main)))
    dimension = aux + main - overlap + draw(st.integers(0, 5))
    scale = st.sampled_from(["1/sqrt(a)", "1/a", 0.3])
    return SparseTeachers(
        dimension,
        aux,
        main,
        overlap,
        main_scale=draw(scale),
        aux_scale=draw(scale),
        signs=draw(st.sampled_from(["shared", "independent"])),
    )


# The draw


@pytest.mark.parametrize(("active", "overlap"), [(40, 40), (40, 20), (40, 0), (5, 5), (10, 0)])
def test_the_published_draw(active, overlap):
    rng = np.random.default_rng(3)
    permutation = rng.permutation(1000)
    signs = np.sign(rng.random(40) - 0.5)
    auxiliary, main = np.zeros(1000), np.zeros(1000)
    auxiliary[permutation[:40]] = signs / np.sqrt(40)
    support = [*permutation[:overlap], *permutation[40 : 40 + active - overlap]]
    main[support] = signs[:active] / np.sqrt(active)
    x = rng.standard_normal((16, 1000))
    x = x / np.sqrt(np.mean(x**2, axis=1))[:, None]
    found = SparseTeachers(1000, 40, active, overlap).sample(3, n_main=16, n_aux=2, n_test=3)
    np.testing.assert_array_equal(found.auxiliary, auxiliary)
    # Divided once, or multiplied by an inverse.
    np.testing.assert_allclose(found.main, main, rtol=1e-15)
    np.testing.assert_allclose(found.inputs, x, rtol=1e-15)
    np.testing.assert_allclose(found.targets, x @ main, atol=1e-13)


def after_finetuning(x, y, pretrained, scale=1e-3):
    """Return where gradient flow ends, by Newton steps on its dual."""
    k = np.sqrt(pretrained**2 + 4 * (2 * scale**2) ** 2)
    size = np.sqrt(pretrained**2 + 4 * scale**4)
    tilt = np.arctanh(
        2 * scale * np.sign(pretrained) * np.sqrt(size - 2 * scale**2) / (size + 2 * scale**2)
    )
    nu = np.zeros(len(y))
    for _ in range(200):
        a = 2 * x.T @ nu + tilt
        gap = y - x @ (k / 2 * np.sinh(a))
        if np.abs(gap).max() < 1e-12:
            break
        step = np.linalg.solve((x * (k * np.cosh(a))) @ x.T, gap)
        nu += step * min(1.0, 2 / np.abs(2 * x.T @ step).max())
    assert np.abs(gap).max() < 1e-10
    return k / 2 * np.sinh(a)


@pytest.mark.parametrize(
    ("task", "rows", "expected", "tolerance"),
    [
        (SparseTeachers(), 32, 0.277167, 1e-3),
        (SparseTeachers(overlap=20), 64, 0.855687, 1e-3),
        (SparseTeachers(active_main=5, overlap=5, main_scale="1/a"), 32, 0.0229548, 2e-3),
    ],
)
def test_stated_errors_of_finetuning(task, rows, expected, tolerance):
    sample = task.samples(range(6), n_main=rows)
    learned = np.stack(
        [
            after_finetuning(*each)
            for each in zip(sample.inputs, sample.targets, sample.auxiliary, strict=True)
        ]
    )
    # Acceptance values, with their tolerances: means over seeds 0 to 5.
    assert np.mean(sample.test_error(learned)) == pytest.approx(expected, rel=tolerance)


@given(tasks(), st.integers(0, 2**32))
def test_supports_sizes_and_signs(task, seed):
    pair = task.teachers(seed)
    used, wanted = pair.auxiliary != 0, pair.main != 0
    assert (used.sum(), wanted.sum()) == (task.active_aux, task.active_main)
    assert (used & wanted).sum() == task.overlap
    for values, scale, active in (
        (pair.auxiliary[used], task.aux_scale, task.active_aux),
        (pair.main[wanted], task.main_scale, task.active_main),
    ):
        size = {"1/sqrt(a)": active**-0.5, "1/a": 1 / active, 0.3: 0.3}[scale]
        np.testing.assert_allclose(np.abs(values), size, rtol=1e-15)
    if task.signs == "shared":
        assert np.all(pair.auxiliary[used & wanted] * pair.main[used & wanted] > 0)


def test_independent_signs_agree_by_chance_and_change_nothing_else():
    task = replace(SMALL, overlap=4, signs="independent")
    agree = []
    for seed in range(400):
        independent, shared = task.teachers(seed), replace(task, signs="shared").teachers(seed)
        np.testing.assert_array_equal(independent.auxiliary, shared.auxiliary)
        np.testing.assert_array_equal(np.abs(independent.main), np.abs(shared.main))
        both = shared.main != 0
        agree.append(np.mean(independent.main[both] == shared.main[both]))
    # Five standard errors of 1600 signs.
    assert abs(np.mean(agree) - 0.5) < 5 * 0.5 / np.sqrt(1600)


def test_signs_beyond_those_of_the_auxiliary_task_vary():
    task = SparseTeachers(dimension=40, active_aux=2, active_main=30, overlap=1)
    drawn = np.array([np.sign(task.teachers(seed).main).sum() for seed in range(200)])
    # 30 random signs: mean 0, variance 30; five standard errors.
    assert abs(drawn.mean()) < 5 * np.sqrt(30 / 200)
    assert abs(drawn.var() / 30 - 1) < 5 * np.sqrt(2 / 200)


@given(st.integers(0, 2**32))
def test_options_leave_the_rest_as_it_was(seed):
    first = SMALL.sample(seed, n_main=5, n_aux=4, n_test=3)
    for other in (
        replace(SMALL, active_main=12),
        replace(SMALL, overlap=4),
        replace(SMALL, main_scale=0.2, signs="independent"),
    ):
        found = other.sample(seed, n_main=5, n_aux=4, n_test=3)
        for name in ("inputs", "aux_inputs", "aux_targets", "test_inputs", "auxiliary"):
            np.testing.assert_array_equal(getattr(found, name), getattr(first, name))
    fewer = SMALL.sample(seed, n_main=3)
    np.testing.assert_array_equal(fewer.inputs, first.inputs[:3])
    assert fewer.aux_inputs.shape == fewer.test_inputs.shape == (0, 30)
    more = SMALL.sample(seed, n_main=0, n_aux=9, n_test=7)
    np.testing.assert_array_equal(more.aux_inputs[:4], first.aux_inputs)
    np.testing.assert_array_equal(more.test_inputs[:3], first.test_inputs)
    shared = np.abs(replace(SMALL, overlap=4).teachers(seed).main) > 0
    assert np.all(shared[(first.main != 0) & (first.auxiliary != 0)])


def test_the_three_samples_are_drawn_apart():
    sample = SparseTeachers().sample(0, n_main=20, n_aux=20, n_test=20)
    rows = np.concatenate([sample.inputs, sample.aux_inputs, sample.test_inputs])
    cosines = rows @ rows.T / 1000 - np.eye(60)
    # Of independent rows: deviation 1/sqrt(1000), 1770 pairs.
    assert np.abs(cosines).max() < 5 / np.sqrt(1000)


# The error


def test_inputs_have_second_moment_one_and_the_stated_length():
    x = SMALL.sample(0, n_main=20_000).inputs
    np.testing.assert_allclose((x**2).mean(axis=1), 1.0, rtol=1e-12)
    # Entries of x x' have variance of at most 2; five standard errors.
    assert np.abs(x.T @ x / len(x) - np.eye(30)).max() < 5 * np.sqrt(2 / len(x))


@pytest.mark.parametrize("seed", [0, 1])
def test_the_error_is_the_mean_square_on_new_inputs(seed):
    sample = replace(SMALL, main_scale="1/a").sample(seed, n_main=3, n_test=40_000)
    learned = np.random.default_rng(seed).standard_normal(30)
    before = learned.copy()
    squares = (sample.test_inputs @ learned - sample.test_targets) ** 2
    # Five standard errors.
    room = 5 * squares.std() / np.sqrt(len(squares))
    assert sample.test_error(learned) == pytest.approx(squares.mean(), abs=room)
    np.testing.assert_array_equal(learned, before)
    assert sample.test_error(sample.main) == 0.0
    assert sample.test_error(np.zeros(30)) == pytest.approx(1 / 4, rel=1e-12)


def test_targets_have_no_noise():
    sample = SMALL.sample(0, n_main=4, n_aux=5, n_test=6)
    for inputs, targets, teacher in (
        (sample.inputs, sample.targets, sample.main),
        (sample.aux_inputs, sample.aux_targets, sample.auxiliary),
        (sample.test_inputs, sample.test_targets, sample.main),
    ):
        np.testing.assert_allclose(targets, [row @ teacher for row in inputs], atol=1e-14)


def test_samples_stack_seeds():
    seeds = [4, 0]
    stacked = SMALL.samples(seeds, n_main=3, n_aux=2)
    for i, seed in enumerate(seeds):
        alone = SMALL.sample(seed, n_main=3, n_aux=2)
        for each in fields(TeacherSample):
            np.testing.assert_array_equal(getattr(stacked, each.name)[i], getattr(alone, each.name))
    learned = np.ones((2, 30))
    expected = [SMALL.sample(seed, 0).test_error(learned[0]) for seed in seeds]
    np.testing.assert_allclose(stacked.test_error(learned), expected, rtol=1e-15)
    assert np.shape(SMALL.sample(0, 0).test_error(np.ones((7, 30)))) == (7,)


# Texts


def test_describe():
    text = replace(SMALL, signs="independent").describe()
    assert text == (
        "sparse linear teachers: of 30 features 6 are active in the auxiliary task (entries "
        "±0.4082) and 4 in the main task (entries ±0.5), 2 in both with signs drawn anew"
    )
    assert replace(SMALL, overlap=0).describe().endswith("none in both")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"active_main": 0}, "active_main is a whole number of at least 1; got 0; pass a whole"),
        (
            {"overlap": -1},
            "overlap is a whole number of at least 0; got -1; pass a whole number of at least 0",
        ),
        (
            {"overlap": 5},
            "overlap counts features that are active in both tasks; got 5, with 6 active in the "
            "auxiliary task and 4 in the main task; lower overlap, or raise the smaller number",
        ),
        (
            {"active_main": 27},
            "every active feature is one of the dimensions; got 31 features in 30 dimensions; "
            "raise dimension, or share more features",
        ),
        (
            {"main_scale": -0.5},
            "main_scale is a finite number above 0; got -0.5; pass a number above 0",
        ),
        ({"aux_scale": "1"}, 'aux_scale is "1/sqrt(a)" or "1/a"; got \'1\'; choose one of them'),
        ({"signs": "same"}, 'signs is "shared" or "independent"; got \'same\'; choose one of'),
    ],
)
def test_errors_say_rule_got_remedy(options, sentence):
    with pytest.raises(InputError) as caught:
        replace(SMALL, **options)
    assert str(caught.value).startswith(sentence)


def test_errors_of_samples():
    with pytest.raises(InputError, match="n_aux is a whole number of at least 0; got -2; pass a"):
        SMALL.sample(0, n_main=1, n_aux=-2)
    with pytest.raises(InputError, match="seed is a whole number of at least 0; got -1; pass a"):
        SMALL.teachers(-1)
    with pytest.raises(InputError, match="seeds are whole numbers of at least 0; got \\[\\]; pass"):
        SMALL.samples([], n_main=1)
    sentence = "coefficients are one for each of the 30 features; got shape {}; pass one learner"
    for wrong in (np.ones(29), np.float64(1.0)):
        with pytest.raises(InputError) as caught:
            unwrap(TeacherSample.test_error)(SMALL.sample(0, 1), wrong)
        assert str(caught.value).startswith(sentence.format(wrong.shape))
