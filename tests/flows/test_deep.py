"""Deep linear networks against closed forms, automatic differentiation and conserved quantities.

Exact routes agree to rounding (1e-12); the flow's tolerance of 1e-9 a step leaves 1e-7.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.flows import Deep, FlowOutcome, _layers, deep, descend, flow
from partwhole.flows.stability import deep_stability_limit

TIMES = np.linspace(0.0, 6.0, 7)
# Two clusters at 1 and 2 on their axes and one at the origin, all of variance 0.05.
MEAN = np.array([1.0, 2.0]) / 3
MOMENT = np.diag([1.0, 4.0]) / 3 + 0.05 * np.eye(2)
SHAPES = [(3, 2), (3, 3), (2, 3)]  # three layers, 2 -> 3 -> 3 -> 2
# Of inputs without a mean biases of zero stay, so that the flow is that without biases.
RESTING = {"biases": [np.zeros(size) for size, _ in SHAPES], "mean": np.zeros(2)}


def drawn(seed: int, shapes=SHAPES, scale: float = 0.5) -> tuple[list, list]:
    rng = np.random.default_rng(seed)
    weights = [scale * rng.normal(size=shape) for shape in shapes]
    return weights, [scale * rng.normal(size=shape[0]) for shape in shapes]


def layers_of(weights, biases=None):
    if biases is None:
        return tuple((jnp.asarray(w),) for w in weights)
    return tuple((jnp.asarray(w), jnp.asarray(b)) for w, b in zip(weights, biases, strict=True))


def sampled() -> np.ndarray:
    """Return 200 points with exactly the mean and second moment above."""
    z = np.random.default_rng(0).normal(size=(200, 2))
    z -= z.mean(axis=0)
    z = z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / 200)).T
    return z @ np.linalg.cholesky(MOMENT - np.outer(MEAN, MEAN)).T + MEAN


def sample_loss(layers, x):
    """Return the loss over points, each passed through the layers."""
    now = x.T
    for w, *b in layers:
        now = w @ now
        if b:
            now = now + b[0][:, None] * jnp.ones((1, x.shape[0]), dtype=x.dtype)
    return 0.5 * ((now - x.T) ** 2).sum() / x.shape[0]


ours_at, slope_at = jax.jit(_layers.gradients), jax.jit(jax.grad(sample_loss))


@pytest.mark.parametrize("biased", [False, True])
def test_gradients_are_those_of_the_loss_on_points(biased):
    weights, biases = drawn(1)
    moment = np.block([[MOMENT, MEAN[:, None]], [MEAN[None], np.ones((1, 1))]])
    with jax.enable_x64(True):
        layers, x = layers_of(weights, biases if biased else None), jnp.asarray(sampled())
        ours = ours_at(layers, jnp.asarray(moment if biased else MOMENT))
        for one, other in zip(
            jax.tree.leaves(ours), jax.tree.leaves(slope_at(layers, x)), strict=True
        ):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=0, atol=1e-12)


def test_gradients_are_finite_differences():
    weights, _ = drawn(2)
    with jax.enable_x64(True):
        ours = ours_at(layers_of(weights), jnp.asarray(MOMENT))
        ours = [np.asarray(each[0]) for each in ours]

    def loss(w):
        gap = w[2] @ w[1] @ w[0] - np.eye(2)
        return 0.5 * np.trace(gap @ MOMENT @ gap.T)

    for layer, shape in enumerate(SHAPES):
        for i, j in np.ndindex(*shape):
            up, down = ([w.copy() for w in weights] for _ in range(2))
            up[layer][i, j] += 1e-5
            down[layer][i, j] -= 1e-5
            slope = (loss(up) - loss(down)) / 2e-5
            assert ours[layer][i, j] == pytest.approx(slope, abs=1e-8)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_one_layer_relaxes_as_the_closed_form(seed):
    rng = np.random.default_rng(seed)
    w0, u = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    a = u @ u.T
    path = flow(Deep([w0], a), TIMES)
    for t, state in zip(TIMES, path.states, strict=True):
        expected = np.eye(3) - (np.eye(3) - w0) @ scipy.linalg.expm(-a * t)
        np.testing.assert_allclose(state, expected, rtol=0, atol=1e-7)
    assert (np.diff(path.losses) <= 1e-9).all()


def test_recorded_one_layer():
    w0 = np.array([[0.1, -0.2, 0.05], [0.03, 0.2, 0.1], [0.0, 0.1, -0.1]])
    path = flow(Deep([w0], np.diag([0.5025, 2.0025, 0.0])), np.array([0.0, 0.5, 1.0, 3.0]))
    told = [
        (-0.285, 0.46, 0.17),
        (0.16798695, 1.46546303, 0.04348398),
        (0.41648645, 1.83215470, -0.00300053),
        (0.81469926, 2.03270752, -0.02950795),
    ]
    found = path.outputs(np.array([1.0, 2.0, 0.3]))
    np.testing.assert_allclose(found, told, rtol=0, atol=1e-7)


def test_recorded_slowing_by_a_bias():
    # An epoch is 118 steps of 0.1 on the mean over 64 coordinates.
    times, probe = 2 * 0.1 * 118 / 64 * np.arange(10.0, 45.0, 5.0), np.array([1.0, 2.0, 0.0])
    # A third input that is always zero changes nothing: the network is as large as those above.
    nothing, moment, mean = [np.zeros((3, 3))], np.pad(MOMENT, (0, 1)), np.pad(MEAN, (0, 1))
    without = flow(Deep(nothing, moment), times)
    assert without.offsets is None
    told = [(0.7567, 1.9878, 0.0), (0.9965, 2.0, 0.0)]
    np.testing.assert_allclose(without.outputs(probe)[[0, -1]], told, rtol=0, atol=1e-4)
    path = flow(Deep(nothing, moment, biases=[np.zeros(3)], mean=mean), times)
    told = [(0.6252, 1.8621, 0.0), (0.9323, 1.9747, 0.0)]
    np.testing.assert_allclose(path.outputs(probe)[[0, -1]], told, rtol=0, atol=1e-4)
    assert path.offsets is not None
    joint = np.block([[moment, mean[:, None]], [mean[None], np.ones((1, 1))]])
    target = np.diag([1.0, 1.0, 0.0, 0.0])[:3]
    for t, w, b in zip(times, path.states, path.offsets, strict=True):
        expected = target - target @ scipy.linalg.expm(-joint * t)
        np.testing.assert_allclose(np.column_stack([w, b]), expected, rtol=0, atol=1e-7)


def test_the_flow_keeps_the_balance_of_neighbouring_layers():
    weights, _ = drawn(3)
    with jax.enable_x64(True):
        reached, done = jax.jit(deep._flow, static_argnums=5)(
            layers_of(weights),
            jnp.asarray(MOMENT),
            None,
            jnp.asarray(TIMES),
            jnp.asarray([1e-9, 1e-12]),
            4096,
        )
        w = [np.asarray(each[0]) for each in reached]
    assert bool(done)
    assert np.abs(w[0][-1] - w[0][0]).max() > 0.1
    for below, above in ((w[0], w[1]), (w[1], w[2])):
        kept = np.swapaxes(above, 1, 2) @ above - below @ np.swapaxes(below, 1, 2)
        np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), rtol=0, atol=1e-7)
    path = flow(Deep(weights, MOMENT, **RESTING), TIMES)
    np.testing.assert_allclose(path.states, w[2] @ w[1] @ w[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(path.offsets, 0.0, rtol=0, atol=1e-12)
    assert (np.diff(path.losses) <= 1e-9).all()


@pytest.mark.parametrize("biased", [False, True])
def test_small_steps_approach_the_flow(biased):
    weights, biases = drawn(4)
    more = {"biases": biases, "mean": MEAN} if biased else {}
    exact = flow(Deep(weights, MOMENT, **(more or RESTING)), TIMES / 3)  # to time 2
    apart = []
    for n in (400, 800):
        path = descend(Deep(weights, MOMENT, **more), n, 2.0 / n, record=[n])
        assert path.times.tolist() == pytest.approx([2.0])
        gap = np.abs(path.states[-1] - exact.states[-1]).max()
        if biased:
            gap = max(gap, np.abs(path.offsets[-1] - exact.offsets[-1]).max())
        apart.append(gap)
    assert apart[0] < 0.02
    assert apart[1] / apart[0] == pytest.approx(0.5, abs=0.02)


def test_descent_is_training_on_points():
    weights, biases = drawn(5)
    path = descend(Deep(weights, MOMENT, biases=biases, mean=MEAN), 30, 0.05, record=[30])
    with jax.enable_x64(True):
        layers, x = layers_of(weights, biases), jnp.asarray(sampled())
        for _ in range(30):
            slope = jax.tree.map(np.asarray, slope_at(layers, x))
            layers = jax.tree.map(lambda w, g: np.asarray(w) - 0.05 * g, layers, slope)
        (w1, b1), (w2, b2), (w3, b3) = (tuple(map(np.asarray, each)) for each in layers)
    np.testing.assert_allclose(path.states[-1], w3 @ w2 @ w1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(path.offsets[-1], w3 @ (w2 @ b1 + b2) + b3, rtol=0, atol=1e-12)


def test_what_is_recorded_is_a_part_of_all():
    weights, _ = drawn(6)
    whole = descend(Deep(weights, MOMENT), 40, 0.05)
    some = descend(Deep(weights, MOMENT), 40, 0.05, record=[3, 7, 40])
    assert whole.states.shape == (41, 2, 2)
    np.testing.assert_array_equal(some.states, whole.states[[3, 7, 40]])
    np.testing.assert_array_equal(some.times, whole.times[[3, 7, 40]])
    np.testing.assert_allclose(whole.states[0], weights[2] @ weights[1] @ weights[0], atol=1e-15)


FEW = 256  # steps, which suffice for all networks but those of large weights


def test_many_networks_at_once_are_each_alone():
    many = [drawn(seed) for seed in range(9)]
    weights = [np.stack([m[0][k] for m in many]).reshape(3, 3, *SHAPES[k]) for k in range(3)]
    biases = [np.stack([m[1][k] for m in many]).reshape(3, 3, -1) for k in range(3)]
    path = flow(Deep(weights, MOMENT, biases=biases, mean=MEAN), TIMES, max_steps=FEW)
    steps = descend(Deep(weights, MOMENT, biases=biases, mean=MEAN), 40, 0.05, record=[40])
    assert path.states.shape == (3, 3, len(TIMES), 2, 2)
    assert not any("ran out" in note for note in path.notes)
    assert steps.offsets.shape == (3, 3, 1, 2)
    for at, (w, b) in zip(np.ndindex(3, 3), many, strict=True):
        alone = flow(Deep(w, MOMENT, biases=b, mean=MEAN), TIMES)
        np.testing.assert_allclose(path.states[at], alone.states, rtol=0, atol=1e-10)
        np.testing.assert_allclose(path.offsets[at], alone.offsets, rtol=0, atol=1e-10)


def test_depth_makes_the_swing():
    # Strong positive rows, four seeds: no rise of the error in one layer, one in two and three.
    a, probe = np.diag([0.5025, 2.0025]), np.array([1.0, 2.0])
    rng = np.random.default_rng(0)
    layer = [rng.uniform(0, 0.3, size=(4, 2, 2)) for _ in range(3)]
    rises = []
    for depth in (1, 2, 3):
        path = descend(Deep(layer[:depth], a), 6000, 0.005)
        loss = path.probe_losses(probe)
        rises.append((loss - np.minimum.accumulate(loss, axis=1)).max(axis=1))
        assert (loss.max(axis=1) <= loss[:, 0] + 1e-12).all()
    assert (rises[0] == 0).all()
    assert (rises[1] > 0).any()
    assert (rises[2] > rises[1] - 1e-12).all()


def sharpness(weights, biases=None) -> float:
    """Return the largest eigenvalue of the Hessian where the loss on points is zero.

    There it is that of J'J for the errors on the points, which are affine in each parameter: so
    differences are exact.
    """
    x = sampled()
    parts = [*weights, *(biases or [])]
    flat = np.concatenate([part.ravel() for part in parts])
    ends = np.cumsum([0, *(part.size for part in parts)])

    def errors(values):
        cut = [v.reshape(p.shape) for v, p in zip(np.split(values, ends[1:-1]), parts, strict=True)]
        now = x.T
        for layer, w in enumerate(cut[: len(weights)]):
            now = w @ now
            if biases:
                now = now + cut[len(weights) + layer][:, None]
        return (now - x.T).ravel() / np.sqrt(len(x))

    assert np.abs(errors(flat)).max() < 1e-12
    slopes = [(errors(flat + e) - errors(flat - e)) / 2 for e in np.eye(len(flat))]
    return float(np.linalg.eigvalsh(np.array(slopes) @ np.array(slopes).T)[-1])


def test_no_factorisation_of_the_identity_is_flatter_than_the_limit():
    least = 3 * np.linalg.eigvalsh(MOMENT)[-1]
    assert deep_stability_limit(MOMENT, 3) == pytest.approx(2 / least, rel=1e-12)
    assert sharpness([np.eye(2)] * 3) == pytest.approx(least, rel=1e-9)
    for seed in range(5):
        first, second, _ = drawn(seed, scale=1.0)[0]
        third = np.linalg.pinv(second @ first)
        assert sharpness([first, second, third]) >= least * (1 - 1e-9)


def test_with_biases_the_limit_is_that_of_centred_inputs():
    centred = np.linalg.eigvalsh(MOMENT - np.outer(MEAN, MEAN))[-1]
    limit = deep_stability_limit(MOMENT, 2, mean=MEAN)
    assert limit == pytest.approx(1 / centred, rel=1e-12)
    joint = np.block([[MOMENT, MEAN[:, None]], [MEAN[None], np.ones((1, 1))]])
    one = deep_stability_limit(MOMENT, 1, mean=MEAN)
    assert one == pytest.approx(2 / np.linalg.eigvalsh(joint)[-1], rel=1e-12)
    # A first layer that centres and a second that moves back: flatter than the second moment.
    second = 2 * np.linalg.eigvalsh(MOMENT)[-1]
    found = [
        sharpness([gain * np.eye(2), np.eye(2) / gain], [-gain * MEAN, MEAN])
        for gain in (1.0, 1.2, 1.5, 2.0, 3.0)
    ]
    assert 2 * centred <= min(found) < second


@pytest.mark.parametrize(("share", "settles"), [(0.98, True), (1.02, False)])
def test_the_limit_is_where_descent_leaves_the_flattest_identity(share, settles):
    w, step = [np.diag([1.0, 1.001])] * 2, share * deep_stability_limit(MOMENT, 2)
    w = [each.copy() for each in w]
    for _ in range(400):
        g = (w[1] @ w[0] - np.eye(2)) @ MOMENT
        w = [w[0] - step * w[1].T @ g, w[1] - step * g @ w[0].T]
    assert (np.abs(w[1] @ w[0] - np.eye(2)).max() < 1e-4) == settles


def test_descent_that_diverges_says_so():
    far = [30 * w for w in drawn(7)[0]]
    steps = descend(Deep(far, MOMENT), 60, 0.4, record=[0, 60])
    assert steps.outcome is FlowOutcome.DIVERGED
    assert steps.notes == ()


def test_networks_of_a_batch_that_failed_are_named():
    one, other = drawn(7)[0], [0.0 * w for w in drawn(7)[0]]  # at rest: it needs few steps
    still = {"biases": [np.zeros((9, size)) for size, _ in SHAPES], "mean": MEAN}
    weights = [np.stack([6 * a] + 8 * [b]) for a, b in zip(one, other, strict=True)]
    path = flow(Deep(weights, MOMENT, **still), TIMES, max_steps=FEW)
    assert path.outcome is FlowOutcome.MAX_STEPS
    failed = np.isnan(path.states).any(axis=(1, 2, 3))
    assert failed.tolist() == [True] + 8 * [False]
    assert np.isnan(path.states[0, -1]).all()
    assert path.notes[-1] == "1 of 9 networks ran out of steps: 0 (counted from 0)"
    grid = [np.stack([[b, a], [b, 60 * a]]) for a, b in zip(one, other, strict=True)]
    steps = descend(Deep(grid, MOMENT), 60, 0.4, record=[60])
    assert steps.outcome is FlowOutcome.DIVERGED
    assert steps.notes[-1] == "1 of 4 networks diverged: (1, 1) (counted from 0)"
    many = [np.broadcast_to(6 * w, (9, *w.shape)).copy() for w in one]
    (note,) = flow(Deep(many, MOMENT, **still), TIMES, max_steps=FEW).notes
    assert note.endswith("0, 1, 2, 3, 4, 5, 6, 7 and 1 more (counted from 0)")


NARROW = [(2, 3), (1, 2), (3, 1)]


@pytest.mark.parametrize("biased", [False, True])
def test_a_narrow_layer_is_told_and_leaves_directions_unlearned(biased):
    u = np.random.default_rng(1).normal(size=(3, 3))
    a, mean = u @ u.T + 0.2 * np.eye(3) + np.ones((3, 3)), np.ones(3)
    weights, biases = drawn(1, NARROW)
    more = {"biases": biases, "mean": mean} if biased else {}
    path = descend(Deep(weights, a, **more), 20_000, 0.02, record=[20_000])
    assert path.notes == (
        "a layer of 1 units bounds the rank of the end-to-end map: 2 direction(s) of the inputs "
        "are never learned",
    )
    assert np.linalg.matrix_rank(path.states[-1], tol=1e-9) == 1
    spread = a - np.outer(mean, mean) if biased else a
    gap = np.eye(3) - path.states[-1]
    # What stays is the loss of the best map of rank one: the two least eigenvalues.
    left = np.linalg.eigvalsh(spread)[:2].sum()
    assert np.trace(gap @ spread @ gap.T) == pytest.approx(left, rel=1e-5)


def test_a_narrow_layer_is_no_matter_where_the_inputs_are_narrow_too():
    weights, biases = drawn(1, NARROW)
    flat, mean = np.diag([1.0, 0.0, 0.0]), np.pad(MEAN, (0, 1))
    assert descend(Deep(weights, flat), 2, 0.01).notes == ()
    # With the mean apart, one direction is left.
    moment = flat + np.outer(mean, mean)
    with_biases = Deep(weights, moment, biases=biases, mean=mean)
    assert descend(with_biases, 2, 0.01).notes == ()
    assert descend(Deep(weights, moment), 2, 0.01).notes != ()


def test_arguments_are_left_alone_and_so_is_the_setting_of_jax():
    weights, biases = drawn(8)
    arrays = [*weights, *biases]
    kept, before = [each.copy() for each in arrays], jax.config.jax_enable_x64
    path = flow(Deep(weights, MOMENT, biases=biases, mean=MEAN), TIMES)
    assert path.states.dtype == np.float64
    assert path.clock == "gradient"
    assert jax.config.jax_enable_x64 == before
    for now, then in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(now, then)


W, B = drawn(9)
REFUSALS = [
    ({"weights": []}, r"weights are matrices, one for each layer; got shapes none; pass a"),
    ({"weights": [np.ones(2)]}, r"weights are matrices.*got shapes \(2,\); pass a list"),
    (
        {"weights": W[::-1]},
        r"takes what the one before it gives, from 2 inputs to 2 outputs; got s",
    ),
    ({"weights": W[:2]}, r"got shapes \(3, 2\), \(3, 3\); order them from first to last"),
    ({"weights": [W[0][None], *W[1:]]}, r"with the same leading axes"),
    ({"biases": B}, r"biases move by the inputs' mean.*; got biases without a mean; pass iden"),
    ({"mean": MEAN}, r"so they are passed together; got a mean without biases; pass"),
    ({"biases": B[:2], "mean": MEAN}, r"a bias with an entry for each of its outputs; got"),
    (
        {"biases": B, "mean": np.array([1.0, 1.0])},
        r"A - m m' has no negative eigenvalue; got \[1\.0, 1\.0\]; pass E\[x\]",
    ),
]


@pytest.mark.parametrize(("changed", "sentence"), REFUSALS)
def test_refusals_of_the_system(changed, sentence):
    with pytest.raises(InputError, match=sentence):
        Deep(**{"weights": W, "second_moment": MOMENT, **changed})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"step_size": 0.482}, r"stability limit 0\.4819 of this system; got 0\.482; take a sm"),
        ({"step_size": 0.0}, r"lies between 0 and the stability limit .* got 0; take a smaller"),
        ({"steps": 0}, r"steps is a whole number of at least 1; got 0"),
        ({"record": [0, 6]}, r"whole numbers that increase, from 0 to 5; got \[0, 6\]; pass np"),
        ({"record": [2, 1]}, r"whole numbers that increase, from 0 to 5; got \[2, 1\]"),
        ({"record": []}, r"whole numbers that increase, from 0 to 5; got \[\]"),
    ],
)
def test_refusals_of_descent(options, sentence):
    with pytest.raises(InputError, match=sentence):
        descend(Deep(W, MOMENT), **{"steps": 5, "step_size": 0.01, **options})


def test_refusals_of_the_flow_and_the_limit():
    with pytest.raises(
        InputError, match=r"atol is a finite number above 0; got 0; pass a number above 0"
    ):
        flow(Deep(W, MOMENT), TIMES, atol=0)
    with pytest.raises(InputError, match=r"times start at 0 or later"):
        flow(Deep(W, MOMENT), -TIMES)
    with pytest.raises(
        InputError, match=r"n_layers is a whole number of at least 1; got 0; pass a whole"
    ):
        deep_stability_limit(MOMENT, 0)
