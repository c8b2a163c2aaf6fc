"""FMUs in the loop: against halfreal's own models, FMPy, and what goes wrong."""

import re
import shutil
import zipfile

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER, NO_COMPILER
from examples.wallace2005 import GALLERY
from halfreal.contracts.context import AT_REST
from halfreal.definition.paths import with_values
from halfreal.errors import HalfrealError
from halfreal.kernels.fmi_library import FmuError
from halfreal.runs import linearised
from halfreal.studies.check.nonlinear import examine

fmpy = pytest.importorskip("fmpy", reason="needs the extra fmi")
from fmi.made import oscillator  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
FORCE = {"kind": "sine", "force": 20.0, "frequency": 1.5, "ramp": 1.0}
OURS = {"mass": 2.2, "damping": 15.0, "stiffness": 2250.0, "force_dof": 1, "scheme": {"kind": "rk4"}}
TYPES = ("model exchange", "co-simulation")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("fmus")
    for version in (2, 3):
        oscillator(place, version, f"version_{version}")
    return place


def changed(**changes):
    base = halfreal.load(GALLERY / "forward_prediction.toml")
    plain = {"excitation.virtual": FORCE, "timing.duration": 2.0, "reference": None}
    return with_values(base, {**plain, **changes})


def driven(path, kind="co-simulation", **settings):
    wires = {"inputs": {"force": "force", "excitation": "excitation"}, "outputs": {"displacement": "x"}}
    return changed(virtual={"kind": "fmu", "fmu": str(path), "type": kind, **wires, **settings})


def target(test):
    return halfreal.rehearse(test).signals["target"].values


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange_is_our_own_runge_kutta_method(folder, version):
    fmu = driven(folder / f"version_{version}.fmu", "model exchange", responses={"speed": "v"})
    ours, theirs = target(changed(virtual=OURS)), halfreal.rehearse(fmu)
    np.testing.assert_allclose(theirs.signals["target"].values, ours, rtol=0, atol=1e-13 * np.abs(ours).max())
    assert theirs.signals["virtual.speed"].unit == "m/s"
    np.testing.assert_allclose(
        np.sort(np.abs(linearised(fmu).eigenvalues))[-10:],
        np.sort(np.abs(linearised(changed(virtual=OURS)).eigenvalues))[-10:],
        rtol=1e-9,
    )


@pytest.mark.parametrize("version", [2, 3])
def test_co_simulation_converges_with_order_two(folder, version):
    exact = {**OURS, "scheme": {"kind": "exact"}}
    off = []
    for step in (2e-3, 1e-3):
        timing = {"timing.step": step, "coupling": {"kind": "none"}, "rig.actuator.delay": 4e-3}
        ours = target(with_values(changed(virtual=exact), timing))
        off.append(np.abs(target(with_values(driven(folder / f"version_{version}.fmu"), timing)) - ours).max())
    assert off[0] < 1e-4 * np.abs(ours).max()
    assert np.log2(off[0] / off[1]) == pytest.approx(2.0, abs=0.3)


def test_co_simulation_is_linearised_by_experiment(folder):
    test = driven(folder / "version_2.fmu")
    ours = linearised(changed(virtual={**OURS, "scheme": {"kind": "exact"}}))
    assert linearised(test).spectral_radius == pytest.approx(ours.spectral_radius, rel=1e-6)
    (block,) = [block for block in halfreal.build(test, AT_REST).blocks if block.name == "virtual"]
    assert "linearised by experiment, order 2" in block.held


DIRECTIONAL = {
    2: {"<CoSimulation": '<CoSimulation providesDirectionalDerivative="true"'},
    3: {"<CoSimulation": '<CoSimulation providesDirectionalDerivatives="true"'},
}


