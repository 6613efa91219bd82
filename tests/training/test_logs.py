"""Logs of a training: what they hold, how they go on, and what they refuse; and `resume`."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib import import_module

import jax
import numpy as np
import pandas as pd
import pytest
import tensorboard_stand_in
from vector_models import vector_model

from partwhole._checks import InputError
from partwhole.networks import Architecture
from partwhole.networks.images.convnet import convnet
from partwhole.training import Prompt, Sampling, Training, train
from partwhole.training.following import StepRecord
from partwhole.training.logs import CSVLog, JSONLines, TensorBoard

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 3)), RNG.normal(size=12)
IMAGES, CLASSES = RNG.uniform(size=(24, 4, 4, 1)), np.arange(24) % 3
CLOUD = RNG.normal(size=(40, 2)).astype(np.float32)
SMALL = {"channels": (2,), "kernel": 3, "padding": "SAME", "dense": ()}
DENSE = {
    "networks": Architecture(2, 4, "relu").networks(3, seeds=[0, 1], outputs=1),
    "data": (X, Y),
    "training": Training(steps=10, learning_rate=0.05, record=5),
    "test": (X, Y),
    "progress": False,
}
LONG = {
    "images": {
        "networks": convnet((4, 4, 1), outputs=3, seed=0, **SMALL),
        "data": (IMAGES, CLASSES),
        "training": Training(
            epochs=6, batch=8, learning_rate=0.05, loss="cross entropy", record=[0, 2, 4]
        ),
        "progress": False,
    },
    "diffusion": {
        "networks": vector_model(),
        "data": (CLOUD, CLOUD),
        "training": Training.published("diffusion", steps=130, batch=8, record=[0, 50]),
        "read": Sampling({"far": Prompt(conditions=CLOUD[:3])}, steps=2, keep=True),
        "progress": False,
    },
}
LOGS = {"csv": CSVLog, "jsonl": JSONLines}


def table(path):
    """Return a log without its seconds."""
    if path.suffix == ".csv":
        frame = pd.read_csv(path)
    else:
        frame = pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])
    return frame.drop(columns="seconds")


def record(step, run=0, training="abcdefgh", **scores):
    return StepRecord(
        training=training, run=run, step=step, loss=1.0 / (step + 1), seconds=0.1, scores=scores
    )


@pytest.mark.parametrize("ending", LOGS)
def test_a_log_is_the_curve_of_every_run(ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    runs = train(**DENSE, follow=LOGS[ending](path))
    logged = table(path)
    assert logged.columns.tolist() == ["training", "run", "step", "loss", "test_loss"]
    for run in (0, 1):
        rows = logged[logged.run == run]
        assert rows.step.tolist() == runs.steps.tolist() == [0, 5, 10]
        np.testing.assert_allclose(rows.loss, runs.training_loss[run], rtol=1e-12)
        np.testing.assert_allclose(rows.test_loss, runs.test_loss[run], rtol=1e-12)


@pytest.mark.parametrize("ending", LOGS)
def test_every_line_is_on_its_way_when_training_goes_on(ending, tmp_path):
    path, counts = tmp_path / f"run.{ending}", []
    head = ending == "csv"

    def count(_):
        counts.append(len(path.read_text().splitlines()) - head)

    train(**DENSE, follow=[LOGS[ending](path), count])
    assert counts == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("ending", LOGS)
def test_a_training_that_is_repeated_writes_its_log_anew(ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    log = LOGS[ending](path)
    train(**DENSE, follow=log)
    first = table(path)
    train(**DENSE, follow=log)
    order = ["run", "step"]
    pd.testing.assert_frame_equal(
        table(path).sort_values(order, ignore_index=True),
        first.sort_values(order, ignore_index=True),
    )
    # Also one that is shorter.
    train(**DENSE | {"training": replace(DENSE["training"], steps=5)}, follow=log)
    assert sorted(table(path).step) == [0, 0, 5, 5]


class Broken(Exception):
    """An interruption."""


@pytest.mark.parametrize("name", LONG)
def test_a_resumed_run_goes_on_in_its_log_without_repeated_steps(name, tmp_path, monkeypatch):
    module = import_module(f"partwhole.training.{name}.train")
    whole, paths = (
        {ending: tmp_path / f"{log}.{ending}" for ending in LOGS} for log in ("whole", "run")
    )
    file = tmp_path / "run.npz"

    def logs(places):
        return [LOGS[ending](path) for ending, path in places.items()]

    train(**LONG[name], follow=logs(whole))
    stop = {"images": 9, "diffusion": 50}[name]
    saved = []
    save = module.save_checkpoint

    def save_once(*given):  # so that the log has steps that come again
        if not saved:
            save(*given)
        saved.append(given)

    monkeypatch.setattr(module, "save_checkpoint", save_once)
    monkeypatch.setattr(module, "SAVED_EVERY", 0.0)

    def interrupt(taken):
        if taken.step == stop:
            raise Broken

    with pytest.raises(Broken):
        train(**LONG[name], checkpoint=file, follow=[*logs(paths), interrupt])
    # A process that is killed may leave half a line.
    halves = {"jsonl": '{"training": "a', "csv": "abcdefgh,0,3"}
    for ending, path in paths.items():
        assert table(path).step.max() == stop
        with path.open("a") as half:
            half.write(halves[ending])
    monkeypatch.setattr(module, "save_checkpoint", save)
    runs = train(**LONG[name], checkpoint=file, resume=True, follow=logs(paths))
    for ending, path in paths.items():
        assert runs.end_steps[0] == table(whole[ending]).step.max()
        pd.testing.assert_frame_equal(table(path), table(whole[ending]))


@pytest.mark.parametrize("name", LONG)
def test_an_error_of_a_follower_leaves_a_whole_checkpoint(name, tmp_path, monkeypatch):
    module = import_module(f"partwhole.training.{name}.train")
    monkeypatch.setattr(module, "SAVED_EVERY", 0.0)
    file, stop = tmp_path / "run.npz", {"images": 12, "diffusion": 100}[name]

    def interrupt(taken):
        if taken.step == stop:
            raise Broken

    with pytest.raises(Broken):
        train(**LONG[name], checkpoint=file, follow=interrupt)
    steps, seconds = [], []
    runs = train(
        **LONG[name],
        checkpoint=file,
        follow=lambda r: (steps.append(r.step), seconds.append(r.seconds)),
    )
    assert steps[0] == stop  # it was interrupted before the checkpoint of this step
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    alone = train(**LONG[name])
    weights = (jax.tree.leaves(trained.networks) for trained in (runs, alone))
    for resumed, whole in zip(*weights, strict=True):
        if hasattr(resumed, "dtype"):
            np.testing.assert_array_equal(resumed, whole)


@pytest.mark.parametrize("name", LONG)
def test_seconds_go_on_with_a_checkpoint(name, tmp_path, monkeypatch):
    file, options = tmp_path / "run.npz", dict(LONG[name])
    train(**options, checkpoint=file)
    state = dict(np.load(file, allow_pickle=False))
    described = json.loads(str(state["told"]))
    assert described["seconds"] > 0
    state["told"] = np.array(json.dumps(described | {"seconds": 1000.0}))
    np.savez(file, **state)
    longer = {"steps": 140} if name == "diffusion" else {"epochs": 7}
    options["training"] = replace(options["training"], **longer)
    runs = train(**options, checkpoint=file)
    assert 1000.0 < runs.seconds < 1300.0
    # Checkpoints of earlier versions know of no seconds.
    described.pop("seconds")
    state["told"] = np.array(json.dumps(described))
    np.savez(file, **state)
    assert train(**options, checkpoint=file).seconds < 300.0


def test_resume_says_whether_a_checkpoint_is_needed(tmp_path):
    options, file = LONG["images"], tmp_path / "run.npz"
    firsts = []

    def first_step(resume):
        steps = []
        train(**options, checkpoint=file, resume=resume, follow=lambda r: steps.append(r.step))
        firsts.append(steps[0])

    with pytest.raises(InputError) as caught:
        first_step(True)
    assert str(caught.value) == (
        f"with resume=True a training resumes from a checkpoint that exists; got {file}, which "
        "does not; correct its name, or leave resume out to begin where there is none"
    )
    for resume in (None, True, None, False):
        first_step(resume)
    assert firsts == [0, 18, 18, 0]
    # What can't be trained leaves the checkpoint of another run as it is.
    content = file.read_bytes()
    with pytest.raises(InputError, match="pixels"):
        train(**options | {"data": (255 * IMAGES, CLASSES)}, checkpoint=file, resume=False)
    assert file.read_bytes() == content
    with pytest.raises(InputError) as caught:
        train(**options, resume=False)
    assert str(caught.value) == (
        "resume is of a training with a checkpoint; got resume=False without one; name its file, "
        "checkpoint='run.npz' say, or leave resume out"
    )


def test_a_score_that_comes_later_adds_its_column(tmp_path):
    path = tmp_path / "run.csv"
    log = CSVLog(path)
    for step in range(4):
        log(record(step, **({"test_loss": 0.5} if step > 1 else {})))
    log.close()
    logged = table(path)
    assert logged.step.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(logged.test_loss, [np.nan, np.nan, 0.5, 0.5])


@pytest.mark.parametrize("ending", LOGS)
def test_a_run_that_starts_again_leaves_the_others_as_they_are(ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    log = LOGS[ending](path)
    for step in (0, 1, 2):
        for run in (0, 1):
            log(record(step, run))
    log(record(1, 0, test_loss=np.nan))
    log.close()
    logged = table(path)
    steps = {run: rows.step.tolist() for run, rows in logged.groupby("run")}
    assert steps == {0: [0, 1], 1: [0, 1, 2]}
    assert logged.test_loss.isna().all()


def test_restarts_leave_the_last_attempt_in_the_log(tmp_path):
    path = tmp_path / "run.csv"
    training = Training(steps=40, learning_rate=30.0, record=10, restarts=3)
    runs = train(**DENSE | {"training": training}, follow=CSVLog(path))
    assert (runs.learning_rates < 30.0).all()
    logged = table(path)
    for run in (0, 1):
        rows = logged[logged.run == run]
        assert rows.step.tolist() == [0, 10, 20, 30, 40]
        np.testing.assert_allclose(rows.loss, runs.training_loss[run], rtol=1e-12)


@pytest.mark.parametrize("ending", LOGS)
def test_the_log_of_another_training_is_refused_before_a_step(ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    log = LOGS[ending](path)
    train(**DENSE, follow=log)
    content, seen = path.read_bytes(), []
    with pytest.raises(InputError) as caught:
        train(**DENSE | {"training": replace(DENSE["training"], seed=1)}, follow=[seen.append, log])
    assert str(caught.value) == (
        "a log is of one training: of its settings, initial networks, samples and seeds; got "
        f"{path} of another one; remove it, or name another file"
    )
    assert seen == []
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "text", ["a,b\n1,2\n", "[1, 2]\n", '"a"\n', "\0\n", "run,step\n1,x\n", "x"]
)
@pytest.mark.parametrize("ending", LOGS)
def test_a_file_that_is_no_log_is_refused(text, ending, tmp_path):
    path = tmp_path / f"run.{ending}"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        train(**DENSE, follow=LOGS[ending](path))
    kind = {"csv": "comma-separated values", "jsonl": "JSON Lines"}[ending]
    assert str(caught.value) == (
        f"a log is a file of {kind} that training wrote; got {path}, which is not; remove it, or "
        "name another file"
    )
    assert path.read_text() == text


@pytest.mark.parametrize("kind", LOGS.values())
def test_a_log_that_cannot_be_written_is_refused(kind, tmp_path, monkeypatch):
    cases = [
        (
            tmp_path / "no" / "run.csv",
            f"a log is a file in a folder that exists; got {tmp_path / 'no' / 'run.csv'}; make the "
            "folder first",
        ),
        (
            tmp_path,
            f"a log is a file in a folder that exists; got the folder {tmp_path}; add a name",
        ),
    ]
    for path, sentence in cases:
        with pytest.raises(InputError) as caught:
            kind(path)
        assert str(caught.value) == sentence
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(InputError) as caught:
        kind(tmp_path / "run.csv")
    assert str(caught.value) == (
        f"a log is a file that may be written to; got {tmp_path / 'run.csv'}, which may not; name "
        "a file in another folder"
    )


def test_tensorboard_that_is_not_installed_is_said_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("partwhole.training.logs.find_spec", lambda name: None)
    with pytest.raises(InputError) as caught:
        train(**DENSE, follow=TensorBoard(tmp_path / "events"))
    assert str(caught.value) == (
        "TensorBoard needs the package tensorboard; got an installation without it; install it: "
        "pip install tensorboard, or pass CSVLog or JSONLines"
    )
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_shows_the_curves_of_every_run(tmp_path, monkeypatch):
    tensorboard_stand_in.install(monkeypatch)
    board, marks = TensorBoard(tmp_path / "new" / "events"), set()
    for _ in range(2):  # a training that is repeated is shown once
        runs = train(**DENSE, follow=[board, lambda r: marks.add(r.training)])
        (mark,) = marks
        for run in (0, 1):
            tags = tensorboard_stand_in.shown(
                str(tmp_path / "new" / "events" / mark / f"run_{run}")
            )
            assert tags.keys() == {"loss", "test_loss"}
            assert tags["loss"] == list(
                zip([0, 5, 10], runs.training_loss[run].tolist(), strict=True)
            )
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(InputError, match=r"^events are written to a folder that may be written"):
        train(**DENSE, follow=board)


def test_tensorboard_shows_samples(tmp_path, monkeypatch):
    """Records of diffusion models of images hold them: three, of 4 x 4 pixels."""
    tensorboard_stand_in.install(monkeypatch)
    board, samples = TensorBoard(tmp_path), {"far": RNG.uniform(size=(3, 4, 4, 1))}
    for step in (0, 3):
        board(replace(record(step), samples=samples))
    (folder,) = tensorboard_stand_in.FILES
    pictures = tensorboard_stand_in.shown(folder)["samples/far"]
    assert [step for step, _ in pictures] == [0, 3]
    image = pictures[0][1].image
    assert image.encoded_image_string.startswith(b"\x89PNG")
    # Three samples of 4 pixels and two gaps, each pixel of four.
    assert (image.height, image.width) == (16, 56)
