"""Relations between items: transitive equivalence, associative inference, ordering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from partwhole._checks import require
from partwhole._door import door
from partwhole._types import Bounds
from partwhole.tasks._build import full_grid, require_size
from partwhole.tasks._task import Task


@door
def transitive_equivalence(
    class_sizes: Sequence[int] = (2, 2), anchors: Sequence[int] = (1, 1)
) -> Task:
    """Return transitive equivalence: do two items belong to the same hidden class?

    Items are numbered class after class; tuples are all ordered pairs, the diagonal too. The
    target is +1 within a class and -1 across. A pair is seen when one of its items is an
    anchor (the first items of each class).

    Parameters
    ----------
    class_sizes : sequence of int, default (2, 2)
        Items in each class.
    anchors : sequence of int, default (1, 1)
        Anchors in each class.

    Returns
    -------
    Task
        Ordered pairs in row-major order.

    Raises
    ------
    InputError
        When the lists differ in length or a class has more anchors than items.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), transitive equivalence.

    Examples
    --------
    >>> task = transitive_equivalence([5, 5], [1, 1])
    >>> task.n_train, task.n_test
    (36, 64)
    """
    require(
        len(class_sizes) == len(anchors),
        "anchors are a number for each class",
        f"{len(class_sizes)} classes and {len(anchors)} numbers of anchors",
        "pass lists of equal length",
    )
    require(
        all(0 <= k <= size for size, k in zip(class_sizes, anchors, strict=True)),
        "a class can't have more anchors than items",
        f"sizes {list(class_sizes)}, anchors {list(anchors)}",
        "lower the anchors",
    )
    require_size(sum(class_sizes) ** 2, 2)
    label = np.repeat(np.arange(len(class_sizes)), class_sizes)
    is_anchor = np.concatenate(
        [np.arange(size) < k for size, k in zip(class_sizes, anchors, strict=True)]
    )
    components = full_grid([len(label)] * 2)
    first, second = components.T
    return Task(
        components,
        np.where(label[first] == label[second], 1.0, -1.0),
        is_anchor[first] | is_anchor[second],
        ("first", "second"),
        (tuple(range(len(label))),) * 2,
        "transitive equivalence",
    )


def associative_inference() -> Task:
    """Return associative inference: transitive equivalence with two classes of two items.

    Items A, B in one class and C, D in the other; held out are the pairs (A, B), (A, D),
    (C, B) and (C, D): an item of each class as the first, the other item of each as the
    second. Every other ordered pair, the diagonal too, is seen.

    Returns
    -------
    Task
        16 ordered pairs, 12 of them seen.

    Notes
    -----
    Lippl & Stachenfeld, first arXiv version, associative inference.

    Examples
    --------
    >>> task = associative_inference()
    >>> task.n_train, task.n_test
    (12, 4)
    """
    components = full_grid([4, 4])
    first, second = components.T
    held_out = np.isin(first, (0, 2)) & np.isin(second, (1, 3))
    return Task(
        components,
        np.where(first // 2 == second // 2, 1.0, -1.0),
        ~held_out,
        ("first", "second"),
        (("A", "B", "C", "D"),) * 2,
        "associative inference",
    )


@door
def transitive_ordering(
    n_items: Annotated[int, Bounds(at_least=2)] = 7,
    train_distances: Sequence[int] = (1,),
    *,
    exceptions: Sequence[tuple[int, int]] = (),
) -> Task:
    """Return transitive ordering: which of two items comes first?

    Tuples are the ordered pairs of different items; the target is +1 when the first item has
    the lower rank. Seen are the pairs whose distance in rank is among `train_distances`.

    Parameters
    ----------
    n_items : int, default 7
        Items, ranked 0..n_items - 1.
    train_distances : sequence of int, default (1,)
        Distances in rank that are seen.
    exceptions : sequence of pairs of int, keyword-only, default ()
        Pairs (i, j) whose label is reversed. They are seen, in both orders. Pairs that lie
        strictly between the items of an exception (i < k and l < j) have no agreed answer and
        are left out of the task unless their distance is trained.

    Returns
    -------
    Task
        Ordered pairs in row-major order.

    Raises
    ------
    InputError
        When there are fewer than two items or an exception is not a pair of two items.

    Notes
    -----
    Lippl & Stachenfeld (ICLR 2025), transitive ordering. With exceptions the published code
    labels +1 when the first item has the higher rank; here the sign is that of the task
    without exceptions.

    Examples
    --------
    >>> task = transitive_ordering(7)
    >>> task.n_train, task.n_test
    (12, 30)
    """
    absent = [distance for distance in train_distances if not 1 <= distance < n_items]
    require(
        not absent,
        f"distances of {n_items} items are 1..{n_items - 1}",
        f"train_distances {list(train_distances)}",
        "name distances in rank",
    )
    for pair in exceptions:
        require(
            len(pair) == 2 and pair[0] != pair[1] and all(0 <= item < n_items for item in pair),
            f"an exception is a pair of different items in 0..{n_items - 1}",
            tuple(pair),
            "name two ranks",
        )
    components = full_grid([n_items] * 2)
    components = components[components[:, 0] != components[:, 1]]
    low, high = components.min(axis=1), components.max(axis=1)
    targets = np.where(components[:, 0] < components[:, 1], 1.0, -1.0)
    is_train = np.isin(high - low, list(train_distances))
    keep = np.ones(len(components), dtype=bool)
    for pair in exceptions:
        i, j = min(pair), max(pair)
        keep &= is_train | ~((i < low) & (high < j))
    for pair in exceptions:
        i, j = min(pair), max(pair)
        exceptional = (low == i) & (high == j)
        targets[exceptional] *= -1
        is_train |= exceptional
        keep |= exceptional
    return Task(
        components[keep],
        targets[keep],
        is_train[keep],
        ("first", "second"),
        (tuple(range(n_items)),) * 2,
        "transitive ordering",
    )
