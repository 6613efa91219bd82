"""A diffusion model of points beside the exact flow: trained models, and synthetic answers."""

from __future__ import annotations

from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from study_cells import computed
from study_rules import require_whole, verdicts

from partwhole.networks.diffusion import sampling
from partwhole.tasks import StructuredIdentity
from partwhole.training.diffusion.train import take_steps
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


def exchanged(model):
    """Return the model whose first input, condition and output are another one's second."""
    columns = [model.predictor.maps[0].weight]
    columns += [layer.first.weight for layer in model.predictor.conditions]
    last = model.predictor.maps[-1]

    def where(m):
        inputs = [m.predictor.maps[0].weight]
        inputs += [layer.first.weight for layer in m.predictor.conditions]
        return [*inputs, m.predictor.maps[-1].weight, m.predictor.maps[-1].bias]

    swapped = [weights[:, ::-1] for weights in columns] + [last.weight[::-1], last.bias[::-1]]
    return eqx.tree_at(where, model, swapped)


def forget_noise():
    """Clear the functions that were compiled with a law of noise."""
    for function in (take_steps, sampling._drawn, sampling._step, sampling._chain):
        function.clear_cache()


def test_concepts_of_equal_means_are_treated_alike(monkeypatch):
    """Exchange them in the points, the first weights and all noise: the answers are exchanged."""
    config = study.SMALL | {
        "mean": study.SECOND, "seed": 0, "steps": 40, "checkpoints": 3,
        "n": 40, "batch": 16, "samples": 8, "sampling_steps": 5,
    }  # fmt: skip
    normal, model, sample = jax.random.normal, study.diffusion_model, StructuredIdentity.sample
    answer = study.cell(config)["answer"]
    with monkeypatch.context() as patch:
        patch.setattr(jax.random, "normal", lambda *args: normal(*args)[..., ::-1])
        patch.setattr(study, "diffusion_model", lambda *a, **k: exchanged(model(*a, **k)))
        patch.setattr(
            StructuredIdentity, "sample",
            lambda task, seed: SimpleNamespace(inputs=sample(task, seed).inputs[:, ::-1]),
        )  # fmt: skip
        forget_noise()
        other = study.cell(config)["answer"]
    forget_noise()
    assert np.ptp(answer) > 0.1
    # Single precision: sums over both concepts are rounded in another order.
    np.testing.assert_allclose(other[..., ::-1], answer, atol=1e-5)
    assert abs(other - answer).max() > 0.01


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
    assert numbers["equal"].endswith("of 20 models; the later takes 1.0 times as long.")


def test_the_later_of_two_equal_concepts_is_counted(data):
    assert study.numbers(data)["equal"] == ""  # the quick preset has no equal means
    later = study.numbers(study.gather(with_one_slower()))["equal"]
    assert later.startswith(" With equal means the first is later in 20 of 20 models")


def with_one_slower():
    """Return the exact flow with means 0.5 and 2 where means are equal."""
    by_mean = {(c["mean"], c["seed"]): arrays for c, arrays in cells()}
    return [(c, by_mean[study.WEAK, c["seed"]]) for c in study.PRESETS["laptop"]]


def test_a_loss_and_another_order_are_noticed():
    assert verdict(back=0.5)["loss"] == "does not hold"
    assert verdict(swapped=True)["lag"] == "does not hold"
