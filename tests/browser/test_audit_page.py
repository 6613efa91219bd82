"""The audit's page in a real browser: by what it shows and does, and an axe check."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import audit_samples
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from partwhole.audit.page import to_html

pytestmark = pytest.mark.browser

PHONE, DESK = {"width": 360, "height": 780}, {"width": 1280, "height": 900}
SAMPLES = [
    "faulty",
    "sums",
    "scenes",
    "hostile",
    "parity",
    "large",
    "silenced",
    "islands",
    "measured",
]


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("audit")
    for name in SAMPLES:
        (folder / f"{name}.html").write_text(to_html(getattr(audit_samples, name)()), "utf-8")
    return {name: folder / f"{name}.html" for name in SAMPLES}


@pytest.fixture
def visit(browser, files) -> Iterator:
    contexts, troubles = [], []

    def visit(name: str, viewport=DESK, scheme: str = "light", script: bool = True) -> Page:
        context = browser.new_context(
            viewport=viewport,
            color_scheme=scheme,
            reduced_motion="reduce",
            java_script_enabled=script,
        )
        contexts.append(context)
        here = files[name].as_uri()

        def asked(request) -> None:
            if request.url.partition("#")[0] != here and not request.url.startswith("data:"):
                troubles.append(f"asked for {request.url}")

        context.on("request", asked)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
        page.goto(here)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []


def marks(page: Page, board: str = "#s1-board") -> dict[str, int]:
    """Count the cells drawn in each state, by the shapes of their paths."""
    ends = {"all": "z", "some": "h0", "held": "zm", "never": "h0"}
    counted = {}
    for style, end in ends.items():
        path = page.locator(f"{board} .frame path.is-{style}")
        d = path.get_attribute("d") or "" if path.count() else ""
        counted[style] = d.count("z") if style == "some" else d.count(end)
    return counted


def by_hand(name: str, split: int, i: int, j: int) -> dict[str, int]:
    """Count them from the table's rows."""
    table = getattr(audit_samples, name)().table
    rows = list(zip(map(tuple, table.components.tolist()), table.split.tolist(), strict=True))
    train = {row for row, part in rows if part == 0}
    held = {row for row, part in rows if part == split} - train
    counted = dict.fromkeys(["all", "some", "held", "never"], 0)
    for a in range(table.n_values[i]):
        for b in range(table.n_values[j]):
            seen = any(row[i] == a and row[j] == b for row in train)
            out = any(row[i] == a and row[j] == b for row in held)
            counted[
                {(1, 0): "all", (1, 1): "some", (0, 1): "held", (0, 0): "never"}[seen, out]
            ] += 1
    return counted


def test_choosing_components_redraws_the_grid(visit):
    page = visit("scenes")
    down, across = page.get_by_label("Down").first, page.get_by_label("Across").first
    assert marks(page) == by_hand("scenes", 1, 0, 1)
    for i, j in ((0, 2), (3, 2), (3, 1), (2, 1)):
        down.select_option(str(i))
        across.select_option(str(j))
        expected = by_hand("scenes", 1, i, j)
        assert marks(page) == expected, (i, j)
        names = audit_samples.scenes().table.names
        sentence = page.locator("#s1-board .description").inner_text()
        assert sentence.startswith(f"Down: {names[i]}; across: {names[j]}. Of ")
        assert f" {expected['all']} {'is' if expected['all'] == 1 else 'are'} all seen" in sentence
    # The other split's grid stays as it was.
    assert marks(page, "#s2-board") == by_hand("scenes", 2, 0, 1)


def test_the_same_component_twice_changes_places(visit):
    page = visit("scenes")
    page.get_by_label("Across").first.select_option("0")
    assert page.get_by_label("Down").first.input_value() == "1"
    assert marks(page) == by_hand("scenes", 1, 1, 0)


@pytest.mark.parametrize("name", ["faulty", "scenes", "hostile"])
def test_the_script_draws_what_the_page_says_without_it(visit, name):
    plain, live = visit(name, script=False), visit(name)
    assert plain.locator(".choices").first.is_hidden()
    assert live.locator(".choices").first.is_visible()
    for style in ("all", "some", "held", "never"):
        old = plain.locator(f"#s1-board .scroll path.is-{style}")
        new = live.locator(f"#s1-board .scroll path.is-{style}")
        assert old.count() == new.count()
        if old.count():
            box, other = old.first.bounding_box(), new.first.bounding_box()
            assert box
            assert other
            # Shapes alike to a tenth of a pixel, which is what one of the two rounds to.
            for side in ("width", "height"):
                assert abs(box[side] - other[side]) < 0.11
    before = plain.locator("#s1-board .description").inner_text()
    live.get_by_label("Down").first.select_option("1")
    live.get_by_label("Down").first.select_option("0")
    assert live.locator("#s1-board .description").inner_text() == before


