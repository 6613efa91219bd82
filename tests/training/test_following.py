"""Followers of a training: what every engine sends them, and what an error of theirs does."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest
from small_trainings import CASES, IMAGES

from partwhole import _progress, tasks
from partwhole._checks import InputError
from partwhole.networks import Architecture, ImageNetwork
from partwhole.networks.images.layers import Dense, Flatten
from partwhole.training import Training, train
from partwhole.training.following import training_mark
from partwhole.training.images.transfer import train_transfer
from partwhole.training.train import ENGINES, _engine, problem_of
from partwhole.training.usage import peak_memory


def followed(name, **changes):
    """Return the runs of a case, and the records of each."""
    networks, data, training, options = CASES[name]
    records = []
    runs = train(
        networks, data, replace(training, **changes), **options, follow=records.append,
        progress=False,
    )  # fmt: skip
    return runs, [[r for r in records if r.run == run] for run in range(len(runs.outcomes))]


def leaves(runs):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(runs.networks) if hasattr(leaf, "dtype")]


def mark(name="any", networks=None, data=None, **changes):
    """Return the mark of a case, of which nothing is trained."""
    start, samples, training, options = CASES[name]
    only = training_mark(problem_of(
        start if networks is None else networks, data or samples, replace(training, **changes),
        *(options.get(key) for key in ("read", "teachers", "test")), None,
    ))  # fmt: skip
    assert len(only) == 8
    assert only.isalpha()
    return only


@pytest.fixture(scope="module")
def split():
    return tasks.split_classes(IMAGES, np.arange(24) % 4, n_main=6, n_test=4, seed=0)


@pytest.fixture(scope="module")
def linear_image(split):
    """Return an image network that is one linear map."""
    weight = np.random.default_rng(0).normal(size=(split.n_outputs, 16)).astype(np.float32)
    layer = Dense(jnp.asarray(weight), jnp.zeros(split.n_outputs, jnp.float32))
    return ImageNetwork((Flatten(), layer), ("flat", "out"), (4, 4, 1))


def test_there_is_a_case_for_every_engine():
    engines = [
        _engine(problem_of(networks, data, training, *(options.get(key) for key in (
            "read", "teachers", "test", "checkpoint"))))
        for networks, data, training, options in CASES.values()
    ]  # fmt: skip
    assert engines == list(ENGINES)


@pytest.mark.parametrize("name", CASES)
def test_following_changes_nothing(name):
    runs, _ = followed(name)
    networks, data, training, options = CASES[name]
    alone = train(networks, data, training, **options, progress=False)
    for followed_leaf, leaf in zip(leaves(runs), leaves(alone), strict=True):
        np.testing.assert_array_equal(followed_leaf, leaf)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"images", "diffusion"}))
def test_records_are_those_of_the_runs(name):
    runs, records = followed(name)
    assert runs.steps.tolist() == [0, 3, 8, 10]
    assert {record.training for of_run in records for record in of_run} == {mark(name)}
    for run, of_run in enumerate(records):
        assert [record.step for record in of_run] == [0, 3, 8, 10]
        np.testing.assert_allclose([r.loss for r in of_run], runs.training_loss[run], rtol=1e-6)
        seconds = [record.seconds for record in of_run]
        assert 0 < seconds[0] <= seconds[-1] <= runs.seconds
    if runs.test_loss is not None and runs.test_loss.ndim == 2:
        tested = [[r.scores["test_loss"] for r in of_run] for of_run in records]
        np.testing.assert_allclose(tested, runs.test_loss, rtol=1e-6)


def test_records_have_the_losses_of_all_tasks_and_the_margins():
    runs, (records,) = followed("diagonal")
    for task in (0, 1):
        losses = [record.scores[f"loss_{task}"] for record in records]
        np.testing.assert_allclose(losses, runs.task_loss[0, task])
        tested = [record.scores[f"test_loss_{task}"] for record in records]
        np.testing.assert_allclose(tested, runs.test_loss[0, task])
    runs, records = followed("gated")
    for run, of_run in enumerate(records):
        np.testing.assert_allclose([r.scores["margin"] for r in of_run], runs.margins[run])
        np.testing.assert_allclose([r.scores["error"] for r in of_run], runs.training_error[run])


def test_image_networks_send_every_epoch_and_scores_where_they_are_recorded():
    runs, records = followed("images")
    assert {record.training for of_run in records for record in of_run} == {mark("images")}
    for run, of_run in enumerate(records):
        assert [record.step for record in of_run] == [0, 3, 6, 9, 12]
        assert np.isnan(of_run[0].loss)
        np.testing.assert_allclose([r.loss for r in of_run[1:]], runs.epoch_loss[run])
        scored = [record for record in of_run if record.scores]
        assert [record.step for record in scored] == runs.steps.tolist() == [0, 6, 12]
        for place in ("training", "test"):
            for key in ("loss", "accuracy"):
                values = [record.scores[f"{place}_{key}"] for record in scored]
                np.testing.assert_allclose(values, getattr(runs.scores[place], key)[run])
    ended, (few, _) = followed("images", threshold=5.0)  # after an epoch
    assert ended.end_steps.tolist() == [3, 3]
    assert [record.step for record in few] == [0, 3]
    assert few[-1].scores["test_loss"] == ended.scores["test"].loss[0, -1]


def test_both_tasks_of_transfer_are_followed(split, linear_image):
    training = Training(loss="cross entropy", epochs=2, batch=4, learning_rate=0.01)
    records = []
    runs = train_transfer(
        linear_image, split, training, mode="multitask", follow=[records.append], progress=False
    )
    losses = [[record.scores[f"loss_{task}"] for record in records] for task in (0, 1)]
    np.testing.assert_allclose(losses, runs.epoch_loss[0])
    np.testing.assert_allclose([r.loss for r in records], runs.epoch_loss[0].mean(axis=0))


def test_diffusion_models_send_every_hundred_steps_and_the_samples():
    runs, (records,) = followed("diffusion")
    assert {record.training for record in records} == {mark("diffusion")}
    assert [record.step for record in records] == [0, 100, 130, 200, 230]
    assert np.isnan(records[0].loss)
    by_hundreds = [records[i] for i in (1, 3, 4)]
    for record, bits in zip(by_hundreds, runs.diffusion.bits[0], strict=True):
        assert list(record.scores) == ["diffusion", "latent", "reconstruction"]
        np.testing.assert_allclose(list(record.scores.values()), bits, rtol=1e-6)
        assert record.loss == pytest.approx(bits.sum(), rel=1e-6)
    assert records[2].loss == pytest.approx(runs.training_loss[0, 2], rel=1e-6)
    sampled = [record for record in records if record.samples]
    assert [record.step for record in sampled] == runs.steps.tolist()
    kept = np.stack([record.samples["far"] for record in sampled])
    np.testing.assert_array_equal(kept.astype(np.float16), runs.diffusion.samples["far"][0])


def test_records_end_with_the_run():
    runs, records = followed("any", steps=400, threshold=0.05, learning_rate=0.02, record=50)
    for run, of_run in enumerate(records):
        assert runs.end_steps[run] % 50
        expected = [*range(0, runs.end_steps[run], 50), runs.end_steps[run]]
        assert [record.step for record in of_run] == expected
        assert of_run[-1].loss <= 0.05


class Failure(Exception):
    """An error of a user's own."""


