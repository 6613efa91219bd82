"""The frame: cells are computed once and anywhere, and results do not depend on where."""

from __future__ import annotations

import json
import os
import types
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from io import BytesIO

import numpy as np
import pytest
import tiny_study
import xarray as xr

import partwhole_studies
from partwhole import __version__
from partwhole import study as frame
from partwhole._checks import InputError
from partwhole._workers import WorkerLostError
from partwhole.study import declaration, registry
from partwhole.study import execution as running
from partwhole.study import figure as figures
from partwhole.study.figure import save_figure
from partwhole.study.registry import declarations
from partwhole.tasks.images._files import VARIABLE


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return frame.run(tiny_study, store=tmp_path_factory.mktemp("store"), progress=False)


def variant(**changes) -> types.ModuleType:
    """Return the tiny study under another name, with some of it changed."""
    module = types.ModuleType("changed_study", tiny_study.__doc__)
    shared = {name: value for name, value in vars(tiny_study).items() if name[:2] != "__"}
    vars(module).update({**shared, **changes, "DECLARATION": declaration.declared(tiny_study)})
    return module


def test_a_run_computes_then_reads(tmp_path):
    first = frame.run(tiny_study, store=tmp_path, progress=False)
    again = frame.run(tiny_study, store=tmp_path, progress=False)
    assert (first.computed, first.read) == (12, 0)
    assert (again.computed, again.read) == (0, 12)
    xr.testing.assert_identical(first.data, again.data)


def test_a_larger_preset_reuses_the_cells_it_shares(tmp_path, monkeypatch):
    laptop = [config for config in tiny_study.PRESETS["laptop"] if config["seed"] < 9]
    monkeypatch.setitem(tiny_study.PRESETS, "laptop", laptop)
    frame.run(tiny_study, store=tmp_path, progress=False)
    larger = frame.run(tiny_study, "laptop", store=tmp_path, progress=False)
    assert (larger.computed, larger.read) == (6, 12)


def test_the_result_is_the_same_whatever_runs_the_cells(tmp_path, result):
    with ThreadPoolExecutor(3) as threads:
        threaded = frame.run(tiny_study, executor=threads, store=tmp_path / "a", progress=False)
    with running.spawned(2) as processes:
        spawned = frame.run(tiny_study, executor=processes, store=tmp_path / "b", progress=False)
    assert spawned.computed == 12
    xr.testing.assert_identical(threaded.data, result.data)
    xr.testing.assert_identical(spawned.data, result.data)


def test_the_data_say_what_made_them(result):
    assert result.data.attrs["study"] == "tiny_study"
    assert result.data.attrs["configuration"] == running.configuration_hash(tiny_study, "quick")
    assert result.data.attrs["version"] == __version__
    assert result.data.attrs["seeds"] == "0-5"
    assert result.data.attrs["preset"] == "quick"


def test_a_figure_names_the_versions_that_computed_its_cells(tmp_path):
    frame.run(tiny_study, store=tmp_path, progress=False)
    for number, path in enumerate(sorted(tmp_path.rglob("cell.json"))):
        meta = json.loads(path.read_text()) | {"version": f"0.0.{number % 2}", "commit": "abc"}
        path.write_text(json.dumps(meta))
    again = frame.run(tiny_study, store=tmp_path, progress=False)
    assert again.read == 12
    assert again.data.attrs["version"] == "0.0.0, 0.0.1"
    assert again.data.attrs["commit"] == "abc"
    assert again.data.attrs["gathered"] == __version__
    assert "version: 0.0.0, 0.0.1; commit: abc;" in figures.render(again).decode()
    assert f"partwhole 0.0.0, 0.0.1, drawn by {__version__} · tiny" in figures._footer(again)
    assert running._listed(str(number) for number in range(9)) == "0 and 8 others"


def test_seeds_may_come_as_lists():
    configs = [{"throws": 1, "seed": 9}, {"throws": 2, "seeds": [0, 1, 2]}]
    found = running._attributes(variant(PRESETS={"quick": configs}), "quick", configs, [])
    assert found["seeds"] == "0-2, 9"


def test_the_configuration_hash_tells_presets_and_sources_apart():
    hashes = {
        running.configuration_hash(tiny_study, "quick"),
        running.configuration_hash(tiny_study, "laptop"),
        running.configuration_hash(variant(), "quick"),
    }
    assert len(hashes) == 3


def test_a_claim_for_each_row_of_the_frame(result):
    frame = result.to_frame()
    assert list(frame["verdict"]) == [claim.verdict for claim in result.claims]
    assert frame["value"][0] == pytest.approx(float(result.data["share"].isel(throws=-1).mean()))
    assert np.isnan(frame["low"][2])


