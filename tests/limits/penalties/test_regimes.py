"""Regimes, the passage between them, and the rescaling that sets them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from partwhole._checks import InputError
from partwhole.limits.penalties import (
    finetuning_penalty,
    multitask_penalty,
    ratio_at_order,
    regime,
    relu_penalty,
    suggest_rescaling,
    transition_width,
)

ORDER_AT = {
    "multitask": lambda ratio: multitask_penalty(1.0, ratio).order,
    "finetuning": lambda ratio: finetuning_penalty(1.0, ratio).order,
    "finetuning-published": lambda ratio: finetuning_penalty(1.0, ratio, formula="published").order,
    "relu": lambda ratio: relu_penalty(1.0, ratio).order,
}
orders = st.floats(1.03, 1.9999)


def test_regimes():
    """Either side of each bound; reuse keeps a penalty of low order nested."""
    order = np.array([2.0, 1.91, 1.89, 1.4, 1.11, 1.09, 1.09, 0.3])
    dependence = np.array([-1.0, -0.91, -0.89, -0.4, -0.11, -0.09, -0.11, 0.7])
    regimes = regime(order, dependence)
    assert regimes.tolist() == ["lazy"] * 2 + ["nested"] * 3 + ["rich", "nested", "rich"]
    assert regime(1.4, -0.4, lazy_above=1.3) == "lazy"
    assert regime(1.4, -0.4, rich_below=1.5, reuse_below=-0.5) == "rich"


def test_regimes_of_penalties():
    """Section 0.5: nested where a pretrained feature is small, and far above the readout."""
    b = np.array([100.0, 0.1, 1e-8])
    profile = finetuning_penalty(1.0, b, readout_scale=1e-12)
    assert regime(profile.order, profile.feature_dependence).tolist() == ["lazy", "nested", "rich"]


@pytest.mark.parametrize("kind", ORDER_AT)
@given(order=orders)
def test_ratios_invert_orders(kind, order):
    """The penalty's own order at the ratio; near 2 the ratio moves by far more than the order."""
    assert abs(ORDER_AT[kind](ratio_at_order(kind, order)) - order) < 1e-13


@pytest.mark.parametrize(
    ("kind", "width", "wider"),
    [("multitask", 1.3127, 1.784), ("finetuning", 4.5139, 9.046), ("relu", 2.0296, 2.794)],
)
def test_widths(kind, width, wider):
    """E-6 and A.7; and by finding the two ratios one by one."""
    assert abs(transition_width(kind) - width) < 1e-3
    assert abs(transition_width(kind, 1.05, 1.95) - wider) < 1e-3
    low, high = (
        brentq(lambda t, at=at: ORDER_AT[kind](10.0**t) - at, -20, 20, xtol=1e-12)
        for at in (1.1, 1.9)
    )
    assert abs(transition_width(kind) - (high - low)) < 1e-11


def test_published_bounds():
    """A.7, to the digits told."""
    for kind, low, high in (
        ("multitask", 0.1005, 2.065),
        ("finetuning-published", 3.34e-5, 1.091),
        ("relu", 0.03655, 3.912),
    ):
        ratios = ratio_at_order(kind, 1.1), ratio_at_order(kind, 1.9)
        np.testing.assert_allclose(ratios, (low, high), rtol=1e-3)
    assert transition_width("finetuning") == pytest.approx(
        transition_width("finetuning-published"), rel=1e-14
    )
    # Close to order 1 ratios are too small for a number; their width is not.
    assert ratio_at_order("finetuning", 1.001) == 0.0
    assert transition_width("finetuning", 1.001, 1.002) > 200


@given(
    b=st.floats(-3, 3).map(lambda power: 10.0**power),
    beta=st.floats(-3, 3).map(lambda power: 10.0**power),
    order=st.floats(1.1, 1.99),
)
def test_rescaling_reaches_its_order(b, beta, order):
    """With no readout and no initial weights order(beta, c^2 b), by finetuning's own order."""
    found = suggest_rescaling(b, -beta, order, reach=(1e-8, 1e8))
    assert bool(found.reached)
    assert found.message == ""
    assert abs(finetuning_penalty(beta, b, rescale=found.rescale.item()).order - order) < 1e-12
    assert abs(found.order - order) < 1e-12


