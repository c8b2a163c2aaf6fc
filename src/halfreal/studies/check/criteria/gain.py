"""What a loop that bears but little more gain would need."""

from __future__ import annotations

from ....definition.definition import Definition


def calmer(definition: Definition) -> str:
    """What may be changed so that the loop bears more gain, by what its coupling does."""
    coupling = definition.coupling
    if coupling.predicts:
        return "what the coupling predicts, it amplifies: less prediction, or a lower order, may help"
    smaller = "a lighter or softer specimen, or more mass and stiffness on the virtual side, helps"
    if not coupling.compensates:
        return smaller
    return (
        f"the coupling '{coupling.kind}' amplifies where it makes up for the rig: a milder one may help; else {smaller}"
    )
