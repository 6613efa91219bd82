"""Activations of modules of torch, which hand over what they answer by hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from typing import Any

import numpy as np

from partwhole._checks import require
from partwhole.recordings._tensors import is_tensor, tensor_to_numpy

WHOLE = "output"  # the name of the whole model, which torch calls ""
LISTED = 12  # names in a sentence


def of_module(
    torch: Any, model: Any, inputs: Any, layers: Sequence[str] | None, batch: int
) -> dict[str, np.ndarray]:
    """Return the activations of a module's modules, as `activations` describes them."""
    chosen = _modules(model, layers)
    arguments, n = arguments_of(inputs)
    tensors = [*chain(model.parameters(), model.buffers())]
    device = tensors[0].device if tensors else None
    dtypes = (tensor.dtype for tensor in tensors if tensor.is_floating_point())
    dtype = next(dtypes, torch.get_default_dtype())
    answers = _Answers(tuple(chosen), strict=layers is not None)
    with _hooked(torch, model, chosen, answers):
        for first in range(0, n, batch):
            rows = {
                name: as_tensor(torch, array[first : first + batch], device, dtype)
                for name, array in arguments.items()
            }
            positional = [rows.pop("")] if "" in rows else []
            answers.begin(min(batch, n - first))
            model(*positional, **rows)
            answers.end()
    return answers.joined()


def _modules(model: Any, layers: Sequence[str] | None) -> dict[str, Any]:
    """Return the modules to read, by name."""
    if layers is None:
        named = model.named_modules()
        return {name or WHOLE: leaf for name, leaf in named if next(leaf.children(), None) is None}
    # A module may stand in several places, under as many names.
    named = model.named_modules(remove_duplicate=False)
    modules = {name or WHOLE: module for name, module in named}
    unknown = [name for name in layers if name not in modules]
    near = get_close_matches(unknown[0], modules, n=LISTED) if unknown else []
    names = near or list(modules)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    require(
        layers and not unknown,
        "a layer is named as a module of the model",
        ", ".join(map(repr, unknown)) or "no name",
        f"choose from {', '.join(names[:LISTED])}{more}",
    )
    return {name: modules[name] for name in layers}


def arguments_of(inputs: Any) -> tuple[dict[str, Any], int]:
    """Return arrays or tensors by the names of arguments, "" without a name, and their length."""
    given = inputs if isinstance(inputs, Mapping) else {"": inputs}
    arguments = {
        name: value if is_tensor(value) else _numbers(value) for name, value in given.items()
    }
    lengths = {len(array) if array.ndim else 0 for array in arguments.values()}
    require(
        len(lengths) == 1 and 0 not in lengths,
        "inputs have a row for each, as many in all arguments",
        " and ".join(str(tuple(array.shape)) for array in arguments.values()) or "none",
        "pass arrays of shape (n, ...)",
    )
    return arguments, lengths.pop()


def _numbers(inputs: Any) -> np.ndarray:
    rule = "inputs are numbers"
    hidden = isinstance(inputs, np.ma.MaskedArray) and np.ma.count_masked(inputs)
    require(not hidden, rule, f"{hidden} masked", "drop or fill masked entries first")
    try:
        array = np.asarray(inputs)
    except ValueError:
        array = np.empty(0, dtype=object)
    words = {"O": "objects", "U": "text", "S": "text", "c": "complex numbers"}
    words = words.get(array.dtype.kind, f"entries of type {array.dtype}")
    remedy = "convert them to an array, such as the tokens of text"
    require(array.dtype.kind in "iufb", rule, words, remedy)
    return array


def as_tensor(torch: Any, rows: Any, device: Any, dtype: Any) -> Any:
    """Return a copy of rows as a tensor on a device, numbers with a fraction in a type.

    A copy, since models may write to their inputs; in C order, since torch adds products of the
    same numbers in another order in memory differently, with other rounding.
    """
    if is_tensor(rows):
        rows = rows.detach().clone(memory_format=torch.contiguous_format)
    else:
        # Torch warns of arrays that can't be written to, and reads no byte order.
        exact = {"f": np.float64, "b": np.bool_}.get(rows.dtype.kind, np.int64)
        rows = torch.from_numpy(np.array(rows, dtype=exact, order="C"))
    return rows.to(device=device, dtype=dtype if rows.is_floating_point() else rows.dtype)


