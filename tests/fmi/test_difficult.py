"""FMUs with events, with one instance in a process, and such that crash, hang, stall or want to end."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import halfreal
from contracts.native import COMPILER, NO_COMPILER
from halfreal.contracts.context import AT_REST
from halfreal.definition.paths import with_values
from halfreal.kernels.fmi_library import FmuError
from halfreal.studies.check.criteria.foreign_code import judged, memory_in_use

pytest.importorskip("fmpy", reason="needs the extra fmi")
from fmi.made import oscillator
from fmi.test_fmu import driven, target

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
M, C, K, STOP, GAP, PUSH, LATER = 2.2, 15.0, 2250.0, 4000.0, 2e-3, 10.0, 0.1
INDICATED = {'numberOfEventIndicators="0"': 'numberOfEventIndicators="1"'}
LOCAL = '<Float64 name="z" valueReference="100" causality="local" variability="continuous" initial="calculated"/>'
INDICATED_3 = {
    "</ModelVariables>": f"{LOCAL}</ModelVariables>",
    "</ModelStructure>": '<EventIndicator valueReference="100"/></ModelStructure>',
}


def still(path, kind="model exchange", **changes):
    """The FMU moved by nothing from outside: no excitation, and a specimen that hardly resists."""
    quiet = {"excitation.virtual": None, "rig.specimen.stiffness": 1e-9, "timing.duration": 0.5, "limits": {}}
    return with_values(driven(path, kind), {**quiet, "coupling": {"kind": "none"}, **changes})


def alone(time):
    """Its motion, by an integrator that finds the events."""

    def slope(t, x):
        stop = STOP * (x[0] - GAP) if x[0] > GAP else 0.0
        return [x[1], ((PUSH if t >= LATER else 0.0) - C * x[1] - K * x[0] - stop) / M]

    late = time >= LATER
    found = solve_ivp(slope, (LATER, time[-1]), [0.0, 0.0], t_eval=time[late], rtol=1e-10, atol=1e-14, max_step=1e-3)
    return np.concatenate([np.zeros(np.count_nonzero(~late)), found.y[0]])


@pytest.mark.parametrize("version", [2, 3])
def test_events_of_time_and_state_are_handled_in_their_tick(tmp_path, version):
    """Late by up to a tick: the error of a state event falls with the step."""
    fmu = oscillator(tmp_path, version, "events", ("EVENTS",), **(INDICATED if version == 2 else INDICATED_3))
    off = []
    for step in (1e-3, 2.5e-4):
        run = halfreal.rehearse(still(fmu, **{"timing.step": step}))
        exact, found = alone(run.time), run.signals["target"].values
        before = run.time < LATER + 0.5 * step
        assert run.outcome == "completed" and not np.any(found[before]) and exact.max() > 1.5 * GAP
        off.append(np.abs(found - exact).max() / exact.max())
    assert off[0] < 5e-3 and off[1] < 0.6 * off[0]


def test_an_fmu_with_events_is_linearised_by_experiment(tmp_path):
    fmu = oscillator(tmp_path, 2, "events", ("EVENTS",), **INDICATED)
    (block,) = [one for one in halfreal.build(still(fmu), AT_REST).blocks if one.name == "virtual"]
    assert "linearised by experiment" in block.held


def test_one_that_asks_to_end_trips_the_guard(tmp_path):
    run = halfreal.rehearse(still(oscillator(tmp_path, 2, "ends", ("ENDS",))))
    assert run.outcome == "tripped" and "the FMU requested the end of the simulation" in run.reason
    (trip,) = [event for event in run.events if event.channel == "guard.cause"]
    assert trip.time == pytest.approx(0.101)


def test_one_instance_in_a_process_means_copies_of_its_library(tmp_path):
    once = {"<CoSimulation": '<CoSimulation canBeInstantiatedOnlyOncePerProcess="true"'}
    fmu = oscillator(tmp_path, 2, "once", ("ONCE",), **once)
    test = driven(fmu)
    first, second = halfreal.build(test), halfreal.build(with_values(test, {"virtual.parameters": {"k": 3000.0}}))
    both = [loop.run(200, record=["target"]).log[:, 1] for loop in (first, second)]
    np.testing.assert_array_equal(both[0], halfreal.build(driven(fmu)).run(200, record=["target"]).log[:, 1])
    assert np.abs(both[0] - both[1]).max() > 0.0


def test_crashes_and_endless_steps_are_found_in_a_process_of_their_own(tmp_path, monkeypatch):
    with pytest.raises(FmuError, match=r"crashes.fmu crashed when it was stepped at rest, by signal 11"):
        halfreal.build(driven(oscillator(tmp_path, 2, "crashes", ("CRASHES",))))
    monkeypatch.setattr("halfreal.contracts.fmu.LONGEST_TRIAL", 0.5)
    with pytest.raises(FmuError, match=r"hangs.fmu did not finish: 100 steps at rest took more than 0.5 s"):
        halfreal.build(driven(oscillator(tmp_path, 3, "hangs", ("HANGS",))))


def test_a_stall_is_measured_though_it_is_rare(tmp_path):
    test = driven(oscillator(tmp_path, 2, "stalls", ("STALLS",)))
    (block,) = [one for one in halfreal.build(test).blocks if one.name == "virtual"]
    (found,) = judged(block, test.timing.step)
    assert found.severity == "marginal" and found.value >= 0.02
    assert "3 of 1000 ticks take longer than the step of 1 ms" in found.text


def test_memory_that_is_not_given_back_is_seen(tmp_path):
    if memory_in_use() == 0:
        pytest.skip("this C library does not tell how much memory is in use")
    test = driven(oscillator(tmp_path, 2, "leaks", ("LEAKS",)))
    (block,) = [one for one in halfreal.build(test).blocks if one.name == "virtual"]
    (leak,) = [one for one in judged(block, test.timing.step) if one.severity == "warning"]
    (size,) = re.findall(r"leaks (\d+) bytes of memory per tick", leak.text)
    assert 64 <= int(size) <= 96  # and what malloc adds


def test_steps_of_its_own_and_tools_that_it_needs_are_refused(tmp_path):
    own = oscillator(tmp_path, 3, "own", **{"<CoSimulation": '<CoSimulation fixedInternalStepSize="0.0007"'})
    with pytest.raises(FmuError, match=r"own.fmu has an internal step of 0.0007 s, but is called every 0.001 s"):
        halfreal.build(driven(own))
    tool = oscillator(tmp_path, 2, "tool", **{"<CoSimulation": '<CoSimulation needsExecutionTool="true"'})
    with pytest.raises(FmuError, match="needs the exporting program"):
        halfreal.build(driven(tool))


def test_the_words_of_its_logger_are_in_the_event(tmp_path):
    test = with_values(driven(oscillator(tmp_path, 2, "loud")), {"limits": {}, "rig.specimen.stiffness": 1e9})
    run = halfreal.rehearse(test)
    assert any("the FMU could not make its step: the force is beyond 1e6 N" in event.text for event in run.events)
    assert target(driven(oscillator(tmp_path, 2, "calm"))).any()
