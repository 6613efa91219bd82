"""Generative models of torch at their checkpoints: their samples, read in concept space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._arrays import Array as ArrayRule
from partwhole._arrays import Axes
from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Index, Seed
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy
from partwhole.torch._checkpoints import CheckpointReadings, numbers_of, read_all, several
from partwhole.torch._installed import torch_for

STREAM = 111  # of random numbers: that of samples in `training`, so that both draw alike
Sampler = Callable[[int, Any, int, int], Any]
Decoder = Callable[[Float[np.ndarray, "n *shape"]], Any]


@door
def read_samples(
    sample: Sampler | Sequence[Sampler],
    steps: Sequence[Index],
    prompts: Mapping[str, Any],
    decoder: Decoder,
    *,
    n: Count = 64,
    channels: Literal["first", "last"] = "first",
    keep: bool = False,
    seed: Seed = 0,
    progress: bool = True,
) -> CheckpointReadings:
    """Draw samples from a generative model of torch at its checkpoints, and read them.

    It is to models of torch what `Runs.read` is to those of `training`: the same decoders read the
    samples, and `concept_path` and `capability` take the coordinates.

    Parameters
    ----------
    sample : callable, or a sequence of them, one for each run
        ``sample(step, condition, n, seed)`` draws n samples for a condition from the model at the
        checkpoint of a step: a tensor or an array, shape (n, channels, height, width) or (n, ...).
        Steps come in order, and all prompts of a step one after another. It runs without gradients;
        the generators of torch have the seed during the call, and their state again afterwards.
    steps : sequence of int
        Of the checkpoints, increasing.
    prompts : mapping of str to anything
        Conditions by name, which are passed on as they are: a text, a class, a tensor.
    decoder : callable
        From samples, shape (n, height, width, channels) or (n, ...), float32, to coordinates, shape
        (n, C), as an array or a tensor; NaN where it abstains. `measures.concepts.decode_shapes`
        reads images in 0..1: a model of images in -1..1 halves them and adds .5.
    n : int, keyword-only, default 64
        Samples of each prompt.
    channels : {"first", "last"}, keyword-only, default "first"
        Where samples of four axes have their channels.
    keep : bool, keyword-only, default False
        Whether to keep the samples too, as float16.
    seed : int, keyword-only, default 0
        Each run, step and prompt has a seed of its own; run r has those of `seed` + r.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    CheckpointReadings
        NaN for samples that are not finite.

    Raises
    ------
    MissingExtraError
        Without torch.
    InputError
        For no callables, prompts or steps, steps that do not increase, samples that are not n or
        not numbers, and coordinates that are not one row for each sample. Errors of the callables
        pass through.

    Examples
    --------
    A "model" that draws points nearer to its condition at each checkpoint:

    >>> import torch
    >>> def sample(step, condition, n, seed):
    ...     return condition * (1 - 0.6 ** (step / 100)) + 0.01 * torch.randn(n, 2)
    >>> prompts = {"far": torch.tensor([1.0, 1.0])}
    >>> readings = read_samples(sample, range(0, 500, 100), prompts, lambda x: x.clip(0, 1))
    >>> from partwhole.measures.concepts import RAW, concept_path
    >>> path = concept_path(readings.steps, readings.coordinates["far"], smoothing=RAW)
    >>> readings.coordinates["far"].shape, path.mean[1:, 0].round(1).tolist()
    ((1, 5, 64, 2), [0.4, 0.6, 0.8, 0.9])
    """
    torch = torch_for("read_samples")
    samplers = several(sample, "sample(step, condition, n, seed)")
    require(len(prompts) > 0, "samples are drawn for prompts", "none", "pass one or more")
    conditions = list(prompts.values())

    def read(run: int, turn: int, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        drawn = np.random.SeedSequence([seed + run, STREAM, turn, number])
        call_seed = int(drawn.generate_state(1)[0])
        with _seeded(torch, call_seed), torch.no_grad():
            answer = samplers[run](int(steps[turn]), conditions[number], n, call_seed)
            samples = _samples(answer, n, channels)
            coordinates = _coordinates(decoder, samples)
        return coordinates, samples.astype(np.float16) if keep else None

    return read_all(read, len(samplers), steps, prompts, title="Sampling", progress=progress)


@contextmanager
def _seeded(torch: Any, seed: int) -> Iterator[None]:
    """Seed the generators of torch, and restore their state afterwards."""
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    with torch.random.fork_rng(devices=list(devices)):
        torch.manual_seed(seed)
        yield


def _samples(answer: Any, n: int, channels: str) -> Float[np.ndarray, "n *shape"]:
    """Return samples in single precision with channels last."""
    samples = numbers_of(answer, "samples")
    require(
        samples.ndim > 1 and len(samples) == n,
        f"a call of sample returns {n} samples, shape ({n}, ...)",
        f"shape {samples.shape}",
        "return as many as it is asked for",
    )
    if samples.ndim == 4 and channels == "first":
        samples = samples.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(samples, dtype=np.float32)


def _coordinates(
    decoder: Decoder, samples: Float[np.ndarray, "n *shape"]
) -> Float[np.ndarray, "n C"]:
    """Return coordinates of samples, NaN of those that are not finite."""
    finite = np.isfinite(samples).reshape(len(samples), -1).all(axis=1)
    # Without a finite sample a blank one says how many concepts there are.
    read = samples[finite] if finite.any() else np.zeros_like(samples[:1])
    answer = decoder(read)
    rule = ArrayRule(Axes("n concepts", True), "float", nan=True)
    answer = tensor_to_numpy(answer) if is_tensor(answer) else answer
    coordinates = rule("what the decoder returns", answer, {})
    require(
        len(coordinates) == len(read),
        "what the decoder returns has a row of coordinates for each sample",
        f"shape {coordinates.shape} for {len(read)} samples",
        "return an array of shape (n, concepts)",
    )
    whole = np.full((len(samples), coordinates.shape[1]), np.nan, np.float32)
    if finite.any():
        whole[finite] = coordinates
    return whole
