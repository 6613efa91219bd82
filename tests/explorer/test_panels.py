"""Panels say what theory says at every place of their sliders, and show the code that says it."""

from __future__ import annotations

import re
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest

import partwhole as pw
from partwhole._checks import InputError
from partwhole.explorer.controls import Column, Slider
from partwhole.explorer.panel import Panel
from partwhole.explorer.panels import PANELS

BY_NAME = {panel.name: panel for panel in PANELS}
NAMES = list(BY_NAME)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)]


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
    panel = BY_NAME[name]
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
    # The same curves as in the picture, which is drawn on axes of the page.
    drawn = sum(len(ax.lines) + len(ax.collections) + len(ax.images) for ax in scope["axes"])
    assert drawn > 1
    narrow = panel.answer(values, narrow=True)
    assert narrow.says == answer.says
    assert narrow.picture != answer.picture


@pytest.mark.parametrize("p", values_of("leak", "n_anchors"))
def test_the_leak_is_the_published_formula(p):
    for S in (0.02, 0.24, 0.5):
        says = BY_NAME["leak"].answer({"salience": S, "n_anchors": p}).says
        assert numbers(says) == [pytest.approx(p * S / (1 + (p - 2) * S), abs=5.1e-4)] * 2


def test_the_shortcut_wins_below_the_boundary_and_nothing_is_said_beyond_the_end():
    for part in values_of("shortcut", "part")[::6]:
        boundary = pw.limits.shortcut.shortcut_boundary(part)
        for pair in values_of("shortcut", "pair")[::5]:
            answer = BY_NAME["shortcut"].answer({"part": part, "pair": pair})
            if part + pair > 1 / 3:
                assert re.fullmatch(r"[^\n]+; got [^\n]+; lower [^\n]+", answer.says)
                assert answer.picture == ""
                continue
            right, n_test, solved, formula = numbers(answer.says)
            assert solved == pytest.approx(formula, abs=1.1e-3)
            if abs(pair - boundary) > 1e-3 and part:
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


def test_a_large_c_is_lazy_a_small_one_is_rich_and_one_between_is_nested():
    regimes = [
        BY_NAME["reuse"].answer({"c": c}).says.partition(": ")[2].partition(".")[0]
        for c in (0.001, 0.1, 10.0)
    ]
    assert regimes == ["rich", "nested", "lazy"]


def test_more_gates_need_smaller_weights_and_one_cannot_do():
    norms = []
    for n_units in (1, 2, 4, 8, 16, 30):
        says = BY_NAME["gates"].answer({"n_units": n_units}).says
        if n_units == 1:
            assert says.startswith("With 1 gated units: no function of these features fits")
        else:
            norms.append(numbers(says)[2])
    assert all(less <= more for more, less in pairwise(norms))


def test_the_audit_says_what_the_audit_says():
    panel = BY_NAME["audit"]
    answer = panel.answer({})
    report = pw.audit_split(panel.starts["path"], ["shape", "colour"], "answer", "split")
    assert answer.says.splitlines()[0] == f"{report.headline}."
    assert [line.partition(":")[0] for line in answer.says.splitlines()[1:]] == [
        finding.rule for finding in report.errors + report.warnings
    ]
    assert answer.report is not None
    assert answer.report.verdict == report.verdict


def undecided(axes, max_steps=1):
    task = pw.tasks.context_dependence(left_out=3)
    kernel = pw.features.OverlapKernel.from_salience([0.1, 0.05], n_components=3)
    return pw.solve(task, kernel, fit="margin", intercept="free", max_steps=max_steps)


def test_what_the_solver_did_not_decide_is_never_shown(monkeypatch):
    outcome = undecided(None).outcome
    monkeypatch.setattr("partwhole.explorer.panel.UNDECIDED", (outcome,))
    answer = Panel(undecided, "kernels").answer({})
    assert (answer.says.lower(), answer.picture) == (f"{outcome.value}.".lower(), "")


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
