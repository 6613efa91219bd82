"""The published conditions: the published examples, constants by hand, and when all are met."""

from __future__ import annotations

import numpy as np
import pytest
from dynamics_oracles import CENTRAL, TRIPLE_CODE, two_concepts
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole._checks import InputError
from partwhole.flows.assumptions import check_assumptions

SMALL = np.array([[1.0, 0.9], [0.9, 1.0]])


def condition(found, start):
    (each,) = [each for each in found.conditions if each.statement.startswith(start)]
    return each


def test_the_central_example_needs_the_square_for_the_separation():
    plain = check_assumptions(CENTRAL.w0, np.diag(CENTRAL.a), 0.01)
    separation = condition(plain, "a_i - 3 a_j")
    assert not separation.met
    assert separation.value == pytest.approx(1.1275 - 3 * 0.5025, abs=1e-12)
    assert separation.statement.endswith("concepts 2 and 1")
    square = check_assumptions(CENTRAL.w0, np.diag(CENTRAL.a), 0.01, power=2)
    assert condition(square, "a_i - 3 a_j").met
    two = np.diag(CENTRAL.a[:2])
    found = condition(check_assumptions(CENTRAL.w0[:2, :2], two, 0.01, power=2), "a_i - 3 a_j")
    assert found.value == pytest.approx(1.271 - 3 * 0.2525, abs=1e-3)
    assert found.met


@pytest.mark.parametrize("run", [CENTRAL, TRIPLE_CODE])
@pytest.mark.parametrize("power", [1, 2])
def test_the_published_examples_do_not_satisfy_them(run, power):
    found = check_assumptions(run.w0, np.diag(run.a), 0.01, power=power)
    assert not found.met
    failed = [each.statement[:12] for each in found.conditions if not each.met]
    assert "(a_i + a_j) " in failed
    assert "ω <= min(κ -" in failed


def test_conditions_by_hand():
    w0, a = two_concepts(0.01, 0.5), np.diag([4.0, 0.5])
    given = {"resolution": 25, "cap": 10, "slack": 1.2, "separation": 2}
    found = check_assumptions(w0, a, 0.001, **given)
    told = {"alpha": 0.5, "gamma": 8, "omega": 0.005, "beta": 2}
    assert found.constants == pytest.approx({**told, **given})
    reach = 10 * 0.01
    room = 10 * 1.2**2 * np.log(1 / reach) + np.log(10 * 2)
    by_hand = [
        ("α >", 0.5, 0.0, True),
        ("ω >", 0.005, 0.0, True),
        ("η <=", 0.001, 1 / (9 * 25 * 4), True),
        ("P β ω", reach, 0.4, True),
        ("ω <= min", 0.005, (1 - 1.2**-0.5) / (10 * 25 * 8 * 2 * 4), False),
        ("ω <= 1", 0.005, 0.5, True),
        ("(a_i + a_j)", 4.5 / 8, np.log(10) / room, False),
        ("a_i - 3 a_j", 2.5, 0.25, True),
        ("K >=", 25, 20, True),
        ("P >=", 10, 2, True),
        ("κ >", 1.2, 1.1, True),
        ("C >", 2, 1, True),
        ("κ <=", 1.2, 1 + 25 / 4, True),
    ]
    assert len(found.conditions) == len(by_hand)
    for start, value, bound, met in by_hand:
        each = condition(found, start)
        assert (each.value, each.bound) == pytest.approx((value, bound))
        assert each.met is met
    assert not found.met


def largest_start(ratio):
    """Return the log10 of the largest ω that any constants allow, by brute force."""
    beta, kappa = 1 / 0.9, np.linspace(1.1001, 2, 200)[:, None]
    log_cap = np.linspace(0.7, 250, 20_000)
    room = np.log(np.minimum(kappa - 1, 1 - kappa**-0.5) / (20 * ratio * 2 * beta**2))
    log_start = np.minimum(room, np.log(0.4 / beta)) - log_cap
    log_reach = log_cap + np.log(beta) + log_start
    bound = log_cap / (-10 * kappa**2 * log_reach + log_cap + np.log(beta))
    return np.where(bound >= 0.5 * (1 + 1 / ratio), log_start, -np.inf).max() / np.log(10)


