"""Limit cycles of tests: against describing functions, long rehearsals and growth in them."""

import numpy as np
import pytest
from scipy.optimize import brentq

import halfreal
from examples.scripts import GALLERY
from examples.wallace2005 import C, K, M, definition
from halfreal.contracts.context import AT_REST
from halfreal.runs.loop_stability import linearised
from halfreal.stability import floquet
from halfreal.stability.amplitude_sweep import PERIODS, guesses
from halfreal.stability.carry_over import carried_over
from halfreal.studies.cycles import limit_cycles as searched
from halfreal.studies.cycles.free_loop import free_loop, modes
from halfreal.studies.cycles.limit_cycles import MOST_WORK, amplitudes_for, check_size

SATURATING = {"kind": "bilinear", "stiffness": 2250.0, "limit": 4e-3}
HARDENING = {"kind": "bilinear", "stiffness": 1500.0, "limit": 4e-3, "outer_stiffness": 4500.0}
CUBIC = {"kind": "cubic", "stiffness": 1500.0, "cubic": 3e7}
ELASTOPLASTIC = {"kind": "elastoplastic", "stiffness": 4000.0, "yield_force": 5.0, "hardening": 0.1}
EXPECTED = 5e-3


def nonlinear(law, delay, **more):
    rig = {
        "actuator": {"kind": "delay", "delay": delay, "reconstruction": "cubic"},
        "specimen": {"elements": [{"between": [1], "law": law}]},
    }
    return definition(rig=rig, **{"reference": None, **more})


def only(law, delay):
    (cycle,) = halfreal.limit_cycles(nonlinear(law, delay), expected=EXPECTED)
    return cycle


def critical(delay):
    """Stiffness with which m z¨ + c z˙ + k z + k_s z(t − τ) has the root iω, and its frequency [Hz]."""
    natural = np.sqrt(K / M)
    w = brentq(
        lambda w: (M * w * w - K) * np.sin(w * delay) - C * w * np.cos(w * delay), 1.001 * natural, 2.2 * natural
    )
    return C * w / np.sin(w * delay), w / (2 * np.pi)


def bilinear(law):
    def stiffness(amplitude):
        r = law["limit"] / amplitude
        share = 2.0 / np.pi * (np.arcsin(r) + r * np.sqrt(1.0 - r * r))
        return law.get("outer_stiffness", 0.0) * (1.0 - share) + law["stiffness"] * share

    return lambda aim: brentq(lambda a: stiffness(a) - aim, 1.00001 * law["limit"], 1.0)


def cubic(aim):
    return np.sqrt((aim - CUBIC["stiffness"]) / (0.75 * CUBIC["cubic"]))


@pytest.mark.parametrize(
    ("law", "delay", "amplitude", "stable"),
    [
        (SATURATING, 8e-3, bilinear(SATURATING), True),
        (SATURATING, 9.4e-3, bilinear(SATURATING), True),
        (HARDENING, 7e-3, bilinear(HARDENING), False),
        (CUBIC, 7e-3, cubic, False),
    ],
)
def test_cycles_are_near_those_of_the_describing_function(law, delay, amplitude, stable):
    """Of the continuous delay equation: sampling and higher harmonics are left out there."""
    stiffness, hz = critical(delay)
    cycle = only(law, delay)
    assert cycle.amplitude == pytest.approx(amplitude(stiffness), rel=0.015)
    assert cycle.frequency_hz == pytest.approx(hz, rel=0.005)
    assert cycle.stable is stable


def free(test, cycle, factor, periods):
    """The target in free motion from so many times a cycle on."""
    loop = free_loop(test)
    rest = loop.vector.copy()
    loop.vector[:] = rest + factor * (cycle.cycle.vector - rest)
    loop.vector[0] = rest[0]
    return loop.run(round(periods * cycle.cycle.ticks), record=("target",)).log[:, 1]


def tops(values):
    """Maxima of a signal, on parabolas through the samples around them, and their times in ticks."""
    at = 1 + np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:]) & (values[1:-1] > 0))
    before, here, after = values[at - 1], values[at], values[at + 1]
    bend = before - 2 * here + after
    return here - (after - before) ** 2 / (8 * bend), at - (after - before) / (2 * bend)


@pytest.mark.parametrize(("law", "delay"), [(SATURATING, 8e-3), (SATURATING, 9.4e-3), (ELASTOPLASTIC, 7e-3)])
def test_long_rehearsals_settle_on_stable_cycles(law, delay):
    cycle, test = only(law, delay), nonlinear(law, delay)
    for factor in (0.5, 2.0):
        heights, at = tops(free(test, cycle, factor, 400)[-20_000:])
        assert heights[-20:].mean() == pytest.approx(cycle.amplitude, rel=2e-3)
        assert np.diff(at).mean() == pytest.approx(cycle.cycle.ticks, rel=2e-4)


