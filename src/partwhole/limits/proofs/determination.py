r"""Determination: do the seen combinations determine a sum of conjunctions on the others?

Sums of conjunctions of at most K components that agree on every training combination may still
differ on a held-out one. They differ by a *null function*: a sum that is 0 on all of training.
A held-out combination is determined when every null function is 0 there too, that is, when its row
of indicators lies in the row space of the training indicators.

A conjunction of fewer components is the sum of the conjunctions of K components that extend it, so
those of exactly K components span all others. A combination with an unseen conjunction of K
components is undetermined. All others are tested with random null functions: at a determined
combination their values are all zero, at an undetermined one with probability 0. Derived here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count, Index, Seed
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs.ambiguity import Ambiguity, find_ambiguity
from partwhole.limits.proofs.derivation import Derivation, find_derivation
from partwhole.limits.proofs.null_functions import (
    CG_ENOUGH,
    CG_PROBES,
    TOLERANCE,
    NullFunctions,
    Stops,
    graph_components,
    null_basis,
    on_graph,
    projected,
    vanishing,
)
from partwhole.tasks import Task

Method = Literal["auto", "graph", "dense", "probes"]
DENSE_COLUMNS = 1500


@dataclass(frozen=True, eq=False)
class Determination:
    """Verdicts on which held-out combinations training determines for sums of conjunctions.

    Parameters
    ----------
    task : Task
    order : int
        K, the largest number of components of a conjunction.
    determined : bool array, shape (h,)
        For each held-out row of the task.
    undecided : bool array, shape (h,)
        Whether the computation ended without a verdict. Such a row does not count as determined.
    unseen : bool array, shape (h,)
        Whether the row has an unseen conjunction of at most K components.
    probes : float array, shape (h, m)
        Values of m random null functions at the row; 0 where determined.
    method : str
        "graph" (two components, K = 1), "dense" (an eigendecomposition) or "probes" (conjugate
        gradients).
    free_dimensions : int or None
        Least number of further training combinations with which all held-out ones would be
        determined; None if not computed.
    null_functions : NullFunctions
        The random null functions.
    seconds : float
        Computation time.
    remarks : tuple of str
        Restrictions of the computation.
    """

    task: Task
    order: int
    determined: Bool[np.ndarray, " h"]
    undecided: Bool[np.ndarray, " h"]
    unseen: Bool[np.ndarray, " h"]
    probes: Float[np.ndarray, "h m"]
    method: str
    free_dimensions: int | None
    null_functions: NullFunctions
    seconds: float
    remarks: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Return the share of held-out rows that are determined; NaN when none is held out."""
        return float(self.determined.mean()) if len(self.determined) else float("nan")

    def __repr__(self) -> str:
        """Return the counts in words."""
        return (
            f"Determination({int(self.determined.sum())} of {len(self.determined)} held-out "
            f"combinations determined at order {self.order}{self._undecided_in_words()})"
        )

    def _undecided_in_words(self) -> str:
        count = int(self.undecided.sum())
        return f", {count} not decided" if count else ""

    def _is_determined(self, i: int) -> bool:
        n = len(self.determined)
        require(0 <= i < n, f"there are {n} held-out rows, from 0", i, "pass one of their places")
        return bool(self.determined[i])

    @door(empty=("components",))
    def values(self, components: Int[np.ndarray, "n C"]) -> Float[np.ndarray, "n m"]:
        """Return the values of the random null functions at any combinations.

        Parameters
        ----------
        components : int array, shape (n, C)
            Value indices.

        Returns
        -------
        float array, shape (n, m)
            0 for combinations that training determines.
        """
        n = self.task.n_components
        require(
            components.shape[1] == n,
            f"combinations are rows of {n} value indices",
            f"shape {components.shape}",
            "pass a column for each component",
        )
        values, length, unseen = self.null_functions(components)
        values[vanishing(values, length) & ~unseen] = 0.0
        return values

    @door
    def ambiguity(self, i: int) -> Ambiguity | None:
        """Return a null function that is 1 at the i-th held-out row, or None.

        Parameters
        ----------
        i : int
            Position among the held-out rows.

        Returns
        -------
        Ambiguity or None
            None when the row is determined, or no null function of few terms was found.
        """
        if self._is_determined(i):
            return None
        return find_ambiguity(self.task, self.order, self.task.test_components[i])

    @door
    def derivation(self, i: int) -> Derivation | None:
        """Return few training rows whose weighted sum is the i-th held-out row, or None.

        Parameters
        ----------
        i : int
            Position among the held-out rows.

        Returns
        -------
        Derivation or None
            None when the row is not determined, or the search is too large.
        """
        if not self._is_determined(i):
            return None
        return find_derivation(self.task, self.order, self.task.test_components[i])


