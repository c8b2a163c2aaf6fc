"""A kind with a name that halfreal has itself."""

from typing import Literal

from halfreal.contracts.coupling import Coupling


class Another(Coupling):
    kind: Literal["none"] = "none"

    def blocks(self, context):
        return []
