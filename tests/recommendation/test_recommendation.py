"""Predicted losses: against recorded ones, networks that were integrated, and plain algebra."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from partwhole._checks import InputError
from partwhole.recommendation import predict_losses, recommend
from partwhole.recommendation.methods import Method
from partwhole.recommendation.predicted import PredictedLosses
from partwhole.tasks import SparseTeachers

SMALL = SparseTeachers(dimension=30, active_aux=6, active_main=6, overlap=3)


def quietly(*args, **options):
    return predict_losses(*args, progress=False, **options)


def flowed(tasks, shares, scale):
    """Gradient flow in every weight of a network of two readouts, to the end."""
    d = tasks[0][0].shape[1]

    def beta(flat):
        w, m = flat[0], flat[1]
        return w * flat[2:4] - m * flat[4:6]

    def velocity(_, flat):
        flat = flat.reshape(6, d)
        slopes = [
            2 * share / len(y) * x.T @ (x @ b - y)
            for (x, y), share, b in zip(tasks, shares, beta(flat), strict=True)
        ]
        g, w, m = np.array(slopes), flat[0], flat[1]
        v, u = flat[2:4], flat[4:6]
        return np.vstack([-(g * v).sum(0), (g * u).sum(0), -g * w, g * m]).ravel()

    run = solve_ivp(
        velocity, (0, 3e4), np.full(6 * d, scale), method="LSODA", rtol=1e-10, atol=1e-13
    )
    return beta(run.y[:, -1].reshape(6, d))


@pytest.mark.parametrize(
    ("overlap", "losses"), [(20, (1.25525, 0.855687)), (0, (2.14002, 1.66128))]
)
def test_finetuning_at_full_scale_is_as_recorded(overlap, losses):
    found = quietly(
        SparseTeachers(overlap=overlap), [32, 64], methods=["finetuning"], rescalings=[1]
    )
    assert np.abs(found.mean[0] / losses - 1).max() < 1e-3


def test_rescaled_finetuning_is_as_recorded():
    task = SparseTeachers(active_main=5, overlap=5, main_scale="1/a")
    found = quietly(task, [16, 32], methods=["finetuning"], rescalings=(1, 0.1, 0.01))
    expected = [(0.113364, 0.0229548), (0.0770895, 4.6993e-4), (0.096283, 2.3749e-5)]
    assert np.abs(found.mean / expected - 1).max() < 2e-3


@pytest.mark.parametrize("n_aux", [20, 45])
def test_multi_task_learning_is_the_flow_in_all_weights(n_aux):
    """With fewer and with more auxiliary inputs than the 30 features."""
    found = quietly(SMALL, [10], methods=["multi-task"], n_aux=n_aux, init_scale=0.05, seeds=[1])
    sample = SMALL.sample(1, 10, n_aux)
    tasks = [(sample.aux_inputs, sample.aux_targets), (sample.inputs, sample.targets)]
    _, main = flowed(tasks, (n_aux / (n_aux + 10), 10 / (n_aux + 10)), 0.05)
    # The prediction stops at a training loss of 1e-8, and so 1e-4 from the end.
    assert abs(found.losses[0, 0, 0] - np.sum((main - sample.main) ** 2)) < 2e-4
    assert found.notes == ()


def test_linear_probing_is_weighted_least_squares():
    found = quietly(SMALL, [4, 10], methods=["linear probing"], seeds=[3], readout_scale=1e-9)
    for at, n in enumerate((4, 10)):
        sample = SMALL.sample(3, n)
        scale = np.diag(np.hypot(sample.auxiliary, 2e-6))
        inverse = np.linalg.pinv(sample.inputs @ scale @ sample.inputs.T)
        beta = scale @ sample.inputs.T @ inverse @ sample.targets
        assert abs(found.losses[0, at, 0] - np.sum((beta - sample.main) ** 2)) < 1e-5


def test_too_few_auxiliary_samples_teach_less():
    task = SparseTeachers(dimension=60, active_aux=10, active_main=10, overlap=10)
    few, many = (
        quietly(task, [20], methods=["finetuning"], rescalings=[1], n_aux=n, seeds=range(8))
        for n in (12, 60)
    )
    assert few.mean[0, 0] > 3 * many.mean[0, 0]


def test_what_is_known_helps_and_what_is_foreign_harms():
    """A foreign task is best forgotten, a kindred one kept, a part of it kept after rescaling."""
    options = {"dimension": 200, "active_aux": 10, "n_main": 60, "progress": False}
    options |= {"methods": ["single-task", "linear probing", "finetuning"]}
    apart = recommend(overlap=0, active_main=10, rescalings=[1], **options)
    assert apart.choice.name == "single-task"
    same = recommend(overlap=10, active_main=10, **options)
    assert same.choice.name in ("linear probing", "finetuning")
    few = recommend(overlap=2, active_main=2, main_scale="1/a", **{**options, "n_main": 8})
    assert few.choice.name == "finetuning"
    assert few.choice.rescale < 1
    table = apart.to_frame()
    assert table.method[0] == "single-task"
    assert (table.transfer >= 1).all()
    said = apart.describe()
    assert "Choose single-task." in said
    assert "none in both" in said


def test_what_cannot_be_told_apart_is_said():
    one = recommend(overlap=3, n_main=5, dimension=40, active_aux=5, active_main=5,
                    methods=["single-task", "finetuning"], seeds=[0], progress=False)  # fmt: skip
    assert len(one.as_good) == len(one.predicted.methods) - 1
    assert "can't be told from it" in one.describe()
    assert np.isnan(one.predicted.standard_error).all()
    many = recommend(
        overlap=0, n_main=60, dimension=200, active_aux=10, active_main=4,
        methods=["single-task", "finetuning"], rescalings=[1], progress=False,
    )  # fmt: skip
    assert many.as_good == ()


def curve(power, seeds=5):
    """Losses that fall with a power of the sample size, a little different in each seed."""
    sizes = (8, 16, 32, 64)
    level = np.linspace(0.95, 1.05, seeds)
    losses = np.array(sizes, dtype=float)[:, None] ** -power * level
    return PredictedLosses(
        SMALL, (Method("single-task"),), sizes, tuple(range(seeds)), losses[None]
    )


def test_samples_needed_follow_a_power_law():
    (found,) = curve(2.0).samples_needed(1e-3)
    # Where n^-2 falls to .001; a mean of levels of 1 leaves it there.
    assert abs(found.samples - np.sqrt(1e3)) < 1e-6
    assert found.low < found.samples < found.high
    # A half width of a level's standard error, a quarter of that of the logarithm by the power 2.
    spread = np.linspace(0.95, 1.05, 5).std(ddof=1) / np.sqrt(5) / 2
    assert abs(np.log(found.high / found.low) / (2 * 2.776 * spread) - 1) < 0.02


def test_levels_beyond_the_curve():
    (above,) = curve(2.0).samples_needed(1.0)
    (below,) = curve(2.0).samples_needed(1e-9)
    assert above.samples == 8
    assert np.isnan(below.samples)


def test_tables_and_order_of_seeds():
    sizes, seeds = [12, 6], [4, 2]
    found = quietly(SMALL, sizes, methods=["single-task", "finetuning"], seeds=seeds)
    table = found.to_frame()
    assert table.shape == (4 * 2 * 2, 5)
    alone = quietly(SMALL, [6], methods=["finetuning"], rescalings=[0.1], seeds=[2])
    row = table[(table.n == 6) & (table.seed == 2) & (table.rescale == 0.1)]
    assert abs(float(row.loss.iloc[0]) / alone.losses[0, 0, 0] - 1) < 1e-9
    assert [method.label for method in found.methods] == [
        "single-task", "finetuning, c = 1", "finetuning, c = 0.1", "finetuning, c = 0.01",
    ]  # fmt: skip


def test_a_solve_that_stops_early_is_told(monkeypatch):
    from partwhole import solve
    from partwhole.recommendation import methods

    def hasty(*args, **options):
        return solve(*args, **options, max_steps=2)

    monkeypatch.setattr(methods, "solve", hasty)
    found = quietly(SMALL, [10], methods=["single-task"], seeds=[0])
    assert np.isfinite(found.losses).all()
    (note,) = found.notes
    assert note.startswith("single-task, n = 10, seed 0: not decided: reached max_steps")
    assert "a row is missed by" in note


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: quietly(SMALL, [10], methods=["transfer"]),
            "methods are among single-task, multi-task, linear probing, finetuning; got "
            "'transfer'; choose some of them",
        ),
        (
            lambda: quietly(SMALL, [10], methods=[]),
            "methods are among single-task, multi-task, linear probing, finetuning; got none; "
            "choose some of them",
        ),
        (
            lambda: quietly(SMALL, [10], rescalings=[0.0]),
            "a rescaling is above 0; got 0.0; take 1 to leave weights as they "
            "are; to forget them altogether, train from scratch",
        ),
        (
            lambda: quietly(SMALL, [10], rescalings=[]),
            "finetuning needs a rescaling; got none; pass 1 for none",
        ),
        (
            lambda: quietly(SMALL, [10], init_scale=0),
            "init_scale is a finite number above 0; got 0; pass a number above 0, or leave it "
            "out for 0.001",
        ),
        (
            lambda: predict_losses(SMALL, [10], rescaled="readout"),
            'rescaled is "all" or "hidden"; got \'readout\'; choose one of them',
        ),
        (
            lambda: quietly(SMALL, [0]),
            "a sample size is a whole number of at least 1; got 0; pass the number of samples "
            "of the main task",
        ),
        (
            lambda: quietly(SMALL, [10], n_aux=0),
            "n_aux is a whole number of at least 1; got 0; pass a whole number of at least 1, or "
            "leave it out for 1024",
        ),
        (
            lambda: curve(1.0).samples_needed(0.0),
            "error is a finite number above 0; got 0.0; pass a number above 0",
        ),
        (
            lambda: quietly(SMALL, [10], methods=["single-task"]).samples_needed(0.1),
            "a curve needs at least two sample sizes; got 1; predict losses for more sizes",
        ),
    ],
)
def test_sentences(call, sentence):
    with pytest.raises(InputError) as raised:
        call()
    assert str(raised.value) == sentence
