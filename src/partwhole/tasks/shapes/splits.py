"""Splits of classes into seen and held-out ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool

from partwhole._checks import is_whole, require
from partwhole._door import door
from partwhole._types import Count
from partwhole.tasks.shapes.classes import Combination
from partwhole.tasks.shapes.graph import hamming_distance

if TYPE_CHECKING:
    from partwhole.tasks.images.attribute_space import AttributeSpace
    from partwhole.tasks.shapes.space import ConceptSpace


@door
def leave_out(
    space: ConceptSpace | AttributeSpace, combinations: Combination | Sequence[Combination]
) -> Bool[np.ndarray, " k"]:
    """Return a split that holds out combinations.

    Parameters
    ----------
    space : ConceptSpace or AttributeSpace
    combinations : int, str, or sequence of them or of sequences of str
        Classes by number or by words; words of some of the concepts hold out every class they
        are true of. Words alone in a list are one combination: ``["blue", "small"]`` is
        ``"blue small"``, and ``[["blue"], ["small"]]`` two.

    Returns
    -------
    bool array, shape (k,)
        True for the classes that are seen.

    Raises
    ------
    InputError
        For unknown words or numbers, and when nothing or everything is held out.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.splits import leave_out
    >>> leave_out(circles(), "blue small").tolist()
    [True, True, True, False]
    >>> leave_out(circles(), [0, 3]).tolist()
    [False, True, True, False]
    """
    if isinstance(combinations, str) or is_whole(combinations):
        listed = [combinations]
    else:
        requested = list(combinations)  # pyright: ignore[reportArgumentType]
        single = len(requested) > 0 and all(
            isinstance(entry, str) and " " not in entry for entry in requested
        )
        listed = [requested] if single else requested
    is_held_out = np.zeros(space.n_classes, dtype=bool)
    for combination in listed:
        is_held_out |= space.select(combination)  # pyright: ignore[reportArgumentType]
    require(
        0 < is_held_out.sum() < len(is_held_out),
        "some classes are held out and some are seen",
        f"{int(is_held_out.sum())} of {len(is_held_out)} held out",
        "name combinations that leave some",
    )
    return ~is_held_out


@door
def distance_one(
    space: ConceptSpace | AttributeSpace, centre: Combination
) -> Bool[np.ndarray, " k"]:
    """Return a split with one seen class and its neighbours in one concept.

    Parameters
    ----------
    space : ConceptSpace or AttributeSpace
    centre : int, str or sequence of str
        A class, by number or by a word of each concept.

    Returns
    -------
    bool array, shape (k,)
        True where at most one concept differs from the centre.

    Raises
    ------
    InputError
        For an unknown class.

    Notes
    -----
    Okawa et al. (NeurIPS 2023), around 000 of three concepts; Park et al. (NeurIPS 2024).

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.splits import distance_one
    >>> distance_one(circles(background_separation=0.6), "red big light").tolist()
    [True, True, True, False, True, False, False, False]
    """
    seen_class = space.index(centre)
    return hamming_distance(space.classes, space.classes[seen_class : seen_class + 1])[:, 0] <= 1


@door
def adversarial_split(
    space: ConceptSpace | AttributeSpace, target: Combination, *, n_train: Count | None = None
) -> Bool[np.ndarray, " k"]:
    r"""Return a split whose seen classes differ pairwise in at least two concepts.

    The seen classes are chosen among those whose value indices :math:`v_c` have
    :math:`\sum_c v_c \equiv r` modulo the largest number of values, for a remainder r that is not
    the target's. Then

    - no two seen classes are neighbours in the concept graph: nothing that is seen shows what
      changing one concept alone does, and no seen path leads from one seen class to another;
    - the target is held out, though each of its values is seen;
    - there are as many as `distance_one` sees, or fewer where there are not so many.

    Among the remainders the smallest is taken that shows the target's values; among its classes
    those first that show most values not yet shown, the target's before others, then in order.

    Parameters
    ----------
    space : ConceptSpace or AttributeSpace
        With at least two concepts.
    target : int, str or sequence of str
        The held-out class of the test.
    n_train : int, keyword-only, default None
        How many classes are seen; None for the number that `distance_one` sees, or all there are
        when that is less. With two concepts of two values it is 2 where `distance_one` sees 3.

    Returns
    -------
    bool array, shape (k,)
        True for the classes that are seen.

    Raises
    ------
    InputError
        For one concept alone, an unknown class, and more classes than there are, or too few to
        show the target's values.

    Notes
    -----
    Okawa et al. (NeurIPS 2023) train on classes that are not all at distance one, which fails.
    This set is a definition of our own that has the property for every pair.

    Examples
    --------
    >>> import numpy as np
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.splits import adversarial_split
    >>> space = circles(background_separation=0.6)
    >>> [space.label(i) for i in np.flatnonzero(adversarial_split(space, "red big light"))]
    ['red big dark circle', 'red small light circle', 'blue big light circle',
    'blue small dark circle']
    """
    require(
        len(space.n_values) >= 2,
        "an adversarial split needs two concepts",
        "1",
        "add a concept",
    )
    classes, target_values = space.classes, space.classes[space.index(target)]
    modulus = max(space.n_values)
    remainders = classes.sum(axis=1) % modulus
    # The target's values are all seen for some remainder: another concept makes up for each.
    members = next(
        rows
        for r in range(modulus)
        if r != target_values.sum() % modulus
        and (classes[rows := np.flatnonzero(remainders == r)] == target_values).any(axis=0).all()
    )
    usual = 1 + sum(n - 1 for n in space.n_values)
    n = min(usual, len(members)) if n_train is None else n_train
    require(
        n <= len(members),
        f"{len(members)} classes differ pairwise in two concepts here",
        f"n_train={n}",
        "lower n_train",
    )
    selected = _covering(classes[members], target_values, n)
    require(
        bool((classes[members[selected]] == target_values).any(axis=0).all()),
        "each value of the target is seen",
        f"n_train={n}, too few to show them",
        "raise n_train",
    )
    is_train = np.zeros(space.n_classes, dtype=bool)
    is_train[members[selected]] = True
    return is_train


def _covering(classes: np.ndarray, target_values: np.ndarray, n: int) -> list[int]:
    """Return n rows, each the one with most uncovered values, `target_values` first."""
    covered: set[tuple[int, int]] = set()
    left, selected = list(range(len(classes))), []

    def gain(row: int) -> tuple[int, int, int]:
        new = [(c, int(v)) for c, v in enumerate(classes[row]) if (c, int(v)) not in covered]
        return sum(v == int(target_values[c]) for c, v in new), len(new), -row

    while len(selected) < n:
        best = max(left, key=gain)
        left.remove(best)
        selected.append(best)
        covered |= {(c, int(v)) for c, v in enumerate(classes[best])}
    return selected
