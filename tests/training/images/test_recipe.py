"""What a recipe refuses, and the published ones."""

from __future__ import annotations

import pytest

from partwhole._checks import InputError
from partwhole.training import Recipe


def test_published_recipes():
    convnet = Recipe.published("convnet", "squared")
    assert (convnet.optimizer, convnet.learning_rate, convnet.momentum) == ("sgd", 1e-4, 0.9)
    assert (convnet.batch, convnet.epochs, convnet.crop, convnet.flip) == (128, 100, 0, False)
    resnet, vit = Recipe.published("resnet", "logistic"), Recipe.published("vit", "logistic")
    assert (resnet.optimizer, resnet.learning_rate, resnet.epochs) == ("adam", 1e-3, 100)
    assert (vit.learning_rate, vit.epochs, vit.crop, vit.flip) == (1e-4, 200, 4, True)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"loss": "hinge"},
            'loss is "squared", "logistic" or "cross entropy"; got \'hinge\'; choose one of them',
        ),
        (
            {"optimizer": "lion"},
            'optimizer is "sgd" or "adam"; got \'lion\'; choose one of them',
        ),
        ({"learning_rate": 0}, "learning_rate is a positive number; got 0; pass 1e-3, say"),
        (
            {"optimizer": "sgd", "momentum": 1.0},
            "momentum is a share from 0 to below 1; got 1.0; pass 0.9, say",
        ),
        ({"momentum": 0.9}, "momentum is of \"sgd\"; got 0.9 for 'adam'; leave it out"),
        ({"weight_decay": -1}, "weight_decay is at least 0; got -1; pass 5e-5, say"),
        ({"batch": 0}, "batch is a whole number of at least 1; got 0; pass 128, say"),
        (
            {"epochs": 1.5},
            "epochs is a whole number; got 1.5; pass one whole number, or leave it out for 100",
        ),
        ({"crop": -1}, "crop is a whole number of at least 0; got -1; pass 4, say"),
        ({"flip": "no"}, "flip is True or False; got 'no'; choose one of them"),
        (
            {"stop_loss": 0.0},
            "stop_loss is a positive number; got 0.0; leave it out to train for all epochs",
        ),
        ({"diverged_loss": 0.0}, "diverged_loss is a positive number; got 0.0; pass 200, say"),
    ],
)
def test_errors_say_rule_got_remedy(change, sentence):
    with pytest.raises(InputError) as caught:
        Recipe(**({"loss": "squared"} | change))
    assert str(caught.value) == sentence


def test_another_network_has_no_published_recipe():
    with pytest.raises(InputError, match="a published recipe is that of convnet, resnet or vit"):
        Recipe.published("alexnet", "squared")
