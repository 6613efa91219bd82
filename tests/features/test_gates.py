"""Gates: contexts by hand, their features against a matrix, and their averages over draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.features import HalfspaceGates, ReLUGates
from partwhole.features.design import weighted_gram
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.expected import expected_agreement, expected_relu_agreement
from partwhole.features.gates.joint import Gates, JointGates


@given(
    st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4), st.integers(1, 6),
    st.integers(1, 4), st.booleans(),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_a_design_is_its_matrix(seed, n, units, d, contexts, some_off):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(n, d))
    where = rng.integers(-1 if some_off else 0, contexts, size=(n, units))
    design = GatedDesign(inputs, where, contexts)
    matrix = np.zeros((n, units, contexts, d))
    for i in range(n):
        for h in range(units):
            if where[i, h] >= 0:
                matrix[i, h, where[i, h]] = inputs[i]
    matrix = matrix.reshape(n, -1)
    assert design.shape == matrix.shape
    np.testing.assert_array_equal(design.dense().matrix, matrix)
    for columns in (rng.normal(size=matrix.shape[1]), rng.normal(size=(matrix.shape[1], 2))):
        np.testing.assert_allclose(design @ columns, matrix @ columns, atol=1e-12)
    for rows in (rng.normal(size=n), rng.normal(size=(n, 3))):
        np.testing.assert_allclose(design.adjoint(rows), matrix.T @ rows, atol=1e-12)
    weights = rng.uniform(size=matrix.shape[1])
    even = np.repeat(rng.uniform(size=units * contexts), d)
    for each in (weights, even):
        np.testing.assert_allclose(
            weighted_gram(design, each), matrix * each @ matrix.T, atol=1e-12
        )
    for block in design.blocks:
        part = matrix[:, block.columns]
        np.testing.assert_allclose(design.gram(block), part @ part.T, atol=1e-12)
        given_weights = weights[block.columns]
        found = design.gram(block, given_weights)
        np.testing.assert_allclose(found, part * given_weights @ part.T, atol=1e-12)
    coefficients = rng.normal(size=matrix.shape[1])
    shares = [matrix[:, b.columns] @ coefficients[b.columns] for b in design.blocks]
    np.testing.assert_allclose(design.block_outputs(coefficients), np.array(shares).T, atol=1e-12)
    same = (where[:, None] == where[None]) & (where[:, None] >= 0)
    np.testing.assert_allclose(design.agreement(), same.sum(axis=2), atol=1e-12)


def test_products_in_parts_are_those_of_the_whole(monkeypatch):
    rng = np.random.default_rng(0)
    where = rng.integers(0, 3, size=(7, 11))
    one = GatedDesign(rng.normal(size=(7, 4)), where, 3)
    columns, rows = rng.normal(size=one.shape[1]), rng.normal(size=7)
    whole = one @ columns, one.adjoint(rows), one.agreement()
    monkeypatch.setattr("partwhole.features.gates.design.WIDTH", 7)
    for found, told in zip((one @ columns, one.adjoint(rows), one.agreement()), whole, strict=True):
        np.testing.assert_allclose(found, told, atol=1e-12)


def test_contexts_by_hand():
    normals = np.array([[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [1.0, 1.0]]])
    gates = HalfspaceGates(normals, np.array([[0.0, 0.5], [0.0, 0.0]]))
    inputs = np.array([[1.0, 1.0], [1.0, 0.5], [-1.0, 2.0], [0.0, 0.0]])
    # On the plane is not beyond it.
    assert gates.contexts(inputs).tolist() == [[3, 1], [2, 1], [1, 3], [0, 0]]
    assert (gates.n_units, gates.n_contexts) == (2, 4)
    ungated = HalfspaceGates(np.zeros((3, 0, 2)), np.zeros((3, 0)))
    assert ungated.contexts(inputs).tolist() == [[0, 0, 0]] * 4
    assert ungated.n_contexts == 1
    on = ReLUGates(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([0.5, 0.0]))
    assert on.contexts(inputs).tolist() == [[0, 0], [0, 0], [-1, 0], [-1, 0]]
    for each in (gates, on, JointGates.of(gates, inputs)):
        assert isinstance(each, Gates)
        assert each.design(inputs).shape == (4, each.n_units * each.n_contexts * 2)


def test_no_input_is_on_a_hyperplane():
    """Where one is the median itself, its side must not depend on the order of a sum."""
    rng = np.random.default_rng(4)
    inputs, normals = rng.normal(size=(101, 30)), rng.normal(size=(6, 2, 30))
    gates = HalfspaceGates.at_quantile(normals, inputs)
    sides = np.einsum("hkd,nd->nhk", normals, inputs) - gates.thresholds
    assert np.abs(sides).min() > 1e-6
    assert ((sides > 0).sum(axis=0) == 50).all()
    alone = np.concatenate([gates.contexts(row[None]) for row in inputs])
    np.testing.assert_array_equal(alone, gates.contexts(inputs))
    np.testing.assert_array_equal(
        HalfspaceGates.at_quantile(normals, inputs[:100]).thresholds,
        np.median(np.einsum("hkd,nd->nhk", normals, inputs[:100]), axis=0),
    )
    for share, above in ((0.0, 100), (1.0, 0)):
        gates = HalfspaceGates.at_quantile(normals, inputs, share)
        counts = (np.einsum("hkd,nd->nhk", normals, inputs) > gates.thresholds).sum(axis=0)
        assert (counts == above).all()


def test_thresholds_at_a_share_of_the_inputs():
    inputs = np.random.default_rng(1).normal(4.0, 1.0, size=(200, 3))
    for thresholds, share in (("median", 0.5), (0.25, 0.75)):
        gates = HalfspaceGates.random(
            3, n_units=5, n_hyperplanes=2, thresholds=thresholds, inputs=inputs
        )
        above = inputs @ gates.normals.reshape(-1, 3).T > gates.thresholds.ravel()
        np.testing.assert_allclose(above.mean(axis=0), share, atol=1 / 200)
    # Through the origin, far from the data, contexts are uneven.
    plain = HalfspaceGates.random(3, n_units=200, seed=3).contexts(inputs).mean(axis=0)
    assert np.mean((plain < 0.05) | (plain > 0.95)) > 0.5
    shared = HalfspaceGates.random(3, n_units=4, n_hyperplanes=2, shared=True)
    assert (np.ptp(shared.normals, axis=0) == 0).all()
    again = HalfspaceGates.random(3, n_units=4, n_hyperplanes=2, seed=0)
    np.testing.assert_array_equal(again.normals[0], shared.normals[0])


def test_joint_contexts_that_were_not_seen_have_no_weights():
    rng = np.random.default_rng(2)
    gates = HalfspaceGates.random(3, n_units=6, seed=1)
    inputs, others = rng.normal(size=(10, 3)), rng.normal(size=(50, 3))
    joint = JointGates.of(gates, inputs)
    codes = [tuple(row) for row in gates.contexts(inputs).tolist()]
    assert joint.n_contexts == len({*codes})
    for row, found in zip(
        gates.contexts(others).tolist(), joint.contexts(others)[:, 0], strict=True
    ):
        seen = tuple(row) in codes
        assert (found >= 0) == seen
        if seen:
            assert joint.occupied[found].tolist() == row
    unseen = joint.contexts(others)[:, 0] < 0
    answers = joint.design(others) @ rng.normal(size=joint.design(others).shape[1])
    assert (answers[unseen] == 0.0).all()
    assert unseen.any()


def test_narrow_numbers_and_no_inputs_at_all():
    """Products of whole numbers in 8 bits would wrap round, those in 16 bits lose digits."""
    bright = np.array([[200, 100, 3], [250, 1, 77]])
    gates = HalfspaceGates.random(3, n_units=4, seed=1)
    for narrow in (bright.astype(np.float16), bright.astype(np.float32)):
        found = gates.design(narrow)
        assert found.products.dtype == float
        np.testing.assert_array_equal(found.products, bright @ bright.T)
    design = GatedDesign(bright.astype(np.uint8), np.zeros((2, 1), dtype=int), 1)
    np.testing.assert_array_equal(design.products, bright @ bright.T)
    none = gates.design(np.zeros((0, 3)))
    assert (none @ np.ones(none.shape[1])).shape == (0,)
    assert none.adjoint(np.zeros(0)).tolist() == [0.0] * 24


def test_angles_do_not_depend_on_size():
    """Squares of 1e200 are no numbers, and those of 1e-200 are 0."""
    inputs = np.array([[1.0, 0.0], [1.0, 1.0]])
    for size in (1e-200, 1e200):
        found = expected_agreement(size * inputs)
        np.testing.assert_allclose(found, [[1.0, 0.75], [0.75, 1.0]], rtol=1e-12)


@pytest.mark.parametrize(("degrees", "k", "told"), [(45, 3, 0.421875), (60, 1, 2 / 3), (0, 2, 1.0)])
def test_agreement_of_random_half_spaces(degrees, k, told):
    angle = np.deg2rad(degrees)
    inputs = np.array([[1.0, 0.0, 0.0], [2 * np.cos(angle), 2 * np.sin(angle), 0.0]])
    found = expected_agreement(inputs, n_hyperplanes=k)[0, 1]
    assert found == pytest.approx(told, abs=1e-12)
    # 300,000 draws: three standard deviations are .0027.
    gates = HalfspaceGates.random(3, n_units=300_000, n_hyperplanes=k, seed=7)
    one, other = gates.contexts(inputs)
    assert np.mean(one == other) == pytest.approx(told, abs=2.7e-3)


def test_agreement_of_random_relu_units():
    inputs = np.array([[1.0, 0.0], [0.5, 3**0.5 / 2]])
    found = expected_relu_agreement(inputs)
    np.testing.assert_allclose(found, [[0.5, 1 / 3], [1 / 3, 0.5]], atol=1e-12)
    one, other = ReLUGates.random(2, n_units=300_000, seed=8).contexts(inputs) >= 0
    assert np.mean(one & other) == pytest.approx(1 / 3, abs=2.7e-3)


def test_angles_of_inputs_that_are_nearly_alike():
    """To first order in 1e-9; the arccosine of the cosine would give 0."""
    inputs = np.array([[1.0, 0.0], [1.0, 1e-9]])
    assert 1 - expected_agreement(inputs)[0, 1] == pytest.approx(1e-9 / np.pi, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: HalfspaceGates(np.zeros((2, 1, 3)), np.zeros((2, 2))),
            "normals are of shape (units, hyperplanes, inputs), thresholds a number for each; got "
            "(2, 1, 3) and (2, 2); pass zeros as thresholds for hyperplanes through the origin",
        ),
        (
            lambda: ReLUGates(np.zeros((2, 3)), np.zeros(3)),
            "normals are of shape (units, inputs), thresholds a number for each unit; got (2, 3) "
            "and (3,); leave thresholds out for hyperplanes through the origin",
        ),
        (
            lambda: HalfspaceGates(np.full((2, 1, 3), np.nan), np.zeros((2, 1))),
            "normals is an array of finite numbers of shape (H, k, d); got 6 that are "
            "NaN, the first at (0, 0, 0); drop or fill missing numbers first",
        ),
        (
            lambda: HalfspaceGates(np.zeros((1, 17, 3)), np.zeros((1, 17))),
            "a unit has at most 16 hyperplanes; got 17; pass fewer hyperplanes and more units",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2).contexts(np.ones((4, 5))),
            "these gates are for inputs of 3 numbers; got shape (4, 5); pass an array (n, d) with "
            "the columns for which the gates were made",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=0),
            "n_units is a whole number of at least 1; got 0; pass a whole number of at least 1",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, thresholds="median"),
            "thresholds at a share of the inputs need these; got none; pass inputs=",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, thresholds=1.5),
            'thresholds are "zero", "median" or a share between 0 and 1; got 1.5; choose one of '
            "them",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, thresholds=[0.5]),
            'thresholds is a finite number or "zero" or "median"; got a list of 1; pass one of '
            "these",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, shared="no"),
            "shared is True or False; got 'no'; choose one of them",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, seed=-1),
            "seed is a whole number of at least 0; got -1; pass a whole number of at least 0, "
            "or leave it out for 0",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2, n_hyperplanes=10**9),
            "a unit has at most 16 hyperplanes; got 1000000000; pass fewer hyperplanes and more "
            "units",
        ),
        (
            lambda: ReLUGates.random(3, n_units=2, always_on="no"),
            "always_on is True or False; got 'no'; choose one of them",
        ),
        (
            lambda: HalfspaceGates.random(3, n_units=2).contexts(np.full((4, 3), np.nan)),
            "inputs is an array of finite numbers of shape (n, d); got 12 that are "
            "NaN, the first at (0, 0); drop or fill missing numbers first",
        ),
        (
            lambda: JointGates(HalfspaceGates.random(3, n_units=2), np.zeros((1, 3), dtype=int)),
            "joint contexts are rows that differ, of 2 contexts each; got shape (1, 3); take "
            "JointGates.of(gates, inputs)",
        ),
        (
            lambda: JointGates(HalfspaceGates.random(3, n_units=2), np.zeros((2, 2), dtype=int)),
            "joint contexts are rows that differ, of 2 contexts each; got shape (2, 2); take "
            "JointGates.of(gates, inputs)",
        ),
        (
            lambda: expected_agreement(np.ones((2, 3)), np.ones((2, 4))),
            "inputs and others have equal length along d; got 3 and 4; pass both for the same d",
        ),
        (
            lambda: expected_agreement(np.full((2, 3), np.nan)),
            "inputs is an array of finite numbers of shape (n, d); got 6 that are "
            "NaN, the first at (0, 0); drop or fill missing numbers first",
        ),
        (
            lambda: GatedDesign(np.ones((2, 3)), np.array([[0, 2], [1, 0]]), 2),
            "contexts lie between -1 (off) and 1; got 0..2; pass the number of contexts that the "
            "gates have",
        ),
        (
            lambda: GatedDesign(np.full((2, 3), np.inf), np.zeros((2, 1), dtype=int), 1),
            "inputs is an array of finite numbers of shape (n, d); got 6 that are "
            "infinite, the first at (0, 0); drop or limit infinite numbers first",
        ),
        (
            lambda: expected_agreement(np.array([[0.0, 0.0], [1.0, 0.0]])),
            "inputs have a direction; got 1 that are 0; add a constant input",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence
