"""ReLU teachers: how units are related, what stays where it was, and exact errors."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from partwhole._checks import InputError
from partwhole.tasks.relu_teachers import ReLUTeacher, ReLUTeachers, relu_products

PUBLISHED = ReLUTeachers(correlations=(1, 1, 0.9, 0.9, 0, 0))


def network(seed, units=4, dimension=3):
    rng = np.random.default_rng(seed)
    return ReLUTeacher(rng.standard_normal((units, dimension)), rng.standard_normal(units))


# Teachers


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.integers(0, 2**32))
def test_units_have_length_one_and_the_stated_correlations(correlations, seed):
    pair = ReLUTeachers(correlations=correlations).teachers(seed)
    a, w = pair.main.hidden, pair.auxiliary.hidden
    n = len(correlations)
    expected = np.zeros((n, 6))
    expected[range(n), range(n)] = correlations
    np.testing.assert_allclose(w @ w.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(a @ w.T, expected, atol=1e-12)
    # Main units lean on auxiliary units and new directions of their own.
    np.testing.assert_allclose(a @ a.T, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(np.abs(pair.main.readout), n**-0.5, rtol=1e-15)
    np.testing.assert_allclose(np.abs(pair.auxiliary.readout), 6**-0.5, rtol=1e-15)


def test_readout_signs_are_fair_and_independent():
    signs = np.array(
        [
            [*np.sign(pair.auxiliary.readout), *np.sign(pair.main.readout)]
            for pair in map(ReLUTeachers().teachers, range(400))
        ]
    )
    # Five standard errors of means and products of 400 signs.
    assert np.abs(signs.mean(axis=0)).max() < 5 / 20
    assert np.abs(signs.T @ signs / 400 - np.eye(12)).max() < 5 / 20


def test_options_leave_the_rest_as_it_was():
    first = PUBLISHED.sample(2, n_main=5, n_aux=4, n_test=3)
    for other in (replace(PUBLISHED, magnitude=0.1), replace(PUBLISHED, correlations=(0, 1))):
        found = other.sample(2, n_main=5, n_aux=4, n_test=3)
        for name in ("inputs", "aux_inputs", "aux_targets", "test_inputs"):
            np.testing.assert_array_equal(getattr(found, name), getattr(first, name))
        np.testing.assert_array_equal(found.auxiliary.hidden, first.auxiliary.hidden)
    small = replace(PUBLISHED, magnitude=0.1).sample(2, n_main=5)
    np.testing.assert_allclose(small.targets, 0.1 * first.targets, rtol=1e-13)
    more = PUBLISHED.sample(2, n_main=9, n_aux=2)
    np.testing.assert_array_equal(more.inputs[:5], first.inputs)
    np.testing.assert_array_equal(more.aux_inputs, first.aux_inputs[:2])
    assert more.test_inputs.shape == (0, 15)
    assert not np.array_equal(PUBLISHED.sample(3, n_main=5).inputs, first.inputs)


def test_the_three_samples_are_drawn_apart():
    task = ReLUTeachers(dimension=500)
    sample = task.sample(0, n_main=10, n_aux=10, n_test=10)
    rows = np.concatenate([sample.inputs, sample.aux_inputs, sample.test_inputs])
    np.testing.assert_allclose((rows**2).sum(axis=1), 500, rtol=1e-12)
    # Of independent rows: deviation 1/sqrt(500), 435 pairs.
    assert np.abs(rows @ rows.T / 500 - np.eye(30)).max() < 5 / np.sqrt(500)


def test_targets_are_what_the_teachers_say():
    sample = PUBLISHED.sample(0, n_main=3, n_aux=3, n_test=3)
    for teacher, inputs, targets in (
        (sample.main, sample.inputs, sample.targets),
        (sample.auxiliary, sample.aux_inputs, sample.aux_targets),
        (sample.main, sample.test_inputs, sample.test_targets),
    ):
        expected = [
            sum(v * max(0.0, w @ x) for w, v in zip(teacher.hidden, teacher.readout, strict=True))
            for x in inputs
        ]
        np.testing.assert_allclose(targets, expected, atol=1e-13)


# Averages over inputs


def on_circle(function):
    """Average over inputs of squared length 2 in the plane, by quadrature."""

    def at(angle):
        return function(np.sqrt(2) * np.array([np.cos(angle), np.sin(angle)]))

    # Sixty pieces; the kinks fall within some of them.
    edges = np.linspace(0, 2 * np.pi, 61)
    pieces = [quad(at, *ends, epsabs=1e-9)[0] for ends in pairwise(edges)]
    return sum(pieces) / (2 * np.pi)


@pytest.mark.parametrize("seed", range(3))
def test_averages_on_the_circle(seed):
    teacher, learner = network(seed, dimension=2), network(seed + 10, units=3, dimension=2)
    # Quadrature to 1e-9 a piece.
    close = {"abs": 1e-7}
    assert teacher.mean() == pytest.approx(on_circle(teacher), **close)
    assert teacher.second_moment() == pytest.approx(on_circle(lambda x: teacher(x) ** 2), **close)
    assert teacher.test_error(learner.hidden, learner.readout) == pytest.approx(
        on_circle(lambda x: (learner(x) - teacher(x)) ** 2), **close
    )


@pytest.mark.parametrize("normal", [False, True])
def test_averages_in_many_dimensions(normal):
    task = ReLUTeachers(correlations=(1, 0.9, 0), magnitude=2.0)
    x = task.sample(0, n_main=0, n_test=200_000).test_inputs
    if normal:
        x = np.random.default_rng(0).standard_normal(x.shape)
    pair = task.teachers(1)
    learner = network(5, units=7, dimension=15)
    answers = pair.main(x)
    room = 5 / np.sqrt(len(x))  # times a deviation: five standard errors
    for found, samples in (
        (pair.main.second_moment(), answers**2),
        (
            pair.main.test_error(learner.hidden, learner.readout),
            (learner(x) - answers) ** 2,
        ),
        (
            relu_products(pair.main.hidden[1:2], pair.auxiliary.hidden[1:2])[0, 0],
            np.maximum(x @ pair.main.hidden[1], 0) * np.maximum(x @ pair.auxiliary.hidden[1], 0),
        ),
    ):
        assert found == pytest.approx(samples.mean(), abs=room * samples.std())
    if not normal:
        assert pair.main.mean() == pytest.approx(answers.mean(), abs=room * answers.std())
        squares = (answers - answers.mean()) ** 2
        assert pair.main.variance() == pytest.approx(squares.mean(), abs=room * squares.std())


def test_the_variance_of_orthogonal_units():
    # On average over readout signs: 1/2 less the squared mean of one unit on the sphere.
    expected = 0.5 - 15 / (2 * np.pi * stats.chi(15).mean() ** 2)
    found = [
        ReLUTeacher(np.eye(15)[:6], np.array(signs) / np.sqrt(6)).variance()
        for signs in product((-1.0, 1.0), repeat=6)
    ]
    assert np.mean(found) == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(0.3355, abs=5e-5)
    # Signs that cancel leave the value on normal inputs.
    balanced = ReLUTeacher(np.eye(15)[:6], np.array([1, 1, 1, -1, -1, -1]) / np.sqrt(6))
    assert balanced.variance() == pytest.approx(0.5 - 1 / (2 * np.pi), abs=1e-12)


@given(st.integers(0, 1000), st.floats(0.1, 10))
def test_errors_do_not_see_rotations_order_or_shifts_between_layers(seed, scale):
    teacher, learner = network(seed), network(seed + 1, units=5)
    before = learner.hidden.copy()
    error = teacher.test_error(learner.hidden, learner.readout)
    turn = stats.ortho_group.rvs(3, random_state=seed)
    turned = ReLUTeacher(teacher.hidden @ turn, teacher.readout)
    # The angle of a unit with itself is known to 1e-8, its product to the square of that.
    close = {"rel": 1e-10, "abs": 1e-12}
    assert turned.test_error(learner.hidden @ turn, learner.readout) == pytest.approx(
        error, **close
    )
    assert teacher.test_error(
        scale * learner.hidden[::-1], learner.readout[::-1] / scale
    ) == pytest.approx(error, **close)
    assert learner.test_error(teacher.hidden, teacher.readout) == pytest.approx(error, **close)
    assert 0 <= teacher.test_error(scale * teacher.hidden, teacher.readout / scale) < 1e-12
    silent = np.zeros((2, 3))
    assert teacher.test_error(silent, np.ones(2)) == pytest.approx(teacher.second_moment(), **close)
    np.testing.assert_array_equal(learner.hidden, before)


# Texts


def test_describe():
    assert ReLUTeachers(units_aux=1, correlations=[0.9], magnitude=0.1).describe() == (
        "ReLU teachers: 1 auxiliary unit and 1 main unit in 15 dimensions, correlated 0.9, main "
        "readouts times 0.1"
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"correlations": (1, 1.2)},
            "correlations are one or more numbers from -1 to 1; got (1, 1.2); pass one for each "
            "main unit",
        ),
        ({"correlations": ()}, "correlations are one or more numbers from -1 to 1; got (); pass"),
        (
            {"units_aux": 5},
            "every main unit has an auxiliary unit to be correlated with; got 6 correlations for 5 "
            "auxiliary units; raise units_aux, or leave out correlations",
        ),
        (
            {"dimension": 11, "correlations": (1, 1, 1, 1, 1, 0)},
            "auxiliary units and the new directions of main units are orthogonal; got 12 of them "
            "in 11 dimensions; raise dimension, or put correlations of 1 last",
        ),
        (
            {"magnitude": 0.0},
            "magnitude is a finite number above 0; got 0.0; pass a number above 0, or leave it out "
            "for 1",
        ),
        ({"dimension": 0}, "dimension is a whole number of at least 1; got 0; pass a whole number"),
        (
            {"units_aux": 0},
            "units_aux is a whole number of at least 1; got 0; pass a whole number",
        ),
    ],
)
def test_errors_say_rule_got_remedy(options, sentence):
    with pytest.raises(InputError) as caught:
        ReLUTeachers(**options)
    assert str(caught.value).startswith(sentence)


def test_shared_units_need_no_room():
    pair = ReLUTeachers(dimension=8, correlations=(0, 0.5, 1, 1, 1, -1)).teachers(0)
    np.testing.assert_allclose(pair.main.hidden @ pair.main.hidden.T, np.eye(6), atol=1e-12)


def test_errors_of_samples_and_networks():
    with pytest.raises(InputError, match="n_test is a whole number of at least 0; got -2; pass a"):
        PUBLISHED.sample(0, n_main=1, n_test=-2)
    with pytest.raises(InputError, match="seed is a whole number of at least 0; got -1; pass a"):
        PUBLISHED.teachers(-1)
    sentence = r"a row of 3 weights and a readout for each unit; got shapes \(4, 2\) and \(4,\); tr"
    with pytest.raises(InputError, match=sentence):
        network(0).test_error(np.ones((4, 2)), np.ones(4))
