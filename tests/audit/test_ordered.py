"""Components whose values have an order: lists, predictions by explicit kernels, and sentences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from audit_tables import read_table
from sklearn.svm import SVC

from partwhole._checks import InputError
from partwhole.audit import audit_split
from partwhole.cli.command import main

AGES, SIZES = [1, 2, 3, 5, 9], ["small", "smallish", "medium", "large", "huge"]
ROWS = [(a, s, b) for (a, s), b in product(zip(AGES, SIZES, strict=True), "uvwx")]
FRAME = pd.DataFrame(ROWS, columns=["age", "size", "kind"])
FRAME["y"] = 2.0 * FRAME["age"] + FRAME["kind"].map(dict(zip("uvwx", range(4), strict=True)))
FRAME["split"] = np.where(FRAME["age"] == 3, "test", "train")
ROLES = (["age", "kind"], "y", "split")


def similarity(positions, values):
    """Return how alike the values of rows are: 1 if equal, 0 for the first and the last."""
    at = np.asarray(positions, dtype=float)[values]
    return 1.0 - np.abs(at[:, None] - at) / np.ptp(positions)


def kernel_matrix(point, shares):
    """Return the kernel of a point from the similarities of each component's values."""
    matrix = point.memory * np.eye(len(shares[0]))
    for subset, weight in point.kernel.weights.items():
        matrix += weight * np.prod([shares[c] for c in subset], axis=0)
    return matrix


def interpolant(matrix, y, train):
    """Return least-norm outputs at the other rows, with a free intercept."""
    n = int(train.sum())
    system = np.block([[matrix[np.ix_(train, train)], np.ones((n, 1))], [np.ones((1, n)), 0.0]])
    solution = np.linalg.solve(system, np.append(y[train], 0.0))
    return matrix[np.ix_(~train, train)] @ solution[:-1] + solution[-1]


def shares_of(case, frame):
    table, codes = case.table, case.task.components.T
    alike = [np.equal.outer(column, column).astype(float) for column in codes]
    for c, positions in enumerate(table.positions):
        if positions is not None:
            alike[c] = similarity(positions, codes[c])
    return alike


@pytest.mark.parametrize(("n", "order"), [(2, 1), (3, 1), (3, 2)])
def test_predictions_are_those_of_kernels_that_fall_with_the_distance(n, order):
    rng = np.random.default_rng(n + order)
    frame = pd.DataFrame(product([1, 2, 4, 8], "abc", "tuv"[: 1 if n == 2 else 3]))
    frame.columns = ["age", "kind", "place"]
    frame["y"] = rng.normal(size=len(frame))
    frame["split"] = np.where(rng.random(len(frame)) < 0.4, "test", "train")
    roles = (["age", "kind", "place"][:n], "y", "split")
    ordered = {"age": None, "kind": ["b", "c", "a"]}
    report = audit_split(frame, *roles, ordered=ordered, require_order=order, add=0)
    (evidence,) = report.evidence
    case, prediction = evidence.case, evidence.prediction
    assert case.table.positions[:2] == ((1.0, 2.0, 4.0, 8.0), (0.0, 1.0, 2.0))
    shares = shares_of(case, frame)
    for point in prediction.points[1:-1:3]:
        matrix = kernel_matrix(point, shares)
        expected = interpolant(matrix, case.task.targets, case.task.is_train)
        np.testing.assert_allclose(point.outputs, expected, atol=1e-7)
    plain = audit_split(frame, *roles, require_order=order, add=0).evidence[0]
    flat = plain.prediction.points[plain.prediction.reference].outputs
    assert np.abs(flat - prediction.points[prediction.reference].outputs).max() > 0.01
    # What training determines, and what can be answered, is as without an order.
    assert report.determined == plain.determination.share
    assert evidence.solvability.solvable == plain.solvability.solvable


def test_margins_are_those_of_the_same_kernels():
    frame = FRAME.assign(y=np.where(FRAME["y"] > 8.0, "more", "less"))
    report = audit_split(frame, *ROLES, ordered=["age"], fit="margin", add=0)
    (evidence,) = report.evidence
    case, prediction = evidence.case, evidence.prediction
    train, label = case.task.is_train, case.task.targets
    point = prediction.points[prediction.reference]
    matrix = kernel_matrix(point, shares_of(case, frame))
    machine = SVC(C=1e9, kernel="precomputed", tol=1e-10)
    machine.fit(matrix[np.ix_(train, train)], label[train])
    outputs = machine.decision_function(matrix[np.ix_(~train, train)])
    np.testing.assert_allclose(point.outputs, outputs, atol=1e-5)


def test_a_value_between_two_of_training_is_interpolated():
    report = audit_split(FRAME, *ROLES, ordered=["age"], add=0)
    (evidence,) = report.evidence
    # Without memory outputs lie on a straight line: at 3, a third of the way from 2 to 5.
    np.testing.assert_allclose(evidence.prediction.points[-1].outputs, [6, 7, 8, 9], atol=1e-6)
    assert evidence.prediction.remarks == (
        "values of age are more alike the nearer they are, in a straight line from equal ones to "
        "the first and last; not so at a measured representation, while saliences change, and in "
        "what training determines",
    )
    message = report.findings[0].message
    assert message.endswith(
        "It lies between 2 and 5, which training has: a learner to which near values are alike "
        "interpolates, and the predictions are of one. If yours does, put age in bins (--bins "
        "age=10) to count it with one of them."
    )
    beyond = FRAME.assign(split=np.where(FRAME["age"] == 9, "test", "train"))
    (finding, *_) = audit_split(beyond, *ROLES, ordered=["age"], add=0).findings
    assert finding.message.endswith(
        "It comes after 5, the last value of training, so that there is nothing to interpolate."
    )
    (untold, *_) = audit_split(FRAME, ["age", "kind"], None, "split", ordered=["age"]).findings
    assert "to which near values are alike interpolates. If yours does, put" in untold.message
    (plain, *_) = audit_split(FRAME, *ROLES, add=0).findings
    assert "between" not in plain.message


