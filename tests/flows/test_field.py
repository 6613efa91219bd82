"""The field against its entrywise form, automatic differentiation and the recorded facts.

Two ways of writing one polynomial agree to rounding (1e-12); facts hold to the digits told.
"""

from __future__ import annotations

from inspect import unwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dynamics_oracles import CENTRAL, split, velocity
from hypothesis import given
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.flows.field import field_parts, tied_field

W = np.array([[0.3, 0.1, -0.05], [0.1, 0.6, 0.2], [-0.05, 0.2, 0.15]])
A = np.array([0.5, 1.2, 0.3])
EXACT = 1e-12


def drawn(seed: int, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Return a positive semidefinite W, signals and the generator."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(d, d)) / d
    return u @ u.T, rng.uniform(0, 3, size=d), rng


seeds = st.integers(0, 2**32 - 1)


def test_recorded_field_and_its_parts():
    parts = field_parts(W, np.diag(A))
    growth = [[0.3, 0.17, -0.04], [0.17, 1.44, 0.3], [-0.04, 0.3, 0.09]]
    held = [[0.09, 0.1635, -0.01875], [0.1635, 0.864, 0.2655], [-0.01875, 0.2655, 0.0135]]
    others = [[0.019, -0.0115, 0.032], [-0.0115, 0.077, -0.00625], [0.032, -0.00625, 0.062]]
    whole = [[0.191, 0.018, -0.05325], [0.018, 0.499, 0.04075], [-0.05325, 0.04075, 0.0145]]
    np.testing.assert_allclose(parts.growth, growth, rtol=0, atol=EXACT)
    np.testing.assert_allclose(parts.suppression, held, rtol=0, atol=EXACT)
    np.testing.assert_allclose(parts.interaction, others, rtol=0, atol=EXACT)
    np.testing.assert_allclose(tied_field(W, np.diag(A)), whole, rtol=0, atol=EXACT)


@given(seeds, st.integers(1, 6))
def test_parts_agree_with_their_sums_written_out(seed, d):
    w, a, _ = drawn(seed, d)
    parts = field_parts(w, np.diag(a))
    for ours, plain in zip(
        (parts.growth, parts.suppression, parts.interaction), split(w, a), strict=True
    ):
        np.testing.assert_allclose(ours, plain, rtol=0, atol=EXACT)
    np.testing.assert_allclose(parts.velocity, velocity(w, a), rtol=0, atol=EXACT)
    np.testing.assert_allclose(tied_field(w, np.diag(a)), velocity(w, a), rtol=0, atol=EXACT)


def test_parts_of_a_stack_are_those_of_each():
    stack = np.stack([W, 2 * W, W @ W])
    parts = field_parts(stack, np.diag(A))
    for one, w in zip(parts.interaction, stack, strict=True):
        np.testing.assert_allclose(one, field_parts(w, np.diag(A)).interaction, atol=EXACT)


def test_parts_need_concepts():
    with pytest.raises(
        InputError, match=r"concepts are read off a diagonal second moment; got off"
    ):
        field_parts(W, W @ W)


def test_shapes_that_do_not_fit_are_told():
    with pytest.raises(InputError, match=r"of shape \(..., d, d\); got shape \(2, 3\); pass shape"):
        tied_field(W[:2], np.diag(A))
    with pytest.raises(InputError, match=r"of the states, \(4, 3, 3\).*; got shape \(2, 3, 3\)"):
        unwrap(tied_field)(np.stack([W] * 4), np.stack([np.diag(A)] * 2))
    with pytest.raises(InputError, match=r"of the states, \(3, 3\).*; got shape \(2, 3, 3\)"):
        unwrap(tied_field)(W, np.stack([np.diag(A)] * 2))


def test_each_state_may_have_its_own_second_moment():
    states, moments = np.stack([W, 2 * W]), np.stack([np.diag(A), W @ W])
    told = [tied_field(w, a) for w, a in zip(states, moments, strict=True)]
    np.testing.assert_allclose(tied_field(states, moments), told, atol=EXACT)
    np.testing.assert_allclose(tied_field(states, moments[:1])[1], tied_field(2 * W, moments[0]))


def test_lists_do_as_well_as_arrays():
    np.testing.assert_array_equal(
        tied_field(W.tolist(), np.diag(A).tolist()), tied_field(W, np.diag(A))
    )
    parts = field_parts(W.tolist(), np.diag(A).tolist())
    np.testing.assert_array_equal(parts.velocity, field_parts(W, np.diag(A)).velocity)


def loss(u: jax.Array, a: jax.Array) -> jax.Array:
    gap = u @ u.T - jnp.eye(len(a), dtype=a.dtype)
    return 0.5 * jnp.trace(gap @ a @ gap)


loss_and_slope = jax.jit(jax.value_and_grad(loss))


@pytest.mark.parametrize("width", [2, 3, 5])
def test_gradient_flow_is_twice_as_fast_as_the_field(width):
    rng = np.random.default_rng(width)
    u, factor = rng.normal(size=(3, width)), rng.normal(size=(3, 3))
    a = factor @ factor.T
    with jax.enable_x64(True):
        slope = np.asarray(loss_and_slope(jnp.asarray(u), jnp.asarray(a))[1])
    moved = -(slope @ u.T + u @ slope.T)
    np.testing.assert_allclose(moved, 2 * tied_field(u @ u.T, a), rtol=1e-8)


def test_recorded_loss_and_gradient():
    u, a = CENTRAL.u0, np.diag(CENTRAL.a)
    with jax.enable_x64(True):
        value, slope = loss_and_slope(jnp.asarray(u), jnp.asarray(a))
        value, slope = float(value), np.asarray(slope)
    assert value == pytest.approx(0.7710357939616975, abs=1e-12)
    told = [
        [-0.1146844, -0.1140723, -0.1805477],
        [-0.0300220, -0.0114557, -0.2167244],
        [0.0021237, 0.0014608, 0.0041277],
    ]
    np.testing.assert_allclose(slope, told, rtol=0, atol=1e-6)
    moved = -(slope @ u.T + u @ slope.T)
    np.testing.assert_allclose(moved, 2 * tied_field(u @ u.T, a), rtol=1e-8)


@given(seeds)
def test_relabelled_concepts_move_the_same(seed):
    w, a, rng = drawn(seed)
    order = rng.permutation(len(a))
    relabelled = tied_field(w[np.ix_(order, order)], np.diag(a[order]))
    expected = tied_field(w, np.diag(a))[np.ix_(order, order)]
    np.testing.assert_allclose(relabelled, expected, atol=EXACT)


@given(seeds)
def test_rotated_inputs_move_the_same(seed):
    w, a, rng = drawn(seed)
    q = np.linalg.qr(rng.normal(size=w.shape))[0]
    rotated = tied_field(q @ w @ q.T, q @ np.diag(a) @ q.T)
    np.testing.assert_allclose(rotated, q @ tied_field(w, np.diag(a)) @ q.T, atol=EXACT)


@given(seeds)
def test_mirrored_concepts_move_the_same(seed):
    w, a, rng = drawn(seed)
    sign = np.diag(rng.choice([-1.0, 1.0], size=len(a)))
    mirrored = tied_field(sign @ w @ sign, np.diag(a))
    np.testing.assert_allclose(mirrored, sign @ tied_field(w, np.diag(a)) @ sign, atol=EXACT)


@given(seeds)
def test_diagonal_matrices_move_as_if_one_factor_stood_still(seed):
    w, a, _ = drawn(seed)
    w, a = np.diag(np.diagonal(w)), np.diag(a)
    one_sided = a @ w + w @ a - 2 * w @ a @ w
    np.testing.assert_allclose(tied_field(w, a), one_sided, atol=EXACT)


def test_the_field_rests_at_nothing_and_at_the_identity():
    for w in (np.zeros((3, 3)), np.eye(3)):
        np.testing.assert_allclose(tied_field(w, np.diag(A)), 0, atol=1e-15)


def test_untied_layers_set_out_with_the_field_as_their_symmetric_part():
    w, a, _ = drawn(0)
    m = (w - np.eye(4)) @ np.diag(a)
    untied = -(m @ w + w @ m)
    np.testing.assert_allclose((untied + untied.T) / 2, tied_field(w, np.diag(a)), atol=EXACT)
