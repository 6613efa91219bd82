"""Another process: the marks of its trainings, its devices, and its checkpoints once it is killed.

It is started once for all tests, as importing the library takes longer than what it does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import other_process
import pytest

from partwhole.training import train

PATIENCE = 120.0  # seconds


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return what the process said, and its checkpoints in less than a second after their first."""
    folder = tmp_path_factory.mktemp("killed")
    files = {name: folder / f"{name}.npz" for name in other_process.STEPS}
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": "7",
        "XLA_FLAGS": os.environ["XLA_FLAGS"] + " --xla_force_host_platform_device_count=2",
    }
    command = [sys.executable, other_process.__file__, *map(str, files.values())]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as running:
        said = json.loads(running.stdout.readline() or "{}")
        give_up = time.monotonic() + PATIENCE
        while (
            not all(file.exists() for file in files.values())
            and running.poll() is None
            and time.monotonic() < give_up
        ):
            time.sleep(0.01)
        # Beyond the first epoch, and at any moment of a step.
        time.sleep(0.3 + 0.5 * np.random.default_rng().random())
        running.send_signal(signal.SIGKILL)
    assert running.returncode == -signal.SIGKILL, "the process had ended before it was killed"
    return SimpleNamespace(files=files, **said)


def test_marks_of_trainings_are_the_same(killed):
    assert killed.marks == other_process.marks()


@pytest.mark.parametrize("name", other_process.STEPS)
def test_runs_on_two_devices_are_those_on_one(name, killed):
    assert len(killed.devices) == 2
    assert killed.used[name] == sorted(killed.devices)
    single, used = other_process.on_devices(name)
    assert used == ["None"]
    with np.load(other_process.spread(killed.files[name])) as file:
        spread = list(file.values())
    assert len(spread) > 10
    for numbers, expected in zip(spread, single, strict=True):
        np.testing.assert_array_equal(numbers, expected)


@pytest.mark.parametrize("name", other_process.STEPS)
def test_a_killed_process_resumes_bit_by_bit(name, killed):
    arguments, file = other_process.of_one_network(name), killed.files[name]
    whole = train(**arguments, progress=False)
    resumed = train(**arguments, checkpoint=file, resume=True, progress=False)
    pairs = zip(other_process.numbers(resumed), other_process.numbers(whole), strict=True)
    for numbers, expected in pairs:
        np.testing.assert_array_equal(numbers, expected)
