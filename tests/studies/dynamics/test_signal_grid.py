"""Learning times over the grid of signals, of networks and of times that are known."""

from __future__ import annotations

import numpy as np
import pytest
from study_cells import computed
from study_rules import failed_checks, require_whole

from partwhole_studies.dynamics import signal_grid as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_it_is_whole(data):
    require_whole(study, data)


def test_settings_lie_where_they_belong(data):
    # A concept is learned sooner if its own signal is stronger.
    weak, strong = ({"colour": c, "size": 0.4} for c in (0.2, 0.8))
    times = data.trained.sel(concept="colour")
    assert times.sel(strong).median() < times.sel(weak).median()
    times = data.trained.sel(concept="size", colour=0.2)
    assert times.sel(size=0.4).median() < times.sel(size=0.1).median()


def test_learned_is_what_stays_learned():
    steps = np.array([0, 10, 20, 40])
    paths = [[0.0, 0.9, 0.6, 1.0], [0.9, 0.9, 0.9, 0.9], [0.9, 0.9, 0.9, 0.7], [0.9, 0.0, 0.8, 1.0]]
    times = study.settled(steps, np.array(paths)[:, :, None])[:, 0]
    np.testing.assert_allclose(times, [30.0, 1.0, 40.0, 20.0])


def known(data, power, across):
    """Return data whose times are powers of the signals of colour and of size."""
    times = 500.0 * data.colour**power * data["size"] ** across
    spread = np.exp(0.01 * np.random.default_rng(0).normal(size=data.sizes["seed"]))
    wanted = (data.trained * 0 + times).transpose(*data.trained.dims)
    wanted = wanted * data.trained.seed.copy(data=spread)
    return data.assign(trained=wanted, theory=wanted)


def test_delays_are_those_of_the_times(data):
    for across in (1.0, -1.0):
        numbers = study.numbers(known(data, -2.0, across))
        assert numbers["delay"].value == pytest.approx(2.0**across)
        assert numbers["flow_delay"] == pytest.approx(2.0**across, rel=0.02)  # of noisy seeds


def test_another_flow_is_noticed(data):
    assert failed_checks(study, data.assign(theory=1.3 * data.theory)) == ["gap"]
