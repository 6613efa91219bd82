"""A diffusion model of points beside the exact flow: cells, and claims on made-up answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from study_cells import computed

from partwhole_studies.diffusion import vector_diffusion as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study))


def test_models_learn_what_they_are_shown(data):
    assert float(np.abs(data.seen - 1.0).max()) < 0.1
    assert float(np.abs(data.answer.isel(step=-1) - 1.0).max()) < 0.3
    verdicts = [claim.verdict.value for claim in study.claims(data)]
    assert verdicts[0] == "holds"


def test_figures(data):
    drawn = study.figure(data)
    assert len(drawn.axes) == 2 * data.sizes["first_mean"]


def test_the_exact_flow_is_that_of_two_equations():
    task = study._task(0.5)
    a = np.diag(task.second_moment())
    times = np.array([0.1, 0.5, 2.0])
    solved = solve_ivp(
        lambda t, w: a * (1.0 - w), (0, 2), [0, 0], t_eval=times, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(study.flow(0.5, times), solved.y.T, atol=1e-8)
    # Where the weak concept is once the strong one has nine tenths.
    when = np.log(10.0) / a[1]
    assert study.beside(0.5) == pytest.approx(1.0 - np.exp(-a[0] * when), abs=1e-12)


def made_up(config, back=0.0, first="second"):
    """Return answers of the exact flow, noisy; the first concept may go back on its way."""
    rng = np.random.default_rng(config["seed"])
    steps = np.unique(np.geomspace(5, config["steps"], 40).round().astype(int))
    answers = study.flow(config["mean"], steps / 100.0)
    if back:
        rise = np.exp(-(((np.log(steps) - np.log(30.0)) / 0.5) ** 2))
        answers[:, 0] += back * rise
    if first == "first":
        answers = answers[:, ::-1]
    noisy = answers[:, None] + 0.05 * rng.normal(size=(len(steps), 200, 2))
    seen = np.broadcast_to([1.0, 1.0], (len(steps), 10, 2))
    return {
        "steps": steps,
        "bits": np.zeros((1, 3)),
        "unseen": noisy,
        "first": seen,
        "second": seen,
    }


def verdicts(**how):
    configs = study.PRESETS["laptop"]
    found = study.claims(study.gather([(config, made_up(config, **how)) for config in configs]))
    return {claim.statement: claim.verdict.value for claim in found}


def test_the_exact_flow_holds_what_is_claimed():
    assert set(verdicts().values()) == {"holds"}


def test_a_way_back_is_noticed():
    found = verdicts(back=0.5)
    told = {v for s, v in found.items() if "does not go back" in s}
    assert told == {"does not hold"}


def test_another_order_is_noticed():
    found = verdicts(first="first")
    assert {v for s, v in found.items() if "stronger concept is learned first" in s} == {
        "does not hold"
    }
