"""The rule for an array as an argument: its axes, its entries, and its conversion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from partwhole._checks import InputError, require

Sizes = dict[str, tuple[object, str]]
WHOLE_LIMIT = 1 << 63
LARGEST = 1e150  # numbers up to it, and down to its inverse, may be squared and summed
LARGE = 4096  # entries, above which a copy costs more than a second pass
SINGLE_LIMIT = float(np.finfo(np.float32).max)
# Entries that are no numbers, by NumPy's letter of their kind, and the remedy.
NO_NUMBERS = {
    "c": ("complex numbers", "pass the real part or the absolute values"),
    "b": ("True and False", "pass numbers, such as mask.astype(float)"),
    "m": ("durations", "divide by a unit first, such as np.timedelta64(1, 's')"),
    "M": ("dates", "subtract a date and divide by a unit first"),
    "U": ("text", "convert the text to numbers first"),
    "S": ("text", "convert the text to numbers first"),
    "V": ("records of several fields", "pass one field as numbers"),
}


def as_read(value: object) -> str:
    """Return a short description of a value, for "got ..." in an error."""
    if isinstance(value, int) and abs(value) >= 1 << 128:
        digits = int(value.bit_length() * math.log10(2)) + 1
        return f"a whole number of about {digits} digits"
    if isinstance(value, (str, int, float, complex, np.generic)) or value is None:
        text = " ".join(repr(value).split())
        return text if len(text) < 80 else f"{text[:70]}..."
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and hasattr(value, "__array__"):
        return f"an array of shape {shape}"
    kind = type(value).__name__
    if isinstance(value, (list, tuple, set, dict)):
        return f"a {kind} of {len(value)}"
    return f"{value.__name__}, a class" if isinstance(value, type) else f"one of type {kind}"


class Axes:
    """The axes of an array: named, of fixed length, free, or any number of them."""

    def __init__(self, text: str, empty: bool) -> None:
        words = [word.partition("=")[2] or word for word in text.split()]
        variadic = [i for i, word in enumerate(words) if word == "..." or word.startswith("*")]
        self.spread = variadic[0] if variadic else None
        self.n_fixed = len(words) - len(variadic)
        self.empty = empty
        # A number is a fixed length; equal names have equal lengths; "_", "#n", "n+1" are free.
        self.words: list[int | str | None] = [
            int(word)
            if word.isdigit()
            else word
            if word.isidentifier() and word[0] != "_"
            else None
            for word in (word.removeprefix("*") for word in words)
        ]
        if self.spread is not None and (name := self.words[self.spread]) is not None:
            self.words[self.spread] = f"*{name}"
        labels = ["..." if i == self.spread else word for i, word in enumerate(words)]
        self.text = f"({', '.join(labels)}{',' * (len(labels) == 1)})"

    def lengths(self, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
        """Return the length of each axis, or None if there are too few or too many."""
        n, start = len(shape), self.spread
        if start is None:
            return shape if n == self.n_fixed else None
        stop = n - self.n_fixed + start
        return (*shape[:start], shape[start:stop], *shape[stop:]) if n >= self.n_fixed else None

    def check(self, name: str, array: Array, shape: tuple[int, ...], sizes: Sizes) -> None:
        """Require these axes, and equal lengths of axes with one name in several arguments."""
        lengths = self.lengths(shape)
        if lengths is None:
            _refuse_shape(name, array, shape)
        for word, length in zip(self.words, lengths, strict=True):
            if word is None:
                continue
            if isinstance(word, int):
                if word != length:
                    _refuse_shape(name, array, shape)
                continue
            if length == 0 and not self.empty:
                rule = f"{name} is {array.noun}, and is not empty"
                raise InputError(f"{rule}; got shape {shape}; pass at least one")
            expected, first = sizes.setdefault(word, (length, name))
            if expected != length and first == name:
                _refuse_shape(name, array, shape)
            if expected != length:
                axis = word.removeprefix("*")
                raise InputError(
                    f"{first} and {name} have equal length along {axis}; "
                    f"got {expected} and {length}; pass both for the same {axis}"
                )


def _refuse_shape(name: str, array: Array, shape: tuple[int, ...]) -> NoReturn:
    text = array.axes.text
    raise InputError(f"{name} is {array.noun}; got shape {shape}; pass shape {text}")


def _largest(values: np.ndarray) -> float:
    """Return the largest absolute value, NaN if an entry is; without a copy of a large array."""
    if values.size < LARGE:
        return float(np.abs(values).max())
    return max(float(values.max()), -float(values.min()))


@dataclass(frozen=True)
class Array:
    """An array of numbers (floating or whole), or of True and False."""

    axes: Axes
    kind: str
    dtype: np.dtype = field(default_factory=lambda: np.dtype(float))
    nan: bool = False
    infinite: bool = False
    single: bool = False
    any_size: bool = False

    @property
    def noun(self) -> str:
        entries = {"mask": "booleans", "whole": "whole numbers"}.get(self.kind, "numbers")
        if self.kind not in ("mask", "whole") and not (self.nan or self.infinite):
            entries = f"finite {entries}"
        shape = "" if self.axes.text == "(...,)" else f" of shape {self.axes.text}"
        return f"an array of {entries}{shape}"

    def claims(self, value: object) -> bool:
        if value is None or isinstance(value, (str, bytes, Mapping)):
            return False
        return isinstance(value, (list, tuple)) or hasattr(value, "__array__")

    def __call__(self, name: str, value: Any, sizes: Sizes) -> np.ndarray:
        if type(value) is not np.ndarray or (
            value.dtype != self.dtype and not (self.single and value.dtype == np.float32)
        ):
            value = self._converted(name, value)
        if value.dtype.kind == "f" and value.size:
            largest = _largest(value)
            if largest != 0.0 and not 1.0 / LARGEST <= largest <= LARGEST:
                self._refuse_nonfinite(name, value)
                if not self.any_size:
                    self._refuse_without_square(name, value)
        if self.single and value.dtype.itemsize > 4 and value.size:
            self._refuse_beyond_single(name, value)
        self.axes.check(name, self, value.shape, sizes)
        return value

    def _refuse_nonfinite(self, name: str, array: np.ndarray) -> None:
        for word, remedy, wrong, allowed in (
            ("NaN", "drop or fill missing numbers first", np.isnan(array), self.nan),
            ("infinite", "drop or limit infinite numbers first", np.isinf(array), self.infinite),
        ):
            if wrong.any() and not allowed:
                count = counted(wrong, word) if array.ndim else array.item()
                raise InputError(f"{name} is {self.noun}; got {count}; {remedy}")

    def _refuse_beyond_single(self, name: str, array: np.ndarray) -> None:
        """Refuse numbers that are infinite in single precision, in which networks compute."""
        largest = np.nanmax(np.abs(array))
        if SINGLE_LIMIT < largest < np.inf:
            rule = f"{name} is {self.noun} that single precision holds, up to {SINGLE_LIMIT:.1e}"
            raise InputError(f"{rule}; got {largest:.3g}; divide by a unit first")

    def _refuse_without_square(self, name: str, array: np.ndarray) -> None:
        """Refuse numbers whose squares overflow or vanish in double precision."""
        largest = float(np.abs(array).max(initial=0.0, where=np.isfinite(array)))
        if largest != 0.0 and not 1.0 / LARGEST <= largest <= LARGEST:
            rule = f"the largest of {name}, {self.noun}, is between 1e-150 and 1e150, or 0"
            raise InputError(f"{rule}; got {largest:.3g}; divide by a unit first")

    def _converted(self, name: str, value: Any) -> np.ndarray:
        """Return the array in its own type, after a check that its entries have that kind."""
        rule = f"{name} is {self.noun}"
        several = isinstance(value, (list, tuple))
        for part in value if several else (value,):
            if isinstance(part, np.ma.MaskedArray):
                hidden = int(np.ma.count_masked(part))
                require(hidden == 0, rule, f"{hidden} masked", "drop or fill masked entries first")
        require(
            several or hasattr(value, "__array__") or isinstance(value, (range, Real)),
            rule, as_read(value),
            "pass its .toarray()" if hasattr(value, "toarray") else "pass an array or a list",
        )  # fmt: skip
        try:
            array = np.asarray(value)
        except (ValueError, OverflowError):
            ragged = "rows of different lengths, or numbers too large"
            raise InputError(f"{rule}; got {ragged}; pass rows of one length") from None
        except Exception as error:
            unreadable = f"{as_read(value)} that NumPy can't read ({type(error).__name__})"
            raise InputError(f"{rule}; got {unreadable}; pass a NumPy array") from None
        if array.dtype == object:
            array = self._unboxed(rule, array)
        if array.size == 0 and array.dtype.kind in "fiu":
            return array.astype(self.dtype)
        if self.kind == "mask":
            entries, _ = NO_NUMBERS.get(array.dtype.kind, ("numbers", ""))
            remedy = f"pass a boolean mask, such as {name} == 1"
            require(array.dtype.kind == "b", rule, entries, remedy)
            return array
        if (kind := array.dtype.kind) in NO_NUMBERS:
            entries, remedy = NO_NUMBERS[kind]
            if self.kind == "whole" and entries == "text":
                remedy = "number its values from 0 first"
            raise InputError(f"{rule}; got {entries}; {remedy}")
        if self.kind == "either" and kind in "iu":
            return array
        return self._whole(rule, array) if self.kind == "whole" else self._floating(array)

    def _floating(self, array: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return array.astype(self.dtype, copy=False)

    def _whole(self, rule: str, array: np.ndarray) -> np.ndarray:
        """Return whole numbers in 64 bits."""
        if array.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                wrong = int((~(array == np.round(array)) | ~np.isfinite(array)).sum())
            count = f"{wrong} that {_are(wrong)} not whole"
            require(wrong == 0, rule, count, "round, drop or fill them first")
        large = array.size and bool((array >= WHOLE_LIMIT).any() or (array < -WHOLE_LIMIT).any())
        require(not large, rule, "numbers of more than 64 bits", "number them from 0")
        return array.astype(self.dtype)

    def _unboxed(self, rule: str, array: np.ndarray) -> np.ndarray:
        """Return an array of Python objects, all numbers or all booleans, in a plain type."""
        entries = array.ravel().tolist()
        if entries and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
            return array.astype(bool)
        wrong = next(
            (e for e in entries if isinstance(e, (bool, np.bool_)) or not isinstance(e, Real)), None
        )
        missing = sum(entry is None or type(entry).__name__ in ("NAType", "NaTType")
                      for entry in entries)  # fmt: skip
        require(missing == 0, rule, f"{missing} missing", "drop or fill missing entries first")
        require(
            wrong is None, rule, f"entries of type {type(wrong).__name__}", "pass numbers alone"
        )
        if entries and all(isinstance(entry, Integral) for entry in entries):
            low, high = min(entries), max(entries)
            if low >= -WHOLE_LIMIT and high < WHOLE_LIMIT:
                return array.astype(np.int64)
        try:
            return np.array([float(entry) for entry in entries]).reshape(array.shape)
        except OverflowError:
            raise InputError(
                f"{rule}; got a number too large for 64 bits; pass the numbers in a larger unit"
            ) from None


def counted(wrong: np.ndarray, word: str) -> str:
    """Return how many entries are wrong, and the index of the first."""
    count = int(wrong.sum())
    index = tuple(np.argwhere(wrong)[0].tolist())
    first = "" if count == 1 else "the first "
    return f"{count} that {_are(count)} {word}, {first}at {index[0] if len(index) == 1 else index}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