@door
def determination(
    task: Task,
    *,
    max_order: Index,
    n_probes: Count | None = None,
    seed: Seed = 0,
    method: Method = "auto",
) -> Determination:
    r"""Return which held-out rows lie in the row space of training.

    With :math:`\Phi` the indicators of all conjunctions of at most K components on the training
    combinations, row x is determined when :math:`x = \Phi^T w` for some w; that is, when
    :math:`x \cdot v = 0` for every v with :math:`\Phi v = 0`.

    Parameters
    ----------
    task : Task
    max_order : int, keyword-only
        K, at least 0; larger than C is the same as C.
    n_probes : int, keyword-only, optional
        Number of random null functions, at least 1; 12 by default, 2 for the method "probes".
    seed : int, keyword-only, default 0
        Seed of the null functions.
    method : {"auto", "graph", "dense", "probes"}, keyword-only, default "auto"
        By default chosen by size: for two components and K = 1 the graph of values that were
        seen together; an eigendecomposition up to 1,500 conjunctions; conjugate gradients for more.

    Returns
    -------
    Determination

    Raises
    ------
    InputError
        When max_order is negative, n_probes is below 1, or the method is unknown or does not
        apply to the task.

    Notes
    -----
    Derived here, after theorem 4.2 of Lippl & Stachenfeld (ICLR 2025). Targets have no influence.
    At a determined combination all learners that fit training by such sums give the same output; a
    learner that also memorizes full combinations leaks.

    Examples
    --------
    >>> from partwhole import tasks
    >>> determination(tasks.symbolic_addition(anchors=[0]), max_order=1)
    Determination(64 of 64 held-out combinations determined at order 1)
    >>> determination(tasks.associative_inference(), max_order=1).share
    1.0
    """
    return determinations([task], max_order=max_order, n_probes=n_probes, seed=seed, method=method)[
        0
    ]


@door(infinite=("deadline",))
def determinations(
    tasks: Sequence[Task],
    *,
    max_order: Index,
    n_probes: Count | None = None,
    seed: Seed = 0,
    method: Method = "auto",
    deadline: float = float("inf"),
    work: float | None = None,
) -> list[Determination]:
    """Return the verdicts for several tasks with the same training rows and null functions.

    Parameters
    ----------
    tasks : sequence of Task
        One or more, with the same training rows.
    max_order, n_probes, seed, method
        As in `determination`.
    deadline : float, keyword-only, default infinity
        Time at which conjugate gradients stop, by `time.process_time`.
    work : float, keyword-only, optional
        Where verdicts alone are asked for: multiplications by conjugate gradients, which end as
        soon as they decide. `free_dimensions` are not computed, and null functions may not be 0 on
        training.

    Returns
    -------
    list of Determination
        The time of each includes that of the null functions.

    Raises
    ------
    InputError
        As in `determination`.
    """
    require(len(tasks) > 0, "tasks are one or more", "none", "pass [task]")
    start = process_time()
    task = tasks[0]
    order = min(max_order, task.n_components)
    is_graph = task.n_components == 2 and order == 1
    require(
        is_graph or method != "graph",
        'the method "graph" is for two components at order 1',
        f"{task.n_components} components at order {order}",
        "leave it out",
    )
    sets = [s for s in conjunction_sets(task.n_components, order) if len(s) == order]
    design = ConjunctionDesign.seen(task.train_components, sets, task.n_values)
    if method == "auto":
        is_small = design.shape[1] <= DENSE_COLUMNS
        method = "graph" if is_graph else "dense" if is_small else "probes"
    m = n_probes or (CG_PROBES if method == "probes" else 12)
    rng = np.random.default_rng(seed)
    sizes = np.concatenate(
        [
            np.bincount(index, minlength=block.stop - block.start)
            for block, index in zip(design.blocks, design.index, strict=True)
        ]
    ).astype(float)

    basis, left = None, 0.0
    if method == "graph":
        coefficients = on_graph(design, m, rng)
    elif method == "dense":
        basis = null_basis(design, sizes)
        coefficients = (basis @ rng.normal(size=(basis.shape[1], m))) / np.sqrt(sizes)[:, None]
    else:
        stops = Stops(deadline=deadline)
        if work is not None:
            stops = Stops(work, deadline, np.concatenate([t.test_components for t in tasks]))
        coefficients, left = projected(design, task, sizes, m, rng, stops)
    # The columns alone: an index of every training row would stay for as long as the result.
    columns = design.at(task.train_components[:0])
    functions = NullFunctions(columns, coefficients, sizes, seed)
    del design
    seconds = process_time() - start
    return [
        _determination(member, order, functions, basis, left, method, seconds, work is None)
        for member in tasks
    ]