def test_rescaling_with_scales():
    """Scales widen the penalty, so that c is less; the tilt left out is of order gamma."""
    scales = {"readout_scale": 1e-4, "init_scale": 0.3}
    rescaling = suggest_rescaling(0.5, 1.0, 1.4, **scales)
    assert abs(rescaling.order - 1.4) < 1e-12
    assert rescaling.rescale < suggest_rescaling(0.5, 1.0, 1.4).rescale
    full = finetuning_penalty(1.0, 0.5, rescale=rescaling.rescale, **scales)
    assert abs(full.order - 1.4) < 1e-3
    # Alpha alone: a feature that was not learned, and no tilt.
    alone = suggest_rescaling(0.0, 1.0, 1.4, init_scale=0.3)
    order = finetuning_penalty(1.0, 0.0, init_scale=0.3, rescale=alone.rescale).order
    assert abs(order - 1.4) < 1e-12


def test_rescaling_out_of_reach():
    """Only the missed are told of, and what to do depends on why."""
    rescaling = suggest_rescaling(
        np.array([0.5, 0.5, 0.5]), 1.0, 1.4, readout_scale=np.array([0.0, 1.0, 0.001])
    )
    assert rescaling.reached.tolist() == [True, False, True]
    assert rescaling.rescale[1] == 1e-4
    assert rescaling.order[1] > 1.4
    assert rescaling.message == (
        "no rescaling in 0.0001..10000 gives order 1.4 to 1 of 3; "
        "the readout scale alone makes the penalty too wide, lower it"
    )
    clipped = suggest_rescaling(0.5, 1.0, 1.4, reach=(1.0, 2.0))
    assert (clipped.rescale, bool(clipped.reached)) == (1.0, False)
    assert clipped.order == pytest.approx(finetuning_penalty(1.0, 0.5).order, rel=1e-14)
    assert clipped.message == (
        "no rescaling in 1..2 gives order 1.4 to 1 of 1; widen the reach, or ask for another order"
    )
    never = suggest_rescaling(0.0, 1.0, 1.4)
    assert (never.rescale, never.order, bool(never.reached)) == (1e4, 1.0, False)
    unmoved = (
        "where pretrained and init_scale are 0 a rescaling changes nothing, pass the init_scale "
        "that pretraining began with"
    )
    assert never.message == f"no rescaling in 0.0001..10000 gives order 1.4 to 1 of 1; {unmoved}"
    # What to pass then does it.
    assert bool(suggest_rescaling(0.0, 1.0, 1.4, init_scale=0.01).reached)
    low = suggest_rescaling(0.1, 0.2, 1.0005)
    too_narrow = (
        "so near 1 the order takes a rescaling too small for double precision, ask for a larger "
        "order"
    )
    assert (
        low.message == f"no rescaling in 0.0001..10000 gives order 1.0005 to 1 of 1; {too_narrow}"
    )
    two = suggest_rescaling(np.array([0.0, 0.5]), 1.0, 1.4, readout_scale=np.array([0.0, 1.0]))
    assert two.message == (
        f"no rescaling in 0.0001..10000 gives order 1.4 to 2 of 2; {unmoved}; "
        "the readout scale alone makes the penalty too wide, lower it"
    )


def test_refusals():
    for order in (1.0, 2.0, 0.5):
        for ask in (
            lambda order=order: suggest_rescaling(1.0, 1.0, order),
            lambda order=order: ratio_at_order("relu", order),
            lambda order=order: transition_width("finetuning", order, 1.5),
        ):
            with pytest.raises(
                InputError, match=rf" is a finite number above 1 and below 2; got {order}; pass"
            ):
                ask()
    with pytest.raises(InputError, match=r'^kind is "multitask", .*; got .lazy.; choose'):
        transition_width("lazy")
    with pytest.raises(InputError, match=r"^low is less than high; got 1\.5 and 1\.2; swap them$"):
        transition_width("relu", 1.5, 1.2)
    with pytest.raises(
        InputError, match=r"^coefficient is not 0; got 0; give the size you expect$"
    ):
        suggest_rescaling(1.0, np.array([1.0, 0.0]))
    with pytest.raises(InputError, match=r"^reach is two numbers above 0.*2\.0 and 1\.0;"):
        suggest_rescaling(1.0, 1.0, reach=(2.0, 1.0))
    with pytest.raises(InputError, match=r"^rich_below is less than lazy_above; got 2 and 1.9;"):
        regime(1.0, 0.0, rich_below=2.0)
