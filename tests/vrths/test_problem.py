import csv

import numpy as np
import pytest

from halfreal.benchmark import table as vrths_table
from halfreal.benchmark.ground_motion import GroundMotionError
from halfreal.benchmark.motions import read_motions
from halfreal.vrths import problem as vrths
from halfreal.vrths.criteria import criteria

SHORT = {name: vrths.Motion(motion.excitation, 2.0) for name, motion in vrths.motions().items()}


def test_a_scorecard_has_every_run_and_tells_what_is_unstable(tmp_path):
    couplings = {name: vrths.couplings()[name] for name in ("model inverse", "PI + lead")}
    told = []
    scores = vrths.scorecard(SHORT, couplings, cases=(1, 4), plants=1, on_progress=lambda *done: told.append(done))
    assert [(s.case, s.motion, s.plant, s.coupling) for s in scores] == [
        (number, motion, plant, coupling)
        for number in (1, 4)
        for motion, plants in (("synthetic", (0, 1)), ("chirp", (0,)))
        for plant in plants
        for coupling in couplings
    ]
    assert told == [(i + 1, 12) for i in range(12)]
    assert all(score.stable and np.all(np.isfinite(score.criteria)) for score in scores)

    vrths_table.write_csv(vrths.PROBLEM, scores, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ours = [row for row in rows if row["source"] == "here"]
    assert [float(row["J2 [%]"]) for row in ours] == [round(float(s.criteria[1]), 3) for s in scores]
    # the chirp is the problem's own: what its code gives with PI + lead stands beside
    known = [row for row in rows if row["source"] != "here"]
    assert {(row["case"], row["motion"], row["coupling"], row["J4 [%]"]) for row in known} == {
        ("1", "chirp", "PI + lead", "35.43"),
        ("4", "chirp", "PI + lead", "74.72"),
    }
    lines = vrths_table.lines(vrths.PROBLEM, scores)
    assert [line.source for line in lines].count("worst of 1, 0 unstable") == 4
    assert "worst of 1, 0 unstable" in vrths_table.table(vrths.PROBLEM, scores)
    worst = next(line for line in lines if line.source.startswith("worst"))
    first = next(s for s in scores if s.plant == 1)
    np.testing.assert_array_equal(worst.criteria, first.criteria)


def test_an_unstable_run_has_no_criteria_and_says_so():
    definition = vrths.with_motion(vrths.case(4), vrths.motions()["synthetic"])
    definition = definition.model_copy(update={"coupling": vrths.couplings()["none"]})
    stable, found, force = vrths.score(definition, vrths.reference(definition))
    assert not stable and np.all(np.isnan(found)) and force > vrths.FORCE_LIMIT
    lost = [vrths.Score(4, "synthetic", "none", 0, stable, found, force, 2.0)]
    told = vrths_table.table(vrths.PROBLEM, lost)
    assert "unstable" in told and "beyond an actuator's 8900 N" in told
    assert vrths_table.summary(lost) == [("none", 1, 1, 0, None, None)]


def test_the_noise_floor_is_what_a_perfect_test_scores():
    definition = vrths.with_motion(vrths.case(4), SHORT["synthetic"])
    whole = vrths.reference(definition)
    noise = definition.rig.sensors.displacement.noise * np.random.default_rng(1).standard_normal(len(whole))
    perfect = criteria(whole[:, 0] + noise, whole, whole, definition.timing.step)
    floor = vrths.noise_floor(definition, whole)
    assert perfect[1] == perfect[3] == pytest.approx(floor, rel=0.03)


def test_records_of_a_folder_are_read_recognised_and_asked_about(tmp_path):
    records, kept = tmp_path / "records", tmp_path / "kept"
    records.mkdir()
    kept.mkdir()
    quake = np.sin(0.3 * np.arange(4119)) * np.sin(np.linspace(0, np.pi, 4119))
    quake *= 3.135 / np.abs(quake).max()
    for name, heading, values in (("mine.csv", "t_s,a_m_per_s2", quake), ("other.txt", "", quake[:2000] / 9.81)):
        rows = [f"{0.01 * i:.2f},{value!r}" for i, value in enumerate(values.tolist())]
        (records / name).write_text("\n".join([heading, *rows]), encoding="utf-8")
    with pytest.raises(GroundMotionError, match=r"other.txt does not state its unit.*0.319 m/s² or 3.13"):
        read_motions(records, kept)
    asked = []
    found = read_motions(records, kept, ask=lambda text: asked.append(text) or "g_0")
    # of El Centro's peak and length, whatever its file is called
    assert list(found) == ["El Centro", "other"] and len(asked) == 1
    assert found["other"].duration == pytest.approx(19.99)
    with pytest.raises(GroundMotionError, match="contains no record"):
        read_motions(kept / "..", kept)
    with pytest.raises(GroundMotionError, match="is not a folder"):
        read_motions(tmp_path / "nowhere", kept)


def test_a_perturbed_plant_is_always_the_same_and_never_the_nominal_one():
    nominal = vrths.case(1)
    assert vrths.perturbed(nominal, 0) is nominal
    assert vrths.perturbed(nominal, 3) == vrths.perturbed(nominal, 3)
    drawn = [vrths.perturbed(nominal, number) for number in range(1, 41)]
    leakage = np.array([d.rig.actuator.leakage for d in drawn])
    stiffness = np.array([d.rig.specimen.stiffness[0, 0] for d in drawn])
    assert abs(leakage.mean() - 3.3) < 3 * 1.3 / np.sqrt(40) and 0.9 < leakage.std() < 1.7
    assert abs(stiffness.mean() - 1.19e6) < 3 * 5e4 / np.sqrt(40) and 3.5e4 < stiffness.std() < 6.5e4
    for definition in drawn:
        np.testing.assert_array_equal(definition.virtual.removed.stiffness, definition.rig.specimen.stiffness)
        np.testing.assert_array_equal(definition.virtual.removed.damping, definition.rig.specimen.damping)
