"""Components whose values have an order: numbers, and labels that are listed in theirs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from partwhole._checks import require
from partwhole.audit.reading.columns import Column, Texts, as_number, listing, near, quoted

Ordered = Mapping[Hashable, Sequence[Hashable] | None] | Sequence[Hashable]
Positions = dict[str, dict[Hashable, float]]


@dataclass(frozen=True, eq=False)
class InOrder:
    """The components' values as numbers, those of ordered components in their order.

    Parameters
    ----------
    coded : int array, shape (n, C)
    values : tuple of tuples, length C
    positions : dict from component to dict from value to float
        Of ordered components: the number, or the place in the list.
    """

    coded: Int[np.ndarray, "n C"]
    values: tuple[tuple[Hashable, ...], ...]
    positions: Positions


def in_their_order(
    columns: Sequence[tuple[Column, Hashable]],
    coded: Int[np.ndarray, "n C"],
    values: tuple[tuple[Hashable, ...], ...],
    ordered: Ordered,
) -> InOrder:
    """Return components with the values of ordered ones in their order, and their positions.

    Parameters
    ----------
    columns : sequence of (column, name)
    coded, values
        Of these columns.
    ordered : mapping from component to values in their order, or sequence of components
        Of those without a list values are numbers, categories that are ordered, or bins.

    Raises
    ------
    InputError
        If a name is no component, a list lacks a value or has it twice, or values without a list
        are no numbers.

    Examples
    --------
    >>> sizes = Texts(np.array([0, 1, 2]), ("large", "medium", "small"))
    >>> size = in_their_order([(sizes, "size")], np.array([[0], [1], [2]]), (sizes.texts,),
    ...                       {"size": ["small", "medium", "large"]})
    >>> size.values, size.coded.ravel().tolist(), list(size.positions["size"].values())
    ((('small', 'medium', 'large'),), [2, 1, 0], [0.0, 1.0, 2.0])
    """
    lists = ordered if isinstance(ordered, Mapping) else dict.fromkeys(ordered)
    names = [str(name) for _, name in columns]
    coded, arranged, positions = coded.copy(), list(values), {}
    for name, listed in lists.items():
        require(
            str(name) in names,
            "ordered components are components",
            f"{str(name)!r}, components are {listing(names)}",
            near(str(name), names, "name one of them"),
        )
        c = names.index(str(name))
        if listed is None:
            places = _of_numbers(columns[c][0], values[c], str(name))
        else:
            places = _of_list(list(listed), values[c], str(name))
        order = np.argsort(places, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        coded[:, c] = rank[coded[:, c]]
        arranged[c] = tuple(values[c][i] for i in order)
        positions[str(name)] = {values[c][i]: float(places[i]) for i in order}
    return InOrder(coded, tuple(arranged), positions)


def _of_numbers(column: Column, values: Sequence[Hashable], name: str) -> list[float]:
    """Return the numbers of values, or their places if the column itself orders them."""
    if getattr(column, "dtype", None) is not None and getattr(column.dtype, "ordered", False):
        return [float(i) for i in range(len(values))]
    number = column.number if isinstance(column, Texts) else as_number
    numbers = [number(str(value)) for value in values]
    wrong = [
        value
        for value, read_as in zip(values, numbers, strict=True)
        if read_as is None or not math.isfinite(read_as)
    ]
    require(
        not wrong,
        "values of an ordered component are numbers, or are listed in their order",
        f"{quoted(wrong[0]) if wrong else ''} in {name!r}",
        f"list them all, such as {name}=small,medium,large",
    )
    return [float(read_as) for read_as in numbers if read_as is not None]


def _of_list(listed: list[Hashable], values: Sequence[Hashable], name: str) -> list[float]:
    texts = [str(value) for value in listed]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    require(
        twice is None,
        "the order of a component names each value once",
        f"{quoted(twice)} twice for {name!r}",
        "name it once",
    )
    missing = [str(value) for value in values if str(value) not in texts]
    unused = [text for text in texts if text not in set(map(str, values))]
    require(
        not missing,
        "the order of a component names all of its values",
        f"none of {listing(missing)} for {name!r}",
        near(missing[0], unused, "add them") if missing else "",
    )
    kept = [text for text in texts if text not in unused]
    return [float(kept.index(str(value))) for value in values]


def positions_of(
    positions: Positions, names: Sequence[str], values: Sequence[Sequence[Hashable]]
) -> tuple[tuple[float, ...] | None, ...]:
    """Return the positions of the values of these components; empty if none is ordered."""
    if not any(name in positions for name in names):
        return ()
    return tuple(
        tuple(positions[name][value] for value in of) if name in positions else None
        for name, of in zip(names, values, strict=True)
    )
