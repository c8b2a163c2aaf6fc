"""What a loop with a small gain margin would need."""

from __future__ import annotations

from ....definition.definition import Definition


def calmer(definition: Definition) -> str:
    """What may be changed so that the loop tolerates more gain, by what its coupling does."""
    coupling = definition.coupling
    if coupling.predicts:
        return "the coupling amplifies what it predicts: a shorter prediction or a lower order may help"
    smaller = "use a lighter or softer specimen, or more virtual mass and stiffness"
    if not coupling.compensates:
        return smaller
    return (
        f"the coupling '{coupling.kind}' amplifies where it compensates for the rig: weaker "
        f"compensation may help; else {smaller}"
    )
