"""Arguments are checked and converted on entry, and what is refused is refused in one sentence."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from jaxtyping import Bool, Float, Float32, Int

from partwhole._checks import InputError
from partwhole._door import door
from partwhole._types import (
    Bounds,
    Count,
    Index,
    NonNegative,
    Number,
    Positive,
    ProperFraction,
    Real,
    Seeds,
)
from partwhole._types import Fraction as Share

if TYPE_CHECKING:
    from nowhere import Nothing  # pyright: ignore[reportMissingImports]

TABLE = np.arange(6.0).reshape(3, 2)
RULE = "table is an array of finite numbers of shape (n, d)"


@door
def first(table: Float[np.ndarray, "n d"], weights: Float[np.ndarray, " n"] | None = None):
    """Return the table."""
    return table


@door
def codes(found: Int[np.ndarray, "n C"]):
    return found


@door
def masked(mask: Bool[np.ndarray, " n"]):
    return mask


@door(missing=("values",), infinite=("until",), empty=("rows",))
def marked(
    values: Float[np.ndarray, " n"], until: Real = 1.0, rows: Float[np.ndarray, " m"] | None = None
):
    return values, until, rows


@door
def settings(
    count: int = 3,
    share: Real = 0.5,
    size: float = 1.0,
    centre: bool = False,
    method: Literal["fast", "exact"] = "fast",
    name: str = "",
    ends: tuple[Real, Real] = (0, 1),
    seeds: Sequence[int] = (0,),
    several: Iterable[int] = (0,),
    scale: Real | Sequence[Real] = 1.0,
    rows: slice | Int[np.ndarray, " m"] | Bool[np.ndarray, " n"] = slice(None),
    time: Float[np.ndarray, " t"] | Int[np.ndarray, " t"] | None = None,
    curve: Number = 1.0,
    parts: Mapping[str, Float[np.ndarray, " p"]] | None = None,
    call: Callable[[int], int] | None = None,
    left_alone: Nothing | None = None,
):
    return dict(locals())


@door(infinite=("horizon",), missing=("reference",))
def bounded(
    rate: Positive = 0.5,
    ridge: NonNegative = 0,
    share: Share = 1,
    confidence: ProperFraction = 0.95,
    steps: Count = 10,
    output: Index = 0,
    dropout: Annotated[float, Bounds(at_least=0, below=1)] = 0.0,
    anchor: Annotated[int, Bounds(above=-5, at_most=4)] = 0,
    width: Count | None = None,
    seeds: Seeds = (0,),
    horizon: Positive = 1.0,
    reference: NonNegative = 1.0,
    intercept: Literal["free", "none"] | Positive = "free",
    scale: Positive | Float[np.ndarray, " n"] = 1.0,
):
    return dict(locals())


def refused(function, *given, **named) -> str:
    with pytest.raises(InputError) as caught:
        function(*given, **named)
    return str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        TABLE.tolist(),
        tuple(map(tuple, TABLE)),
        [*TABLE],
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype("Int64"),
        xr.DataArray(TABLE),
        TABLE.astype(np.float32),
        TABLE.astype(np.uint8),
        TABLE.astype(np.longdouble),
        np.asfortranarray(TABLE),
        TABLE.astype(object),
        np.ma.masked_less(TABLE, -1),
        [[Fraction(0), 1], [2, 3], [4, 5]],
    ],
    ids=lambda given: type(given).__name__,
)
def test_tables_of_numbers_arrive_as_arrays_of_64_bits(given):
    found = first(given)
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, TABLE)


def test_an_array_of_64_bits_arrives_as_it_is():
    TABLE.flags.writeable = False
    assert first(TABLE) is TABLE


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (TABLE * np.nan, "6 that are NaN, the first at (0, 0); drop or fill missing numbers first"),
        ([[1, np.nan]], "1 that is NaN, at (0, 1); drop or fill missing numbers first"),
        ([[1, np.inf]], "1 that is infinite, at (0, 1); drop or limit infinite numbers first"),
        (TABLE + 0j, "complex numbers; pass the real part or the absolute values"),
        (TABLE > 1, "True and False; pass numbers, such as mask.astype(float)"),
        ([["1", "2"]], "text; convert the text to numbers first"),
        (
            TABLE.astype("m8[s]"),
            "durations; divide by a unit first, such as np.timedelta64(1, 's')",
        ),
        (TABLE.astype("M8[s]"), "dates; subtract a date and divide by a unit first"),
        (np.ma.masked_less(TABLE, 2), "2 masked; drop or fill masked entries first"),
        ([np.ma.masked_less(TABLE[0], 1)], "1 masked; drop or fill masked entries first"),
        ([[None, 1.0]], "1 missing; drop or fill missing entries first"),
        (pd.DataFrame({"a": [1, pd.NA]}), "1 missing; drop or fill missing entries first"),
        ([[object(), 1]], "entries of type object; pass numbers alone"),
        ([[10**400, 1]], "a number too large for 64 bits; pass the numbers in a larger unit"),
        ([[1, 2], [3]], "rows of different lengths, or numbers too large; pass rows of one length"),
        (None, "None; pass an array or a list"),
        ("1 2", "'1 2'; pass an array or a list"),
        ({1: 2}, "a dict of 1; pass an array or a list"),
        ((x for x in TABLE), "one of type generator; pass an array or a list"),
        (TABLE[0], "shape (2,); pass shape (n, d)"),
        (2.0, "shape (); pass shape (n, d)"),
    ],
)
def test_what_is_no_table_of_finite_numbers(given, got):
    assert refused(first, given) == f"{RULE}; got {got}"


def test_shapes_agree():
    ends = "pass both for the same n"
    assert refused(first, TABLE, [1.0, 2.0]) == (
        f"table and weights have equal length along n; got 3 and 2; {ends}"
    )
    assert refused(first, np.zeros((0, 2))) == (
        f"{RULE}, and is not empty; got shape (0, 2); pass at least one"
    )
    assert first(TABLE, weights=[1, 2, 3]) is TABLE


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("n 2", [(3, 2)], [(3, 3), (2,), (1, 3, 2)]),
        ("*k d", [(2,), (3, 2), (1, 3, 2)], [()]),
        ("T *k s", [(4, 2), (4, 1, 2)], [(4,)]),
        ("...", [(), (2,), (0, 2)], []),
        ("_ n+1", [(0, 2)], [(2,)]),
        ("n n", [(2, 2)], [(2, 3)]),
        ("", [()], [(1,)]),
    ],
)
def test_axes(text, right, wrong):
    def shaped(x):
        return x

    shaped.__annotations__ = {"x": Float[np.ndarray, text]}
    for shape in right:
        assert door(shaped)(np.zeros(shape)).shape == shape
    for shape in wrong:
        assert refused(door(shaped), np.zeros(shape)).startswith("x")


def test_whole_numbers():
    for given in ([[0, 1]], [[0.0, 1.0]], np.array([[0, 1]], dtype=np.uint8)):
        assert codes(given).dtype == np.int64
    rule = "found is an array of whole numbers of shape (n, C)"
    remedy = "round, drop or fill them first"
    assert refused(codes, [[0.5, np.nan, 1]]) == f"{rule}; got 2 that are not whole; {remedy}"
    large = f"{rule}; got numbers of more than 64 bits; number them from 0"
    for given in ([[1e30]], np.array([[1 << 63]], dtype=np.uint64)):
        assert refused(codes, given) == large


def test_masks_are_no_indices():
    for given in ([True, False], pd.Series([True, False]), pd.array([True, False])):
        np.testing.assert_array_equal(masked(given), [True, False])
    rule = "mask is an array of booleans of shape (n,)"
    for given in ([1, 0], [1.0, 0.0]):
        assert refused(masked, given) == (
            f"{rule}; got numbers; pass a boolean mask, such as mask == 1"
        )
    assert refused(masked, ["no"]) == f"{rule}; got text; pass a boolean mask, such as mask == 1"


def test_missing_infinite_and_empty_values_where_they_are_marked():
    values, until, rows = marked([np.nan, np.inf], np.inf, [])
    assert np.isnan(values[0])
    assert until == np.inf
    assert rows.shape == (0,)
    assert refused(marked, [1.0], np.nan) == (
        "until is a number; got nan; pass one number, or leave it out for 1"
    )
    with pytest.raises(TypeError, match=r"lambda> has no arguments \['other'\]"):
        door(missing=("other",))(lambda x: x)(1)


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("count", 2.0, "a whole number; got 2.0; pass one whole number, or leave it out for 3"),
        ("count", True, "a whole number; got True; pass one whole number, or leave it out for 3"),
        (
            "count",
            10**400,
            "a whole number of 64 bits; got a whole number of about 401 digits; "
            "pass one whole number, or leave it out for 3",
        ),
        ("share", np.nan, "a finite number; got nan; pass one number, or leave it out for 0.5"),
        ("share", "1", "a finite number; got '1'; pass one number, or leave it out for 0.5"),
        ("share", 1 + 0j, "a finite number; got (1+0j); pass one number, or leave it out for 0.5"),
        ("centre", "no", "True or False; got 'no'; choose one of them"),
        ("centre", 0, "True or False; got 0; choose one of them"),
        ("method", "best", '"fast" or "exact"; got \'best\'; choose one of them'),
        ("name", 3, "text; got 3; pass text"),
        ("ends", (1,), "a pair (a finite number, a finite number); got 1 items; pass 2"),
        ("seeds", 3, "a sequence, each item a whole number; got 3; pass a list or a tuple"),
        ("seeds", "12", "a sequence, each item a whole number; got '12'; pass ['12']"),
        ("rows", [1.5], "an array of whole numbers of shape (m,); got 1 that is not whole; "),
        ("curve", [np.nan], "an array of finite numbers; got 1 that is NaN, at 0; drop or"),
        (
            "parts",
            3,
            "a mapping, each value an array of finite numbers of shape (p,) or None; got ",
        ),
        ("call", 3, "a function or None; got 3; pass one of these"),
        (
            "scale",
            "as",
            "a finite number or a sequence, each item a finite number; got 'as'; pass one of these",
        ),
    ],
)
def test_what_is_no_setting(name, given, sentence):
    assert refused(settings, **{name: given}).startswith(f"{name} is {sentence}")


def test_what_is_a_setting():
    found = settings(
        np.int32(2), np.float32(0.5), 2, np.bool_(True), ends=[0, 2], seeds=np.arange(2),
        several=(i for i in range(2)), scale=[1, 2.5], rows=[True, False], time=[1, 2],
        curve=pd.Series([1, 2]), parts={"a": [1]}, left_alone="anything",
    )  # fmt: skip
    assert [type(found[name]) for name in ("count", "share", "size", "centre")] == [
        int,
        float,
        float,
        bool,
    ]
    assert found["ends"] == (0, 2)
    assert list(found["seeds"]) == [0, 1]
    assert found["several"] == (0, 1)
    assert found["scale"] == [1, 2.5]
    assert found["rows"].dtype == bool
    assert found["time"].dtype == np.int64
    assert found["curve"].dtype == found["parts"]["a"].dtype == np.float64
    assert settings(share=10**30)["share"] == 1e30
    assert refused(settings, seeds=[0, 1.5]).startswith("seeds[1] is a whole number; got 1.5")
    assert refused(settings, parts={"a": "x"}).startswith("parts['a'] is an array of finite")
    assert refused(settings, parts={"a": [1], "b": [1, 2]}).startswith(
        "parts['a'] and parts['b'] have equal length along p; got 1 and 2"
    )


@pytest.mark.parametrize(
    ("name", "given", "noun", "default"),
    [
        ("rate", 0, "a finite number above 0", 0.5),
        ("rate", -1e-300, "a finite number above 0", 0.5),
        ("rate", np.inf, "a finite number above 0", 0.5),
        ("rate", "0.1", "a finite number above 0", 0.5),
        ("ridge", np.float32(-0.5), "a finite number of at least 0", 0),
        ("share", 1.5, "a finite number from 0 to 1", 1),
        ("confidence", 1, "a finite number above 0 and below 1", 0.95),
        ("confidence", 0.0, "a finite number above 0 and below 1", 0.95),
        ("steps", 0, "a whole number of at least 1", 10),
        ("steps", 2.0, "a whole number of at least 1", 10),
        ("steps", True, "a whole number of at least 1", 10),
        ("output", np.int8(-1), "a whole number of at least 0", 0),
        ("dropout", 1, "a finite number of at least 0 and below 1", 0),
        ("anchor", 5, "a whole number above -5 and at most 4", 0),
        ("anchor", -5, "a whole number above -5 and at most 4", 0),
        ("horizon", -np.inf, "a number above 0", 1),
        ("horizon", np.nan, "a number above 0", 1),
        ("reference", -1, "a number of at least 0", 1),
    ],
)
def test_a_number_within_the_bounds_of_its_annotation(name, given, noun, default):
    assert refused(bounded, **{name: given}) == (
        f"{name} is {noun}; got {np.asarray(given).item()!r}; "
        f"pass {noun.replace('finite ', '')}, or leave it out for {default}"
    )


def test_bounds_beside_other_kinds():
    assert refused(bounded, width=0) == (
        "width is a whole number of at least 1; got 0; pass a whole number of at least 1"
    )
    assert refused(bounded, width="wide") == (
        "width is a whole number of at least 1 or None; got 'wide'; pass one of these"
    )
    assert refused(bounded, seeds=[0, -1]) == (
        "seeds[1] is a whole number of at least 0; got -1; pass a whole number of at least 0"
    )
    assert refused(bounded, intercept=0.0).startswith("intercept is a finite number above 0; got")
    assert refused(bounded, intercept="fixed") == (
        'intercept is "free" or "none"; got \'fixed\'; choose one of them'
    )
    assert refused(bounded, scale=-1.0).startswith("scale is a finite number above 0; got -1.0")
    assert refused(bounded, steps=2**63).startswith("steps is a whole number of 64 bits; got")


def test_numbers_at_their_bounds_arrive_as_they_are():
    found = bounded(
        rate=5e-324, ridge=np.float64(0), share=np.int64(1), confidence=Fraction(1, 2), steps=1,
        output=np.uint8(3), dropout=0, anchor=4, seeds=range(2), horizon=np.inf, reference=np.nan,
        intercept=0.1, scale=[1.0, -1.0], width=None,
    )  # fmt: skip
    kinds = {name: type(value) for name, value in found.items()}
    assert kinds["ridge"] is kinds["confidence"] is kinds["dropout"] is float
    assert kinds["share"] is kinds["output"] is int
    assert found["horizon"] == np.inf
    assert np.isnan(found["reference"])
    assert found["scale"].tolist() == [1.0, -1.0]
    assert (found["rate"], found["seeds"], found["width"]) == (5e-324, range(2), None)
    assert bounded() == bounded(0.5)


def test_numbers_of_32_bits_where_they_are_annotated():
    @door
    def image(pixels: Float32[np.ndarray, " n"]):
        return pixels

    assert image([1.0, 2.0]).dtype == np.float32

    @door(single=("pixels",))
    def either(pixels: Float[np.ndarray, " n"] | Int[np.ndarray, "n 2"]):
        return pixels

    assert either(np.ones(2, np.float32)).dtype == np.float32
    assert either([1.0, 2.0]).dtype == np.float64
    assert either([[1, 2]]).dtype == np.int64


def test_the_largest_number_has_a_square():
    @door(missing=("values",), any_size=("states",))
    def sizes(values: Float[np.ndarray, " n"], states: Float[np.ndarray, " n"]):
        return float(np.nansum(values**2) + states[0])

    for size in (1e150, 1e-150, 0.0, -1e150):
        assert sizes([size, np.nan], [0.0, 0.0]) == pytest.approx(size**2)
    for size in (1e151, -1e160, 1e-151, 5e-324):
        assert refused(sizes, [size, np.nan], [0.0, 0.0]) == (
            "the largest of values, an array of numbers of shape (n,), is between 1e-150 and "
            f"1e150, or 0; got {abs(size):.3g}; divide by a unit first"
        )
        assert sizes([1.0, np.nan], [size, 0.0]) == 1.0 + size


@door
@dataclass(frozen=True)
class Cell:
    values: Float[np.ndarray, " n"]
    is_train: Bool[np.ndarray, " n"]

    @classmethod
    @door
    def of(cls, values: Float[np.ndarray, " n"]) -> Cell:
        return cls(values, values > 0)


def test_fields_are_converted_and_stay_frozen():
    cell = Cell([1, 2], is_train=[True, False])  # pyright: ignore[reportArgumentType]
    assert cell.values.dtype == np.float64
    assert cell.is_train.dtype == bool
    with pytest.raises(FrozenInstanceError):
        cell.values = np.zeros(2)  # pyright: ignore[reportAttributeAccessIssue]
    assert refused(replace, cell, values=[1.0]).startswith("values and is_train have equal length")
    assert Cell.of([-1]).is_train.tolist() == [False]  # pyright: ignore[reportArgumentType]


def test_signatures_and_sentences_of_python_stay():
    assert list(inspect.signature(first).parameters) == ["table", "weights"]
    assert list(inspect.signature(Cell).parameters) == ["values", "is_train"]
    assert first.__doc__ == "Return the table."
    with pytest.raises(TypeError, match=r"first\(\) missing 1 required positional argument"):
        first()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"first\(\) got an unexpected keyword argument 'tabel'"):
        first(tabel=TABLE)  # pyright: ignore[reportCallIssue]


def test_a_class_is_that_of_its_import_and_no_other_of_its_name():
    """Networks have settings too; whoever imports them first may still write an audit's page."""
    program = (
        "import partwhole.training, pandas as pd, partwhole as pw\n"
        "assert pw.training.engines.layered.Settings is not pw.audit.Settings\n"
        "table = pd.DataFrame({'a': [0, 0, 1, 1], 'b': [0, 1, 0, 1], 'y': [0.0, 1.0, 1.0, 2.0]})\n"
        "table['split'] = ['train', 'train', 'train', 'test']\n"
        "report = pw.audit_split(table, ['a', 'b'], target='y', split='split')\n"
        "print(report.to_html()[:15])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "<!doctype html>\n", done.stderr