def _determination(
    task: Task,
    order: int,
    functions: NullFunctions,
    basis: Float[np.ndarray, "p d"] | None,
    left: float,
    method: str,
    seconds: float,
    count_free: bool,
) -> Determination:
    """Return the verdicts from null functions whose values on training are up to `left`."""
    start = process_time()
    probes, length, unseen = functions(task.test_components)
    determined = vanishing(probes, length) & ~unseen
    probes[determined] = 0.0
    # A function that is not 0 on training is no null function: its values prove nothing.
    undecided = ~determined & ~unseen & (left > CG_ENOUGH)
    remarks: tuple[str, ...] = ()
    if undecided.any():
        remarks = (
            f"The last step of conjugate gradients left an error of {left:.0e}; whether "
            f"{int(undecided.sum()):,} of the held-out combinations are determined is not decided.",
        )
    free = None
    if count_free:
        free = _free_dimensions(task, functions, basis, probes, determined, method)
    return Determination(
        task,
        order,
        determined,
        undecided,
        unseen,
        probes,
        method,
        free,
        functions,
        seconds + process_time() - start,
        remarks,
    )


def _free_dimensions(
    task: Task,
    functions: NullFunctions,
    basis: Float[np.ndarray, "p d"] | None,
    probes: Float[np.ndarray, "h m"],
    determined: Bool[np.ndarray, " h"],
    method: str,
) -> int | None:
    """Return the number of independent null functions on the held-out rows, if cheap."""
    rows = np.flatnonzero(~determined)
    if len(rows) == 0:
        return 0
    if method == "graph":
        sets = ((0,), (1,))
        graph = ConjunctionDesign.seen(task.components, sets, task.n_values)
        components = graph_components(graph.index[0], graph.index[1], graph)
        is_train = task.is_train
        train_components = graph_components(
            graph.index[0][is_train], graph.index[1][is_train], graph
        )
        return int(train_components.max() - components.max())
    if basis is None:
        return None
    return _rank_on(task.test_components[rows], functions, basis)


def _rank_on(
    rows: Int[np.ndarray, "u C"], functions: NullFunctions, basis: Float[np.ndarray, "p d"]
) -> int | None:
    """Return the rank of rows on null vectors and unseen conjunctions; None if too large."""
    design = functions.design
    missing: list[np.ndarray] = []
    width = basis.shape[1]
    for dictionary in design.dictionaries:
        absent = dictionary.columns(rows) < 0
        if absent.any():
            _, code = np.unique(
                rows[absent][:, list(dictionary.components)], axis=0, return_inverse=True
            )
            place = np.full(len(rows), -1)
            place[absent] = code.ravel() + width
            width += int(code.max()) + 1
            missing.append(place)
    if float(len(rows)) * width * min(width, len(rows)) > 1e9:
        return None
    scaled = basis / np.sqrt(functions.sizes)[:, None]
    matrix = np.zeros((len(rows), width))
    for block, dictionary in zip(design.blocks, design.dictionaries, strict=True):
        index = dictionary.columns(rows)
        present = index >= 0
        matrix[present, : basis.shape[1]] += scaled[block.columns][index[present]]
    for place in missing:
        present = np.flatnonzero(place >= 0)
        matrix[present, place[present]] += 1.0
    # Rows may have very different sizes; scaled to length 1 they have equal influence on the rank.
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    size = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(size > TOLERANCE * size[0]))
