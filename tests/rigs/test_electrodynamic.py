"""The electrodynamic rig against its transfer functions, the paper's figures, and its own limits."""

import numpy as np
import pytest
from scipy.signal import lsim

import halfreal
from halfreal.contracts.context import AT_REST
from halfreal.contracts.state_space import StateSpace
from halfreal.kernels.loop import Loop
from halfreal.models.excitations import Sine, Step, silence
from halfreal.models.shaker import Drive, Shaker, polynomials, responses
from halfreal.rigs.electrodynamic import Electrodynamic
from halfreal.runs.loop_stability import cut_loop, loop_stability
from halfreal.runs.rig_alone import rig_fault
from halfreal.stability.ideal_compensator import follower_of
from halfreal.stability.open_loop import answer
from rigs.wing import DRIVE, SHAKER, STEP, definition, gusts

SAMPLED = {**DRIVE, "position_rate": 1000.0, "force_rate": 10000.0}


def phasor(t, x, hz):
    basis = np.column_stack([np.cos(2 * np.pi * hz * t), np.sin(2 * np.pi * hz * t), np.ones_like(t)])
    a, b, _ = np.linalg.lstsq(basis, x, rcond=None)[0]
    return a - 1j * b


def ratio(test, hz):
    """D_a/D_n of the loop that runs, when it is steady."""
    log = halfreal.build(test).run(64000, record=["target", "rig.displacement"]).log
    last = log[:, 0] >= 10.0
    return phasor(log[last, 0], log[last, 2], hz) / phasor(log[last, 0], log[last, 1], hz)


def test_polynomials_and_state_space_are_the_same_actuator():
    shaker, drive = Shaker(**SHAKER), Drive(**{**DRIVE, "force_integral": 0.3})
    omega = 2 * np.pi * np.geomspace(0.1, 200.0, 60)
    command, force = responses(shaker, drive, omega)
    for found in (follower_of(bare(drive)).responses(omega), by_polynomials(shaker, drive, omega)):
        np.testing.assert_allclose(found[0], command, rtol=1e-6)
        np.testing.assert_allclose(found[1], force, rtol=1e-6)


def by_polynomials(shaker, drive, omega):
    below, by_command, by_force = polynomials(shaker, drive)
    return tuple(np.polyval(part, 1j * omega) / np.polyval(below, 1j * omega) for part in (by_command, by_force))


def bare(drive):
    """The rig without a specimen; what excites it is then the force on the armature."""
    rig = Electrodynamic(
        kind="electrodynamic", shaker=SHAKER, drive=drive, specimen={"mass": [[0.0]], "stiffness": [[0.0]]}
    )
    model = rig.state_space()
    return StateSpace(model.a, model.b, model.c[:1], model.d[:1])


@pytest.mark.parametrize(
    ("hz", "gain", "degrees"), [(1.0, 1.35, 9.2), (5.0, 1.83, 30.5), (8.0, 2.62, 38.3), (15.0, 10.7, 19.7)]
)
def test_without_compensation_the_actuator_leads_as_published(hz, gain, degrees):
    # the sampled loop adds half a step of delay twice: below 1 % and 1° here
    found = ratio(definition(excitation={"specimen": gusts(hz)}), hz)
    assert abs(found) == pytest.approx(gain, rel=0.01)
    assert np.degrees(np.angle(found)) == pytest.approx(degrees, abs=0.8)


def test_the_block_is_the_continuous_model_with_its_command_held():
    test = definition(excitation={"specimen": {"kind": "sine", "force": 20.0, "frequency": 5.0}})
    log = halfreal.build(test).run(8000, record=["command", "rig.displacement", "rig.force"]).log
    model = test.rig.state_space()
    t = np.arange(8000) * STEP
    # the value of the excitation at the end of a step is held over it
    inputs = np.column_stack([log[:, 1], 20.0 * np.sin(2 * np.pi * 5.0 * (t + STEP))])
    _, outputs, _ = lsim((model.a, model.b, model.c, model.d * 0.0), inputs, t, interp=False)
    np.testing.assert_allclose(log[:, 2], outputs[:, 0], atol=1e-9 * np.abs(outputs[:, 0]).max())


