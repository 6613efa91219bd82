"""Cells are whole or absent: under SIGKILL, under contention, and when files are damaged."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import store_worker
from hypothesis import given
from hypothesis import strategies as st

from partwhole import __version__, store
from partwhole._checks import InputError
from partwhole.store import locks

WORKER = str(Path(store_worker.__file__))


def counting(value: float = 1.0):
    """Return a computation and the list that grows by one each time it runs."""
    calls: list[int] = []

    def compute():
        calls.append(1)
        return {"y": np.array([value, 2.0])}

    return compute, calls


def test_computes_once_and_keeps_what_it_made(tmp_path):
    made = {
        "floats": np.array([0.1, np.nan, np.inf, -0.0]),
        "flags": np.array([True, False]),
        "words": np.array(["añadir", "x"]),
        "file": np.zeros((0, 3), dtype=np.int32),
    }
    first = store.cell("s", {"a": 1}, lambda: made, source="1", root=tmp_path)
    again = store.cell("s", {"a": 1}, lambda: pytest.fail("computed"), source="1", root=tmp_path)
    for name, array in made.items():
        for found in (first[name], again[name]):
            np.testing.assert_array_equal(found, array)
            assert found.dtype == array.dtype
    assert sorted(again) == sorted(made)


@pytest.mark.parametrize(
    "other",
    [
        ("s", {"a": 2}, "1"),
        ("s", {"a": 1}, "2"),
        ("t", {"a": 1}, "1"),
        ("s", {"a": 1.0}, "1"),
        ("s", {"a": "1"}, "1"),
        ("s", {"a": True}, "1"),
        ("s", {"a": [1]}, "1"),
        ("s", {"a": 1, "b": None}, "1"),
    ],
)
def test_another_name_source_or_configuration_is_another_cell(tmp_path, other):
    compute, calls = counting()
    store.cell("s", {"a": 1}, compute, source="1", root=tmp_path)
    study, config, source = other
    store.cell(study, config, compute, source=source, root=tmp_path)
    assert len(calls) == 2


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(config=st.dictionaries(st.text(), PLAIN, max_size=4), data=st.data())
def test_the_order_of_keys_does_not_matter(config, data):
    order = data.draw(st.permutations(list(config)))
    shuffled = {key: config[key] for key in order}
    assert store.digest("s", config, source="1") == store.digest("s", shuffled, source="1")


@given(config=st.dictionaries(st.text(), PLAIN, max_size=4))
def test_the_canonical_form_is_exact_and_stable(config):
    text = store.canonical(config)
    assert json.loads(text) == config
    assert store.canonical(json.loads(text)) == text


@given(a=st.floats(allow_nan=False, allow_infinity=False), b=st.floats(0, 1))
def test_floats_share_a_key_only_when_they_are_equal(a, b):
    same = store.canonical({"x": a}) == store.canonical({"x": b})
    assert same == (a == b)
    assert store.canonical({"x": -0.0}) == store.canonical({"x": 0.0})
    assert store.canonical({"x": np.float64(b)}) == store.canonical({"x": b})


def test_tuples_are_lists(tmp_path):
    compute, calls = counting()
    store.cell("s", {"a": (1, 2)}, compute, source="1", root=tmp_path)
    store.cell("s", {"a": [1, 2]}, compute, source="1", root=tmp_path)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            {"a": [0.0, float("nan")]},
            "numbers in a configuration are finite; got nan at config['a'][1]; "
            "leave the entry out or use None",
        ),
        (
            {"a": {1: 2}},
            "keys in a configuration are strings; got 1 in config['a']; use str(key)",
        ),
        (
            {"a": np.arange(3)},
            "a configuration is plain data (None, bool, int, float, str, lists and mappings of "
            "them); got ndarray at config['a']; convert it with .item(), .tolist() or str()",
        ),
        (
            {"a": np.int64(3)},
            "a configuration is plain data (None, bool, int, float, str, lists and mappings of "
            "them); got int64 at config['a']; convert it with .item(), .tolist() or str()",
        ),
    ],
)
def test_configurations_are_plain_data(tmp_path, config, sentence):
    with pytest.raises(InputError) as caught:
        store.cell("s", config, lambda: {}, source="1", root=tmp_path)
    assert str(caught.value) == sentence


def test_names_and_arrays_are_checked(tmp_path):
    with pytest.raises(InputError, match=r"got '\.\./up'; rename the study"):
        store.cell("../up", {}, lambda: {}, source="1", root=tmp_path)
    with pytest.raises(InputError, match="got Python objects in 'y'; convert them"):
        store.cell("s", {}, lambda: {"y": np.array([{}])}, source="1", root=tmp_path)
    for other in (np.zeros(1, "M8[s]"), np.zeros(1, [("a", "i4")])):
        with pytest.raises(InputError, match=r"numbers, booleans or text; got .* in 'y'"):
            store.cell("s", {}, lambda other=other: {"y": other}, source="1", root=tmp_path)
    with pytest.raises(InputError, match=r"identifiers; got '\.\./y'; rename the array"):
        store.cell("s", {}, lambda: {"../y": np.zeros(1)}, source="1", root=tmp_path)
    assert store.stored_cells(tmp_path) == []


def test_a_computation_that_fails_leaves_nothing_behind(tmp_path):
    with pytest.raises(ZeroDivisionError):
        store.cell("s", {}, lambda: {"y": np.array(1 / 0)}, source="1", root=tmp_path)
    compute, calls = counting()
    store.cell("s", {}, compute, source="1", root=tmp_path)
    assert calls == [1]


def test_the_metadata_name_the_computation(tmp_path):
    store.cell("s", {"seed": 7, "p": 0.1}, counting()[0], source="3", root=tmp_path)
    (found,) = store.stored_cells(tmp_path)
    meta = json.loads((found.folder / "cell.json").read_text())
    assert (meta["study"], meta["source"], meta["seed"]) == ("s", "3", 7)
    assert meta["config"] == {"p": 0.1, "seed": 7}
    assert {"version", "commit", "time", "seconds", "checksum"} <= set(meta)


def truncate(folder: Path) -> None:
    path = folder / "arrays.npz"
    path.write_bytes(path.read_bytes()[:-30])


def flip(folder: Path) -> None:
    path = folder / "arrays.npz"
    payload = bytearray(path.read_bytes())
    payload[len(payload) // 2] ^= 1
    path.write_bytes(payload)


def garble(folder: Path) -> None:
    (folder / "cell.json").write_text('{"study": "s", ')


def unexpected(folder: Path) -> None:
    (folder / "cell.json").write_text("[]")


def lose_arrays(folder: Path) -> None:
    (folder / "arrays.npz").unlink()


def lose_meta(folder: Path) -> None:
    (folder / "cell.json").unlink()


def saying(**changes):
    """Return the damage of a cell that says otherwise, its checksum still that of its arrays."""

    def edit(folder: Path) -> None:
        meta = json.loads((folder / "cell.json").read_text())
        (folder / "cell.json").write_text(json.dumps(meta | changes))

    return edit


def deep(folder: Path) -> None:
    (folder / "cell.json").write_text("[" * 10**5)


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        flip,
        garble,
        unexpected,
        deep,
        lose_arrays,
        lose_meta,
        saying(study="t"),
        saying(source="2"),
        saying(source=1),
        saying(config={"a": 1.0}),
    ],
)
def test_a_damaged_cell_is_set_aside_and_computed_again(tmp_path, damage):
    store.cell("s", {"a": 1}, counting(1.0)[0], source="1", root=tmp_path)
    (home,) = (tmp_path / "s").iterdir()
    for times in (1, 2):
        damage(home)
        compute, calls = counting(5.0)
        found = store.cell("s", {"a": 1}, compute, source="1", root=tmp_path)
        np.testing.assert_array_equal(found["y"], [5.0, 2.0])
        assert calls == [1]
        assert len(list((tmp_path / "s").glob("*.damaged*"))) == times
    assert len(store.stored_cells(tmp_path)) == 1
    assert store.clear(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_cell_says_which_version_made_it(tmp_path):
    first = store.obtain("s", {"a": 1}, counting()[0], source="1", root=tmp_path)
    assert (first.version, first.commit) == (__version__, store.commit() or "none")
    assert first.computed
    (home,) = (tmp_path / "s").iterdir()
    saying(version="0.0.7", commit=None)(home)
    again = store.obtain("s", {"a": 1}, pytest.fail, source="1", root=tmp_path)
    assert (again.version, again.commit, again.computed) == ("0.0.7", "none", False)


def test_a_cell_is_held_once_it_is_whole(tmp_path):
    assert not store.holds("s", {"a": 1}, source="1", root=tmp_path)
    store.cell("s", {"a": 1}, counting()[0], source="1", root=tmp_path)
    assert store.holds("s", {"a": 1}, source="1", root=tmp_path)
    assert not store.holds("s", {"a": 1}, source="2", root=tmp_path)
    (home,) = (tmp_path / "s").iterdir()
    flip(home)
    assert not store.holds("s", {"a": 1}, source="1", root=tmp_path)


def test_what_killed_processes_left_is_swept(tmp_path):
    store.cell("s", {"a": 1}, counting()[0], source="1", root=tmp_path)
    (home,) = (tmp_path / "s").iterdir()
    for number in range(3):
        (tmp_path / "s" / f"{number:020x}.lock").touch()
        (tmp_path / "s" / f"{number:020x}.partial").mkdir()
    (tmp_path / "s" / "notes.lock").touch()
    with locks.lock(tmp_path / "s" / f"{2:020x}.lock"):
        store.sweep("s", tmp_path)
        left = {path.name for path in (tmp_path / "s").iterdir()}
    assert left == {home.name, "notes.lock", f"{2:020x}.lock", f"{2:020x}.partial"}
    store.sweep("nothing", tmp_path)


def test_listing_and_clearing_one_study(tmp_path):
    for study, number in [("a", 1), ("a", 2), ("b", 1)]:
        store.cell(study, {"n": number}, counting()[0], source="1", root=tmp_path)
    assert [each.study for each in store.stored_cells(tmp_path)] == ["a", "a", "b"]
    assert [each.config for each in store.stored_cells(tmp_path, "b")] == [{"n": 1}]
    assert store.clear(tmp_path, "a") == 2
    assert [each.study for each in store.stored_cells(tmp_path)] == ["b"]
    assert store.stored_cells(tmp_path / "nowhere") == []
    assert store.clear(tmp_path / "nowhere") == 0


def test_clearing_leaves_what_is_being_computed(tmp_path):
    inside, go = threading.Event(), threading.Event()

    def compute():
        inside.set()
        assert go.wait(20)
        return {"y": np.ones(1)}

    thread = threading.Thread(
        target=lambda: store.cell("s", {}, compute, source="1", root=tmp_path)
    )
    thread.start()
    assert inside.wait(20)
    assert store.clear(tmp_path) == 0
    go.set()
    thread.join()
    assert len(store.stored_cells(tmp_path)) == 1


def test_the_environment_moves_the_store(tmp_path, monkeypatch):
    monkeypatch.setenv("PARTWHOLE_STORE", str(tmp_path / "elsewhere"))
    store.cell("s", {}, counting()[0], source="1")
    assert len(store.stored_cells(tmp_path / "elsewhere")) == 1
    monkeypatch.delenv("PARTWHOLE_STORE")
    assert store.default_root() == Path("report", "store")


def test_threads_that_want_one_cell_compute_it_once(tmp_path):
    compute, calls = counting()
    threads = [
        threading.Thread(target=lambda: store.cell("s", {}, compute, source="1", root=tmp_path))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_two_processes_on_one_store_compute_each_cell_once(tmp_path):
    command = [sys.executable, WORKER, "contend", str(tmp_path), "60"]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(timeout=60) for process in both] == [0, 0]
    computed = [int(line) for line in (tmp_path / "computed.txt").read_text().split()]
    assert sorted(computed) == list(range(60))
    leftovers = [path for path in (tmp_path / "shared").iterdir() if "." in path.name]
    assert leftovers == []


def require_cells(numbers, root):
    for number in numbers:
        found = store.cell(
            "killed",
            {"number": number},
            lambda n=number: pytest.fail(f"cell {n} was lost"),
            source="1",
            root=root,
        )
        assert found["number"] == number


def test_twenty_kills_lose_no_finished_cell(tmp_path):
    count, rng, finished = 400, random.Random(0), set()
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, WORKER, "fill", str(tmp_path), str(count)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        killer = threading.Timer(rng.uniform(0.0, 0.25), process.kill)
        killer.start()
        told = process.stdout.read().splitlines(keepends=True)
        assert process.wait() == -signal.SIGKILL, "the worker ended before it was killed"
        killer.join()
        process.stdout.close()
        new = {int(line) for line in told if line.endswith("\n")} - finished
        require_cells(new, tmp_path)
        finished |= new
    assert finished
    require_cells(finished, tmp_path)

    done = subprocess.run(
        [sys.executable, WORKER, "fill", str(tmp_path), str(max(finished) + 5)],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert len(store.stored_cells(tmp_path)) == max(finished) + 5
    remains = {path.suffix for path in (tmp_path / "killed").iterdir()}
    assert remains <= {"", ".lock"}, "a killed process left more than unheld locks"
    assert store.clear(tmp_path) == max(finished) + 5
    assert list(tmp_path.iterdir()) == []


def test_a_failure_lets_one_of_those_who_wait_compute_at_a_time(tmp_path):
    inside, fail, second_inside, finish, third_inside = (threading.Event() for _ in range(5))

    def failing():
        inside.set()
        assert fail.wait(20)
        raise ZeroDivisionError

    def second():
        second_inside.set()
        assert finish.wait(20)
        return {"y": np.array([2.0])}

    def third():
        third_inside.set()
        return {"y": np.array([3.0])}

    found = []

    def start(compute) -> threading.Thread:
        def work():
            with contextlib.suppress(ZeroDivisionError):
                found.append(store.cell("s", {}, compute, source="1", root=tmp_path)["y"][0])

        thread = threading.Thread(target=work)
        thread.start()
        return thread

    threads = [start(failing)]
    assert inside.wait(20)
    threads.append(start(second))
    time.sleep(0.2)  # until the second waits for the lock of the first
    fail.set()
    assert second_inside.wait(20)
    threads.append(start(third))
    assert not third_inside.wait(0.3)
    finish.set()
    for thread in threads:
        thread.join()
    assert found == [2.0, 2.0]


@pytest.mark.parametrize("call", [store.stored_cells, store.clear])
def test_a_study_cannot_name_a_folder_outside_the_store(call, tmp_path):
    danger = tmp_path / "danger" / ("0" * 20)
    danger.mkdir(parents=True)
    (tmp_path / "store").mkdir()
    with pytest.raises(InputError) as caught:
        call(tmp_path / "store", "../danger")
    assert "got '../danger'" in str(caught.value)
    assert danger.exists()
