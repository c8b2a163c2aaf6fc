"""Rigs exported as FMUs and used again: the same poles and margins, or none where no model reproduces them."""

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER, NO_COMPILER
from examples.wallace2005 import definition
from halfreal.definition.paths import with_values
from halfreal.runs.in_motion import Trials
from halfreal.runs.loop_stability import loop_stability
from halfreal.runs.margins_in_motion import margins_in_motion

pytest.importorskip("fmpy", reason="needs the extra fmi")
pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
MEASURED = {"displacement": "measured.displacement", "force": "measured.force"}
WIRES = {"inputs": {"command": "command"}, "outputs": MEASURED}
SPRING = {"stiffness": 2250.0}
HEAVY = {"stiffness": 2250.0, "damping": 10.0, "mass": 0.2}
CUBIC = {"kind": "delay", "reconstruction": "cubic"}
RIGS = {
    "unstable": {"actuator": {**CUBIC, "delay": 9.4e-3}, "specimen": SPRING},
    "long delay": {"actuator": {**CUBIC, "delay": 0.1}, "specimen": {"stiffness": 50.0}},
    "second order": {
        "actuator": {"kind": "second order", "frequency": 30.0, "damping": 0.7, "delay": 2e-3},
        "specimen": HEAVY,
    },
}


def both(rig, folder, **more):
    """A test with a rig, and with the same rig as an FMU."""
    own = definition(timing={"step": 1e-3, "duration": 4.0}, rig=rig, reference=None, **more)
    halfreal.export_fmu(own, folder / "rig.fmu", "rig")
    return own, with_values(own, {"rig": {"kind": "fmu", "fmu": str(folder / "rig.fmu"), **WIRES}})


@pytest.mark.parametrize("name", RIGS)
def test_an_exported_rig_has_the_poles_and_margins_of_the_rig(name, tmp_path):
    ours, theirs = (loop_stability(one) for one in both(RIGS[name], tmp_path))
    assert theirs.linearisation.spectral_radius == pytest.approx(ours.linearisation.spectral_radius, abs=1e-9)
    assert theirs.rig_lag == pytest.approx(ours.rig_lag, rel=1e-6)
    for margin in ("critical_delay", "gain_margin_db", "phase_margin_deg"):
        found, wanted = (getattr(one.margin, margin) for one in (theirs, ours))
        assert found == pytest.approx(wanted, rel=1e-6, nan_ok=True)


def test_a_rig_that_no_linear_model_reproduces_is_judged_by_trials_alone(tmp_path):
    """A core that is softer within 20 µm: the margins in motion are those of the contact."""
    law = {"kind": "bilinear", "stiffness": 50.0, "limit": 2e-5, "outer_stiffness": 2250.0}
    rig = {"actuator": {**CUBIC, "delay": 5e-3}, "specimen": {"elements": [{"between": [1], "law": law}]}}
    _, fmu = both(rig, tmp_path)
    contact = loop_stability(definition(rig={**rig, "specimen": SPRING}, reference=None)).margin
    found = halfreal.check(fmu, remedies=False)
    assert found.stability.poles_unknown and np.isnan(found.linearisation.spectral_radius)
    assert found.verdict == "MARGINAL" and "only trials in motion count" in found.reasons[0]
    assert found.motion.lag == pytest.approx(5e-3, rel=0.05)
    (broken,) = [one for one in found.motion.promises if not one.kept]
    assert 20.0 * np.log10(broken.margin) == pytest.approx(contact.gain_margin_db, abs=0.5)


def test_a_linear_opaque_loop_has_the_same_margins_in_motion_as_at_rest(tmp_path):
    _, fmu = both(RIGS["second order"], tmp_path)
    margin = loop_stability(fmu).margin
    moved = margins_in_motion(Trials(fmu), 6e-3, at_rest=margin)
    assert moved.delay == pytest.approx(margin.critical_delay, rel=0.01)
    assert moved.gain_margin_db == pytest.approx(margin.gain_margin_db, rel=0.02)