@pytest.mark.parametrize(("law", "delay"), [(HARDENING, 7e-3), (CUBIC, 7e-3)])
def test_free_motion_decays_below_an_unstable_cycle_and_grows_beyond(law, delay):
    cycle, test = only(law, delay), nonlinear(law, delay)
    below, beyond = (np.abs(free(test, cycle, factor, 60)) for factor in (0.97, 1.03))
    assert below[-200:].max() < 0.1 * cycle.amplitude < 10 * cycle.amplitude < beyond[-200:].max()


def test_multipliers_are_the_growth_in_rehearsals():
    cycle, test = only(CUBIC, 7e-3), nonlinear(CUBIC, 7e-3)
    assert cycle.cycle.trivial_error < 1e-6
    heights, _ = tops(free(test, cycle, 1.0 + 1e-4, 12))
    away = heights[2:10] - cycle.amplitude
    assert np.exp(np.polyfit(np.arange(8), np.log(away), 1)[0]) == pytest.approx(cycle.largest_multiplier, rel=0.02)


def test_hysteretic_memory_is_part_of_a_cycle():
    cycle = only(ELASTOPLASTIC, 7e-3)
    loop = cycle.cycle.shooting.loop
    assert "specimen.memory[0]" in {loop.name_of(int(i)) for i in cycle.cycle.shooting.entries}
    x, f = cycle.signal("measured.displacement"), cycle.signal("measured.force")
    yields, hardening = ELASTOPLASTIC["yield_force"], ELASTOPLASTIC["hardening"]
    moved = cycle.amplitudes["measured.displacement"] - yields / ELASTOPLASTIC["stiffness"]
    energy = abs(np.trapezoid(np.append(f, f[0]), np.append(x, x[0])))
    assert energy == pytest.approx(4.0 * yields * moved * (1.0 - hardening), rel=0.01)


def test_many_states_go_by_krylov_methods(monkeypatch):
    dense = only(CUBIC, 7e-3)
    monkeypatch.setattr(floquet, "DENSE", 10)
    krylov = only(CUBIC, 7e-3)
    assert krylov.amplitude == pytest.approx(dense.amplitude, rel=1e-6)
    assert krylov.largest_multiplier == pytest.approx(dense.largest_multiplier, rel=1e-4)


def test_a_motion_is_carried_over_to_a_longer_delay_line():
    cycle = only(SATURATING, 8e-3).cycle
    longer = free_loop(nonlinear(SATURATING, 20e-3))
    assert longer.vector.size > cycle.shooting.loop.vector.size
    shooting = carried_over(cycle.shooting, cycle.start, cycle.ticks, longer)
    history = shooting.base[longer.state_indices("actuator", "history")]
    assert np.ptp(history) > 0 and np.all(np.abs(np.diff(history)) > 0)  # filled to its end


def test_linear_loops_have_none():
    assert halfreal.limit_cycles(definition()) == ()


# --- the response to an excitation ------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [6e-3, 8e-3])
def test_multipliers_of_a_linear_response_are_powers_of_the_poles(delay):
    """Also of an unstable one, which no rehearsal shows."""
    test = definition(delay=delay, excitation={"virtual": {"kind": "sine", "displacement": 2e-3, "frequency": 1.5}})
    response, poles = halfreal.forced_response(test), linearised(test)
    assert response.largest_multiplier == pytest.approx(poles.spectral_radius**response.cycle.ticks, rel=1e-5)
    assert response.stable is poles.stable


def test_response_of_a_nonlinear_loop_is_that_of_a_long_rehearsal():
    """Its law saturates in every period, which keeps a loop bounded that is unstable at rest."""
    test = nonlinear(SATURATING, 8e-3)
    response = halfreal.forced_response(test)
    loop = halfreal.build(test, halfreal.runs.equivalent.UNDISTURBED)
    values = loop.run(60_000, record=("target",)).log[-2000:, 1]
    assert not linearised(test).stable and response.stable
    assert response.amplitude == pytest.approx(0.5 * np.ptp(values), rel=1e-3)


# --- what cannot be answered ------------------------------------------------------------------------------------------


def test_what_has_no_response_is_told():
    with pytest.raises(halfreal.HalfrealError, match="no excitation"):
        halfreal.forced_response(definition(excitation={}))
    chirp = {"virtual": {"kind": "chirp", "displacement": 1e-3, "frequency": 1.0, "to": 5.0, "duration": 5.0}}
    with pytest.raises(halfreal.HalfrealError, match="is not periodic"):
        halfreal.forced_response(definition(excitation=chirp))


def test_slow_tests_have_no_cycles():
    slow = halfreal.load(GALLERY / "pseudo_dynamic_frame" / "explicit_newmark.toml")
    with pytest.raises(halfreal.HalfrealError, match="time is paused"):
        halfreal.limit_cycles(slow, expected=1.0)


