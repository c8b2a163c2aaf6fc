"""The multi-axial benchmark: RoDeAC as its code has it, a plain NumPy loop, criteria, bounds."""

import numpy as np
import pytest
import scipy.linalg
import scipy.signal

from examples.vrths import motion
from halfreal.benchmark import page, table
from halfreal.benchmark.problem import Motion, Score, scorecard, with_motion
from halfreal.contracts.state_space import StateSpace
from halfreal.errors import HalfrealError
from halfreal.marths import problem as marths
from halfreal.marths.criteria import NAMES, UNITS, score
from halfreal.marths.published import RECOMPUTED, RODEAC, in_order
from halfreal.runs.build import build

SHORT = 3.0
"""Seconds of the shipped motion."""


def short(definition=None):
    moved = marths.motions()["synthetic"]
    return with_motion(definition or marths.case(), Motion(moved.excitation, SHORT))


def plain_rodeac(definition, ground: np.ndarray) -> np.ndarray:
    """The benchmark with RoDeAC and ideal sensors as a script would have it: Newmark, coupler, actuators, filters.

    Gives target strokes, measured strokes and the pose of the target.
    """
    dt, n, at = definition.timing.step, len(ground), np.array(definition.virtual.interface) - 1
    system = definition.virtual.system("ground")
    mass, damping, stiffness = system.mass, system.damping, system.stiffness
    a0, a1, a2 = 4.0 / dt**2, 2.0 / dt, 4.0 / dt
    inverse = np.linalg.inv(stiffness + a0 * mass + a1 * damping)
    u, v, a = (np.zeros(len(mass)) for _ in range(3))
    model: StateSpace = definition.rig.actuators.model()
    whole = scipy.linalg.expm(dt * np.block([[model.a, model.b], [np.zeros((2, model.states + 2))]]))
    phi, gamma = whole[: model.states, : model.states], whole[: model.states, model.states :]
    joints = definition.kinematics.coupler.joints
    specimen = definition.rig.specimen
    k = specimen.stiffness
    follow = np.vstack([np.eye(2), -np.linalg.solve(k[2:, 2:], k[2:, :2])])
    theta, p = definition.coupling.coefficients.copy(), np.array(definition.coupling.covariance)
    b, c = scipy.signal.butter(4, 20.0, fs=1.0 / dt)
    sensed, sent = np.zeros((2, 4)), np.zeros((2, 4))
    x, q0, v0 = np.zeros(model.states), np.zeros(5), np.zeros(5)
    targets, strokes, out = np.zeros((2, 4)), np.zeros((2, 4)), np.zeros((n, 6))
    for tick in range(n):
        read = model.c @ x
        turn = -np.arcsin((read[0] - read[1]) / (joints[0, 1] - joints[1, 1]))
        pose = np.array([read[0] - joints[0, 0] * (np.cos(turn) - 1) + joints[0, 1] * np.sin(turn), turn])
        q = follow @ pose
        rate = (q - q0) / dt
        force = k @ q + specimen.damping @ rate + specimen.mass @ (rate - v0) / dt
        q0, v0 = q, rate
        load = np.zeros(len(mass))
        load[at] = force[:3]
        right = mass @ (a0 * u + a2 * v + a) + damping @ (a1 * u + v) - load + system.inputs[:, 0] * ground[tick]
        new = inverse @ right
        acceleration = a0 * (new - u) - a2 * v - a
        v, u, a = v + 0.5 * dt * (a + acceleration), new, acceleration
        wanted = u[at[0]] + joints[:, 0] * (np.cos(u[at[1]]) - 1) - joints[:, 1] * np.sin(u[at[1]])
        command = np.zeros(2)
        for i in range(2):
            targets[i] = [wanted[i], *targets[i, :3]]
            filtered, sensed[i] = filtered_by(b, c, sensed[i], read[i])
            strokes[i] = [filtered, *strokes[i, :3]]
            gain = p[i] @ strokes[i]
            gain = gain / (1.0 + strokes[i] @ gain)
            moves = gain @ targets[i]
            known = theta[i] @ strokes[i]
            command[i] = (theta[i] @ targets[i] + moves * (sent[i, 0] - known)) / (1.0 - moves * b[0])
            late, sent[i] = filtered_by(b, c, sent[i], command[i])
            theta[i] = theta[i] + gain * (late - known)
            p[i] = p[i] - np.outer(gain, p[i] @ strokes[i])
        x = phi @ x + gamma @ command
        out[tick] = [*wanted, *read, u[at[0]], u[at[1]]]
    return out


def filtered_by(b, a, state, value):
    y = b[0] * value + state[0]
    return y, np.append(state[1:], 0.0) + b[1:] * value - a[1:] * y


