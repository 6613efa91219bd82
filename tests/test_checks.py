"""An error is one sentence of rule, what was got, and the remedy."""

from __future__ import annotations

import pytest

from partwhole._checks import InputError, require


def test_the_sentence():
    with pytest.raises(InputError) as caught:
        require(False, "anchors must be among the values", 7, "choose from -4..4")
    assert str(caught.value) == "anchors must be among the values; got 7; choose from -4..4"
    assert isinstance(caught.value, ValueError)


def test_nothing_is_raised_when_the_rule_is_kept():
    require([1], "a rule", None, "a remedy")
