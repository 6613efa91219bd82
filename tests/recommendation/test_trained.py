"""Trained networks beside what theory predicts for them."""

from dataclasses import replace

import numpy as np
import pytest

from partwhole import solve
from partwhole._checks import InputError
from partwhole.limits import HyperbolicEntropy
from partwhole.recommendation import predict_losses, recommend
from partwhole.recommendation.trained import trained_losses
from partwhole.tasks import SparseTeachers

TASK = SparseTeachers(dimension=60, active_aux=6, active_main=6, overlap=4)


@pytest.fixture(scope="module")
def told():
    return predict_losses(
        TASK, [8, 16], rescalings=[1, 0.3], n_aux=80, seeds=range(2), init_scale=0.01,
        readout_scale=0.01, progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def trained(told):
    return trained_losses(told, progress=False, max_steps=30_000)


def test_training_ends_where_theory_says(told, trained):
    """Steps of .1 on targets of order 1 end a few percent from the flow (fact sheet F-13)."""
    exact = [m.name != "multi-task" for m in told.methods]
    gap = np.abs(trained.final - told.losses)[exact]
    assert (gap <= 0.1 * told.losses[exact] + 1e-6).all()
    # As many records as of 30,000 steps, for which training is compiled.
    methods = tuple(m for m in told.methods if m.name != "multi-task")
    few = {"methods": methods, "sizes": (8,), "seeds": told.seeds[:1]}
    apart = replace(told, **few, losses=told.losses[exact][:, :1, :1])
    smaller = trained_losses(apart, progress=False, learning_rate=0.02, max_steps=180_000)
    nearer = np.abs(smaller.final - apart.losses)
    assert nearer.sum() < 0.35 * gap[:, :1, :1].sum()
    both = trained.final[~np.array(exact)] / told.losses[~np.array(exact)]
    assert np.abs(both - 1).max() < 0.1


@pytest.mark.parametrize("n_aux", [19, 20, 21, 40])
def test_multi_task_learning_follows_the_auxiliary_sample(n_aux):
    """From as many samples as features on they determine the task, but not the way to it.

    In units of the targets' variance; steps of .04 end within .004 of the flow. At 20 samples the
    population in the sample's place ends .2 away.
    """
    task = SparseTeachers(dimension=20, active_aux=5, active_main=5, overlap=3)
    predicted = predict_losses(
        task, [8], methods=["multi-task"], n_aux=n_aux, seeds=[0], progress=False
    )
    # The nearer to as many samples as features, the longer training takes.
    steps = 150_000 if n_aux <= 20 else 75_000
    trained = trained_losses(predicted, learning_rate=0.04, max_steps=steps, progress=False)
    np.testing.assert_allclose(predicted.losses, trained.final, atol=0.005, rtol=0)


def test_the_choice_follows_the_auxiliary_sample():
    """With all of the auxiliary task multi-task learning would err least here, at .017."""
    advice = recommend(
        overlap=5, n_main=40, active_main=10, active_aux=10, dimension=200, n_aux=205,
        methods=["multi-task", "finetuning"], rescalings=[1], seeds=[1], progress=False,
    )  # fmt: skip
    trained = trained_losses(advice.predicted, progress=False, max_steps=50_000)
    assert advice.choice.name == "finetuning"
    assert trained.final[1] < 0.5 * trained.final[0]
    np.testing.assert_allclose(advice.predicted.losses, trained.final, rtol=0.1)


def test_the_best_on_the_way_is_no_worse_than_the_end_and_than_the_start(told, trained):
    assert (trained.best <= trained.final + 1e-12).all()
    single = [m.name for m in told.methods].index("single-task")
    # It starts from coefficients of zero, in single precision.
    assert (trained.best[single] <= 1 + 1e-5).all()


def test_trained_pretraining_is_nearly_perfect_from_weights_that_outweigh_its_error():
    """A threshold of 1e-10 leaves foreign features at 1e-5, which .03 squared outweighs.

    From weights of .001, whose square is 1e-6, they count (fact sheet F-15).
    """
    gaps = []
    for scale in (0.03, 0.001):
        kept = predict_losses(
            TASK, [16], methods=["finetuning"], rescalings=[1], n_aux=80, seeds=[0],
            init_scale=scale, readout_scale=scale, progress=False,
        )  # fmt: skip
        perfect, trained = (
            trained_losses(kept, progress=False, max_steps=30_000, pretraining=kind)
            for kind in ("perfect", "trained")
        )
        gaps.append(np.abs(np.log(trained.final / perfect.final)).max())
    assert gaps[0] < 0.05 < gaps[1]


def test_too_few_auxiliary_samples_are_pretrained_from():
    few = predict_losses(TASK, [8], methods=["finetuning"], rescalings=[1], n_aux=10,
                         seeds=range(3), progress=False)  # fmt: skip
    for kind in ("perfect", "trained"):
        found = trained_losses(few, progress=False, max_steps=60_000, pretraining=kind)
        assert np.abs(found.final / few.losses - 1).max() < 0.1


def test_tables(told):
    trained = trained_losses(told, progress=False, max_steps=300)
    table = trained.to_frame()
    assert list(table.columns[-4:]) == ["predicted", "final", "best", "fitted"]
    assert len(table) == told.losses.size
    assert f"{table.final[0]:.9g}" == f"{trained.final[0, 0, 0]:.9g}"
    said = trained.describe()
    assert "linear probing" in said
    assert "not fitted" in said
    assert len(said.splitlines()) == 1 + len(told.methods) * 2


def test_the_readout_is_rescaled_only_if_asked():
    """With c on the first layer alone, gamma stays as large as it was given."""
    asked = dict(methods=["finetuning"], rescalings=[0.1], seeds=[0, 1], progress=False,
                 readout_scale=0.3, init_scale=0.01)  # fmt: skip
    both = predict_losses(TASK, [16], **asked)
    alone = predict_losses(TASK, [16], rescaled="hidden", **asked)
    smaller = predict_losses(TASK, [16], rescaled="hidden", **asked | {"readout_scale": 0.03})
    assert np.allclose(both.losses, smaller.losses, rtol=1e-9)
    sample = TASK.samples([0, 1], 16, 0)
    for seed in range(2):
        cost = HyperbolicEntropy.after_finetuning(
            sample.auxiliary[seed], readout_scale=0.3, init_scale=0.01, rescale=0.1
        )
        end = solve((sample.inputs[seed], sample.targets[seed]), cost=cost, intercept="none")
        error = ((end.coefficients - sample.main[seed]) ** 2).sum() / (sample.main[seed] ** 2).sum()
        assert alone.losses[0, 0, seed] == pytest.approx(error, rel=1e-6)
    trained = trained_losses(alone, progress=False, learning_rate=0.02)
    assert np.abs(trained.final / alone.losses - 1).max() < 0.02
    assert np.abs(trained.final / both.losses - 1).max() > 0.1


def test_pretraining_that_did_not_end_is_named():
    kept = predict_losses(
        TASK, [8], methods=["finetuning"], rescalings=[1], n_aux=80, seeds=[0, 1], progress=False
    )
    assert trained_losses(kept, progress=False, max_steps=300).pretrained is None
    short = trained_losses(kept, progress=False, max_steps=300, pretraining="trained")
    assert not short.pretrained.any()
    assert short.describe().splitlines()[-1] == "pretraining not fitted for 2 of 2 seeds"


@pytest.mark.parametrize(("scale", "pretraining"), [(2.0**-10, "perfect"), (2.0**10, "trained")])
def test_units_of_the_targets_change_nothing(scale, pretraining):
    """Gradient flow of targets times s is s times as fast, from weights times the root of s."""
    options = {"rescalings": [1], "n_aux": 80, "seeds": [0, 1], "progress": False}
    runs = []
    for s in (1.0, scale):
        size = s / np.sqrt(6)
        task = SparseTeachers(60, 6, 6, 4, main_scale=size, aux_scale=size)
        start = 0.01 * np.sqrt(s)
        told = predict_losses(task, [8], init_scale=start, readout_scale=start, **options)
        runs.append(trained_losses(told, pretraining=pretraining, max_steps=12_000, progress=False))
    one, other = runs
    # Powers of two: what differs is the rounding of single precision, over some thousand steps.
    np.testing.assert_allclose(other.final / scale**2, one.final, rtol=1e-3)
    np.testing.assert_array_equal(other.fitted, one.fitted)
    assert 0 < one.fitted.mean() < 1
    if one.pretrained is not None:
        np.testing.assert_array_equal(other.pretrained, one.pretrained)


def test_small_targets_of_which_nothing_was_learned_are_not_fitted():
    task = SparseTeachers(60, 6, 6, 4, main_scale=1e-6, aux_scale=1e-6)
    told = predict_losses(task, [8], rescalings=[1], n_aux=80, seeds=[0, 1], progress=False)
    for kind in ("perfect", "trained"):
        trained = trained_losses(
            told, pretraining=kind, max_steps=300, learning_rate=1e-9, progress=False
        )
        assert not trained.fitted.any()
        assert trained.pretrained is None or not trained.pretrained.any()


@pytest.mark.parametrize(
    ("name", "bound", "default"),
    [("learning_rate", "above 0", "0.1"), ("threshold", "of at least 0", "1e-10")],
)
def test_numbers_of_training(told, name, bound, default):
    for number in ("x", -1.0):
        with pytest.raises(InputError) as raised:
            trained_losses(told, **{name: number})
        assert str(raised.value) == (
            f"{name} is a finite number {bound}; got {number!r}; pass a number {bound}, or leave "
            f"it out for {default}"
        )


def test_unknown_pretraining(told):
    with pytest.raises(InputError) as raised:
        trained_losses(told, pretraining="none")
    assert str(raised.value) == (
        'pretraining is "perfect" or "trained"; got \'none\'; choose one of them'
    )
