"""Draws docs/images/materials.png: loops of all uniaxial laws, each under a growing cyclic motion.

python docs/images/materials.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from halfreal.figures import QUIET, TARGET, new_figure, styled
from halfreal.models.materials.kinds import AnyLaw
from halfreal.models.materials.law import rows
from halfreal.models.materials.uniaxial import uniaxial

CONCRETE = {"strength": "30 MPa", "crushed_stress": "6 MPa", "crushing_strain": 0.008}
TENSION = {"tensile_strength": "3 MPa", "softening_modulus": "1 GPa"}
STEEL = {"modulus": "200 GPa", "yield_stress": "350 MPa"}
SPRING = {"stiffness": "2 kN/mm"}
DAMPER = {"force": "20 kN", "speed": "0.3 m/s", "alpha": 0.3}
HINGE = {
    **{"stiffness": "20 MN m/rad", "yield_moment": "400 kN m", "residual": 0.3, "capping": 1.15},
    **{"plastic_rotation": "0.04 rad", "post_capping_rotation": "0.16 rad", "ultimate_rotation": "0.4 rad"},
    **{"strength_capacity": "1 rad", "capping_capacity": "1 rad", "unloading_capacity": "2 rad"},
}
DEGRADING = {"degrading_amplitude": 0.004, "degrading_strength": 0.02, "degrading_stiffness": 0.03}
MR = {
    **{"alpha": "963 N/cm", "c0": "53 N s/cm", "c1": "930 N s/cm", "k0": "14 N/cm", "k1": "5.4 N/cm"},
    **{"beta": "200 1/cm^2", "gamma": "200 1/cm^2", "amplitude": 207},
}
PENDULUM = {"normal_force": "100 kN", "radius": "2 m", "friction": 0.08, "slow_friction": 0.03}

DRAWN: list[tuple[dict[str, Any], float, float]] = [
    ({"kind": "linear", **SPRING}, 10e-3, 0.0),
    ({"kind": "cubic", **SPRING, "cubic": "30 N/mm^3"}, 10e-3, 0.0),
    ({"kind": "bilinear", **SPRING, "limit": "5 mm", "outer_stiffness": "0.4 kN/mm"}, 10e-3, 0.0),
    ({"kind": "gap", **SPRING, "gap": "4 mm"}, 10e-3, 0.0),
    ({"kind": "hook", **SPRING}, 10e-3, 0.0),
    ({"kind": "elastoplastic", **SPRING, "yield_force": "6 kN", "hardening": 0.1}, 10e-3, 0.0),
    ({"kind": "menegotto-pinto fibre", **STEEL, "hardening": 0.02, "a1": 0.03, "a3": 0.03}, 0.012, 0.0),
    ({"kind": "bouc-wen", **SPRING, "yield_displacement": "3 mm", "alpha": 0.05}, 10e-3, 0.0),
    ({"kind": "bouc-wen", **SPRING, "yield_displacement": "3 mm", "alpha": 0.05, **DEGRADING}, 16e-3, 0.0),
    ({"kind": "ibarra-medina-krawinkler hinge", **HINGE}, 0.12, 0.0),
    ({"kind": "kent-park concrete", **CONCRETE}, 0.008, -0.005),
    ({"kind": "concrete with tension", **CONCRETE, **TENSION}, 4e-3, -2.5e-3),
    ({"kind": "coulomb friction", "force": "6 kN", "stick_stiffness": "10 kN/mm"}, 10e-3, 0.0),
    ({"kind": "friction pendulum", **PENDULUM}, 60e-3, 0.0),
    ({"kind": "power damper", **DAMPER}, 20e-3, 0.0),
    ({"kind": "maxwell damper", **DAMPER, "stiffness": "5 kN/mm"}, 20e-3, 0.0),
    ({"kind": "mr damper", **MR}, 15e-3, 0.0),
]
"""Laws, with the amplitude to which they are moved and the middle about which."""
AXES = {
    "displacement": ("mm", 1e3, "kN", 1e-3),
    "rotation": ("mrad", 1e3, "kN m", 1e-3),
    "strain": ("‰", 1e3, "MPa", 1e-6),
}
CYCLES, HZ, POINTS = 4, 1.0, 4000


def loop(fields: dict[str, Any], amplitude: float, middle: float) -> tuple[np.ndarray, np.ndarray, Any]:
    """Deformation and force under four cycles that grow, at 1 Hz."""
    law = TypeAdapter(AnyLaw).validate_python(fields)
    (code,), (p,), (state,) = rows([law])
    t = np.linspace(0.0, CYCLES / HZ, CYCLES * POINTS + 1)
    envelope = t * HZ / CYCLES
    x = envelope * (amplitude * np.sin(2 * np.pi * HZ * t) + middle)
    v = np.gradient(x, t)
    force, tried, dt = np.zeros_like(x), state.copy(), t[1]
    for k in range(1, len(t)):
        force[k] = uniaxial(code, p, state, x[k], v[k], dt, tried)[0]
        state[:] = tried
    return x, force, law


@styled
def main() -> None:
    columns, lines = 4, -(-len(DRAWN) // 4)
    figure = new_figure(11.0, 2.5 * lines)
    for i, (fields, amplitude, middle) in enumerate(DRAWN, start=1):
        axes = figure.add_subplot(lines, columns, i)
        x, force, law = loop(fields, amplitude, middle)
        across, wide, up, high = AXES[law.of]
        axes.plot(wide * x, high * force, linewidth=0.9, color=TARGET)
        axes.axhline(0.0, color=QUIET, linewidth=0.5, zorder=0)
        axes.axvline(0.0, color=QUIET, linewidth=0.5, zorder=0)
        axes.set_title(law.kind + (", degrading" if "degrading_strength" in fields else ""))
        axes.set_xlabel(across)
        axes.set_ylabel(up)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
