"""The specimens that a simulated rig can move, and those of them that have matrices."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..settings import default_kind
from .flexible_specimen import FlexibleSpecimen
from .programmed import FmuSpecimen, LibrarySpecimen, UserSpecimen
from .specimen import Specimen

AnySpecimen = Annotated[
    Specimen | FlexibleSpecimen | UserSpecimen | LibrarySpecimen | FmuSpecimen,
    Field(discriminator="kind"),
    default_kind("specimen"),
]
MatrixSpecimen = Annotated[Specimen | FlexibleSpecimen, Field(discriminator="kind"), default_kind("specimen")]
"""One with matrices."""
