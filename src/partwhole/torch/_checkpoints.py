"""Readings of models at their checkpoints, for each run, step and prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._progress import bar
from partwhole.measures.concepts._frame import coordinates_frame
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy

if TYPE_CHECKING:
    import pandas as pd

# From the numbers of a run, a step and a prompt to coordinates, and samples if they are kept.
Reader = Callable[[int, int, int], tuple[Float[np.ndarray, "n C"], np.ndarray | None]]


@dataclass(frozen=True, eq=False)
class CheckpointReadings:
    """Coordinates in concept space at checkpoints, as `measures.concepts` takes them.

    ``concept_path(readings.steps, readings.coordinates["far"])`` follows a prompt, and
    ``capability(readings.steps, readings.coordinates, seed=0)`` compares all.

    Parameters
    ----------
    steps : int array, shape (T,)
    coordinates : dict of str to float array, shape (runs, T, n, C)
        Of each prompt, or set of images; NaN where a decoder abstains, and of what is not finite.
    samples : dict of str to float16 array, shape (runs, T, n, *shape)
        The samples of each prompt, channels last, where they are kept.
    """

    steps: Int[np.ndarray, " T"]
    coordinates: dict[str, Float[np.ndarray, "_ _ _ _"]]
    samples: dict[str, np.ndarray]

    def to_frame(self) -> pd.DataFrame:
        """Return the coordinates of every sample.

        Returns
        -------
        pandas.DataFrame
            With the columns run, prompt, step, sample, concept (numbered from 0) and coordinate.
        """
        return coordinates_frame(self.steps, self.coordinates)


def several(callables: Any, call: str) -> list[Callable[..., Any]]:
    """Return the callables of all runs."""
    runs = [callables] if callable(callables) else list(callables)
    rule = f"a model at its checkpoints is a callable {call}, or one for each run"
    require(len(runs) > 0, rule, "none", "pass one or more")
    return runs


def numbers_of(answer: Any, noun: str) -> np.ndarray:
    """Return what a model answered as an array of numbers."""
    array = tensor_to_numpy(answer) if is_tensor(answer) else np.asarray(answer)
    require(
        array.dtype.kind in "fiu",
        f"{noun} are a tensor or an array of numbers",
        f"one of type {type(answer).__name__}",
        "return the tensor alone",
    )
    return array


def read_all(
    read: Reader,
    runs: int,
    steps: Sequence[int],
    prompts: Mapping[str, Any],
    *,
    title: str,
    progress: bool,
) -> CheckpointReadings:
    """Return the readings of all runs, steps and prompts, step by step."""
    times = np.asarray(steps, dtype=int)
    require(
        len(times) > 0 and bool((np.diff(times) > 0).all()),
        "steps are those of checkpoints, increasing",
        ", ".join(map(str, times[:6])) or "none",
        "pass each once, in order",
    )
    table: dict[tuple[int, int, int], tuple[np.ndarray, np.ndarray | None]] = {}
    with bar(title, runs * len(times), shown=progress) as advance:
        for run in range(runs):
            for turn in range(len(times)):
                for number in range(len(prompts)):
                    table[run, turn, number] = read(run, turn, number)
                advance(1)
    widths = {coordinates.shape[1] for coordinates, _ in table.values()}
    require(
        len(widths) == 1,
        "coordinates have as many concepts at all checkpoints",
        " and ".join(map(str, sorted(widths))),
        "read all samples by one decoder",
    )

    def stacked(place: int) -> dict[str, np.ndarray]:
        return {
            name: np.array(
                [[table[run, t, number][place] for t in range(len(times))] for run in range(runs)]
            )
            for number, name in enumerate(prompts)
            if table[0, 0, number][place] is not None
        }

    return CheckpointReadings(times, stacked(0), stacked(1))
