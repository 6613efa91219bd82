"""One gated unit on files in the format of MNIST."""

from __future__ import annotations

from io import BytesIO

import idx_files
import mnist_runs
import numpy as np
import pytest
import xarray as xr
from sklearn.svm import LinearSVC
from study_rules import verdicts

from partwhole.study import published
from partwhole.tasks.images._files import VARIABLE
from partwhole_studies.gated import contexts as study
from partwhole_studies.gated.mnist import mnist


def few(*seeds, ks):
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
    return mnist_runs.computed_from(study, folder, few(1, 2, ks=(2,)) + few(1, ks=(4, 9)))


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_the_published_sizes_are_asked_of_mnist():
    cells = study.PRESETS["mnist"]
    # Without hyperplanes there are no thresholds, and one kind is enough.
    assert len({str(config) for config in cells}) == len(cells) == 3 * 3 * (16 + 15)
    table = published(study.__file__, ["thresholds", "n", "hyperplanes"], table="mean")
    for kind, n, k in table.network.stack(place=table.dims).dropna("place").place.values:
        place = {"thresholds": kind, "n": n, "hyperplanes": [k], "n_test": 12_000}
        rows = [config for config in cells if place.items() <= config.items()]
        assert [config["seeds"] for config in rows] == [[1], [2], [3]]
        assert {config["max_steps"] for config in rows} == {3200}


def test_a_cell_holds_a_support_vector_machine_for_each_context(data, folder, monkeypatch):
    """Draw gates anew by their definition, and let scikit-learn fit each context alone."""
    monkeypatch.setenv(VARIABLE, str(folder))
    split = mnist(1, 500, 100, 100)
    for seed in (1, 2):
        normals = np.random.RandomState([1, seed]).randn(1, 2, 785)[0]
        cuts = np.median(split.every @ normals.T, axis=0)
        training, test = (
            (x @ normals.T > cuts) @ np.array([2, 1]) for x in (split.inputs, split.test_inputs)
        )
        outputs = np.zeros(len(test))
        for context in range(4):
            rows = training == context
            machine = LinearSVC(loss="hinge", fit_intercept=False, C=1e6, tol=1e-8, max_iter=10**6)
            machine.fit(split.inputs[rows], split.labels[rows])
            at = test == context
            outputs[at] = machine.decision_function(split.test_inputs[at])
        wrong = np.mean(np.sign(outputs) != split.test_labels)
        error = data.limit.sel(n=500, thresholds="median", hyperplanes=2, seed=seed)
        # One image in 100 may lie within the other solver's tolerance of the boundary.
        assert float(error) == pytest.approx(wrong, abs=0.0101)


def test_gather_lays_cells_where_they_belong(cells, data):
    assert data.attrs["images"] == "MNIST"
    assert data.n.values.tolist() == [500]
    assert int(data.unseen.notnull().sum()) == len(cells)
    for config, arrays in cells:
        (k,), (seed,) = config["hyperplanes"], config["seeds"]
        place = data.sel(n=500, thresholds=config["thresholds"], hyperplanes=k, seed=seed)
        for name in ("largest", "network", "unseen"):
            np.testing.assert_array_equal(place[name], arrays[name][0, 0])
    for kind in ("median", "zero"):
        shares = data.largest.sel(thresholds=kind, seed=1).dropna("hyperplanes")
        assert (shares.diff("hyperplanes") < 0).all()


def test_cells_of_different_images_are_refused(cells):
    mnist_runs.refuse_different_images(study, cells)


def test_published_numbers_hold_where_they_are_met_and_only_there(data):
    """Give the published numbers in all places that have one, and then others."""
    table = published(study.__file__, ["thresholds", "n", "hyperplanes"], table="mean")
    names = list(table)
    met = data.assign({name: xr.zeros_like(data[name]) + table[name] for name in names})
    np.testing.assert_allclose(study.misses(met)["mean"], 0, atol=1e-12)
    assert verdicts(study, met)["published"] == "holds"
    off = data.assign({name: met[name] + 0.05 for name in names})
    np.testing.assert_allclose(study.misses(off)["mean"], 0.05)
    assert verdicts(study, off)["published"] == "does not hold"
    lowest = {name: 0 * data[name] + 0.5 for name in names}
    for name, value in (("network_momentum", 0.2016), ("limit_strict", 0.2131)):
        lowest[name][{"hyperplanes": 4}] = value  # as published for 500 images
    np.testing.assert_allclose(study.misses(data.assign(lowest))["best"], [0, 0], atol=1e-12)
    # Half of the share of unseen contexts, which is published to three digits.
    strict = (table.limit + 0.5 * table.unseen).to_numpy()
    use = np.isfinite(strict)
    np.testing.assert_allclose(strict[use], table.limit_strict.to_numpy()[use], atol=8e-4)


def test_ties_are_where_nothing_was_seen(data):
    tied = study.numbers(data)["tied"]
    assert np.abs(tied).max() == 0
    assert float(data.tied.max()) > 0.1
    study.figure(data).savefig(BytesIO())


def test_the_mnist_preset_runs_from_the_command(folder, tmp_path, monkeypatch, capsys):
    out = mnist_runs.run_from_the_command(
        study, few(1, 2, ks=(2,)), folder, tmp_path, monkeypatch, capsys
    )
    assert "The published errors and shares for MNIST" in out