def test_many_values_between_those_of_training_are_counted():
    frame = pd.DataFrame(product(range(1, 12), "uv"), columns=["age", "kind"])
    frame = frame.assign(y=1.0 * frame["age"], split=np.where(frame["age"] % 2, "train", "test"))
    frame.loc[frame["age"] == 11, "split"] = "test"
    frame.loc[frame["age"] == 7, "split"] = "test"
    (finding, *_) = audit_split(frame, *ROLES, ordered=["age"], add=0).findings
    assert "5 of the 7 values lie between values of training: a learner" in finding.message


def test_labels_are_listed_in_the_order_in_which_they_are_given(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.to_csv(path, index=False)
    roles = (["size", "kind"], "y", "split")
    for table in (FRAME, path):
        given = read_table(table, *roles, ordered={"size": SIZES})
        assert given.values[0] == tuple(SIZES)
        assert given.positions == ((0.0, 1.0, 2.0, 3.0, 4.0), None)
        rows = np.array(given.values[0])[given.components[:, 0]]
        np.testing.assert_array_equal(rows, FRAME["size"])
    report = audit_split(FRAME, *roles, ordered={"size": SIZES}, add=0)
    assert "rename values of size to count it with one of them." in report.findings[0].message
    as_category = FRAME.assign(size=pd.Categorical(FRAME["size"], SIZES, ordered=True))
    assert read_table(as_category, *roles, ordered=["size"]).positions == given.positions


def test_bins_are_ordered_and_numbers_as_text_are_numbers(tmp_path):
    given = read_table(FRAME, *ROLES, ordered=["age"], bins={"age": 3})
    assert given.positions[0] == (0.0, 1.0, 2.0)
    path = tmp_path / "table.csv"
    FRAME.assign(age=FRAME["age"] * 10).to_csv(path, index=False)
    assert read_table(path, *ROLES, ordered=["age"]).positions[0] == (10, 20, 30, 50, 90)


def test_an_order_with_too_many_conjunctions_is_said_not_to_be_predicted():
    frame = pd.DataFrame(product(range(45), "ab", "uv"), columns=["age", "kind", "place"])
    frame["y"] = frame["age"] + 1.0 * (frame["kind"] == "a")
    frame["split"] = np.where(np.arange(len(frame)) % 5 == 0, "test", "train")
    roles = (["age", "kind", "place"], "y", "split")
    report = audit_split(frame, *roles, ordered=["age"], require_order=2, add=0)
    plain = audit_split(frame, *roles, require_order=2, add=0)
    (given,), (expected,) = report.evidence, plain.evidence
    assert (
        "the order of age is not in the predictions: at order 2 it has more than 3,000 "
        "values and sets of values; put the values in bins"
    ) in given.prediction.remarks
    for point, plain_point in zip(given.prediction.points, expected.prediction.points, strict=True):
        np.testing.assert_allclose(point.outputs, plain_point.outputs)


@pytest.mark.parametrize(
    ("ordered", "sentence"),
    [
        (["agee"], "ordered components are components; got 'agee', components are 'age', 'size'"),
        (
            ["size"],
            "values of an ordered component are numbers, or are listed in their order; got 'huge' "
            "in 'size'; list them all, such as size=small,medium,large",
        ),
        (
            {"size": SIZES[:-1]},
            "the order of a component names all of its values; got none of 'huge' for 'size'; add",
        ),
        ({"size": [*SIZES[:-1], "hug"]}, "got none of 'huge' for 'size'; did you mean 'hug'?"),
        (
            {"size": [*SIZES, "huge"]},
            "the order of a component names each value once; got 'huge' twice for 'size'; name it",
        ),
    ],
)
def test_orders_that_are_none(ordered, sentence):
    frame = FRAME.drop(columns="kind")
    with pytest.raises(InputError) as error:
        read_table(frame, ["age", "size"], "y", "split", ordered=ordered)
    assert sentence in " ".join(str(error.value).split())


def test_orders_of_the_command(tmp_path, capsys):
    path = tmp_path / "table.csv"
    FRAME.assign(split=np.where(FRAME["kind"] == "u", "test", "train")).to_csv(path, index=False)
    roles = ["--components", "age", "size", "kind", "--target", "y", "--split", "split"]
    with pytest.raises(SystemExit):
        main(["audit", str(path), *roles, "--ordered", "age", f"size={','.join(SIZES)}"])
    plain = capsys.readouterr().out
    assert "Values of age are more alike the nearer they are" in plain
    # Values with a comma are in quotes.
    with_comma = {size: f"{size}, {i}" for i, size in enumerate(SIZES)}
    frame = pd.read_csv(path)
    frame.assign(size=frame["size"].map(with_comma)).to_csv(path, index=False)
    in_quotes = ",".join(f'"{size}"' for size in with_comma.values())
    with pytest.raises(SystemExit):
        main(["audit", str(path), *roles, "--ordered", "age", f"size={in_quotes}"])
    assert "Values of age are more alike the nearer they are" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(["audit", str(path), *roles, "--ordered", "size="])
    assert (
        "ordered components are numbers, or have their values in order: size=small,large; got "
        "'size='; write NAME=VALUE,VALUE"
    ) in " ".join(capsys.readouterr().err.split())
