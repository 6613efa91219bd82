"""The folder of a cell while it is computed: a killed cell goes on where it stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import cluster_study
import numpy as np
import pytest

from partwhole import store
from partwhole._checks import InputError
from partwhole._workers import WorkerLostError
from partwhole.cli import main
from partwhole.study import run
from partwhole.study.execution import spawned
from partwhole.study.parts import kept_part
from partwhole.study.source import fingerprint
from partwhole.training.images import train as image_training
from partwhole_studies.diffusion import concept_diffusion, concept_models
from partwhole_studies.reuse import class_finetuning

KILL_AT = """
import os, signal, sys
from pathlib import Path
from partwhole.training.images import train
from partwhole.training import checkpoints
from partwhole_studies.reuse import class_finetuning as study

train.SAVED_EVERY = 0.0
saved, save = [], train.save_checkpoint
def save_and_die(path, state, description):
    save(path, state, description)
    saved.append(description["losses"])
    if len(list(path.parent.glob("*.part.npz"))) == 2 and len(description["losses"]) >= 3:
        os.kill(os.getpid(), signal.SIGKILL)
train.save_checkpoint = save_and_die
study.cell({config}, Path(sys.argv[1]))
"""
SMALL = class_finetuning.PRESETS["quick"][0] | {
    "training": class_finetuning.ADAM | {"epochs": 5},
    "fewer": {"pretraining": 1},
    "rescalings": [0.5],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    monkeypatch.setenv("PARTWHOLE_DATA", str(tmp_path / "notes"))
    monkeypatch.setattr(
        cluster_study, "PRESETS", {"quick": [{"throws": 1, "seed": 0, "wait": 0.0}]}
    )
    return tmp_path


def test_a_training_that_is_killed_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    code = KILL_AT.replace("{config}", repr(SMALL))
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, timeout=120).returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.part.npz"))) == 2
    assert (tmp_path / "run.npz").exists()
    resumed, trained = [], []
    load, once = image_training.load_checkpoint, class_finetuning.train_transfer
    monkeypatch.setattr(
        image_training,
        "load_checkpoint",
        lambda *given: resumed.append(load(*given)) or resumed[-1],
    )
    monkeypatch.setattr(
        class_finetuning,
        "train_transfer",
        lambda *given, **options: trained.append(options["mode"]) or once(*given, **options),
    )
    again = class_finetuning.cell(SMALL, tmp_path)
    assert [len(description["losses"]) >= 3 for _, description in resumed] == [True]
    # Pretraining and the single task are not trained again.
    assert trained == ["finetuning"]
    whole = class_finetuning.cell(SMALL)
    for name, array in whole.items():
        np.testing.assert_array_equal(again[name], array)


def test_a_cell_has_a_folder_until_its_result_is_stored(folder, monkeypatch):
    root = folder / "store"
    configs = cluster_study.PRESETS["quick"]
    configs[0] |= {"fault": "error", "progress": True}
    with pytest.raises(ZeroDivisionError):
        run(cluster_study, store=root, progress=False)
    (left,) = store.scratch_folders(root)
    digest = store.digest("cluster_study", configs[0], source=fingerprint(cluster_study))
    assert left.folder == root / "cluster_study" / f"{digest}.scratch"
    assert len(list(left.folder.iterdir())) == 1
    assert store.stored_cells(root) == []
    # Another run leaves it, and finds it.
    store.sweep("cluster_study", root)
    monkeypatch.setattr(cluster_study, "cell", lambda config, scratch: {"share": count(scratch)})
    digest = store.digest("cluster_study", configs[0], source=fingerprint(cluster_study))
    left.folder.rename(left.folder.with_name(f"{digest}.scratch"))
    assert run(cluster_study, store=root, progress=False).data.share.item() == 1
    assert store.scratch_folders(root) == []


def count(scratch: Path) -> np.ndarray:
    return np.asarray(len(list(scratch.iterdir())))


def test_a_process_that_dies_leaves_its_folder_to_the_next_attempt(folder):
    configs = cluster_study.PRESETS["quick"]
    configs[0] |= {"fault": "slow death", "steps": 2}
    with spawned(1) as workers:
        result = run(cluster_study, store=folder / "a", executor=workers, progress=False)
        assert result.computed == 1
        assert len(cluster_study.notes(folder / "notes", "begin")) == 2
        assert store.scratch_folders(folder / "a") == []
        configs[0]["steps"] = 4
        with pytest.raises(WorkerLostError):
            run(cluster_study, store=folder / "b", executor=workers, progress=False)
        (left,) = store.scratch_folders(folder / "b")
        assert sorted(path.name for path in left.folder.iterdir()) == ["0", "1"]
        run(cluster_study, store=folder / "b", executor=workers, progress=False)
    assert len(cluster_study.notes(folder / "notes", "begin")) == 2 + 2 + 2


def test_the_store_lists_and_clears_unfinished_cells(folder, capsys):
    root = folder / "store"
    unfinished = root / "cluster_study" / f"{7:020x}.scratch"
    unfinished.mkdir(parents=True)
    (unfinished / "run.npz").write_bytes(bytes(2_000_000))
    store.cell("cluster_study", {}, lambda: {"y": 1.0}, source="1", root=root)
    main(["store", "--store", str(root)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "cluster_study: 1 cell not finished, 2.0 MB of checkpoints"
    assert lines[2] == f"1 cell in {root}"
    # Of a cell that is stored none stays.
    (cell,) = store.stored_cells(root)
    cell.folder.with_name(f"{cell.folder.name}.scratch").mkdir()
    store.sweep("cluster_study", root)
    assert [each.folder for each in store.scratch_folders(root)] == [unfinished]
    (root / "cluster_study" / "journal.jsonl").touch()
    assert store.clear(root) == 1
    assert list(root.iterdir()) == []


def test_a_part_is_computed_once_unless_it_is_damaged(tmp_path):
    calls = []

    def compute():
        calls.append(1)
        return {"y": np.arange(3.0), "n": 4}

    for scratch, expected in ((None, 1), (None, 2), (tmp_path, 3), (tmp_path, 3)):
        part = kept_part(scratch, "a, 1", compute)
        assert (part["y"].tolist(), part["n"]) == ([0, 1, 2], 4)
        assert len(calls) == expected
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    assert kept_part(tmp_path, "a, 1", compute)["n"] == 4
    assert len(calls) == 4
    with pytest.raises(InputError, match="a part is named as a file; got 'a/b'; leave out the sl"):
        kept_part(tmp_path, "a/b", compute)


def test_trainings_of_diffusion_have_a_checkpoint_in_the_folder(tmp_path, monkeypatch):
    seen = []

    def stop(*given, **options):
        seen.append(options["checkpoint"])
        raise KeyboardInterrupt

    monkeypatch.setattr(concept_models, "train_network", stop)
    config = concept_diffusion.PRESETS["quick"][0]
    for scratch in (tmp_path, None):
        with pytest.raises(KeyboardInterrupt):
            concept_diffusion.cell(config, scratch)
    assert seen == [tmp_path / "run.npz", None]
