"""Costs that studies state, beside the steps that their cells take."""

import json

import pytest

from partwhole.study import hooks, registry
from partwhole.training.images import train as images
from partwhole_studies import costs
from partwhole_studies.images import leak_images
from partwhole_studies.reuse import class_finetuning


@pytest.fixture
def steps(monkeypatch):
    """Return the places of all steps that are taken."""
    taken, take = [], images.Loop._step
    monkeypatch.setattr(
        images.Loop, "_step", lambda loop, *place: taken.append(place) or take(loop, *place)
    )
    return taken


def test_every_study_states_durations_for_all_its_cells():
    studies = [registry.find(name) for name in registry.registered()]
    stating = [study for study in studies if hasattr(study, "seconds")]
    assert len(stating) >= 10
    for study in stating:
        assert hooks.on_gpu(study)
        for preset, configs in study.PRESETS.items():
            for config in configs:
                assert hooks.seconds_of(study, json.loads(json.dumps(config))) > 0, (study, preset)


def test_steps_of_composed_images_are_those_taken(steps):
    config = leak_images.PRESETS["quick"][0]
    config = config | {"training": config["training"] | {"epochs": 2}, "samples": 640}
    leak_images.cell(config)
    assert costs.of_images(config).steps == len(steps) > 2


def test_steps_of_finetuning_are_those_taken(steps):
    """To the images of other classes, whose number differs by half between choices of digits."""
    config = class_finetuning.PRESETS["quick"][0]
    training = config["training"] | {"epochs": 3, "threshold": 0.0}
    config = config | {"training": training, "fewer": {"pretraining": 2, "multitask": 2}}
    config |= {"ways": ["single-task", "multi-task"], "sizes": [10, 20]}
    class_finetuning.cell(config)
    stated = costs.of_finetuning(config).steps
    assert 0.7 * len(steps) < stated < 1.5 * len(steps)
