"""Settings that a coupling chooses when it is built: what is at odds with them is an error of the test, not a crash."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from halfreal.errors import HalfrealError
from halfreal.runs.coupled import coupling_blocks
from halfreal.settings import fault


def test_a_fault_that_shows_when_the_coupling_is_built_names_its_setting():
    def blocks(context: object) -> Any:
        raise fault("0 random drives cannot excite 1 axis; identify for longer", "identification_time")

    test = SimpleNamespace(kinematics=None, coupling=SimpleNamespace(blocks=blocks))
    context = cast(Any, SimpleNamespace(axes=SimpleNamespace(passive=()), test=test))
    with pytest.raises(HalfrealError, match=r"^coupling\.identification_time: 0 random drives cannot excite"):
        coupling_blocks(context)
