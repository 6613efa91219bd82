r"""The tangent kernel of a model of torch: inner products of its slopes in its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from math import prod, sqrt
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._checks import require
from partwhole._door import door
from partwhole._progress import bar
from partwhole._types import Count, Index, Positive
from partwhole.recordings._modules import arguments_of, as_tensor, first_tensor, in_evaluation
from partwhole.torch._installed import torch_for

Arguments = Mapping[str, Any]
# Sums of more products lose digits in single precision: 1e-4 of them at some millions.
AT_ONCE = 2**14
SLOPES = 3  # blocks of them at once: two that are multiplied, and one while it is computed


@door
def tangent_kernel(
    model: Any,
    inputs: Any,
    other: Any = None,
    *,
    output: Index | Literal["trace", "all"] = 0,
    memory_gib: Positive = 2.0,
    batch: Count = 32,
    progress: bool = True,
) -> Float[np.ndarray, "n m *k"]:
    r"""Compute the empirical neural tangent kernel of a model of torch.

    .. math:: \Theta_{kl}(x, x') = \sum_p
              \frac{\partial f_k(x)}{\partial \theta_p} \frac{\partial f_l(x')}{\partial \theta_p}

    over the parameters that require gradients, so that frozen ones do not count. The model is in
    evaluation mode, as `recordings.activations` has it: no dropout, running statistics. Its modes,
    parameters and gradients stay as they were.

    Parameters
    ----------
    model : torch.nn.Module
        It answers with a tensor of shape (n, k) or (n,); of a tuple or mapping, the first tensor
        counts, with all axes but the first as outputs.
    inputs : array or tensor, shape (n, ...); or a mapping of them to names of arguments
        Copies go to the device of the model's parameters; numbers with a fraction get their type.
    other : as inputs, default None
        The second argument of the kernel; None for the inputs themselves.
    output : int, "trace" or "all", keyword-only, default 0
        The output k = l; or the sum of the kernels of all outputs; or all pairs of outputs.
    memory_gib : float, keyword-only, default 2
        GiB that slopes and kernel may take together, estimated in advance, on the device and on
        the host. If they suffice, the slopes of all inputs are computed once, else in blocks of
        rows, each of which is computed again for every other block. The activations of `batch`
        inputs come on top.
    batch : int, keyword-only, default 32
        Inputs that are differentiated at once, by `torch.func.vmap`. 1 does without it, for models
        that vmap refuses or is slow with, recurrent ones among them.
    progress : bool, keyword-only, default True
        Whether to show a bar on the error stream once this takes over two seconds.

    Returns
    -------
    float array, shape (n, m), or (n, m, k, k) of all outputs
        In double precision, of slopes in the model's own, of 16 bits in 32. Symmetric without
        `other`.

    Raises
    ------
    MissingExtraError
        Without torch.
    InputError
        For a model that is none or answers without a row for each input, without parameters that
        require gradients, inputs that are not numbers, an output that doesn't exist, slopes that
        are not finite, and a kernel that does not fit into the memory. Errors of the model itself
        pass through.

    Notes
    -----
    Jacot, Gabriel & Hongler (NeurIPS 2018). It is the kernel of `networks.tangent_kernel` in the
    standard parametrisation. `partwhole.solve` takes it as a learner, and `compare` lays a trained
    model beside the result.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(2, 1, bias=False)  # f = W x: its slopes are the inputs
    >>> tangent_kernel(model, [[1.0, 0.0], [3.0, 4.0]]).tolist()
    [[1.0, 3.0], [3.0, 25.0]]
    """
    torch = torch_for("tangent_kernel")
    require(
        isinstance(model, torch.nn.Module), "model is a module of torch", type(model).__name__,
        "use networks.tangent_kernel for networks of partwhole",
    )  # fmt: skip
    left, n = arguments_of(inputs)
    right, m = (left, n) if other is None else arguments_of(other)
    require(
        left.keys() == right.keys(),
        "inputs and other have the same arguments",
        " and ".join(", ".join(names) or "no name" for names in (left, right)),
        "pass both as arrays, or both as mappings with the same names",
    )
    with in_evaluation(model):
        slopes = _Slopes.of(torch, model, left)
        columns = _columns(output, slopes.n_outputs)
        width = len(columns[0])
        block = _block(n, m, width, slopes.row_bytes * width, memory_gib)
        spans = [(a, min(a + block, n)) for a in range(0, n, block)]
        across = spans if other is None else [(a, min(a + block, m)) for a in range(0, m, block)]
        kernel = np.zeros((n, m, width, width))
        steps = len(columns) * len(spans)
        with bar("tangent kernel", steps, shown=progress) as advance:
            for chosen in columns:
                for i, (a, b) in enumerate(spans):
                    rows = slopes(left, a, b, chosen, batch)
                    for j, (c, d) in enumerate(across):
                        if other is None and j < i:
                            continue
                        same = other is None and j == i
                        part = _products(rows, rows if same else slopes(right, c, d, chosen, batch))
                        part = part.reshape(b - a, width, d - c, width).transpose(0, 2, 1, 3)
                        kernel[a:b, c:d] += part
                        if other is None and not same:
                            kernel[c:d, a:b] += part.transpose(1, 0, 3, 2)
                    del rows
                    advance(1)
    broken = int((~np.isfinite(kernel)).sum())
    require(
        broken == 0,
        "the slopes of the model are finite",
        f"{broken} of {kernel.size} entries of the kernel that are not",
        "pass finite inputs of the size that the model takes, or train it without divergence",
    )
    return kernel if output == "all" else kernel[:, :, 0, 0]


def _columns(output: int | str, n_outputs: int) -> list[list[int]]:
    """Return the outputs whose slopes are held together; the kernel is the sum over such groups."""
    every = list(range(n_outputs))
    if isinstance(output, str):
        return [every] if output == "all" else [[column] for column in every]
    rule = f"output is one of the model's {n_outputs}, from 0"
    require(output < n_outputs, rule, output, 'pass 0, or "trace" for the sum over all')
    return [[output]]


def _block(n: int, m: int, width: int, row: int, memory_gib: float) -> int:
    """Return the number of inputs in a block, so that slopes, their product and kernel fit."""
    whole = 8.0 * n * m * width**2
    # Cap the budget above the memory of any machine.
    budget = max(min(memory_gib, 2.0**30) * 2**30 - whole, 0.0)
    # The largest whole number with SLOPES row block + product block**2 in the budget.
    product = 16.0 * width**2  # in the model's precision, and in double
    linear = SLOPES * float(row)
    block = int(2.0 * budget / (linear + sqrt(linear**2 + 4.0 * product * budget)))
    least = (whole + linear + product) / 2**30
    require(
        block >= 1,
        f"the tangent kernel of {n} and {m} inputs and {SLOPES} rows of slopes fit into memory_gib",
        f"{memory_gib:g}, but they take {least:.2g}",
        "pass fewer inputs, or more memory_gib if the machine has it",
    )
    return min(block, max(n, m))


def _products(left: Sequence[Any], right: Sequence[Any]) -> Float[np.ndarray, "a b"]:
    """Return inner products of slopes, some parameters at once, added in double precision."""
    same = left is right
    total = np.zeros((len(left[0]), len(right[0])))
    for x, y in zip(left, right, strict=True):
        for first in range(0, x.shape[1], AT_ONCE):
            part = slice(first, first + AT_ONCE)
            total += (x[:, part] @ y[:, part].T).cpu().numpy()
    return 0.5 * (total + total.T) if same else total


@dataclass(frozen=True, eq=False)
class _Slopes:
    """Slopes of a model's outputs in the parameters that require gradients."""

    torch: Any
    model: Any
    parameters: dict[str, Any]
    fixed: dict[str, Any]
    device: Any
    dtype: Any
    n_outputs: int

    @classmethod
    def of(cls, torch: Any, model: Any, arguments: Arguments) -> _Slopes:
        """Return those of a model, whose outputs are counted at the first input."""
        named = dict(model.named_parameters())
        free = {name: p.detach() for name, p in named.items() if p.requires_grad}
        require(
            len(free) > 0,
            "a tangent kernel is that of parameters which require gradients",
            f"{len(named)} parameters, none of which does",
            "pass the model before it is frozen, or model.requires_grad_()",
        )
        frozen = {name: p.detach() for name, p in named.items() if name not in free}
        fixed = {**frozen, **dict(model.named_buffers())}
        first = next(iter(free.values()))
        floating = (x.dtype for x in chain(free.values(), fixed.values()) if x.is_floating_point())
        dtype = next(floating)
        slopes = cls(torch, model, free, fixed, first.device, dtype, 0)
        with torch.no_grad():
            answer = slopes.answer({}, slopes.rows(arguments, 0, 1))
        shape = () if answer is None else tuple(answer.shape)
        require(
            shape[:1] == (1,),
            "the answer of a model has a row for each input",
            "no tensor" if answer is None else f"shape {shape} for 1 input",
            "wrap it in a module that answers with shape (n, k)",
        )
        return cls(torch, model, free, fixed, first.device, dtype, prod(shape))

    @property
    def row_bytes(self) -> int:
        """Return the memory of the slopes of an output at an input."""
        return sum(x.numel() * max(x.element_size(), 4) for x in self.parameters.values())

    def rows(self, arguments: Arguments, first: int, last: int) -> dict[str, Any]:
        """Return some inputs as tensors on the model's device."""
        return {
            name: as_tensor(self.torch, array[first:last], self.device, self.dtype)
            for name, array in arguments.items()
        }

    def answer(self, parameters: dict[str, Any], rows: dict[str, Any]) -> Any:
        """Return the first tensor of the model's answer, with parameters in place of its own."""
        named = dict(rows)
        positional = (named.pop(""),) if "" in named else ()
        values = (parameters, self.fixed)
        return first_tensor(self.torch.func.functional_call(self.model, values, positional, named))

    def __call__(
        self, arguments: Arguments, first: int, last: int, columns: Sequence[int], batch: int
    ) -> list[Any]:
        """Return slopes, a matrix for each parameter with a row for each input and output."""
        torch, width = self.torch, len(columns)
        slopes = [
            torch.empty(
                (last - first, width, x.numel()), device=x.device,
                dtype=x.dtype if x.element_size() >= 4 else torch.float32,
            )
            for x in self.parameters.values()
        ]  # fmt: skip
        for start in range(first, last, batch):
            end = min(start + batch, last)
            rows = self.rows(arguments, start, end)
            for place, column in enumerate(columns):
                part = self._of_column(rows, column)
                for whole, name in zip(slopes, self.parameters, strict=True):
                    slope = part.pop(name).reshape(end - start, -1)
                    whole[start - first : end - first, place] = slope
        return [whole.reshape((last - first) * width, -1) for whole in slopes]

    def _of_column(self, rows: dict[str, Any], column: int) -> dict[str, Any]:
        def one_answer(parameters: dict[str, Any], row: dict[str, Any]) -> Any:
            # Copied, since models may write to their inputs, and other outputs need them too.
            alone = {name: values[None].clone() for name, values in row.items()}
            return self.answer(parameters, alone).reshape(-1)[column]

        slope = self.torch.func.grad(one_answer)
        attention = import_module("torch.nn.attention")
        # Of the kernels of attention, vmap knows the plain one only.
        with attention.sdpa_kernel(attention.SDPBackend.MATH):
            if len(next(iter(rows.values()))) == 1:
                return slope(self.parameters, {name: values[0] for name, values in rows.items()})
            every = self.torch.func.vmap(slope, in_dims=(None, 0), randomness="different")
            return every(self.parameters, rows)
