"""Shared dimensions: the definition written out, alignment of kernels, invariances and bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from partwhole._checks import InputError
from partwhole.measures.dimensions import participation_ratio, shared_dimensions

A = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 1]])
B = np.array([[1.0, 0, 0], [0, 2, 1], [1, 1, 0], [0, 1, 3]])
SPACES = ("features", "samples")
SIZES = st.tuples(st.integers(2, 6), st.integers(2, 6), st.integers(0, 10_000))
space_and_center = pytest.mark.parametrize(
    ("space", "center"), [(space, center) for space in SPACES for center in (False, True)]
)


def pair(sizes):
    n, p, seed = sizes
    return np.random.default_rng(seed).standard_normal((2, n, p))


def written_out(a, b, space, center):
    """Return ENSD, both participation ratios and the overlap from full matrices of trace one."""
    if center:
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    c, d = (m.T @ m if space == "features" else m @ m.T for m in (a, b))
    c, d = c / np.trace(c), d / np.trace(d)
    first, second = 1 / np.trace(c @ c), 1 / np.trace(d @ d)
    return first * second * np.trace(c @ d), first, second, np.trace(c @ d)


def test_stated_values():
    # Acceptance values to 1e-6.
    found = shared_dimensions(A, B)
    assert found.value == pytest.approx(1.17, abs=1e-6)
    assert found.participation == pytest.approx((1.8, 1.6875), abs=1e-6)
    assert found.overlap == pytest.approx(0.385185, abs=1e-6)
    by_samples = shared_dimensions(A, B, space="samples")
    assert (by_samples.value, by_samples.overlap) == pytest.approx((1.00125, 0.329630), abs=1e-6)
    assert shared_dimensions(A, B, center=True).value == pytest.approx(0.674176, abs=1e-6)


@space_and_center
@pytest.mark.parametrize(("n", "p", "q"), [(7, 3, 3), (3, 7, 7), (5, 5, 5), (5, 9, 2), (9, 5, 2)])
def test_the_definition(space, center, n, p, q):
    if space == "features":
        q = p
    rng = np.random.default_rng(n)
    a, b = 1 + rng.standard_normal((n, p)), rng.standard_normal((n, q))
    before = a.copy(), b.copy()
    found = shared_dimensions(a, b, space=space, center=center)
    value, first, second, overlap = written_out(a, b, space, center)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.participation == pytest.approx((first, second), rel=1e-12)
    assert found.overlap == pytest.approx(overlap, rel=1e-12)
    assert participation_ratio(a, center=center) == pytest.approx(first, rel=1e-12)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])
    table = found.to_frame()
    assert table.shape == (1, 6)
    assert table.value[0] == found.value
    assert table.space[0] == space


@given(SIZES)
def test_participation_of_eigenvalues(sizes):
    a, _ = pair(sizes)
    spectrum = np.linalg.svd(a, compute_uv=False) ** 2
    assert participation_ratio(a) == pytest.approx(
        spectrum.sum() ** 2 / (spectrum**2).sum(), rel=1e-12
    )


def test_participation_at_its_ends():
    assert participation_ratio(np.eye(5, 8)) == pytest.approx(5, rel=1e-14)
    assert participation_ratio(np.outer([1.0, 2, 3], [1.0, -1])) == pytest.approx(1, rel=1e-14)


@space_and_center
@given(sizes=SIZES)
def test_invariances(space, center, sizes):
    a, b = pair(sizes)
    n, p, seed = sizes
    options = {"space": space, "center": center}
    found = shared_dimensions(a, b, **options)
    # Rounding, of matrices that may be nearly of rank one.
    close = {"rel": 1e-9, "abs": 1e-12}
    turn = ortho_group.rvs(p, random_state=seed)
    order = np.random.default_rng(seed).permutation(n)
    for other in (
        shared_dimensions(-3 * a, 1e-7 * b, **options),
        shared_dimensions(1e200 * a, 1e-200 * b, **options),
        shared_dimensions(a @ turn, b @ turn, **options),
        shared_dimensions(a[order], b[order], **options),
        shared_dimensions(b, a, **options),
    ):
        assert other.value == pytest.approx(found.value, **close)
    same = shared_dimensions(a, -2 * a, **options)
    assert same.value == pytest.approx(participation_ratio(a, center=center), **close)
    assert found.participation[0] == pytest.approx(same.participation[0], **close)
    # Cauchy-Schwarz, up to rounding.
    assert 0 <= found.value <= found.bound * (1 + 1e-12)
    assert found.overlap <= (1 + 1e-12) / found.bound
    assert found.bound == pytest.approx(np.sqrt(np.prod(found.participation)), rel=1e-14)


def test_rotating_one_set_matters_in_feature_space_alone():
    turn = ortho_group.rvs(3, random_state=0)
    for center in (False, True):
        by_samples = [
            shared_dimensions(A, each, space="samples", center=center).value
            for each in (B, B @ turn)
        ]
        assert by_samples[0] == pytest.approx(by_samples[1], rel=1e-12)
    assert abs(shared_dimensions(A, B @ turn).value - shared_dimensions(A, B).value) > 0.1


def test_nothing_shared_and_more_than_the_smaller():
    first, second = np.zeros((2, 6, 4))
    first[:3, :2], second[3:, 2:] = A[:3, :2], B[:3, 1:]
    for space in SPACES:
        assert shared_dimensions(first, second, space=space).value == 0
    # Spectrum (.9, .1) beside one dimension: .9 / (.81 + .01).
    spread, single = np.diag([0.9, 0.1]) ** 0.5, np.diag([1.0, 0.0])
    found = shared_dimensions(spread, single)
    assert found.value == pytest.approx(0.9 / 0.82, rel=1e-12)
    assert found.value > min(found.participation) == pytest.approx(1.0, rel=1e-12)


@given(st.integers(0, 1000), st.integers(2, 9), st.integers(2, 9))
def test_centred_samples_are_kernel_alignment(seed, p, q):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((6, p)), rng.standard_normal((6, q))
    centring = np.eye(6) - 1 / 6
    k, m = (centring @ x @ x.T @ centring for x in (a, b))
    found = shared_dimensions(a, b, space="samples", center=True)
    alignment = np.sum(k * m) / (np.linalg.norm(k) * np.linalg.norm(m))
    assert found.value / found.bound == pytest.approx(alignment, rel=1e-10)


@pytest.mark.parametrize(("space", "p"), [("features", 5_000), ("samples", 5_000), ("samples", 2)])
def test_wide_features_need_no_matrix_of_their_own_size(space, p):
    a, b = np.random.default_rng(0).standard_normal((2, 3, 5_000))
    tracemalloc.start()
    participation_ratio(a)
    found = shared_dimensions(a[:, :p], b, space=space, center=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # 5,000 squared numbers would be 200 MB; a copy of the features is 0.1 MB.
    assert peak < 10 * a.nbytes
    assert 0 <= found.value <= found.bound * (1 + 1e-12)


@pytest.mark.parametrize(
    ("a", "b", "options", "sentence"),
    [
        (
            A,
            B[:3],
            {},
            "both sets of features are of the same inputs; got 4 and 3 rows; pass a row for each "
            "input, in the same order",
        ),
        (
            A,
            B[:, :2],
            {},
            "in feature space both sets have the same features; got 3 and 2 columns; pass "
            'space="samples" for features that do not correspond',
        ),
        (
            A,
            0 * B,
            {},
            "features are not all zero; got b of shape (4, 3) without another number; look "
            "whether the layer's units are all silent",
        ),
        (
            A,
            np.where(B == 3, np.nan, B),
            {},
            "b is an array of finite numbers of shape (m, q); got 1 that is NaN, "
            "at (3, 2); drop or fill missing numbers first",
        ),
        (
            A,
            B[0],
            {},
            "b is an array of finite numbers of shape (m, q); got shape (3,); pass shape (m, q)",
        ),
        (
            A,
            np.tile([0.1, 0.7, 1 / 3], (5, 1)),
            {"center": True},
            "centred features differ between inputs; got b with 5 equal rows; pass center=False, "
            "or more inputs",
        ),
        (A, B, {"space": "units"}, 'space is "features" or "samples"; got \'units\'; choose one'),
        (A, B, {"center": "no"}, "center is True or False; got 'no'; choose one of them"),
    ],
)
def test_errors_say_rule_got_remedy(a, b, options, sentence):
    with pytest.raises(InputError) as caught:
        shared_dimensions(a, b, **options)
    assert str(caught.value).startswith(sentence)


def test_errors_of_participation():
    with pytest.raises(InputError, match=r"not all zero; got features of shape \(2, 3\) without"):
        participation_ratio(np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"got 1 that is NaN, at \(0, 1\); drop or fill"):
        participation_ratio(np.array([[1.0, np.nan, np.inf]]))
