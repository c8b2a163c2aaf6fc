"""A kind that is called otherwise than its entry point."""

from typing import ClassVar, Literal

from halfreal.contracts.excitation import Excitation


class OtherName(Excitation):
    kind: Literal["another name"] = "another name"
    quantity: ClassVar[str] = "force"

    def block(self, name, shift=0.0):
        raise AssertionError
