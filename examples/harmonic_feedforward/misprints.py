"""Where the paper's print cannot be meant: each equation as printed, tested, next to the one that works.

python misprints.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import study

import stability
from halfreal.contracts import Context
from halfreal.couplings import HarmonicRls, gap_response, resonator
from halfreal.kernels import Block
from halfreal.stability import closed_loop, growth


@dataclass(frozen=True)
class Misprint:
    at: str
    what: str
    printed: str
    meant: str
    found: str
    """What the print leads to."""
    holds: bool
    """Whether it works as printed."""


class TwinFeelsForce(HarmonicRls):
    """Alg. 4 with a twin that feels λ too, as printed: it moves as the virtual substructure does."""

    def blocks(self, context: Context) -> list[Block]:
        *before, own = super().blocks(context)
        n = len(context.channels("target"))
        return [
            *before,
            Block(**{**vars(own), "inputs": (*own.inputs[: 2 * n], *own.inputs[:n], *own.inputs[3 * n :])}),
        ]


def rig_sign() -> Misprint:
    """Eq. 3: with +Gᵀλ the specimen is subtracted from the actuator."""
    (m, d, k), (me, de, ke) = stability.ACTUATOR, stability.SPECIMEN
    poles = np.roots([m - me, d - de, k - ke])
    rate = float(poles.real.max())
    found = f"static stiffness −{ke - k:.0f} N/m, grows as exp({rate:.0f} t/s)"
    return Misprint("Eq. 3, Eq. 23", "force of the specimen on the actuators", "+Gᵀλ", "−Gᵀλ", found, rate < 0)


def conjugate() -> Misprint:
    """Eq. 7: a real drive needs the conjugate of ψ at −ω."""
    psi, angle = 0.47746 + 0.029255j, 2 * np.pi * np.linspace(0, 1, 50)
    drive = 0.5 * psi * (np.exp(1j * angle) + np.exp(-1j * angle))
    share = float(np.abs(drive.imag).max() / np.abs(drive).max())
    return Misprint(
        "Eq. 7",
        "amplitude at −ω",
        "ψ",
        "its conjugate",
        f"a drive with an imaginary part of {100 * share:.1f} %",
        share < 1e-12,
    )


def identification() -> Misprint:
    """Eq. 17 on a plant without dynamics: the estimate's own part must be taken off."""
    true, errors = np.array([1.0, -0.5]), []
    for own in (0.0, 1.0):
        estimate = np.zeros(2)
        for k in range(5000):
            row = np.array([np.cos(0.05 * k), np.sin(0.05 * k)])
            estimate += 0.01 * row * (row @ true - own * row @ estimate)
        errors.append(float(np.linalg.norm(estimate - true) / np.linalg.norm(true)))
    found = f"an estimate {errors[0] + 1:.0f} times the truth after 5000 samples, still rising"
    assert errors[1] < 1e-3
    return Misprint("Eq. 17, Alg. 1", "error of the identification", "g", "g − g_ext − W θ̃ P̃", found, errors[0] < 0.1)


def adaption_sign() -> Misprint:
    """Alg. 1: θ must go down the gradient, by μ_LMS."""
    plant = stability.plant()
    h = gap_response(plant, 8.0)
    rates = [float(growth(closed_loop(plant, resonator(sign * h, 8.0, 1e4)).a, None)) for sign in (-1.0, 1.0)]
    assert rates[1] < 0
    found = f"grows as exp({rates[0]:.2g} t/s) with μ_c = 1e4 1/s"
    return Misprint("Alg. 1", "adaption", "θ + μ_id Pᵀ Wᵀ g", "θ − μ_LMS Pᵀ Wᵀ g", found, rates[0] < 0)


def shapes() -> list[Misprint]:
    """Blocks that do not fit each other, with two axes, three harmonics."""
    n, harmonics = 2, 3
    size, unknowns = 2 * n * harmonics, 2 * n * n * harmonics
    block, row = (size, size), (n, size)
    boundary, inner, kept = 4, 9, 2
    return [
        Misprint(
            "Alg. 2, Alg. 3, Alg. 4",
            "top right block of A",
            "W P, W θ̃",
            "(W P)ᵀ, (W θ̃)ᵀ",
            f"{row[0]} rows next to {block[0]}",
            row[0] == block[0],
        ),
        Misprint(
            "Eq. 15",
            "θ̃",
            "2n²n_ω × 2n²n_ω",
            "2n n_ω × 2n²n_ω",
            f"W with {size} columns times {unknowns} rows",
            size == unknowns,
        ),
        Misprint(
            "Eq. 30",
            "lower left block of T",
            "Ψ",
            "Ψ Φ_b",
            f"Ψ, {inner} × {boundary}, below Φ_b, {boundary} × {kept}",
            boundary == kept,
        ),
    ]


def factorisation() -> Misprint:
    """Eq. B.3: B is lower triangular, so that A = B C is an LQ factorisation, A Cᵀ = B; C A is another matrix."""
    a = np.random.default_rng(1).normal(size=(5, 5))
    c, b = (part.T for part in np.linalg.qr(a.T))
    assert np.abs(a @ c.T - b).max() < 1e-14
    off = float(np.abs(c @ a - b).max())
    return Misprint("Eq. B.3", "orthogonal transformation", "C A = B", "A Cᵀ = B", f"off by {off:.1g}", off < 1e-9)


def period() -> Misprint:
    omega = 2 * np.pi * 62.5
    found = f"1/ω_0 = {1e3 / omega:.2f} ms where the wave has {1e3 / 62.5:.0f} ms"
    return Misprint("Sec. 5.1.8", "period of the excitation", "T = 1/ω_0", "T = 2π/ω_0", found, 1 / omega == 1 / 62.5)


def twin() -> Misprint:
    """Alg. 4: g_ext from a twin that feels λ too."""
    common = {"frequencies": [8.0], "transfer": "model", "forgetting": 0.999, "identification_forgetting": 0.99}
    gaps = [study.learning_curve(law(**common))[1][-1] for law in (TwinFeelsForce, HarmonicRls)]
    assert gaps[1] < 1e-8
    found = "it diverges" if not gaps[0] < 1.0 else f"a gap of {1e3 * gaps[0]:.2g} mm after 60 s"
    told = "f_ext and λ"
    return Misprint("Alg. 4", "what acts on the twin for g_ext", told, "f_ext alone", found, bool(gaps[0] < 1e-4))


def target() -> Misprint:
    """Alg. 3 and 4: a product of two displacements cannot be compared with a gap."""
    y_exp, y_vir, g_ext = 1e-3, 4e-4, -2e-4
    off = abs((y_exp * y_vir - g_ext) - (y_exp - y_vir - g_ext))
    found = f"m² − m; off by {1e3 * off:.1f} mm for y_EXP = 1 mm, y_VIR = 0.4 mm"
    return Misprint("Alg. 3, Alg. 4", "target", "y_EXP y_VIR − g_ext", "y_EXP − y_VIR − g_ext", found, off < 1e-9)


def all_of_them() -> list[Misprint]:
    return [
        rig_sign(),
        conjugate(),
        *shapes(),
        identification(),
        adaption_sign(),
        target(),
        twin(),
        factorisation(),
        period(),
    ]


if __name__ == "__main__":
    for one in all_of_them():
        print(f"{one.at}, {one.what}: printed {one.printed}, meant {one.meant}; as printed: {one.found}")