@pytest.mark.parametrize("ratio", [10, 100])
def test_all_are_met_only_from_next_to_nothing(ratio):
    edge, a = largest_start(ratio), np.diag([4.0, 4.0 / ratio])
    assert edge < -62
    beyond = check_assumptions(10 ** (edge + 0.1) / 0.9 * SMALL, a, 0.001)
    assert not beyond.met
    within = check_assumptions(10 ** (edge - 0.1) / 0.9 * SMALL, a, 0.001)
    assert within.met
    again = {name: within.constants[name] for name in ("resolution", "cap", "slack", "separation")}
    assert check_assumptions(10 ** (edge - 0.1) / 0.9 * SMALL, a, 0.001, **again).met


@settings(max_examples=25)
@given(
    size=st.floats(1e-8, 0.1),
    ratio=st.floats(1.5, 50),
    cap=st.floats(2, 100),
    slack=st.floats(1.11, 3),
    separation=st.floats(1.01, 20),
    resolution=st.floats(20, 200),
)
def test_no_constants_do_better_than_those_chosen(size, ratio, cap, slack, separation, resolution):
    a = np.diag([2.0, 2.0 / ratio])
    free = check_assumptions(size * SMALL, a, 0.005)
    named = check_assumptions(
        *(size * SMALL, a, 0.005),
        **{"resolution": resolution, "cap": cap, "slack": slack, "separation": separation},
    )
    assert sum(each.met for each in free.conditions) >= sum(each.met for each in named.conditions)


def test_a_step_that_is_too_large():
    found = check_assumptions(1e-70 * SMALL, np.diag([4.0, 0.4]), 0.01)
    assert [each.statement for each in found.conditions if not each.met] == ["η <= 1/(9 K γ α)"]
    assert condition(found, "η").bound == pytest.approx(1 / (9 * 20 * 4))
    assert check_assumptions(1e-70 * SMALL, np.diag([4.0, 0.4]), 0.0).met


def test_coordinates_without_a_signal_and_entries_of_zero_break_them():
    found = check_assumptions(1e-70 * np.eye(2), np.diag([4.0, 0.0]), 0.001)
    assert not condition(found, "α > 0").met
    assert not condition(found, "ω > 0").met
    assert found.constants["gamma"] == found.constants["beta"] == np.inf
    assert not found.met
    assert not check_assumptions(np.zeros((2, 2)), np.zeros((2, 2)), 0.001).met


def test_the_table():
    found = check_assumptions(CENTRAL.w0, np.diag(CENTRAL.a), 0.01)
    table = found.to_frame()
    assert list(table.columns) == ["statement", "value", "bound", "met"]
    assert len(table) == len(found.conditions)


def test_signals_barely_apart_need_a_finer_step():
    # C must be at least 1 / 0.001, so that K must be 200 to leave 1.1 to κ.
    found = check_assumptions(two_concepts(0.01, 0.5), np.diag([3.001, 1.0]), 0.0)
    assert found.constants["separation"] == pytest.approx(1000, rel=1e-6)
    assert found.constants["resolution"] >= 200
    assert condition(found, "a_i - 3 a_j").met
    assert condition(found, "κ <=").met


def test_refusals():
    w0, a = two_concepts(0.01, 0.5), np.diag([4.0, 0.5])
    with pytest.raises(InputError, match=r"the conditions compare concepts; got 1 of them"):
        check_assumptions(w0[:1, :1], a[:1, :1], 0.01)
    with pytest.raises(
        InputError, match=r"step_size is a finite number of at least 0; got -1; pass a number"
    ):
        check_assumptions(w0, a, -1)
    with pytest.raises(
        InputError, match=r"slack is a finite number above 0; got 0; pass a number above 0"
    ):
        check_assumptions(w0, a, 0.01, slack=0)
    with pytest.raises(InputError, match=r"concepts are read off a diagonal second moment"):
        check_assumptions(w0, a + 0.1, 0.01)