def test_loops_that_go_by_the_clock_have_no_cycles(tmp_path):
    source = (
        "import math\n\n\ndef nod(p, s, t, u, y):\n    y[0] = u[0] * (1.0 + 0.1 * math.sin(50.0 * t))\n    return 0\n"
    )
    (tmp_path / "nod.py").write_text(source)
    clocked = nonlinear(CUBIC, 7e-3, coupling={"kind": "user", "function": f"{tmp_path / 'nod.py'}:nod"})
    with pytest.raises(halfreal.HalfrealError, match="depends on time even without excitation"):
        halfreal.limit_cycles(clocked, expected=1e-3)


def test_a_loop_without_a_state_of_rest_is_told(tmp_path):
    (tmp_path / "push.py").write_text("def push(p, s, t, u, y):\n    y[0] = 1.0 + 10.0 * u[0] ** 3\n    return 0\n")
    rig = {
        "actuator": {"kind": "delay", "delay": 2e-3, "reconstruction": "cubic"},
        "specimen": {"kind": "user", "function": f"{tmp_path / 'push.py'}:push"},
    }
    pushed = {"virtual": {"kind": "sine", "force": 1.0, "frequency": 1.5}}
    virtual = {"mass": M, "damping": C, "stiffness": K, "force_dof": 1}
    test = definition(rig=rig, reference=None, virtual=virtual, excitation=pushed)
    loop = halfreal.build(test, AT_REST)
    assert loop.vector[loop.index["measured.force"]] == 0.0  # its force is not known before the first tick
    with pytest.raises(halfreal.HalfrealError, match=r"no steady state.*moves by .* give the virtual part"):
        halfreal.limit_cycles(test, expected=1e-3)


def test_free_motion_that_is_too_slow_to_be_followed_is_told_with_its_period():
    virtual = {"mass": M, "damping": 0.0, "stiffness": 1e-6}
    soft = nonlinear(SATURATING | {"stiffness": 1e-9}, 1e-3, virtual=virtual, excitation={})
    with pytest.raises(halfreal.HalfrealError, match=r"ticks \(.* s\) for one period, .* up to 50,000 ticks"):
        halfreal.limit_cycles(soft, expected=EXPECTED)


@pytest.mark.parametrize(("law", "delay"), [(HARDENING, 7e-3), (SATURATING, 8e-3), (ELASTOPLASTIC, 2e-3)])
def test_motions_that_are_not_followed_to_their_end_change_no_guess(law, delay):
    test = nonlinear(law, delay)
    loop = free_loop(test)
    amplitudes, ran = EXPECTED * np.geomspace(0.05, 20.0, 14), []
    for mode, axis in modes(test, loop):
        plain, fast = (
            guesses(loop, mode, amplitudes, test.interface.channels("target")[axis], whole=whole)
            for whole in (True, False)
        )
        ran.append(len(plain))
        assert [(one.started, one.growth) for one in fast] == [(one.started, one.growth) for one in plain]
    assert any(ran) or law is ELASTOPLASTIC


def test_a_check_reports_its_progress_up_to_the_end():
    reported = list[tuple[int, int]]()
    checked = halfreal.check(nonlinear(SATURATING, 8e-3), on_progress=lambda *one: reported.append(one))
    assert checked.free_motion is not None and checked.free_motion.cycles
    done = [one / total for one, total in reported]
    assert done == sorted(done) and done[-1] <= 1.0
    assert sum(0.4 < one < 1.0 for one in done) > 10  # the search for limit cycles


def test_large_and_slow_loops_are_searched_at_fewer_amplitudes_or_not_at_all():
    loop = free_loop(nonlinear(CUBIC, 7e-3))
    size = PERIODS * loop.vector.size
    assert amplitudes_for(loop, [100.0], 3.0) == 19
    assert amplitudes_for(loop, [MOST_WORK / size / 10.0], 3.0) == 10
    with pytest.raises(halfreal.HalfrealError, match="more than is searched"):
        amplitudes_for(loop, [MOST_WORK / size], 3.0)
    check_size(loop, 1000.0)
    with pytest.raises(halfreal.HalfrealError, match="states with memory"):
        check_size(loop, MOST_WORK)


def test_motion_that_persists_where_no_cycle_is_found_leaves_no_go(monkeypatch):
    """The cycle is known to be within the amplitude margin; here it is one that cannot be computed."""
    test = halfreal.load(GALLERY / "limit_cycles" / "hardening.toml")
    assert halfreal.check(test, remedies=False).verdict == "MARGINAL"
    monkeypatch.setattr(searched, "MOST_WORK", 1.0)
    monkeypatch.setattr(searched, "amplitudes_for", lambda loop, periods, decades: round(6 * decades) + 1)
    answer = halfreal.check(test, remedies=False)
    assert answer.verdict == "MARGINAL"
    (reason,) = [one for one in answer.reasons if "limit cycles were not computed" in one]
    assert "is not known" in reason
