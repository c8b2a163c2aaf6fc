"""The documentation as a site: `make docs`.

The source is the repository itself, so that links between pages work in the files and on the site.  Pages on settings
and pictures of kinds are generated from the code, and notebooks are executed while the site is built.  Equations need
no network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import kind_pictures  # noqa: E402
import reference_pages  # noqa: E402

import halfreal  # noqa: E402
from halfreal.definition.described import settings_of  # noqa: E402
from halfreal.settings import Settings  # noqa: E402

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
autodoc_typehints = "signature"
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


def short_signature(
    app: Any, what: str, name: str, part: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """A part of a definition is shown with its required settings: the others are in the list below."""
    if what != "class" or not issubclass(part, Settings):
        return None
    required = [key for key, field in part.model_fields.items() if field.is_required()]
    return f"(*, {', '.join(required)}, ...)" if required else "(...)", None


def list_settings(app: Any, what: str, name: str, part: Any, options: Any, lines: list[str]) -> None:
    """Add the settings of a part of a definition as its parameters."""
    if what == "class" and issubclass(part, Settings):
        lines += ["", ":Parameters:", ""]
        for one in settings_of(part):
            kind = f"{one.form}, {one.default or 'optional'}".replace("*", "").replace("`", "")
            lines += [f"    **{one.name}** : {kind}", f"        {one.meaning}", ""]


def setup(app: Any) -> None:
    app.connect("autodoc-process-signature", short_signature, priority=900)
    app.connect("autodoc-process-docstring", list_settings, priority=900)
    reference_pages.write(HERE / "reference", kind_pictures.draw)
    reference_pages.write_bibliography(HERE / "bibliography.md")
