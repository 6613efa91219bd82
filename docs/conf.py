"""Settings of the site that `make docs` builds."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import latex2mathml.converter  # pyright: ignore[reportMissingImports]
from docutils import nodes  # pyright: ignore[reportMissingImports]
from sphinx.application import Sphinx  # pyright: ignore[reportMissingImports]

import partwhole

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from gallery_pictures import without_archives  # noqa: E402

project, author = "partwhole", "the partwhole authors"
release = version = partwhole.__version__
copyright = "the partwhole authors; Apache-2.0"
html_title = f"partwhole {release}"
html_theme = "furo"
# The report, if there was one, with links to chapters.
html_extra_path = [path for path in [str(HERE.parent / "build" / "extra")] if Path(path).is_dir()]
html_static_path, html_css_files = ["gallery.css"], ["gallery.css"]

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. ", True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"  # code, with a link where it is a name of the reference
autosummary_generate = False  # `site.py` writes the pages
autodoc_typehints = "none"  # sections of parameters give shapes
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "Lock"}  # which has no signature
# Processes that run examples are replaced when they have grown.
warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "gallery"),
    "gallery_dirs": "gallery",
    "subsection_order": "gallery_pictures.place",
    "parallel": True,  # as many as `--jobs`, in processes of their own: JAX does not fork
    "image_scrapers": ["gallery_pictures.picture"],
    "image_srcset": ["2x"],
    "reset_modules": ("matplotlib", "gallery_pictures.in_house_style"),
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    # Nothing of the machine and the hour: the site is the same from build to build.
    "min_reported_time": float("inf"),
    "write_computation_times": False,
}
numpydoc_show_class_members = False
suppress_warnings = ["autosummary.import_cycle"]  # tables have whole names


def _as_mathml(self: Any, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers draw without a program from a network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    self.body.append(latex2mathml.converter.convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.connect("source-read", without_archives)
    app.add_node(nodes.math, override=True, html=(_as_mathml, None))
    app.add_node(nodes.math_block, override=True, html=(_as_mathml, None))