def test_a_sampled_drive_comes_to_the_continuous_one_with_its_rates():
    test = definition()
    exact = ratio(test, 5.0)
    errors = []
    for rate, substeps in ((1000.0, 5), (4000.0, 10)):
        drive = {**DRIVE, "position_rate": rate, "force_rate": 10 * rate}
        errors.append(abs(ratio(definition(rig={"drive": drive, "substeps": substeps}), 5.0) / exact - 1.0))
    assert errors[0] < 0.02
    assert errors[1] < 0.4 * errors[0]


RATES = [  # position and force rate [Hz], steps of the rig in a tick, and ticks of the common period
    (1000.0, 10000.0, 5, 4),
    (1500.0, 3000.0, 3, 8),  # the position loop looks at every 8/3 of a tick
    (8000.0, 40000.0, 10, 1),
]
UNLOADED = {"mass": [[0.0]], "stiffness": [[0.0]]}


def sampled(position, force, substeps, **rig):
    drive = {**DRIVE, "position_rate": position, "force_rate": force}
    return definition(rig={"drive": drive, "substeps": substeps, **rig})


def steady(test, hz, command=None, force=None):
    """Fourier coefficients of command, displacement and force on the armature in the steady state, by running it."""
    asked = Sine(displacement=command, frequency=hz).block("command") if command else silence("command", "m")
    pushed = silence("excitation.specimen", "N")
    pushed = Sine(force=force, frequency=hz).block("excitation.specimen") if force else pushed
    inner = [pushed, test.rig.block(("command",), STEP, np.zeros(1), ideal=False)]
    loop = Loop([asked], inner, dt=STEP, substeps=test.rig.substeps)
    loop.run(160_000)
    log = loop.run(8000, record=["command", "rig.displacement", "rig.force"]).log
    turning = np.exp(-2j * np.pi * hz * log[:, 0])
    return tuple(2.0 * np.mean(log[:, i] * turning) for i in (1, 2, 3))


@pytest.mark.parametrize(("position", "force", "substeps", "ticks"), RATES)
@pytest.mark.parametrize("hz", [5.0, 15.0, 40.0])
def test_a_sampled_drive_follows_as_its_responses_tell(position, force, substeps, ticks, hz):
    test = sampled(position, force, substeps, specimen=UNLOADED)
    omega, h = 2 * np.pi * hz, STEP / substeps
    (by_command,), (by_force,) = test.rig.follower(STEP).responses(np.array([omega]))
    command, moved, _ = steady(test, hz, command=1e-3)
    assert by_command == pytest.approx(moved / command, rel=1e-9)
    # the force of an excitation is that of the end of a step, held over it
    held = np.exp(0.5j * omega * h) * np.sinc(omega * h / (2 * np.pi))
    assert by_force == pytest.approx(steady(test, hz, force=1.0)[1] / (-1j * held), rel=1e-7)


@pytest.mark.parametrize("hz", [5.0, 15.0])
def test_the_responses_of_a_sampled_drive_hold_whatever_the_specimen_is(hz):
    test = sampled(*RATES[0][:3])
    (by_command,), (by_force,) = test.rig.follower(STEP).responses(np.array([2 * np.pi * hz]))
    command, moved, resisting = steady(test, hz, command=1e-3)
    # what the wing's force has at 1 kHz and above is left out
    assert by_command * command - by_force * resisting == pytest.approx(moved, rel=5e-6)


@pytest.mark.parametrize(("position", "force", "substeps", "ticks"), RATES)
def test_the_response_of_a_loop_with_a_sampled_drive_is_that_of_its_motion(position, force, substeps, ticks):
    test, hz = sampled(position, force, substeps), 12.0
    loop = cut_loop(test)
    assert loop.period == ticks
    omega = 2 * np.pi * hz
    found = answer(loop, ["measured.displacement"]).response(omega)[0, 0, 0] * np.exp(-1j * omega * STEP)
    command, moved, _ = steady(test, hz, command=1e-3)
    assert found == pytest.approx(moved / command, rel=1e-8)


