"""Types are checked in a function's first calls, nested ones too, with checks built once."""

from inspect import signature, unwrap

import beartype
import jaxtyping
import numpy as np
import pytest
import type_checks
from jaxtyping import Float

from partwhole.features import DenseDesign
from partwhole.features.design import Block
from partwhole.limits import GroupNorm

# The hook's decorator, with annotations as the modules of the library have them.
checked = type_checks.jaxtyped(typechecker=beartype.beartype)


def scaling(factor, kind="Float[np.ndarray, 'n']", decorate=checked):
    def scaled(x, y):
        return factor * x[: len(y)]

    scaled.__annotations__ = {"x": kind, "y": kind, "return": kind}
    return decorate(scaled)


def test_the_hook_uses_it():
    assert jaxtyping.jaxtyped is type_checks.jaxtyped


def test_nested_functions_of_the_library_are_checked():
    """One that a solver defines anew in each step, of one definition in several closures."""
    design = DenseDesign(np.eye(3), (Block("all", 0, 3),))
    for _ in range(3):
        type_checks.begin_test()
        bounds = GroupNorm().dual(design, np.zeros(3)).bounds
        assert bounds is not None
        assert bounds.outputs(np.ones(bounds.room.shape)).shape == (3,)
        with pytest.raises(jaxtyping.TypeCheckError, match="checking the parameters of partwhole"):
            bounds.outputs("prices")


@pytest.mark.parametrize(
    "decorate", [checked, type_checks.from_anew(typechecker=beartype.beartype)]
)
def test_each_closure_is_its_own_with_the_checks_of_all(decorate):
    two, three = (scaling(factor, decorate=decorate) for factor in (2.0, 3.0))
    x = np.ones(4)
    np.testing.assert_array_equal(two(x, x), 2.0 * x)
    np.testing.assert_array_equal(three(x, y=x), 3.0 * x)
    for each in (two, three):
        type_checks.begin_test()
        with pytest.raises(jaxtyping.TypeCheckError, match="'y'"):
            each(x, x[:2])  # n is one number
        with pytest.raises(jaxtyping.TypeCheckError, match="'x'"):
            each("x", x)
        with pytest.raises(TypeError, match="missing a required argument: 'y'"):
            each(x)
    with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
        scaling(1j, decorate=decorate)(x, x)


@pytest.mark.parametrize(
    "decorate", [checked, type_checks.from_anew(typechecker=beartype.beartype)]
)
def test_a_result_has_the_sizes_that_arguments_bound(decorate):
    @decorate
    def shortened(x: Float[np.ndarray, " n"], by: int) -> Float[np.ndarray, " n"]:
        return x[by:]

    assert len(shortened(np.ones(3), 0)) == 3
    with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
        shortened(np.ones(3), 1)


def test_others_are_as_they_were():
    assert unwrap(scaling(2.0)).__closure__[0].cell_contents == 2.0
    assert list(signature(scaling(2.0)).parameters) == ["x", "y"]
    with pytest.raises(jaxtyping.TypeCheckError):
        scaling(2.0, "Float[np.ndarray, 'n n']")(np.ones(4), np.ones(4))
    for default in (1.0, 2.0):

        @checked
        def shifted(x: Float[np.ndarray, " n"], by: float = default) -> Float[np.ndarray, " n"]:
            return x + by

        np.testing.assert_array_equal(shifted(np.zeros(2)), [default, default])


def test_checks_are_built_once(monkeypatch):
    built = []
    whole = type_checks.from_anew
    monkeypatch.setattr(
        type_checks,
        "from_anew",
        lambda *given, **named: built.append(1) or whole(*given, **named),
    )

    def made(each):
        @checked
        def nested() -> int:
            return each

        return nested()

    assert [made(each) for each in range(5)] == list(range(5))
    assert len(built) == 1


@pytest.mark.parametrize("nested", [False, True])
def test_the_first_calls_of_a_test_are_checked_and_some_of_those_after(nested):
    def doubled(number: int) -> int:
        return 2 * number

    if not nested:
        doubled.__qualname__ = "doubled"
    doubled = checked(doubled)
    refused = []
    for call in range(1, 100):
        try:
            doubled(1.5)
        except jaxtyping.TypeCheckError:
            refused.append(call)
    assert refused == [1, 2, 3, 4, 8, 16, 32, 64]
    type_checks.begin_test()
    for _ in range(4):
        with pytest.raises(jaxtyping.TypeCheckError):
            doubled(1.5)
    assert doubled(1.5) == 3.0
