"""Kinds that are found wanting only when they are used."""

from typing import Literal

from halfreal.contracts.coupling import Coupling
from halfreal.kernels.block import Block, channels


def beyond_step(p, s, t, u, y):
    y[u.size] = u[0]
    return 0


class Raises(Coupling):
    kind: Literal["raises"] = "raises"

    def blocks(self, context):
        return context.no_such_thing


class GivesOne(Coupling):
    kind: Literal["gives one"] = "gives one"

    def blocks(self, context):
        return Block(
            "coupling", beyond_step, context.channels("target"), channels("command.asked", "m", 1, of="actuator")
        )


class Beyond(GivesOne):
    kind: Literal["beyond"] = "beyond"

    def blocks(self, context):
        return [super().blocks(context)]


class SaysNothing(GivesOne):
    kind: Literal["says nothing"] = "says nothing"

    def blocks(self, context):
        return [Block("coupling", first_step, context.channels("target"), channels("command.asked", "m", 1))]


def first_step(p, s, t, u, y):
    y[0] = u[0]
    return 0
