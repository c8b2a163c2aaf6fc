"""Deteriorating bilinear hinge of Ibarra, Medina and Krawinkler, with different strengths either way.

L. F. Ibarra, R. A. Medina, H. Krawinkler, "Hysteretic models that incorporate strength and stiffness deterioration",
Earthquake Engng Struct. Dyn. 34 (2005) 1489–1511, as modified by D. G. Lignos, H. Krawinkler, J. Struct. Eng. 137
(2011) 1291–1302.  The backbone rises with k to F_y, hardens over u_p to the capping force F_c, falls with F_c/u_pc to
the residual force κ F_y, and ends at u_u, where that direction is lost.  Unloading is elastic.  Energy makes it
worse, by

    β = (E_i/(E_t − Σ E))^c,    E_t = Λ F_y

with E_i of the last excursion and Σ E of all: at every new excursion the yield force and hardening (β_s) and the line
after capping (β_c) of the side that is entered, times D⁺ or D⁻; at every reversal from the backbone the stiffness of
unloading (β_k).  β > 1, or all energy used up: the element has failed, and its force is zero.

The path is that of IMKBilin in OpenSees.  A jump of the force, where a direction is lost, is meant: it is the rupture.

States: u, F, stiffness of unloading, energy, energy at the last excursion, stage, on the backbone; then of each side
F_y, F_c, u_c, slopes before and after capping.  Stages: 0 elastic, 1 has yielded, 2 has been at the residual force, 3
or 4 lost in the positive or negative direction, 5 failed.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...kernels.compile import kernel
from ...settings import Number, fault
from .law import Law

IBARRA_MEDINA_KRAWINKLER = 6.0
SIDE = 5
"""Entries of a side in the state."""


@kernel
def _lost(energy, reference, used, exponent):  # type: ignore[no-untyped-def]
    """β, above one where it has failed."""
    if energy <= 0.0 or reference == np.inf:
        return 0.0
    left = reference - used
    return 2.0 if left <= 0.0 else min((energy / left) ** exponent, 2.0)


@kernel
def ibarra_medina_krawinkler(p, s, strain, trial):  # type: ignore[no-untyped-def]
    for i in range(7 + 2 * SIDE):
        trial[i] = s[i]
    before, force_before, stiffness, used, excursion, stage = s[0], s[1], s[2], s[3], s[4], s[5]
    step = strain - before
    trial[0] = strain
    if stage == 5.0:
        trial[1] = 0.0
        return 0.0, 0.0
    if step == 0.0:
        return force_before, stiffness
    on_backbone, failed = s[6] == 1.0, False
    # all that follows is in terms of the direction of the step: forces and displacements are positive along it
    d = 1.0 if step > 0.0 else -1.0
    side, q = (7, 8) if d > 0.0 else (7 + SIDE, 14)
    yielding_0, residual, ultimate, capping_slope_0 = p[q], p[q + 1], p[q + 2], p[q + 3]
    if on_backbone and (force_before * d < 0.0 or (force_before == 0.0 and before * d <= 0.0)):
        on_backbone = False
        elastic = 0.5 * force_before * force_before / stiffness
        beta = _lost(used - excursion - elastic, p[3], used - elastic, p[6])
        failed = beta > 1.0
        stiffness *= 1.0 - min(beta, 1.0)
        if stage > 1.0:
            stiffness = 0.5 * p[0]
    force = force_before + stiffness * step
    yielding, cap, at_cap = trial[side], trial[side + 1], trial[side + 2]
    hardening, softening = trial[side + 3], trial[side + 4]
    if not on_backbone and force_before * force <= 0.0 and stage > 0.0:
        energy = max(0.0, used - excursion)
        beta, gamma = _lost(energy, p[1], used, p[4]), _lost(energy, p[2], used, p[5])
        failed = failed or beta > 1.0 or gamma > 1.0
        excursion = used
        projected = (cap - softening * at_cap) * (1.0 - min(gamma, 1.0) * p[q + 4])
        share = 1.0 - min(beta, 1.0) * p[q + 4]
        yielding *= share
        hardening *= share
        softening = 0.0 if yielding < residual else -capping_slope_0 * (yielding - residual) / (yielding_0 - residual)
        offset = yielding - hardening * yielding / p[0]
        at_cap = 0.0 if hardening <= softening else (projected - offset) / (hardening - softening)
        cap = offset + hardening * at_cap
        way = at_cap - before * d - (residual - force_before * d) / stiffness if stiffness > 0.0 else 0.0
        if cap < residual:
            yielding, cap, hardening, softening, at_cap = residual, residual, 0.0, 0.0, 0.0
        elif way > 0.0 and cap > residual:
            hardening = min(hardening, (cap - residual) / way)
    # on the backbone, if it lies below
    slope = hardening if strain * d < at_cap else softening
    backbone = cap + (strain * d - at_cap) * slope
    lost = 3.0 if d > 0.0 else 4.0
    if backbone < residual or stage == 7.0 - lost:
        backbone, slope = residual, 0.0
    if stage == lost:
        backbone, slope = 0.0, 0.0
    tangent = stiffness
    if force * d > backbone:
        force, tangent, on_backbone = d * backbone, slope, True
    at_residual = force * d == residual
    if softening != 0.0:
        at_residual = strain * d >= at_cap + (residual - cap) / softening
    if failed:
        force, tangent, stage = 0.0, 0.0, 5.0
    elif strain * d >= ultimate or (on_backbone and force * d <= 0.0):
        force, tangent = 0.0, 0.0
        stage = 5.0 if stage == 7.0 - lost else lost
    elif stage < 2.0 and at_residual:
        stage = 2.0
    elif stage == 0.0 and on_backbone:
        stage = 1.0
    trial[1], trial[2] = force, stiffness
    trial[3] = used + 0.5 * (force + force_before) * step
    trial[4], trial[5], trial[6] = excursion, stage, 1.0 if on_backbone else 0.0
    trial[side], trial[side + 1], trial[side + 2] = yielding, cap, at_cap
    trial[side + 3], trial[side + 4] = hardening, softening
    return force, tangent


class _IMK(Law):
    code = IBARRA_MEDINA_KRAWINKLER
    states = 7 + 2 * SIDE
    references = ("ibarra2005", "lignos2011")
    capping: Annotated[float, Number("1", least=1)] = 1.1
    """F_c/F_y, strength at capping relative to that at yield."""
    residual: Annotated[float, Number("1", least=0, most=0.95)] = 0.0
    """κ, residual force relative to F_y."""
    negative: Annotated[float, Number("1", above=0)] = 1.0
    """Yield force in the negative direction relative to the positive one."""
    exponents: Annotated[tuple[float, float, float], Field(min_length=3, max_length=3)] = (1.0, 1.0, 1.0)
    """c of strength, of the line after capping, and of unloading."""
    rates: Annotated[tuple[float, float], Field(min_length=2, max_length=2)] = (1.0, 1.0)
    """D⁺ and D⁻, from 0 to 1: share of the deterioration in each direction, e.g. with a slab."""

    @field_validator("exponents", "rates")
    @classmethod
    def _within(cls, values: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        most = 1.0 if info.field_name == "rates" else 10.0
        for i, value in enumerate(values):
            if not 0.0 < value <= most:
                raise fault(f"{value:g} is not above 0 and at most {most:g}", i)
        return values

    def numbers(
        self,
        stiffness: float,
        yielding: float,
        ways: tuple[float, float, float],
        strength: float | None,
        cap: float | None,
        unloading: float | None,
    ) -> tuple[float, ...]:
        """Parameters, for k, F_y, (u_p, u_pc, u_u) and Λ of strength, capping and unloading."""
        references = (np.inf if one is None else one * yielding for one in (strength, cap, unloading))
        sides: list[float] = []
        for share, rate in zip((1.0, self.negative), self.rates, strict=True):
            at = yielding * share
            sides += [at, self.residual * at, ways[2], self.capping * at / ways[1], rate, ways[0]]
        return stiffness, *references, *self.exponents, 0.0, *sides

    @property
    def start(self) -> np.ndarray:
        p = self.values()
        sides: list[float] = []
        for q in (8, 14):
            yielding, plastic = p[q], p[q + 5]
            cap = self.capping * yielding
            sides += [yielding, cap, yielding / p[0] + plastic, (cap - yielding) / plastic, -p[q + 3]]
        return np.array([0.0, 0.0, p[0], 0.0, 0.0, 0.0, 0.0, *sides])

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]

    @property
    def steepest_fall(self) -> float:
        return max(self.values()[11], self.values()[17])


class IMKLaw(_IMK):
    """Ibarra–Medina–Krawinkler deterioration of a force over a displacement."""

    other = "ibarra-medina-krawinkler hinge"
    kind: Literal["ibarra-medina-krawinkler"] = "ibarra-medina-krawinkler"
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_force: Annotated[float, Number("N", above=0)]
    plastic_displacement: Annotated[float, Number("m", above=0)]
    """u_p, from yielding to capping."""
    post_capping_displacement: Annotated[float, Number("m", above=0)]
    """u_pc, from capping to no force."""
    ultimate_displacement: Annotated[float, Number("m", above=0)]
    """u_u, deformation at fracture."""
    strength_capacity: Annotated[float, Number("m", above=0)] | None = None
    """Λ_s: the energy that it can dissipate, over F_y; without it the strength does not deteriorate."""
    capping_capacity: Annotated[float, Number("m", above=0)] | None = None
    """Λ_c, of the line after capping."""
    unloading_capacity: Annotated[float, Number("m", above=0)] | None = None
    """Λ_k, of the stiffness of unloading."""

    def values(self) -> tuple[float, ...]:
        ways = self.plastic_displacement, self.post_capping_displacement, self.ultimate_displacement
        capacities = self.strength_capacity, self.capping_capacity, self.unloading_capacity
        return self.numbers(self.stiffness, self.yield_force, ways, *capacities)


class IMKHinge(_IMK):
    """Plastic hinge with Ibarra–Medina–Krawinkler deterioration."""

    of = "rotation"
    other = "ibarra-medina-krawinkler"
    kind: Literal["ibarra-medina-krawinkler hinge"] = "ibarra-medina-krawinkler hinge"
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_moment: Annotated[float, Number("N m", above=0)]
    """M_y, moment at first yield."""
    plastic_rotation: Annotated[float, Number("rad", above=0)]
    """θ_p, from yielding to capping."""
    post_capping_rotation: Annotated[float, Number("rad", above=0)]
    """θ_pc, from capping to no moment."""
    ultimate_rotation: Annotated[float, Number("rad", above=0)]
    """θ_u, rotation at fracture."""
    strength_capacity: Annotated[float, Number("rad", above=0)] | None = None
    """Λ_s: the energy that it can dissipate, over M_y; without it the strength does not deteriorate."""
    capping_capacity: Annotated[float, Number("rad", above=0)] | None = None
    """Λ_c, of the line after capping."""
    unloading_capacity: Annotated[float, Number("rad", above=0)] | None = None
    """Λ_k, of the stiffness of unloading."""

    def values(self) -> tuple[float, ...]:
        ways = self.plastic_rotation, self.post_capping_rotation, self.ultimate_rotation
        capacities = self.strength_capacity, self.capping_capacity, self.unloading_capacity
        return self.numbers(self.stiffness, self.yield_moment, ways, *capacities)
