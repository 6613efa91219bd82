"""The regressor against normal equations, explicit refits, and circles whose truth is known."""

from __future__ import annotations

from inspect import unwrap

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.measures.concepts import RAW, calibration, capability, concept_path
from partwhole.measures.concepts.regressor import fit_regressor
from partwhole.tasks import circles

SPACE, SIDE = circles(0.689), 12


def drawn(per_class, seed, noise=0.01, **options):
    shapes = SPACE.sample(per_class, seed=seed, side=SIDE, noise=noise, **options)
    of = shapes.attributes
    return shapes, {"colour": of.colour, "size": of.size}


@pytest.fixture(scope="module")
def regressor():
    shapes, known = drawn(120, 0)
    before = shapes.images.copy()
    fitted = fit_regressor(shapes.images, known, seed=0)
    np.testing.assert_array_equal(shapes.images, before)
    return fitted


def root_mean_square(errors):
    return np.sqrt((errors**2).mean(axis=0))


def test_it_is_the_ridge_of_least_error_when_each_image_is_left_out():
    rng = np.random.default_rng(0)
    images = rng.standard_normal((40, 1, 2, 4))
    known = images.reshape(40, 8)[:, :2] + 0.5 * rng.standard_normal((40, 2))
    parts = []

    def features(given):
        parts.append(given.reshape(len(given), -1))
        return parts[-1]

    found = fit_regressor(images, {"both": known}, features=features, seed=3)
    fitted, held = parts
    assert (len(fitted), len(held)) == (34, 6)
    rows = [int(np.flatnonzero((images.reshape(40, 8) == x).all(axis=1))[0]) for x in fitted]
    others = [int(np.flatnonzero((images.reshape(40, 8) == x).all(axis=1))[0]) for x in held]
    assert sorted(rows + others) == list(range(40))
    centre, scale = fitted.mean(axis=0), fitted.std(axis=0)

    def solved(x, y, penalty):
        """Solve the normal equations, with an intercept that is not penalised."""
        design = np.column_stack([np.ones(len(x)), x])
        ridge = np.diag([0.0] + [penalty] * x.shape[1])
        return np.linalg.solve(design.T @ design + ridge, design.T @ y)

    standard, y = (fitted - centre) / scale, known[rows]

    def left_out(penalty):
        errors = []
        for i in range(len(y)):
            kept = np.arange(len(y)) != i
            b = solved(standard[kept], y[kept], penalty)
            errors.append(y[i] - b[0] - standard[i] @ b[1:])
        return ((np.array(errors) ** 2).mean(axis=0) / y.var(axis=0)).sum()

    grid = 10.0 ** np.arange(-4, 6.5, 0.5)
    assert found.penalty == pytest.approx(grid[np.argmin([left_out(p) for p in grid])])
    b = solved(standard, y, found.penalty)
    expected = b[0] + (held - centre) / scale @ b[1:]
    np.testing.assert_allclose(found.values(images[others])["both"], expected, atol=1e-9)
    np.testing.assert_allclose(
        found.error["both"], root_mean_square(expected - known[others]), atol=1e-9
    )
    np.testing.assert_allclose(
        found.explained["both"], 1 - found.error["both"] ** 2 / known[others].var(axis=0)
    )
    given = fit_regressor(images, {"both": known}, features=features, penalty=7.0, seed=3)
    b = solved(standard, y, 7.0)
    expected = b[0] + (held - centre) / scale @ b[1:]
    np.testing.assert_allclose(given.values(images[others])["both"], expected, atol=1e-9)


def test_it_recovers_what_was_drawn_within_the_error_it_states(regressor):
    shapes, known = drawn(60, 1)
    found = regressor.values(shapes.images)
    seen = ~np.isnan(found["size"][:, 0])
    assert seen.mean() > 0.95
    for name, truth in known.items():
        error = root_mean_square((found[name] - truth.reshape(len(seen), -1))[seen])
        # Of 72 and 240 images with tails: each root mean square is good to a fifth or so.
        np.testing.assert_allclose(error, regressor.error[name], rtol=0.5)
        assert (regressor.explained[name] > 0.7).all()
    assert regressor.error["size"] < 0.045  # a quarter of a pixel, .18
    assert regressor.abstained < 0.05
    assert regressor.describe().splitlines()[1].startswith("size: error 0.0")


