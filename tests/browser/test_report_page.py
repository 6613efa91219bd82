"""The report in a real browser: by what it shows, what the keyboard does, and an axe check."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_study
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from partwhole.study.pages import parts
from partwhole.study.report import write_report

pytestmark = pytest.mark.browser

REPORT = Path(__file__).parents[2] / "report"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
ROWS = 10_000


@pytest.fixture(scope="module", params=["built", "tiny"])
def folder(request, tmp_path_factory) -> Path:
    """Give the report that was built, and one of a small study with every kind of verdict."""
    if request.param == "built":
        assert (REPORT / "index.html").exists(), "build the report first: make report"
        return REPORT
    folder = tmp_path_factory.mktemp("report")
    write_report([tiny_study], folder, store=folder / "store", progress=False)
    return folder


@contextmanager
def visiting(browser) -> Iterator[Callable[..., Page]]:
    """Give what opens a page, which must ask for nothing outside itself."""
    contexts, requests, errors = [], [], []

    def visit(path: Path, viewport=DESK, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport=viewport, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.on("request", lambda request: requests.append(request.url))
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield visit
    for context in contexts:
        context.close()
    elsewhere = [url for url in requests if not url.startswith(("data:", "file:"))]
    assert elsewhere == [], "a page asked for something outside the report"
    assert errors == []


@pytest.fixture
def visit(browser) -> Iterator[Callable[..., Page]]:
    with visiting(browser) as visit:
        yield visit


def one_of_each(folder: Path) -> list[Path]:
    """Return the index, the ledger, and the first page of a paper and of a study."""
    kinds = [min((folder / kind).glob("*.html")) for kind in ("papers", "studies")]
    return [folder / "index.html", folder / "ledger.html", *kinds]


def test_every_page_has_one_heading_and_its_landmarks(visit, folder):
    for path in one_of_each(folder):
        page = visit(path)
        assert page.get_by_role("heading", level=1).count() == 1
        for landmark in ("banner", "navigation", "main", "contentinfo"):
            assert page.get_by_role(landmark).count() == 1, (path.name, landmark)


def test_the_findings_are_on_the_first_screen_and_lead_to_their_studies(visit, folder):
    page = visit(folder / "index.html")
    cards = page.locator(".findings li")
    assert 1 <= cards.count() <= 12
    box = cards.first.bounding_box()
    assert box
    assert box["y"] + box["height"] < DESK["height"]
    for picture in cards.locator("img").all():
        assert picture.evaluate("async i => (await i.decode(), i.naturalWidth)") > 200
    sentence = cards.first.get_by_role("link").inner_text()
    cards.first.get_by_role("link").click()
    assert "/studies/" in page.url
    assert page.locator("figure img").count() == 1
    assert sentence.endswith(".")


def test_the_index_lists_every_study(visit, folder):
    page = visit(folder / "index.html")
    links = page.locator(".studies a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert sorted(links) == sorted(f"studies/{p.name}" for p in (folder / "studies").glob("*.html"))


def test_a_reader_with_the_paper_in_hand_goes_from_item_to_study(visit, folder):
    page = visit(folder / "index.html")
    page.get_by_role("navigation").get_by_role("link").nth(1).click()
    rows = page.locator("tbody tr")
    assert rows.count() >= 1
    link = rows.get_by_role("link").first
    name = link.inner_text()
    link.click()
    assert page.locator("header .name").inner_text() == name


def test_the_ledger_searches_filters_and_sorts(visit, folder):
    page = visit(folder / "ledger.html")
    claims = json.loads(page.locator("#claims").inner_text())
    rows, status = page.locator("#rows tr"), page.get_by_role("status")
    assert rows.count() == min(len(claims), 100)
    page.get_by_label("Verdict").select_option("holds")
    holding = [claim for claim in claims if claim["verdict"] == "holds"]
    expected = "1 row" if len(holding) == 1 else f"{len(holding)} rows"
    assert status.inner_text().startswith(expected)
    page.get_by_label("Verdict").select_option("")
    word = claims[0]["claim"].split()[-1]
    page.get_by_label("Search").fill(word)
    assert any(claims[0]["claim"] in text for text in rows.locator("th").all_inner_texts())
    for text in rows.all_inner_texts():
        assert word.lower() in text.lower()
    page.get_by_label("Search").fill("no row says this")
    assert (rows.count(), status.inner_text()) == (0, "0 rows")
    page.get_by_label("Search").fill("")
    heading = page.get_by_role("button", name="Study")
    heading.click()
    studies = rows.locator("td[data-label=Study] a").all_inner_texts()
    assert studies == sorted(studies)
    assert page.locator("th[aria-sort=ascending]").count() == 1
    heading.focus()
    page.keyboard.press("Enter")
    down = rows.locator("td[data-label=Study] a").all_inner_texts()
    assert down == sorted(down, reverse=True)


def test_ten_thousand_claims_are_as_quick_as_ten(visit, tmp_path):
    folder = tmp_path / "report"
    write_report([tiny_study], folder, store=tmp_path / "store", progress=False)
    text = (folder / "ledger.html").read_text("utf-8")
    held = re.search(r'(<script type="application/json" id="claims">)(.*?)(</script>)', text)
    assert held
    claims = json.loads(held[2])
    many = [claims[i % len(claims)] | {"study": f"s{i}"} for i in range(ROWS)]
    path = folder / "many.html"
    path.write_text(text.replace(held[2], json.dumps(many).replace("<", "\\u003c")))
    page = visit(path)
    assert page.get_by_role("status").inner_text() == f"{ROWS} rows, the first 100 shown"
    page.get_by_label("Search").fill(f"s{ROWS - 1}")
    assert page.get_by_role("status").inner_text() == "1 row"
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="Show more").click()
    assert page.locator("#rows tr").count() == 200


def test_pictures_are_drawn_and_described(visit, folder):
    page = visit(one_of_each(folder)[-1])
    pictures = page.locator("figure img").evaluate_all(
        "all => Promise.all(all.map(async i => (await i.decode(), [i.naturalWidth, i.alt])))"
    )
    assert len(pictures) == 1
    for width, description in pictures:
        assert width > 200
        assert description


def test_verdicts_are_said_in_words(visit, folder):
    page = visit(one_of_each(folder)[-1])
    marks = page.locator("tbody .verdict").all_inner_texts()
    assert marks
    assert {mark.split(" ", 1)[1] for mark in marks} <= {str(verdict) for verdict in parts.SIGNS}


def test_no_page_scrolls_sideways(visit, folder):
    for path in one_of_each(folder):
        page = visit(path)
        for width in (320, 390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, width)


def test_on_a_phone_rows_are_stacked_and_figures_fit(visit, folder):
    page = visit(one_of_each(folder)[-1], PHONE)
    row = page.locator("tbody tr").first
    for label in ("Verdict", "Claimed", "Measured"):
        cell = row.locator(f"td[data-label={label}]")
        box = cell.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        shown = cell.evaluate("each => getComputedStyle(each, '::before').content")
        assert shown == f'"{label}"'
    for picture in page.locator("figure img").all():
        width = picture.evaluate("image => image.getBoundingClientRect().width")
        assert 340 <= width <= PHONE["width"]


def test_methods_unfold_by_keyboard_and_in_print(visit, folder):
    page = visit(one_of_each(folder)[-1])
    methods = page.locator("main details")
    assert not methods.locator("dl").is_visible()
    methods.locator("summary").focus()
    page.keyboard.press("Enter")
    assert methods.locator("dl").is_visible()
    page.keyboard.press("Enter")
    assert not methods.locator("dl").is_visible()
    page.emulate_media(media="print")
    assert methods.locator("dl").evaluate("each => each.checkVisibility()")


def test_the_keyboard_meets_the_skip_link_first(visit, folder):
    for path in one_of_each(folder):
        page = visit(path)
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to content")
        assert skip.evaluate("link => link === document.activeElement")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"


def test_the_scheme_of_the_reader_is_kept(visit, folder, scheme):
    page = visit(folder / "index.html", DESK, scheme)
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in colour[4:-1].split(",")) / 3
    assert (brightness > 128) == (scheme == "light")


def test_axe_finds_nothing(visit, folder, scheme):
    """Both schemes and both widths; all four together take a minute more."""
    for path in one_of_each(folder):
        # Without a list of all that passes, which takes longer than finding it.
        page = visit(path, PHONE if scheme == "dark" else DESK, scheme)
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, (path.name, found.generate_report())
