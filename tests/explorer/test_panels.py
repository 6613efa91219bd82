"""Panels say what theory says at every place of their sliders, and show the code that says it."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import wraps
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

import partwhole as pw
from partwhole._checks import InputError
from partwhole.audit.rules import RULES
from partwhole.explorer.controls import Column, Slider
from partwhole.explorer.panel import Panel
from partwhole.explorer.panels import PANELS
from partwhole.flows import FlowOutcome
from partwhole.limits.limit import Outcome

BY_NAME = {panel.name: panel for panel in PANELS}
NAMES = list(BY_NAME)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


def contents(ax: Axes) -> list:
    """Return what axes show, as numbers and texts."""
    curves = [line.get_xydata().tolist() for line in ax.lines]
    images = [np.ma.filled(image.get_array(), np.nan).round(12).tolist() for image in ax.images]
    texts = [
        ax.get_title("left"),
        ax.get_xlabel(),
        ax.get_ylabel(),
        *(t.get_text() for t in ax.texts),
    ]
    return [repr(curves), repr(images), len(ax.collections), len(ax.patches), texts]


def recorded(draw, drawn: list[Axes]):
    @wraps(draw)
    def drawing(axes, *arguments, **values):
        yield from draw(axes, *arguments, **values)
        drawn.extend(axes)

    return drawing


def values_of(panel: str, control: str) -> tuple[float, ...]:
    slider = BY_NAME[panel].controls[control]
    assert isinstance(slider, Slider)
    return slider.values


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_has_words_and_opens_where_its_controls_can_be(name):
    panel = BY_NAME[name]
    assert panel.title.endswith("?")
    assert len(panel._words) == 3
    assert panel.alternative.startswith("Left ")
    for argument, control in panel.controls.items():
        start = panel.starts[argument]
        sent = list(start) if isinstance(start, tuple) else start  # as JSON has it
        assert control.read(argument, sent) == sent


@pytest.mark.parametrize("name", NAMES)
def test_the_code_is_what_was_run(name, monkeypatch, capsys):
    drawn: list[Axes] = []
    panel = replace(BY_NAME[name], draw=recorded(BY_NAME[name].draw, drawn))
    control, slider = next(iter(panel.controls.items()))
    values = {control: slider.values[len(slider.values) // 3]} if isinstance(slider, Slider) else {}
    answer = panel.answer(values)
    assert answer.picture.startswith("<?xml")
    assert plt.get_fignums() == []
    monkeypatch.setattr(plt, "show", lambda: None)
    scope: dict = {}
    exec(answer.code, scope)
    assert capsys.readouterr().out.strip() == answer.says
    assert len(scope["axes"]) == 2
    # The same as in the picture: what was drawn, and all texts but those of ticks.
    assert [contents(ax) for ax in scope["axes"]] == [contents(ax) for ax in drawn]
    narrow = panel.answer(values, narrow=True)
    assert narrow.says == answer.says
    assert narrow.picture != answer.picture


@pytest.mark.parametrize("p", values_of("leak", "n_anchors"))
def test_the_leak_is_the_published_formula(p):
    for S in (0.02, 0.48):
        says = BY_NAME["leak"].answer({"salience": S, "n_anchors": p}).says
        assert numbers(says) == [pytest.approx(p * S / (1 + (p - 2) * S), abs=5.1e-4)] * 2


def test_the_shortcut_wins_below_the_boundary_and_nothing_is_said_beyond_the_end():
    for part in values_of("shortcut", "part")[::8]:
        boundary = pw.limits.shortcut.shortcut_boundary(part)
        for pair in values_of("shortcut", "pair")[::8]:
            answer = BY_NAME["shortcut"].answer({"part": part, "pair": pair})
            if part + pair > 1 / 3:
                assert answer.says == (
                    "Three parts and three pairs have saliences of at most 1: lower one."
                )
                assert answer.picture == ""
                continue
            assert ("The rule wins nowhere." in answer.says) == np.isnan(boundary)
            right, n_test, *least, solved, formula = numbers(answer.says)
            np.testing.assert_allclose(least, boundary if least else [], atol=5.1e-4)
            assert solved == pytest.approx(formula, abs=1.1e-3)
            # The boundary is exact; NaN where the shortcut wins for all pairs.
            assert right == (n_test if pair > boundary else 0)


def test_the_clocks_are_those_of_the_start_and_near_the_flow():
    for correlation in (-0.5, 0.0, 0.9):
        says = BY_NAME["swing"].answer({"correlation": correlation, "size": 0.001}).says
        times = [numbers(line)[1:] for line in says.splitlines()[:2]]
        # A mean of 3 has the signal 0.05^2 + 9/2, one of 1 has 0.05^2 + 1/2; pivots of the start.
        pivots = 0.001 * np.array([1.0, 1.0 - correlation**2])
        clocks = np.log(1 / pivots) / (2 * np.array([4.5025, 0.5025]))
        np.testing.assert_allclose([clock for _, clock in times], clocks, rtol=5e-3)
        np.testing.assert_allclose([flow for flow, _ in times], clocks, rtol=0.02)
        assert ("no swing-by" in says) == (correlation <= 0)


def test_clocks_that_are_only_near_say_so():
    alike = BY_NAME["swing"].answer({"strong": 1.0, "weak": 1.0, "correlation": 0.9}).says
    assert "Clocks are only near: the signals are much alike, or the start is large." in alike
    times = [numbers(line)[1:] for line in alike.splitlines()[:2]]
    assert max(abs(flow / clock - 1) for flow, clock in times) > 0.05
    for weak in (0.5, 1.0, 2.0):
        for size in values_of("swing", "size"):
            says = BY_NAME["swing"].answer({"weak": weak, "size": size, "correlation": 0.9}).says
            times = [numbers(line)[1:] for line in says.splitlines()[:2]]
            is_near = max(abs(flow / clock - 1) for flow, clock in times) < 0.05
            assert is_near or "Clocks are only near" in says


def test_a_large_c_is_lazy_a_small_one_is_rich_and_one_between_is_nested():
    regimes = [
        re.findall(
            r"what was learned to the power \S+: (\w+)", BY_NAME["reuse"].answer({"c": c}).says
        )[0]
        for c in (0.001, 0.1, 10.0)
    ]
    assert regimes == ["rich", "nested", "lazy"]


@pytest.mark.parametrize(("gap", "seed"), [(0.06, 1), (0.5, 7)])
def test_more_gates_need_no_longer_weights_and_one_cannot_do(gap, seed):
    sums = []
    for n_units in (1, 4, 8, 30):
        says = BY_NAME["gates"].answer({"n_units": n_units, "gap": gap, "seed": seed}).says
        if n_units == 1:
            assert says == "1 gated units cannot separate these classes: add units."
        else:
            sums.append(numbers(says)[3])
    assert all(less <= more for more, less in pairwise(sums))


def test_the_audit_says_what_the_audit_says():
    panel = BY_NAME["audit"]
    answer = panel.answer({})
    report = pw.audit_split(panel.starts["path"], ["shape", "colour"], "answer", "split")
    assert answer.says.splitlines()[0] == f"{report.headline}."
    assert answer.says.splitlines()[1:] == [
        f"{finding.rule}{f' ({finding.subject})' * bool(finding.subject)}: "
        f"{RULES[finding.rule].meaning}"
        for finding in report.errors + report.warnings
    ]
    assert answer.report is not None
    assert answer.report.verdict == report.verdict


AWKWARD = ["$\\frac$", "$10", "a\x01b", "<b>", "a rather long name", "\u4e00", "'\""]


def test_any_value_and_name_can_be_drawn(tmp_path):
    """Dollar signs are no formulas, and control characters are no marks of the picture."""
    path = tmp_path / "t.csv"
    rows = [(a, b, i + j) for i, a in enumerate(AWKWARD) for j, b in enumerate(AWKWARD)]
    table = pd.DataFrame(rows, columns=["$\\frac$", "b $1", "y"])
    table["split"] = np.where(np.arange(49) % 5, "train", "test")
    table.to_csv(path, index=False)
    values = {"path": str(path), "components": ["$\\frac$", "b $1"], "target": "y"}
    answer = BY_NAME["audit"].answer(values)
    assert answer.says.startswith("Supported")
    ElementTree.fromstring(answer.picture)
    assert "$\\frac$" in answer.picture


def test_a_table_of_many_values_has_no_grid(tmp_path):
    path = tmp_path / "t.csv"
    n = 1000  # a grid of a million cells, and pictures of more
    table = pd.DataFrame({"a": np.arange(n), "b": (7 * np.arange(n)) % n, "y": np.arange(n) % 9})
    table["split"] = np.where(np.arange(n) % 5, "train", "test")
    table.to_csv(path, index=False)
    answer = BY_NAME["audit"].answer({"path": str(path), "components": ["a", "b"], "target": "y"})
    assert answer.says.endswith("A grid is drawn of two components of at most 60 values.")
    assert len(answer.picture) < 100_000


def undecided(axes, print, max_steps=1):
    task = pw.tasks.context_dependence(left_out=3)
    kernel = pw.features.OverlapKernel.from_salience([0.1, 0.05], n_components=3)
    limit = pw.solve(task, kernel, fit="margin", intercept="free")
    yield replace(limit, outcome=Outcome.MAX_STEPS)
    raise AssertionError("drawn all the same")


def unfinished(axes, print, max_steps=1):
    yield pw.flow(pw.flows.Tied(0.01 * np.eye(2), np.eye(2)), np.linspace(0, 9, 9), max_steps=2)
    raise AssertionError("drawn all the same")


def diverged(axes, print, max_steps=1):
    path = next(unfinished(axes, print))
    yield replace(path, outcome=FlowOutcome.DIVERGED)
    raise AssertionError("drawn all the same")


@pytest.mark.parametrize("draw", [undecided, diverged, unfinished])
def test_what_was_not_decided_is_never_shown(draw):
    answer = Panel(draw, "kernels").answer({})
    assert re.match(
        r"Not decided: reached max_steps|The numbers are no longer finite|Ran out of steps",
        answer.says,
    )
    assert answer.picture == ""


@pytest.mark.parametrize(
    ("control", "value", "sentence"),
    [
        (
            Slider("S", (0.1, 0.2)), 0.3,
            "a is from 0.1 to 0.2, as the slider has it; got 0.3; move the slider",
        ),
        (
            Slider("S", (0.1, 0.2)), None,
            "a is from 0.1 to 0.2, as the slider has it; got None; move the slider",
        ),
        (Column("C"), 3, "a is a column of the table; got 3; choose by name"),
        (Column("C"), "", "a is a column of the table; got none; choose by name"),
        (
            Column("C", several=True), [],
            "a are columns of the table; got none; choose by name",
        ),
    ],
)  # fmt: skip
def test_a_control_refuses_what_it_does_not_have(control, value, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        control.read("a", value)