def test_the_loop_is_that_of_a_plain_script():
    test = marths.without_noise(short())
    names = (*(f"{s}.a{i}" for s in ("target.stroke", "sensor.stroke") for i in (1, 2)), "target.x", "target.rz")
    log = build(test).run(test.timing.ticks, record=("excitation.virtual", *names)).log[:, 1:]
    plain = plain_rodeac(test, log[:, 0])
    largest = np.abs(plain).max(axis=0)
    assert np.all(largest > 1e-4)
    assert np.all(np.abs(log[:, 1:] - plain) <= 1e-7 * largest)


def test_rodeac_is_within_five_percent_of_what_its_code_gives(tmp_path):
    """Root mean squares alone.  Some differ by more than the noise explains: see the README of the example."""
    test = with_motion(marths.case(), motion("el_centro", tmp_path))
    whole = marths.reference(test)
    stable, found, _ = marths.scored(test, whole)
    known = in_order(RECOMPUTED["El Centro"])
    assert stable
    for name, here, there in zip(NAMES, found, known, strict=True):
        if np.isfinite(there) and name.split()[0] in ("J2", "J5", "J7", "J8"):
            assert here == pytest.approx(there, abs=0.05, rel=0.05), name
    chosen = marths.put(test, marths.couplings()[marths.CHOSEN])
    stable, better, _ = marths.scored(chosen, whole)
    found_by, better_by = dict(zip(NAMES, found, strict=True)), dict(zip(NAMES, better, strict=True))
    assert stable and better_by["J5 x"] <= 1.2 and better_by["J5 rz"] <= 3.5 and better_by["J2 a2"] <= 1.5
    bound = dict(zip(NAMES, marths.bounds(test, whole)["perfect rig, noisy sensors"], strict=True))
    # 2.0 % of the first actuator are below what its noise alone makes, and within 3 % of that it is
    assert bound["J2 a1"] > 2.5 and better_by["J2 a1"] <= 1.03 * bound["J2 a1"] < found_by["J2 a1"]
    late = dict(zip(NAMES, marths.bounds(test, whole)["perfect rig, a step late"], strict=True))
    assert (late["J7 x"], late["J7 rz"]) == pytest.approx((9.1, 7.0), abs=0.05)


def test_criteria_are_of_one_signal_each():
    test = short()
    log = 1e-3 * np.random.default_rng(3).standard_normal((200, 12))
    frame = 1e-3 * np.random.default_rng(4).standard_normal((200, 7))
    found = dict(zip(NAMES, marths.against(test, log, frame), strict=True))
    assert found["J2 a2"] == pytest.approx(100 * np.std(log[:, 3] - log[:, 1]) / np.std(log[:, 1]))
    assert found["J5 rz"] == pytest.approx(100 * np.std(log[:, 7] - log[:, 5]) / np.std(log[:, 5]))
    assert found["J7 x"] == pytest.approx(100 * np.std(log[:, 6] - frame[:, 0]) / np.std(frame[:, 0]))
    assert found["J10 rz 3"] == pytest.approx(100 * np.abs(log[:, 11] - frame[:, 6]).max() / np.abs(frame[:, 6]).max())
    assert UNITS["J1 a1"] == UNITS["J4 a2"] == "ms" and UNITS["J10 x 2"] == "%"
    run = marths.recorded(test, log[:, :2], ("target.x", "target.rz"))
    with pytest.raises(HalfrealError, match=r"need the signal 'target.stroke.a1'"):
        score(run, run)
    with pytest.raises(HalfrealError, match=r"give a section \[reference\]"):
        score(run, None)


def test_a_scorecard_has_bounds_and_perturbed_plants(tmp_path):
    moved = {"synthetic": Motion(marths.motions()["synthetic"].excitation, SHORT)}
    used = {name: entry for name, entry in marths.couplings().items() if name in (RODEAC, marths.CHOSEN)}
    scores = scorecard(marths.PROBLEM, moved, used, plants=1, workers=1)
    assert len(scores) == 3 + 4 and all(one.stable for one in scores)
    assert next(one.coupling for one in scores if one.bound) == "perfect rig"
    told = table.table(marths.PROBLEM, scores)
    assert "perfect rig, noisy sensors" in told and "worst of 1, 0 unstable" in told and "nan" not in told
    nominal, other = (next(s for s in scores if s.coupling == marths.CHOSEN and s.plant == k) for k in (0, 1))
    assert not np.allclose(nominal.criteria, other.criteria)
    page.write(marths.PROBLEM, scores, tmp_path / "card.html")
    assert "Multi-axial benchmark problem" in (tmp_path / "card.html").read_text(encoding="utf-8")


def test_what_others_found_stands_with_the_coupling_that_is_theirs():
    good = np.full(len(NAMES), 1.0)
    scores = [Score(1, "Kobe", name, 0, True, good, 100.0, np.nan) for name in (RODEAC, "none")]
    sources = [line.source for line in table.lines(marths.PROBLEM, scores)]
    assert sources == ["here", "its published code", "here"]