@pytest.mark.parametrize("version", [2, 3])
def test_directional_derivatives_give_the_linearisation_at_rest_and_in_motion(folder, tmp_path, version):
    """Against pulse responses, and model exchange, whose states are perturbed: with a spring that hardens."""
    fmu = oscillator(tmp_path, version, "known", **DIRECTIONAL[version])
    both = [driven(fmu, kind, parameters={"k3": 1e9}) for kind in TYPES]
    pulsed = driven(folder / f"version_{version}.fmu", parameters={"k3": 1e9})
    assert linearised(both[1]).spectral_radius == pytest.approx(linearised(pulsed).spectral_radius, abs=1e-9)
    (block,) = [block for block in halfreal.build(both[1], AT_REST).blocks if block.name == "virtual"]
    assert re.search(r"by its own directional derivatives, order 2, which match .* to \de-\d+", block.held)
    found = [examine(test, stable_at_rest=False) for test in both]
    assert found[1].opaque == () and found[1].time.size == found[0].time.size > 20
    ranges = [np.ptp(one.spectral_radius) for one in found]
    np.testing.assert_allclose(found[1].spectral_radius, found[0].spectral_radius, atol=0.02 * ranges[0])
    assert ranges[0] > 1e-4, "the points are alike, and nothing was compared"


def test_directional_derivatives_that_are_wrong_are_not_used(tmp_path):
    fmu = oscillator(tmp_path, 2, "wrong", ("WRONG",), **DIRECTIONAL[2])
    (block,) = [block for block in halfreal.build(driven(fmu), AT_REST).blocks if block.name == "virtual"]
    assert "linearised by experiment, order 2" in block.held and halfreal.build(driven(fmu)).blind == ("virtual",)
    assert re.search(r"its directional derivatives differ by \S+ and are not used", block.held)


def test_the_loop_steps_an_fmu_as_fmpy_does(folder):
    """The FMU driven by FMPy with the inputs that the loop gave it."""
    from fmpy.fmi2 import FMU2Slave

    run = halfreal.rehearse(driven(folder / "version_2.fmu"))
    description = fmpy.read_model_description(str(folder / "version_2.fmu"))
    place = fmpy.extract(str(folder / "version_2.fmu"))
    slave = FMU2Slave(
        guid=description.instantiationToken, unzipDirectory=place, modelIdentifier="version_2", instanceName="other"
    )
    slave.instantiate()
    slave.setupExperiment()
    slave.enterInitializationMode()
    slave.exitInitializationMode()
    begin = int(np.searchsorted(run.time, 0.0))
    force, pushed = (run.signals[name].values[begin:] for name in ("measured.force", "excitation.virtual"))
    x, step = [slave.getReal([6])[0]], run.step
    for k in range(1, len(force)):
        mean = [0.5 * (force[k - 1] + force[k]), 0.5 * (pushed[k - 1] + pushed[k])]
        slave.setReal([4, 5], mean)
        slave.doStep((k - 1) * step, step)
        x.append(slave.getReal([6])[0])
    slave.terminate()
    slave.freeInstance()
    shutil.rmtree(place)
    np.testing.assert_allclose(run.signals["target"].values[begin:], x, rtol=1e-14)


def test_parameters_are_numbers_of_the_definition(folder):
    test = driven(folder / "version_2.fmu", "model exchange", parameters={"k": 3000.0})
    stiffer = with_values(test, {"virtual.parameters.k": 4000.0})
    ours = {**OURS, "stiffness": 4000.0}
    np.testing.assert_allclose(target(stiffer), target(changed(virtual=ours)), atol=1e-14)


def test_a_loop_that_begins_anew_gives_the_same_bits(folder):
    for kind in TYPES:
        loop = halfreal.build(driven(folder / "version_3.fmu", kind, parameters={"k3": 1e7}))
        first = loop.run(500, record=["target"]).log.copy()
        loop.reset()
        np.testing.assert_array_equal(loop.run(500, record=["target"]).log, first)


def test_a_co_simulation_that_is_set_back_without_the_loop_knowing_is_a_fault(folder):
    loop = halfreal.build(driven(folder / "version_2.fmu"))
    loop.run(100)
    middle = loop.vector.copy()
    loop.run(100)
    loop.vector[:] = middle
    loop.run(10)
    assert "is at another time" in loop.describe(float(loop.vector[1]))


