"""Take the picture of docs/your-recording.md: ``python docs/recording_page.py``."""

from __future__ import annotations

import doctest
import os
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, sync_playwright

HERE = Path(__file__).parent
WIDTH, HEIGHT = 860, 900


def main() -> None:
    """Run the page's lines up to its picture, and photograph its held-out conditions."""
    lines, _ = (HERE / "your-recording.md").read_text("utf-8").split("![", maxsplit=1)
    code = "".join(example.source for example in doctest.DocTestParser().get_examples(lines))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        os.chdir(folder)
        exec(compile(code, "your-recording.md", "exec"), {})
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto((Path(folder) / "page.html").as_uri())
        section = page.locator("section#held-out")
        figures = [figure.bounding_box() for figure in section.locator("figure").all()]
        end = max(box["y"] + box["height"] for box in figures if box) + 16
        heading = section.get_by_role("heading").first.bounding_box()
        assert heading
        top = heading["y"] - 16
        clip = FloatRect(x=0.0, y=top, width=WIDTH, height=end - top)
        page.screenshot(path=HERE / "your-recording.png", full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
