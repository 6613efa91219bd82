"""The last stretch of learning several tasks, against following it."""

import numpy as np
import pytest

from partwhole._checks import InputError
from partwhole.flows import Diagonal, flow
from partwhole.flows.last_stretch import tangent_end
from partwhole.flows.quadratic_loss import QuadraticLoss
from partwhole.limits import DiagonalWeights


def drawn(seed, n=5, d=10, n_aux=None):
    rng = np.random.default_rng(seed)
    truth = np.where(np.arange(d) < 4, 1.0, 0.0)
    inputs = rng.normal(size=(n, d))
    main = QuadraticLoss.from_sample(inputs, inputs @ truth)
    if n_aux is None:
        return QuadraticLoss.from_population(np.roll(truth, 2)), main
    others = rng.normal(size=(n_aux, d))
    return QuadraticLoss.from_sample(others, others @ np.roll(truth, 2)), main


@pytest.mark.parametrize(("seed", "n_aux"), [(0, None), (1, 7)])
def test_it_ends_where_the_flow_goes_on_to(seed, n_aux):
    tasks = drawn(seed, n_aux=n_aux)
    weights, paths = DiagonalWeights.constant(10, 0.1, n_tasks=2), []
    for until in (1e-4, 1e-6, 1e-14):
        system = Diagonal(weights, tasks=tasks, shares=(0.5, 0.5))
        paths.append(flow(system, until=until, rtol=1e-8, atol=1e-11))
        weights = paths[-1].end
    aim = paths[-1].states[-1]
    for path in paths[:-1]:
        end = tangent_end(path.end, tasks)
        left = np.linalg.norm(path.states[-1] - aim)
        missed = np.linalg.norm(end.coefficients - aim)
        # What it neglects is a share of the stretch, about the growth of the weights in it.
        assert missed <= end.growth * left
        assert missed < 0.3 * left
        # Both tasks are fitted, to rounding.
        for task, beta in zip(tasks, end.coefficients, strict=True):
            assert task(beta) < 1e-20


def test_weights_of_the_tasks_do_not_matter_to_it():
    """Only what the weights are: the linear flow ends at one place however fast it goes there."""
    tasks = drawn(5)
    start = DiagonalWeights.constant(10, 0.1, n_tasks=2)
    path = flow(Diagonal(start, tasks=tasks, shares=(0.9, 0.1)), until=1e-6)
    weights = path.end
    end = tangent_end(weights, tasks).coefficients
    jacobian = []
    for hidden, readout, sign in (
        (weights.hidden_plus, weights.readout_plus, 1.0),
        (weights.hidden_minus, weights.readout_minus, -1.0),
    ):
        jacobian.append(sign * np.vstack([np.diag(readout[t]) for t in range(2)]))
        jacobian.append(sign * np.kron(np.eye(2), np.diag(hidden)))
    slope = np.hstack(jacobian)
    rows = np.block([[np.eye(10), np.zeros((10, 10))], [np.zeros((5, 10)), tasks[1].rows]])
    wanted = np.concatenate([tasks[0].targets, tasks[1].targets])
    beta = weights.coefficients.ravel()
    # The smallest move of the weights that fits.
    moved = np.linalg.lstsq(rows @ slope, wanted - rows @ beta, rcond=None)[0]
    np.testing.assert_allclose(end.ravel(), beta + slope @ moved, atol=1e-9)


def test_sentence():
    start = DiagonalWeights.constant(10, 0.1, n_tasks=2)
    with pytest.raises(InputError) as raised:
        tangent_end(start, drawn(0)[:1])
    assert str(raised.value) == (
        "there is a task for each readout of one network; got 1 tasks, readouts of shape (2, "
        "10); pass the tasks of Diagonal, and the last weights of its path"
    )
