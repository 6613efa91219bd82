"""Progress: a bar on a terminal or in a notebook, plain lines half a minute apart elsewhere."""

from __future__ import annotations

import sys
import time

import rich.console

from partwhole import _progress
from partwhole.study.bars import Bars


def clock(monkeypatch, times):
    monkeypatch.setattr(_progress, "monotonic", lambda: next(times))


def test_lines_say_how_far_and_how_long(monkeypatch, capsys):
    clock(monkeypatch, iter([0.0, 10.0, 31.0, 45.0, 3661.0]))
    with _progress.bar("training", 4000, shown=True) as advance:
        for _ in range(4):
            advance(500, "at loss 0.1")
    assert capsys.readouterr().err.splitlines() == [
        "training at loss 0.1: 1,000 of 4,000, 0:00:31, about 0:01:33 left",
        "training at loss 0.1: 2,000 of 4,000, 1:01:01, about 1:01:01 left",
    ]


def test_nothing_is_printed_if_nothing_is_to_be_shown(monkeypatch, capsys):
    clock(monkeypatch, iter([0.0, 100.0]))
    with _progress.bar("training", 2, shown=False) as advance:
        advance(1)
    with Bars(None) as bars:
        bars.study_begins("margins", 1)
        bars.cell_ended()
    assert capsys.readouterr().err == ""


def test_cells_of_a_study_are_counted_in_lines(monkeypatch, capsys):
    clock(monkeypatch, iter([0.0, 40.0, 50.0, 80.0]))
    with Bars(0) as bars:
        bars.study_begins("margins", 3)
        for _ in range(3):
            bars.cell_ended()
    assert capsys.readouterr().err.splitlines() == [
        "margins: 1 of 3, 0:00:40, about 0:01:20 left",
        "margins: 3 of 3, 0:01:20, about 0:00:00 left",
    ]


def test_a_bar_is_shown_only_on_a_terminal_and_only_if_asked(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress.bar("training 2 networks", 2, shown=True) as advance:
        time.sleep(0.3)
        advance(2)
    assert "training 2 networks" in capsys.readouterr().err
    with _progress.bar("training 2 networks", 2, shown=False) as advance:
        advance(2)
    assert capsys.readouterr().err == ""


def test_a_notebook_has_a_bar_if_it_can_draw_one(monkeypatch):
    for kernel in (False, True):
        for widgets in (False, True):
            for is_jupyter in (False, True):
                with monkeypatch.context() as patch:
                    if kernel:
                        patch.setitem(sys.modules, "ipykernel", sys)
                    patch.setattr(_progress, "find_spec", lambda name, has=widgets: has or None)
                    patch.setattr(rich.console, "_is_jupyter", lambda of=is_jupyter: of)
                    can_draw = kernel and widgets and is_jupyter
                    assert _progress._is_notebook() is can_draw
                    with _progress.bar("training", 2, shown=True) as advance:
                        assert isinstance(advance, _progress.Lines) is not can_draw
