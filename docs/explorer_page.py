"""Take the picture of the explorer: ``python docs/explorer_page.py``."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Thread

from playwright.sync_api import sync_playwright

from partwhole.explorer.server import Explorer

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1000, 900


def main() -> None:
    """Photograph the panel in which a shortcut competes with a rule."""
    with Explorer() as explorer, sync_playwright() as driver:
        Thread(target=explorer.serve_forever, daemon=True).start()
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(explorer.address)
        page.wait_for_selector("#shortcut img:not([hidden])")
        page.locator("#shortcut").screenshot(path=HERE / "explorer.png")
        browser.close()
        explorer.shutdown()


if __name__ == "__main__":
    main()
