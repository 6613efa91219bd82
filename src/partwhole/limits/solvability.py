r"""Solvability: can any learner with a fixed compositional representation answer at all?

On held-out combinations such a learner is a sum over conjunctions that were seen. So targets
outside the range of their indicators, or labels no such sum separates, are out of reach whatever
the saliences; and there is a certificate: weights u on held-out combinations that every seen
conjunction adds up to 0, while the targets do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

import numpy as np
from scipy import sparse

from partwhole._checks import require
from partwhole._types import Real
from partwhole.features.conjunctions import ConjunctionDesign, Dictionary, conjunction_sets
from partwhole.limits.certificates import (
    TOLERANCE,
    Certificate,
    find_rectangle,
    from_residual,
    separate,
)
from partwhole.tasks import Task

DENSE_WORK = 1e9


@dataclass(frozen=True, eq=False)
class Solvability:
    """Say whether sums of seen conjunctions can produce the held-out targets, and why not.

    Parameters
    ----------
    task : Task
    kind : str
        "regression" (exact numbers) or "classification" (signs).
    order : int
        Conjunctions of at most so many components are considered.
    solvable : bool or None
        None when not decided in the time allowed.
    rank : int or None
        Rank of the seen conjunctions on the held-out combinations; None when too large.
    r_squared : float
        Share of the held-out targets' variance that the best sum explains; NaN when they
        are constant.
    certificate : Certificate or None
        Proof when unsolvable.
    seconds : float
        Time spent.
    """

    task: Task
    kind: str
    order: int
    solvable: bool | None
    rank: int | None
    r_squared: float
    certificate: Certificate | None
    seconds: float

    @property
    def n_held_out(self) -> int:
        """Return the number of distinct held-out combinations."""
        return len(np.unique(self.task.test_components, axis=0))

    def __repr__(self) -> str:
        """Return the verdict in words."""
        return f"Solvability({self.explain()})"

    def explain(self) -> str:
        """Return the verdict and its evidence in words.

        Returns
        -------
        str
        """
        if self.solvable is None:
            return f"Not decided within {self.seconds:.1f} s; allow more with time_limit."
        if self.certificate is None:
            what = (
                "separates the held-out labels"
                if self.kind == "classification"
                else ("equals the held-out targets")
            )
            line = f"Solvable in principle: some sum of seen conjunctions {what}."
            if self.rank == self.n_held_out:
                line += (
                    f" They could produce any targets on these {self.rank} combinations, so this "
                    "split tests nothing in this respect; hold out larger blocks, or lower "
                    "max_order."
                )
            return line
        if len(self.certificate.rows) == 2 and self.certificate.total > 0:
            row = self.certificate.rows[0]
            entries = ", ".join(
                str(self.task.values[c][i]) for c, i in enumerate(self.task.components[row])
            )
            return f"Not solvable: the held-out combination ({entries}) has two targets."
        total = self.certificate.total
        line = (
            f"Not solvable: {self.certificate.sum_in_words(self.task)} is 0 for every sum of seen "
            f"conjunctions, but the targets give {total:g}"
        )
        if self.kind == "classification":
            line += "; so these weighted margins add up to 0 and can't all be positive"
        return line + "."


def solvability(
    task: Task,
    *,
    kind: str = "auto",
    max_order: int | None = None,
    time_limit: Real = 10.0,
) -> Solvability:
    r"""Decide whether held-out targets are sums of seen conjunctions.

    Regression asks whether :math:`y_{test}` lies in the range of :math:`\Phi_{test}`, the
    indicators of the constant and of every conjunction seen in training; classification whether
    some w has :math:`y_i (\Phi w)_i > 0` throughout, by the bounded problem
    :math:`\max t,\; y_i (\Phi w)_i \ge t,\; |w| \le 1`.

    Parameters
    ----------
    task : Task
        With held-out rows. Repeated rows count once.
    kind : {"auto", "regression", "classification"}, keyword-only, default "auto"
        Classification when every target is -1 or +1.
    max_order : int, keyword-only, optional
        Consider conjunctions of at most so many components; all by default.
    time_limit : float, keyword-only, default 10
        Seconds after which classification may be left undecided.

    Returns
    -------
    Solvability
        The verdict, with a certificate that can be recomputed by hand when it is negative.
        Rectangles (four combinations) are searched first.

    Raises
    ------
    InputError
        When nothing is held out, a kind is unknown, or labels have several outputs.

    Notes
    -----
    Derived here from theorem 4.2 of Lippl & Stachenfeld (ICLR 2025). Solvable in principle
    does not mean solved: see memorization leak and shortcut bias. A network that learns its
    features may do better.

    Examples
    --------
    >>> from partwhole import tasks
    >>> found = solvability(tasks.associative_inference())
    >>> print(found.explain())
    Not solvable: f(A, B) + f(C, D) - f(A, D) - f(C, B) is 0 for every sum of seen conjunctions,
    but the targets give 4; so these weighted margins add up to 0 and can't all be positive.
    """
    start = monotonic()
    require(
        kind in ("auto", "regression", "classification"),
        "kind is 'auto', 'regression' or 'classification'",
        repr(kind),
        "choose one of them",
    )
    if kind == "auto":
        kind = "classification" if task.is_classification else "regression"
    require(
        kind == "regression" or (task.targets.ndim == 1 and task.is_classification),
        "classification needs one output with labels -1 and +1",
        f"targets of shape {task.targets.shape} in {task.targets.min():g}..{task.targets.max():g}",
        "ask for one label at a time, or for kind='regression'",
    )
    require(task.n_test > 0, "solvability is asked of held-out rows", "none", "hold some out")
    require(
        max_order is None or max_order >= 0,
        "max_order counts components from 0",
        max_order,
        "leave it out to consider all",
    )
    order = task.n_components if max_order is None else min(max_order, task.n_components)
    rows, y, conflict = _distinct_test(task)
    phi = _seen_indicators(task, rows, order)
    rank, r_squared, residual = _least_squares(phi, y)

    certificate = None
    solvable: bool | None
    if conflict is not None:
        certificate, solvable, r_squared = conflict, False, float("nan")
    elif kind == "regression":
        level = np.abs(y - y.mean(axis=0)).max()
        rounding = 64.0 * np.finfo(float).eps * np.abs(y).max()
        solvable = bool(np.abs(residual).max() <= TOLERANCE * level + rounding)
        if not solvable:
            output = int(np.abs(residual).max(axis=0).argmax())
            certificate = find_rectangle(
                task, rows, y[:, output], phi, False, start + time_limit
            ) or from_residual(rows, y[:, output], residual[:, output], phi)
    else:
        certificate = find_rectangle(task, rows, y[:, 0], phi, True, start + time_limit)
        if certificate is not None:
            solvable = False
        else:
            left = max(0.0, start + time_limit - monotonic())
            solvable, certificate = separate(rows, y[:, 0], phi, left)
    return Solvability(
        task, kind, order, solvable, rank, r_squared, certificate, monotonic() - start
    )


def _distinct_test(task: Task) -> tuple[np.ndarray, np.ndarray, Certificate | None]:
    """Return one row for each held-out tuple, its targets, and a conflict between repeats."""
    held_out = np.flatnonzero(~task.is_train)
    targets = task.targets[held_out].reshape(len(held_out), -1)
    whole = tuple(range(task.n_components))
    _, index = Dictionary.of(task.components[held_out], whole, task.n_values)
    _, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    differs = np.abs(targets - targets[first][inverse]).max(axis=1) > 0
    conflict = None
    if differs.any():
        one = int(np.flatnonzero(differs)[0])
        other = int(first[inverse[one]])
        output = int(np.abs(targets[one] - targets[other]).argmax())
        total = float(targets[one, output] - targets[other, output])
        conflict = Certificate(
            held_out[[one, other]], np.array([1.0, -1.0]) * np.sign(total), abs(total), False
        )
    return held_out[first], targets[first], conflict


def _seen_indicators(task: Task, rows: np.ndarray, order: int) -> sparse.csr_array:
    """Return the seen conjunctions' indicators on these rows, without empty columns."""
    sets = conjunction_sets(task.n_components, order)
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    design = design.at(task.components[rows])
    row, column = [], []
    for block, index in zip(design.blocks, design.index, strict=True):
        present = np.flatnonzero(index >= 0)
        row.append(present)
        column.append(block.start + index[present].astype(np.int64))
    _, packed = np.unique(np.concatenate(column), return_inverse=True)
    entries = np.ones(len(packed))
    return sparse.csr_array((entries, (np.concatenate(row), packed)), (len(rows), packed.max() + 1))


def _least_squares(phi: sparse.csr_array, y: np.ndarray) -> tuple[int | None, float, np.ndarray]:
    """Return rank (where affordable), R squared and residual of the best sum."""
    n, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    # The constant is among the columns; without it small targets keep their digits.
    y = y - y.mean(axis=0)
    if float(n) * p * min(n, p) <= DENSE_WORK:
        left, size, _ = np.linalg.svd(phi.toarray(), full_matrices=False)
        basis = left[:, size > 1e-10 * size[0]]
        rank: int | None = basis.shape[1]
        residual = y - basis @ (basis.T @ y)
        residual -= basis @ (basis.T @ residual)
    else:
        rank = None
        residual = np.stack(
            [
                column
                - phi @ sparse.linalg.lsmr(phi, column, atol=1e-14, btol=1e-14, maxiter=20 * n)[0]
                for column in y.T
            ],
            axis=1,
        )
    spread = float(np.sum(y**2))
    r_squared = 1.0 - float(np.sum(residual**2)) / spread if spread > 0 else float("nan")
    return rank, r_squared, residual
