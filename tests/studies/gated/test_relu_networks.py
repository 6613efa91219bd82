"""ReLU networks beside their limits, on the digits and on files in the format of MNIST."""

from __future__ import annotations

from functools import partial

import idx_files
import jax
import jax.numpy as jnp
import mnist_runs
import numpy as np
import pytest
import xarray as xr
from descents import published as trained_as_published
from sklearn.svm import LinearSVC
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole._checks import InputError
from partwhole.features import ReLUGates
from partwhole.networks import GatedNetwork, LearnedGates
from partwhole.study import published
from partwhole.tasks.images._files import VARIABLE
from partwhole.tasks.images.mnist import IMAGES, LABELS
from partwhole_studies.gated import relu_networks as study
from partwhole_studies.gated.digits import digits
from partwhole_studies.gated.mnist import mnist


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_decide_their_gates_beyond_rounding():
    """Train again from weights moved by some units of the last place of double precision.

    As another processor or number of threads moves them. Single precision moves 2 to 14 of the
    4,000 gates, and with them the limit.
    """
    split = digits(0, n_selection=400)
    start = GatedNetwork.draw(65, [LearnedGates(20), 1], seed=0, initial="he")
    rng, weights = np.random.default_rng(0), [np.asarray(layer, float) for layer in start.weights]
    moved = [layer * (1 + 2e-15 * rng.choice([-1, 1], size=layer.shape)) for layer in weights]
    with jax.enable_x64(True):
        start, moved = (
            GatedNetwork(tuple(jnp.asarray(layer) for layer in layers), start.gates)
            for layers in (weights, moved)
        )
    networks = trained_as_published(
        [start, moved], split.inputs, split.labels, momentum=0.9, seed=[0, 0], record=[3200],
        precision="float64",
    ).networks  # fmt: skip
    sums = [split.inputs @ np.asarray(network.weights[0])[:, 0].T for network in networks]
    assert (np.abs(sums[0] - sums[1]) < 1e-12).all()
    assert (np.sign(sums[0]) == np.sign(sums[1])).all()


def test_readouts_are_those_of_another_solver(cells, data):
    """Train a network anew, and let scikit-learn fit the largest margin on its hidden layer."""
    config, arrays = cells[0]
    seed = config["seed"]
    split = digits(seed, n_selection=400)
    start = GatedNetwork.draw(65, [LearnedGates(config["units"]), 1], seed=seed, initial="he")
    network = trained_as_published(
        [start], split.inputs, split.labels, momentum=0.9, seed=[seed], record=[3200],
        precision="float64",
    ).networks[0]  # fmt: skip
    weights = np.asarray(network.weights[0], dtype=float)[:, 0]
    hidden = [np.maximum(x @ weights.T, 0.0) for x in (split.inputs, split.test_inputs)]
    machine = LinearSVC(loss="hinge", fit_intercept=False, C=1e6, tol=1e-8, max_iter=10**6)
    machine.fit(hidden[0], split.labels)
    assert (split.labels * machine.decision_function(hidden[0])).min() > 1 - 1e-3
    wrong = np.mean(machine.predict(hidden[1]) != split.test_labels)
    at = study.KINDS.index("hidden layer")
    # Both solve to about a thousandth: one image of 1,197 may lie that near to the boundary.
    assert arrays["error"][at] == pytest.approx(wrong, abs=1.5 / 1197)
    decisions = np.sign(network.predict(split.test_inputs))
    apart = np.mean(decisions != machine.predict(hidden[1]))
    assert arrays["apart"][at] == pytest.approx(apart, abs=1.5 / 1197)
    error = np.mean(decisions != split.test_labels)
    assert arrays["error"][0] == pytest.approx(error, abs=1e-12)
    # Agreement beyond chance by its definition, with the errors of both.
    p, q = arrays["error"][[0, at]]
    agreement = 1 - arrays["apart"][at] / (p * (1 - q) + q * (1 - p))
    place = {name: config[name] for name in study.AXES} | {"kind": "hidden layer"}
    assert float(data.agreement.sel(place)) == pytest.approx(agreement, abs=1e-12)
    before = np.asarray(start.weights[0], dtype=float)[:, 0]
    moved = (split.inputs @ before.T >= 0) != (split.inputs @ weights.T >= 0)
    assert arrays["flipped"] == pytest.approx(moved.mean(), abs=1e-12)


def test_the_readout_errs_as_often_as_the_network_and_gates_move(data):
    error = data.error.mean("seed")
    difference = error.sel(kind="hidden layer") - error.sel(kind="network")
    # Means of three published runs vary by a hundredth.
    assert (abs(difference) < 0.01).all()
    assert (data.flipped > 0.01).all()