@pytest.mark.parametrize("format", ["svg", "pdf", "png"])
def test_a_figure_carries_its_origin_and_has_its_data_beside_it(tmp_path, result, format):
    path = save_figure(result, tmp_path / "new", format)
    assert path == tmp_path / "new" / f"tiny_study.{format}"
    assert result.data.attrs["configuration"].encode() in _description(path)
    with xr.open_dataset(path.with_name("tiny_study.nc"), engine="scipy") as data:
        xr.testing.assert_equal(data, result.data)
        assert data.attrs["configuration"] == result.data.attrs["configuration"]


def _description(path) -> bytes:
    if path.suffix == ".png":
        from PIL import Image

        with Image.open(path) as image:
            return str(image.info["Description"]).encode()
    return path.read_bytes()


def test_the_same_result_gives_the_same_bytes(result):
    assert figures.render(result, "svg") == figures.render(result, "svg")
    assert figures.render(result, "pdf") == figures.render(result, "pdf")


def test_nothing_of_a_figure_is_cut_off(result):
    from PIL import Image

    with Image.open(BytesIO(figures.render(result, "png"))) as image:
        ink = np.asarray(image.convert("L")) < 250
        inch = image.info["dpi"][0]
    for along in (0, 1):
        (at,) = np.nonzero(ink.any(axis=along))
        margins = np.array([at[0], ink.shape[1 - along] - 1 - at[-1]]) / inch
        # A tenth of an inch, to half of it, as letters differ in size between resolutions.
        assert np.all((margins > 0.05) & (margins < 0.15)), margins


def test_errors_of_the_frame(tmp_path, result):
    with pytest.raises(InputError) as caught:
        frame.run(tiny_study, "huge", store=tmp_path)
    assert str(caught.value) == (
        "a preset of tiny_study is one of its own; got 'huge'; choose from quick, laptop"
    )
    with pytest.raises(InputError, match="a study's name is one that `partwhole list` shows; got"):
        frame.run("no_such", store=tmp_path)
    with pytest.raises(InputError, match="workers is a whole number of at least 1; got 0"):
        running.spawned(0)
    with pytest.raises(InputError, match=r'format is "svg", "pdf" or "png"; got .gif.'):
        figures.render(result, "gif")


def test_a_module_that_is_no_study_is_named_with_what_it_lacks(tmp_path):
    import store_worker

    with pytest.raises(InputError, match=r"store_worker without PRESETS, .*figure; add"):
        frame.run(store_worker, store=tmp_path)


def test_the_registered_studies_are_whole():
    for name in registry.registered():
        assert running.configurations(registry.find(name), "quick")
    assert all(its.question.endswith("?") for its in declarations().values())
    assert len(set(partwhole_studies.STUDIES)) == len(partwhole_studies.STUDIES)


def test_an_executor_whose_processes_end_is_said_in_a_sentence(tmp_path):
    """Of the standard library, which then raises its own error for every cell that waits."""

    class Broken(ThreadPoolExecutor):
        def submit(self, work, *given, **named):
            future = super().submit(work, *given, **named)
            future.result()
            if len(list(tmp_path.rglob("*.npz"))) >= 3:
                future = Future()
                future.set_exception(BrokenProcessPool("terminated abruptly"))
            return future

    with Broken(1) as executor, pytest.raises(WorkerLostError) as caught:
        frame.run(tiny_study, executor=executor, store=tmp_path, progress=False)
    sentence = str(caught.value)
    rule = "processes of an executor last until the cells are computed; got BrokenProcessPool while"
    assert sentence.startswith(rule)
    assert sentence.endswith(
        "run it again with fewer workers, as cells that are whole are kept, or by "
        "spawned(workers), which replaces a process that ends"
    )
    assert frame.run(tiny_study, store=tmp_path, progress=False).read >= 3


def test_a_folder_of_data_that_is_named_later_reaches_processes(tmp_path, monkeypatch):
    """Named after they were started, and relative to the folder of this process."""
    monkeypatch.delenv(VARIABLE, raising=False)
    (tmp_path / "data").mkdir()
    with running.spawned(1) as processes:
        assert processes.submit(os.getenv, VARIABLE).result() is None
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(VARIABLE, "data")
        frame.run(tiny_study, executor=processes, store=tmp_path / "store", progress=False)
        named = processes.submit(os.getenv, VARIABLE).result()
        assert named == str(tmp_path / "data")
        # One that is not there leaves what the process has: it may run on another machine.
        monkeypatch.setenv(VARIABLE, "nowhere")
        frame.run(tiny_study, executor=processes, store=tmp_path / "again", progress=False)
        assert processes.submit(os.getenv, VARIABLE).result() == named