def first_mark(trained, *given, **options):
    """Return the mark of a training by its first record, which ends it."""
    marks = []

    def end(record):
        marks.append(record.training)
        raise Failure

    with pytest.raises(Failure):
        trained(*given, **options, follow=end, progress=False)
    return marks[0]


def test_the_mark_is_that_of_settings_networks_and_samples():
    networks, (x, y), _, _ = CASES["any"]
    same = {mark(), mark(steps=12), mark(record=[2])}
    assert len(same) == 1
    others = {
        mark(learning_rate=0.06),
        mark(seed=1),
        mark(batch=3),
        mark(networks=networks[::-1]),
        mark(data=(x, y + 1e-3)),
    }
    assert len(others - same) == 5
    assert len({mark(name) for name in CASES}) == len(CASES)


def test_the_mark_is_that_of_the_kind_of_network_and_of_transfer(split, linear_image):
    def mark_of(*given):
        return training_mark(problem_of(*given, None, None, None, None))

    _, data, training, _ = CASES["any"]
    weights = Architecture(2, 4, "relu").network(15, seed=0, outputs=1)
    flat = (data[0].reshape(12, -1), data[1])
    linear = replace(weights, nonlinearity="linear")
    assert mark_of(weights, flat, training) != mark_of(linear, flat, training)

    training = Training(loss="cross entropy", epochs=1, batch=4)
    modes = (
        {"mode": "multitask"},
        {"mode": "multitask", "protocol": "published"},
        {"mode": "multitask", "auxiliary_weight": 0.5},
        {"mode": "singletask"},
        {"mode": "pretraining"},
        {"mode": "finetuning", "rescale": 0.5},
    )
    marks = [first_mark(train_transfer, linear_image, split, training, **mode) for mode in modes]
    assert len(set(marks)) == 6


