"""Checkpoints: everything a run needs to resume, bit by bit."""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from partwhole._checks import InputError, require
from partwhole._reading import UnreadableError, read_npz
from partwhole._writing import npz, write_all

FORMAT = 1


def checked_checkpoint(checkpoint: Path | str | None, restarts: int, networks: int) -> Path | None:
    """Return the file of a checkpoint, of one network without restarts and in a folder."""
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
    return Path(checkpoint)


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


def load_checkpoint(path: Path, like: PyTree, mark: str) -> tuple[PyTree, dict[str, Any]]:
    """Read a state of the same shape as `like`, and its description.

    Raises
    ------
    InputError
        For a file that is damaged, or of another configuration.
    """
    remedy = "remove it to begin anew, or name another file"
    try:
        arrays = read_npz(path)
        description = json.loads(str(arrays.pop("told")))
    except (ValueError, KeyError, RecursionError) as error:
        problem = error if isinstance(error, UnreadableError) else "one without its head"
        raise InputError(
            f"a checkpoint is a whole file that training wrote; got {path}, {problem}; {remedy}"
        ) from error
    require(
        isinstance(description, dict) and description.get("format") == FORMAT,
        "a checkpoint is a whole file that training wrote",
        f"{path} of another kind",
        remedy,
    )
    leaves, shape = jax.tree.flatten(like)
    names = [f"leaf_{i}" for i in range(len(leaves))]
    require(
        description.get("mark") == mark
        and set(arrays) == set(names)
        and all(
            (arrays[name].shape, arrays[name].dtype) == (leaf.shape, leaf.dtype)
            for name, leaf in zip(names, leaves, strict=True)
        ),
        "a run resumes from a checkpoint of the same network, settings, seed and samples",
        f"{path} of another run",
        remedy,
    )
    return jax.tree.unflatten(shape, [jnp.asarray(arrays[name]) for name in names]), description
