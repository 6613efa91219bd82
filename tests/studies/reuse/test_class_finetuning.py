"""Finetuning of image networks on new classes."""

from __future__ import annotations

from types import SimpleNamespace

import equinox as eqx
import numpy as np
import pytest
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.study import published
from partwhole_studies.reuse import class_finetuning as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_networks_learn_what_they_are_trained_on(data):
    assert float(data.pretrained.min()) > 0.9
    assert float(data.score.sel(part="main").min()) > 0.9
    assert float(data.score.sel(part="test").min()) > 0.5
    # Dimensions shared are at most the geometric mean of those before and after.
    before, after, shared = (data.dimensions.sel(reading=r) for r in study.READINGS)
    assert bool((shared <= np.sqrt(before * after) * (1 + 1e-6)).all())


def invented(config, paper, kept=0.9):
    """Return a cell that has the published accuracies, with a little noise."""
    rng = np.random.default_rng(config["seed"])
    ways = [*config["ways"], *map(study.tuned, config["rescalings"])]
    accuracy = paper.reindex(way=ways).sel(network=config["network"]).fillna(0.7).values
    score = np.stack([accuracy + 0.002 * rng.normal(size=accuracy.shape)] * 3, axis=-1)
    sizes = np.tile([[6.0], [2.0], [2.0 * kept]], (len(config["rescalings"]), 1, 2))
    sizes *= 1 + 0.001 * rng.normal(size=sizes.shape)
    by_layer = np.full((len(sizes), 3, study.DEEPEST), np.nan)
    by_layer[:, :, :2] = sizes
    return {
        "score": score, "pretrained": np.array(1.0), "dimensions": sizes, "by_layer": by_layer,
    }  # fmt: skip


def test_finetuning_starts_from_pretrained_weights_and_single_task_learning_does_not(monkeypatch):
    """Equal accuracies of the two would be chance: they can't be the same run."""
    starts = {}

    def follow(network, split, training, *, mode, **options):
        starts[mode] = network
        ends = {"pretraining": "pretrained"}
        return SimpleNamespace(
            network=lambda run: ends.get(mode, mode), start=network, scores={"auxiliary": score}
        )

    score = SimpleNamespace(task_accuracy=np.ones((1, 1)))
    layers = [*study.LAST["resnet-small"]]
    sizes = SimpleNamespace(before=[1.0, 1.0], after=[1.0, 1.0], shared=[1.0, 1.0], layers=layers)
    monkeypatch.setattr(study, "train_transfer", follow)
    monkeypatch.setattr(study, "layer_dimensions", lambda *ends, **options: sizes)
    study.cell(study.PRESETS["quick"][0] | {"rescalings": [1.0]})
    assert starts["finetuning"] == "pretrained"
    assert starts["singletask"] is starts["pretraining"]
    assert isinstance(starts["singletask"], eqx.Module)


def test_published_accuracies_hold_what_is_claimed_of_them():
    paper = published(study.__file__, ["network", "way", "n"]).accuracy
    # The gain of the ResNet-18 by c = .125 from 20 images, and the loss of the transformer.
    gains = paper.sel(way=study.tuned(0.125), n=20) - paper.sel(way=study.tuned(1.0), n=20)
    np.testing.assert_allclose(gains, (0.1051, -0.1647), atol=1e-4)
    configs = study.PRESETS["paper"]
    data = study.gather([(config, invented(config, paper)) for config in configs])
    assert set(verdicts(study, data).values()) == {"holds"}
    assert len(study.figure(data).axes) == 6


def test_a_rescaling_that_does_the_opposite_is_noticed():
    paper = published(study.__file__, ["network", "way", "n"]).accuracy
    configs = study.PRESETS["paper"]
    data = study.gather([(config, invented(config, paper, kept=0.1)) for config in configs])
    order = data.way.values.tolist()
    i, j = (order.index(study.tuned(c)) for c in (0.125, 1.0))
    order[i], order[j] = order[j], order[i]
    exchanged = data.assign(score=data.score.sel(way=order).assign_coords(way=data.way))
    verdict = verdicts(study, exchanged)
    assert verdict["rescaling_gain"] == verdict["kept"] == "does not hold"


def test_the_paper_preset_has_as_many_seeds_as_the_published_means():
    seeds = [config["seed"] for config in study.PRESETS["paper"]]
    assert sorted(seeds) == sorted([*range(50)] * 2)
