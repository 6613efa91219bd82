"""The page of the explorer: a section for each panel, with controls, answer, picture and code."""

from __future__ import annotations

from pathlib import Path

from partwhole.explorer.controls import Column, Slider
from partwhole.explorer.panel import Panel
from partwhole.page import Html, data, join, page, section, tag

HERE = Path(__file__).parent
TABLES = ".csv,.tsv,.jsonl,.parquet"


def explorer(panels: tuple[Panel, ...], titles: dict[str, str]) -> str:
    """Return the page.

    Parameters
    ----------
    panels : tuple of Panel
    titles : dict of str to str
        Titles of chapters, by their names.
    """
    links = tag("ol", [tag("li", tag("a", panel.title, href=f"#{panel.name}")) for panel in panels])
    lead = "Theory under the hand: move a slider, and read what a learner will do."
    return page(
        "partwhole: the explorer",
        header=join(tag("h1", "What will it do, and why?"), tag("p", lead, class_="lead")),
        nav=links,
        main=join(
            tag("noscript", tag("p", "The panels need JavaScript.", class_="notice")),
            [_panel(panel, titles[panel.chapter]) for panel in panels],
        ),
        footer=tag("p", "All answers are computed on this machine; nothing leaves it."),
        style=(HERE / "explorer.css").read_text("utf-8"),
        script=(HERE / "explorer.js").read_text("utf-8"),
        connects=True,
    )


def _panel(panel: Panel, chapter: str) -> Html:
    name = panel.name
    sliders = {k: control for k, control in panel.controls.items() if isinstance(control, Slider)}
    columns = {k: control for k, control in panel.controls.items() if isinstance(control, Column)}
    picture = tag("img", alt=panel.alternative, hidden=True)
    form = tag(
        "form",
        [_slider(panel, *item) for item in sliders.items()],
        _table(panel, columns) if columns else None,
        data_panel=name,
        autocomplete="off",
        aria_labelledby=f"{name}-title",
    )
    return section(
        name,
        panel.title,
        tag("p", panel.text),
        tag(
            "div",
            form,
            tag(
                "div",
                tag("p", "Computing …", class_="says", role="status"),
                tag("figure", tag("div", picture, class_="card")),
                class_="answer-side",
            ),
            class_="panel",
        ),
        tag(
            "details",
            tag("summary", "The code that makes it"),
            tag("button", "Copy", type="button", class_="copy"),
            tag(
                "pre", tag("code", panel.code({})), tabindex=0, role="region",
                aria_label=f"Code: {panel.title}",
            ),
        ),
        tag("p", "The theory: ", tag("a", chapter, href=f"{panel.chapter}.html"), class_="source"),
    )  # fmt: skip


def _slider(panel: Panel, argument: str, slider: Slider) -> Html:
    start, anchor = panel.starts[argument], f"{panel.name}-{argument}"
    return tag(
        "p",
        tag("label", slider.label, for_=anchor),
        tag("output", f"{start:g}", for_=anchor),
        tag(
            "input", type="range", id=anchor, name=argument, min=0, max=len(slider.values) - 1,
            step=1, value=slider.values.index(start), aria_valuetext=f"{start:g}",
            data_values=",".join(map(repr, slider.values)),
        ),
        class_="control",
    )  # fmt: skip


def _table(panel: Panel, columns: dict[str, Column]) -> Html:
    """Return the choice of a table; its columns are listed by the page's script."""
    anchor = f"{panel.name}-file"
    return join(
        tag(
            "p",
            tag("label", "Your table", for_=anchor),
            tag("input", type="file", id=anchor, accept=TABLES),
            class_="control",
        ),
        tag("div", class_="columns"),
        data(
            [{"name": name, **vars(column)} for name, column in columns.items()], class_="choices"
        ),
        tag(
            "p",
            tag("a", "The whole page of the audit", target="_blank"),
            class_="whole",
            hidden=True,
        ),
    )