def test_a_specimen_and_a_coupling_may_be_fmus(folder, tmp_path):
    fmu = {"kind": "fmu", "fmu": str(folder / "version_2.fmu")}
    idle = {**fmu, "inputs": {"force": "force"}, "outputs": {"command": "x"}}
    run = halfreal.rehearse(changed(virtual=OURS, coupling=idle, limits={}))
    assert run.outcome == "completed"
    spring = {"inputs": {"displacement": "excitation"}, "outputs": {"force": "v"}}
    with pytest.raises(FmuError, match=r"'excitation' of version_2.fmu is in 'N', but 'm' is expected"):
        halfreal.build(changed(**{"virtual": OURS, "rig.specimen": {**fmu, **spring}}))


def test_a_failing_step_trips_the_guard_with_the_fmus_own_words(folder):
    test = with_values(driven(folder / "version_2.fmu"), {"excitation.virtual.force": 20.0, "limits": {}})
    block = next(block for block in halfreal.build(test).blocks if block.name == "virtual")
    assert block.keeps.instance.message == ""
    soft = with_values(test, {"rig.specimen.stiffness": 1e9})
    run = halfreal.rehearse(soft)
    assert run.outcome == "tripped"
    assert any("the FMU could not make its step" in event.text for event in run.events)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"outputs": {"displacement": "xx"}}, "has no variable 'xx'; did you mean 'x'?"),
        ({"outputs": {"displacement": "k"}}, "'k' of version_2.fmu is of causality 'parameter', but must be 'output'"),
        ({"outputs": {}}, "outputs lacks 'displacement'"),
        ({"inputs": {"forces": "force"}}, "inputs has 'forces', but this part has excitation, rate, force"),
        ({"outputs": {"displacement": "v"}}, "'v' of version_2.fmu is in 'm/s', but 'm' is expected"),
        ({"parameters": {"kk": 1.0}}, "has no variable 'kk'"),
    ],
)
def test_wrong_wiring_is_named(folder, settings, words):
    with pytest.raises(FmuError, match=words.replace("?", r"\?")):
        halfreal.build(driven(folder / "version_2.fmu", **settings))


def test_files_that_are_no_fmu_for_this_machine(folder, tmp_path):
    with pytest.raises(HalfrealError, match="there is no file"):
        driven(tmp_path / "none.fmu")
    (tmp_path / "text.fmu").write_text("no")
    with pytest.raises(FmuError, match="is not a valid FMU"):
        halfreal.build(driven(tmp_path / "text.fmu"))
    foreign = tmp_path / "foreign.fmu"
    with zipfile.ZipFile(folder / "version_2.fmu") as packed, zipfile.ZipFile(foreign, "w") as other:
        other.writestr("modelDescription.xml", packed.read("modelDescription.xml"))
        other.writestr("binaries/win64/version_2.dll", b"")
    with pytest.raises(FmuError, match=r"has no library for this machine .* but for win64"):
        halfreal.build(driven(foreign))
    only = oscillator(tmp_path, 2, "only", **{'<ModelExchange modelIdentifier="only"/>': ""})
    with pytest.raises(FmuError, match='has no model exchange, only co-simulation; write type = "co-simulation"'):
        halfreal.build(driven(only, "model exchange"))
    wrong = oscillator(tmp_path, 2, "wrong", **{'guid="oscillator-1"': 'guid="other"'})
    with pytest.raises(FmuError, match="cannot be instantiated: wrong GUID"):
        halfreal.build(driven(wrong))


def test_check_tells_hash_time_and_how_it_judged(folder):
    found = halfreal.check(driven(folder / "version_2.fmu"), remedies=False)
    text = "\n".join(found.reasons)
    assert "this test runs version_2.fmu, SHA-256" in text
    assert "block 'virtual' takes" in text and "linearised by experiment" in text
