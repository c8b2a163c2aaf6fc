"""The specimens that a simulated rig can move, and those of them that have matrices; each is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..contracts.specimen import RigSpecimen
from ..settings import OneAt

WITH_MATRICES = {
    "specimen": "specimen:Specimen",
    "flexible": "flexible_specimen:FlexibleSpecimen",
}
PROGRAMS = {
    "user": "programmed:UserSpecimen",
    "library": "programmed:LibrarySpecimen",
    "fmu": "programmed:FmuSpecimen",
}

if TYPE_CHECKING:
    from .flexible_specimen import FlexibleSpecimen
    from .programmed import FmuSpecimen, LibrarySpecimen, UserSpecimen
    from .specimen import Specimen

    AnySpecimen: TypeAlias = Specimen | FlexibleSpecimen | UserSpecimen | LibrarySpecimen | FmuSpecimen
    MatrixSpecimen: TypeAlias = Specimen | FlexibleSpecimen
else:
    AnySpecimen = Annotated[RigSpecimen, OneAt(__package__, WITH_MATRICES | PROGRAMS, usual="specimen")]
    MatrixSpecimen = Annotated[RigSpecimen, OneAt(__package__, WITH_MATRICES, usual="specimen")]
