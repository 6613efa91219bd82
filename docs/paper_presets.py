"""Write the table of docs/paper-presets.md: what the paper presets of networks cost.

Steps and operations are counted, seconds of a step measured (`partwhole_studies.costs`), hours are
their products: estimates, until somebody runs them.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from partwhole_studies import costs

PAGE = Path(__file__).with_name("paper-presets.md")
KINDS = {
    costs.of_images: (
        "images.leak_images",
        "images.dispersed_images",
        "images.shortcut_images",
        "images.equivalence_images",
    ),
    costs.of_model: (
        "diffusion.concept_times",
        "diffusion.concept_diffusion",
        "diffusion.withheld_concept",
        "diffusion.rare_concept",
        "diffusion.hidden_capability",
        "diffusion.combination_distance",
        "diffusion.variants",
    ),
    costs.of_finetuning: ("reuse.class_finetuning",),
}
PEAK = 0.3 * 495e12  # operations in a second: 30 % of an H100's or H200's in TF32
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->"


def table() -> str:
    """Return the table as Markdown."""
    columns = ("study", "cells", "steps", "operations", "one H200, hours", "at 30 % of its peak")
    lines = [f"| {' | '.join(columns)} | two cores, days |", "|---|---|---|---|---|---|---|"]
    for work_of, names in KINDS.items():
        for name in names:
            presets = import_module(f"partwhole_studies.{name}").PRESETS
            cells = [work_of(config) for config in presets["paper"]]
            steps, operations, seconds, device = (
                sum(getattr(cell, part) for cell in cells)
                for part in ("steps", "operations", "seconds", "on_device")
            )
            lines.append(
                f"| {name.split('.')[1]} | {len(cells)} | {_scientific(steps)} | "
                f"{_scientific(operations)} | {device / 3600:.1f} | "
                f"{operations / PEAK / 3600:.1f} | {seconds / 2 / 86400:,.0f} |"
            )
    return "\n".join(lines) + "\n"


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def main() -> None:
    """Write the table into the page."""
    page = PAGE.read_text()
    inner = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    PAGE.write_text(inner.sub(BEGIN + table() + END, page))


if __name__ == "__main__":
    main()
