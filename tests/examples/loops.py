"""Loops of the gallery, for counting allocations."""

import halfreal
from examples.wallace2005 import GALLERY


def whole_gallery() -> dict:
    return {path.stem: halfreal.build(halfreal.load(path)) for path in sorted(GALLERY.parent.glob("*/*.toml"))}
