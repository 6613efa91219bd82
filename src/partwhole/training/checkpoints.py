"""Checkpoints: everything a run needs to go on where it was, bit by bit."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from partwhole._checks import InputError, require

FORMAT = 1


def fingerprint(told: dict[str, Any], arrays: PyTree) -> str:
    """Return 16 hexadecimal digits that name a configuration and the arrays it begins with."""
    marks = [
        (str(leaf.dtype), leaf.shape, zlib.crc32(leaf.tobytes()))
        for leaf in (np.asarray(each) for each in jax.tree.leaves(arrays))
    ]
    held = json.dumps([told, marks], sort_keys=True, default=str)
    return hashlib.sha256(held.encode()).hexdigest()[:16]


def save_checkpoint(path: Path, state: PyTree, told: dict[str, Any]) -> None:
    """Write a state and what is told beside it; the file is whole or not there."""
    leaves = {f"leaf_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            head = json.dumps(told | {"format": FORMAT})
            np.savez(file, allow_pickle=False, told=np.array(head), **leaves)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def load_checkpoint(path: Path, like: PyTree, mark: str) -> tuple[PyTree, dict[str, Any]]:
    """Read a state of the same shape as another, and what is told beside it.

    Raises
    ------
    InputError
        For a file that is damaged, or of another configuration.
    """
    remedy = "remove it to begin anew, or name another file"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        told = json.loads(str(arrays.pop("told")))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"a checkpoint is a whole file that training wrote; got {path}, {error}; {remedy}"
        ) from error
    require(
        isinstance(told, dict) and told.get("format") == FORMAT,
        "a checkpoint is a whole file that training wrote",
        f"{path} of another kind",
        remedy,
    )
    leaves, shape = jax.tree.flatten(like)
    names = [f"leaf_{i}" for i in range(len(leaves))]
    require(
        told.get("mark") == mark
        and set(arrays) == set(names)
        and all(arrays[name].shape == leaf.shape for name, leaf in zip(names, leaves, strict=True)),
        "a run goes on from a checkpoint of the same network, recipe, seed and samples",
        f"{path} of another run",
        remedy,
    )
    return jax.tree.unflatten(shape, [jnp.asarray(arrays[name]) for name in names]), told
