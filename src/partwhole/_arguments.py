"""Rules for arguments other than arrays: numbers, switches, choices, objects, sequences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from partwhole._arrays import LARGEST, SINGLE_LIMIT, WHOLE_LIMIT, Sizes, as_read
from partwhole._checks import InputError, require
from partwhole._types import Bounds


@runtime_checkable
class Rule(Protocol):
    """A rule for one argument; a call returns the converted argument or raises `InputError`."""

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any: ...

    def claims(self, value: object) -> bool:
        """Return whether this rule is the one to apply to the value, of several rules."""
        ...

    @property
    def noun(self) -> str:
        """The words after "is" in the sentence of the rule."""
        ...


def _refuse(rule: Rule, name: str, value: object, remedy: str) -> NoReturn:
    raise InputError(f"{name} is {rule.noun}; got {as_read(value)}; {remedy}")


def _scalar(value: Any) -> Any:
    """Return the number in an array without axes; return any other value unchanged."""
    if getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return value
    timed = getattr(value, "dtype", None) is not None and value.dtype.kind in "mM"
    if timed or isinstance(value, np.ma.MaskedArray):
        return value
    try:
        return value.item()
    except Exception:  # of an array that JAX traces, which has no number yet
        return value


def _within(noun: str, bounds: Bounds | None) -> str:
    return f"{noun} {bounds}" if bounds else noun


@dataclass(frozen=True)
class Number:
    """One number; finite unless it says otherwise. A NaN, where it is a value, has no bounds."""

    bounds: Bounds | None = None
    default: str = ""
    floating: bool = False
    nan: bool = False
    infinite: bool = False
    single: bool = False
    any_size: bool = False

    @property
    def noun(self) -> str:
        return _within("a number" if self.infinite or self.nan else "a finite number", self.bounds)

    @property
    def remedy(self) -> str:
        return f"pass {_within('a number', self.bounds) if self.bounds else 'one number'}"

    def claims(self, value: object) -> bool:
        return isinstance(value, (Real, complex)) or getattr(value, "shape", None) == ()

    def __call__(self, name: str, value: Any, sizes: Sizes) -> int | float:
        if type(value) is not float and type(value) is not int:
            value = _scalar(value)
            if not isinstance(value, Real) or isinstance(value, (bool, np.timedelta64)):
                _refuse(self, name, value, self.remedy + self.default)
        try:
            number = float(value)
        except OverflowError:
            _refuse(self, name, value, self.remedy + self.default)
        if math.isnan(number):
            good = self.nan
        else:
            good = self.infinite or math.isfinite(number)
            good = good and (self.bounds is None or self.bounds.contain(number))
        if not good:
            _refuse(self, name, value, self.remedy + self.default)
        self._refuse_sizes(name, number)
        # Whole numbers of more than 64 bits are no numbers of NumPy's.
        if type(value) is int and -WHOLE_LIMIT <= value < WHOLE_LIMIT and not self.floating:
            return value
        return number

    def _refuse_sizes(self, name: str, number: float) -> None:
        """Refuse a number whose square overflows; one that vanishes is as good as 0."""
        size = abs(number)
        if self.single and SINGLE_LIMIT < size < math.inf:
            rule = f"{name} is a number that single precision holds, up to {SINGLE_LIMIT:.1e}"
            raise InputError(f"{rule}; got {number:.3g}; {self.remedy}{self.default}")
        if LARGEST < size < math.inf and not self.any_size:
            rule = f"the size of {name} is at most 1e150"
            raise InputError(f"{rule}; got {number:.3g}; {self.remedy}{self.default}")


@dataclass(frozen=True)
class Whole:
    """One whole number of at most 64 bits."""

    bounds: Bounds | None = None
    default: str = ""

    @property
    def noun(self) -> str:
        return _within("a whole number", self.bounds)

    @property
    def remedy(self) -> str:
        return f"pass {self.noun if self.bounds else 'one whole number'}"

    def claims(self, value: object) -> bool:
        return Number().claims(value)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> int:
        if type(value) is not int:
            value = _scalar(value)
            if not isinstance(value, Integral) or isinstance(value, (bool, np.timedelta64)):
                _refuse(self, name, value, self.remedy + self.default)
            value = int(value)
        if not -WHOLE_LIMIT <= value < WHOLE_LIMIT:
            rule = f"{name} is a whole number of 64 bits"
            raise InputError(f"{rule}; got {as_read(value)}; {self.remedy}{self.default}")
        if self.bounds is not None and not self.bounds.contain(value):
            _refuse(self, name, value, self.remedy + self.default)
        return value


@dataclass(frozen=True)
class Switch:
    """True or False; in Python any text, even "no", counts as True."""

    noun = "True or False"

    def claims(self, value: object) -> bool:
        return isinstance(value, (bool, np.bool_))

    def __call__(self, name: str, value: Any, sizes: Sizes) -> bool:
        if not self.claims(value):
            _refuse(self, name, value, "choose one of them")
        return bool(value)


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    options: tuple[object, ...]

    @property
    def noun(self) -> str:
        texts = [f'"{o}"' if isinstance(o, str) else repr(o) for o in self.options]
        return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)

    def claims(self, value: object) -> bool:
        return any(type(value) is type(option) for option in self.options)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> object:
        value = _scalar(value)
        if not any(type(value) is type(o) and value == o for o in self.options):
            _refuse(self, name, value, "choose one of them")
        return value


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


@dataclass(frozen=True)
class Kind:
    """An object of a class, text among them, or None."""

    kind: type

    @property
    def noun(self) -> str:
        name = self.kind.__name__
        plain = {"str": "text", "NoneType": "None", "Path": "a path", "Callable": "a function"}
        return plain.get(name) or _article(name)

    def claims(self, value: object) -> bool:
        return isinstance(value, self.kind)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        if not self.claims(value):
            _refuse(self, name, value, f"pass {self.noun}")
        return value


@dataclass(frozen=True)
class Anything:
    """Any value."""

    noun = "anything"

    def claims(self, value: object) -> bool:
        return True

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        return value


@dataclass(frozen=True)
class Like:
    """An object with the public attributes of a protocol."""

    title: str
    names: tuple[str, ...]

    @property
    def noun(self) -> str:
        return f"{_article(self.title)}, with the attributes {', '.join(self.names)}"

    def claims(self, value: object) -> bool:
        return all(hasattr(value, name) for name in self.names)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        if not self.claims(value):
            _refuse(self, name, value, f"pass {_article(self.title)}")
        return value


@dataclass(frozen=True)
class Several:
    """A sequence: one rule for all items, or with `fixed` a rule for each item.

    With `lazy` any iterable will do; with `as_tuple` the result is a tuple.
    """

    items: tuple[Rule, ...]
    fixed: bool = False
    as_tuple: bool = False
    lazy: bool = False

    @property
    def noun(self) -> str:
        if self.fixed:
            count = "a pair" if len(self.items) == 2 else f"{len(self.items)} items"
            return f"{count} ({', '.join(rule.noun for rule in self.items)})"
        return f"a sequence, each item {self.items[0].noun}"

    def claims(self, value: object) -> bool:
        if isinstance(value, (list, tuple, range)):
            return len(value) == 0 or self.items[0].claims(value[0])
        if hasattr(value, "__array__"):
            return getattr(value, "shape", ()) != ()
        return self.lazy and isinstance(value, Iterable) and not isinstance(value, (str, bytes))

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        listed = isinstance(value, (list, tuple, range)) or hasattr(value, "__array__")
        lazy = self.lazy and isinstance(value, Iterable) and not isinstance(value, (str, bytes))
        if not listed and not lazy:
            text = isinstance(value, str)
            _refuse(self, name, value, f"pass [{value!r}]" if text else "pass a list or a tuple")
        if isinstance(value, np.ma.MaskedArray) and (hidden := int(np.ma.count_masked(value))):
            raise InputError(
                f"{name} is {self.noun}; got {hidden} masked; drop or fill masked entries first"
            )
        if hasattr(value, "__array__"):
            value = np.asarray(value)
            if value.ndim == 0:
                _refuse(self, name, value, "pass a list or a tuple")
            plain = value.ndim == 1 and value.dtype.kind in "fiub"
            value = value.tolist() if plain or value.dtype == object else list(value)
        if isinstance(value, range) and not self.fixed:
            return tuple(value) if self.as_tuple else value
        items, n = list(value), len(self.items)
        if self.fixed and len(items) != n:
            raise InputError(f"{name} is {self.noun}; got {len(items)} items; pass {n}")
        rules = self.items if self.fixed else self.items * len(items)
        converted = [
            rule(f"{name}[{i}]", item, sizes)
            for i, (rule, item) in enumerate(zip(rules, items, strict=True))
        ]
        return converted if isinstance(value, list) and not self.as_tuple else tuple(converted)


@dataclass(frozen=True)
class Named:
    """A mapping, with rules for its keys and values."""

    keys: Rule | None
    values: Rule | None

    @property
    def noun(self) -> str:
        return "a mapping" + (f", each value {self.values.noun}" if self.values else "")

    def claims(self, value: object) -> bool:
        return isinstance(value, Mapping)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        if not self.claims(value):
            _refuse(self, name, value, "pass a dictionary")
        if self.keys is None and self.values is None:
            return value
        keys, values = self.keys or Anything(), self.values or Anything()
        return {
            keys(f"a key of {name}", key, {}): values(f"{name}[{key!r}]", entry, sizes)
            for key, entry in value.items()
        }


def _refuse_doubtful(name: str, array: np.ndarray) -> None:
    """Refuse many 0 and 1, a mask of numbers: as indices they would choose the first two rows."""
    doubtful = array.size > 2 and array.min() >= 0 and array.max() <= 1
    require(
        not doubtful, f"{name} is a boolean mask, or indices of rows", "several 0 and 1",
        f"pass a boolean mask, such as {name} == 1",
    )  # fmt: skip


def _letter(value: object) -> str | None:
    """Return the kind of array that the value is, as `Array.kind` names it, or None."""
    try:
        letter = np.asarray(value).dtype.kind
    except (ValueError, OverflowError, TypeError):
        return None
    return {"i": "whole", "u": "whole", "b": "mask", "f": "float"}.get(letter)


@dataclass(frozen=True)
class Either:
    """Several rules, of which an argument satisfies one.

    With `open` a value that no rule claims is accepted as it is.
    """

    rules: tuple[Rule, ...]
    open: bool = False

    @property
    def noun(self) -> str:
        return " or ".join(rule.noun for rule in self.rules)

    def claims(self, value: object) -> bool:
        return self.open or any(rule.claims(value) for rule in self.rules)

    def __call__(self, name: str, value: Any, sizes: Sizes) -> Any:
        if value is None and any(rule.claims(None) for rule in self.rules):
            return None
        candidates = [rule for rule in self.rules if rule.claims(value)]
        if not candidates:
            rule = f"{name} is {self.noun}"
            require(self.open, rule, as_read(value), "pass one of these")
            return value
        errors = []
        if len(candidates) > 1 and (letter := _letter(value)):
            kinds = {getattr(rule, "kind", "") for rule in candidates}
            if letter == "whole" and kinds >= {"whole", "mask"}:
                _refuse_doubtful(name, np.asarray(value))
            candidates.sort(key=lambda rule: getattr(rule, "kind", "") != letter)
        for rule in candidates:
            before = dict(sizes)
            try:
                return rule(name, value, sizes)
            except InputError as error:
                errors.append(error)
                sizes.clear()
                sizes.update(before)
        raise errors[0] from None
