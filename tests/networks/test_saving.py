"""Networks on disk: what is read is what was written, gates and all."""

import errno
import os

import equinox as eqx
import jax
import numpy as np
import pytest
from descents import followed
from vector_models import vector_model

from partwhole._checks import InputError
from partwhole.features import HalfspaceGates, ReLUGates
from partwhole.features.gates.design import GatedDesign
from partwhole.features.gates.joint import JointGates
from partwhole.networks import (
    MLP,
    Architecture,
    GatedNetwork,
    LearnedGates,
    image_network,
    load_network,
    mlp,
    save_network,
)
from partwhole.networks.diffusion import diffusion_model, sample
from partwhole.training import Training, train

X = np.random.default_rng(0).normal(size=(30, 4))
GATES = HalfspaceGates.random(4, n_units=3, thresholds="median", inputs=X, seed=1)


class OwnGates:
    """Gates that are not of the library: two units that are always on."""

    n_units, n_contexts = 2, 1

    def contexts(self, inputs):
        return np.zeros((len(inputs), 2), dtype=int)

    def design(self, inputs):
        return GatedDesign(inputs, self.contexts(inputs), 1)


NETWORKS = {
    "gated": GatedNetwork.draw(4, [GATES, 1], seed=0),
    "chains": GatedNetwork.draw(4, [GATES, 3, 1], seed=0, parallel=True),
    "relu": GatedNetwork.draw(4, [LearnedGates(5), 1], seed=0, bias=True),
    "frozen": GatedNetwork.draw(4, [ReLUGates.random(4, n_units=3), GATES], seed=0),
    "joint": GatedNetwork.draw(4, [JointGates.of(GATES, X[:5])], seed=0),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_gated_networks_come_back_bit_by_bit(name, tmp_path):
    network, path = NETWORKS[name], tmp_path / "network.npz"
    save_network(network, path)
    again = load_network(path)
    assert isinstance(again, GatedNetwork)
    assert jax.tree.structure(again) == jax.tree.structure(network)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(network), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.predict(X), network.predict(X))
    assert [each.name for each in tmp_path.iterdir()] == ["network.npz"]


def test_counts_of_numpy_are_counts(tmp_path):
    network = GatedNetwork.draw(4, [LearnedGates(np.int64(5)), 1], seed=0)
    save_network(network, tmp_path / "n.npz")
    again = load_network(tmp_path / "n.npz")
    np.testing.assert_array_equal(again.predict(X), network.predict(X))


def test_double_precision_stays(tmp_path):
    labels = np.sign(X[:, 0])
    found = followed([NETWORKS["gated"]], X, labels, steps=50).networks[0]
    save_network(found, tmp_path / "n.npz")
    again = load_network(tmp_path / "n.npz")
    assert again.weights[0].dtype == np.float64
    np.testing.assert_array_equal(again.predict(X), found.predict(X))


def test_multilayer_networks(tmp_path):
    many = Architecture(2, 6, "relu").networks(4, seeds=[0, 1])
    for network in (mlp(4, layers=2, seed=0, bias=False), many):
        save_network(network, tmp_path / "n.npz")
        again = load_network(str(tmp_path / "n.npz"))
        assert isinstance(again, MLP)
        assert jax.tree.structure(again) == jax.tree.structure(network)
        same = jax.tree.map(lambda a, b: bool((a == b).all()), again, network)
        assert all(jax.tree.leaves(same))


def test_leaves_that_others_save_hold_the_gates(tmp_path):
    network = NETWORKS["gated"]
    eqx.tree_serialise_leaves(tmp_path / "leaves.eqx", network)
    other = HalfspaceGates.random(4, n_units=3, seed=9)
    like = GatedNetwork.draw(4, [other, 1], seed=3)
    again = eqx.tree_deserialise_leaves(tmp_path / "leaves.eqx", like)
    np.testing.assert_array_equal(again.gates[0].thresholds, GATES.thresholds)
    np.testing.assert_array_equal(again.predict(X), network.predict(X))


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "network.npz"
    save_network(NETWORKS["gated"], path)
    before = path.read_bytes()

    def fails(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match=r"No space left on device at .*; free space on its disk"):
        save_network(NETWORKS["relu"], path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["network.npz"]


def test_sentences(tmp_path):
    cases = [
        (
            lambda: load_network(tmp_path / "none.npz"),
            "a network is read from a file of save_network; got no file",
        ),
        (
            lambda: save_network(NETWORKS["gated"], tmp_path / "no" / "n.npz"),
            "a network is saved in a folder that exists; got ",
        ),
    ]
    for place, sentence in (
        (tmp_path, f"a network is saved to a file; got the folder {tmp_path}; add a name"),
        (
            tmp_path / "own.npz",
            "what is saved is made of modules of equinox, the library's gates, and arrays; got "
            "OwnGates; save by pickle",
        ),
    ):
        own = GatedNetwork.draw(4, [OwnGates(), 1], seed=0)
        cases.append((lambda own=own, place=place: save_network(own, place), sentence))
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    for name in ("text.npz", "other.npz"):
        cases.append(
            (
                lambda name=name: load_network(tmp_path / name),
                f"a network is read from a file of save_network; got {name}, which is none; pass "
                "the path of one",
            )
        )
    for call, sentence in cases:
        with pytest.raises(InputError) as raised:
            call()
        assert str(raised.value).startswith(sentence)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.npz", "text.npz"]


@pytest.mark.parametrize("name", ["convnet-small", "resnet-small", "vit-small"])
def test_image_networks_come_back_bit_by_bit(name, tmp_path):
    network = image_network(name, (8, 8, 2), outputs=3, seed=0)
    save_network(network, tmp_path / "network.npz")
    again = load_network(tmp_path / "network.npz")
    assert jax.tree.structure(again) == jax.tree.structure(network)
    for one, other in zip(jax.tree.leaves(network), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vector", {"condition": 2}),
        ("vector", {"vocabulary": 5, "ends": (-4.0, 6.0)}),
        ("vector", {"condition": 2, "schedule": "learned"}),
        ("small16", {"condition": 4, "schedule": "learned"}),
    ],
    ids=["fixed", "words", "learned", "images"],
)
def test_diffusion_models_come_back_bit_by_bit(name, options, tmp_path):
    """With the schedule that training has moved, and not with the one they began with."""
    model = diffusion_model(name, **options, seed=0)
    if model.schedule.learned is not None:
        moved = jax.tree.map(lambda end: end + 0.25, model.schedule.learned)
        model = eqx.tree_at(lambda each: each.schedule.learned, model, moved)
    save_network(model, tmp_path / "model.npz")
    again = load_network(tmp_path / "model.npz")
    assert jax.tree.structure(again) == jax.tree.structure(model)
    for one, other in zip(jax.tree.leaves(model), jax.tree.leaves(again), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert again.schedule.ends == model.schedule.ends
    if name == "vector":
        wanted = model.nothing.repeat(3, axis=0)
        drawn = [sample(each, wanted, steps=3, seed=1) for each in (model, again)]
        np.testing.assert_array_equal(drawn[0], drawn[1])


def test_a_loaded_diffusion_model_trains_on(tmp_path):
    model = vector_model(learned=True)
    save_network(model, tmp_path / "model.npz")
    points = np.random.default_rng(0).normal(size=(32, 2)).astype(np.float32)
    training = Training.published("diffusion", steps=3, batch=8)
    ends = [
        train(each, (points, points), training).network(0).schedule
        for each in (model, load_network(tmp_path / "model.npz"))
    ]
    assert ends[0].learned == ends[1].learned != model.schedule.learned
