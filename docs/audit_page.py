"""Take the picture of the audit's page: ``python docs/audit_page.py``."""

from __future__ import annotations

import runpy
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import FloatRect, sync_playwright

import partwhole as pw

HERE = Path(__file__).parent
PLANTED = HERE.parent / "examples" / "audit_planted_faults.py"
WIDTH, HEIGHT = 980, 900


def main() -> None:
    """Audit the split with an unsolvable rule, and photograph where its proof is drawn."""
    table = runpy.run_path(str(PLANTED))["table"]()
    report = pw.audit_split(table, ["shape", "scene"], "may enter", "split", test="unsolvable")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page_file = Path(folder) / "audit.html"
        report.to_html(page_file)
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(page_file.as_uri())
        top = page.get_by_role("heading", name="Can it be answered at all?").bounding_box()
        end = page.get_by_text("The sum as a table").bounding_box()
        assert top
        assert end
        clip = FloatRect(x=0.0, y=top["y"] - 20, width=WIDTH, height=end["y"] - top["y"])
        page.screenshot(path=HERE / "audit-page.png", full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
