"""One gated unit on files in the format of MNIST."""

from __future__ import annotations

from io import BytesIO

import idx_files
import mnist_runs
import numpy as np
import pytest
from sklearn.svm import LinearSVC

from partwhole.tasks.images._files import VARIABLE
from partwhole_studies.gated import _context_published as published
from partwhole_studies.gated import _mnist
from partwhole_studies.gated import contexts as study

KS = (1, 2, 4, 9)


def few(*seeds, ks=KS):
    first = study.PRESETS["mnist"][0]
    return [
        first
        | {"n": 500, "n_test": 100, "max_steps": 20, "hyperplanes": [k], "seeds": [seed]}
        | {"thresholds": kind}
        for k in ks
        for kind in ("median", "zero")
        for seed in seeds
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return idx_files.write(tmp_path_factory.mktemp("mnist") / "files", 700)


@pytest.fixture(scope="module")
def cells(folder):
    return mnist_runs.computed_from(study, folder, few(1, 2))


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_the_published_sizes_are_asked_of_mnist():
    cells = study.PRESETS["mnist"]
    # Without hyperplanes there are no thresholds, and one kind is enough.
    assert len({str(config) for config in cells}) == len(cells) == 2 * 3 * (10 + 9)
    for (kind, n), by_k in published.ERRORS.items():
        for k in by_k:
            told = {"thresholds": kind, "n": n, "hyperplanes": [k], "n_test": 12_000}
            rows = [config for config in cells if told.items() <= config.items()]
            assert [config["seeds"] for config in rows] == [[1], [2], [3]]
            assert {config["max_steps"] for config in rows} == {3200}


def test_a_cell_holds_a_support_vector_machine_for_each_context(data, folder, monkeypatch):
    """Draw gates anew by their definition, and let scikit-learn fit each context alone."""
    monkeypatch.setenv(VARIABLE, str(folder))
    split = _mnist.mnist(1, 500, 100, 100)
    for seed in (1, 2):
        normals = np.random.RandomState([1, seed]).randn(1, 2, 785)[0]
        cuts = np.median(split.every @ normals.T, axis=0)
        own, there = (
            (x @ normals.T > cuts) @ np.array([2, 1]) for x in (split.inputs, split.test_inputs)
        )
        outputs = np.zeros(len(there))
        for context in range(4):
            rows = own == context
            machine = LinearSVC(loss="hinge", fit_intercept=False, C=1e6, tol=1e-8, max_iter=10**6)
            machine.fit(split.inputs[rows], split.labels[rows])
            at = there == context
            outputs[at] = machine.decision_function(split.test_inputs[at])
        wrong = np.mean(np.sign(outputs) != split.test_labels)
        told = data.limit.sel(n=500, thresholds="median", hyperplanes=2, seed=seed)
        # One image in 100 may lie within the other solver's tolerance of the boundary.
        assert float(told) == pytest.approx(wrong, abs=0.0101)


def test_gather_lays_cells_where_they_belong(cells, data):
    assert data.attrs["images"] == "mnist"
    assert data.n.values.tolist() == [500]
    assert int(data.unseen.notnull().sum()) == len(cells)
    for config, found in cells:
        (k,), (seed,) = config["hyperplanes"], config["seeds"]
        here = data.sel(n=500, thresholds=config["thresholds"], hyperplanes=k, seed=seed)
        for name in ("largest", "network", "tied"):
            np.testing.assert_array_equal(here[name], found[name][0, 0])
    for kind in ("median", "zero"):
        shares = data.largest.sel(thresholds=kind).dropna("hyperplanes", how="all")
        assert (shares.diff("hyperplanes") < 0).all()


def test_cells_of_different_images_are_refused(cells):
    mnist_runs.refuse_different_images(study, cells)


def changed(cells, name, told):
    """Give a number with another deviation in each seed."""
    found = [
        (config, each | {name: np.full((1, 1), told + 0.001 * (config["seeds"][0] - 1.5))})
        for config, each in cells
    ]
    return {claim.statement: claim for claim in study.claims(study.gather(found))}


def test_published_errors_hold_where_they_are_met_and_only_there(cells):
    where = "9 hyperplanes, thresholds at the median, 500 images"
    for name, told, words in (
        ("network", 0.3804, "Error of networks after 3,200 steps"),
        ("limit_strict", 0.5361, "Error of the limit, ties counted wrong"),
        ("limit", 0.3828, "Error of the limit, ties counted half"),
        ("unseen", 0.307, "Share of test images in contexts without training images"),
    ):
        claim = changed(cells, name, told)[f"{words}; {where}."]
        assert claim.reference == told
        assert claim.found == pytest.approx(told, abs=1e-12)
        assert claim.verdict.value == "holds"
        assert changed(cells, name, told + 0.05)[claim.statement].verdict.value == "does not hold"


def test_ties_are_where_nothing_was_seen(cells, data):
    statement = "The limit answers 0, a tie"
    found = {c.statement: c.verdict.value for c in study.claims(data)}
    assert [verdict for words, verdict in found.items() if words.startswith(statement)] == ["holds"]
    wrong = {words: c.verdict.value for words, c in changed(cells, "tied", 0.5).items()}
    assert [v for words, v in wrong.items() if words.startswith(statement)] == ["does not hold"]


def test_published_errors_count_ties_as_wrong():
    # Half of the share of empty contexts, to which four and three digits are told.
    for (n, k), half in published.HALF.items():
        strict = published.ERRORS["median", n][k][1]
        assert strict - half == pytest.approx(0.5 * published.EMPTY[n, k], abs=8e-4)


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000


def test_the_mnist_preset_runs_from_the_command(folder, tmp_path, monkeypatch, capsys):
    out = mnist_runs.run_from_the_command(
        study, few(1, 2, ks=(2,)), folder, tmp_path, monkeypatch, capsys
    )
    assert "Error of networks after 3,200 steps; 2 hyperplanes, thresholds at the median" in out