def test_a_loop_with_a_sampled_drive_is_judged_as_it_is_sampled():
    soft = {"virtual": {"kind": "spring-damper", "stiffness": 3000.0, "damping": 60.0}}
    drive = {**DRIVE, "position_rate": 500.0, "force_rate": 4000.0}
    slow, continuous = (loop_stability(definition(**soft, rig={"drive": one})) for one in (drive, DRIVE))
    assert slow.linearisation.period == 8
    assert "assessed on the clock of the test" in slow.caveats[0] and not continuous.caveats
    # a quarter of the delay and 3 dB that a continuous drive would leave are not there
    assert slow.margin.critical_delay < 0.8 * continuous.margin.critical_delay
    assert slow.margin.gain_margin_db < continuous.margin.gain_margin_db - 2.0


@pytest.mark.parametrize(("rate", "stable"), [(500.0, True), (200.0, False)])
def test_a_drive_that_is_too_slow_is_unstable_on_its_own(rate, stable):
    test = definition(rig={"drive": {**DRIVE, "position_rate": rate, "force_rate": 4000.0}})
    loop = halfreal.build(test, AT_REST)
    assert (rig_fault(test, loop) is None) == stable
    log = on_command(test, Step(displacement=1e-3)).run(16000, record=["rig.displacement"]).log[:, 1]
    assert (np.ptp(log[-2000:]) < np.ptp(log[4000:6000])) == stable


def test_the_loops_of_a_drive_act_together_at_time_zero_wherever_a_test_begins():
    test, late = sampled(*RATES[0][:3]), Step(displacement=1e-3)
    inner = [silence("excitation.specimen", "N"), test.rig.block(("command",), STEP, np.zeros(1), ideal=False)]
    logs = []
    for start in (0, -3):
        loop = Loop([late.block("command")], inner, dt=STEP, substeps=5, start=start)
        logs.append(loop.run(400 - start, record=["rig.displacement"]).log[-360:, 1])
    np.testing.assert_array_equal(*logs)


@pytest.mark.parametrize("sampled", [False, True])
def test_no_more_current_is_asked_for_than_the_limit(sampled):
    drive = {**(SAMPLED if sampled else DRIVE), "current_limit": 3.0}
    stiff = {"mass": [[1.0]], "stiffness": [[1e5]], "damping": [[300.0]]}
    test = definition(rig={"drive": drive, "substeps": 5 if sampled else 1, "specimen": stiff})
    log = on_command(test, Step(displacement=5e-3)).run(16000, record=["rig.current", "rig.displacement"]).log
    # at rest R i = k_Fp (k_I i_max − k_I i); the specimen and the suspension bear k_I i
    gain, constant = DRIVE["force_proportional"], SHAKER["motor_constant"]
    current = gain * constant * 3.0 / (SHAKER["resistance"] + gain * constant)
    assert log[-1, 1] == pytest.approx(current, rel=1e-6)
    assert log[-1, 2] == pytest.approx(constant * current / (1e5 + SHAKER["stiffness"]), rel=1e-6)


def on_command(test, excitation, x0=0.0):
    """The rig alone, commanded by an excitation."""
    return Loop(
        [excitation.block("command")],
        [silence("excitation.specimen", "N"), test.rig.block(("command",), STEP, np.array([x0]), ideal=False)],
        dt=STEP,
        substeps=test.rig.substeps,
    )


@pytest.mark.parametrize("sampled", [False, True])
def test_a_test_may_begin_away_from_rest(sampled):
    rig = {"drive": SAMPLED, "substeps": 5} if sampled else {}
    log = on_command(definition(rig=rig), Step(displacement=2e-3), 2e-3).run(2000, record=["rig.displacement"]).log
    np.testing.assert_allclose(log[:, 1], 2e-3, rtol=1e-6)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"rig": {"drive": {**DRIVE, "position_rate": 1000.0}}}, "both loops or in none"),
        ({"rig": {"drive": SAMPLED}}, "not a whole number of the rig's steps"),
        (
            {"rig": {"drive": {**DRIVE, "position_rate": 1e6 / 250.25, "force_rate": 4e6}, "substeps": 1000}},
            "repeat only every 1001 ticks",
        ),
        ({"rig": {"specimen": {"mass": [[1.0, 0], [0, 0]], "stiffness": [[1.0, 0], [0, 1.0]]}}}, "has no mass"),
        ({"rig": {"specimen": {"mass": [[1.0]], "stiffness": [[1.0]], "interface": 2}}}, "count from 1"),
    ],
)
def test_what_cannot_be_simulated_is_refused(changes, told):
    with pytest.raises(ValueError, match=told):
        definition(**changes)
