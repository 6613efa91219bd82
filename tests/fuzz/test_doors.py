"""Awkward arguments of public functions: a right answer or one sentence, as users run them.

Every argument of a good call is given in other forms that mean the same, in forms that must be
refused, and in unusual ones. `python tests/fixtures/doors.py ROOM` prints the whole table.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path

import good_calls
import pytest

PROGRAM = Path(good_calls.__file__).parent / "doors.py"


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_outcome_is_right_or_one_sentence(room):
    """In a process of its own, without the tests' checks of types."""
    table = good_calls.printed(PROGRAM, room)
    assert len(table) > 50
    assert [row for row in table if row[-1] not in ("right", "refused")] == []


def public(room: str) -> Iterator[tuple[str, object]]:
    """Yield the name of every function, class and method of a room that takes arguments."""
    module = importlib.import_module(f"partwhole.{room}")
    for name in getattr(module, "__all__", None) or [
        each for each in vars(module) if each[0] != "_"
    ]:
        found = getattr(module, name)
        if inspect.isfunction(found) and inspect.signature(found).parameters:
            yield name, found
        if inspect.isclass(found) and not issubclass(found, Enum):
            if hasattr(found.__init__, "__door__"):
                yield name, found.__init__
            if getattr(found, "_is_protocol", False):
                continue
            bases = [base for base in found.__mro__ if base.__module__.startswith("partwhole")]
            members = {title: each for base in bases[::-1] for title, each in vars(base).items()}
            for title, member in members.items():
                method = getattr(member, "__func__", member)
                if not inspect.isfunction(method) or title.startswith("_"):
                    continue
                if len(inspect.signature(method).parameters) > 1 and not traced(method):
                    yield f"{name}.{title}", method


def is_in_solvers(room: str, name: str) -> bool:
    owner, _, method = name.partition(".")
    return method in good_calls.IN_SOLVERS.get(room, {}).get(owner, set())


def traced(method: Callable[..., object]) -> bool:
    """Return whether a method is a step that JAX traces, of arrays of its own."""
    return any("Float[Array" in str(each.annotation) for each in parameters(method))


def parameters(function: Callable[..., object]) -> Iterable[inspect.Parameter]:
    return inspect.signature(function).parameters.values()


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_public_function_has_a_door(room):
    for name, function in public(room):
        assert hasattr(function, "__door__") != is_in_solvers(room, name), name


@pytest.mark.parametrize("room", good_calls.ROOMS)
def test_every_public_function_has_a_good_call(room):
    names = {name for name, _ in public(room) if not is_in_solvers(room, name)}
    missing = names - set(good_calls.ROOMS[room]())
    assert missing == good_calls.WITHOUT.get(room, set())


# Those of `good_calls`, and those whose functions need files or long computing.
OPEN = [*good_calls.ROOMS, "recommendation", "study"]


@pytest.mark.parametrize("room", OPEN)
def test_every_switch_has_a_door(room):
    """Any text, "no" too, would count as True."""
    takes_one = {
        name: function
        for name, function in public(room)
        if any("bool" in str(each.annotation).split() for each in parameters(function))
    }
    assert [name for name, function in takes_one.items() if not hasattr(function, "__door__")] == []


def test_a_switch_without_a_door_is_found(monkeypatch):
    networks = importlib.import_module("partwhole.networks")
    monkeypatch.setattr(networks, "mlp", inspect.unwrap(networks.mlp))
    with pytest.raises(AssertionError, match="mlp"):
        test_every_switch_has_a_door("networks")
