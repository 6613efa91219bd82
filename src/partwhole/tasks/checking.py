"""The contract of a task, checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partwhole._checks import require
from partwhole._contract import Contract
from partwhole._door import door
from partwhole.tasks._task import Task


@door
def check_task(make: Callable[[], Task]) -> None:
    """Check that a task is well made: the same at each call, and nothing held out is seen.

    What `Task` refuses, such as an index without a value, is an error when it is made.

    Parameters
    ----------
    make : callable
        Returns the task, such as ``lambda: my_task(seed=0)``.

    Raises
    ------
    CheckFailed
        With one sentence for each broken rule.
    InputError
        If `make` is not a function, or does not return a task.

    Notes
    -----
    It is checked that two calls return the same; names and each component's values differ;
    every value has a row; no combination is held out that is seen in training as well; rows of
    one combination have one target; and none of the arrays is shared between calls, so that
    nobody's changes reach another's task.

    Examples
    --------
    >>> from partwhole import tasks
    >>> check_task(lambda: tasks.symbolic_addition(range(-4, 5), [0]))
    """
    require(
        callable(make),
        "a check needs the function that makes the task",
        repr(make),
        "pass the function, not its task",
    )
    task, repeated = make(), make()
    require(
        isinstance(task, Task) and isinstance(repeated, Task), "a task is of the type Task",
        type(task).__name__, "return Task(...)",
    )  # fmt: skip
    contract = Contract(f"the task {task.title or getattr(make, '__name__', 'untitled')!r}")
    for name in ("components", "targets", "is_train"):
        first, second = getattr(task, name), getattr(repeated, name)
        contract.keeps(
            np.array_equal(first, second), f"two calls return the same {name}", "others; fix a seed"
        )
        contract.keeps(
            not np.shares_memory(first, second), f"two calls share no {name}", "one array for both"
        )
    contract.keeps(
        (task.names, task.values) == (repeated.names, repeated.values),
        "two calls return the same names and values", "others",
    )  # fmt: skip
    contract.keeps(
        len(set(task.names)) == len(task.names), "components' names differ", repr(task.names)
    )
    for name, values, column in zip(task.names, task.values, task.components.T, strict=True):
        contract.keeps(
            len(set(values)) == len(values), f"the values of {name!r} differ", repr(values)
        )
        unused = [values[index] for index in np.setdiff1d(np.arange(len(values)), column)]
        contract.keeps(not unused, f"every value of {name!r} has a row", f"none for {unused[:5]}")
    _, place = np.unique(task.components, axis=0, return_inverse=True)
    place = place.ravel()
    results = np.intersect1d(place[task.is_train], place[~task.is_train])
    contract.keeps(
        not len(results), "no combination is seen and held out at once", f"{len(results)} that are"
    )
    targets = task.targets.reshape(len(place), -1)
    high, low = (np.full((place.max() + 1, targets.shape[1]), end) for end in (-np.inf, np.inf))
    np.maximum.at(high, place, targets)
    np.minimum.at(low, place, targets)
    parts = int((high > low).any(axis=1).sum())
    contract.keeps(
        not parts, "rows of one combination have one target", f"{parts} combinations with more"
    )
    with contract.trying("the task is described, and listed as a table"):
        task.describe()
        contract.keeps(
            len(task.to_frame()) == len(place), "the table has a row for each row", len(place)
        )
    contract.close()
