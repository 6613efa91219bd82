"""Ambiguity: functions that can be added to any answer without changing it on training."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from time import process_time

import numpy as np
from jaxtyping import Int
from scipy import sparse

from partwhole._door import door
from partwhole.features.conjunctions import ConjunctionDesign, conjunction_sets
from partwhole.limits.proofs._indicators import (
    as_sparse,
    distinct,
    require_same_task,
    whole_multiples,
)
from partwhole.tasks import Task

PROGRAM_COLUMNS = 1500
PROGRAM_SECONDS = 2.0
ROWS_AT_ONCE = 300


@dataclass(frozen=True, eq=False)
class Ambiguity:
    """Sum of conjunctions that is 0 on every training row and 1 on a held-out one.

    Any multiple of it can be added to a learner's answers without changing them on training.

    Parameters
    ----------
    row : tuple of int
        The held-out combination's value indices.
    terms : tuple of (components, values, weight)
        Conjunctions, as component indices and value indices, and their weights.
    """

    row: tuple[int, ...]
    terms: tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...]

    @door
    def in_words(self, task: Task, limit: int = 12) -> str:
        """Return the function in words: the combinations that change, and by how much.

        Parameters
        ----------
        task : Task
            The task that the row belongs to.
        limit : int, default 12
            Largest number of conjunctions to name; further ones are counted.

        Returns
        -------
        str
            Such as "add 1 where shape is circle, subtract 1 where colour is red: no training
            combination changes, (circle, blue) changes by 1".

        Raises
        ------
        InputError
            For a task that does not have the row.
        """
        entries = [pair for term in self.terms for pair in zip(*term[:2], strict=True)]
        require_same_task(task, values=[*enumerate(self.row), *entries])
        # Values of the same component with the same weight share a phrase.
        groups: dict[tuple[float, tuple[int, ...]], list[str]] = defaultdict(list)
        for components, values, weight in self.terms[:limit]:
            names = [str(task.values[c][v]) for c, v in zip(components, values, strict=True)]
            groups[weight, components].append(" and ".join(names))
        phrases = []
        for (weight, components), choices in groups.items():
            verb = f"{'add' if weight > 0 else 'subtract'} {abs(weight):g}"
            if not components:
                phrases.append(f"{verb} everywhere")
                continue
            where = " and ".join(task.names[c] for c in components)
            verb += f" where {where} {'are' if len(components) > 1 else 'is'} "
            phrases.append(verb + _listed(choices))
        n_remaining = len(self.terms) - limit
        if n_remaining > 0:
            phrases.append(f"and so on for {n_remaining} more")
        row = ", ".join(str(task.values[c][v]) for c, v in enumerate(self.row))
        return f"{', '.join(phrases)}: no training combination changes, ({row}) changes by 1"


def _listed(names: list[str]) -> str:
    """Return names as a list in words, such as "red, green or blue"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def find_ambiguity(task: Task, order: int, row: Int[np.ndarray, " C"]) -> Ambiguity | None:
    """Return a null function of few terms that is 1 at a row that training does not determine.

    Parameters
    ----------
    task : Task
    order : int
        Largest number of components of a conjunction.
    row : int array, shape (C,)

    Returns
    -------
    Ambiguity or None
        The smallest unseen conjunction of the row, if there is one. Otherwise, for two components
        at order 1, the values of one connected component of the graph of values seen together; or
        else the null function of least total weight, by a linear program, if there are at most
        1,500 seen conjunctions and it ends within 2 s.
    """
    where = tuple(int(v) for v in row)
    train = task.train_components
    agrees = train == row
    for chosen in conjunction_sets(task.n_components, order):
        if not agrees[:, list(chosen)].all(axis=1).any():
            return Ambiguity(where, ((chosen, tuple(where[c] for c in chosen), 1.0),))
    if task.n_components == 2 and order == 1:
        return Ambiguity(where, _one_side(task, where))
    terms = _least_weight(task, order, row)
    return None if terms is None else Ambiguity(where, terms)


def _one_side(
    task: Task, row: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...]:
    """Return the null function of one connected part of the graph of values seen together.

    It is 1 on values of one component of the task and -1 on those of the other. The row's two
    values are in different parts; the smaller part is used.
    """
    left, right = task.n_values
    train = task.train_components
    ones = np.ones(len(train), dtype=np.int8)
    edges = sparse.coo_array((ones, (train[:, 0], left + train[:, 1])), (left + right,) * 2)
    part = sparse.csgraph.connected_components(edges.tocsr(), directed=False)[1]
    ends = row[0], left + row[1]
    side = min((0, 1), key=lambda s: int(np.sum(part == part[ends[s]])))
    members = np.flatnonzero(part == part[ends[side]])
    terms = []
    for member in members.tolist():
        component = int(member >= left)
        weight = 1.0 if component == side else -1.0
        terms.append(((component,), (member - component * left,), weight))
    return tuple(sorted(terms, key=lambda term: -term[2]))


def _least_weight(
    task: Task, order: int, row: Int[np.ndarray, " C"]
) -> tuple[tuple[tuple[int, ...], tuple[int, ...], float], ...] | None:
    """Return the terms of the null function of least total weight; None if it is too large."""
    deadline = process_time() + PROGRAM_SECONDS
    sets = conjunction_sets(task.n_components, order)
    train = task.components[distinct(task, np.flatnonzero(task.is_train))[1]]
    design = ConjunctionDesign.seen(train, sets, task.n_values)
    p = design.shape[1]
    if p > PROGRAM_COLUMNS:
        return None
    phi = as_sparse(design)
    at_row = as_sparse(design.at(row[None, :]))
    whole = _solve_lazily(phi, at_row, np.sum(train == row, axis=1), deadline)
    if whole is None:
        return None
    weights, parts = whole
    terms = []
    for block, dictionary in zip(design.blocks, design.dictionaries, strict=True):
        block_weights = weights[block.columns]
        for index in np.flatnonzero(block_weights):
            values = tuple(int(v) for v in dictionary.values()[index])
            terms.append((dictionary.components, values, float(block_weights[index]) / parts))
    return tuple(sorted(terms, key=lambda term: (-term[2], len(term[0]))))


def _solve_lazily(
    phi: sparse.csr_array, at_row: sparse.csr_array, shared: np.ndarray, deadline: float
) -> tuple[np.ndarray, int] | None:
    """Return coefficients in whole numbers and their value at the row, checked exactly.

    The linear program starts with some training rows; rows on which its solution is not 0 are
    added until there are none.
    """
    from scipy.optimize import linprog

    n, p = phi.shape  # pyright: ignore[reportGeneralTypeIssues]
    active = np.argsort(-shared, kind="stable")[:ROWS_AT_ONCE]
    while process_time() < deadline:
        rows = sparse.vstack([phi[active], at_row])
        program = linprog(
            np.ones(2 * p),
            A_eq=sparse.hstack([rows, -rows]).tocsr(),
            b_eq=np.append(np.zeros(len(active)), 1.0),
            method="highs",
            options={"time_limit": max(0.01, deadline - process_time())},
        )
        if program.status != 0:
            return None
        v = program.x[:p] - program.x[p:]
        gap = np.abs(phi @ v)
        broken = np.flatnonzero(gap > 1e-7)
        if len(broken) == 0:
            for whole in whole_multiples(v, 1.0):
                if not np.any(phi @ whole):
                    return whole, int(np.rint(at_row.toarray()[0] @ whole))
            return None
        active = np.concatenate([active, broken[np.argsort(-gap[broken])][:ROWS_AT_ONCE]])
        if len(active) > n:
            return None
    return None
