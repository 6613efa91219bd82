"""Alignment of hidden units: pair by pair, invariances, and units without direction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from scipy.stats import ortho_group

from partwhole._checks import InputError
from partwhole.measures.alignment import alignment


def layers(seed, units=5, references=3, dimension=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((units, dimension)), rng.standard_normal((references, dimension))


@given(st.integers(0, 10_000), st.sampled_from(["cosine", "correlation"]))
def test_best_match_over_all_pairs(seed, measure):
    hidden, references = layers(seed)
    before = hidden.copy(), references.copy()
    found = alignment(hidden, references, measure=measure)

    def pair(w, u):
        return 1 - cosine(w, u) if measure == "cosine" else np.corrcoef(w, u)[0, 1]

    table = np.array([[pair(w, u) for u in references] for w in hidden])
    np.testing.assert_allclose(found.values, table.max(axis=1), atol=1e-12)
    np.testing.assert_array_equal(found.matches, table.argmax(axis=1))
    np.testing.assert_allclose(found.magnitudes, [np.sqrt(w @ w) for w in hidden], rtol=1e-14)
    np.testing.assert_array_equal(hidden, before[0])
    np.testing.assert_array_equal(references, before[1])
    own = alignment(hidden, np.flip(hidden, axis=0), match="own", measure=measure)
    expected = [pair(w, u) for w, u in zip(hidden, hidden[::-1], strict=True)]
    np.testing.assert_allclose(own.values, expected, atol=1e-12)
    np.testing.assert_array_equal(own.matches, range(5))


@given(st.integers(0, 10_000))
def test_invariances(seed):
    hidden, references = layers(seed)
    rng = np.random.default_rng(seed)
    found = alignment(hidden, references)
    turn = ortho_group.rvs(4, random_state=seed)
    scaled = alignment(
        rng.uniform(0.1, 9, (5, 1)) * hidden, rng.uniform(0.1, 9, (3, 1)) * references
    )
    turned = alignment(hidden @ turn, references @ turn)
    order = rng.permutation(3)
    ordered = alignment(hidden, references[order])
    for other in (scaled, turned, ordered):
        np.testing.assert_allclose(other.values, found.values, atol=1e-12)
    np.testing.assert_array_equal(order[ordered.matches], found.matches)
    # The correlation alone doesn't see an offset common to a unit's weights.
    first, second = (
        alignment(each, references, measure="correlation") for each in (hidden, hidden + 3.0)
    )
    np.testing.assert_allclose(first.values, second.values, atol=1e-12)


def test_a_unit_is_aligned_with_itself_and_not_with_its_opposite():
    hidden, _ = layers(0)
    found = alignment(2 * hidden, hidden)
    np.testing.assert_allclose(found.values, 1.0, rtol=1e-14)
    assert np.all(found.values <= 1)
    np.testing.assert_array_equal(found.matches, range(5))
    opposite = alignment(hidden[:1], np.stack([-hidden[0], [0.0, 0.0, 0.0, 1.0]]))
    assert opposite.matches[0] == 1
    assert alignment(hidden, -hidden, match="own").mean == pytest.approx(-1.0, rel=1e-14)


def test_magnitudes_and_their_mean():
    hidden = np.array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0]])
    readout = np.array([[2.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    found = alignment(hidden, np.array([[0.0, 1.0]]), readout=readout)
    np.testing.assert_array_equal(found.magnitudes, [10.0, 10.0, 0.0])
    assert found.mean == pytest.approx((0.8 + 1.0) / 2, rel=1e-14)
    shifted = alignment(5 * hidden, np.array([[0.0, 1.0]]), readout=readout / 5)
    np.testing.assert_allclose(shifted.magnitudes, found.magnitudes, rtol=1e-15)
    one = alignment(hidden, np.array([[0.0, 1.0]]), readout=readout[:, 0])
    np.testing.assert_array_equal(one.magnitudes, [10.0, 6.0, 0.0])
    assert one.mean == pytest.approx((0.8 * 10 + 1.0 * 6) / 16, rel=1e-14)
    table = found.to_frame()
    assert list(table.columns) == ["alignment", "match", "magnitude"]
    np.testing.assert_array_equal(table.magnitude, found.magnitudes)


def test_units_without_direction():
    hidden = np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.1], [1.0, 0.0, 0.0]])
    references = np.array([[1.0, 2.0, 3.0]])
    found = alignment(hidden, references)
    assert np.isnan(found.values).tolist() == [True, False, False]
    assert found.matches.tolist() == [-1, 0, 0]
    assert found.mean == pytest.approx(
        (0.1 * np.sqrt(3) * found.values[1] + found.values[2]) / (0.1 * np.sqrt(3) + 1), rel=1e-14
    )
    # Equal weights have nothing to correlate.
    correlated = alignment(hidden, references, measure="correlation")
    assert correlated.matches.tolist() == [-1, -1, 0]
    assert np.isnan(alignment(hidden[:1], references).mean)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (
            (np.ones((4, 3)), np.ones((2, 4))),
            {},
            "hidden and references have equal length along d; got 3 and 4; pass both",
        ),
        (
            (np.ones((4, 3)), np.ones((2, 3))),
            {"match": "own"},
            "references have a weight for each input, and in match='own' a row for each unit; got "
            "shape (2, 3) for",
        ),
        (
            (np.ones((4, 3)), np.eye(3) * [1, 0, 1]),
            {},
            "every reference has a direction; got none at row 1; leave out references whose "
            "weights are all zero",
        ),
        (
            (np.ones((4, 3)), np.full((1, 3), 0.1)),
            {"measure": "correlation"},
            "every reference has a direction; got none at row 0; leave out references whose "
            "weights are all the same",
        ),
        (
            (np.array([[1.0, np.nan]]), np.ones((1, 2))),
            {},
            "hidden is an array of finite numbers of shape (h, d); got 1 that is NaN, "
            "at (0, 1); drop or fill missing numbers first",
        ),
        (
            (np.ones((1, 2)), np.ones(2)),
            {},
            "references is an array of finite numbers of shape (k, d); got shape (2,); "
            "pass shape (k, d)",
        ),
        (
            (np.ones((4, 3)), np.ones((1, 3))),
            {"readout": np.ones((2, 4))},
            "hidden and readout have equal length along h; got 4 and 2; pass both for the same h",
        ),
        (
            (np.ones((4, 3)), np.ones((1, 3))),
            {"match": "first"},
            'match is "best" or "own"; got \'first\'; choose one of them',
        ),
        (
            (np.ones((4, 3)), np.ones((1, 3))),
            {"measure": "angle"},
            'measure is "cosine" or "correlation"; got \'angle\'; choose one of them',
        ),
    ],
)
def test_errors_say_rule_got_remedy(arguments, options, sentence):
    with pytest.raises(InputError) as caught:
        alignment(*arguments, **options)
    assert str(caught.value).startswith(sentence)
