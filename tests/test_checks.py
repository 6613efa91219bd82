"""An error is one sentence of rule, what was got, and the remedy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from partwhole._checks import (
    InputError,
    is_finite,
    is_whole,
    require,
    seed_list,
    whole,
)


def test_the_sentence():
    with pytest.raises(InputError) as caught:
        require(False, "anchors must be among the values", 7, "choose from -4..4")
    assert str(caught.value) == "anchors must be among the values; got 7; choose from -4..4"
    assert isinstance(caught.value, ValueError)


def test_nothing_is_raised_when_the_rule_is_kept():
    require([1], "a rule", None, "a remedy")
    whole("layers", np.int64(2), 2, "a remedy")


def test_what_counts_as_a_number():
    given = [3, np.uint8(3), 2.5, np.float32(2.5), Fraction(1, 2), math.nan, -math.inf, True, "3"]
    assert [is_whole(each) for each in given] == [True, True, *[False] * 7]
    assert [is_finite(each) for each in given] == [*[True] * 5, *[False] * 4]
    assert is_whole(10**400)
    assert not is_whole(np.timedelta64(1, "ns"))
    assert not is_finite(np.timedelta64(1, "ns"))
    assert not is_finite(10**400)


@pytest.mark.parametrize("given", [[0, 7], (0, 7), np.array([0, 7]), iter([0, 7])])
def test_seeds_come_in_any_list(given):
    assert seed_list(given) == (0, 7)


@pytest.mark.parametrize("given", [3, None, [], [-1], [1.0], [True], "12", np.zeros((2, 2), int)])
def test_what_is_no_list_of_seeds(given):
    with pytest.raises(InputError, match=r"seeds are whole numbers of at least 0; got .*; pass ra"):
        seed_list(given)


@pytest.mark.parametrize("given", [2.5, True, "2", None, 1])
def test_what_is_no_whole_number(given):
    sentence = f"layers is a whole number of at least 2; got {given!r}; pass 2 or more"
    with pytest.raises(InputError) as caught:
        whole("layers", given, 2, "pass 2 or more")
    assert str(caught.value) == sentence
