"""OpenSees as the virtual substructure: its matrices, its steps beside our own scheme, and what may go wrong."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import halfreal
from halfreal.definition.faults import DefinitionError
from halfreal.kernels import trust
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import TRIPPED
from live.processes import wait_for
from models.materials.opensees import why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it is there")
M, K, KS, A0, STEP = 2.2, 2250.0, 1500.0, 1.0, 5e-3
MODEL = f"""
import openseespy.opensees as ops

ops.model("basic", "-ndm", 1, "-ndf", 1)
for tag in (1, 2, 3):
    ops.node(tag, 0.0)
ops.fix(1, 1)
ops.mass(2, {M})
ops.mass(3, {M})
ops.uniaxialMaterial("Elastic", 1, {K})
ops.element("zeroLength", 1, 2, 3, "-mat", 1, "-dir", 1)
ops.rayleigh({A0}, 0.0, 0.0, 0.0)
ops.timeSeries("Trig", 1, 0.0, 100.0, 0.5, "-factor", 3.0)
ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
"""
WHOLE = (
    MODEL
    + f"""
ops.uniaxialMaterial("Elastic", 2, {KS})
ops.element("zeroLength", 2, 1, 2, "-mat", 2, "-dir", 1)
"""
)
COMMON: dict[str, object] = {
    "title": "two storeys",
    "timing": {"step": "5 ms", "duration": "1 s"},
    "rig": {"specimen": {"stiffness": "1500 N/m"}},
    "slow": {"period": "1 ms", "ramp": "1 ms", "average": "1 ms"},
}


def definition(folder: Path, text: str = MODEL, **virtual: object) -> halfreal.Definition:
    (folder / "model.py").write_text(text)
    given = {"kind": "opensees", "model": "model.py", "interface": [{"node": 2, "dof": 1}], **virtual}
    more = {"reference": {"substeps": 1}} if "whole" in virtual else {}
    return halfreal.Definition.model_validate({**COMMON, "virtual": given, **more}, context={"folder": folder})


def test_its_matrices_are_those_of_the_model(tmp_path: Path) -> None:
    system = definition(tmp_path).virtual.system("none")
    np.testing.assert_allclose(system.mass, np.diag([M, M]), rtol=1e-14)
    np.testing.assert_allclose(system.damping, A0 * np.diag([M, M]), rtol=1e-14)
    np.testing.assert_allclose(system.stiffness, [[K, -K], [-K, K]], rtol=1e-14)
    np.testing.assert_array_equal(system.displacement_outputs, [[1.0, 0.0]])
    np.testing.assert_array_equal(system.inputs, [[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])


TCL = f"""
# the same in Tcl
proc storey {{tag m}} {{ node $tag 0.0; mass $tag $m }}
model BasicBuilder -ndm 1 -ndf 1
node 1 0.0
fix 1 1
foreach tag {{2 3}} {{ storey $tag {M} }}
uniaxialMaterial Elastic 1 [expr {{{K} / 2 * 2}}]
element zeroLength 1 2 3 -mat 1 -dir 1
rayleigh {A0} 0.0 0.0 0.0
puts "built"
pattern UniformExcitation 1 1 -accel {{Trig 0.0 100.0 0.5 -factor 3.0}}
exit
node 3 1.0
"""


def test_a_model_in_tcl_is_the_same_model(tmp_path: Path) -> None:
    pytest.importorskip("tkinter", reason="this Python has no Tcl")
    (tmp_path / "model.tcl").write_text(TCL)
    theirs = definition(tmp_path, model="model.tcl")
    ours = definition(tmp_path)
    np.testing.assert_array_equal(theirs.virtual.system("none").stiffness, ours.virtual.system("none").stiffness)
    found, expected = (halfreal.rehearse(one).vector("target") for one in (theirs, ours))
    assert np.abs(expected).max() > 0.0
    np.testing.assert_array_equal(found, expected)


def test_blocks_of_patterns_and_sections_in_tcl(tmp_path: Path) -> None:
    """A cantilever of a fibre section under a load: its stiffness in bending by hand, and its force."""
    pytest.importorskip("tkinter", reason="this Python has no Tcl")
    (tmp_path / "model.tcl").write_text(
        """