def test_a_cell_is_read_with_the_keyboard_and_the_pointer(visit):
    page = visit("faulty")
    board = page.locator("#s1-board .scroll")
    line = page.locator("#s1-board p.cell")
    board.focus()
    page.keyboard.press("ArrowDown")
    assert line.inner_text() == "(circle, black): held out only; 0 seen, 1 held out"
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert line.inner_text() == "(cross, blue): all seen; 1 seen, 0 held out"
    assert page.locator("#s1-board .cursor").is_visible()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert line.inner_text() == "(cross, white): in neither; 0 seen, 0 held out"
    box = page.locator("#s1-board .frame svg").bounding_box()
    assert box
    # The last cell's middle, 22 pixels from the corner but for a margin of 4.
    page.mouse.move(box["x"] + box["width"] - 24, box["y"] + box["height"] - 24)
    assert line.inner_text() == "(triangle, white): in neither; 0 seen, 0 held out"


def test_everything_is_reached_with_the_keyboard(visit):
    page = visit("faulty")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    wanted = {"SELECT", "SUMMARY", "A", "DIV"}
    met: set[str] = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        met.add(page.evaluate("document.activeElement.tagName"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
    assert wanted <= met
    page.locator("#s1-down").focus()
    page.keyboard.press("c")
    assert page.locator("#s1-down").input_value() == "1"
    assert page.locator("#s1-across").input_value() == "0"
    details = page.locator("details:not([open])").first
    details.locator("summary").focus()
    page.keyboard.press("Enter")
    assert details.locator("p, table").first.is_visible() or page.locator("details[open]").count()


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_never_scrolls_sideways(visit, name, width):
    page = visit(name, {"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_from_the_table_do_nothing(visit):
    page = visit("hostile")
    assert page.locator("img:not([src^='data:'])").count() == 0
    assert page.evaluate("document.querySelectorAll('[onmouseover], [onfocus]').length") == 0
    options = page.locator("#s1-down option").all_inner_texts()
    assert options == list(audit_samples.HOSTILE[:2])
    page.locator("#s1-down").select_option("1")
    drawn = page.locator("#s1-board .frame text").all_text_contents()
    assert "]]><!--" in drawn
    assert "日本語 é 🙂" in drawn


def test_a_script_that_got_in_would_not_run(browser, files):
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(files["sums"].as_uri())
    ran = page.evaluate(
        """() => {
            const evil = document.createElement("script");
            evil.textContent = "window.evil = 1";
            document.body.append(evil);
            return window.evil ?? 0;
        }"""
    )
    page.close()
    assert ran == 0
    assert any("Content Security Policy" in line for line in said)


def test_folded_parts_are_printed(visit):
    page = visit("faulty")
    page.emulate_media(media="print")
    assert page.locator("details").count() > 3
    for details in page.locator("details").all():
        inner = details.locator(":scope > :not(summary)").first
        box = inner.bounding_box()
        assert box
        assert box["height"] > 10
    assert page.locator(".choices").first.is_hidden()
    assert page.locator("nav").is_hidden()
    page.set_viewport_size({"width": 720, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF")


def test_the_scheme_of_the_reader_is_kept(visit, scheme):
    page = visit("faulty", scheme=scheme)
    for element in ("body", "#s1-down", "svg.corners rect"):
        rule = "fill" if "rect" in element else "backgroundColor"
        colour = page.evaluate(
            "([e, r]) => getComputedStyle(document.querySelector(e))[r]", [element, rule]
        )
        brightness = sum(int(part) for part in colour[4:-1].split(",")) / 3
        assert (brightness > 128) == (scheme == "light"), element


def test_a_grid_of_many_values_is_a_picture(visit):
    page = visit("large")
    canvas = page.locator("#s1-board canvas")
    assert canvas.get_attribute("width") == "400"
    colours = canvas.evaluate(
        """canvas => {
            const pixels = canvas.getContext("2d").getImageData(0, 0, 400, 400).data;
            const found = {};
            for (let i = 0; i < 200; i++) for (let j = 0; j < 200; j++) {
                const at = 4 * (2 * i * 400 + 2 * j);
                const colour = Array.from(pixels.slice(at, at + 3)).join();
                found[colour] = (found[colour] ?? 0) + 1;
            }
            return found;
        }"""
    )
    case = audit_samples.large().evidence[0].case
    pairs = case.task.components[:, 0] * 200 + case.task.components[:, 1]
    seen = set(pairs[case.task.is_train].tolist())
    held = set(pairs[~case.task.is_train].tolist())
    expected = {
        "86,125,158": len(seen - held),
        "150,110,170": len(seen & held),
        "207,104,25": len(held - seen),
        "0,0,0": 200 * 200 - len(seen | held),
    }
    assert colours == {colour: n for colour, n in expected.items() if n}


@pytest.mark.parametrize("name", ["faulty", "sums", "scenes", "hostile", "parity", "islands"])
def test_axe_finds_nothing(visit, name, scheme):
    """Both schemes and both widths."""
    page = visit(name, PHONE if scheme == "dark" else DESK, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    # Without a list of all that passes, which takes longer than finding it.
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
