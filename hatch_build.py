"""Puts the chapters to which the explorer leads into the wheel, with their pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CHAPTERS = ("audit", "dynamics", "gated", "kernels", "reuse")


class CustomBuildHook(BuildHookInterface):
    """Adds the files to wheels; an editable installation reads them where they are."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        docs = Path(self.root, "docs")
        for name in CHAPTERS:
            page = docs / f"{name}.md"
            pictures = re.findall(r"\]\(([\w-]+\.(?:svg|png))\)", page.read_text("utf-8"))
            for file in (page, *(docs / picture for picture in pictures)):
                build_data["force_include"][str(file)] = f"partwhole/explorer/chapters/{file.name}"
