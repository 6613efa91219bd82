"""Checks of the contracts of designs and kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from partwhole._checks import require
from partwhole._contract import Contract
from partwhole._door import door
from partwhole._types import Seed
from partwhole.features.design import Design, weighted_gram
from partwhole.features.overlap import OverlapKernel

Kernel = OverlapKernel | Callable[[np.ndarray, np.ndarray], np.ndarray]

EXACT = 1e-10  # of the largest entry


@door
def check_design(design: Design, *, seed: Seed = 0) -> None:
    r"""Check that a design fulfils the requirements of the solvers.

    Parameters
    ----------
    design : Design
        n inputs in p features; small ones are checked in less time, n and p of a few hundred in
        seconds.
    seed : int, keyword-only, default 0
        Of the coefficients and multipliers at which it is checked.

    Raises
    ------
    CheckFailed
        With a sentence for each rule that is broken.

    Notes
    -----
    With A the matrix whose columns the design maps unit coefficients to, it is checked that
    blocks cover the columns in order; that outputs and `adjoint` are :math:`A c` and
    :math:`A^T v` for one vector and for several as columns; that `gram` is
    :math:`A_b\,\mathrm{diag}(w) A_b^T` for every block, with weights and without; and that no
    argument is changed.

    Examples
    --------
    >>> from partwhole.features import DenseDesign
    >>> check_design(DenseDesign(np.eye(3)))
    """
    rng = np.random.default_rng(seed)
    contract = Contract(f"the design {type(design).__name__}")
    with contract.trying("a design has shape, blocks, a product with coefficients and adjoint"):
        n, p = design.shape
        edges = [(block.start, block.stop) for block in design.blocks]
        ends = [0, *(stop for _, stop in edges)]
        contract.keeps(
            [start for start, _ in edges] == ends[:-1] and ends[-1] == p,
            f"blocks cover the {p} columns in order", edges,
        )  # fmt: skip
        labels = [block.label for block in design.blocks]
        contract.keeps(len(set(labels)) == len(labels), "blocks have labels that differ", labels)
        matrix = contract.pure("the product", lambda c: design @ c, np.eye(p))
        contract.keeps(np.shape(matrix) == (n, p), f"outputs have shape {(n, p)}", np.shape(matrix))
        c, v = rng.normal(size=p), rng.normal(size=n)
        contract.agrees("outputs are linear in coefficients", design @ c, matrix @ c, EXACT)
        adjoint = contract.pure("adjoint", design.adjoint, v)
        contract.agrees("adjoint is the product with the transpose", adjoint, matrix.T @ v, EXACT)
        contract.agrees(
            "adjoint takes several multipliers as columns",
            design.adjoint(np.eye(n)), matrix.T, EXACT,
        )  # fmt: skip
        weights = rng.uniform(0.5, 2.0, size=p)
        for block in design.blocks:
            part, part_weights = matrix[:, block.columns], weights[block.columns]
            contract.agrees(
                "gram holds the inner products of a block", design.gram(block), part @ part.T, EXACT
            )
            contract.agrees(
                "gram weights the columns of a block",
                contract.pure("gram", design.gram, block, part_weights),
                (part * part_weights) @ part.T, EXACT,
            )  # fmt: skip
        contract.agrees(
            "weighted_gram adds the blocks' weighted inner products",
            weighted_gram(design, weights), (matrix * weights) @ matrix.T, EXACT,
        )  # fmt: skip
    contract.close()


@door
def check_kernel(
    kernel: Kernel,
    inputs: Float[np.ndarray, "n *d"] | Int[np.ndarray, "n *d"],
    *,
    seed: Seed = 0,
) -> None:
    r"""Check that a function is a kernel: symmetric, positive semidefinite, a function of pairs.

    Parameters
    ----------
    kernel : callable or OverlapKernel
        A function of two lists of inputs, of n and m rows, that returns an array of shape (n, m);
        or an object whose method `gram` is.
    inputs : float or int array, shape (n, ...)
        At least 3 inputs, or rows of value indices.
    seed : int, keyword-only, default 0
        Of the order in which inputs are given again.

    Raises
    ------
    CheckFailed
        With a sentence for each rule that is broken.
    InputError
        For fewer than 3 inputs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> check_kernel(lambda a, b: np.exp(a @ b.T), rng.normal(size=(10, 3)))
    >>> try:
    ...     check_kernel(lambda a, b: -(a @ b.T), rng.normal(size=(10, 3)))
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[1][:60])
    - the kernel is positive semidefinite on the inputs; got an
    """
    require(
        len(inputs) >= 3, "a kernel is checked on inputs of at least 3 rows",
        f"{len(inputs)}", "pass at least 3 inputs",
    )  # fmt: skip
    call: Callable[..., np.ndarray] = getattr(kernel, "gram", kernel)  # type: ignore[assignment]
    name = getattr(call, "__name__", type(kernel).__name__)
    contract = Contract(f"the kernel {type(kernel).__name__ if call is not kernel else name}")
    n, tuples = len(inputs), max(1, len(inputs) // 3)
    with contract.trying("a kernel returns an array of shape (n, m) for lists of n and m inputs"):
        whole = np.asarray(contract.pure("the kernel", call, inputs, inputs), dtype=float)
        if not contract.keeps(
            whole.shape == (n, n) and np.isfinite(whole).all(),
            f"the kernel of {n} inputs is a finite array of shape {(n, n)}",
            f"shape {whole.shape}, {int(np.sum(~np.isfinite(whole)))} numbers that are not finite",
        ):
            contract.close()
        contract.agrees("the kernel is symmetric", whole, whole.T, EXACT)
        sizes = np.linalg.eigvalsh(0.5 * (whole + whole.T))
        contract.keeps(
            sizes[0] >= -EXACT * n * np.abs(sizes).max(),
            "the kernel is positive semidefinite on the inputs",
            f"an eigenvalue of {sizes[0]:.3g} beside one of {sizes[-1]:.3g}",
        )
        contract.agrees(
            "an entry depends on its pair of inputs alone: some inputs beside others",
            call(inputs[:tuples], inputs[tuples:]), whole[:tuples, tuples:], EXACT,
        )  # fmt: skip
        order = np.random.default_rng(seed).permutation(n)
        contract.agrees(
            "an entry depends on its pair of inputs alone: inputs in another order",
            call(inputs[order], inputs), whole[order], EXACT,
        )  # fmt: skip
    contract.close()
