"""What a margin of gain means for the specimen, and what a loop with a small one would need."""

from __future__ import annotations

from ....definition.definition import Definition


def specimen_with(definition: Definition, gain: float) -> str:
    """A specimen with a factor on its force, or in force control on its displacement, for people."""
    change = 1.0 / gain if definition.targets == "force" else gain
    slow = definition.slow is not None
    stiffer, softer = ("stiffer", "softer") if slow else ("stiffer or heavier", "softer or lighter")
    if change >= 2.0:
        return f"a specimen {change:.3g} times as stiff" + ("" if slow else " or heavy")
    return f"a specimen {float(f'{100 * abs(change - 1.0):.2g}'):g} % {stiffer if change > 1.0 else softer}"


def calmer(definition: Definition, gain: float) -> str:
    """What may be changed so that the loop tolerates a factor on its feedback, by what is in it."""
    coupling = definition.coupling
    if definition.targets == "force":
        kind = "softer" if gain > 1.0 else "stiffer"
        return f"set virtual.method for a {kind} specimen (its stiffness, or alpha and beta), within both margins"
    if gain < 1.0:
        return ""
    if definition.slow is not None:
        return (
            "use a smaller timing.step, a softer specimen, or a scheme that is stable at any step ('operator "
            "splitting' with a larger specimen_stiffness)"
        )
    if coupling.predicts:
        return "the coupling amplifies what it predicts: a shorter prediction or a lower order may help"
    smaller = "use a lighter or softer specimen, or more virtual mass and stiffness"
    if not coupling.compensates:
        return smaller
    return (
        f"the coupling '{coupling.kind}' amplifies where it compensates for the rig: weaker "
        f"compensation may help; else {smaller}"
    )