@contextmanager
def in_evaluation(model: Any) -> Iterator[None]:
    """Have all modules of a model in evaluation mode, and restore the mode of each afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.train(False)
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _hooked(torch: Any, model: Any, chosen: Mapping[str, Any], answers: _Answers) -> Iterator[None]:
    """Have chosen modules hand over what they answer, in evaluation mode, and undo all of it."""
    handles = []
    try:
        for name, module in chosen.items():

            def keep(module: Any, given: Any, answer: Any, name: str = name) -> None:
                answers.keep(name, answer)

            handles.append(module.register_forward_hook(keep))
        with in_evaluation(model), torch.no_grad():
            yield
    finally:
        for handle in handles:
            handle.remove()


def first_tensor(answer: Any) -> Any:
    """Return the first tensor of a tuple, list or mapping, or None."""
    if is_tensor(answer):
        return answer
    if not isinstance(answer, Mapping | tuple | list):
        return None
    parts = answer.values() if isinstance(answer, Mapping) else answer
    return next((tensor for part in parts if (tensor := first_tensor(part)) is not None), None)


class _Answers:
    """What modules answered, by name and number of the call in a pass."""

    def __init__(self, names: tuple[str, ...], *, strict: bool) -> None:
        self.names, self.strict = names, strict
        self.parts: dict[tuple[str, int], list[np.ndarray]] = {}
        self.unfit: set[str] = set()
        self.n_rows = self.n_passes = 0
        self.calls: dict[str, int] = {}

    def begin(self, n_rows: int) -> None:
        """Begin a pass of so many inputs."""
        self.n_rows, self.calls = n_rows, dict.fromkeys(self.names, 0)

    def keep(self, name: str, answer: Any) -> None:
        """Keep an answer; of a module that was not named, only if it has a row for each input."""
        self.calls[name] += 1
        tensor = first_tensor(answer)
        shape = () if tensor is None else tuple(tensor.shape)
        if shape[:1] != (self.n_rows,):
            words = "no tensor" if tensor is None else f"shape {shape}"
            require(
                not self.strict,
                "the answer of a layer has a row for each input",
                f"{words} for {self.n_rows} inputs of {name!r}",
                "choose a layer before or after it",
            )
            self.unfit.add(name)
            return
        # Copied, since later modules may write to it in place.
        rows = np.array(tensor_to_numpy(tensor)).reshape(self.n_rows, -1)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float32)
        self.parts.setdefault((name, self.calls[name]), []).append(rows)

    def end(self) -> None:
        """Require, after a pass, that named modules were called."""
        self.n_passes += 1
        missing = [name for name, count in self.calls.items() if not count]
        require(
            not (self.strict and missing),
            "a layer is called when the model answers",
            f"{', '.join(map(repr, missing))}, which is not",
            "choose the layer that calls it",
        )

    def joined(self) -> dict[str, np.ndarray]:
        """Return the rows of all passes, of named modules in the order of the names."""
        places = [*self.parts]
        if self.strict:
            places.sort(key=lambda place: self.names.index(place[0]))
        joined: dict[str, np.ndarray] = {}
        for name, call in places:
            parts = self.parts[name, call]
            widths = {part.shape[1] for part in parts}
            alike = len(parts) == self.n_passes and len(widths) == 1
            require(
                alike or not self.strict,
                "a layer answers alike in all passes",
                f"{len(parts)} answers of {' or '.join(map(str, sorted(widths)))} units in "
                f"{self.n_passes} passes of {name!r}",
                "raise batch to the number of inputs",
            )
            if alike and name not in self.unfit:
                joined[name if call == 1 else f"{name} (call {call})"] = np.concatenate(parts)
        require(
            joined,
            "a module of the model answers with a row for each input",
            "none that does",
            "name a layer",
        )
        return joined