def test_it_tells_the_classes_apart(regressor):
    shapes, _ = drawn(40, 2, jitter=False)
    coordinates = regressor.coordinates(shapes.images, SPACE.ends())
    scores = calibration(coordinates, shapes.components, concepts=SPACE.names)
    assert scores.accuracy.tolist() == [1.0, 1.0]
    assert scores.abstained.max() < 0.05
    assert scores.brier.max() < 0.02
    # Errors of coordinates are those of numbers, over the distance of the two values.
    seen = ~np.isnan(coordinates[:, 0])
    inner = regressor.coordinates(shapes.images, {"size": (1.25, -0.15)})[seen, 0]
    sizes = regressor.values(shapes.images)["size"][seen, 0]
    np.testing.assert_allclose(inner, (1.25 - sizes) / 1.4, atol=1e-12)
    logistic = regressor.coordinates(shapes.images, {"size": (1.25, -0.15)}, law="logistic")
    assert ((logistic[seen, 0] > 0.5) == (inner > 0.5)).all()


def test_it_abstains_on_images_unlike_those_it_was_fitted_to(regressor):
    rng = np.random.default_rng(0)
    white = rng.standard_normal((20, SIDE, SIDE, 3))
    shapes, _ = drawn(5, 3)
    two = np.minimum(shapes.images, np.roll(shapes.images[::-1], SIDE // 3, axis=1))
    # Two circles are sometimes nearly one, where they overlap.
    for images, least in ((0.5 + 0.01 * white, 1.0), (0.5 + 0.3 * white, 1.0), (two, 0.5)):
        coordinates = regressor.coordinates(images, SPACE.ends())
        assert np.isnan(coordinates).all(axis=1).mean() >= least
    assert np.isnan(regressor.values(np.zeros((SIDE, SIDE, 3)))["size"]).all()


def test_it_abstains_out_of_range_and_at_a_distance_apart():
    level = np.linspace(0.2, 0.8, 40)
    images = np.tile(level[:, None, None, None], (1, 2, 2, 1))
    rng = np.random.default_rng(0)
    known = {"level": level + 0.01 * rng.standard_normal(40)}
    options = {"features": lambda given: given[:, 0, 0], "seed": 0, "penalty": 1e-6}
    further = np.array([0.5, 0.79, 0.95, 5.0])
    asked = np.tile(further[:, None, None, None], (1, 2, 2, 1))

    def read(**limits):
        return ~np.isnan(fit_regressor(images, known, **options, **limits).values(asked)["level"])

    assert read(unlike=1e9)[:, 0].tolist() == [True, True, False, False]
    assert read(unlike=1e9, margin=1e9)[:, 0].tolist() == [True] * 4
    # The distance is that of the level from the middle, squared: 4 of .45 to .3 is 2.25.
    assert read(margin=1e9)[:, 0].tolist() == [True, True, False, False]
    assert read(margin=1e9, unlike=3.5)[:, 0].tolist() == [True, True, True, False]


def test_what_reads_a_model_takes_its_coordinates(regressor):
    """Noise first, then red small circles, then blue ones as asked for."""
    steps, n = np.array([100, 200, 400, 800]), 12
    rng = np.random.default_rng(1)
    noise = 0.5 + 0.3 * rng.standard_normal((n, SIDE, SIDE, 3))
    red, blue = (drawn([0, n, 0, 0], 4), drawn([0, 0, 0, n], 5))
    images = np.stack([noise, red[0].images, red[0].images, blue[0].images])
    read = regressor.coordinates(images, SPACE.ends())
    assert read.shape == (4, n, 2)
    path = concept_path(steps, read, smoothing=RAW)
    assert path.recorded_steps.tolist() == [100, 200, 400, 800]
    assert path.steps.tolist() == [200, 400, 800]
    np.testing.assert_allclose(path.mean[[0, -1]], [[0, 1], [1, 1]], atol=0.15)
    both = {"asked": read[1:], "further": read[[2, 3, 3]]}
    elicited = capability(steps[1:], both, consecutive=1, seed=0)
    assert elicited.emergence.step < elicited.naive_emergence.step


def test_leading_axes_kinds_and_seeds(regressor):
    shapes, known = drawn(6, 6)
    flat = regressor.coordinates(shapes.images, SPACE.ends())
    leading = shapes.images.reshape(4, 6, SIDE, SIDE, 3)
    np.testing.assert_array_equal(regressor.coordinates(leading, SPACE.ends()).reshape(24, 2), flat)
    few = [fit_regressor(shapes.images, known, seed=seed) for seed in (1, 1, 2)]
    numbers = [one.error["size"] for one in few]
    assert numbers[0] == numbers[1] != numbers[2]
    # A kind, which no decoder of discs reads.
    both = circles(0.689, shapes=("circle", "triangle"))
    seen, unseen = (both.sample(n, side=SIDE, seed=n, noise=0.0) for n in (60, 15))
    kinds = fit_regressor(seen.images, {"kind": seen.attributes.kind}, seed=0)
    place = kinds.coordinates(unseen.images, {"kind": (0, 1)})
    scores = calibration(place, unseen.components[:, :1])
    assert scores.accuracy > 0.85


def test_refusals_say_rule_got_and_remedy(regressor):
    images = np.random.default_rng(0).random((30, 4, 4, 1))
    level = {"level": images.mean(axis=(1, 2, 3))}
    bare = unwrap(fit_regressor)
    cases = [
        (lambda: fit_regressor(images[:9], {}, seed=0), "20 images or more; got 9; pass more"),
        (lambda: fit_regressor(images, {}, seed=0), "name one concept or more, .* got none; pass"),
        (lambda: bare(images, [], seed=0), "name one concept or more, .* got .*; pass"),
        (lambda: fit_regressor(images, {"a": [1, 2]}, seed=0), "each of the 30 images; got .* 'a'"),
        (lambda: fit_regressor(images, {"a": ["x"] * 30}, seed=0), "are numbers, a row for each"),
        (lambda: fit_regressor(images, {"a": [np.nan] * 30}, seed=0), "finite; got 30 of 'a' that"),
        (
            lambda: fit_regressor(images, {"a": [1.0] * 30}, seed=0),
            "varies among .* got 'a', which",
        ),
        (
            lambda: fit_regressor(images, level, held_out=0.01, seed=0),
            "two or more give the error; got 0 of 30 held out; pass more images, or another share",
        ),
        (
            lambda: fit_regressor(images, level, features=lambda x: x[:, 0], seed=0),
            r"a row for each image; got shape \(26, 4, 1\) of float64 for 26 images; flatten",
        ),
        (
            lambda: fit_regressor(images, level, features=lambda x: np.nan * x[:, 0, 0], seed=0),
            "features are a table of finite numbers with a row for each image; got shape",
        ),
        (
            lambda: regressor.values(images),
            r"size of those it was fitted to, \(12, 12, 3\); got shape \(30, 4, 4, 1\); fit",
        ),
        (
            lambda: regressor.values(np.zeros((0, 12, 12, 3))),
            "there is an image to read; got shape",
        ),
        (
            lambda: regressor.coordinates(images, {}),
            "values name one concept or more; got none; pass",
        ),
        (
            lambda: regressor.coordinates(images, {"x": (0, 1)}),
            r"those that were fitted, colour, size; got \['x'\]; fit a regressor to it too",
        ),
    ]
    for refused, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            refused()
