"""Convolutions and maxima over windows: against XLA's, with all of their gradients."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from partwhole.networks.images import windows

ONE, FULL = ((1, 1), (1, 1)), ((2, 2), (2, 2))
# One case for each form: images, kernel, stride, padding.
CASES = {
    "product": ((3, 5, 7, 4), (1, 1, 4, 5), 1, "VALID"),
    "product of stride 2": ((3, 5, 7, 4), (1, 1, 4, 5), 2, "VALID"),
    "1 x 1 with zeros around": ((3, 5, 7, 4), (1, 1, 4, 5), 1, ONE),
    "no padding": ((3, 8, 9, 3), (5, 5, 3, 40), 1, "VALID"),
    "no padding, stride 2": ((3, 8, 9, 3), (3, 3, 3, 40), 2, "VALID"),
    "two neighbours": ((3, 6, 9, 3), (3, 3, 3, 16), 1, "SAME"),
    "four neighbours": ((3, 6, 11, 3), (3, 3, 3, 2), 1, ((0, 1), (2, 0))),
    "many channels": ((3, 6, 9, 40), (3, 3, 40, 33), 1, ONE),
    "stride 2": ((3, 6, 9, 4), (3, 3, 4, 33), 2, ONE),
    "large kernel": ((2, 10, 11, 3), (7, 7, 3, 6), 2, ((3, 3), (3, 3))),
    "more zeros than kernel": ((2, 6, 7, 3), (3, 3, 3, 33), 1, ((3, 3), (3, 3))),
    "one place": ((3, 1, 1, 5), (3, 3, 5, 6), 1, ONE),
    "four places": ((3, 2, 2, 5), (3, 3, 5, 6), 1, "SAME"),
    "to one place": ((3, 2, 2, 5), (3, 3, 5, 6), 2, ONE),
    "few places, stride 2": ((3, 4, 4, 5), (3, 3, 5, 6), 2, ONE),
    "zeros beyond a small map": ((3, 2, 1, 5), (3, 3, 5, 6), 1, ((4, 4), (3, 3))),
    "blocks of the batch": ((70, 5, 6, 3), (3, 3, 3, 4), 1, ONE),
}  # fmt: skip


def xla(x, kernel, stride, padding):
    """Convolve in XLA's form."""
    axes = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), padding, dimension_numbers=axes
    )  # fmt: skip


def problem(name, dtype):
    """Return the arrays of a case and both functions of them."""
    images, size, stride, padding = CASES[name]
    rng = np.random.default_rng(0)
    x, kernel = (
        jnp.asarray(rng.normal(size=shape).astype(dtype), dtype) for shape in (images, size)
    )
    ours = lambda x, kernel: windows.convolve(x, kernel, stride, padding)  # noqa: E731
    theirs = lambda x, kernel: xla(x, kernel, stride, padding)  # noqa: E731
    return x, kernel, ours, theirs


def agree(ours, theirs, tolerance):
    """Assert that trees agree, in units of the largest entry of each array."""
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        a, b = np.asarray(a), np.asarray(b)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


@cache
def values_and_gradients(dtype):
    """Return those of all cases, of both functions; one program compiles faster than many."""
    with jax.enable_x64(dtype == "float64"):
        problems = {name: problem(name, dtype) for name in CASES}

        @jax.jit
        def of_all(arrays):
            results = {}
            for name, (x, kernel) in arrays.items():
                results[name] = []
                for function in problems[name][2:]:
                    y, back = jax.vjp(function, x, kernel)
                    slope = jnp.cos(jnp.arange(y.size, dtype=dtype)).reshape(y.shape)
                    results[name].append((y, back(slope)))
            return results

        return of_all({name: (x, kernel) for name, (x, kernel, *_) in problems.items()})


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
def test_values_and_gradients_are_those_of_xla(name, dtype, tolerance):
    """float32 sums have up to 4,000 terms here: 2e-5 is 300 roundings of 6e-8."""
    agree(*values_and_gradients(dtype)[name], tolerance)


@pytest.mark.parametrize("name", ["no padding", "two neighbours", "four places", "product"])
def test_forward_mode_second_derivatives_and_vmap(name):
    with jax.enable_x64(True):
        x, kernel, ours, theirs = problem(name, "float64")
        dx, dkernel = jnp.sin(x), jnp.cos(kernel)

        @jax.jit
        def all_of(x, kernel):
            results = []
            for function in (ours, theirs):
                slopes = jax.grad(lambda x, k, f=function: jnp.sum(f(x, k) ** 3), (0, 1))
                results.append((
                    jax.jvp(function, (x, kernel), (dx, dkernel)),
                    jax.jvp(lambda k, f=function: f(x, k), (kernel,), (dkernel,)),
                    jax.jvp(slopes, (x, kernel), (dx, dkernel)),
                    jax.grad(
                        lambda x, k, g=slopes: sum(jnp.sum(s**2) for s in g(x, k)), (0, 1)
                    )(x, kernel),
                    jax.vmap(jax.grad(lambda k, x, f=function: jnp.sum(f(x, k) ** 2)), (0, None))(
                        jnp.stack([kernel, 2.0 * kernel]), x
                    ),
                    jax.vmap(function, (0, None))(jnp.stack([x, dx]), kernel),
                ))  # fmt: skip
            return results

        agree(*all_of(x, kernel), 1e-12)


def test_outputs_without_places_are_as_xla_has_them():
    x, kernel = jnp.zeros((2, 2, 2, 3)), jnp.zeros((5, 5, 3, 4))
    assert windows.convolve(x, kernel, 1, "VALID").shape == xla(x, kernel, 1, "VALID").shape


def pooled(x, size, stride, padding):
    """Return XLA's maximum over windows."""
    side = (padding, padding)
    return jax.lax.reduce_window(
        x, -jnp.inf, jax.lax.max, (1, size, size, 1), (1, stride, stride, 1),
        ((0, 0), side, side, (0, 0)),
    )  # fmt: skip


@pytest.mark.parametrize("setting", [(2, 2, 0), (3, 2, 1), (3, 1, 0), (2, 2, 1)])
def test_maxima_and_their_slopes_are_those_of_xla(setting):
    """Whole numbers have ties: the slope of a window goes to the first of them."""
    x = jnp.asarray(np.random.default_rng(1).integers(-2, 2, size=(3, 7, 9, 4)), jnp.float32)
    results = []
    for function in (windows.maximum, pooled):

        @jax.jit
        def both(x, function=function):
            y, back = jax.vjp(lambda x: function(x, *setting), x)
            slopes = jnp.arange(1.0, y.size + 1.0).reshape(y.shape)  # whole: sums are exact
            return y, *back(slopes)

        results.append(both(x))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_no_number_stays_one_in_a_maximum():
    x = np.zeros((1, 4, 4, 1), np.float32)
    x[0, 0, 1, 0] = x[0, 2, 2, 0] = np.nan
    expected = [[True, False], [False, True]]
    maxima = np.asarray(windows.maximum(jnp.asarray(x), 2, 2, 0))
    assert np.isnan(maxima)[0, :, :, 0].tolist() == expected


def test_on_an_accelerator_the_forms_are_those_of_xla(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    for name in CASES:
        x, kernel, ours, theirs = problem(name, "float32")
        assert str(jax.make_jaxpr(ours)(x, kernel)) == str(jax.make_jaxpr(theirs)(x, kernel))
    x = jnp.zeros((1, 6, 6, 1))
    programs = [
        str(jax.make_jaxpr(lambda x, f=f: f(x, 3, 2, 1))(x)) for f in (windows.maximum, pooled)
    ]
    assert programs[0] == programs[1]
