"""A test of ``simulate.py`` as a definition of the package."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import halfreal
from halfreal.records.fmu import export_fmu

from .laws import BILINEAR, BOUC_WEN, CUBIC, DAMPER, ELASTOPLASTIC, FRICTION, GAP
from .simulate import Element, Test
from .ticks import DELAY, FIRST_ORDER

ACCEPTANCE = {"phase_margin": "none", "synchronisation": "none", "fidelity": "none"}
"""What is not judged here; gain, delay and amplitude are, by their defaults."""


def law(element: Element) -> dict[str, Any]:
    code, p = element.code, element.values
    if code == GAP:
        hook = np.isinf(p[1])
        return {"kind": "hook" if hook else "gap", "stiffness": p[0], "gap": p[2] if hook else -p[1]}
    if code == BILINEAR:
        return {"kind": "bilinear", "stiffness": p[0], "limit": p[1], "outer_stiffness": p[2]}
    if code == CUBIC:
        return {"kind": "cubic", "stiffness": p[0], "cubic": p[1]}
    if code == ELASTOPLASTIC:
        return {"kind": "elastoplastic", "stiffness": p[0], "yield_force": p[1], "hardening": p[2]}
    if code == BOUC_WEN:
        names = ("stiffness", "alpha", "yield_displacement", "n", "beta", "gamma")
        return {"kind": "bouc-wen", **dict(zip(names, p, strict=True))}
    if code == FRICTION:
        return {"kind": "coulomb friction", "stick_stiffness": p[0], "force": p[1]}
    if code == DAMPER:
        return {"kind": "power damper", "force": p[0], "speed": 1.0, "alpha": p[1], "linear_below": p[2]}
    raise ValueError(code)


def elements(given: tuple[Element, ...]) -> list[dict[str, Any]]:
    found = []
    for one in given:
        terms = [{"dof": i + 1, "factor": factor} for i, factor in enumerate(one.along) if factor != 0.0]
        found.append({"law": law(one), "along": terms})
    return found


def force_controlled_parts(test: Test) -> tuple[dict[str, Any], dict[str, Any]]:
    """Virtual part and rig of a test in force control."""
    control, k = test.force, test.specimen_stiffness
    assert control is not None
    method: dict[str, Any] = {"kind": "index 1"}
    if control.alpha:
        derivatives = "stage" if control.at_stage else "step end"
        method = {"kind": "baumgarte", "alpha": control.alpha, "beta": control.beta, "derivatives": derivatives}
        method |= {"velocity_weight": control.weight, "loop": "solved" if control.assumed else "lagged"}
    if control.assumed:
        method["stiffness"] = [[control.assumed]]
    matrices = {"mass": test.mass, "damping": test.damping, "stiffness": test.stiffness}
    virtual: dict[str, Any] = {
        "kind": "constrained",
        **matrices,
        "constraint": [[1.0]],
        "method": method,
        "force_dof": 1,
    }
    rig: dict[str, Any] = {
        "kind": "force controlled",
        "specimen": {"stiffness": k},
        "gain": control.gain,
        "substeps": control.substeps,
    }
    if np.isfinite(control.transfer):
        rig["transfer_stiffness"] = control.transfer
    if test.virtual:
        virtual["elements"] = elements(test.virtual)
    return virtual, rig


def harmonic_parts(test: Test) -> tuple[dict[str, Any], dict[str, Any]]:
    """Coupling and rig of a test with harmonic feed-forward."""
    drive = test.drive
    assert drive is not None
    known = [{"real": [[one.real]], "imaginary": [[one.imag]]} for one in drive.transfer]
    coupling: dict[str, Any] = {"kind": "harmonic lms", "frequencies": drive.hz, "transfer": known}
    coupling["memory"] = drive.memory
    if drive.learning:
        coupling |= {"kind": "harmonic rls", "mode": "simultaneous", "identification_memory": drive.learning}
    moving = dict(zip(("mass", "damping", "stiffness"), ([[one]] for one in drive.moving), strict=True))
    matrices = {"mass": test.specimen_mass, "damping": test.specimen_damping, "stiffness": test.specimen_stiffness}
    specimen = {key: one for key, one in matrices.items() if one is not None}
    return coupling, {"kind": "force actuated", "specimen": specimen, "transfer": moving}


def definition(test: Test, duration: float, acceptance: dict[str, Any] | None = None) -> halfreal.Definition:
    most, hz, ramp, pulse = test.excitation
    given = {"kind": "pulse", "force": most, "duration": pulse}
    if pulse == 0.0:
        given = {"kind": "sine", "force": most, "frequency": hz, "ramp": ramp}
    virtual: dict[str, Any] = {
        "mass": test.mass,
        "damping": test.damping,
        "stiffness": test.stiffness,
        "interface": [one + 1 for one in test.interface],
        "force_dof": test.pushed + 1,
    }
    if test.virtual:
        virtual |= {"elements": elements(test.virtual), "scheme": {"kind": "newmark"}}
    time, order, points = test.predicts
    coupling: dict[str, Any] = {"kind": "none"}
    if time:
        coupling = {"kind": "forward prediction", "prediction": time, "order": order, "points": points}
    if test.adapts:
        names = ("window", "adaption_time", "longest_prediction", "amplitude_gain", "amplitude_range")
        names += ("least_velocity", "over_compensation")
        coupling |= {"kind": "adaptive forward prediction", "highest_order": order}
        coupling |= dict(zip(names, test.adapts, strict=True))
    actuator: dict[str, Any] = {"kind": "delay", "delay": test.delay}
    if test.actuator == FIRST_ORDER:
        actuator |= {"kind": "first order", "time_constant": test.dynamics[0]}
    elif test.actuator != DELAY:
        actuator |= {"kind": "second order", "frequency": test.dynamics[0], "damping": test.dynamics[1]}
    if test.slow:
        virtual["scheme"] = {"kind": "explicit newmark"}
    limits = {"stroke": test.stroke, "speed": test.speed}
    actuator |= {key: value for key, value in limits.items() if np.isfinite(value)}
    actuator |= {key: getattr(test, key) for key in ("friction", "backlash") if getattr(test, key)}
    matrices = {"mass": test.specimen_mass, "damping": test.specimen_damping, "stiffness": test.specimen_stiffness}
    specimen: dict[str, Any] = {key: test.gain * one for key, one in matrices.items() if one is not None}
    if test.specimen:
        specimen["elements"] = elements(test.specimen)
    rig: dict[str, Any] = {"actuator": actuator, "specimen": specimen}
    if np.isfinite(test.force_range):
        rig["sensors"] = {"force": {"range": test.force_range}}
    more: dict[str, Any] = {}
    if test.slow:
        period, ramp, tolerance, within = test.slow
        settle = {"displacement": tolerance, "time": within, "timeout": 20.0}
        more["slow"] = {"period": period, "ramp": ramp, "settle": settle}
        del actuator["delay"]
    limits_of: dict[str, Any] = {"command": {"trip": 50.0}, "command_rate": {"trip": 1e4}}
    if test.force is not None or test.drive is not None:
        limits_of = {"drive": {"trip": 1e9}, "drive_rate": {"trip": 1e15}}
    if test.force is not None:
        virtual, rig = force_controlled_parts(test)
        if test.slow:
            more["slow"]["settle"]["force"] = more["slow"]["settle"].pop("displacement")
    if test.drive is not None:
        coupling, rig = harmonic_parts(test)
    found = halfreal.Definition(
        title="drawn test",
        timing={"step": test.step, "duration": duration},
        virtual=virtual,
        excitation={"virtual": given},
        coupling=coupling,
        rig=rig,
        limits=limits_of,
        acceptance={**ACCEPTANCE, **(acceptance or {})},
        **more,
    )
    return with_rig_as_fmu(found) if test.rig_as_fmu else found


def with_rig_as_fmu(given: halfreal.Definition) -> halfreal.Definition:
    """The same test with its rig exported, and used as an FMU."""
    place = Path(tempfile.mkdtemp()) / "rig.fmu"
    export_fmu(given, place)
    outputs = {"displacement": "measured.displacement", "force": "measured.force"}
    rig = {"kind": "fmu", "fmu": str(place), "inputs": {"command": "command"}, "outputs": outputs}
    return given.with_values({"rig": rig})
