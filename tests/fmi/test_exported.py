"""Parts of a test as FMUs for other programs: FMPy runs them, in a process without halfreal too."""

import json
import subprocess
import sys
import tempfile
import zipfile
from functools import cache

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER, NO_COMPILER, of_functions
from examples.wallace2005 import GALLERY
from halfreal.definition.paths import with_values
from halfreal.records.fmu import FmuExportError, export_fmu
from halfreal.runs.parts import PARTS, PartError, part_of

fmpy = pytest.importorskip("fmpy", reason="needs the extra fmi")
from fmpy.fmi2 import FMU2Slave  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
CLOSE = 1e-12


@pytest.fixture(scope="module")
def definition():
    return with_values(halfreal.load(GALLERY / "forward_prediction.toml"), {"timing.duration": 0.5, "reference": None})


@pytest.fixture(scope="module")
def recorded(definition):
    return halfreal.rehearse(definition)


@pytest.fixture(scope="module")
def exported(definition, tmp_path_factory):
    """The FMU of a part, made when it is first asked for."""
    place = tmp_path_factory.mktemp("exported")

    @cache
    def made(part):
        export_fmu(definition, place / f"{part}.fmu", part)
        return place / f"{part}.fmu"

    return made


class Slave:
    """An exported FMU, driven by FMPy with names of variables."""

    def __init__(self, path, name="one"):
        self.description = fmpy.read_model_description(str(path))
        self.references = {one.name: one.valueReference for one in self.description.modelVariables}
        self.place = fmpy.extract(str(path), tempfile.mkdtemp(dir=path.parent))
        self.fmu = FMU2Slave(
            guid=self.description.guid,
            unzipDirectory=self.place,
            modelIdentifier=self.description.coSimulation.modelIdentifier,
            instanceName=name,
        )
        self.fmu.instantiate(callbacks=None)
        self.begin()

    def begin(self):
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def set(self, **values):
        names = [name.replace("__", ".") for name in values]
        self.fmu.setReal([self.references[name] for name in names], list(values.values()))

    def get(self, name):
        return self.fmu.getReal([self.references[name]])[0]

    def step(self, k, dt, count=1):
        self.fmu.doStep(currentCommunicationPoint=k * dt, communicationStepSize=count * dt)


@pytest.mark.parametrize("part", PARTS)
def test_fmpy_finds_nothing_wrong(exported, part):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(exported(part))) == []


def test_the_exported_loop_is_the_rehearsal(exported, recorded):
    answer = fmpy.simulate_fmu(str(exported("loop")))
    assert len(answer) == len(recorded.time) + 1  # FMPy also tells where the test ends
    for name in ("target", "command", "measured.displacement", "measured.force", "rig.force", "guard.mode"):
        ours = recorded.signals[name].values
        size = max(float(np.abs(ours).max()), 1e-300)
        np.testing.assert_allclose(answer[name][:-1], ours, rtol=0, atol=CLOSE * size, err_msg=name)


def test_virtual_coupling_and_rig_put_together_by_fmpy_are_the_rehearsal(exported, recorded):
    """In the order of a tick; each FMU alone, and the excitation from outside."""
    virtual, coupling, rig = (Slave(exported(part)) for part in ("virtual", "coupling", "rig"))
    signals, found = recorded.signals, {"target": [], "command": [], "measured.force": []}
    for k in range(len(recorded.time)):
        moved, force = rig.get("measured.displacement"), rig.get("measured.force")
        pushed = {
            name.replace(".", "__"): signals[name].values[k]
            for name in ("excitation.virtual", "excitation.virtual.rate")
        }
        virtual.set(feedback=force, **pushed)
        target = virtual.get("target")
        coupling.set(target=target, measured__displacement=moved, measured__force=force)
        command = coupling.get("command.asked")
        rig.set(command=command)
        for name, value in zip(found, (target, command, force), strict=True):
            found[name].append(value)
        for part in (virtual, coupling, rig):
            part.step(k, recorded.step)
    for name, values in found.items():
        ours = signals[name].values
        np.testing.assert_allclose(values, ours, rtol=0, atol=CLOSE * np.abs(ours).max(), err_msg=name)


def test_instances_are_apart_and_begin_anew_or_go_back(exported):
    one, other = Slave(exported("rig"), "one"), Slave(exported("rig"), "other")
    dt = float(one.description.defaultExperiment.stepSize)

    def moved(slave, begin, size):
        answer = []
        for k in range(begin, begin + 40):
            slave.set(command=size * (k + 1))
            slave.step(k, dt)
            answer.append(slave.get("measured.force"))
        return answer

    first = moved(one, 0, 1e-5)
    assert moved(other, 0, -1e-5) == [-force for force in first] and first[-1] > 0
    kept = one.fmu.getFMUState()
    bytes_of_it = one.fmu.serializeFMUstate(kept)
    later = moved(one, 40, 1e-5)
    one.fmu.setFMUState(kept)
    assert moved(one, 40, 1e-5) == later
    other.fmu.setFMUState(other.fmu.deSerializeFMUstate(bytes_of_it))
    assert moved(other, 40, 1e-5) == later
    one.fmu.reset()
    one.begin()
    assert moved(one, 0, 1e-5) == first