@pytest.mark.parametrize("name", CASES)
def test_an_error_of_a_follower_ends_training_as_it_is(name):
    networks, data, training, options = CASES[name]
    seen = []

    def fail(record):
        seen.append(record)
        if record.step:
            raise Failure("a word of theirs")

    with pytest.raises(Failure, match=r"^a word of theirs$"):
        train(networks, data, training, **options, follow=[fail], progress=False)
    # No run goes on after it.
    assert [record.step > 0 for record in seen].count(True) == 1


def test_an_error_in_one_thread_stops_the_others(monkeypatch):
    monkeypatch.setattr(import_module("partwhole.training.train"), "cores", lambda: 2)
    taken = []

    def fail(record):
        taken.append(record)
        # Once both are on their way, whichever began first.
        if record.run == 1 and any(earlier.run == 0 for earlier in taken):
            raise Failure

    training = Training(steps=10**6, learning_rate=1e-6, record=range(0, 10**6, 20))
    with pytest.raises(Failure):
        train(CASES["any"][0], CASES["any"][1], training, follow=fail, progress=False)
    assert max(record.step for record in taken if record.run == 0) < 10**5


@pytest.mark.parametrize("follow", [3, [3], ["run.csv"], "run.csv"])
def test_what_cannot_be_called_is_refused(follow):
    networks, data, training, options = CASES["any"]
    with pytest.raises(InputError, match=r"^follow is a function or a sequence.*; got .*; pass"):
        train(networks, data, training, **options, follow=follow)


def test_a_step_is_read_only_if_somebody_follows():
    """As reading it waits for a device."""
    following = import_module("partwhole.training.following")

    class Unread:
        def item(self):
            raise AssertionError

        __int__ = item

    networks, data, training, options = CASES["any"]
    problem = problem_of(networks, data, training, None, None, options["test"], None)
    report = following.Report(following.Following(problem, ()), lambda steps, loss: None)
    report.record(Unread(), 0.0)


def test_usage_and_seeds():
    before = psutil.Process().memory_info().rss
    runs, _ = followed("any", seed=5)
    assert runs.seeds == (5, 6)
    assert followed("any", seed=[4, 2])[0].seeds == (4, 2)
    assert runs.seconds > 0
    process, device = runs.peak_memory
    # Linux counts resident pages in portions, to a few hundred kilobytes.
    assert 0.99 * before <= process < psutil.virtual_memory().total
    assert device is None


def test_the_memory_of_a_device_is_told_where_it_is_known(monkeypatch):
    class Device:
        platform = "gpu"

        def __init__(self, stats):
            self.memory_stats = lambda: stats

    for stats, device in (
        ({"peak_bytes_in_use": 7, "bytes_in_use": 3}, 7),
        ({}, None),
        (None, None),
    ):
        monkeypatch.setattr(jax, "local_devices", lambda stats=stats: [Device(stats)])
        assert peak_memory().device == device


def test_where_there_is_no_terminal_training_prints_lines(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PAUSE", 0.0)
    monkeypatch.setattr("partwhole.training.following.REPORTED_EVERY", -1.0)
    networks, data, training, options = CASES["any"]
    train(networks, data, training, **options)
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].startswith("training 2 networks loss ")
    assert ": 20 of 20, 0:00:" in lines[-1]
    train(networks, data, training, **options, progress=False)
    assert capsys.readouterr().err == ""
