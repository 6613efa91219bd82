"""Checkpoints: everything a run needs to resume, bit by bit."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from partwhole._checks import InputError, require
from partwhole._device import on_device
from partwhole._reading import UnreadableError, read_npz
from partwhole._writing import npz, write_all

FORMAT = 2
ANEW = "remove it to begin anew, or name another file"


def checked_checkpoint(checkpoint: Path | str | None, restarts: int, networks: int) -> Path | None:
    """Return the file of a checkpoint, of one network without restarts, which can be written."""
    if checkpoint is None:
        return None
    require(
        restarts == 0,
        "a checkpoint is that of a training without restarts",
        f"{restarts} restarts",
        "leave one of them out",
    )
    require(
        networks == 1,
        "a checkpoint is that of one network",
        f"{networks} networks",
        "train them in several calls, with a file for each",
    )
    require(
        Path(checkpoint).parent.is_dir(),
        "a checkpoint is written in a folder that is there",
        f"{checkpoint}",
        "make the folder first",
    )
    place = Path(checkpoint)
    denied = f"{place.parent}, which may not be written to"
    require(
        not place.is_dir() and os.access(place.parent, os.W_OK),
        "a checkpoint is a file in a folder that may be written to",
        f"the folder {place}" if place.is_dir() else denied,
        f"add a name, {place / 'run.npz'} say" if place.is_dir() else "name another folder",
    )
    return place


def require_resumable(checkpoint: Path | None, resume: bool | None) -> None:
    """Require a checkpoint from which a run can resume as it was asked to."""
    require(
        resume is None or checkpoint is not None,
        "resume is of a training with a checkpoint",
        f"resume={resume} without one",
        "name its file, checkpoint='run.npz' say, or leave resume out",
    )
    require(
        resume is not True or (checkpoint is not None and checkpoint.exists()),
        "with resume=True a training resumes from a checkpoint that exists",
        f"{checkpoint}, which does not",
        "correct its name, or leave resume out to begin where there is none",
    )


def fingerprint(description: dict[str, Any], arrays: PyTree) -> str:
    """Return 16 hexadecimal digits that identify a configuration and its initial arrays."""
    marks = [
        (str(leaf.dtype), leaf.shape, zlib.crc32(leaf.tobytes()))
        for leaf in (np.asarray(leaf) for leaf in jax.tree.leaves(arrays))
    ]
    content = json.dumps([description, marks], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def save_checkpoint(path: Path, state: PyTree, description: dict[str, Any]) -> None:
    """Write a state and its description; the file is complete or absent."""
    leaves = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    write_all(
        {path: npz({"told": np.array(json.dumps(description | {"format": FORMAT})), **leaves})}
    )


def load_checkpoint(
    path: Path, like: Callable[[dict[str, Any]], PyTree], mark: str
) -> tuple[PyTree, dict[str, Any]]:
    """Read a state and its description, to which `like` gives a state of the same shapes.

    Raises
    ------
    InputError
        For a file that is damaged, or of another configuration.
    """
    try:
        arrays = read_npz(path)
        description = json.loads(str(arrays.pop("told")))
    except (ValueError, KeyError, RecursionError) as error:
        problem = error if isinstance(error, UnreadableError) else "one without its head"
        raise InputError(
            f"a checkpoint is a whole file that training wrote; got {path}, {problem}; {ANEW}"
        ) from error
    require(
        isinstance(description, dict) and description.get("format") == FORMAT,
        "a checkpoint is a whole file that training wrote",
        f"{path} of another kind",
        ANEW,
    )
    rule = "a run resumes from a checkpoint of the same network, settings, seed and samples"
    require(description.get("mark") == mark, rule, f"{path} of another run", ANEW)
    leaves, shape = jax.tree.flatten(like(description))
    names = [f"leaf_{i}" for i in range(len(leaves))]
    require(
        set(arrays) == set(names)
        and all(
            (arrays[name].shape, arrays[name].dtype) == (leaf.shape, leaf.dtype)
            for name, leaf in zip(names, leaves, strict=True)
        ),
        rule,
        f"{path} of another run",
        ANEW,
    )
    return jax.tree.unflatten(shape, [on_device(arrays[name]) for name in names]), description


def require_continuation(
    path: Path, unit: str, taken: int, whole: int, recorded: Sequence[int], due: Sequence[int]
) -> None:
    """Require that a run can go on from a checkpoint to its last step, or epoch.

    Parameters
    ----------
    path : Path
    unit : str
        Of all numbers: "steps" or "epochs".
    taken, whole : int
        Those of the checkpoint that have begun, and that are complete.
    recorded, due : sequences of int
        What the checkpoint has recorded, and what the run records, its last one too. The end of the
        checkpoint's run, which is always recorded, need not be among them.
    """
    require(
        taken <= due[-1],
        f"a run goes on to as many {unit} as its checkpoint has, or more",
        f"{taken} in {path} for {due[-1]}",
        f"train for more {unit}, or name another file",
    )
    past = [stop for stop in due if stop <= whole]
    ended = list(recorded[:-1]) if recorded and recorded[-1] == whole else None
    require(
        past in (list(recorded), ended),
        f"a run that goes on records the {unit} that its checkpoint has recorded",
        f"{list(recorded)} in {path} for {past}",
        f"pass these to record, and any after {whole}, or name another file",
    )


def require_optimiser(path: Path, saved: str, current: str) -> None:
    """Require that the optimiser takes the steps that a checkpoint's did."""
    require(
        saved == current,
        "a run goes on by an optimiser that takes the same steps, which a schedule of the learning "
        "rate over the length of the run doesn't once the length is another",
        f"{path} by another transformation of optax",
        "pass the same one, whose schedule doesn't depend on the number of steps, or name another "
        "file",
    )