def test_steps_of_another_length_are_refused_and_multiples_made(exported):
    one, other = Slave(exported("rig"), "one"), Slave(exported("rig"), "other")
    for slave in (one, other):
        slave.set(command=1e-3)
    for k in range(20):
        one.step(k, 1e-3)
    other.step(0, 1e-3, 20)
    assert one.get("measured.force") == other.get("measured.force") != 0.0
    for begin, length in ((20, 1.5), (3, 1.0)):
        with pytest.raises(Exception, match="fmi2DoStep failed with status 3"):
            other.fmu.doStep(currentCommunicationPoint=begin * 1e-3, communicationStepSize=length * 1e-3)
    with pytest.raises(Exception, match="fmi2SetReal failed"):
        other.set(measured__force=1.0)


def test_it_runs_where_there_is_no_python_package_of_ours(exported, recorded, tmp_path):
    """In a fresh process by ctypes alone; it needs nothing but the C library."""
    with zipfile.ZipFile(exported("loop")) as packed:
        (library,) = (name for name in packed.namelist() if name.endswith(".so"))
        packed.extract(library, tmp_path)
        text = packed.read("modelDescription.xml").decode()
    guid = text.partition('guid="')[2].partition('"')[0]
    names = [line.partition('name="')[2].partition('"')[0] for line in text.splitlines() if "<ScalarVariable" in line]
    program = f"""
import ctypes, json, sys
lib = ctypes.CDLL({str(tmp_path / library)!r})
lib.fmi2Instantiate.restype = ctypes.c_void_p
c = ctypes.c_void_p(lib.fmi2Instantiate(b"x", 1, {guid.encode()!r}, b"", None, 0, 0))
y, which, found = ctypes.c_double(), (ctypes.c_uint * 1)({names.index("target")}), []
for k in range({len(recorded.time)}):
    assert lib.fmi2GetReal(c, which, ctypes.c_size_t(1), ctypes.byref(y)) == 0
    found.append(y.value)
    assert lib.fmi2DoStep(c, ctypes.c_double(k * 1e-3), ctypes.c_double(1e-3), 1) == 0
lib.fmi2FreeInstance(c)
print(json.dumps([found, sorted(sys.modules)]))
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    values, modules = json.loads(done.stdout)
    assert not {"numba", "numpy", "halfreal"} & set(modules)
    ours = recorded.signals["target"].values
    np.testing.assert_allclose(values, ours, rtol=0, atol=CLOSE * np.abs(ours).max())


def test_a_users_function_goes_along_and_its_fault_is_the_fmus(definition, tmp_path):
    (tmp_path / "spring.py").write_text(
        "import math\n\n\ndef step(p, s, t, u, y):\n    y[0] = p.k * math.sin(u[0])\n"
        "    return 7 if abs(u[0]) > 0.5 else 0\n"
    )
    specimen = {"kind": "user", "function": str(tmp_path / "spring.py:step"), "parameters": {"k": 2e3}}
    export_fmu(with_values(definition, {"rig.specimen": specimen}), tmp_path / "rig.fmu", "rig")
    slave = Slave(tmp_path / "rig.fmu")
    slave.set(command=0.1)
    slave.step(0, 1e-3, 40)
    assert slave.get("measured.force") == pytest.approx(2e3 * np.sin(0.1), rel=1e-12)
    slave.set(command=1.0)
    with pytest.raises(Exception, match="fmi2DoStep failed with status 3"):
        slave.step(40, 1e-3, 40)


def test_what_cannot_be_exported_is_named(definition, tmp_path, monkeypatch):
    library = {"kind": "library", "function": f"{of_functions()}:rig", "parameters": {"k": 1e3}}
    foreign = with_values(definition, {"rig": library})
    for part in ("rig", "loop"):
        with pytest.raises(PartError, match="block 'rig' calls a compiled library or an FMU"):
            part_of(foreign, part)
    part_of(foreign, "virtual")
    slow = halfreal.load(GALLERY.parent / "pseudo_dynamic_frame" / "explicit_newmark.toml")
    with pytest.raises(PartError, match="has no fixed step"):
        part_of(slow, "rig")
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(FmuExportError, match="there is no 'cc'"):
        export_fmu(definition, tmp_path / "x.fmu")
