"""Checks and conversion of the arguments of public functions, by their annotations."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Annotated, Any, Literal, TypeVar, Union, overload

import numpy as np
from jaxtyping import AbstractArray

from partwhole import _arguments as arguments
from partwhole._arguments import Rule
from partwhole._arrays import Array, Axes, Sizes
from partwhole._types import Bounds

T = TypeVar("T")
Plan = tuple[list[tuple[str, Rule | None]], dict[str, Rule]]


@overload
def door(target: T, /) -> T: ...
@overload
def door(
    *,
    missing: Collection[str] = (),
    infinite: Collection[str] = (),
    empty: Collection[str] = (),
    single: Collection[str] = (),
    any_size: Collection[str] = (),
    shape: str = "",
) -> Callable[[T], T]: ...


def door(
    target: Any = None,
    /,
    *,
    missing: Collection[str] = (),
    infinite: Collection[str] = (),
    empty: Collection[str] = (),
    single: Collection[str] = (),
    any_size: Collection[str] = (),
    shape: str = "",
) -> Any:
    """Check and convert the arguments of a function or dataclass by its annotations.

    Arrays come as lists, tuples, frames, series or arrays of any type of number, and arrive as
    NumPy arrays in 64 bits with the annotated axes; axes of one name are equally long in all
    arguments. Numbers are finite and at most 1e150 in size, and the largest of an array is 0 or at
    least 1e-150, so that they may be squared. A number has the bounds of its annotation:
    `Positive`, `Count` and the others of `partwhole._types`. A mask holds True and False, not 0 and
    1; a switch is True or False. Where only arrays of JAX are annotated they stay as they are,
    traced ones too. Any other annotation is not checked.

    Parameters
    ----------
    target : function or dataclass
        Its annotations are read at the first call.
    missing : names, keyword-only, default ()
        Arguments in which NaN and infinity are values.
    infinite : names, keyword-only, default ()
        Arguments in which infinity is a value, and NaN is not.
    empty : names, keyword-only, default ()
        Arguments whose named axes may have length 0.
    single : names, keyword-only, default ()
        Arguments that are held in 32 bits: an array in 32 bits, such as many images, stays as it
        is, and numbers that 32 bits cannot hold are refused.
    any_size : names, keyword-only, default ()
        Arguments that may be of any size, as they are not squared.
    shape : str, keyword-only, default ""
        Of a method: the names of the axes of `self.shape`, with which its arguments agree.

    Returns
    -------
    function or dataclass
        The same, with its signature and docstring.

    Examples
    --------
    >>> from jaxtyping import Float
    >>> @door
    ... def total(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> float:
    ...     return float(values @ weights)
    >>> total([1, 2], (0.5, 0.5))
    1.5
    >>> total([1, np.nan], [0.5, 0.5])
    Traceback (most recent call last):
    ...
    partwhole._checks.InputError: values is an array of finite numbers of shape (n,); got 1 that is NaN, at 1; drop or fill missing numbers first
    """  # noqa: E501
    options = _Options(
        frozenset(missing),
        frozenset(infinite),
        frozenset(empty),
        frozenset(single),
        frozenset(any_size),
        tuple(shape.split()),
    )
    if target is None:
        return lambda function: _with_door(function, options)
    return _with_door(target, options)


@dataclass(frozen=True)
class _Options:
    missing: frozenset[str]
    infinite: frozenset[str]
    empty: frozenset[str]
    single: frozenset[str]
    any_size: frozenset[str]
    shape: tuple[str, ...]


def _with_door(target: Any, options: _Options) -> Any:
    if isinstance(target, type):
        space = vars(sys.modules[target.__module__])
        target.__init__ = _entered(target.__init__, options, space)  # type: ignore[misc]
        return target
    return _entered(target, options, inspect.unwrap(target).__globals__)


def _entered(function: Callable[..., Any], options: _Options, space: dict[str, Any]) -> Any:
    plan: Plan | None = None

    @wraps(function)
    def entered(*values: Any, **keywords: Any) -> Any:
        nonlocal plan
        if plan is None:
            plan = _plan(function, options, space)
        in_order, by_name = plan
        sizes: Sizes = {}
        if options.shape:
            owner = f"the {type(values[0]).__name__}"
            lengths = zip(options.shape, values[0].shape, strict=True)
            sizes = {axis: (length, owner) for axis, length in lengths}
        converted = list(values)
        for i, (value, (name, rule)) in enumerate(zip(values, in_order, strict=False)):
            if rule is not None:
                converted[i] = rule(name, value, sizes)
        for name, value in keywords.items():
            rule = by_name.get(name)
            if rule is not None:
                keywords[name] = rule(name, value, sizes)
        # Read here, because tests replace the function by one that checks its types.
        return entered.__wrapped__(*converted, **keywords)

    entered.__door__ = options  # type: ignore[attr-defined]
    return entered


def _plan(function: Callable[..., Any], options: _Options, space: dict[str, Any]) -> Plan:
    """Read the rules of all parameters from their annotations."""
    raw = inspect.unwrap(function)
    parameters = inspect.signature(raw).parameters.values()
    hints = typing.get_type_hints(raw, space, _Names(space), include_extras=True)
    marked = options.missing | options.infinite | options.empty | options.single | options.any_size
    unknown = marked - {parameter.name for parameter in parameters}
    if unknown:
        raise TypeError(f"{raw.__qualname__} has no arguments {sorted(unknown)}")
    in_order: list[tuple[str, Rule | None]] = []
    by_name: dict[str, Rule] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # not checked
        name, default = parameter.name, parameter.default
        rule = _rule(hints.get(name, Any), name, default, options)
        if default is None and rule is not None and not rule.claims(None):
            rule = arguments.Either((rule, arguments.Kind(type(None))))
        if parameter.kind is not parameter.KEYWORD_ONLY:
            in_order.append((name, rule))
        if rule is not None:
            by_name[name] = rule
    return in_order, by_name


class _Unknown(type):
    """The type of the stand-in for names that are imported for type checkers alone."""

    def __getattr__(cls, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, item: object) -> type:
        return cls


class _AnyOf(metaclass=_Unknown):
    pass


class _Names(dict[str, Any]):
    """The names of a module; for those that it lacks, the class of its package or `_AnyOf`."""

    def __init__(self, space: dict[str, Any]) -> None:
        super().__init__()
        self.space = space

    def __missing__(self, name: str) -> Any:
        for names in (self.space, vars(builtins)):
            if name in names:
                return names[name]
        # A class imported for type checkers alone is loaded once an object of it exists.
        module, title = _for_checkers(self.space["__name__"]).get(name, ("", ""))
        return getattr(sys.modules.get(module), title, _AnyOf)


@cache
def _for_checkers(module: str) -> dict[str, tuple[str, str]]:
    """Return the imports of a module for type checkers alone: module and name, by local name."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError):
        return {}
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for block in tree.body
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def _rule(hint: Any, name: str, default: object, options: _Options) -> Rule | None:
    """Return the rule of an annotation, or None if it is not checked."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _either(parts, name, default, options)
    if origin is Literal:
        return arguments.Choice(parts)
    if origin is Annotated:
        bounds = next((part for part in parts[1:] if isinstance(part, Bounds)), None)
        if bounds is None:
            return _rule(parts[0], name, default, options)
        numbers = {*typing.get_args(parts[0])} or {parts[0]}
        return _number(numbers, name, default, options, bounds)
    if origin is not None:
        return _container(origin, parts, name, options)
    if hint is None or hint is type(None):
        return arguments.Kind(type(None))
    if not isinstance(hint, type) or hint in (Any, object, np.ndarray, _AnyOf):
        return None
    if _is_array(hint):
        return _array(hint, name, options)
    if hint is bool:
        return arguments.Switch()
    if hint in (int, float, np.integer):
        return _number({float if hint is float else int}, name, default, options)
    if getattr(hint, "_is_protocol", False):
        return _like(hint)
    if typing.is_typeddict(hint):
        return None
    return arguments.Kind(hint)


def _like(protocol: type) -> Rule | None:
    """Return the rule of a protocol: an object that has its public attributes."""
    bases = [base for base in protocol.__mro__ if getattr(base, "_is_protocol", False)]
    names = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    public = tuple(sorted(name for name in names if not name.startswith("_")))
    return arguments.Like(protocol.__name__, public) if public else None


def _either(parts: tuple[Any, ...], name: str, default: object, options: _Options) -> Rule | None:
    numbers = {part for part in parts if part in (int, float)}
    hints = [part for part in parts if part not in (int, float)]
    # The rule for an array of NumPy converts those of JAX too.
    if any(map(_kind, hints)):
        hints = [hint for hint in hints if _kind(hint) or not _is_array(hint)]
    rules: list[Rule | None] = [_number(numbers, name, default, options)] if numbers else []
    floats = [hint for hint in hints if _kind(hint) == "float"]
    wholes = [hint for hint in hints if _kind(hint) == "whole"]
    if floats and wholes and floats[0].dim_str == wholes[0].dim_str:
        hints = [hint for hint in hints if hint is not wholes[0] and hint is not floats[0]]
        rules.append(_array(floats[0], name, options, "either"))
    # The rule for a sequence accepts an array.
    if any(typing.get_origin(hint) is Sequence for hint in hints):
        hints = [hint for hint in hints if hint is not np.ndarray]
    rules += [_rule(hint, name, default, options) for hint in hints]
    checked = tuple(rule for rule in rules if rule is not None)
    if len(checked) == 1 == len(rules):
        return checked[0]
    return arguments.Either(checked, open=len(checked) < len(rules)) if checked else None


def _number(
    kinds: set[Any], name: str, default: object, options: _Options, bounds: Bounds | None = None
) -> Rule:
    plain = isinstance(default, (int, float))
    if kinds == {int}:
        return arguments.Whole(bounds, f", or leave it out for {default}" if plain else "")
    return arguments.Number(
        bounds, f", or leave it out for {default:g}" if plain else "", kinds == {float},
        name in options.missing, name in options.missing | options.infinite,
        name in options.single, name in options.any_size,
    )  # fmt: skip


def _is_array(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def _kind(hint: Any) -> str | None:
    """Return the kind of an annotated array; None for arrays of JAX and other annotations."""
    if not _is_array(hint) or hint.array_type is not np.ndarray:
        return None
    name = hint.dtype.__name__
    starts = {"Float": "float", "Int": "whole", "UInt": "whole", "Bool": "mask", "Real": "either"}
    return next((kind for start, kind in starts.items() if name.startswith(start)), None)


def _array(hint: Any, name: str, options: _Options, kind: str | None = None) -> Rule | None:
    kind = kind or _kind(hint)
    if kind is None:
        # An array of JAX, or its stand-in while JAX traces a function.
        return arguments.Like("Array", ("dtype", "shape"))
    exact = hint.dtype.__name__.lower()
    if kind == "mask":
        dtype = np.dtype(bool)
    elif exact[-1].isdigit():
        dtype = np.dtype(exact)
    else:
        dtype = np.dtype(np.int64 if kind == "whole" else np.float64)
    return Array(
        Axes(hint.dim_str, name in options.empty), kind, dtype,
        name in options.missing, name in options.missing | options.infinite,
        name in options.single, name in options.any_size,
    )  # fmt: skip


def _container(origin: Any, parts: tuple[Any, ...], name: str, options: _Options) -> Rule | None:
    if not isinstance(origin, type):
        return None
    if issubclass(origin, Mapping):
        rules = [_rule(part, name, inspect.Parameter.empty, options) for part in parts]
        return arguments.Named(*rules) if len(rules) == 2 else arguments.Named(None, None)
    lists = {"tuple", "list", "Sequence", "Iterable", "Collection"}
    if origin.__name__ in lists and parts:
        fixed = origin is tuple and parts[-1] is not ...
        hints = parts if fixed else parts[:1]
        rules = [_rule(part, name, inspect.Parameter.empty, options) for part in hints]
        items = tuple(rule or arguments.Anything() for rule in rules)
        return arguments.Several(items, fixed, origin is tuple, origin.__name__ == "Iterable")
    if origin.__name__ == "Callable":
        return arguments.Kind(origin)
    return None
