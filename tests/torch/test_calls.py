"""Public functions as users call them: awkward arguments are answered right, or in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rooms
import torch_calls

pytestmark = pytest.mark.torch
ANOTHER = {
    ("dataset", "labels", "booleans"): "labels may be",
    ("dataset", "labels", "halves"): "labels may be",
    **{
        ("tangent_kernel", argument, kind): "the error is the model's"
        for argument in ("inputs", "other")
        for kind in ("booleans", "narrow")
    },
}


def test_every_outcome_is_right_or_one_sentence():
    done = subprocess.run(
        [sys.executable, Path(torch_calls.__file__)], capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    table = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name for name, *_ in table} == {*torch_calls.calls()}
    others = {tuple(row[:3]) for row in table if row[3] not in ("right", "refused")}
    assert others == set(ANOTHER)


def test_every_public_function_has_a_good_call_and_a_door():
    offered = rooms.offered("torch")
    assert set(offered) == {*torch_calls.calls()}
    assert all(map(rooms.has_door, offered.values()))
