"""Results of runs and studies for people and programs: plots, pages, text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .html import render as render
    from .html import report as report
    from .measures import Measures as Measures
    from .style import BAD as BAD
    from .style import ERROR as ERROR
    from .style import GOOD as GOOD
    from .style import MEASURED as MEASURED
    from .style import QUIET as QUIET
    from .style import REFERENCE as REFERENCE
    from .style import TARGET as TARGET
    from .style import as_png as as_png
    from .style import as_svg as as_svg
    from .style import new_figure as new_figure
    from .style import styled as styled
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "html": "render report",
            "measures": "Measures",
            "style": "BAD ERROR GOOD MEASURED QUIET REFERENCE TARGET as_png as_svg new_figure styled",
        },
    )