model BasicBuilder -ndm 2 -ndf 3
node 1 0 0; node 2 3 0
fix 1 1 1 1
mass 2 10 10 1
uniaxialMaterial Elastic 1 2e11
section Fiber 1 {
    fiber 0.1 0 0.005 1
    fiber -0.1 0 0.005 1
}
geomTransf Linear 1
element dispBeamColumn 1 1 2 2 1 1
pattern Plain 1 Linear { load 2 0 -1000.0 0 }
"""
    )
    system = definition(tmp_path, model="model.tcl", interface=[{"node": 2, "dof": 2}]).virtual.system("none")
    flexible = np.linalg.inv(system.stiffness)
    at = int(np.argmax(system.displacement_outputs[0]))
    assert flexible[at, at] == pytest.approx(3.0**3 / (3.0 * 2e11 * 1e-4), rel=1e-9)


def test_an_error_in_tcl_is_named_with_its_line(tmp_path: Path) -> None:
    pytest.importorskip("tkinter", reason="this Python has no Tcl")
    (tmp_path / "model.tcl").write_text("model BasicBuilder -ndm 1 -ndf 1\nnode 1 0.0\nnod 2 1.0\n")
    with pytest.raises(Exception, match=r"model.tcl, line 3: invalid command name \"nod\""):
        definition(tmp_path, model="model.tcl").virtual.system("none")


def test_its_steps_are_those_of_our_explicit_newmark(tmp_path: Path) -> None:
    """The same structure by matrices and by OpenSees, each with a specimen on the simulated rig."""
    (tmp_path / "whole.py").write_text(WHOLE)
    roof = {"roof": {"node": 3, "dof": 1}}
    theirs = halfreal.rehearse(definition(tmp_path, whole="whole.py", responses=roof))
    matrix = [[K, -K], [-K, K]]
    ours = halfreal.Definition.model_validate(
        {
            **COMMON,
            "virtual": {
                "mass": np.diag([M, M]),
                "stiffness": np.array(matrix),
                "damping": A0 * np.diag([M, M]),
                "interface": [1],
                "scheme": "explicit newmark",
                "responses": {"roof": {"quantity": "displacement", "dof": 2}},
            },
            "excitation": {"virtual": {"kind": "sine", "acceleration": 3.0, "frequency": 2.0}},
        }
    )
    own = halfreal.rehearse(ours)
    for name in ("target", "virtual.roof"):
        found, expected = theirs.signals[name].values, own.signals[name].values
        np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max(), err_msg=name)
    reference, target = (theirs.signals[name].values for name in ("reference", "target"))
    np.testing.assert_allclose(reference, target, atol=1e-11 * np.abs(target).max(), err_msg="whole in OpenSees")
    assert theirs.code["model.py"] == hashlib.sha256(MODEL.encode()).hexdigest() and "whole.py" in theirs.code


def test_the_check_rests_on_its_matrices_at_rest(tmp_path: Path) -> None:
    answer = halfreal.check(definition(tmp_path))
    k = np.array([[K + KS, -K], [-K, K]])
    omega = np.sqrt(np.linalg.eigvalsh(k / M))
    sampled = np.arccos(1.0 - 0.5 * (omega * STEP) ** 2) / STEP / (2.0 * np.pi)  # central differences, undamped
    found = np.unique(np.round(answer.linearisation.frequency_hz[answer.linearisation.frequency_hz > 0.1], 3))
    assert answer.verdict == "GO"
    np.testing.assert_allclose(found, sampled, rtol=1e-3)
    assert any(line.startswith("this test runs model.py, SHA-256") for line in answer.reasons)
    assert any("per tick" in line for line in answer.reasons)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (MODEL + "\nraise ValueError('no section')\n", r"model.py, line 16 raised ValueError: no section"),
        (MODEL + "\nops.nonsense(\n", "model.py, line 16 raised SyntaxError"),
        ("", "model.py has no nodes"),
        (MODEL.replace("2", "5"), "model.py has no node 2; it has 1, 3, 5"),
        (MODEL + "\nops.fix(2, 1)\n", "degree of freedom 1 of node 2 is fixed"),
        (MODEL.replace(f"ops.mass(3, {M})", ""), "degree of freedom 1 of node 3 has no mass"),
        (MODEL + "\nops.setTime(2.0)\n", "ends at time 2 s"),
        (MODEL + "\nimport os\nos._exit(3)\n", r"OpenSees ended without a response \(exit code 3\)"),
    ],
    ids=["raises", "syntax", "empty", "node", "fixed", "massless", "time", "exits"],
)
def test_a_model_that_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(halfreal.HalfrealError, match=why):
        halfreal.build(definition(tmp_path, text))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model": "model.tcl"}, "there is no file"),
        ({"model": "other.py"}, "there is no file"),
        ({"interface": []}, "interface"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, changes: dict[str, object], why: str) -> None:
    with pytest.raises((DefinitionError, ValueError), match=why):
        definition(tmp_path, **changes)


def test_another_number_of_degrees_of_freedom(tmp_path: Path) -> None:
    with pytest.raises(halfreal.HalfrealError, match=r"node 2 of model.py has 1 degree\(s\) of freedom; 3 is not one"):
        halfreal.build(definition(tmp_path, interface=[{"node": 2, "dof": 3}]))


def test_the_reference_needs_a_model_of_the_whole(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"give virtual\.whole"):
        definition(tmp_path).with_values({"reference": {}})


def tripped(loop: Loop) -> bool:
    return bool(loop.vector[loop.index["guard.mode"]] == TRIPPED)


def test_a_process_that_ends_or_stops_trips(tmp_path: Path) -> None:
    for number, why in ((signal.SIGKILL, "has ended"), (signal.SIGSTOP, "took longer than virtual.timeout, 0.02 s")):
        loop = halfreal.build(definition(tmp_path, timeout="20 ms"))
        loop.run(3)
        stepper = loop.blocks[loop.row("virtual")].keeps
        os.kill(stepper.process.pid, number)
        if number == signal.SIGKILL:
            wait_for(lambda stepper=stepper: stepper.words[2] != 0, "that it has ended")
        loop.run(2)
        assert tripped(loop) and why in loop.describe(float(loop.vector[1]))
        stepper.process.kill()


def test_a_loop_that_is_set_back_is_a_fault_and_not_a_wrong_number(tmp_path: Path) -> None:
    loop = halfreal.build(definition(tmp_path))
    begin = loop.vector.copy()
    loop.run(3)
    loop.vector[:] = begin
    loop.run(1)
    assert tripped(loop) and "cannot be" in loop.describe(float(loop.vector[1]))


def test_the_file_is_run_only_if_it_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(trust.ALL)
    mark = tmp_path / "ran"
    text = MODEL + f"\nopen({str(mark)!r}, 'w').close()\n"
    given = definition(tmp_path, text)
    with trust.asking(lambda path: False), pytest.raises(trust.UntrustedError, match=r"model\.py"):
        halfreal.build(given)
    assert not mark.exists()
    with trust.asking(lambda path: True):
        halfreal.build(given)
    assert mark.exists()
