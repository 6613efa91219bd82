"""Every measure of a representation takes a recording."""

from __future__ import annotations

import inspect

import rooms


def test_every_measure_of_features_takes_a_recording():
    functions = {
        name: inspect.signature(member).parameters
        for name, member in rooms.defined("measures").items()
        if inspect.isfunction(member)
    }
    of_features = {name for name, parameters in functions.items() if "features" in parameters}
    assert of_features >= {"salience", "count_salience", "predict_readout", "participation_ratio"}
    # Shared dimensions call the features of two representations a and b.
    of_features |= {"shared_dimensions"}
    for name in of_features:
        first = next(iter(functions[name].values()))
        assert "Recording" in str(first.annotation), name
