"""The report in a real browser: by what it shows, what the keyboard does, and an axe check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_study
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from partwhole import study as frame

pytestmark = pytest.mark.browser

REPORT = Path(__file__).parents[2] / "report" / "index.html"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
VERDICTS = {"holds", "does not hold", "inconclusive", "outside its assumptions"}


@pytest.fixture(scope="module", params=["built", "tiny"])
def questions_and_path(request, tmp_path_factory) -> tuple[list[str], Path]:
    """Give the report that was built, and one of a small study with every kind of verdict."""
    if request.param == "built":
        assert REPORT.exists(), "build the report first: make report"
        modules = [frame.find(name) for name in frame.registered()]
        return [module.QUESTION for module in modules], REPORT
    folder = tmp_path_factory.mktemp("report")
    made = frame.write_report([tiny_study], folder, store=folder / "store", progress=False)
    return [tiny_study.QUESTION], made.path


@contextmanager
def visiting(browser, path: Path) -> Iterator[Callable[..., Page]]:
    """Give what opens the page, which must ask for nothing outside itself."""
    contexts, requests = [], []

    def visit(viewport, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.on("request", lambda request: requests.append(request.url))
        page = context.new_page()
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    elsewhere = [url for url in requests if url != path.as_uri() and not url.startswith("data:")]
    assert elsewhere == [], "the page asked for something outside itself"


@pytest.fixture
def visit(browser, questions_and_path) -> Iterator[Callable[..., Page]]:
    with visiting(browser, questions_and_path[1]) as visit:
        yield visit


@pytest.fixture(scope="module")
def opened(browser, questions_and_path) -> Iterator[Page]:
    """Give the page at a desk to all who only read it: opening it takes seconds."""
    with visiting(browser, questions_and_path[1]) as visit:
        yield visit(DESK)


def test_it_shows_every_study_under_one_heading(opened, questions_and_path):
    assert opened.get_by_role("heading", level=1).count() == 1
    shown = opened.get_by_role("heading", level=2).all_inner_texts()
    ends = "What was claimed, and what was found", "All verdicts, study by study"
    assert shown == [ends[0], *questions_and_path[0], ends[1]]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert opened.get_by_role(landmark).count() == 1, landmark


def test_every_claim_has_a_verdict_in_words(opened, questions_and_path):
    tables = opened.locator("table").filter(has=opened.locator("caption", has_text="Claims of"))
    assert tables.count() <= len(questions_and_path[0])
    rows = tables.locator("tbody tr")
    # In one call: a page has a thousand claims.
    verdicts = rows.evaluate_all("rows => rows.map(r => r.querySelector('.verdict').textContent)")
    assert {each.split(" ", 1)[1] for each in verdicts} <= set(VERDICTS)
    told = [int(text) for text in opened.locator(".tiles strong").all_inner_texts()]
    assert sum(told) == rows.count()


def test_pictures_are_drawn_and_described(opened):
    pictures = opened.locator("figure img").evaluate_all(
        "all => Promise.all(all.map(async i => (await i.decode(), [i.naturalWidth, i.alt])))"
    )
    assert pictures
    for width, told in pictures:
        assert width > 200
        assert told


def test_the_index_leads_to_each_study(visit):
    page = visit(DESK)
    for summary in page.locator("nav summary").all():
        summary.click()
    for link in page.get_by_role("navigation").get_by_role("link").all():
        link.click()
        target = page.locator(page.evaluate("location.hash"))
        assert target.is_visible()
        box = target.bounding_box()
        assert box
        assert abs(box["y"]) < DESK["height"]


def test_the_page_never_scrolls_sideways(visit):
    page = visit(DESK)
    for width in (320, 390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width


def test_on_a_phone_rows_are_stacked_and_figures_fit(visit):
    page = visit(PHONE)
    page.locator("summary").evaluate_all(
        "all => all.forEach(each => each.parentElement.open = true)"
    )
    for region in page.locator(".scroll").all():
        assert region.evaluate("each => each.scrollWidth <= each.clientWidth")
    row = page.locator("section tbody tr", has=page.locator("td[data-label=Found]")).first
    for label in ("Verdict", "Claimed", "Found"):
        cell = row.locator(f"td[data-label={label}]")
        box = cell.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        shown = cell.evaluate("each => getComputedStyle(each, '::before').content")
        assert shown == f'"{label}"'
    assert page.get_by_role("row").count() > 1
    for picture in page.locator("figure img").all():
        width = picture.evaluate("image => image.getBoundingClientRect().width")
        assert 340 <= width <= PHONE["width"]


def test_claims_unfold_by_keyboard_and_in_print(visit):
    page = visit(DESK)
    words = page.locator("header details")
    assert not words.locator("dl").is_visible()
    words.locator("summary").focus()
    page.keyboard.press("Enter")
    assert words.locator("dl").is_visible()
    page.keyboard.press("Enter")
    assert not words.locator("dl").is_visible()
    page.emulate_media(media="print")
    for details in page.locator("header details, main details").all():
        inner = details.locator(":scope > :not(summary)").first
        box = inner.bounding_box()
        assert box
        assert box["height"] > 20
        assert inner.evaluate("each => each.checkVisibility()")


def test_the_first_figure_comes_early(opened):
    figure = opened.locator("figure").first.bounding_box()
    assert figure
    assert figure["y"] < 2.6 * DESK["height"]


def test_the_keyboard_meets_the_skip_link_first(visit):
    page = visit(DESK)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    assert skip.evaluate("link => link === document.activeElement")
    box = skip.bounding_box()
    assert box
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_the_scheme_of_the_reader_is_kept(visit, scheme):
    colour = visit(DESK, scheme).evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in colour[4:-1].split(",")) / 3
    assert (brightness > 128) == (scheme == "light")


def test_axe_finds_nothing(visit, scheme):
    """Both schemes and both widths; all four together take a minute more."""
    # Without a list of all that passes, which takes longer than finding it.
    page = visit(PHONE if scheme == "dark" else DESK, scheme)
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
