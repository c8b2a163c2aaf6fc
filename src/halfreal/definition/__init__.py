"""The definition of a test: its sections, validation, and reading and writing as TOML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .acceptance import Acceptance as Acceptance
    from .acceptance import CriterionLimit as CriterionLimit
    from .auxiliary import Auxiliary as Auxiliary
    from .auxiliary import ReleaseBy as ReleaseBy
    from .definition import Definition as Definition
    from .definition import read_definition as read_definition
    from .faults import DefinitionError as DefinitionError
    from .faults import Fault as Fault
    from .load import from_json as from_json
    from .load import from_toml as from_toml
    from .paths import PlaceError as PlaceError
    from .paths import numbers as numbers
    from .paths import value_at as value_at
    from .schema import json_schema as json_schema
    from .sections import Excitations as Excitations
    from .sections import RealTime as RealTime
    from .sections import RecordSettings as RecordSettings
    from .sections import Reference as Reference
    from .sections import Timing as Timing
    from .uncertainty import Uncertain as Uncertain
    from .write import to_toml as to_toml
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "auxiliary": "Auxiliary ReleaseBy",
            "acceptance": "Acceptance CriterionLimit",
            "definition": "Definition read_definition",
            "faults": "DefinitionError Fault",
            "load": "from_json from_toml",
            "paths": "PlaceError numbers value_at",
            "schema": "json_schema",
            "sections": "Excitations RealTime RecordSettings Reference Timing",
            "uncertainty": "Uncertain",
            "write": "to_toml",
        },
    )
