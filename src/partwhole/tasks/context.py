"""Context dependence: the context decides which feature is relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Count
from partwhole.tasks._build import full_grid, matches
from partwhole.tasks._task import Task


@door
def context_dependence(
    left_out: int | Sequence[Mapping[int, Sequence[int]]] = 3,
    values_per_half: Count = 3,
    *,
    relevant_feature: Sequence[int] = (0, 1),
    title: str | None = None,
) -> Task:
    """Return context dependence: context z_1 makes one feature relevant.

    Each feature has 2 `values_per_half` values; those of the first half call for -1, those of
    the second for +1. In context c the response is that of feature ``relevant_feature[c]``.

    Parameters
    ----------
    left_out : int or sequence of mappings, default 3
        CD-r as an integer r in 1..`values_per_half`: held out, in every context, are the
        first r values of feature 1 joined with the first r of the second half of feature 2.
        In general form a sequence of conjunctions {component: value indices}; a tuple is held
        out when it satisfies any of them. Component 0 is the context.
    values_per_half : int, default 3
        Values n of each feature that call for each response.
    relevant_feature : sequence of int, keyword-only, default (0, 1)
        For each context, the feature (0 or 1) that decides.
    title : str, keyword-only, optional
        A name; "CD-r" by default.

    Returns
    -------
    Task
        Components context, feature 1, feature 2 in row-major order, targets -1 and +1.

    Raises
    ------
    InputError
        When `left_out` is outside 1..`values_per_half` or leaves nothing to train on.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), CD-1, CD-2 and CD-3: the more is left out, the harder.
    `left_out` removes tuples in all contexts.

    Examples
    --------
    >>> task = context_dependence(left_out=3, values_per_half=3)
    >>> task.n_train, task.n_test
    (54, 18)
    """
    n = values_per_half
    require(
        len(relevant_feature) >= 1 and set(relevant_feature) <= {0, 1},
        "relevant_feature names feature 0 or 1 for each context",
        list(relevant_feature),
        "for two contexts pass (0, 1)",
    )
    if isinstance(left_out, int):
        require(
            1 <= left_out <= n,
            f"left_out must lie in 1..{n}, the values in each half",
            left_out,
            "or pass conjunctions {component: value indices}",
        )
        name = f"CD-{left_out}"
        conjunctions: Sequence[Mapping[int, Sequence[int]]] = [
            {1: range(left_out), 2: range(n, n + left_out)}
        ]
    else:
        name, conjunctions = "context dependence", left_out
    components = full_grid([len(relevant_feature), 2 * n, 2 * n])
    deciding = np.asarray(relevant_feature)[components[:, 0]]
    response = np.where(components[np.arange(len(components)), 1 + deciding] < n, -1.0, 1.0)
    return Task(
        components,
        response,
        ~matches(components, conjunctions),
        ("context", "feature 1", "feature 2"),
        tuple(tuple(range(count)) for count in (len(relevant_feature), 2 * n, 2 * n)),
        title or name,
    )


@door
def stimulus_composition(n_contexts: int = 2) -> Task:
    """Return stimulus composition: an unseen pair of seen stimuli.

    Parameters
    ----------
    n_contexts : {2, 4}, default 2
        2: two contexts, 2 x 2 feature values, held out where feature 1 is 0 and feature 2 is
        1. 4: contexts 0, 1 make feature 1 relevant and 2, 3 feature 2, 4 x 4 values, held out
        where feature 1 is 0 or 1 and feature 2 is 2 or 3.

    Returns
    -------
    Task
        Context dependence with that split.

    Raises
    ------
    InputError
        When `n_contexts` is neither 2 nor 4.

    Examples
    --------
    >>> task = stimulus_composition()
    >>> task.n_train, task.n_test
    (6, 2)
    """
    require(
        n_contexts in (2, 4),
        "stimulus composition has 2 or 4 contexts",
        n_contexts,
        "use context_dependence for other numbers",
    )
    half = n_contexts // 2
    return context_dependence(
        [{1: range(half), 2: range(half, 2 * half)}],
        half,
        relevant_feature=[0] * half + [1] * half,
        title="stimulus composition",
    )


@door
def context_substitution(values_per_half: int = 3) -> Task:
    """Return context substitution: two equivalent contexts, with unseen values in one of them.

    Contexts 0 and 1 make feature 1 relevant, 2 and 3 feature 2. In contexts 0 and 2 the first
    value of each half is held out, of either feature; the other contexts show it.

    Parameters
    ----------
    values_per_half : int, default 3
        Values n of each feature that call for each response.

    Returns
    -------
    Task
        Components context (4 values), feature 1, feature 2.

    Examples
    --------
    >>> task = context_substitution()
    >>> task.n_train, task.n_test
    (104, 40)
    """
    new = (0, values_per_half)
    return context_dependence(
        [{0: (0, 2), 1: new}, {0: (0, 2), 2: new}],
        values_per_half,
        relevant_feature=(0, 0, 1, 1),
        title="context substitution",
    )
