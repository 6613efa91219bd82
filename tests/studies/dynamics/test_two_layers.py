"""Two layers in 64 dimensions: networks beside the flow, retreats and errors."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from study_cells import computed

from partwhole.networks import Architecture
from partwhole.training import Protocol, beside_theory, train_identity
from partwhole_studies.dynamics import _two_layer_numbers as numbers
from partwhole_studies.dynamics import _wide as wide
from partwhole_studies.dynamics import two_layers as study


@pytest.fixture(scope="module")
def cells():
    return computed(study)


@pytest.fixture(scope="module")
def data(cells):
    return study.gather(cells)


def others(data):
    found = {claim.statement: claim.verdict.value for claim in study.claims(data)}
    return {words: verdict for words, verdict in found.items() if verdict != "holds"}


def failing(data):
    return [words for words, verdict in others(data).items() if verdict == "does not hold"]


def test_verdicts(data):
    assert len(study.claims(data)) == 22
    found, verdicts = zip(*others(data).items(), strict=True)
    linear, relu, more, captioned_linear, captioned_relu = found
    assert "typical of two-layer linear networks" in linear
    assert "typical of two-layer ReLU networks" in relu
    # Three of eight seeds against none.
    assert more.startswith("ReLU networks retreat more often")
    assert captioned_linear.startswith("As captioned, too, the retreat")
    assert captioned_relu.startswith("As captioned, too, the retreat")
    outside, unsure = "outside its assumptions", "inconclusive"
    assert verdicts == (outside, unsure, unsure, outside, unsure)


def test_cells_are_plain_data(cells):
    for config, arrays in cells:
        assert {type(value) for value in config.values()} <= {str, int}
        assert all(isinstance(value, np.ndarray) for value in arrays.values())
        assert ("theory" in arrays) == (config["nonlinearity"] == "linear")


def test_networks_that_were_not_trained_are_missing(data):
    trained = np.isfinite(data.trained.isel(epoch=0, concept=0))
    many = trained.sum("seed")
    assert many.sel(setting=wide.MAIN).values.tolist() == [4, 8]
    assert many.sel(setting=wide.CAPTIONED).values.tolist() == [3, 8]
    assert many.sel(setting=study.SPREAD).values.tolist() == [4, 4]
    assert many.sel(setting=study.OTHER).values.tolist() == [1, 1]
    assert (many.sel(network="relu", setting=list(wide.AS_RUN)) > 0).all()
    long = np.isfinite(data.trained.sel(setting=wide.MAIN, epoch=40)).all("concept").sum("seed")
    assert long.values.tolist() == [4, 0]


def test_larger_presets_train_every_published_setting():
    for preset in ("laptop", "paper"):
        names = {(c["nonlinearity"], c["setting"]) for c in study.PRESETS[preset]}
        assert names == {(kind, name) for kind in ("linear", "relu") for name in wide.SETTINGS}


def test_deviations_run_as_variances_are_noticed(cells, monkeypatch):
    task = wide.task

    def run_as_variances(setting):
        return task(setting.replace("deviation", "variance"))

    monkeypatch.setattr(wide, "task", run_as_variances)
    changed = [
        (config, study.cell(config) if config["setting"] == wide.CAPTIONED else arrays)
        for config, arrays in cells
    ]
    wrong = failing(study.gather(changed))
    assert sum(words.startswith("After 12 epochs") for words in wrong) == 2
    assert any(words.startswith("The answer of a ReLU network") for words in wrong)


def test_the_flow_is_that_of_the_network_in_the_frame_it_sees(data):
    task = wide.task(wide.MAIN)
    network = Architecture(layers=2).network(64, seed=3)
    assert network.biases is not None
    state = [np.asarray(each, dtype=float) for each in (*network.weights, *network.biases)]
    turn = task.rotation_matrix
    moment, mean = turn.T @ np.diag(task.signals) @ turn, task.mean() @ turn

    def velocity(now):
        w1, w2, b1, b2 = now
        w, b = w2 @ w1 - np.eye(64), w2 @ b1 + b2
        # Mean of the residual, and of its product with the input.
        r, rx = w @ mean + b, w @ moment + np.outer(b, mean)
        return -(w2.T @ rx), -(rx @ w1.T + np.outer(r, b1)), -(w2.T @ r), -r

    def onward(now, slope, h):
        return [each + h * rate for each, rate in zip(now, slope, strict=True)]

    h = 0.36875 / 10
    for _ in range(60):  # of six epochs, by Runge and Kutta's fourth order
        a = velocity(state)
        b = velocity(onward(state, a, h / 2))
        c = velocity(onward(state, b, h / 2))
        d = velocity(onward(state, c, h))
        mixed = [(p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(a, b, c, d, strict=True)]
        state = onward(state, mixed, h)
    w1, w2, b1, b2 = state
    answer = turn @ (w2 @ (w1 @ (task.probe @ turn) + b1) + b2)
    found = data.theory.sel(network="linear", setting=wide.MAIN, seed=3, epoch=6)
    np.testing.assert_allclose(found, answer[:2], atol=1e-5)


def test_the_flow_is_the_public_one():
    for setting in (study.SPREAD, wide.CAPTIONED):
        networks = train_identity(
            wide.task(setting),
            Architecture(layers=2),
            Protocol(epochs=4),
            seeds=[1],
            record=wide.records(4),
            progress=False,
        )
        found, told = study._flow(networks), beside_theory(networks).outputs[0, 0, :, :2]
        # The public one keeps to 1e-7 in every step, of which there are tens.
        np.testing.assert_allclose(found, told, atol=5e-6)


def test_a_flow_on_another_clock_is_noticed(data):
    late = data.theory.copy()  # by two records
    late[{"epoch": slice(2, None)}] = data.theory.values[..., :-2, :]
    wrong = failing(data.assign(theory=late))
    assert any(words.startswith("Gradient flow on the population") for words in wrong)


def test_a_retreat_that_the_flow_knows_not_is_noticed(data):
    trained = data.trained.copy()
    trained[{"network": 0, "seed": 0, "epoch": slice(50, 55), "concept": 0}] -= 0.05
    wrong = failing(data.assign(trained=trained))
    assert any(words.startswith("The flow foresees how far") for words in wrong)


def test_answers_without_a_retreat_are_noticed(data):
    onward = np.maximum.accumulate(data.trained.values, axis=3)
    wrong = failing(data.assign(trained=data.trained.copy(data=onward)))
    assert any("typical of two-layer ReLU networks" in words for words in wrong)


def test_an_error_that_rises_is_noticed(data):
    error = data.error.copy()
    error[{"epoch": slice(30, 34)}] += 0.5
    wrong = failing(data.assign(error=error))
    assert sum("only falls" in words for words in wrong) == 2


def test_another_published_seed_is_noticed(data, monkeypatch):
    told = {kind: [2 * each for each in values] for kind, values in numbers.SEED_ERRORS.items()}
    monkeypatch.setattr(numbers, "SEED_ERRORS", told)
    wrong = failing(data)
    assert sum(words.startswith("The published network is not ruled") for words in wrong) == 2


def test_swapped_concepts_are_noticed(data):
    swapped = data.assign(learned=data.learned.copy(data=data.learned.values[..., ::-1]))
    assert sum("half learn" in words for words in failing(swapped)) == 5


def test_it_draws(data):
    file = BytesIO()
    study.figure(data).savefig(file)
    assert file.tell() > 10_000
