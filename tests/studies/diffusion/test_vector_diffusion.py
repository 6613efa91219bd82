"""A diffusion model of points beside the exact flow: trained models, and synthetic answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole_studies.diffusion import vector_diffusion as study


@pytest.fixture(scope="module")
def data():
    return study.gather(computed(study, optimised=True))


def test_it_is_whole(data):
    require_whole(study, data)


def test_models_learn_their_training_means_and_the_unseen_combination(data):
    assert float(abs(data.trained - 1.0).max()) < 0.25
    assert float(abs(data.answer.isel(step=-1) - 1.0).max()) < 0.5


def test_the_exact_flow_is_that_of_two_equations():
    a = np.diag(study.task_of(0.5).second_moment())
    times = np.array([0.1, 0.5, 2.0])
    solved = solve_ivp(
        lambda t, w: a * (1.0 - w), (0, 2), [0, 0], t_eval=times, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(study.exact_flow(0.5, times), solved.y.T, atol=1e-8)
    assert study.flow_lag(0.5) == pytest.approx(a[1] / a[0])


def cells(back=0.0, swapped=False):
    """Return noisy answers of the exact flow; the first concept may be lost again on its way."""
    arrays = []
    for config in study.PRESETS["laptop"]:
        rng = np.random.default_rng(config["seed"])
        steps = study.steps_of(config)
        answers = study.exact_flow(config["mean"], steps / 100.0)
        answers[:, 0] += back * np.exp(-(((np.log(steps) - np.log(30.0)) / 0.5) ** 2))
        answers = answers[:, ::-1] if swapped else answers
        noisy = answers + 0.005 * rng.normal(size=(2, *answers.shape))
        arrays.append((config, {"answer": noisy, "trained": np.ones(2)}))
    return arrays


def verdict(**changes):
    return verdicts(study, study.gather(cells(**changes)))


def test_the_exact_flow_holds_what_is_claimed():
    assert set(verdict().values()) == {"holds"}
    numbers = study.numbers(study.gather(cells()))
    assert numbers["lag"].value == pytest.approx(numbers["flow_lag"], rel=0.1)


def test_a_loss_and_another_order_are_noticed():
    assert verdict(back=0.5)["loss"] == "does not hold"
    assert verdict(swapped=True)["lag"] == "does not hold"
