"""The explorer in a real browser: by keyboard and on a phone, with an axe check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from explorers import answering
from playwright.sync_api import Page, expect

from partwhole.explorer.panels import PANELS
from partwhole.explorer.server import Explorer

pytestmark = pytest.mark.browser

PHONE, DESK = {"width": 360, "height": 780}, {"width": 1280, "height": 900}
NAMES = [panel.name for panel in PANELS]
TABLE = b"what,who,sum,split\na,c,1,train\na,d,2,train\nb,c,3,train\nb,d,4,test\n"


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    with answering() as server:
        yield server


@pytest.fixture
def visit(browser, explorer) -> Iterator:
    contexts, troubles = [], []

    def visit(viewport=DESK, scheme: str = "light", path: str = "") -> Page:
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        contexts.append(context)

        def asked(request) -> None:
            if not request.url.startswith((explorer.address, "data:")):
                troubles.append(f"asked for {request.url}")

        context.on("request", asked)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{explorer.address}{path}")
        if not path:
            for name in NAMES:
                page.wait_for_selector(f"#{name} img:not([hidden])", timeout=60_000)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.mark.parametrize("viewport", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page_is_accessible_and_fits(visit, viewport, scheme):
    page = visit(viewport, scheme)
    for summary in page.locator("summary").all():
        summary.click()
    violations = Axe().run(page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"]) for item in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    for name in NAMES:
        box = page.locator(f"#{name} img").bounding_box()
        shape = page.locator(f"#{name} img").evaluate("i => i.naturalWidth / i.naturalHeight")
        assert box is not None
        # A picture upright on a phone, and nowhere smaller than it can be read.
        assert shape < 1 if viewport is PHONE else shape > 2
        assert abs(box["width"] / box["height"] - shape) < 0.02
        assert box["width"] > 300
    # Targets of fingers.
    low = page.locator("input[type=range], select, button").evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().height < 24).length"
    )
    assert low == 0


def test_theory_moves_under_the_keyboard(visit):
    page = visit()
    for panel in PANELS[:-1]:
        part = page.locator(f"#{panel.name}")
        for argument in panel.controls:
            slider = part.locator(f"input[name={argument}]")
            before = part.locator("img").get_attribute("src")
            slider.focus()
            page.keyboard.press("ArrowRight" if argument != "n_anchors" else "End")
            expect(part.locator("img")).not_to_have_attribute("src", before or "")
            value = slider.get_attribute("aria-valuetext")
            assert part.locator(f"output[for={panel.name}-{argument}]").inner_text() == value
            expect(part.locator("code")).to_contain_text(f"\n{argument} = {value}")
    values = {"salience": 0.42, "n_anchors": 4}
    expect(page.locator("#leak .says")).to_have_text(PANELS[0].answer(values).says)


def test_a_slider_at_its_end_gets_a_sentence_and_the_picture_comes_back(visit):
    page = visit()
    part = page.locator("#shortcut")
    slider = part.locator("input[name=part]")
    slider.focus()
    page.keyboard.press("End")
    expect(part.locator(".says")).to_contain_text("saliences of at most 1: lower one.")
    expect(part.locator("figure")).not_to_be_visible()
    page.keyboard.press("Home")
    part.locator("input[name=pair]").focus()
    page.keyboard.press("End")
    expect(part.locator(".says")).to_contain_text("18 of 18 held-out combinations are right.")
    expect(part.locator("figure")).to_be_visible()


def test_the_last_question_is_answered_however_many_came_before(visit):
    page = visit()
    slider = page.locator("#leak input[name=salience]")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    value = float(slider.get_attribute("aria-valuetext") or "nan")
    assert value == 0.26
    expect(page.locator("#leak .says")).to_have_text(PANELS[0].answer({"salience": value}).says)


def test_the_code_is_copied(visit):
    page = visit()
    part = page.locator("#swing")
    part.locator("summary").focus()
    page.keyboard.press("Enter")
    part.locator("button").focus()
    page.keyboard.press("Enter")
    expect(part.locator("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == PANELS[2].code({})


def test_a_table_of_the_reader_is_audited_and_a_broken_one_gets_a_sentence(visit, tmp_path):
    page = visit()
    part = page.locator("#audit")
    chooser, says = part.locator("input[type=file]"), part.locator(".says")
    chooser.set_input_files({"name": "my.csv", "mimeType": "text/csv", "buffer": TABLE})
    expect(says).to_contain_text("Supported if parts add up (order 1)")
    assert part.locator("input:checked").evaluate_all("all => all.map(e => e.value)") == [
        "what",
        "who",
    ]
    expect(part.locator("code")).to_contain_text("path = 'my.csv'")
    with page.context.expect_page() as opened:
        part.locator(".whole a").click()
    expect(opened.value.locator("h1")).to_be_visible()
    part.get_by_label("who").uncheck()
    expect(says).to_contain_text("a combination has at least two components; got 1, 'what'; ")
    part.get_by_label("who").check()
    part.get_by_label("Target").select_option("split")
    expect(says).to_contain_text("; got 'split' as target and as split; ")
    expect(part.locator(".whole")).not_to_be_visible()
    chooser.set_input_files(
        {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1\n2,3,4\n"}
    )
    expect(says).to_contain_text("bad.csv")
    expect(says).to_contain_text("; got ")


def test_of_a_refused_table_nothing_else_is_shown(visit):
    """The chooser names a file: no other table is audited under its name."""
    page = visit()
    part = page.locator("#audit")
    chooser, says = part.locator("input[type=file]"), part.locator(".says")
    good = {"name": "good.csv", "mimeType": "text/csv", "buffer": TABLE}
    bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1\n2,3,4\n"}
    chooser.set_input_files(good)
    expect(says).to_contain_text("Supported if parts add up (order 1)")
    chooser.set_input_files(bad)
    expect(says).to_contain_text("bad.csv")
    assert part.locator("select, fieldset").count() == 0
    assert part.locator("code").text_content() == ""
    expect(part.locator("figure")).not_to_be_visible()
    chooser.set_input_files(good)
    expect(says).to_contain_text("Supported if parts add up (order 1)")
    page.evaluate("document.querySelector('#audit input').value = ''")
    large = {"name": "large.csv", "mimeType": "text/csv", "buffer": b"a" * ((40 << 20) + 1)}
    chooser.set_input_files(large)
    expect(says).to_contain_text("at most 40 MiB; got large.csv of 41 MiB; use partwhole audit.")
    assert part.locator("select, fieldset").count() == 0


def test_of_two_tables_the_last_one_counts(visit):
    page = visit()
    part = page.locator("#audit")
    chooser = part.locator("input[type=file]")
    held = []
    page.route("**/columns", lambda route: held.append(route), times=1)
    slow = {"name": "slow.csv", "mimeType": "text/csv", "buffer": TABLE}
    chooser.set_input_files(slow)
    expect(part.locator(".says")).to_have_text("Reading slow.csv …")
    fast = {"name": "fast.csv", "mimeType": "text/csv", "buffer": TABLE.replace(b"who", b"where")}
    chooser.set_input_files(fast)
    expect(part.locator("code")).to_contain_text("fast.csv")
    held[0].continue_()
    page.wait_for_timeout(500)
    expect(part.locator("code")).to_contain_text("fast.csv")
    expect(part.get_by_label("where")).to_be_checked()


def test_back_from_a_chapter_the_page_says_what_its_sliders_say(visit):
    page = visit()
    part = page.locator("#leak")
    part.locator("input[name=salience]").focus()
    page.keyboard.press("Home")
    expect(part.locator(".says")).to_have_text(PANELS[0].answer({"salience": 0.02}).says)
    part.locator(".source a").click()
    expect(page.locator("h1")).to_contain_text("What will a learner answer")
    page.go_back()
    page.wait_for_selector("#leak img:not([hidden])")
    value = part.locator("input[name=salience]").get_attribute("aria-valuetext")
    assert part.locator("output").first.inner_text() == value
    expected = PANELS[0].answer({"salience": float(value or "nan")}).says
    expect(part.locator(".says")).to_have_text(expected)
    place = part.locator("input[name=salience]").evaluate("e => +e.value")
    assert part.locator("input[name=salience]").evaluate("e => e.dataset.values").split(",")[
        place
    ] == value  # fmt: skip


def test_a_stopped_explorer_says_so(visit):
    page = visit()
    # As a server that is gone, but that the browser does not log it.
    page.evaluate("void (window.fetch = () => Promise.reject(new TypeError('gone')))")
    page.locator("#leak input[name=salience]").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#leak .says")).to_contain_text("Start it again with partwhole explore.")


@pytest.mark.parametrize("panel", PANELS, ids=NAMES)
def test_a_chapter_is_a_click_away_and_accessible(visit, panel, scheme):
    page = visit(PHONE, scheme, f"{panel.chapter}.html")
    violations = Axe().run(page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"]) for item in violations] == []
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("nav a").click()
    expect(page.locator("h1")).to_have_text("What will it do, and why?")