def test_gates_that_are_not_the_networks_own_are_noticed(monkeypatch):
    """Draw the gates anew when they are frozen, as reloading the published networks did."""

    def redrawn(self):
        gates = ReLUGates.random(self.dimension, n_units=self.gates[0].n_units, seed=99)
        return GatedNetwork(self.weights, (gates, None))

    monkeypatch.setattr(GatedNetwork, "with_frozen_gates", redrawn)
    data = study.gather([(c, study.cell(c)) for c in study.PRESETS["quick"][:2]])
    assert float(data.agreement.sel(kind="learned gates").mean()) < 0.55
    # What the readout then reads are not the features it was trained on.
    assert study.numbers(data)["missing"].any()


def test_what_breaks_the_claims_is_noticed(data):
    swapped = data.assign(agreement=data.agreement.copy())
    kinds = {"kind": ["learned gates", "random gates"]}
    swapped.agreement.loc[kinds] = data.agreement.sel(kind=kinds["kind"][::-1]).values
    assert verdicts(study, swapped)["learned_random"] == "does not hold"
    assert verdicts(study, data.assign(share=0 * data.share + 0.95))["share"] == "does not hold"
    lost = data.assign(error=data.error.where(data.kind != "learned gates"))
    assert study.numbers(lost)["missing"].sum() == (data.training_error == 0).sum() > 0
    assert np.isnan(study.numbers(lost)["recovered"].value)


def test_published_numbers_are_compared_on_mnist_only(data):
    table = published(study.__file__, ["momentum", "n", "units"], table="error").error
    table = table.sel(n=[500], units=[20])
    best = published(study.__file__, ["n", "kind"], table="best").error.sel(n=[500])
    met = data.assign_coords(n=[500])
    met = met.assign(error=xr.zeros_like(met.error) + best)
    met.error.loc[{"kind": "network"}] = (0 * met.error + table).sel(kind="network")
    assert np.isnan(study.numbers(met)["errors"])
    met = met.assign_attrs(images="MNIST")
    # Two momenta, and the best of four kinds: that of networks has another width.
    wide = float(table.min()) - float(best.sel(kind="network").item())
    assert study.numbers(met)["errors"].value == pytest.approx(wide / 6, abs=1e-12)
    off = met.assign(error=met.error + 0.1)
    assert study.numbers(off)["errors"].value == pytest.approx(0.1 + wide / 6)


def test_cells_of_different_images_are_refused(cells):
    mnist_runs.refuse_different_images(study, cells)


@pytest.fixture
def files(tmp_path):
    """Write files in MNIST's format: ten blurred patterns, some noise, 700 images."""
    return idx_files.write(tmp_path / "files", 700)


def test_mnist_is_split_as_the_digits_are(files, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(files))
    pixels = np.frombuffer((files / IMAGES).read_bytes()[16:], np.uint8)
    classes = np.frombuffer((files / LABELS).read_bytes()[8:], np.uint8)
    split = mnist(3, 100, 200, 300)
    # Grey levels 0 to 255 go to -1 to 1, and a constant follows.
    np.testing.assert_allclose(split.every[:, :-1], pixels.reshape(700, -1) / 127.5 - 1, atol=1e-12)
    np.testing.assert_array_equal(split.every[:, -1], 1.0)
    parts = (split.inputs, split.test_inputs, split.selection_inputs)
    assert [len(part) for part in parts] == [100, 300, 200]
    rows = {image.tobytes(): row for row, image in enumerate(split.every)}
    taken = [[rows[image.tobytes()] for image in part] for part in parts]
    assert len({row for part in taken for row in part}) == 600
    parts_labels = (split.labels, split.test_labels, split.selection_labels)
    for part, labels in zip(taken, parts_labels, strict=True):
        np.testing.assert_array_equal(labels, np.where(classes[part] <= 4, 1.0, -1.0))
    again = mnist(3, 100, 200, 300)
    np.testing.assert_array_equal(split.inputs, again.inputs)
    assert not np.array_equal(split.inputs, mnist(4, 100, 200, 300).inputs)
    assert len(mnist(3, 400, 0, 300).selection_inputs) == 0
    with pytest.raises(InputError) as caught:
        mnist(3, 500)
    assert str(caught.value) == (
        "a split of 500 to train on, 12000 to report on and 0 to select by takes 12500 images; "
        "got 700; name the folder of MNIST's whole training files"
    )


def test_the_published_sizes_are_asked_of_mnist():
    cells = study.PRESETS["mnist"]
    assert len(cells) == 3 * 4 * 2 * 3
    assert {(c["n"], c["units"]) for c in cells} == {
        (n, h) for n in (500, 1000, 2000) for h in (10, 20, 50, 100)
    }
    assert {c["seed"] for c in cells} == {1, 2, 3}


def test_the_mnist_preset_runs_from_the_command(files, tmp_path, monkeypatch, capsys):
    few = [
        {"images": "mnist", "n": 100, "units": 10, "momentum": 0.9, "seed": seed, "n_test": 100}
        for seed in (1, 2)
    ]
    monkeypatch.setattr(study, "STEPS", 100)
    monkeypatch.setattr(study, "trained", partial(study.trained, steps=study.STEPS))
    out = mnist_runs.run_from_the_command(study, few, files, tmp_path, monkeypatch, capsys)
    assert "The published errors of ReLU networks and of their limits on MNIST" in out
