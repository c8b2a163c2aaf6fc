"""The multi-axial benchmark: RoDeAC as its code has it, a plain NumPy loop, criteria, bounds."""

import importlib.util

import numpy as np
import pytest

from examples.vrths import motion
from halfreal.benchmark import page, table
from halfreal.benchmark.problem import Motion, Score, scorecard, with_motion
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


def plain_loop():
    """The gallery's script of the same benchmark, which knows nothing of halfreal's loop."""
    spec = importlib.util.spec_from_file_location("plain_loop", marths.GALLERY / "plain_loop.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_loop_is_that_of_a_plain_script():
    test, plain = marths.without_noise(short()), plain_loop()
    log = build(test).run(test.timing.ticks, record=("excitation.virtual", *plain.SIGNALS)).log[:, 1:]
    found = plain.rodeac(test, log[:, 0])
    largest = np.abs(found).max(axis=0)
    assert np.all(largest > 1e-4)
    assert np.all(np.abs(log[:, 1:] - found) <= 1e-7 * largest)
    # what was recomputed elsewhere has the force a tick late, and that is another loop
    late = plain.rodeac(test, log[:, 0], force_late=True, former_filter=True)
    assert np.abs(late - found).max() > 1e-3 * largest.max()


def test_rodeac_is_within_five_percent_of_what_its_code_gives(tmp_path):
    """Root mean squares alone.  What was recomputed has another order of a tick: see the README of the example."""
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
    bound = dict(zip(NAMES, marths.bounds(test, whole)["perfect rig, noisy sensors"][0], strict=True))
    # 2.0 % of the first actuator are below what its noise alone makes, and within 3 % of that it is
    assert bound["J2 a1"] > 2.5 and better_by["J2 a1"] <= 1.03 * bound["J2 a1"] < found_by["J2 a1"]
    # the moment on an arm of 127 mm, and not the noise, takes three times the force that the actuators have
    assert marths.bounds(test, whole)["perfect rig"][1] == pytest.approx(29.0e3, rel=0.01)
    late = dict(zip(NAMES, marths.bounds(test, whole)["perfect rig, a step late"][0], strict=True))
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
    assert sources == ["here", "recomputed by others", "here"]
