"""Overlap kernels: Möbius form, spectrum, saliences (facts G-1, G-2)."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tasks import kernels

from partwhole._checks import InputError
from partwhole.features import OverlapKernel
from partwhole.features.subsets import kernel_spectrum, moebius, zeta
from partwhole.tasks._build import full_grid


def test_salience_from_similarity():
    np.testing.assert_allclose(
        OverlapKernel.from_similarity([0.2, 0.5, 1.0]).salience, [0.375, 0.25], atol=1e-15
    )
    np.testing.assert_allclose(
        OverlapKernel.from_similarity([0.0, 0.1, 0.35, 1.0]).salience, [0.1, 0.15, 0.25], atol=1e-15
    )


def test_similarity_from_salience():
    kernel = OverlapKernel.from_salience([0.3], offset=0.1, scale=0.9)
    np.testing.assert_allclose(kernel.similarity, [0.1, 0.37, 1.0], atol=1e-15)
    np.testing.assert_allclose(kernel.sigma, [0.1, 0.27, 0.27, 0.36], atol=1e-15)


def test_spectrum_as_stated_and_as_computed():
    kernel = OverlapKernel(2, np.array([0.1, 0.27, 0.27, 0.36]))
    found = {T: (round(v, 12), m) for T, (v, m) in kernel.spectrum((3, 4)).items()}
    assert found == {(): (3.45, 1), (0,): (1.44, 2), (1,): (1.17, 3), (0, 1): (0.36, 6)}
    eigenvalues = np.linalg.eigvalsh(kernel.gram(full_grid((3, 4))))
    np.testing.assert_allclose(eigenvalues, [0.36] * 6 + [1.17] * 3 + [1.44] * 2 + [3.45])


@given(st.data())
def test_moebius_round_trip(data):
    sigma = data.draw(kernels(data.draw(st.integers(1, 6)))).sigma
    np.testing.assert_allclose(moebius(zeta(sigma)), sigma, atol=1e-14)


@given(st.data())
def test_saliences_add_up_to_one(data):
    n = data.draw(st.integers(2, 6))
    kernel = data.draw(kernels(n))
    assert abs(sum(kernel.saliences.values()) - 1.0) < 1e-12
    by_order = sum(comb(n, k + 1) * share for k, share in enumerate(kernel.salience))
    assert abs(by_order - 1.0) < 1e-12


@given(st.data())
def test_spectrum_is_that_of_the_grid(data):
    n_components = data.draw(st.integers(1, 3))
    n_values = tuple(data.draw(st.integers(1, 5)) for _ in range(n_components))
    kernel = data.draw(kernels(n_components))
    told = sorted(v for v, times in kernel.spectrum(n_values).values() for _ in range(times))
    gram = kernel.gram(full_grid(n_values))
    np.testing.assert_allclose(told, np.linalg.eigvalsh(gram), atol=1e-11 * np.abs(gram).sum())


@pytest.mark.parametrize("excess", [-1e-9, 1e-9])
def test_positive_definiteness_is_exact_at_its_edge(excess):
    # lambda_{0} = sigma_1 n + sigma_12 with three values is 0 at sigma_1 = -1/4, sigma_12 = 3/4.
    kernel = OverlapKernel(2, np.array([1.0, -0.25 + excess, 0.5, 0.75]))
    assert kernel.is_positive_semidefinite((3, 3)) is (excess > 0)


def test_slightly_negative_salience_can_pass_on_a_small_grid():
    kernel = OverlapKernel(2, np.array([0.1, -0.05, 0.3, 0.75]))
    assert kernel.is_positive_semidefinite((3, 3))
    assert not kernel.is_positive_semidefinite((3, 30))


def test_batched_spectrum_equals_single():
    sigma = np.random.default_rng(0).random((4, 8))
    batch = kernel_spectrum(sigma, (2, 3, 4))
    for one, row in zip(sigma, batch, strict=True):
        np.testing.assert_array_equal(kernel_spectrum(one, (2, 3, 4)), row)


def test_by_set_and_by_component():
    kernel = OverlapKernel.from_salience({(0,): 0.3, (1,): 0.45})
    assert kernel.saliences == pytest.approx({(0,): 0.3, (1,): 0.45, (0, 1): 0.25})
    assert not kernel.is_count_kernel
    similarity = {(): 0.1, (0,): 0.4, (1,): 0.5, (0, 1): 1.0}
    np.testing.assert_allclose(OverlapKernel.from_similarity(similarity).kappa, [0.1, 0.4, 0.5, 1])


def test_gram_counts_overlap():
    kernel = OverlapKernel.from_similarity([0.0, 0.2, 1.0])
    rows = np.array([[0, 0], [0, 1], [1, 1]])
    expected = [[1.0, 0.2, 0.0], [0.2, 1.0, 0.2], [0.0, 0.2, 1.0]]
    np.testing.assert_allclose(kernel.gram(rows), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: OverlapKernel.from_salience([0.1, 0.1], 2),
            "2 components have 1 free saliences, one for each order 1..1; got 2; leave out that "
            "of the full conjunction; it is what remains to 1",
        ),
        (
            lambda: OverlapKernel.from_salience({(0,): 0.5, (0, 1): 0.2}),
            "saliences of all sets add up to 1; got 0.7; leave out that of the full conjunction; "
            "it is what remains",
        ),
        (
            lambda: OverlapKernel.from_salience({(): 0.5, (0,): 0.2}, 2),
            "a salience belongs to a non-empty set of components 0..1; got sets (), (0,); use "
            "offset for the similarity of inputs that share nothing",
        ),
        (
            lambda: OverlapKernel.from_similarity({(): 0.0, (0,): 0.5, (0, 1): 1.0}),
            "similarities by set must name every set of shared components; got none for (1,); "
            "add it",
        ),
        (
            lambda: OverlapKernel.from_similarity([1.0]),
            "similarities by count start at 0 shared components and end at all; got 1 of them; "
            "pass C + 1 numbers",
        ),
        (
            lambda: OverlapKernel.from_similarity([0.5, 0.2, 0.5]),
            "identical inputs must be more similar than inputs that share nothing; got a "
            "difference of 0; check the similarities",
        ),
        (
            lambda: OverlapKernel(2, np.zeros(3)),
            "sigma needs 4 numbers, one for each set of components; got 3; "
            "build the kernel with from_salience or from_similarity",
        ),
        (
            lambda: OverlapKernel(17, np.zeros(3)),
            "an overlap kernel has 1 to 16 components; got 17; it needs a number for every set "
            "of components",
        ),
        (
            lambda: OverlapKernel.from_salience([0.4]).spectrum((3,)),
            "n_values needs a positive number of values for each component; got (3,) for 2 "
            "components; pass one number for each component",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value) == sentence


def test_orders_keep_their_place():
    """Of three components: 3 sets of one, 3 of two, and what remains to one."""
    kernel = OverlapKernel.from_salience([0.2, 0.05])
    np.testing.assert_allclose(kernel.salience, [0.2, 0.05, 1 - 3 * 0.25], atol=1e-15)


def test_eigenvalues_of_multiplicity_zero_do_not_count():
    """With one value of component 0 nothing varies with it; its negative eigenvalue is absent."""
    kernel = OverlapKernel(2, np.array([1.0, -0.3, 0.5, 0.4]))
    assert min(value for value, _ in kernel.spectrum((1, 3)).values()) < 0
    assert np.linalg.eigvalsh(kernel.gram(full_grid((1, 3)))).min() > 0.1
    assert kernel.is_positive_semidefinite((1, 3))


@pytest.mark.parametrize("scale", [1e-14, 1.0, 1e14])
def test_positive_definiteness_does_not_depend_on_scale(scale):
    assert not OverlapKernel(2, scale * np.array([0.1, -0.3, 0.5, 0.75])).is_positive_semidefinite(
        (3, 3)
    )
    # On the edge (lambda_0 = 3 sigma_0 + sigma_01 = 0) but for rounding far below 1e-12.
    edge = scale * np.array([1.0, -0.25 - 1e-14, 0.5, 0.75])
    assert OverlapKernel(2, edge).is_positive_semidefinite((3, 3))


def test_count_kernels_are_told_at_every_order():
    assert OverlapKernel.from_salience([0.1, 0.05]).is_count_kernel
    pairs_differ = {(0,): 0.1, (1,): 0.1, (2,): 0.1, (0, 1): 0.2}
    assert not OverlapKernel.from_salience(pairs_differ).is_count_kernel
