"""A rig that is slow because of its own dynamics, measured against a pure delay.

    X/U = G(s) ≈ G(0) (1 − τ s) for slow motion,      τ = −G'(0)/G(0) = −C A⁻²B/(C A⁻¹B)

τ is the lag of a servo-hydraulic rig, or of a shaking table, without compensation.  What the test tolerates is
determined with the same loop with a pure delay in place of the rig, and without coupling.  This critical delay, and its
logarithm in ms as a predictive stability indicator, are those of A. Maghareh, S. J. Dyke, A. Prakash, J. F. Rhoads,
"Establishing a stability switch criterion for effective implementation of real-time hybrid simulation", Smart Struct.
Syst. 14 (2014) 1221–1245.
"""

from __future__ import annotations

from ..couplings.direct import Direct
from ..definition.definition import Definition
from ..errors import HalfrealError


def with_pure_delay(definition: Definition, delay: float) -> Definition:
    """The definition without coupling, and with a rig that is late by ``delay`` [s] and otherwise ideal."""
    rig, axes = definition.rig.ideal_but_late(delay), definition.interface
    if rig is None:
        raise HalfrealError(f"a rig of kind '{definition.rig.kind}' has no counterpart with a pure delay")
    # a rig that names its axes itself hands the names on
    same = rig.interface(definition.virtual, definition.axes).names == axes.names
    names = definition.axes if same else axes.names
    return definition.unchecked_copy({"rig": rig, "coupling": Direct(), "axes": names})
