"""The documentation as a site: `make docs`.

The source is the repository itself, so that links between pages work in the files and on the site.  Pages on settings
and pictures of kinds are generated from the code, and notebooks are executed while the site is built.  Equations need
no network.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import kind_pictures  # noqa: E402
import reference_pages  # noqa: E402

import halfreal  # noqa: E402

project = "halfreal"
author = copyright = "the halfreal developers"
version = release = halfreal.__version__

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "examples/*.md", "examples/**/*.md", "benchmarks/*.md"]
exclude_patterns = ["docs/examples", "**/results/**", "CITATION.cff"]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "notebooks"),
    "gallery_dirs": "docs/notebooks",
    "filename_pattern": r".*\.py",
    "download_all_examples": False,
    "show_memory": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "halfreal"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_extra_path = ["site"]  # leads from the top to the first page
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_show_sourcelink = False
html_search_scorer = str(HERE / "search_scorer.js")


def setup(app: object) -> None:
    reference_pages.write(HERE / "reference", kind_pictures.draw)
    reference_pages.write_bibliography(HERE / "bibliography.md")
